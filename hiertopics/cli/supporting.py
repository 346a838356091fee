"""``hiertopics support``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import (
    LINES,
    SectionedCommand,
    chosen_run,
    cluster_option,
    forms,
    put,
    put_records,
    put_table,
    run_argument,
    set_option,
    tell,
    workers_option,
)


@click.command("support", cls=SectionedCommand)
@run_argument
@click.option(
    "--resamples",
    type=click.IntRange(min=2),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of fits to nine tenths of the documents, including those of earlier calls.",
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    metavar="N",
    help="Iterations of each fit. [default: fewer than RUN's if that gives the same "
    "support, else RUN's]",
)
@set_option
@click.option(
    "--null",
    is_flag=True,
    help="Also measure the support of a fit to the corpus with its words shuffled.",
)
@click.option(
    "--replace",
    is_flag=True,
    help="Write the result even if RUN has a support of more resamples or iterations.",
)
@click.option(
    "--against",
    multiple=True,
    metavar="RUN2",
    help="Instead of new fits: RUN2, a run of a part of the same documents, which may be imported; "
    "repeatable.",
)
@click.option(
    "--resample",
    is_flag=True,
    help="Only write the documents of the resamples, for other programs.",
)
@click.option("-o", "--output", metavar="FOLDER", help="Folder for the files of --resample.")
@workers_option
@cluster_option
@forms("csv")
def support_command(run: str | None, form: str, **options: Any) -> int:
    """Measure how far the nodes of RUN come back in fits to nine tenths of its documents.

    0: not at all, or no more than by chance; 1: always, with the same documents and words. The
    run's support.json keeps the result, for all views, unless it holds a better-founded one. In
    this order, better founded are fits of enough iterations, three resamples or more, more
    resamples, and more iterations. A stopped command continues when it is given again.
    """
    from hiertopics.fitting import support as fits

    target = chosen_run(run)
    against, resample = options.pop("against"), options.pop("resample")
    output = options.pop("output")
    if resample or output is not None:
        if not resample or output is None:
            raise click.UsageError("--resample and -o FOLDER belong together")
        for path in fits.write_resamples(target, output, options["resamples"]):
            put(str(path))
        return 0
    if against:
        found = fits.against(target, against, replace=options["replace"], say=tell)
    else:
        found = fits.support(target, say=tell, **options)
    _put(found, form)
    return 0


def _put(record: dict[str, Any], form: str) -> None:
    from hiertopics.base.files import to_csv
    from hiertopics.views.render.records import to_support_table

    nodes = record["nodes"]
    if form in LINES:
        put_records([record])
    elif form == "csv":
        put(to_csv([(*nodes[0],), *((*node.values(),) for node in nodes)]), nl=False)
    else:
        put_table(to_support_table(record))
        put(record["note"])
        put(_interval(record["branches"]))
        put(
            f"{record['covered_50']:.0%} of the words below the root are in a node of support 0.5 "
            f"or more of any depth, {record['covered_70']:.0%} in one of 0.7; "
            f"mutual information of a token's node and its document: {record['bits']:.2f} bits"
        )


def _interval(branches: dict[str, Any]) -> str:
    told = f"mean support at depth 1 (the branches): {branches['mean']:.2f}"
    if branches["low"] is None:
        return told
    return f"{told}, 95% interval {branches['low']:.2f} to {branches['high']:.2f} over resamples"
