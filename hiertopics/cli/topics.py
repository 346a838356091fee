"""``hiertopics topics``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hiertopics.cli.options import chosen_run, docs_option, run_argument

if TYPE_CHECKING:
    from hiertopics.rundir import RunDir

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
    from hiertopics.artifacts import listed, node_rows, topics_csv
    from hiertopics.files import to_json
    from hiertopics.render.table import to_table

    target = chosen_run(run)
    documents = None
    if n_docs is not None:
        from hiertopics.topdocs import documents_of

        documents = documents_of(target, target.tree, n_docs)
    rows = node_rows(target.tree, target.vocab, words, documents=documents)
    if form == "csv":
        click.echo(topics_csv(rows), nl=False)
        return 0
    if form == "json":
        for row in rows:
            click.echo(to_json(row))
        return 0
    lists = ("words",) if documents is None else ("words", "documents")
    flat = [row | {name: listed(row, name) for name in lists} for row in rows]
    click.echo(to_table(flat, (*COLUMNS, *lists)), nl=False)
    return 0


def _by_group(run: RunDir, n_words: int, form: str, n_similar: int) -> int:
    """Print each group's main topics."""
    from hiertopics.errors import UsageError
    from hiertopics.files import to_json
    from hiertopics.groups import group_rows, groups_of
    from hiertopics.render.groups import to_group_csv, to_group_lines

    groups = groups_of(run.tree)
    if groups is None:
        raise UsageError(
            f"{run.path} has no weights of groups; fit a chdp backend to a corpus with groups"
        )
    rows = group_rows(groups, run.tree, run.vocab, n_words=n_words, n_similar=n_similar)
    if form == "json":
        for row in rows:
            click.echo(to_json(row))
    else:
        click.echo(to_group_csv(rows) if form == "csv" else to_group_lines(rows), nl=False)
    return 0
