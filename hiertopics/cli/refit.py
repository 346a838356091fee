"""``hiertopics refit``."""

from __future__ import annotations

import sys
from typing import Any

import click

from hiertopics.cli.early import RESUMABLE, resumable
from hiertopics.cli.fit import put_result
from hiertopics.cli.options import json_option, set_option, workers_option


@click.command("refit")
@click.argument("run", type=click.Path())
@click.argument("node", type=click.IntRange(min=0))
@click.option("-o", "--output", required=True, metavar="RUN2", help="The new run's folder.")
@click.option("-b", "--backend", help="Another backend, with its own settings. [default: RUN's]")
@set_option
@click.option("--seed", type=int, help="Seed of the fit. [default: RUN's]")
@click.option("--holdout", metavar="SPEC", help="What is put aside of them. [default: as in RUN]")
@click.option("--iterations", type=int, metavar="N", help="Iterations in all. [default: RUN's]")
@click.option("--time-limit", metavar="TIME", help="Stop, resumable, after a time like 3h50m.")
@workers_option
@json_option
@click.option("-q", "--quiet", is_flag=True, help="Neither progress nor tree on stderr.")
def command(**options: Any) -> int:
    """Fit the documents of NODE of RUN alone: a run of its own, with the settings of RUN.

    Of trees the documents whose best path passes NODE, else those with the largest share there.
    Exit code 75: stopped early, the same command continues.
    """
    as_json = options.pop("as_json")
    with resumable():
        from hiertopics.fitting.refitting import refit

        result = refit(**options, argv=sys.argv)
    put_result(result, as_json, options["quiet"])
    return 0 if result.status == "done" else RESUMABLE
