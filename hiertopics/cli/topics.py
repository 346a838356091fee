"""``hiertopics topics`` and ``docs``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import (
    chosen_run,
    count_option,
    docs_option,
    note_hidden,
    put,
    run_argument,
    side_option,
    tell,
    trust_option,
)

COLUMNS = ("id", "weight", "n_tokens", "n_docs")


@click.command("topics")
@run_argument
@click.argument("node", required=False, type=click.IntRange(min=0))
@count_option("--words", default=10, help="Top words per topic.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "csv", "json"]),
    default="text",
    show_default=True,
)
@docs_option
@click.option(
    "--by",
    metavar="COLUMN",
    help="Shares by a column of what is known of documents instead, with intervals; group: each "
    "group's main topics.",
)
@side_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the intervals.")
@click.option(
    "--similar",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --by group: also the N groups with the most similar topics.",
)
def topics_command(
    run: str | None,
    node: int | None,
    words: int,
    form: str,
    n_docs: int | None,
    by: str | None,
    similar: int | None,
    sides: tuple[str, ...],
    seed: int,
) -> int:
    """Show the topics of RUN (default: the newest under runs/) as a table, or its topic NODE whole.

    Of one topic: its words, what tells it from its neighbours, what stands above and below it.
    """
    if by != "group" and similar is not None:
        raise click.UsageError("--similar has no meaning without --by group")
    if by is not None and n_docs is not None:
        raise click.UsageError("--docs has no meaning with --by")
    if sides and (by in (None, "group")):
        raise click.UsageError("--side has no meaning without --by COLUMN")
    from hiertopics.files import to_json
    from hiertopics.views.topics import topic_text, topics

    target = chosen_run(run)
    rows = topics(
        target, node, words=words, docs=n_docs, by=by, similar=similar or 0, sides=sides, seed=seed
    )
    if node is None and by is None:
        note_hidden(target)
    if form == "json":
        for row in rows:
            put(to_json(row))
        return 0
    if by not in (None, "group"):
        put(_by_column(rows, form), nl=False)
        return 0
    if node is not None and form == "text":
        put(topic_text(rows[0]), nl=False)
        return 0
    lists = ("words",) if n_docs is None else ("words", "documents")
    put(_topics(rows, form, lists) if by is None else _groups(rows, form), nl=False)
    return 0


def _topics(rows: list[dict[str, Any]], form: str, lists: tuple[str, ...]) -> str:
    """Return one line per topic; lists: the columns that hold several things."""
    from hiertopics.runs.rows import listed, topics_csv
    from hiertopics.views.render.records import to_table

    if form == "csv":
        return topics_csv(rows)
    columns = [name for name in (*COLUMNS, "support") if not rows or name in rows[0]]
    flat = [row | {name: listed(row, name) for name in lists} for row in rows]
    said = ("name",) * any(row.get("name") for row in rows)
    return to_table(flat, (*columns, *said, *lists))


def _by_column(rows: list[dict[str, Any]], form: str) -> str:
    """Return a line per topic and value."""
    from hiertopics.files import to_csv
    from hiertopics.views.render.records import to_table

    columns = tuple(rows[0]) if rows else ()
    if form == "csv":
        return to_csv([columns, *(row.values() for row in rows)])
    numbers = [name for name in columns if name not in ("name", "value")]
    return to_table(rows, columns, right=numbers)


def _groups(rows: list[dict[str, Any]], form: str) -> str:
    """Return each group's main topics."""
    from hiertopics.views.render.records import to_group_csv, to_group_lines

    return to_group_csv(rows) if form == "csv" else to_group_lines(rows)


SHOWN_DOCS = 20


@click.command("docs")
@trust_option
@click.argument("run", required=False, type=click.Path())
@click.argument("node", required=False, type=click.IntRange(min=0))
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="The first N only. [text: 20; else all]"
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "csv", "jsonl", "json"]),
    default="text",
    show_default=True,
)
def docs_command(run: str | None, node: int | None, top: int | None, form: str) -> int:
    """Show the documents of RUN (default: the newest under runs/), or those of its node NODE.

    Each with its name, its path or main topics, and how it begins, where the run has kept that;
    those of a node with the share of their words at or below it, the largest first.
    """
    from hiertopics.files import to_json
    from hiertopics.runs.rows import docs_csv
    from hiertopics.views.documents import docs, docs_text

    records = docs(chosen_run(run), node)
    most = top or (SHOWN_DOCS if form == "text" else len(records))
    shown = records[:most]
    if form == "text":
        put(docs_text(shown), nl=False)
    elif form == "csv":
        put(docs_csv(shown), nl=False)
    elif form == "json":
        put(to_json(shown, indent=1))
    else:
        for record in shown:
            put(to_json(record))
    if len(shown) < len(records):
        tell(f"... and {len(records) - len(shown)} more; --top N shows them")
    return 0
