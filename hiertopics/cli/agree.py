"""``hiertopics agree``."""

from __future__ import annotations

import click

from hiertopics.cli.options import json_option, put


@click.command("agree")
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@json_option
def command(runs: tuple[str, ...], as_json: bool) -> int:
    """Say which nodes of the first of RUNS the others, of the same split, found again.

    A line for each depth: its nodes, and how many of them 0, 1, 2, ... others found, by words and
    documents. --json has every node.
    """
    from hiertopics.files import to_json
    from hiertopics.scoring.agreement import agree
    from hiertopics.views.render.records import to_agreement_table

    record = agree(runs)
    if as_json:
        put(to_json(record))
    else:
        put(to_agreement_table(record), nl=False)
    return 0
