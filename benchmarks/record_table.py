"""The table of a record: a row for each corpus and system, with numbers or why there is none.

Numbers are means over seeds. Rows are texts by the names of their columns, as they stand in the csv
file. The page shows the same texts.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from benchmarks.paired import difference
from benchmarks.record import CORPORA
from benchmarks.records import Record
from benchmarks.systems import DEFAULT, NULL, STANDARD
from benchmarks.table import MIB, grouped

Row = dict[str, str]
Value = Callable[[Record], float | None]

STAGES = ("fit", "perplexity", "truth", "support", "bytes")
BUSY = 1.5
"""Load average from which times were not taken on an idle machine: a cell itself makes 1."""

MEASURES = ("triplets", "kin", "purity")


class Column(NamedTuple):
    """A column of numbers.

    stage: the one that measures it. value: that of one cell, None where there is none. digits:
    after the point. spread: whether the standard deviation over seeds has a column, too. null:
    whether shuffled words can tell something about it. about: what it says, for people.
    """

    name: str
    stage: str
    digits: int
    value: Value
    about: str
    spread: bool = False
    null: bool = True


def _at(cell: Record, *names: str) -> float | None:
    found: Any = cell
    for name in names:
        found = None if found is None else found.get(name)
    return None if found is None else float(found)


def _field(*names: str) -> Value:
    return lambda cell: _at(cell, *names)


def _level(cell: Record, level: int, name: str) -> float | None:
    levels = cell.get("levels") or []
    return levels[level - 1].get(name) if level <= len(levels) else None


def _mib(cell: Record) -> float | None:
    return cell["peak_bytes"] / MIB if "peak_bytes" in cell else None


PREDICTION = (
    Column(
        "perplexity",
        "perplexity",
        1,
        _field("perplexity"),
        "of held-out tokens, by the system's own inference",
        spread=True,
    ),
    Column(
        "perplexity_with_cache",
        "perplexity",
        1,
        _field("perplexity_with_cache"),
        "the same with a cache: words of a document come again",
    ),
    Column(
        "perplexity_of_new_words",
        "perplexity",
        1,
        _field("perplexity_of_new_words"),
        "of the held-out tokens whose word the document's seen part has not",
    ),
    Column(
        "one_scorer_perplexity",
        "perplexity",
        1,
        _field("one_scorer", "perplexity"),
        "by one inference for all systems, its prior strength chosen for each on seen tokens",
        spread=True,
    ),
    Column(
        "one_scorer_with_cache",
        "perplexity",
        1,
        _field("one_scorer", "cached_perplexity"),
        "the same with a cache",
    ),
)


def _truth(n_levels: int) -> Iterator[Column]:
    told = {
        "triplets": "share of triplets of documents whose closest pair is that of the labels",
        "kin": "the same, of triplets with two documents of one label",
        "purity": "dendrogram purity",
    }
    for level in range(1, n_levels + 1):
        for name in MEASURES:
            about = f"{told[name]}; level {level} of the labels, 1 is the coarsest"
            value = partial(_level, level=level, name=name)
            yield Column(f"{name}_{level}", "truth", 4, value, about, spread=level == 1)
            for end, what in (("error", "standard error over documents"), ("chance", "by chance")):
                if end == "error" or name == "purity":
                    value = partial(_level, level=level, name=f"{name}_{end}")
                    yield Column(f"{name}_{level}_{end}", "truth", 4, value, f"its {what}")


OTHERS = (
    Column(
        "covered_50",
        "support",
        4,
        _field("support", "covered_50"),
        "share of the tokens below the root at or below a node of support 0.5 or more",
    ),
    Column("covered_70", "support", 4, _field("support", "covered_70"), "the same of support 0.7"),
    Column(
        "bits",
        "support",
        3,
        _field("support", "bits"),
        "information of a token's node, of support 0.5 or more, about its document",
    ),
    Column(
        "coherence",
        "perplexity",
        4,
        _field("coherence_npmi"),
        "mean NPMI of the first words of a node; fluent words are not yet a true tree",
    ),
    Column(
        "child_npmi",
        "perplexity",
        4,
        _field("parent_child_npmi"),
        "mean NPMI of the first words of a node with those of its children",
    ),
    Column("nodes", "fit", 0, _field("nodes"), "nodes, or topics"),
    Column("branches", "fit", 0, _field("branches"), "children of the root"),
    Column(
        "largest_family",
        "fit",
        0,
        _field("largest_family"),
        "most children of a node below the root",
    ),
    Column(
        "processor_seconds",
        "fit",
        1,
        _field("command_cpu_seconds"),
        "processor time of the fit",
        null=False,
    ),
    Column("peak_mib", "fit", 0, _mib, "peak memory of the fit, MiB", null=False),
)
BEHIND = {
    "behind": ("log_likelihood", "by the system's own inference"),
    "one_scorer_behind": ("one_scorer_log_likelihood", "by the one scorer"),
}
OF_TREES = ("branches", "largest_family", "child_npmi")


def columns(n_levels: int) -> list[Column]:
    """Return the columns of numbers that are means over seeds."""
    return [*PREDICTION, *_truth(n_levels), *OTHERS]


def rows(cells: Sequence[Record]) -> list[Row]:
    """Return the table of cells."""
    n_levels = max([len(cell.get("levels") or []) for cell in cells], default=1) or 1
    groups = sorted(grouped(cells, "corpus", "system"), key=_order)
    return [_row(group, cells, columns(n_levels)) for group in groups]


def _order(group: Sequence[Record]) -> tuple[int, str, int, str]:
    corpus, system = group[0]["corpus"], group[0]["system"]
    return (*_rank(corpus, CORPORA), *_rank(system, STANDARD))


def _rank(name: str, known: Sequence[str]) -> tuple[int, str]:
    return (known.index(name) if name in known else len(known)), name


def _row(group: Sequence[Record], cells: Sequence[Record], measured: Sequence[Column]) -> Row:
    first = group[0]
    row = {
        "corpus": first["corpus"],
        "system": first["system"],
        "seeds": str(sum("nodes" in cell for cell in group)),
    }
    for column in measured:
        row |= _numbers(group, column)
        if column.name in ("perplexity", "one_scorer_perplexity"):
            row |= _behind(
                group, cells, "behind" if column.name == "perplexity" else "one_scorer_behind"
            )
    return row | {
        "support_by_depth": _by_depth(first),
        "same_bytes": _same(group),
        "resamples": str(first["resamples"]),
        "split": first["split"],
        "split_hash": first.get("split_hash") or _why(first, "perplexity"),
        "chosen_on": first["chosen_on"] or "no",
        "cell_minutes": f"{max(cell['cell_minutes'] for cell in group):g}",
        "load": f"{max(cell['load'] for cell in group):.1f}",
        "machine": _kind(first) + (", busy" if _busy(group) else ", idle"),
        "versions": "; ".join(f"{k} {v}" for k, v in first["machine"]["versions"].items()),
        "corpus_sha256": first["corpus_sha256"],
        "commit": first["commit"],
        "measured_by": first["measured_by"],
        "note": _note(group),
    }


def _kind(cell: Record) -> str:
    found = cell["machine"]
    return f"{found['cpu']}, {found['cores']} cores, {found['memory_gib']} GiB"


def _busy(group: Sequence[Record]) -> bool:
    return any(cell["load"] >= BUSY for cell in group)


def _numbers(group: Sequence[Record], column: Column) -> Row:
    """Return the mean of a column, or why it has none, and its deviation if that has a column."""
    # What a stage had used when it was stopped is no figure of it.
    whole = [cell for cell in group if cell["stopped_at"] != column.stage]
    values = [value for cell in whole if (value := column.value(cell)) is not None]
    spread = stdev(values) if len(values) > 1 else None
    why = _absent(group[0], column)
    if why or not values:
        found = {column.name: why or _why(group[0], column.stage)}
    else:
        found = {column.name: f"{mean(values):.{column.digits}f}"}
    if column.spread:
        told = "" if why or spread is None else f"{spread:.{column.digits}f}"
        found[f"{column.name}_sd"] = told
    return found


def _absent(cell: Record, column: Column) -> str:
    """Return why a system cannot have a column at all, "" if it can."""
    if not column.null and cell["system"].endswith(NULL):
        return "no null"
    if column.name in OF_TREES and cell.get("tree") is False:
        return "no tree"
    return ""


def _why(cell: Record, stage: str) -> str:
    """Return why a cell has nothing of a stage."""
    if "does_not_apply" in cell:
        return f"does not apply: {cell['does_not_apply']}"
    if stage in ("truth", "support") and cell.get("tree") is False:
        return "no tree"
    if stage == "truth" and cell.get("labelled") is False:
        return "no labels"
    stopped = cell["stopped_at"]
    if stopped is not None and STAGES.index(stopped) <= STAGES.index(stage):
        return f"stopped at {cell['cell_minutes']:g} min"
    failed = cell["failed"].get(stage) or cell["failed"].get("fit")
    return failed or "none"


def _behind(group: Sequence[Record], cells: Sequence[Record], name: str) -> Row:
    """Return by how many nats per word a system is behind our default, paired by document."""
    key, heads = BEHIND[name][0], (name, f"{name}_error")
    first = group[0]
    if first["system"].endswith(NULL):
        return dict.fromkeys(heads, "other words")
    if first["system"] == DEFAULT:
        return dict.fromkeys(heads, "the default")
    own = [cell for cell in group if key in cell]
    defaults = [
        cell
        for cell in cells
        if (cell["corpus"], cell["system"]) == (first["corpus"], DEFAULT) and key in cell
    ]
    if not own:
        return dict.fromkeys(heads, _why(first, "perplexity"))
    if not defaults or any(cell["split_hash"] != defaults[0]["split_hash"] for cell in own):
        return dict.fromkeys(heads, "no row of the default")
    pairs = [(_judged(defaults[0], key), _judged(cell, key)) for cell in own]
    gained, error = difference(pairs)
    return {name: f"{gained:z.4f}", f"{name}_error": f"{error:.4f}"}


def _judged(cell: Record, key: str) -> Record:
    return {"log_likelihood": cell[key], "n_scored": cell["n_scored"]}


def _same(group: Sequence[Record]) -> str:
    if group[0]["system"].endswith(NULL):
        return "no null"
    found = [cell["same_bytes"] for cell in group if "same_bytes" in cell]
    if not found:
        return _why(group[0], "bytes")
    return "yes" if all(found) else "no"


def _by_depth(cell: Record) -> str:
    """Return the mean support of the nodes at depth 1, 2, ..."""
    if "support" not in cell:
        return _why(cell, "support")
    return ", ".join(f"{mean:.2f}" for mean in cell["support"]["by_depth"])


def _note(group: Sequence[Record]) -> str:
    """Return what single seeds lack that others have, and stages that failed."""
    told = []
    for cell in group:
        what = [f"{stage}: {why}" for stage, why in cell["failed"].items()]
        if cell["stopped_at"] is not None:
            what.append(f"{cell['stopped_at']}: stopped at {cell['cell_minutes']:g} min")
        told += [f"seed {cell['seed']}, {one}" for one in what]
    return "; ".join(told)


def write_csv(table: Sequence[Row], path: Path) -> None:
    """Write the table; the file appears whole."""
    heads = list(dict.fromkeys(head for row in table for head in row))
    partial_file = path.with_suffix(".partial")
    with open(partial_file, "w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    partial_file.replace(path)


def read_csv(path: Path) -> list[Row]:
    """Return the rows of a csv file."""
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def missing(table: Sequence[Row]) -> list[tuple[str, list[str]]]:
    """Return by corpus the systems of the standard record that have no row."""
    known = {(row["corpus"], row["system"]) for row in table}
    lacking = [
        (corpus, [system for system in STANDARD if (corpus, system) not in known])
        for corpus in CORPORA
    ]
    return [(corpus, systems) for corpus, systems in lacking if systems]
