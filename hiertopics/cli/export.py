"""``hiertopics export``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import (
    arrange_option,
    chosen_run,
    docs_option,
    json_option,
    note_hidden,
    put,
    run_argument,
    side_option,
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
@click.option("--depth", type=click.IntRange(min=1), help="Most levels written.")
@click.option(
    "--min-docs",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Leave out nodes with fewer documents.",
)
@docs_option
@side_option
@arrange_option
@json_option
def command(**options: Any) -> int:
    """Write the tree of RUN (default: the newest under runs/) for other tools."""
    from hiertopics.files import to_json
    from hiertopics.views.showing import export

    target, as_json = chosen_run(options.pop("run")), options.pop("as_json")
    path = export(target, docs=options.pop("n_docs"), **options)
    note_hidden(target)
    put(to_json({"run": str(target.path), "output": str(path)}) if as_json else str(path))
    return 0
