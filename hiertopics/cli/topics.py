"""``hiertopics topics``."""

from __future__ import annotations

import click

from hiertopics.cli.options import chosen_run, run_argument

COLUMNS = ("id", "weight", "n_tokens", "n_docs", "words")


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
def command(run: str | None, words: int, form: str) -> int:
    """Show the topics of RUN (default: the newest under runs/) as a table."""
    from hiertopics.artifacts import node_rows, topics_csv
    from hiertopics.files import to_json
    from hiertopics.render.table import to_table

    target = chosen_run(run)
    rows = node_rows(target.tree, target.vocab, words)
    if form == "csv":
        click.echo(topics_csv(rows), nl=False)
        return 0
    if form == "json":
        for row in rows:
            click.echo(to_json(row))
        return 0
    flat = [row | {"words": " ".join(word for word, _ in row["words"])} for row in rows]
    click.echo(to_table(flat, COLUMNS), nl=False)
    return 0
