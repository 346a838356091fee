"""``hiertopics docs``."""

from __future__ import annotations

import click

from hiertopics.cli.options import chosen_run, put, tell

SHOWN = 20


@click.command("docs")
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
def command(run: str | None, node: int | None, top: int | None, form: str) -> int:
    """Show the documents of RUN (default: the newest under runs/), or those of its node NODE.

    Each with its name, its path or main topics, and how it begins, where the run has kept that;
    those of a node with the share of their words at or below it, the largest first.
    """
    from hiertopics.files import to_json
    from hiertopics.runs.docrows import docs_csv
    from hiertopics.views.documents import docs, docs_text

    records = docs(chosen_run(run), node)
    most = top or (SHOWN if form == "text" else len(records))
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
