"""``hiertopics backends``, ``config`` and ``sweep``: what can be fitted, and how."""

from __future__ import annotations

import click

from hiertopics.cli.options import LINES, forms, put, put_text


@click.command("backends")
@forms("csv")
def backends_command(form: str) -> int:
    """List the backends, one line each; the default is marked."""
    from hiertopics.registry import backends

    rows = backends()
    if form in LINES:
        import json

        for row in rows:
            put(json.dumps(row))
    elif form == "csv":
        from hiertopics.files import to_csv

        put(to_csv([(*rows[0],), *((*row.values(),) for row in rows)]), nl=False)
    else:
        marks = {True: " (default)", False: ""}
        lines = [f"{row['backend']:<12} {row['summary']}{marks[row['default']]}" for row in rows]
        put_text("\n".join(lines))
    return 0


@click.command("config")
@click.argument("backend")
def config_command(backend: str) -> int:
    """Print a complete commented YAML config of BACKEND with every default."""
    from hiertopics.registry import config

    put(config(backend), nl=False)
    return 0


@click.command("sweep")
@click.argument("config", type=click.Path())
@click.argument("corpus", required=False, type=click.Path())
@click.option(
    "--grid",
    metavar="KEY=A,B",
    multiple=True,
    help="A key and its values, such as model.eta=0.01,0.1; repeatable. backend and "
    'data.holdout are keys too. A value that holds a comma: data.holdout="links:0.2,drop",none.',
)
@click.option(
    "--seeds", metavar="SEEDS", default="0", show_default=True, help="0:10 (0 to 9), 3, or 1,5,9."
)
@forms()
def sweep_command(
    config: str, corpus: str | None, grid: tuple[str, ...], seeds: str, form: str
) -> int:
    """Print one fit command per line for every combination of values and every seed.

    Each has a run directory of its own; all are checked before the first is printed. The lines
    run as they are: hiertopics sweep ... | sh
    """
    from hiertopics.files import to_json
    from hiertopics.fitting.sweeping import sweep, to_line

    for job in sweep(config, corpus, grid=grid, seeds=seeds):
        put(to_json(job._asdict()) if form in LINES else to_line(job))
    return 0
