"""``hiertopics show-tree``."""

from __future__ import annotations

import click

from hiertopics.cli.options import arrange_option, chosen_run, run_argument


@click.command("show-tree")
@run_argument
@click.option("--depth", type=click.IntRange(min=1), help="Most levels shown.")
@click.option(
    "--words", type=click.IntRange(min=1), default=8, show_default=True, help="Top words per node."
)
@click.option(
    "--min-docs",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Hide nodes with fewer documents.",
)
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    default="text",
    show_default=True,
    help="text, json, csv, newick, dot or graphml.",
)
@arrange_option
def command(
    run: str | None, depth: int | None, words: int, min_docs: int, form: str, arrange: bool
) -> int:
    """Show the tree of RUN (default: the newest under runs/) with its top words.

    A flat model is shown as one level of topics, largest first.
    """
    from hiertopics.exporting import show
    from hiertopics.render import View

    view = View(depth, words, min_docs)
    click.echo(show(chosen_run(run), view, form, arrange=arrange), nl=False)
    return 0
