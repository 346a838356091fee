"""Scores of many runs, averaged over seeds: what docs/results.md holds.

The runs of a sweep differ in some settings. Rows are made of those that differ within a backend,
but for seeds (the fit's and the split's); each score is given as its mean and standard deviation
over them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.table import markdown, spread
from hiertopics.settings.yamlfile import load_yaml

Flat = dict[str, Any]
Scored = tuple[Flat, dict[str, float]]

METRICS = ("perplexity", "accuracy", "accuracy_1", "mean_average_precision")


def read(path: Path) -> list[Scored]:
    """Return (settings, scores) of each line that ``hiertopics eval --json`` printed."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(settings_of(Path(line["run"])), scores_of(line)) for line in lines]


def settings_of(run: Path) -> Flat:
    """Return the config of a run with dotted keys, the seeds of fit and split left out."""
    flat = dict(_flatten(load_yaml(run / "config.yaml")))
    flat.pop("seed", None)
    flat["data.corpus"] = Path(flat["data.corpus"]).name
    flat["data.holdout"] = _without_seed(flat["data.holdout"])
    return flat


def scores_of(line: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of one evaluation, those of its baselines as ``baseline: metric``."""
    found = {name: line[name] for name in METRICS if line.get(name) is not None}
    for baseline, metrics in line.get("baselines", {}).items():
        found |= {f"{baseline}: {name}": metrics[name] for name in METRICS if name in metrics}
    return found


def render(scored: Sequence[Scored]) -> str:
    """Return a Markdown table: the settings that differ, the number of runs, mean ± sd."""
    varied = _varied([settings for settings, _ in scored])
    metrics = list(dict.fromkeys(name for _, scores in scored for name in scores))
    groups: dict[tuple[str, ...], list[dict[str, float]]] = {}
    for settings, scores in scored:
        groups.setdefault(tuple(str(settings.get(name)) for name in varied), []).append(scores)
    rows = [
        (*key, len(group), *(_shown([s[name] for s in group if name in s]) for name in metrics))
        for key, group in groups.items()
    ]
    heads = [*(name.rpartition(".")[2] for name in varied), "runs", *metrics]
    return markdown(heads, rows)


def _varied(all_settings: Sequence[Flat]) -> list[str]:
    """Return the backend, where there are several, and the keys that differ within one."""
    backends: dict[str, list[Flat]] = {}
    for settings in all_settings:
        backends.setdefault(settings["backend"], []).append(settings)
    names = dict.fromkeys(key for settings in all_settings for key in settings)
    return [
        name
        for name in names
        if (name == "backend" and len(backends) > 1)
        or any(len({str(s.get(name)) for s in mine}) > 1 for mine in backends.values())
    ]


def _shown(values: Sequence[float]) -> str:
    """Return mean ± standard deviation, in as many digits as tell values apart."""
    return spread(values, 1 if abs(mean(values)) >= 10 else 4) if values else ""


def _flatten(value: Any, path: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _without_seed(holdout: str) -> str:
    body, at, rest = holdout.partition("@")
    return body + (rest.lstrip("0123456789") if at else "")
