"""The page of a record: one html file without anything from a network, a table that sorts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from benchmarks.record_table import BEHIND, Row, columns, missing
from benchmarks.systems import DEFAULT

HEADS = {
    "corpus": "name of the corpus",
    "system": "name of the system; -null: given the corpus with its words shuffled over documents",
    "seeds": "fits that the means are over",
    "support_by_depth": "mean support of the nodes at depth 1, 2, ...",
    "same_bytes": "whether the fit, made twice, has the same bytes",
    "load": "load average while the cell was measured; it makes 1 itself",
    "machine": "busy: other work shared it, so processor times are too high",
    "chosen_on": "whether settings of the system were chosen on the corpus",
    "commit": "last commit that changed the program",
    "measured_by": "hash of the modules that measure",
}
STYLE = """
:root { color-scheme: light dark; font: 14px/1.4 system-ui, sans-serif }
body { margin: 1rem }
.table { overflow: auto; max-height: 85vh; border: 1px solid #8886 }
table { border-collapse: separate; border-spacing: 0 }
th, td { padding: .2rem .5rem; border-bottom: 1px solid #8884; white-space: nowrap }
td { text-align: right; font-variant-numeric: tabular-nums }
td.text, th:first-child { text-align: left }
td.why { text-align: left; font-style: italic; color: GrayText; max-width: 9rem; overflow: hidden;
  text-overflow: ellipsis }
thead th { position: sticky; top: 0; z-index: 1; background: Canvas; vertical-align: bottom;
  white-space: normal }
thead button { font: inherit; font-weight: 600; border: 0; background: none; cursor: pointer;
  color: inherit; text-align: inherit; padding: 0 }
tr > :nth-child(-n+2) { position: sticky; background: Canvas; text-align: left }
tr > :first-child { left: 0; box-sizing: border-box; width: 8rem; min-width: 8rem; max-width: 8rem;
  overflow: hidden; text-overflow: ellipsis }
tr > :nth-child(2) { left: 8rem; border-right: 1px solid #8884 }
thead tr > :nth-child(-n+2) { z-index: 2 }
@media (max-width: 40rem) {
  table { font-size: .85rem }
  tr > :first-child { position: static }
  thead tr > :first-child { position: sticky; left: auto; z-index: 1 }
  tr > :nth-child(2) { left: 0 }
}
th[aria-sort=ascending] button::after { content: " ▲" }
th[aria-sort=descending] button::after { content: " ▼" }
"""
SCRIPT = """
const body = document.querySelector("tbody"), heads = [...document.querySelectorAll("thead th")];
const number = text => text !== "" && !isNaN(text) ? Number(text) : null;
const sortBy = (place, down) => {
  const rows = [...body.rows].map(row => [row.cells[place].textContent, row]);
  rows.sort(([a], [b]) => {
    const [x, y] = [number(a), number(b)];
    if (x === null && y === null) return down ? b.localeCompare(a) : a.localeCompare(b);
    if (x === null || y === null) return x === null ? 1 : -1;
    return down ? y - x : x - y;
  });
  for (const [, row] of rows) body.append(row);
};
heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
  const down = head.getAttribute("aria-sort") === "ascending";
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  sortBy(place, down);
}));
const filter = document.querySelector("#filter");
filter.addEventListener("input", () => {
  const wanted = filter.value.toLowerCase().split(/\\s+/);
  for (const row of body.rows) {
    const name = `${row.cells[0].textContent} ${row.cells[1].textContent}`.toLowerCase();
    row.hidden = !wanted.every(word => name.includes(word));
  }
});
"""
TEXTS = (
    "corpus",
    "system",
    "support_by_depth",
    "same_bytes",
    "split",
    "split_hash",
    "chosen_on",
    "machine",
    "versions",
    "corpus_sha256",
    "commit",
    "measured_by",
    "note",
)


def write(table: Sequence[Row], path: Path) -> None:
    """Write the page of a table; the file appears whole."""
    partial = path.with_suffix(".partial")
    partial.write_text(page(table), encoding="utf-8")
    partial.replace(path)


def page(table: Sequence[Row]) -> str:
    """Return the page of a table."""
    names = _filled(table)
    commits = ", ".join(dict.fromkeys(f"{row['commit']} ({row['measured_by']})" for row in table))
    heads = "".join(map(_head, names))
    lines = "\n".join(f"<tr>{''.join(_cell(row, name) for name in names)}</tr>" for row in table)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Record of hiertopics and its peers</title>
<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>
<h1>Record of hiertopics and its peers</h1>
<p>{len(table)} rows, measured at commit {escape(commits)}. {_other_work(table)} Lower perplexity
is better. <em>behind</em>: nats per word behind {escape(DEFAULT)}, paired by document. A click on a
head sorts.</p>
<p><label>Show <input id="filter" type="search" placeholder="debian tfidf"></label></p>
<div class="table" tabindex="0" role="region" aria-label="The record"><table><thead><tr>{heads}</tr>
</thead><tbody>
{lines}
</tbody></table></div>
{_not_measured(table)}
<script>{SCRIPT}</script></body></html>
"""


def _filled(table: Sequence[Row]) -> list[str]:
    """Return the columns in which some row has something: one seed has no deviations."""
    return list(dict.fromkeys(name for row in table for name, text in row.items() if text))


def _other_work(table: Sequence[Row]) -> str:
    """Return what the page says of other work on the machine."""
    loads = [float(row["load"]) for row in table if row["machine"].endswith("busy")]
    if not loads:
        return "The machine did nothing else."
    return (
        f"{len(loads)} of them were measured while other work shared the machine (load average "
        f"{min(loads):.0f} to {max(loads):.0f}): their processor times are too high, and the "
        "limit of wall time was reached early."
    )


def _head(name: str) -> str:
    shown = escape(name).replace("_", "_<wbr>")
    about = escape(_about(name))
    return f'<th scope="col" title="{about}"><button>{shown}</button></th>'


def _cell(row: Row, name: str) -> str:
    text = row.get(name, "")
    if name in TEXTS:
        kind = ' class="text"'
    else:
        kind = "" if _is_number(text) else f' class="why" title="{escape(text)}"'
    return f"<td{kind}>{escape(text)}</td>"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == ""
    return True


def _about(name: str) -> str:
    """Return what a column says."""
    if name in HEADS:
        return HEADS[name]
    if name.endswith("_sd"):
        return "standard deviation over seeds"
    base = name.removesuffix("_error")
    if base in BEHIND:
        told = f"nats per word behind the default, {BEHIND[base][1]}"
        return told if base == name else f"standard error of {base}"
    parts = name.split("_")
    level = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else 1
    return next((one.about for one in columns(level) if one.name == name), name)


def _not_measured(table: Sequence[Row]) -> str:
    """Return which cells of the standard record are not there."""
    lacking = missing(table)
    if not lacking:
        return "<p>No cell of the standard record is missing.</p>"
    items = "\n".join(
        f"<li>{escape(corpus)}: {escape(', '.join(systems))}</li>" for corpus, systems in lacking
    )
    return f"<h2>Not measured yet</h2>\n<ul>\n{items}\n</ul>"
