"""``hiertopics simulate``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import json_option


@click.command("simulate")
@click.argument("backend")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="Where the corpus is written, in the format of the suffix.",
)
@click.option(
    "--docs", type=click.IntRange(min=1), default=500, show_default=True, help="Documents."
)
@click.option(
    "--words",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Words in the vocabulary.",
)
@click.option(
    "--length",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    help="Tokens per document.",
)
@click.option("--seed", type=int, help="Seed of every draw. [default: 0]")
@click.option("-c", "--config", metavar="FILE", help="YAML config.")
@click.option(
    "-s",
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="One setting, such as model.gamma=0.5; repeatable.",
)
@json_option
def command(**options: Any) -> int:
    """Draw a corpus from BACKEND's own generative story.

    What it was drawn from goes to <stem>.truth.npz beside FILE, the words to <stem>.vocab.
    """
    from hiertopics.files import to_json
    from hiertopics.fitting.simulation import simulate

    drawn = simulate(
        options["backend"],
        options["output"],
        n_docs=options["docs"],
        n_words=options["words"],
        doc_length=options["length"],
        seed=options["seed"],
        config=options["config"],
        overrides=options["overrides"],
    )
    path, truth = str(drawn.path), str(drawn.truth)
    if options["as_json"]:
        sizes = {name: getattr(drawn.corpus, name) for name in ("n_docs", "n_words", "n_tokens")}
        click.echo(to_json({"output": path, "truth": truth} | sizes))
        return 0
    click.echo(f"{drawn.corpus.n_tokens} tokens; drawn from {truth}", err=True)
    click.echo(path)
    return 0
