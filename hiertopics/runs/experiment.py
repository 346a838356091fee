"""From what the user said (defaults, file, ``--set``, flags) to a checked experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics import registry
from hiertopics.errors import ConfigError
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.config import Experiment, build, load_yaml, merge, parse_set
from hiertopics.settings.layers import Overrides


def read_experiment(
    flags: Mapping[str, Any], config: Path | str | None = None, overrides: Overrides = ()
) -> Experiment:
    """Return the experiment; flags win over overrides over the config file over defaults.

    flags: nested, without absent ones. overrides: ``key=value`` with dotted keys, or a
    mapping by them. Raises ConfigError with every problem at once, and UsageError for an unknown
    backend.
    """
    layers: list[tuple[str, Mapping[str, Any]]] = [("default", {"backend": registry.DEFAULT})]
    if config is not None:
        layers.append((str(config), load_yaml(config)))
    layers += [("--set", parse_set(overrides)), ("flag", dict(flags))]
    name = merge(*(layer for _, layer in layers))["backend"]
    if not isinstance(name, str):
        raise ConfigError([f"backend must be a name, got {name!r}"])
    backend = registry.load(name)
    return build(layers, model_type=backend.Model, inference_type=backend.Inference)


def experiment_of(run: RunDir) -> Experiment:
    """Return the config that a run was fitted with."""
    path = run.path / "config.yaml"
    backend = registry.load(str(run.manifest["backend"]))
    layers = [(str(path), load_yaml(path))]
    return build(layers, model_type=backend.Model, inference_type=backend.Inference)
