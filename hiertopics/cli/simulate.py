"""``hiertopics simulate``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import config_option, count_option, json_option, put, set_option, tell


@click.command("simulate")
@click.argument("backend")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where the corpus is written, in the format of the suffix.",
)
@count_option("--docs", "n_docs", default=500, help="Documents.")
@count_option("--words", "n_words", default=1000, help="Words in the vocabulary.")
@count_option("--length", "doc_length", default=100, help="Tokens per document.")
@click.option(
    "--draw-hyperparameters",
    is_flag=True,
    help="Draw the hyperparameters that a fit would draw, too, from its own priors; else the "
    "config's values hold.",
)
@click.option("--seed", type=int, help="Seed of every draw. [default: 0]")
@config_option
@set_option
@json_option
def command(**options: Any) -> int:
    """Draw a corpus from BACKEND's own generative story.

    What it was drawn from goes to <stem>.truth.npz beside FILE, the words to <stem>.vocab.
    """
    from hiertopics.files import to_json
    from hiertopics.fitting.simulation import simulate

    as_json, asked = options.pop("as_json"), options["draw_hyperparameters"]
    drawn = simulate(**options)
    path, truth = str(drawn.path), str(drawn.truth)
    if as_json:
        sizes = {name: getattr(drawn.corpus, name) for name in ("n_docs", "n_words", "n_tokens")}
        extra = {"hyperparameters": list(drawn.hyperparameters)} if asked else {}
        put(to_json({"output": path, "truth": truth, **sizes, **extra}))
        return 0
    tell(f"{drawn.corpus.n_tokens} tokens; drawn from {truth}")
    if asked:
        names = ", ".join(drawn.hyperparameters) or "none, the settings fix them all"
        tell(f"hyperparameters drawn: {names}")
    put(path)
    return 0
