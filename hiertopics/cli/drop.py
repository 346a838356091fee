"""``hiertopics drop``."""

from __future__ import annotations

import sys

import click

from hiertopics.cli.options import json_option, put_made


@click.command("drop")
@click.argument("run", type=click.Path())
@click.argument("node", type=click.IntRange(min=0))
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@json_option
def command(run: str, node: int, output: str, as_json: bool) -> int:
    """Make a run without NODE of RUN and all below it.

    Its documents stay at what lies above; its words count as outside the topics (of the nested HDP
    as the parent's). RUN stays as it is. The new run is scored and shown like any other; no fit
    goes on with it.
    """
    from hiertopics.fitting.reshaping import drop

    put_made(drop(run, node, output, argv=sys.argv), as_json)
    return 0
