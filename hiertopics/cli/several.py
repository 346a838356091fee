"""``hiertopics agree`` and ``consensus``: several runs of one corpus."""

from __future__ import annotations

import sys

import click

from hiertopics.cli.options import json_option, put, trust_option, workers_option


@click.command("agree")
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--write", is_flag=True, help="Note it in the first run's tree.json, for all views of it."
)
@json_option
def agree_command(runs: tuple[str, ...], write: bool, as_json: bool) -> int:
    """Say which nodes of the first of RUNS the others found again.

    All are of one backend, corpus and split. A line for each depth: its nodes, and how many of them
    0, 1, 2, ... others found, by words and documents. --json has every node.
    """
    from hiertopics.files import to_json
    from hiertopics.scoring.comparison import agree
    from hiertopics.views.render.records import to_agreement_table

    record = agree(runs, write=write)
    if as_json:
        put(to_json(record))
    else:
        put(to_agreement_table(record), nl=False)
    return 0


@click.command("consensus")
@trust_option
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--run", "output", metavar="DIR", required=True, help="Run directory.")
@workers_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No notes on stderr.")
def consensus_command(
    runs: tuple[str, ...], output: str, workers: int, as_json: bool, quiet: bool
) -> int:
    """Write the tree of the branches that most of RUNS have, as a run like any other.

    All are of one backend, corpus and split. Leaves that no other run has are those of the first
    one. The run's path is the last line of stdout.
    """
    from hiertopics.files import to_json
    from hiertopics.fitting.consensus import consensus

    made = consensus(runs, output, workers=workers, quiet=quiet, argv=sys.argv)
    if as_json:
        parents = [parent["run"] for parent in made.manifest["parents"]]
        put(to_json({"run": str(made.path), "parents": parents, "nodes": len(made.tree.shown)}))
    else:
        put(str(made.path))
    return 0
