"""``hiertopics judge``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.habits import HintingCommand
from hiertopics.cli.options import (
    LINES,
    WORDS_BY,
    chosen_run,
    cut_option,
    forms,
    put,
    put_records,
    put_table,
    run_argument,
    tell,
)


@click.command("judge", cls=HintingCommand)
@run_argument
@click.option("-o", "--output", metavar="FILE", help="The sheet, like sheet.csv.")
@click.option("--nodes", metavar="N,...", help="Nodes for the questions, like 3,7,12.")
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    help="Instead: nodes of the first N levels, the root's among them. With --cut: levels of the "
    "cut.",
)
@cut_option
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Largest number of nodes to draw. [default: 20]",
)
@click.option(
    "--intruders",
    type=click.IntRange(min=0),
    metavar="N",
    help="Questions per node with an intruder among five of its words. [default: 2]",
)
@click.option(
    "--documents",
    type=click.IntRange(min=0),
    metavar="N",
    help="Questions per node with a document; half of the documents belong to it. [default: 4]",
)
@click.option(
    "--words-by",
    type=click.Choice(WORDS_BY),
    help="Order of words (see show-tree); the questions use the first ones. [default: prob]",
)
@click.option(
    "--seed", type=click.IntRange(min=0), help="Seed of the questions and their order. [default: 0]"
)
@click.option(
    "--score",
    "sheets",
    metavar="FILE",
    multiple=True,
    help="Instead: score a sheet that somebody filled in; repeatable, for copies by several "
    "people.",
)
@click.option("--key", metavar="FILE", help="With --score: the key. [default: FILE.key.csv]")
@forms("csv")
def judge_command(run: str | None, form: str, **options: Any) -> int:
    """Make a sheet of questions on RUN's nodes for people, or score their answers.

    RUN is by default the newest under runs/. The sheet asks two kinds of question: which word does
    not belong to the others, and whether a document belongs to a topic. It is a table with an empty
    column, answer. The right answers stand in a file beside it, sheet.key.csv, which those who
    answer must not see.
    """
    sheets, key, output = (options.pop(name) for name in ("sheets", "key", "output"))
    given = {name: value for name, value in options.items() if value is not None}
    if sheets:
        if run is not None or output is not None or given:
            raise click.UsageError("with --score only --key and the form have a meaning")
        return _score(sheets, key, form)
    if output is None:
        raise click.UsageError("name the sheet: -o sheet.csv, or --score sheet.csv")
    if key is not None:
        raise click.UsageError("--key has no meaning without --score")
    from hiertopics.base.errors import UsageError
    from hiertopics.views.judging import judge

    if "nodes" in given:
        try:
            given["nodes"] = [int(node) for node in given["nodes"].split(",")]
        except ValueError:
            what = f"--nodes takes numbers as 3,7,12, got {given['nodes']!r}"
            raise UsageError(what) from None
    made = judge(chosen_run(run), output, say=tell, **given)
    if form in LINES:
        put_records([made])
        return 0
    tell(
        f"nodes: {made['nodes']}, questions with an intruder: {made['intruder']}, with a document: "
        f"{made['fit']}; fill in the column answer; the key is {made['key']}"
    )
    put(made["sheet"])
    return 0


def _score(sheets: tuple[str, ...], key: str | None, form: str) -> int:
    """Write the accuracy over all nodes, and of each."""
    from hiertopics.scoring.judging import score_sheets
    from hiertopics.views.render.records import judged_rows, to_judged_table, to_score_csv

    found = score_sheets(sheets, key=key)
    if form in LINES:
        put_records([found])
    elif form == "csv":
        put(to_score_csv(judged_rows(found)), nl=False)
    else:
        put_table(to_judged_table(found))
        for row in found["total"]:
            put(
                f"{row['kind']}: {row['above']:+.3f} above chance ({row['chance']:.3f}), 95% "
                f"interval {row['above_low']:+.3f} to {row['above_high']:+.3f}"
            )
    return 0
