"""The command that writes which documents are trained on and which are held out."""

from __future__ import annotations

import json
from pathlib import Path

import click

from benchmarks import options
from benchmarks.record import HALVES, places
from benchmarks.systems import digest


@click.command("splits")
@click.argument("data", type=options.FOLDER, required=False)
@click.option("-o", "--output", type=options.NEW_FOLDER, required=True, help="Folder of the lists.")
@click.option("--corpora", type=options.FOLDER, help="Also the corpora of this folder.")
@click.option("--only", multiple=True, metavar="CORPUS", help="Only these; repeatable.")
@options.split
def measure(
    data: Path | None, output: Path, corpora: Path | None, only: tuple[str, ...], split: str
) -> None:
    """Write the rows of training and held-out documents of the record, from 0, a line each.

    splits.json has their sha256, that of the corpus file, and the hash of the split, which covers
    the scored tokens, too. Corpora that are made of another are written beside the lists.
    """
    files = places(data, corpora)
    unknown = [name for name in only if name not in files]
    if unknown:
        raise click.UsageError(f"--only {unknown[0]}: corpora are {', '.join(files)}")
    output.mkdir(parents=True, exist_ok=True)
    told = {}
    for name in only or files:
        path = files[name]
        if name in HALVES and data is not None and path is None:
            from benchmarks import tree_makers

            path = output / f"{name}.ldac"
            tree_makers.write_half(data, name, path)
        assert path is not None
        told[name] = _lists(name, path, split, output)
        click.echo(f"{name}: {told[name]['split_hash']}")
    text = json.dumps({"split": split, "corpora": told}, indent=1)
    (output / "splits.json").write_text(text + "\n", encoding="utf-8")


def _lists(name: str, path: Path, split: str, output: Path) -> dict[str, object]:
    """Write the two lists of a corpus; return what is said of them."""
    from benchmarks.splits import split_corpus
    from hiertopics.corpus.corpora.dataset import load_corpus
    from hiertopics.settings.config import DataConfig

    corpus = load_corpus(DataConfig(corpus=str(path)))
    found = split_corpus(corpus, split)[1]
    told: dict[str, object] = {
        "corpus_sha256": digest(path),
        "documents": corpus.n_docs,
        "split_hash": found.hash,
    }
    for kind, rows in (("train", found.train_docs), ("heldout", found.heldout_docs)):
        file = output / f"{name}.{kind}"
        file.write_text("".join(f"{row}\n" for row in rows.tolist()), encoding="utf-8")
        told[kind] = {"file": file.name, "documents": len(rows), "sha256": digest(file)}
    return told
