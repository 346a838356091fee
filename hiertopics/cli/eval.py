"""``hiertopics eval``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import (
    chosen_run,
    corpus_options,
    corpus_settings,
    json_option,
    workers_option,
)

COLUMNS = (
    "run",
    "protocol",
    "perplexity",
    "log_likelihood_per_word",
    "standard_error",
    "n_tokens",
    "unknown_tokens",
    "unseen_tokens",
    "coherence_npmi",
    "diversity",
)


@click.command("eval")
@click.argument("runs", nargs=-1, type=click.Path())
@click.option("--heldout", is_flag=True, help="Score what was put aside, or --corpus.")
@click.option("--protocol", help="completion, tokens or full. [default: by the split]")
@click.option("--corpus", metavar="FILE", help="Score this file instead of what was put aside.")
@click.option(
    "--observed",
    type=float,
    default=0.8,
    show_default=True,
    help="Share of each document that is seen before the rest is scored.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the token partition of --corpus.",
)
@click.option("--average", is_flag=True, help="Average p(w | d) over a sampler's kept draws.")
@workers_option
@corpus_options
@json_option
def command(**options: Any) -> int:
    """Score RUN (default: the newest under runs/) on held-out text.

    Every score is kept in the run's folder eval/.
    """
    from hiertopics.evaluation import evaluate
    from hiertopics.files import to_json
    from hiertopics.render.table import to_table

    data = corpus_settings(options)
    if not options.pop("heldout") and options["corpus"] is None:
        raise click.UsageError("say what to score: --heldout, or --corpus FILE")
    as_json = options.pop("as_json")
    rows = []
    for path in options.pop("runs") or (None,):
        rows.append(evaluate(chosen_run(path), data=data, **options))
        if as_json:
            click.echo(to_json(rows[-1]))
    if not as_json:
        click.echo(to_table(rows, COLUMNS), nl=False)
    return 0
