"""``hiertopics eval``, ``compare`` and ``agree``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from hiertopics.cli.habits import HintingCommand
from hiertopics.cli.options import (
    LINES,
    PATHS,
    SectionedCommand,
    average_option,
    cache_options,
    chosen_run,
    cluster_option,
    corpus_options,
    corpus_settings,
    forms,
    naming_option,
    note_single_draws,
    paths_options,
    protocol_option,
    put,
    put_records,
    put_table,
    runs_argument,
    tell,
    workers_option,
)

if TYPE_CHECKING:
    from hiertopics.runs.rundir import RunDir


@click.command("eval", cls=SectionedCommand)
@runs_argument(required=False)
@click.option("--heldout", is_flag=True, help="Score the held-out part, or the file of --corpus.")
@click.option(
    "--task",
    metavar="NAME",
    help="Score a task beside its baselines: neighbours, links, reconstruction, groups, "
    "labels, hierarchy, or a task of an installed package.",
)
@protocol_option
@click.option("--corpus", metavar="FILE", help="Score this file instead of the held-out part.")
@click.option(
    "--observed",
    type=float,
    help="Share of each document that is seen before the rest is scored. [default: 0.8]",
)
@click.option(
    "--seed",
    type=int,
    help="Seed of the token partition of --corpus, of empirical's draws, or of hierarchy's "
    "permutations. [default: 0]",
)
@click.option(
    "--samples", type=int, metavar="N", help="Documents drawn for empirical. [default: 100000]"
)
@click.option("--k", type=int, metavar="N", help="Neighbours that vote. [default: 7]")
@click.option(
    "--null",
    type=click.IntRange(min=1),
    metavar="N",
    help="Instead: repeat the fit N times on the corpus with its words shuffled over documents.",
)
@click.option(
    "--score", metavar="RULE", help="Rule that ranks groups: mixture, single or documents."
)
@paths_options
@naming_option
@click.option(
    "--hide-groups", is_flag=True, help="Predict without the groups of the held-out documents."
)
@click.option(
    "-s",
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="An option of the task that has no flag; repeatable.",
)
@average_option
@cache_options
@workers_option
@cluster_option
@corpus_options
@forms("csv")
def eval_command(**options: Any) -> int:
    """Score RUN (default: the newest under runs/) on held-out text, or on a task.

    One run has a line for each measure, with its standard error; several runs have a table. The
    run's folder eval/ keeps every score.
    """
    from hiertopics.base.progress import watched
    from hiertopics.settings.layers import parse_set
    from hiertopics.views.render import records as written

    overrides = options.pop("overrides")
    if overrides and options["task"] is None:
        raise click.UsageError("-s has no meaning without --task")
    if options["null"] is not None:
        return _null(options)
    options.pop("null")
    names = ("task", "heldout", "form", "runs")
    task, heldout, form, runs = (options.pop(name) for name in names)
    options |= parse_set(overrides)
    score = _score_of(task, heldout, options)
    records, chosen = [], []
    for path in runs or (None,):
        chosen.append(chosen_run(path))
        with watched("scoring"):
            records.append(score(chosen[-1]))
        if form in LINES:
            put_records(records[-1:])
    if task == "hierarchy":
        if form not in LINES:
            _put_hierarchy(records, form)
        return 0
    by_task = None if task is None else written.task_rows(records)
    if form == "csv":
        put(written.to_rows_csv(*by_task) if by_task else written.to_score_csv(records), nl=False)
    elif form == "text":
        if by_task is None and len(records) == 1:
            put(written.to_score_lines(records[0]), nl=False)
        else:
            put_table(written.to_table(*by_task) if by_task else written.to_score_table(records))
    if task is None:
        _warn_of_splits(records)
    if task is None and form not in LINES and not options["average"]:
        protocols = [record["protocol"] for record in records]
        note_single_draws(zip(chosen, protocols, strict=True))
    return 0


def _warn_of_splits(records: Sequence[dict[str, Any]]) -> None:
    """Say that scores in one table are of different held-out parts, which compare refuses."""
    splits = {record["split"] for record in records}
    if len(splits) > 1:
        tell(
            f"warning: these runs were scored on {len(splits)} different splits: their scores "
            "cannot be compared; fit them with the same --holdout to the same corpus"
        )


def _put_hierarchy(records: list[dict[str, Any]], form: str) -> None:
    """Write the levels of runs and baselines, and what each run tears and mixes."""
    from hiertopics.views.render import agreement
    from hiertopics.views.render.records import to_score_csv

    if form == "csv":
        put(to_score_csv(agreement.level_rows(records)), nl=False)
        return
    put_table(agreement.to_level_table(records))
    for record in records if len(records) == 1 else ():
        put("\nlabels torn over branches")
        put_table(agreement.to_torn_table(record))
        put("\nbranches that mix labels")
        put_table(agreement.to_mixed_table(record))


def _null(options: dict[str, Any]) -> int:
    """Say how trees of shuffled words look beside that of each run."""
    from hiertopics.scoring.null import null_check
    from hiertopics.views.render.records import null_rows, to_rows_csv, to_table

    kept = ("null", "runs", "workers", "form")
    for name, value in options.items():
        if name not in kept and value is not None and value is not False:
            raise click.UsageError(f"--{name.replace('_', '-')} has no meaning with --null")
    for path in options["runs"] or (None,):
        record = null_check(chosen_run(path), options["null"], workers=options["workers"], say=tell)
        if options["form"] in LINES:
            put_records([record])
        elif options["form"] == "csv":
            put(to_rows_csv(*null_rows(record)), nl=False)
        else:
            put_table(to_table(*null_rows(record)))
    return 0


def _score_of(
    task: str | None, heldout: bool, options: dict[str, Any]
) -> Callable[[RunDir], dict[str, Any]]:
    """Return the function that scores a run with the options that were given."""
    from functools import partial

    from hiertopics.scoring.evaluation import evaluate
    from hiertopics.scoring.tasks import evaluate_task

    data = corpus_settings(options)
    # False is a flag left out; 0 is a number that somebody gave.
    given = {n: value for n, value in options.items() if value is not None and value is not False}
    if task is not None:
        if heldout and task != "hierarchy":
            raise click.UsageError("--heldout and --task exclude each other, but for hierarchy")
        given |= {"heldout": True} if heldout else {}
        return partial(evaluate_task, task=task, data=data, **given)
    own = {"k": "neighbours", "score": "groups", **dict.fromkeys((*PATHS, "words_by"), "hierarchy")}
    for name, owner in own.items():
        if name in given:
            flag = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag} has no meaning without --task {owner}")
    return partial(evaluate, data=data, **given)


@click.command("compare", cls=HintingCommand)
@runs_argument(required=True, one_is_enough=True)
@protocol_option
@average_option
@cache_options
@click.option(
    "--task",
    type=click.Choice(["hierarchy"]),
    help="Instead: compare the trees' agreement with label paths.",
)
@paths_options
@naming_option
@click.option("--heldout", is_flag=True, help="hierarchy: score the held-out documents.")
@forms("csv")
def compare_command(
    runs: tuple[str, ...],
    protocol: str | None,
    average: bool,
    cache: bool,
    cache_from: str | None,
    task: str | None,
    form: str,
    **options: Any,
) -> int:
    """Score RUNS on their common split, best first; unequal splits are refused.

    behind: nats per word below the best run, with the standard error over the same documents; csv
    and jsonl hold every score. With --cache runs are in the order of their scores with cache. If a
    run cannot be scored, stderr names it, the others are printed, and the exit code is 1.
    """
    from hiertopics.runs.rundir import RunDir
    from hiertopics.scoring.comparison import compare, compare_trees
    from hiertopics.views.render.records import to_comparison_table, to_score_csv

    if task is not None:
        if protocol is not None or average or cache or cache_from:
            flags = "--protocol, --average and --cache"
            raise click.UsageError(f"{flags} have no meaning with --task")
        rows = compare_trees(runs, **options)
    else:
        for name, value in options.items():
            if value:
                raise click.UsageError(f"--{name.replace('_', '-')} has no meaning without --task")
        rows = compare(runs, protocol=protocol, average=average, cache=cache, cache_from=cache_from)
    if len(runs) == 1:
        tell("note: compare needs two runs or more to say how far one is behind another")
    _note_one_model(RunDir(row["run"]) for row in rows)
    if form in LINES:
        put_records(rows)
    elif task is not None:
        _put_hierarchy(rows, form)
    else:
        if form == "csv":
            put(to_score_csv(rows), nl=False)
        else:
            put_table(to_comparison_table(rows))
        if not average:
            note_single_draws((RunDir(row["run"]), row["protocol"]) for row in rows)
    return 0 if len(rows) == len(runs) else 1


def _note_one_model(runs: Iterable[RunDir]) -> None:
    """Say which runs have the same model: a comparison of such runs tells nothing."""
    from hiertopics.runs.samemodel import groups_of_one_model

    for group in groups_of_one_model(runs):
        paths = list(dict.fromkeys(str(run.path) for run in group))
        seeds = {run.manifest["seed"] for run in group}
        why = ": the seed changes nothing here" if len(seeds) > 1 else ""
        tell(
            f"note: one model, byte for byte, in {' and '.join(paths)}{why}; hiertopics support "
            f"{paths[0]} says how far its nodes come back"
        )


@click.command("agree", cls=HintingCommand)
@runs_argument(required=True)
@click.option(
    "--write",
    is_flag=True,
    help="Write the result to the first run's tree.json, for all its views.",
)
@naming_option
@forms("csv")
def agree_command(runs: tuple[str, ...], write: bool, words_by: str | None, form: str) -> int:
    """Show which nodes of the first of RUNS the others found again.

    All are of one backend, corpus and split. There is a line for each depth: its nodes, and how
    many of them 0, 1, 2, ... others found, by words and documents. The other formats list every
    node.
    """
    from hiertopics.base.files import to_csv
    from hiertopics.runs.rundir import RunDir
    from hiertopics.scoring.comparison import agree
    from hiertopics.views.render.records import to_agreement_table

    record = agree(runs, write=write, words_by=words_by)
    _note_one_model(map(RunDir, runs))
    if form in LINES:
        put_records([record])
    elif form == "csv":
        nodes = record["nodes"]
        put(to_csv([(*nodes[0],), *((*node.values(),) for node in nodes)]), nl=False)
    else:
        put_table(to_agreement_table(record))
        came = f"{record['support']:.1%} of the tokens below the root"
        put(f"{came} are at nodes that come back")
    return 0
