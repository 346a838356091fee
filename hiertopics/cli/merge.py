"""``hiertopics merge``."""

from __future__ import annotations

import sys

import click

from hiertopics.cli.options import json_option, put_made


@click.command("merge")
@click.argument("run", type=click.Path())
@click.argument("nodes", nargs=-1, required=True, type=click.IntRange(min=0))
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@json_option
def command(run: str, nodes: tuple[int, ...], output: str, as_json: bool) -> int:
    """Make a run in which two or more NODES of RUN, topics or nodes with one parent, are one.

    Their words are put together by tokens, their documents' shares added; what hangs below stays.
    RUN stays as it is. The new run is scored and shown like any other; no fit goes on with it.
    """
    from hiertopics.fitting.reshaping import merge

    put_made(merge(run, nodes, output, argv=sys.argv), as_json)
    return 0
