"""``hiertopics fit``, ``refit`` and ``update``."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import click

from hiertopics.cli.completing import BACKEND, NODE
from hiertopics.cli.options import (
    SectionedCommand,
    cluster_option,
    config_option,
    corpus_options,
    corpus_settings,
    is_narrow,
    json_option,
    memory_option,
    needed_run_argument,
    put,
    put_lines,
    put_records,
    set_option,
    tell,
    tell_sentence,
    time_option,
    trust_option,
    workers_option,
)

SHOWN_LINES = 30
RESUMABLE = 75
NAMES = ("SIGINT", "SIGTERM", "SIGUSR1")


@contextmanager
def resumable() -> Iterator[None]:
    """Exit with ``RESUMABLE`` at a signal, until the fit itself watches for them.

    Nothing of a run is written until then. No exception is raised, because an import or a reader
    might take it for a failure of its own. Outside the main thread signals are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    previous = {number: signal.signal(number, _leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _leave(number: int, _: FrameType | None) -> None:
    name = signal.Signals(number).name
    message = f"hiertopics: stopped by {name}; the same command begins or continues the fit\n"
    with suppress(OSError):
        os.write(2, message.encode())
    os._exit(RESUMABLE)


@click.command("fit", cls=SectionedCommand)
@click.argument("corpus", required=False, type=click.Path())
@click.option("-b", "--backend", type=BACKEND, help="Backend (see: hiertopics backends).")
@config_option
@set_option
@click.option(
    "-o", "--run", metavar="DIR", help="Run directory. [default: runs/<corpus>-<backend>-s<seed>]"
)
@click.option("--seed", type=int, help="Seed of the fit. [default: 0]")
@click.option(
    "--holdout",
    metavar="SPEC",
    help="The held-out part: docs:0.1@S, tokens:0.2@S, fold:2/5@S, train:1200@S, "
    "links:0.2@S[,drop], none.",
)
@click.option("--iterations", type=click.IntRange(min=1), metavar="N", help="Iterations in all.")
@time_option
@workers_option
@memory_option
@cluster_option
@corpus_options
@click.option(
    "--auto", is_flag=True, help="Apply the advice of check on the corpus; flags and -s win."
)
@click.option("--report", is_flag=True, help="Also write the page of report, as RUN.html.")
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Neither progress nor tree on stderr.")
def fit_command(**options: Any) -> int:
    """Fit a backend to CORPUS (-: standard input) and write a run; on an existing run, continue it.

    The run's path is the last line of stdout. Flags win over --set, which wins over the config
    file. Exit code 75: stopped early, the same command continues.
    """
    as_json, with_page = options.pop("as_json"), options.pop("report")
    data = corpus_settings(options)
    with resumable():
        from hiertopics.fitting import driver

        if options["corpus"] == "-":
            del options["corpus"]
            result = driver.fit_stdin(**options, data=data, argv=sys.argv)
        else:
            result = driver.fit(**options, data=data, argv=sys.argv)
    price = price_of(result, options) if as_json or not options["quiet"] else None
    code = put_result(result, as_json, options["quiet"], price)
    if with_page and result.run.has_model:
        _write_page(result.run)
    return code


def _write_page(run: Any) -> None:
    """Write the page of a run beside its folder, and say where it is."""
    from hiertopics.views.report.packing import size_told
    from hiertopics.views.report.writing import report

    made = report(run, output=run.path.with_name(f"{run.path.name}.html"))
    for line in made.left_out:
        tell(f"note: {line}")
    tell(f"page: {made.path} ({size_told(made.n_bytes)}); open it in any browser")


def price_of(result: Any, options: Mapping[str, Any]) -> Any:
    """Return the price of the requested tree shape; None if it is not measured.

    A run that was done before is not priced again.
    """
    from hiertopics.base.errors import HiertopicsError
    from hiertopics.base.progress import watched
    from hiertopics.fitting.job import FINISHED
    from hiertopics.python.pricing import free_shape, price

    run = result.run
    if result.status != "done" or result.reason == FINISHED or not free_shape(run):
        return None
    try:
        with watched("pricing the shape"):
            found = price(run, options["workers"])
    except HiertopicsError as error:  # the fit is done, whatever comes of another one
        tell(f"note: the price of the shape is not known: {error}")
        return None
    if found is not None:
        run.log(str(found))
    elif len(run.split.heldout_docs) and not options["quiet"]:
        names = " and ".join(f"model.{name}" for name in free_shape(run))
        tell(f"note: hiertopics compare beside a fit without {names} tells the price of the shape")
    return found


def put_result(result: Any, as_json: bool, quiet: bool, price: Any = None) -> int:
    """Show the outcome of a fit on stderr, write its path on stdout; return the exit code."""
    from hiertopics.base.files import to_json

    if not quiet and result.run.has_model:
        _show(result, price)
    path = str(result.run.path)
    if as_json:
        record = {name: getattr(result, name) for name in ("status", "iterations", "objective")}
        if price is not None:
            record |= {"price": price.nats, "price_error": price.error}
        put(to_json({"run": path, **record}))
    else:
        put(path)
    return 0 if result.status == "done" else RESUMABLE


def _labels(run: Any) -> Any:
    """Return the labels of a run; none where labels.csv is wrong: the fit is done all the same."""
    from hiertopics.base.errors import HiertopicsError
    from hiertopics.corpus.data.tree import NONE
    from hiertopics.runs.labels import labels_of

    try:
        return labels_of(run, quiet=True)
    except HiertopicsError:
        return NONE


def _show(result: Any, price: Any) -> None:
    """Print the tree, the outcome, the folder of the run and the next commands on stderr."""
    from hiertopics.base.units import format_duration
    from hiertopics.corpus.data import hidden_nodes, in_order, support_lacks, support_told
    from hiertopics.corpus.data.support import without_sentence
    from hiertopics.fitting.job import FINISHED
    from hiertopics.runs.samemodel import twin_of_other_seed
    from hiertopics.views.labelling import seeds_told
    from hiertopics.views.render import View, first_levels, for_reading
    from hiertopics.views.render.trees import to_lines
    from hiertopics.views.showing import readable_command

    run, tree = result.run, result.run.supported_tree
    view = View(depth=first_levels(tree), labels=_labels(run))
    note = support_told(tree, view.depth, hidden_nodes(tree, view.labels))
    # The sentence is told below, where it does not scroll away.
    shown = in_order(without_sentence(tree), run.vocab)
    view = for_reading(tree, view)._replace(is_narrow=is_narrow(err=True))
    lines = to_lines(shown, run.vocab, view)
    put_lines(lines[:SHOWN_LINES], err=True)
    if len(lines) > SHOWN_LINES:
        more = len(lines) - SHOWN_LINES
        tell(f"... and {more} more nodes; hiertopics show-tree {run.path} shows them")
    spent = format_duration(run.manifest["wall_seconds"])
    outcome = (
        f"{result.status}: {len(tree.shown)} nodes after {result.iterations} iterations, {spent}"
    )
    if result.reason == FINISHED:
        outcome = (
            f"nothing was done: the run is complete at iteration {result.iterations}, and a larger "
            "--iterations extends it"
        )
    tell(f"{outcome}; model, figures and log are in {run.path}")
    for line in seeds_told(run, view.labels):
        tell(line)
    if price is not None:
        tell(str(price))
    if note:
        is_quick = tree.transfer is not None and not tree.transfer.is_of_nodes
        of_all = f"; hiertopics support {run.path} measures all nodes by fits"
        tell_sentence(note + of_all * is_quick)
    elif lacks := support_lacks(tree):
        tell_sentence(f"{lacks}; hiertopics support {run.path} measures it")
    if (twin := twin_of_other_seed(run)) is not None:
        told = (
            f"note: this is the model of {twin.path}, byte for byte: the seed changes nothing here"
        )
        tell_sentence(f"{told}; hiertopics support {run.path} fits parts of the documents")
    steps = [
        f"hiertopics report {run.path} --open",
        f"hiertopics show-tree {run.path}",
        f"hiertopics topics {run.path}",
    ]
    if run.manifest["split"] and run.split.kind != "none":
        steps.append(f"hiertopics eval {run.path} --heldout")
    if readable := readable_command(run):
        steps.append(readable)
    if result.status != "done":
        steps.insert(0, "the same command again, which continues")
    tell("next: " + "\n      ".join(steps))


@click.command("refit", cls=SectionedCommand)
@needed_run_argument
@click.argument("node", type=NODE)
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@click.option(
    "-b", "--backend", type=BACKEND, help="Another backend, with its own settings. [default: RUN's]"
)
@set_option
@click.option("--seed", type=int, help="Seed of the fit. [default: RUN's]")
@click.option("--holdout", metavar="SPEC", help="The held-out part of them. [default: as in RUN]")
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help="Iterations in all. [default: RUN's]",
)
@time_option
@workers_option
@trust_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Neither progress nor tree on stderr.")
def refit_command(**options: Any) -> int:
    """Fit the documents of NODE of RUN alone, as a new run with the settings of RUN.

    With paths these are the documents whose best path passes NODE, otherwise those with the
    largest share there. Exit code 75: stopped early, the same command continues.
    """
    as_json = options.pop("as_json")
    with resumable():
        from hiertopics.fitting.refitting import refit

        result = refit(**options, argv=sys.argv)
    return put_result(result, as_json, options["quiet"])


@click.command("update", cls=SectionedCommand)
@needed_run_argument
@click.argument("corpus", type=click.Path())
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@click.option(
    "--new-words",
    type=click.Choice(["join", "drop"]),
    default="join",
    show_default=True,
    help="Words that RUN lacks: join the vocabulary if they satisfy RUN's limits such as "
    "data.min_df, or drop them.",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help="Iterations in all. [default: RUN's]",
)
@time_option
@workers_option
@memory_option
@corpus_options
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Neither progress nor tree on stderr.")
def update_command(**options: Any) -> int:
    """Continue RUN with its documents and those of CORPUS, as a new run.

    It begins with the topics, the tree and the settings of RUN. Held-out documents of RUN stay
    held out, and the same share of the new documents is held out. At the end the command prints
    the changes node by node: tokens and shares before and after, and words that joined or left the
    top words. Exit code 75: stopped early, the same command continues.
    """
    as_json, data = options.pop("as_json"), corpus_settings(options)
    with resumable():
        from hiertopics.fitting.updating import update
        from hiertopics.views.changes import changes, to_changes_table

        result = update(**options, data=data, argv=sys.argv)
        told = changes(options["run"], result.run) if result.run.has_model else []
    if told and not as_json:
        put(to_changes_table(told), nl=False)
    code = put_result(result, as_json, options["quiet"])
    if as_json:
        put_records(told)
    return code
