"""Figures and tables of the record on pages: how pages name them, and how they are renewed.

A figure on a page has a comment behind it, which names corpus, system and column:
``648<!-- record debian nhdp-variational perplexity -->``. A table stands between two comments:
``<!-- record table PATTERN ... -->``, with patterns like those of ``record --only``, and
``<!-- record table end -->``. It has the rows that the patterns name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import count, takewhile
from pathlib import Path

import click

from benchmarks import options, record_page
from benchmarks.process import ROOT
from benchmarks.record_table import MEASURES, Row, read_csv
from benchmarks.table import alternatives, markdown

RECORD = ROOT / "docs" / "record.csv"
TABLE_PAGE = ROOT / "docs" / "record-table.html"
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

FIGURE = re.compile(r"(?P<figure>-?\d[\d,]*(?:\.\d+)?)<!-- record (?P<place>(?!table )[^>]*?) -->")
TABLE = re.compile(
    r"(?P<head><!-- record table (?P<patterns>(?!end)[^>]*?) -->\n).*?"
    r"(?P<tail><!-- record table end -->)",
    re.DOTALL,
)
MARK = "<!-- record "
MOST_DEPTHS = 6
"""Depths whose support stands on a page; a linkage of documents has thirty."""

SHORT = (("stopped", "stopped"), ("no ", ""), ("not installed", "not installed"), ("none", ""))
"""Words of a table on a page, by how a reason of the record begins. Other reasons: failed."""

LEFT_OUT = ("does not apply", "not installed")
"""Rows without a fit for these reasons do not stand in tables of pages."""


@click.command("record-quote")
@click.argument("record", type=options.FILE, default=RECORD)
def measure(record: Path) -> None:
    """Renew the figures and tables of RECORD, a csv file, in the guide, and record-table.html."""
    table = read_csv(record)
    record_page.write(table, TABLE_PAGE)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        try:
            made = renewed(text, table)
        except ValueError as error:
            raise click.ClickException(f"{page.relative_to(ROOT)}: {error}") from error
        if made != text:
            page.write_text(made, encoding="utf-8")
            click.echo(page.relative_to(ROOT))


def names(table: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """Return the rows by corpus and system."""
    return {(row["corpus"], row["system"]): row for row in table}


def unmarked(text: str) -> bool:
    """Tell whether a comment of a page marks neither a figure nor a table."""
    n_found = len(FIGURE.findall(text)) + 2 * len(TABLE.findall(text))
    return text.count(MARK) != n_found


def wrong(text: str, table: Sequence[Row]) -> Iterator[str]:
    """Yield the marked figures of a page that the record has not, to the digits of the page."""
    for found in FIGURE.finditer(text):
        held = _held(found["place"], names(table))
        figure = found["figure"].replace(",", "")
        if _to_digits(held, figure) != figure:
            yield f"{found['place']}: {figure}, in the record {held}"


def renewed(text: str, table: Sequence[Row]) -> str:
    """Return a page with the figures and tables of the record; ValueError for one it has not."""
    rows = names(table)

    def figure(found: re.Match[str]) -> str:
        made = _to_digits(_held(found["place"], rows), found["figure"].replace(",", ""))
        if made is None:
            raise ValueError(f"{found['place']}: {_held(found['place'], rows)}")
        text = f"{float(made):,.{_digits(made)}f}" if "," in found["figure"] else made
        return f"{text}<!-- record {found['place']} -->"

    def block(found: re.Match[str]) -> str:
        return f"{found['head']}\n{trees(table, found['patterns'].split())}\n\n{found['tail']}"

    return TABLE.sub(block, FIGURE.sub(figure, text))


def _held(place: str, rows: Mapping[tuple[str, str], Row]) -> str:
    corpus, system, column = place.split()
    return rows.get((corpus, system), {}).get(column, "no row")


def _digits(figure: str) -> int:
    return len(figure.partition(".")[2])


def _to_digits(held: str, figure: str) -> str | None:
    """Return a value of the record with as many digits as a figure has; None for no number."""
    number = _number(held)
    return None if number is None else f"{number:.{_digits(figure)}f}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def trees(table: Sequence[Row], patterns: Sequence[str]) -> str:
    """Return the Markdown table of the rows that patterns name, and how they were measured."""
    chosen = [row for row in table if _chosen(row, patterns)]
    if not chosen:
        return "No row of the record is of this kind yet."
    lines = [_line(row) for row in chosen]
    heads = [head for head in lines[0] if any(line[head] for line in lines)]
    made = markdown(heads, ([line[head] for head in heads] for line in lines))
    return f"{made}\n\n{_measured(chosen)}"


def _chosen(row: Row, patterns: Sequence[str]) -> bool:
    name = f"{row['corpus']}:{row['system']}"
    return any(fnmatchcase(name, one) for one in patterns) and not row["nodes"].startswith(LEFT_OUT)


def _line(row: Row) -> dict[str, str]:
    covered = [_short(row[name], 100, 0, "%") for name in ("covered_50", "covered_70")]
    return {
        "corpus": row["corpus"],
        "system": f"`{row['system']}`",
        **{name: _levels(row, name) for name in MEASURES},
        "covered .5 / .7": " / ".join(dict.fromkeys(covered)),
        "bits": _short(row["bits"], digits=2),
        "support by depth": _by_depth(row),
        "perplexity": _short(row["perplexity"], digits=0),
        "one scorer": _short(row["one_scorer_perplexity"], digits=0),
        "child NPMI": _short(row["child_npmi"], digits=3),
        "nodes": _short(row["nodes"]),
        "branches": _short(row["branches"]),
        "largest family": _short(row["largest_family"]),
        "processor s": _short(row["processor_seconds"], digits=0),
        "MiB": _short(row["peak_mib"]),
    }


def _levels(row: Row, name: str) -> str:
    """Return a measure with each level of the labels, the coarsest first."""
    columns = takewhile(row.__contains__, (f"{name}_{level}" for level in count(1)))
    found = [
        f"{_short(row[one], digits=3)} ± {_short(row[f'{one}_error'], digits=3)}"
        if _number(row[one]) is not None
        else _short(row[one])
        for one in columns
    ]
    return " / ".join(filter(None, dict.fromkeys(found)))


def _by_depth(row: Row) -> str:
    if _number(row["bits"]) is None:
        return _short(row["bits"])
    depths = row["support_by_depth"].split(", ")
    return ", ".join(depths[:MOST_DEPTHS] + ["..."] * (len(depths) > MOST_DEPTHS))


def _short(text: str, factor: float = 1, digits: int | None = None, unit: str = "") -> str:
    number = _number(text)
    if number is not None:
        return text if digits is None else f"{factor * number:.{digits}f}{unit}"
    return next((told for begin, told in SHORT if text.startswith(begin)), "failed")


def _measured(rows: Sequence[Row]) -> str:
    loads = [float(row["load"]) for row in rows]
    machine, _, busy = rows[0]["machine"].rpartition(", ")
    told = f"Commit {alternatives(row['commit'] for row in rows)}, {machine}; {rows[0]['versions']}"
    if all(row["machine"].endswith("idle") for row in rows):
        return f"{told}. The machine did nothing else."
    shared = f"Other work shared the machine (load average {min(loads):.0f} to {max(loads):.0f})"
    late = "so processor times are too high, and the limit of wall time was reached early"
    return f"{told}. {shared}, {late}."
