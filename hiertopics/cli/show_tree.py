"""``hiertopics show-tree``."""

from __future__ import annotations

import click

from hiertopics.cli.options import chosen_run, run_argument


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
    type=click.Choice(["text", "json", "dot", "newick"]),
    default="text",
    show_default=True,
)
def command(run: str | None, depth: int | None, words: int, min_docs: int, form: str) -> int:
    """Show the tree of RUN (default: the newest under runs/) with its top words.

    A flat model is shown as one level of topics, largest first.
    """
    from hiertopics.artifacts import node_rows, tree_json
    from hiertopics.files import to_json
    from hiertopics.render import View
    from hiertopics.render.dot import to_dot
    from hiertopics.render.newick import to_newick
    from hiertopics.render.text import to_text

    target = chosen_run(run)
    view = View(depth, words, min_docs)
    if form == "json":
        rows = [
            row
            for row in node_rows(target.tree, target.vocab, words)
            if row["n_docs"] >= min_docs and (depth is None or row["depth"] < depth)
        ]
        record = tree_json(rows, str(target.manifest["backend"]))
        click.echo(to_json(record, indent=1))
        return 0
    write = {"text": to_text, "dot": to_dot, "newick": to_newick}[form]
    click.echo(write(target.tree, target.vocab, view), nl=False)
    return 0
