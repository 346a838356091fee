"""``hiertopics agree``."""

from __future__ import annotations

import click

from hiertopics.cli.options import json_option, put


@click.command("agree")
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--write", is_flag=True, help="Note it in the first run's tree.json, for all views of it."
)
@json_option
def command(runs: tuple[str, ...], write: bool, as_json: bool) -> int:
    """Say which nodes of the first of RUNS the others found again.

    All are of one backend, corpus and split. A line for each depth: its nodes, and how many of them
    0, 1, 2, ... others found, by words and documents. --json has every node.
    """
    from hiertopics.files import to_json
    from hiertopics.scoring.agreement import agree
    from hiertopics.views.render.records import to_agreement_table

    record = agree(runs, write=write)
    if as_json:
        put(to_json(record))
    else:
        put(to_agreement_table(record), nl=False)
    return 0
