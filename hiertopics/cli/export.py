"""``hiertopics export``."""

from __future__ import annotations

import click

from hiertopics.cli.options import (
    arrange_option,
    chosen_run,
    json_option,
    put,
    run_argument,
)


@click.command("export")
@run_argument
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the tree is written.")
@click.option(
    "--to",
    metavar="FORMAT",
    help="json, csv, newick, dot, graphml, html (the page of report) or text. "
    "[default: by the suffix of FILE]",
)
@click.option(
    "--words",
    type=click.IntRange(min=1),
    metavar="N",
    help="Top words per node. [default: 10; html: 30]",
)
@arrange_option
@json_option
def command(
    run: str | None, output: str, to: str | None, words: int | None, arrange: bool, as_json: bool
) -> int:
    """Write the tree of RUN (default: the newest under runs/) for other tools."""
    from hiertopics.files import to_json
    from hiertopics.views.showing import export

    target = chosen_run(run)
    path = export(target, output, to=to, words=words, arrange=arrange)
    put(to_json({"run": str(target.path), "output": str(path)}) if as_json else str(path))
    return 0
