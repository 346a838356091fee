"""Markdown tables of result records, and how numbers are shown in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import TypeVar

from benchmarks.records import Record, latest

T = TypeVar("T")

MakeTable = Callable[[Sequence[Record]], str]
Columns = Mapping[str, str | Callable[[Record], object]]
"""By head: a template of ``str.format`` to be filled by a record, or what makes the cell of it."""

MIB = 2**20


@dataclass(frozen=True)
class Table:
    """A table with one row for each combination of ``keys``: the last record that has it."""

    keys: tuple[str, ...]
    columns: Columns

    def __call__(self, records: Sequence[Record]) -> str:
        """Return the Markdown."""
        cells = {
            head: cell.format_map if isinstance(cell, str) else cell
            for head, cell in self.columns.items()
        }
        return tabulate(cells, latest(records, *self.keys))


def tabulate(cells: Mapping[str, Callable[[T], object]], rows: Iterable[T]) -> str:
    """Return the Markdown table in which ``cells``, by head, are made of each row's item."""
    return markdown(list(cells), ([cell(row) for cell in cells.values()] for row in rows))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def grouped(records: Iterable[Record], *keys: str) -> list[list[Record]]:
    """Return the records that agree in ``keys`` together, in order of first appearance."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    return list(groups.values())


def milliseconds(seconds: Sequence[float]) -> str:
    """Return the median of some times."""
    return f"{1000 * median(seconds):.1f}"


def sweep_milliseconds(record: Record) -> str:
    """Return the median time of a sweep."""
    return milliseconds(record["seconds_per_sweep"])


def spread(values: Sequence[float], digits: int = 0) -> str:
    """Return mean and, of several, standard deviation, with ``digits`` decimals."""
    error = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{error}"


def alternatives(values: Iterable[object]) -> str:
    """Return the values that differ, separated by commas."""
    return ", ".join(str(value) for value in dict.fromkeys(values))


def split_kind(spec: str) -> str:
    """Return ``new documents`` or ``withheld tokens``."""
    return "withheld tokens" if spec.startswith("tokens") else "new documents"
