"""``hiertopics infer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hiertopics.cli.completing import RUN
from hiertopics.cli.options import (
    SectionedCommand,
    chosen_run,
    cluster_option,
    corpus_options,
    corpus_settings,
    json_option,
    put,
    tell,
    words_by_option,
    workers_option,
)

if TYPE_CHECKING:
    from hiertopics.runs.rundir import RunDir


@click.command("infer", cls=SectionedCommand)
@click.argument("run", required=False, type=RUN)
@click.argument("corpus", required=False, metavar="CORPUS", type=click.Path())
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="A .csv, .jsonl, .parquet or .npz file."
)
@click.option("--seed", type=int, default=None, help="Seed, for backends that draw.")
@words_by_option
@workers_option
@cluster_option
@corpus_options
@json_option
def infer_command(run: str | None, corpus: str | None, **options: Any) -> int:
    """Place the documents of CORPUS under RUN (default: the newest under runs/).

    A .csv, .jsonl or .parquet file has a row for each: its name, known and unknown words, main
    topic (the last node of its path, or the end of its way into the largest child), that path with
    its probability or shares, its largest topics with their own shares, top words and names of its
    main topic. A document without known words is not placed: the other fields are empty. An .npz
    file holds theta in CSR, documents x nodes; backends with paths put each document's best path
    with its log probability (node, log_prob) beside it, and all its likely paths with theirs
    (path_indptr, path_node, path_log_prob, path_level_weights). Words are matched by string;
    unknown ones are skipped and counted.
    """
    from hiertopics.base.files import to_json
    from hiertopics.base.progress import watched
    from hiertopics.runs.newdocs import infer

    as_json, data = options.pop("as_json"), corpus_settings(options)
    target, new = _run_and_corpus(run, corpus)
    with watched("placing"):
        found = infer(target, new, **options, data=data)
    for note in found.corpus.notes:
        tell(f"note: {note}")
    n_unknown = int((found.lengths == 0).sum())
    if n_unknown:
        docs = "1 document has" if n_unknown == 1 else f"{n_unknown} documents have"
        they = "it is" if n_unknown == 1 else "they are"
        tell(f"note: {docs} no word that the run knows; {they} not placed")
    n_mostly = int(((found.unknown > found.lengths) & (found.lengths > 0)).sum())
    if n_mostly:
        docs = "1 document has" if n_mostly == 1 else f"{n_mostly} documents have"
        say = "its place says" if n_mostly == 1 else "their places say"
        tell(f"note: {docs} more unknown words than known ones; {say} little")
    sizes = {
        "n_docs": len(found.lengths),
        "n_tokens": int(found.lengths.sum()),
        "unknown_tokens": found.unknown_tokens,
    }
    if as_json:
        put(to_json({"output": options["output"], **sizes}))
        return 0
    told = "{n_docs} documents, {n_tokens} tokens, {unknown_tokens} unknown tokens skipped"
    why = "; the run has no word for them: new ones, rare ones, stop words"
    tell(told.format_map(sizes) + why * (found.unknown_tokens > 0))
    put(options["output"])
    return 0


def _run_and_corpus(run: str | None, corpus: str | None) -> tuple[RunDir, str]:
    """Return RUN and CORPUS as they were meant: a file alone is CORPUS, for the newest run."""
    from hiertopics.runs.rundir import RunDir

    if corpus is None:
        if run is None or RunDir(run).exists:
            raise click.UsageError("Missing argument 'CORPUS'.")
        return chosen_run(None), run
    return chosen_run(run), corpus
