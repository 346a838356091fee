"""``hiertopics compare``."""

from __future__ import annotations

import click

from hiertopics.cli.options import json_option

COLUMNS = (
    "run",
    "backend",
    "perplexity",
    "log_likelihood_per_word",
    "standard_error",
    "n_topics",
    "coherence_npmi",
    "diversity",
    "iterations",
    "seconds",
    "peak_memory_bytes",
)


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@click.option(
    "--protocol",
    metavar="NAME",
    help="completion, tokens, path, full, empirical or density. [default: by the split]",
)
@json_option
def command(runs: tuple[str, ...], protocol: str | None, as_json: bool) -> int:
    """Score RUNS on their common split, best first; unequal splits are refused."""
    from hiertopics.comparison import compare
    from hiertopics.files import to_json
    from hiertopics.render.table import to_table

    rows = compare(runs, protocol=protocol)
    if as_json:
        for row in rows:
            click.echo(to_json(row))
    else:
        click.echo(to_table(rows, COLUMNS), nl=False)
    return 0
