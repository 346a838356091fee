"""``label``, ``merge``, ``drop``, ``edit``, ``shape``, ``consensus``: trees that people change."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hiertopics.cli.completing import NODE, RUN
from hiertopics.cli.habits import HintingCommand
from hiertopics.cli.options import (
    LINES,
    chosen_run,
    forms,
    is_node,
    json_option,
    naming_option,
    needed_run_argument,
    node_of_newest,
    put,
    put_made,
    put_records,
    put_table,
    runs_argument,
    tell,
    tell_sentence,
    trust_option,
    workers_option,
)

if TYPE_CHECKING:
    from hiertopics.python.shaping import ShapeResult
    from hiertopics.runs.rundir import RunDir

COLUMNS = ("node", "name", "hidden", "note", "words", "auto_name")
SHOWN = ("node", "name", "auto_name", "hidden", "note")
"""Columns of a table: nodes are called as in other views, not by their own words."""


@click.command("label", cls=HintingCommand)
@click.argument("run", required=False, type=RUN)
@click.argument("node", required=False)
@click.argument("name", required=False)
@click.option(
    "--hide/--show",
    "hide",
    default=None,
    help="Leave the node and all nodes below it out of views; --show puts them back.",
)
@click.option("--note", metavar="TEXT", help="A note on the node; empty: none.")
@click.option(
    "--with",
    "command",
    metavar="COMMAND",
    help="Run COMMAND once. It reads a line of JSON for each node without a name (words, siblings, "
    "snippets) and writes a line for each of these nodes: the name.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="With --with: number of levels to name, the root's among them.",
)
@click.option("--overwrite", is_flag=True, help="With --with: also name nodes that have a name.")
@click.option("--list", "listed", is_flag=True, help="Show all labels, also after a change.")
@naming_option
@forms("csv")
def label_command(
    run: str | None,
    node: str | None,
    name: str | None,
    hide: bool | None,
    note: str | None,
    command: str | None,
    depth: int | None,
    overwrite: bool,
    listed: bool,
    words_by: str | None,
    form: str,
) -> int:
    """Give a NODE of RUN a NAME; without NODE list the labels of RUN.

    NODE is a number, a name, or words of a name.
    RUN is by default the newest under runs/. An empty NAME removes the name. Labels stand in the
    run's labels.csv, which the page of report can save, too; every view shows them.
    """
    if command is None and (depth is not None or overwrite):
        raise click.UsageError("--depth and --overwrite have no meaning without --with")
    if command is not None:
        if run is not None and is_node(run):
            raise click.UsageError("--with has no meaning with a node")
        if (node, name, hide, note) != (None, None, None, None):
            raise click.UsageError("--with has no meaning with a node")
        if words_by is not None:
            raise click.UsageError("--words-by has no meaning with --with")
        return _label_with(chosen_run(run), command, depth, overwrite, listed, form)
    from hiertopics.views.labelling import label, meant

    if run is not None and name is None and (found := node_of_newest(run)) is not None:
        run, node, name = None, str(found), node
    target = chosen_run(run)
    if node is not None:
        node = str(meant(target, node))
    records = label(target, node, name, hide=hide, note=note, words_by=words_by)
    if listed:
        records = label(target, words_by=words_by)
    elif node is not None:
        records = [record for record in records if str(record["node"]) == node]
    _put_labels(records, form, _no_label(node, listed, name, hide, note))
    return 0


def _no_label(
    node: str | None, listed: bool, name: str | None, hide: bool | None, note: str | None
) -> str:
    """Return the message of ``label`` if there is no label to show."""
    if node is None or listed:
        return "no labels"
    if (name, hide, note) == (None, None, None):
        return f"node {node} has no label; hiertopics label RUN {node} NAME gives it one"
    return f"node {node} has no label now"


def _label_with(
    run: RunDir, command: str, depth: int | None, overwrite: bool, listed: bool, form: str
) -> int:
    """Name nodes by a command; return 1 where it has not answered for all of them."""
    from hiertopics.views.asking import label_with
    from hiertopics.views.labelling import label

    answered = label_with(run, command, depth=depth, overwrite=overwrite)
    nodes = set(answered.named)
    records = [record for record in label(run) if listed or record["node"] in nodes]
    _put_labels(records, form, "no node got a name" if answered.asked else "every node has a name")
    if answered.code or len(nodes) < answered.asked:
        tell(
            f"{len(nodes)} of {answered.asked} nodes got a name; the command ended with exit code "
            f"{answered.code}; the same command again asks for the others"
        )
    return 1 if answered.code or len(nodes) < answered.asked else 0


def _put_labels(records: list[dict[str, Any]], form: str, nothing: str) -> None:
    from hiertopics.base.files import to_csv
    from hiertopics.views.render.records import to_table

    if form in LINES:
        put_records(records)
        return
    if not records:
        tell(nothing)
    shown = [record | {"hidden": "yes" * record["hidden"]} for record in records]
    if form == "csv":
        put(to_csv([COLUMNS, *([row[key] for key in COLUMNS] for row in shown)]), nl=False)
    else:
        put_table(to_table(shown, SHOWN))


@click.command("merge", cls=HintingCommand)
@needed_run_argument
@click.argument("nodes", nargs=-1, required=True, type=NODE)
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@json_option
def merge_command(run: str, nodes: tuple[int, ...], output: str, as_json: bool) -> int:
    """Make a run in which two or more NODES of RUN, topics or nodes with one parent, are one.

    Their words are put together by tokens and their documents' shares are added; nodes below them
    stay. RUN does not change. The new run is scored and shown like any other; no fit continues it.
    """
    from hiertopics.fitting.reshaping import merge

    put_made(merge(run, nodes, output, argv=sys.argv), as_json)
    return 0


@click.command("drop", cls=HintingCommand)
@needed_run_argument
@click.argument("node", type=NODE)
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@json_option
def drop_command(run: str, node: int, output: str, as_json: bool) -> int:
    """Make a run without NODE of RUN and all below it.

    Its documents stay at the nodes above; its words count as outside the topics (in the nested HDP
    as the parent's). RUN does not change. The new run is scored and shown like any other; no fit
    continues it.
    """
    from hiertopics.fitting.reshaping import drop

    put_made(drop(run, node, output, argv=sys.argv), as_json)
    return 0


@click.command("edit", cls=HintingCommand)
@trust_option
@needed_run_argument
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@click.option("--edits", metavar="FILE", help="The edits. [default: edits.yaml of RUN]")
@workers_option
@json_option
def edit_command(run: str, output: str, edits: str | None, workers: int, as_json: bool) -> int:
    """Make a run with nodes of RUN merged, moved or split, as edits.yaml says.

    The file names nodes by their numbers in RUN and some of their words. If you remove an entry,
    its edit is undone. A split reads the corpus and fits all topics again. RUN does not change.
    The new run is scored and shown like any other; no fit continues it.
    """
    from hiertopics.fitting.editing import edit

    put_made(edit(run, output, edits=edits, workers=workers, argv=sys.argv), as_json)
    return 0


@click.command("shape", cls=HintingCommand)
@trust_option
@needed_run_argument
@click.option(
    "--branches",
    required=True,
    metavar="N,...",
    help="Nodes at each level between the root and the leaves, coarse to fine: 6,30.",
)
@click.option("--refit", is_flag=True, help="Fit the topics again while the shape is held.")
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@workers_option
@json_option
def shape_command(
    run: str, branches: str, refit: bool, output: str, workers: int, as_json: bool
) -> int:
    """Make a run with the leaves of RUN's tree and the requested numbers of nodes above them.

    RUN is of the nested HDP and does not change. Its leaves keep their topics, unless --refit is
    given. The command prints the price of the shape in nats per held-out word, with its standard
    error over the same documents. The new run is scored and shown like any other; no fit continues
    it.
    """
    from hiertopics.base.errors import UsageError
    from hiertopics.base.files import to_json
    from hiertopics.python.shaping import shape

    try:
        numbers = [int(part) for part in branches.strip("[]").split(",")]
    except ValueError:
        raise UsageError(f"--branches takes numbers as 6,30, got {branches!r}") from None
    made = shape(run, numbers, output, refit=refit, workers=workers, argv=sys.argv)
    note = None
    if made.price is None:
        note = f"{run} has no held-out documents: the price of the shape is not known"
    if as_json:
        record = {"run": str(made.run.path), "nodes": made.nodes, "inner": made.inner, "note": note}
        put(to_json(record | {"price": made.price, "price_error": made.price_error}))
        return 0
    tell_sentence(_shape_told(made, numbers))
    if note is not None:
        tell(f"note: {note}")
    else:
        error = "" if made.price_error is None else f" +- {made.price_error:.4f}"
        tell(f"price: {made.price:+.4f}{error} nats per held-out word")
    put(str(made.run.path))
    return 0


def _shape_told(made: ShapeResult, asked: Sequence[int]) -> str:
    """Return the numbers of nodes of a run, and why they are not those that were asked for."""
    n_leaves = sum(made.nodes) - sum(made.inner)
    told = f"nodes above the leaves by depth: {', '.join(map(str, made.inner))}; leaves: {n_leaves}"
    if made.inner == [*asked]:
        return told
    told += f" ({', '.join(map(str, asked))} were asked for: nodes without parts of their own "
    told += "count once"
    least = made.run.experiment.model.least_children
    if least > 2:
        told += f", and children of a node with fewer than {least} take its place"
    return f"{told})"


@click.command("consensus", cls=HintingCommand)
@trust_option
@runs_argument(required=True)
@click.option("-o", "--run", "output", metavar="DIR", required=True, help="Run directory.")
@workers_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="No notes on stderr.")
def consensus_command(
    runs: tuple[str, ...], output: str, workers: int, as_json: bool, quiet: bool
) -> int:
    """Write the tree of the branches that most of RUNS have, as a run like any other.

    All are of one backend, corpus and split. Leaves that no other run has come from the first run.
    The run's path is the last line of stdout.
    """
    from hiertopics.base.files import to_json
    from hiertopics.fitting.consensus import consensus

    made = consensus(runs, output, workers=workers, quiet=quiet, argv=sys.argv)
    if as_json:
        parents = [parent["run"] for parent in made.manifest["parents"]]
        put(to_json({"run": str(made.path), "parents": parents, "nodes": len(made.tree.shown)}))
    else:
        put(str(made.path))
    return 0
