"""``hiertopics infer``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import (
    corpus_options,
    corpus_settings,
    json_option,
    workers_option,
)


@click.command("infer")
@click.argument("run", type=click.Path())
@click.argument("corpus", type=click.Path())
@click.option("-o", "--output", required=True, metavar="FILE", help="Where theta is written.")
@click.option("--seed", type=int, default=None, help="Seed, for backends that draw.")
@workers_option
@corpus_options
@json_option
def command(**options: Any) -> int:
    """Write theta of the documents of CORPUS under RUN: CSR, documents x nodes, npz.

    Backends with paths put each document's best path with its log probability (node, log_prob)
    beside it, and all its likely paths with theirs (path_indptr, path_node, path_log_prob,
    path_level_weights). Words are matched by string; unknown ones are skipped and counted.
    """
    from hiertopics.files import to_json
    from hiertopics.runs.newdocs import infer

    data = corpus_settings(options)
    matched = infer(
        options["run"],
        options["corpus"],
        options["output"],
        data=data,
        workers=options["workers"],
        seed=options["seed"],
    )
    corpus = matched.corpus
    if options["as_json"]:
        click.echo(
            to_json(
                {
                    "output": options["output"],
                    "n_docs": corpus.n_docs,
                    "n_tokens": corpus.n_tokens,
                    "unknown_tokens": matched.unknown_tokens,
                }
            )
        )
        return 0
    click.echo(
        f"{corpus.n_docs} documents, {corpus.n_tokens} tokens, "
        f"{matched.unknown_tokens} unknown tokens skipped",
        err=True,
    )
    click.echo(options["output"])
    return 0
