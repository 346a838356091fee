"""``hiertopics topics``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hiertopics.cli.options import chosen_run, docs_option, run_argument

if TYPE_CHECKING:
    from hiertopics.runs.rundir import RunDir

COLUMNS = ("id", "weight", "n_tokens", "n_docs")


@click.command("topics")
@run_argument
@click.option(
    "--words",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Top words per topic.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "csv", "json"]),
    default="text",
    show_default=True,
)
@docs_option
@click.option("--by", type=click.Choice(["group"]), help="Each group's main topics instead.")
@click.option(
    "--similar",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --by group: also the N groups with the most similar topics.",
)
def command(
    run: str | None, words: int, form: str, n_docs: int | None, by: str | None, similar: int | None
) -> int:
    """Show the topics of RUN (default: the newest under runs/) as a table."""
    if by is None and similar is not None:
        raise click.UsageError("--similar has no meaning without --by group")
    if by is not None:
        if n_docs is not None:
            raise click.UsageError("--docs has no meaning with --by group")
        return _by_group(chosen_run(run), words, form, similar or 0)
    from hiertopics.api import topics
    from hiertopics.files import to_json
    from hiertopics.runs.artifacts import listed, topics_csv
    from hiertopics.views.render.table import to_table

    rows = topics(chosen_run(run), words=words, docs=n_docs)
    if form == "csv":
        click.echo(topics_csv(rows), nl=False)
        return 0
    if form == "json":
        for row in rows:
            click.echo(to_json(row))
        return 0
    lists = ("words",) if n_docs is None else ("words", "documents")
    flat = [row | {name: listed(row, name) for name in lists} for row in rows]
    click.echo(to_table(flat, (*COLUMNS, *lists)), nl=False)
    return 0


def _by_group(run: RunDir, n_words: int, form: str, n_similar: int) -> int:
    """Print each group's main topics."""
    from hiertopics.api import topics
    from hiertopics.files import to_json
    from hiertopics.views.render.groups import to_group_csv, to_group_lines

    rows = topics(run, words=n_words, by="group", similar=n_similar)
    if form == "json":
        for row in rows:
            click.echo(to_json(row))
    else:
        click.echo(to_group_csv(rows) if form == "csv" else to_group_lines(rows), nl=False)
    return 0
