"""``hiertopics infer``."""

from __future__ import annotations

import sys
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
    put_lines,
    put_records,
    tell,
    words_by_option,
    workers_option,
)

if TYPE_CHECKING:
    from hiertopics.runs.newdocs import PlacedDocuments
    from hiertopics.runs.rundir import RunDir


@click.command("infer", cls=SectionedCommand)
@click.argument("run", required=False, type=RUN)
@click.argument("corpus", required=False, metavar="CORPUS", type=click.Path())
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="A .csv, .jsonl, .parquet or .npz file. [default: lines on stdout]",
)
@click.option("--seed", type=int, default=None, help="Seed, for backends that draw.")
@words_by_option
@workers_option
@cluster_option
@corpus_options
@json_option
def infer_command(run: str | None, corpus: str | None, **options: Any) -> int:
    """Place the documents of CORPUS under RUN (default: the newest under runs/).

    CORPUS is a file, a folder, or - for standard input, which a pipe may also bring without a name.
    Each line of standard input is a document, or a JSON object if the first one is; --from names
    another format. Without -o each document is shown with the words that the run does not know, and
    with its largest topics; --json shows the fields of a .jsonl file.

    A .csv, .jsonl or .parquet file has a row for each: its name, known and unknown words, main
    topic (the last node of its path, or the end of its way into the largest child), that path with
    its probability or shares, its largest topics with their own shares, top words and names of its
    main topic. A document without known words is not placed: the other fields are empty. An .npz
    file holds theta in CSR, documents x nodes; backends with paths put each document's best path
    with its log probability (node, log_prob) beside it, and all its likely paths with theirs
    (path_indptr, path_node, path_log_prob, path_level_weights). Words are matched by string;
    unknown ones are skipped and counted.
    """
    as_json, data = options.pop("as_json"), corpus_settings(options)
    target, new = _run_and_corpus(run, corpus)
    found = _placed(target, new, options, data)
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
    output = options["output"]
    if not as_json or output is None:
        tell(_sizes_told(sizes))
    if output is None:
        _show(target, found, options["words_by"], as_json)
    elif as_json:
        put_records([{"output": output, **sizes}])
    else:
        put(output)
    return 0


def _sizes_told(sizes: dict[str, int]) -> str:
    """Return how many documents were placed, by how many words."""
    from hiertopics.base.units import many

    docs, known = many(sizes["n_docs"], "document"), many(sizes["n_tokens"], "token")
    unknown = sizes["unknown_tokens"]
    why = " (new or rare words; stop words do not count)" if unknown else ""
    return f"{docs}, {known}, {many(unknown, 'unknown token')} skipped{why}"


def _placed(
    run: RunDir, corpus: str, options: dict[str, Any], data: dict[str, Any]
) -> PlacedDocuments:
    """Place documents of a file or of standard input."""
    from hiertopics.base.progress import watched
    from hiertopics.corpus.corpora.inmemory import STDIN
    from hiertopics.runs.newdocs import infer
    from hiertopics.runs.piped import LINES_NOTE, piped

    if corpus != STDIN:
        with watched("placing") as report:
            return infer(run, corpus, **options, data=data, report=report)
    with piped(run, data) as (path, form):
        if data.get("from_") is None and form["from_"] == "lines":
            tell(f"note: {LINES_NOTE}")
        with watched("placing") as report:
            return infer(run, path, **options, data=form, report=report)


def _show(run: RunDir, found: PlacedDocuments, words_by: str | None, as_json: bool) -> None:
    from hiertopics.views.placed import placed_lines, placed_records

    if as_json:
        put_records(placed_records(run, found, words_by))
    else:
        put_lines(placed_lines(run, found, words_by))


def _run_and_corpus(run: str | None, corpus: str | None) -> tuple[RunDir, str]:
    """Return RUN and CORPUS as they were meant: a file alone is CORPUS, for the newest run."""
    from hiertopics.corpus.corpora.inmemory import STDIN
    from hiertopics.runs.rundir import RunDir

    if corpus is None and run is not None and not RunDir(run).exists:
        return chosen_run(None), run
    if corpus is None and not _is_piped():
        raise click.UsageError("Missing argument 'CORPUS': a file, a folder, or - behind a pipe.")
    return chosen_run(run), STDIN if corpus is None else corpus


def _is_piped() -> bool:
    """Return whether standard input is a pipe or a file: a terminal has nothing to read yet."""
    return sys.stdin is not None and not sys.stdin.isatty()
