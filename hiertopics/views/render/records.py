"""Records as text: aligned columns for people, and CSV with all there is.

Any records, scores of ``eval`` and ``compare``, tasks beside their baselines, groups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hiertopics.base.files import to_csv
from hiertopics.base.visible import Line, Span, plain, visible

Row = Mapping[str, Any]

SHOWN_DEPTHS = 3
MIB = 2**20
ALWAYS, SOMETIMES, NEVER = "always", "where a run has it", "never"
BESIDE = "where a run has it, beside what stands before it"


class Measure(NamedTuple):
    """An entry of the records of scores, and how people see it.

    in_eval: whether ``eval`` shows it. head: of its column in ``compare``; None: it has none there.
    digits: after the point; None: the value as it is. unit: what the value is divided by. error:
    the entry that holds its standard error; relative: as a share of the value.
    """

    name: str
    in_eval: str = ALWAYS
    head: str | None = None
    digits: int | None = None
    unit: int = 1
    error: str | None = None
    relative: bool = False

    def cell(self, row: Row) -> Any:
        """Return the text of a cell in ``compare``: the first depths of a list, root first."""
        value, error = row.get(self.name), None if self.error is None else row.get(self.error)
        if value is None or (self.error is not None and error is None):
            return None
        if isinstance(value, list):
            return "/".join(map(self._shown, value[:SHOWN_DEPTHS]))
        if error is None:
            return self._shown(value)
        return f"{self._shown(value)} ± {self._shown(value * error if self.relative else error)}"

    def _shown(self, value: float) -> Any:
        return value if self.digits is None else f"{value / self.unit:.{self.digits}f}"


# A small error of the log likelihood is the same share of the perplexity.
MEASURES = (
    Measure("perplexity", ALWAYS, "perplexity", 1, error="standard_error", relative=True),
    Measure(
        "perplexity_with_cache",
        BESIDE,
        "with cache",
        1,
        error="standard_error_with_cache",
        relative=True,
    ),
    Measure("log_likelihood_per_word", digits=4, error="standard_error"),
    Measure(
        "log_likelihood_per_word_with_cache", BESIDE, digits=4, error="standard_error_with_cache"
    ),
    Measure("log_likelihood_per_row", SOMETIMES, "per_row", 2, error="standard_error"),
    Measure("standard_error"),
    Measure("standard_error_with_cache", BESIDE),
    Measure("behind", NEVER, "nats behind", 3, error="behind_error"),
    Measure(
        "behind_with_cache",
        NEVER,
        "nats behind with cache",
        3,
        error="behind_with_cache_error",
    ),
    Measure("cache_from", SOMETIMES, "cache from"),
    Measure("cache_discount", SOMETIMES),
    Measure("cache_concentration", SOMETIMES),
    Measure("cache_docs", SOMETIMES),
    Measure("cache_tokens", SOMETIMES),
    Measure("cache_at_limit", SOMETIMES),
    Measure("perplexity_of_seen_words", SOMETIMES, digits=1),
    Measure("perplexity_of_seen_words_with_cache", SOMETIMES, digits=1),
    Measure("perplexity_of_new_words", SOMETIMES, digits=1),
    Measure("perplexity_of_new_words_with_cache", SOMETIMES, digits=1),
    Measure("perplexity_of_new_words_by_topics", SOMETIMES, digits=1),
    Measure("seen_word_tokens", SOMETIMES),
    Measure("draws", NEVER, "draws"),
    Measure("n_tokens"),
    Measure("unknown_tokens"),
    Measure("unseen_tokens"),
    Measure("n_topics", NEVER, "topics"),
    Measure("coherence_npmi", ALWAYS, "npmi", 3),
    Measure("diversity", ALWAYS, "diversity", 3),
    Measure("parent_child_npmi", SOMETIMES, "child_npmi", 3),
    Measure("sibling_diversity", SOMETIMES),
    Measure("non_child_diversity", SOMETIMES),
    Measure("affinity_child", SOMETIMES),
    Measure("affinity_non_child", SOMETIMES),
    Measure("specialization", SOMETIMES, "specialization", 2),
    Measure("seconds", NEVER, "seconds", 1),
    Measure("peak_memory_bytes", NEVER, "MiB", 0, unit=MIB),
)
"""Measures in the order of the columns of ``compare``; ``eval`` shows those of ALWAYS first."""


class Grid(NamedTuple):
    """A table as text: cells [n_rows, n_columns] under their heads; numbers are right-aligned."""

    heads: Sequence[str]
    cells: Sequence[Sequence[str]]
    on_right: Sequence[bool]

    @property
    def widths(self) -> list[int]:
        """The letters of the longest cell of each column, its head among them."""
        return [
            max(len(head), *(len(row[place]) for row in self.cells))
            for place, head in enumerate(self.heads)
        ]

    def of(self, columns: Sequence[int]) -> Grid:
        """Return some columns."""
        chosen = [[row[place] for place in columns] for row in (self.heads, *self.cells)]
        return Grid(chosen[0], chosen[1:], [self.on_right[place] for place in columns])

    @property
    def turned(self) -> Grid:
        """The same with a line for each column but the first, whose cells are the heads."""
        first, *others = zip(self.heads, *self.cells, strict=True)
        return Grid(first, others, [False, *[len(self.cells) > 1] * len(self.cells)])

    def lines(self) -> Iterator[Line]:
        """Yield a line of heads and one for each row."""
        if not self.cells:
            return
        widths, look = self.widths, "head"
        for row in (self.heads, *self.cells):
            parts = zip(row, widths, self.on_right, strict=True)
            cells = (text.rjust(n) if right else text.ljust(n) for text, n, right in parts)
            yield (Span("  ".join(cells).rstrip(), look),)
            look = ""

    def __str__(self) -> str:
        return plain(self.lines())


def to_table(rows: Sequence[Row], columns: Sequence[str], *, right: Collection[str] = ()) -> Grid:
    """Return a table with a row per record.

    Numbers stand on the right, and so does the text of the columns ``right``.
    """
    cells = [[_show(row.get(column)) for column in columns] for row in rows]
    on_right = [
        column in right or bool(rows) and isinstance(rows[0].get(column), int | float)
        for column in columns
    ]
    return Grid(columns, cells, on_right)


def to_score_table(records: Sequence[Row]) -> Grid:
    """Return a line per record of ``eval``."""
    return to_table(records, ("run", "protocol", *(each.name for each in _scored(records))))


def to_score_lines(record: Row) -> str:
    """Return a line per measure of one record of ``eval``: its value ± its standard error."""
    known = [each for each in _scored([record]) if record.get(each.name) is not None]
    cells = {each.name: each.cell(record) for each in known if each.error is not None}
    beside = {each.error for each in known if cells.get(each.name) is not None}
    told = {name: visible(record[name]) for name in ("run", "protocol")}
    told |= {
        each.name: cells.get(each.name) or _show(record[each.name])
        for each in known
        if each.name not in beside
    }
    width = max(map(len, told)) + 1
    return "".join(f"{f'{name}:':<{width}} {value}\n" for name, value in told.items())


def _scored(records: Sequence[Row]) -> list[Measure]:
    """Return the measures that ``eval`` shows of records, first those that it always shows."""
    found = [each for each in MEASURES if any(_has(row, each) for row in records)]
    return [
        each
        for places in ((ALWAYS, BESIDE), (SOMETIMES,))
        for each in found
        if each.in_eval in places
    ]


def _has(row: Row, measure: Measure) -> bool:
    return measure.in_eval == ALWAYS or row.get(measure.name) is not None


def to_comparison_table(rows: Sequence[Row]) -> Grid:
    """Return one line per run under the columns that some run has.

    The name of the run stands at the end where two of them have the same backend.
    """
    shown = [(measure.head, measure) for measure in MEASURES if measure.head is not None]
    cells = [
        {"backend": row["backend"]} | {head: measure.cell(row) for head, measure in shown}
        for row in rows
    ]
    columns = [head for head, _ in shown if any(row[head] is not None for row in cells)]
    if len({row["backend"] for row in rows}) == len(rows):
        return to_table(cells, ["backend", *columns], right=columns)
    named = [cell | {"run": row["run"]} for cell, row in zip(cells, rows, strict=True)]
    return to_table(named, ["backend", *columns, "run"], right=columns)


def to_score_csv(rows: Sequence[Row]) -> str:
    """Return a header and one line per run; the parts of a list are separated by blanks."""
    return to_rows_csv(rows, list(dict.fromkeys(name for row in rows for name in row)))


def to_rows_csv(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return the rows of ``to_table`` with all digits."""
    return to_csv([columns, *([_flat(row.get(name, "")) for name in columns] for row in rows)])


def to_agreement_table(record: Row) -> Grid:
    """Return a line per level of a tree: its nodes by how many other runs found them again."""
    others, nodes = len(record["others"]), record["nodes"]
    found = ["found by 0", *(f"by {n}" for n in range(1, others + 1))]
    rows = []
    for depth in sorted({node["depth"] for node in nodes} - {0}):
        level = [node for node in nodes if node["depth"] == depth]
        counts = {by: sum(node["support"] == n for node in level) for n, by in enumerate(found)}
        rows.append({"depth": depth, "nodes": len(level), **counts})
    columns = ["depth", "nodes", *found]
    return to_table(rows, columns, right=columns)


def to_support_table(record: Row) -> Grid:
    """Return a line per level of a tree: its nodes, and how far they come back."""
    nodes = [node for node in record["nodes"] if node["support"] is not None]
    rows = []
    for depth in sorted({node["depth"] for node in nodes}):
        level = [node for node in nodes if node["depth"] == depth]
        row: dict[str, Any] = {"depth": depth, "nodes": len(level)}
        for name in ("documents", "words", "support"):
            known = [node[name] for node in level if node[name] is not None]
            row[name] = f"{sum(known) / len(known):.2f}" if known else "-"
        row["0.5 or more"] = sum(node["support"] >= 0.5 for node in level)
        row["0.7 or more"] = sum(node["support"] >= 0.7 for node in level)
        rows.append(row)
    columns = ["depth", "nodes", "documents", "words", "support", "0.5 or more", "0.7 or more"]
    return to_table(rows, columns, right=columns)


def judged_rows(record: Row) -> list[Row]:
    """Return a row per kind of question, node empty, and one per kind and node."""
    return [
        {"kind": row["kind"], "node": row.get("node", ""), "name": row.get("name", ""), **row}
        for row in (*record["total"], *record["nodes"])
    ]


def to_judged_table(record: Row) -> Grid:
    """Return a line per kind of question and node: how many answers were right, with intervals."""
    rows = [
        {
            "kind": row["kind"],
            "node": row["node"] or "all",
            "answers": row["n"],
            "accuracy": f"{row['accuracy']:.3f} ± {row['standard_error']:.3f}",
            "95% interval": f"{row['low']:.3f} to {row['high']:.3f}",
            "chance": f"{row['chance']:.3f}",
            "name": row["name"],
        }
        for row in judged_rows(record)
    ]
    columns = ("kind", "node", "answers", "accuracy", "95% interval", "chance", "name")
    return to_table(rows, columns, right=("node", "answers"))


def null_rows(record: Row) -> tuple[list[Row], Sequence[str]]:
    """Return a row for the run and one for each fit to shuffled words, and their columns."""
    rows: list[Row] = [{"fit": record["run"], **record["own"]}]
    rows += [{"fit": f"shuffled, seed {one['seed']}", **one} for one in record["fits"]]
    return rows, ("fit", *record["own"])


def task_rows(records: Sequence[Row]) -> tuple[list[Row], Sequence[str]]:
    """Return a row per run and per baseline, shared baselines once; and columns."""
    rows: list[Row] = [{**record, "method": record["run"]} for record in records]
    for record in records:
        for name, metrics in record["baselines"].items():
            row = {"method": name, **metrics, "split": record["split"]}
            if row not in rows:
                rows.append(row)
    metrics = next(iter(records[0]["baselines"].values()))
    sizes = [key for key in records[0] if key.startswith("n_")]
    return rows, ("method", *metrics, *sizes, "split")


def to_group_lines(rows: Sequence[Row], limit: int | None = None) -> str:
    """Return one line per record of ``hiertopics.corpus.data.groups.group_rows``.

    limit: most lines; the rest is counted in a last one.
    """
    shown = rows if limit is None else rows[:limit]
    names = [visible(row["group"]) for row in shown]
    width = max(map(len, names), default=0)
    lines = [
        f"{name:<{width}} {row['n_docs']:5d} {'doc ' if row['n_docs'] == 1 else 'docs'}  "
        f"{_topics_of(row)}"
        for name, row in zip(names, shown, strict=True)
    ]
    if len(shown) < len(rows):
        lines.append(f"... and {len(rows) - len(shown)} more")
    return "".join(f"{line}\n" for line in lines)


def to_group_csv(rows: Sequence[Row]) -> str:
    """Return a header and one line per pair of a group and one of its main topics."""
    cells = [
        (row["group"], row["n_docs"], topic["id"], topic["weight"], " ".join(topic["words"]))
        for row in rows
        for topic in row["topics"]
    ]
    return to_csv([("group", "n_docs", "topic", "weight", "words"), *cells])


def _topics_of(row: Row) -> str:
    topics = (
        f"[{topic['id']}] {topic['weight']:.1%} {' '.join(topic['words'])}"
        for topic in row["topics"]
    )
    text = visible(" | ".join(topics))
    if "similar" in row:
        near = ", ".join(f"{name} {affinity:.2f}" for name, affinity in row["similar"])
        text += f"\n    similar: {visible(near)}"
    return text


def _flat(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _show(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:z.4f}" if abs(value) < 10 else f"{value:.1f}"
    if isinstance(value, list):
        return "/".join(_show(item) for item in value)
    return visible(str(value))
