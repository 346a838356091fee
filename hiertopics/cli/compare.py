"""``hiertopics compare``."""

from __future__ import annotations

import click

from hiertopics.cli.options import (
    average_option,
    json_option,
    note_single_draws,
    protocol_option,
    put,
)


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@protocol_option
@average_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "csv", "json"]),
    default="text",
    show_default=True,
    help="csv and json hold every score.",
)
@json_option
def command(
    runs: tuple[str, ...], protocol: str | None, average: bool, form: str, as_json: bool
) -> int:
    """Score RUNS on their common split, best first; unequal splits are refused.

    behind: nats per word below the best run, with the standard error over the same documents.
    A run that cannot be scored is named on stderr, the others are printed, and the exit code is 1.
    """
    from hiertopics.files import to_json
    from hiertopics.runs.rundir import RunDir
    from hiertopics.scoring.comparison import compare
    from hiertopics.views.render.records import to_comparison_csv, to_comparison_table

    rows = compare(runs, protocol=protocol, average=average)
    if as_json or form == "json":
        for row in rows:
            put(to_json(row))
    else:
        render = to_comparison_csv if form == "csv" else to_comparison_table
        put(render(rows), nl=False)
        if not average:
            note_single_draws((RunDir(row["run"]), row["protocol"]) for row in rows)
    return 0 if len(rows) == len(runs) else 1
