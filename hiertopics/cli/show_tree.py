"""``hiertopics show-tree``."""

from __future__ import annotations

import click

from hiertopics.cli.options import (
    arrange_option,
    chosen_run,
    count_option,
    docs_option,
    note_hidden,
    put,
    run_argument,
    side_option,
    tell,
)


@click.command("show-tree")
@run_argument
@click.option("--depth", type=click.IntRange(min=1), help="Most levels shown.")
@count_option("--words", default=8, help="Top words per node.")
@click.option(
    "--words-by",
    type=click.Choice(["prob", "branch"]),
    default="prob",
    show_default=True,
    help="A node's own words, or what all below it has more of than the corpus.",
)
@click.option(
    "--min-docs",
    type=click.IntRange(min=0),
    help="Hide nodes with fewer documents. Default: 0; in text, 1% of them for large trees.",
)
@click.option(
    "--format",
    "form",
    metavar="FORMAT",
    default="text",
    show_default=True,
    help="text, json, csv, newick, dot, graphml or html.",
)
@docs_option
@side_option
@arrange_option
def command(
    run: str | None,
    depth: int | None,
    words: int,
    words_by: str,
    min_docs: int | None,
    form: str,
    n_docs: int | None,
    sides: tuple[str, ...],
    arrange: bool,
) -> int:
    """Show the tree of RUN (default: the newest under runs/) with its top words.

    A flat model is shown as one level of topics, largest first.
    """
    from hiertopics.views.showing import least_documents, show_tree

    target = chosen_run(run)
    text = show_tree(
        target,
        depth=depth,
        words=words,
        words_by=words_by,
        min_docs=min_docs,
        format=form,
        docs=n_docs,
        sides=sides,
        arrange=arrange,
    )
    put(text, nl=False)
    note_hidden(target)
    hidden = least_documents(target, form) if min_docs is None else 0
    if hidden:
        what = f"nodes with fewer than {hidden} documents are not shown; --min-docs 0 shows all"
        tell(what)
    return 0
