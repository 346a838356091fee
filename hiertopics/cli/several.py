"""``hiertopics agree`` and ``consensus``: several runs of one corpus."""

from __future__ import annotations

import sys

import click

from hiertopics.cli.options import (
    LINES,
    forms,
    json_option,
    put,
    put_table,
    trust_option,
    workers_option,
)


@click.command("agree")
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--write", is_flag=True, help="Note it in the first run's tree.json, for all views of it."
)
@forms("csv")
def agree_command(runs: tuple[str, ...], write: bool, form: str) -> int:
    """Say which nodes of the first of RUNS the others found again.

    All are of one backend, corpus and split. A line for each depth: its nodes, and how many of them
    0, 1, 2, ... others found, by words and documents. The other forms have every node.
    """
    from hiertopics.files import to_csv, to_json
    from hiertopics.scoring.comparison import agree
    from hiertopics.views.render.records import to_agreement_table

    record = agree(runs, write=write)
    if form in LINES:
        put(to_json(record))
    elif form == "csv":
        nodes = record["nodes"]
        put(to_csv([(*nodes[0],), *((*node.values(),) for node in nodes)]), nl=False)
    else:
        put_table(to_agreement_table(record))
        came = f"{record['support']:.1%} of the tokens below the root"
        put(f"{came} are at nodes that come back")
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
