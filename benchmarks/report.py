"""What a command prints of its records: tables, the figures aimed at, the machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.figures import figures
from benchmarks.records import Record
from benchmarks.table import MakeTable, markdown

LEAST_CORE_SHARE = 0.97


def render(records: Sequence[Record], tables: Mapping[str, MakeTable]) -> str:
    """Return the table of each command in ``tables`` that ``records`` hold, and what follows."""
    parts = []
    for command, make in tables.items():
        mine = [record for record in records if record["command"] == command]
        if mine:
            parts.append(f"### {command}\n\n{make(mine)}")
    aims = [
        (figure.name, figure.shown, figure.limit_shown, "yes" if figure.met else "**no**")
        for figure in figures(records)
    ]
    if aims:
        heads = ("figure", "measured", "limit", "met")
        parts.append("### Figures aimed at\n\n" + markdown(heads, aims))
    parts.append("### Machine\n\n" + _machines(records))
    if any(
        record.get("clock") == "wall" and record.get("core_share", 1.0) < LEAST_CORE_SHARE
        for record in records
    ):
        parts.append("**Some timings shared their core with other processes: run them again.**")
    return "\n\n".join(parts)


def _machines(records: Sequence[Record]) -> str:
    lines = []
    for record in records:
        machine = record["machine"]
        versions = ", ".join(f"{name} {value}" for name, value in machine["versions"].items())
        lines.append(
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
            f"{machine['system']}; {versions}"
        )
    return "\n\n".join(dict.fromkeys(lines))
