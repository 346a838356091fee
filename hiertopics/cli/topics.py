"""``hiertopics topics`` and ``docs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hiertopics.cli.completing import BY, NODE, RUN
from hiertopics.cli.habits import HintingCommand
from hiertopics.cli.options import (
    LINES,
    chosen_run,
    count_option,
    docs_option,
    forms,
    going_on,
    naming_option,
    newest_node,
    note_hidden,
    put,
    put_records,
    put_table,
    put_text,
    run_argument,
    side_option,
    tell,
    trust_option,
    words_by_option,
)

if TYPE_CHECKING:
    from hiertopics.runs.rundir import RunDir
    from hiertopics.views.render.records import Grid

COLUMNS = ("id", "share", "own", "documents")


@click.command("topics", cls=HintingCommand)
@run_argument
@click.argument("node", required=False, type=NODE)
@count_option("--words", default=10, help="Top words per topic.")
@words_by_option
@docs_option
@click.option(
    "--by",
    type=BY,
    metavar="COLUMN",
    help="Instead: shares by a column of metadata, with intervals ('authors;' splits its cells "
    "at ;); group: each group's main topics.",
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --by COLUMN: show the N largest differences only, those of values with few "
    "documents last. [text: 20 of the first level; "
    "else all]",
)
@side_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the intervals.")
@click.option(
    "--similar",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --by group: also the N groups with the most similar topics.",
)
@forms("csv", "vega-lite")
def topics_command(
    run: str | None,
    node: int | None,
    words: int,
    words_by: str | None,
    form: str,
    n_docs: int | None,
    by: str | None,
    top: int | None,
    similar: int | None,
    sides: tuple[str, ...],
    seed: int,
) -> int:
    """Show the topics of RUN (default: the newest under runs/) as a table, or topic NODE in full.

    One topic is shown with its words, the words that distinguish it from its neighbours, and the
    topics above and below it.
    """
    if by != "group" and similar is not None:
        raise click.UsageError("--similar has no meaning without --by group")
    if by is not None and n_docs is not None:
        raise click.UsageError("--docs has no meaning with --by")
    if top is not None and by in (None, "group"):
        raise click.UsageError("--top has no meaning without --by COLUMN")
    if sides and by == "group":
        raise click.UsageError(
            "--by group are groups of the model (chdp); give the column another name: "
            "--by kind --side kind=FILE"
        )
    if sides and by is None:
        raise click.UsageError("--side has no meaning without --by COLUMN")
    if form == "vega-lite" and by in (None, "group"):
        raise click.UsageError("--format vega-lite has no meaning without --by COLUMN")
    from hiertopics.views.topics import topic_text, topics

    run, node = newest_node(run, node)
    target = chosen_run(run)
    words_by = "name" if (words_by, node, form) == (None, None, "text") else words_by
    if by not in (None, "group") and (top, form) == (None, "text"):
        from hiertopics.views.bycolumn import refuse_names

        refuse_names(target, str(by), sides)
    if by not in (None, "group") and (node, top, form) == (None, None, "text"):
        from hiertopics.views.bycolumn import is_over_time, n_values
        from hiertopics.views.shares import MOST_VALUES

        if is_over_time(target, str(by), sides):
            return _put_trend(target, str(by), sides, seed, words_by)
        if n_values(target, str(by), sides) > MOST_VALUES:
            return _put_values(target, str(by), sides, seed, words_by)
    if by not in (None, "group") and node is None and (top or form == "text"):
        from hiertopics.views.bycolumn import by_column, every_node, first_level

        # Nobody waits for the rows of deeper topics, which are not shown.
        nodes = first_level(target)
        with going_on("counting"):
            rows = by_column(target, str(by), nodes, sides, seed, words_by)
        n_rows = len(rows) // max(len(nodes), 1) * len(every_node(target))
        ways = "--top N shows more, NODE those of one topic"
        rows = _leading(rows, top or SHOWN_ROWS, n_rows, ways)
    else:
        with going_on("reading the run"):
            rows = topics(
                target,
                node,
                words=words,
                words_by=words_by,
                docs=n_docs,
                by=by,
                similar=similar or 0,
                sides=sides,
                seed=seed,
            )
        if by not in (None, "group") and top:
            rows = _leading(rows, top, len(rows), "--top N shows more")
    if node is None and by is None:
        note_hidden(target)
    if form in LINES:
        put_records(rows)
        return 0
    if form == "csv":
        put(_csv(rows, by), nl=False)
    elif form == "vega-lite":
        put(_chart(rows, str(by)))
    elif node is not None and by is None:
        put_text(topic_text(rows[0]))
    elif by == "group":
        from hiertopics.views.render.records import to_group_lines

        put_text(to_group_lines(rows))
    else:
        put_table(_by_column(rows) if by else _topics(rows, n_docs is not None))
    return 0


def _put_trend(
    run: RunDir, by: str, sides: tuple[str, ...], seed: int, words_by: str | None
) -> int:
    """Write a line of bars over time for each topic of the first level."""
    from hiertopics.views.bycolumn import by_column, first_level, is_few
    from hiertopics.views.render import FEW_DOCUMENTS
    from hiertopics.views.shares import FEW_BAR, drawn_values, to_trend_table

    with going_on("counting"):
        rows = by_column(run, by, first_level(run), sides, seed, words_by, intervals=False)
    put_table(to_trend_table(rows))
    drawn, of_values = drawn_values(rows), {row["value"]: row for row in rows}
    if drawn.told:
        tell(drawn.told)
    shown = drawn.of(list(of_values))
    few = [value for value in shown if is_few(of_values[value])]
    if few:
        n_values = len(shown)
        limit = f"fewer than {FEW_DOCUMENTS} documents"
        tell(f"{len(few)} of {n_values} values have {limit} ({FEW_BAR})")
    tell(SHARES_TOLD)
    tell(f"{WAYS}, --format csv all")
    return 0


def _put_values(
    run: RunDir, by: str, sides: tuple[str, ...], seed: int, words_by: str | None
) -> int:
    """Write a table of many values and topics of the first level."""
    from hiertopics.views.bycolumn import by_column, first_level
    from hiertopics.views.shares import MOST_VALUES, to_value_table

    with going_on("counting"):
        rows = by_column(run, by, first_level(run), sides, seed, words_by, intervals=False)
    n_values = len({row["value"] for row in rows})
    put_table(to_value_table(rows))
    tell(f"the {MOST_VALUES} commonest of {n_values} values; {SHARES_TOLD}")
    tell(f"{WAYS}, --format csv all")
    return 0


SHARES_TOLD = "a share is the mean over the documents of a value, of words at or below the topic"
WAYS = "NODE shows one topic with its intervals, --top N the largest differences"
SHOWN_ROWS = 20


def _leading(rows: list[dict[str, Any]], most: int, n_rows: int, ways: str) -> list[dict[str, Any]]:
    """Return rows with the largest differences, and say on stderr how many are left out."""
    from hiertopics.views.bycolumn import is_few, largest
    from hiertopics.views.render import FEW_DOCUMENTS

    shown = largest(rows, most)
    few = {row["value"] for row in rows if is_few(row)}
    if few:
        n_values = len({row["value"] for row in rows})
        limit = f"fewer than {FEW_DOCUMENTS} documents"
        tell(f"{len(few)} of {n_values} values have {limit} and come last")
    if len(shown) < n_rows:
        tell(f"... and {n_rows - len(shown)} more rows; {ways}, --format csv all")
    return shown


def _csv(rows: list[dict[str, Any]], by: str | None) -> str:
    """Return a header and a line per topic, per topic and value, or per group and topic."""
    from hiertopics.base.files import to_csv
    from hiertopics.runs.rows import topics_csv
    from hiertopics.views.render.records import to_group_csv

    if by is None:
        return topics_csv(rows)
    if by == "group":
        return to_group_csv(rows)
    return to_csv([tuple(rows[0]) if rows else (), *(row.values() for row in rows)])


def _chart(rows: list[dict[str, Any]], by: str) -> str:
    from hiertopics.base.files import to_json
    from hiertopics.views.charts import to_vega_lite
    from hiertopics.views.remarks import column_called

    return to_json(to_vega_lite(rows, column_called(by)))


def _topics(rows: list[dict[str, Any]], with_documents: bool) -> Grid:
    """Return a line per topic: the share at or below it, its own share, and its words."""
    from hiertopics.runs.rows import listed
    from hiertopics.views.render.records import to_table

    lines = [
        row
        | {
            "share": f"{row.get('branch_share', row['weight']):.2%}",
            "own": f"{row['weight']:.2%}",
            "documents": row.get("branch_docs", row["n_docs"]),
            "words": _words(row),
            "top documents": listed(row, "documents") if with_documents else "",
        }
        for row in rows
    ]
    found = [name for name in ("support",) if rows and name in rows[0]]
    said = ["name"] * any(row.get("name") for row in rows)
    last = ["words", "top documents"][: 1 + with_documents]
    return to_table(lines, [*COLUMNS, *found, *said, *last], right=COLUMNS)


def _words(row: dict[str, Any]) -> str:
    """Return the words of a topic; of one that is called by parts of a name, those parts."""
    from hiertopics.corpus.data.naming import in_parts
    from hiertopics.runs.rows import listed

    return in_parts(row["parts"], len(row["words"])) if row["parts"] else listed(row, "words")


def _by_column(rows: list[dict[str, Any]]) -> Grid:
    """Return a line per topic and value: those of one topic in order, others by difference."""
    from hiertopics.views.shares import by_difference, to_share_table

    return to_share_table(rows if len({row["id"] for row in rows}) == 1 else by_difference(rows))


SHOWN_DOCS = 20


class Fraction(click.ParamType):  # type: ignore[type-arg]
    """A number, or a fraction of two numbers."""

    name = "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number; of ``1/3`` the nearest one, as Python divides."""
        above, has_two, under = str(value).partition("/")
        try:
            return float(above) / float(under) if has_two else float(above)
        except (ValueError, ZeroDivisionError):
            self.fail(f"{value!r} is no number and no fraction such as 1/3", param, ctx)


@click.command("docs", cls=HintingCommand)
@trust_option
@click.argument("run", required=False, type=RUN)
@click.argument("node", required=False, type=NODE)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show the first N only. [text: 20; else all]",
)
@click.option(
    "--below",
    type=Fraction(),
    metavar="SHARE",
    help="Instead: documents that fit no branch. Of their words no branch has SHARE, like 1/3.",
)
@naming_option
@forms("csv")
def docs_command(
    run: str | None,
    node: int | None,
    top: int | None,
    below: float | None,
    words_by: str | None,
    form: str,
) -> int:
    """Show the documents of RUN (default: the newest under runs/), or those of its node NODE.

    Each has its name, the way to its main topic, and its beginning, if the run has kept it.
    Documents of a node also have the share of their words at or below it, the largest first. json:
    one list.
    """
    from hiertopics.base.files import to_json
    from hiertopics.runs.rows import docs_csv
    from hiertopics.views.documents import docs, docs_text

    run, node = newest_node(run, node)
    target = chosen_run(run)
    with going_on("reading the run"):
        records = docs(target, node, below=below, words_by=words_by)
    if form == "text":
        records = [record for record in records if record.get("counted", True)]
    most = top or (SHOWN_DOCS if form == "text" else len(records))
    shown = records[:most]
    if form == "text":
        put_text(docs_text(shown))
    elif form == "csv":
        put(docs_csv(shown), nl=False)
    elif form == "json":
        put(to_json(shown, indent=1))
    else:
        put_records(shown)
    if len(shown) < len(records):
        tell(f"... and {len(records) - len(shown)} more; --top N shows them")
    return 0
