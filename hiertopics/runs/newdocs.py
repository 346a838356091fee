"""New documents under a fitted run: words matched to its vocabulary, theta inferred."""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs
from scipy import sparse

from hiertopics.base import files
from hiertopics.base.arrays import I64
from hiertopics.base.errors import HiertopicsError, NumericalError, RunError, UsageError
from hiertopics.base.progress import said
from hiertopics.base.room import Room
from hiertopics.base.visible import steady
from hiertopics.contract import registry
from hiertopics.contract.cluster.coordinator import Cluster
from hiertopics.contract.cluster.joining import engine_of
from hiertopics.contract.engine import Engine, Workers
from hiertopics.contract.model import Context, PathMixture, Paths, Posterior, Settings
from hiertopics.contract.observed import observed_by
from hiertopics.corpus.corpora import dataset
from hiertopics.corpus.corpora.inmemory import on_disk
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.data.discretise import Bins, column_order
from hiertopics.corpus.data.naming import require_order
from hiertopics.corpus.data.shelf import Bags, Shelf, in_memory
from hiertopics.corpus.data.tree import Tree
from hiertopics.corpus.data.vectors import Vectors
from hiertopics.corpus.formats import parquet
from hiertopics.corpus.formats.records import PLAIN
from hiertopics.corpus.formats.source import FIELDS, FORM, WORDING
from hiertopics.corpus.formats.table import FORMATS, format_of
from hiertopics.corpus.formats.trust import trust, trusts
from hiertopics.corpus.formats.words import (
    JoinedWords,
    drops_stop_words,
    stop_words,
    tokenizer_hash,
)
from hiertopics.runs.manifest import MANIFEST
from hiertopics.runs.placing import PARQUET, TABLES, DocumentFacts, spans, together, write_placed
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.soundness import ARITHMETIC, blamed, check_fitted, check_posterior
from hiertopics.settings.config import DataConfig, Experiment

SUFFIXES = (".npz", *TABLES, "")
ALONE = Workers()
_READING = threading.Lock()


@dataclass(frozen=True)
class Matched:
    """A corpus over a run's vocabulary (or vectors over its columns), and the number of tokens
    outside it.

    unknown: int64 [n_docs], the same by document, without the words that the run left out on
    purpose.
    """

    corpus: Any
    unknown_tokens: int
    unknown: I64


@dataclass(frozen=True)
class Inferred(Matched):
    """New documents and where they lie under a run's tree.

    corpus: of shards, as they were read. lengths: int64 [n_docs], their known tokens. theta:
    float64 CSR [n_docs, n_nodes], rows sum to 1. paths, mixture: each document's best path and all
    its likely ones, for backends whose documents take one path each; else None.
    """

    lengths: I64
    theta: sparse.csr_array
    paths: Paths | None
    mixture: PathMixture | None

    @property
    def facts(self) -> DocumentFacts:
        """Names and sizes of the documents."""
        return DocumentFacts(self.corpus.doc_ids, self.lengths, self.unknown)

    @property
    def posterior(self) -> Posterior:
        """Where the documents lie."""
        return Posterior(self.theta, self.paths, self.mixture)


def read_matched(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> Matched:
    """Read a corpus file as new documents of ``run``.

    data: entries of the ``data`` section that describe the file (vocab, from_, text_field, ...);
    format and fields default to the run's own, where the file's name does not tell another. Rows
    of a dense table are cut into the bins of the run, or stay what they are where its backend
    observes vectors. Raises DataError.
    """
    new = _read(run, corpus, data)
    return _matched(new) if isinstance(new, Vectors) else match(in_memory(new), run.vocab)


def _matched(vectors: Vectors) -> Matched:
    return Matched(vectors, 0, np.zeros(vectors.n_docs, np.int64))


def left_out(run: RunDir) -> frozenset[str]:
    """Return the stop words of a run; none where their list is not there any more."""
    try:
        return stop_words(run.experiment.data.stop_words)
    except HiertopicsError:
        return frozenset()


def _read(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> Bags | Vectors:
    """Read a corpus file: bags with all their words, vectors over the run's columns."""
    experiment = run.experiment
    own = experiment.data
    config = described(own, corpus, data)
    form = FORMATS[format_of(Path(corpus), config.from_)]
    bins = None if own.discretise is None else _bins(run)
    if form.text and config.tokenizer is not None:
        _warn_of_change(run, config.tokenizer)
    new: Bags | Vectors = observed_by(experiment).load(config, bins, phrases_of(run)).corpus
    if isinstance(new, Vectors):
        return _match_columns(new, run.vocab, config)
    unnamed = form.dense and new.vocab == default_vocab(new.n_words)
    if unnamed and new.n_words != len(run.vocab) and not dataset.chooses_words(own):
        what = f"{new.n_words} columns without names, but the run has {len(run.vocab)}"
        raise dataset.other_columns(config, what)
    return new


def phrases_of(run: RunDir) -> JoinedWords | None:
    """Return the phrases that a run knows; None where its words were not joined."""
    return None if run.experiment.data.phrases is None else JoinedWords(run.vocab)


def described(own: DataConfig, corpus: Path | str, data: Mapping[str, Any]) -> DataConfig:
    """Return the section for a file of new documents; ``own`` fills missing entries of ``data``."""
    trust(data)
    config = structs.replace(DataConfig(), corpus=str(corpus), **dict(data))
    if config.from_ is None and own.from_ is not None:
        config = structs.replace(config, from_=_format(Path(corpus), own))
    form = FORMATS[format_of(Path(corpus), config.from_)]
    if form.text:
        same = format_of(Path(corpus), config.from_) == own.from_
        has_fields = format_of(Path(corpus), config.from_) not in PLAIN
        how = (*(FIELDS if has_fields else ()), *WORDING, *(FORM if same else ()))
        kept = {name: getattr(own, name) for name in how if name not in data}
        config = structs.replace(config, **kept)
        if drops_stop_words(dataset.source_of(config)):
            config = structs.replace(config, stop_words=own.stop_words)
    if form.dense and not {"label_column", "labels"} & set(data):
        config = structs.replace(config, label_column=own.label_column)
    if "repeat_cap" not in data:
        config = structs.replace(config, repeat_cap=own.repeat_cap)
    if form.layered and "layer" not in data:
        config = structs.replace(config, layer=own.layer)
    return config


def _warn_of_change(run: RunDir, tokenizer: str) -> None:
    """Warn where a tokenizer is not what cut the texts of the fit."""
    before = run.manifest["corpus"].get("tokenizer_hash")
    if before not in (None, tokenizer_hash(tokenizer)):
        what = f"{tokenizer} has changed since the fit: new texts are cut in another way"
        print(f"warning: {steady(what)}", file=sys.stderr)


def _match_columns(new: Vectors, columns: tuple[str, ...], config: DataConfig) -> Vectors:
    try:
        order = column_order(new.columns, columns, "fitted")
    except HiertopicsError as error:
        raise dataset.other_columns(config, str(error)) from error
    return replace(new, rows=new.rows[:, order], columns=columns)


def _bins(run: RunDir) -> Bins:
    with files.readable(run.file("model.npz"), KeyError, what="it has no array "):
        return Bins.from_arrays(run.tree.extra)


def read_unseen(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> Matched:
    """Read as ``read_matched`` does; UsageError for the corpus that the run was trained on."""
    matched = read_matched(run, corpus, data)
    if matched.corpus.text_fingerprint == run.manifest["corpus"]["text_fingerprint"]:
        raise UsageError("this is the corpus that the run was trained on; scoring it would flatter")
    return matched


def _format(path: Path, own: DataConfig) -> str | None:
    """Return what the name tells, if it tells another format than that of the run's corpus does."""
    told, told_before = _told(path), _told(Path(own.corpus or ""))
    return own.from_ if told in (None, told_before) else told


def _told(path: Path) -> str | None:
    try:
        return format_of(path, None)
    except UsageError:
        return None


def columns_in(own: Sequence[str], vocab: Sequence[str]) -> I64:
    """Return the place of each word in ``vocab``, -1 where it has none.

    Words go by string, or by id where their file alone names none.
    """
    unnamed = tuple(own) == default_vocab(len(own))
    if unnamed and not all(re.fullmatch("w[0-9]+", word) for word in vocab):
        target = np.arange(len(own))
        target[target >= len(vocab)] = -1
        return target
    # Backwards, so that of two equal words of the vocabulary the first one is taken.
    column = {word: index for index, word in reversed(list(enumerate(vocab)))}
    return np.array([column.get(word, -1) for word in own], dtype=np.int64)


def match(corpus: Corpus, vocab: Sequence[str], left_out: Set[str] = frozenset()) -> Matched:
    """Carry counts over to ``vocab``; see ``columns_in``.

    left_out: words that are not counted as unknown ones of a document.
    """
    target = columns_in(corpus.vocab, vocab)
    cells = corpus.counts.tocoo()
    columns = target[cells.coords[1]]
    known = columns >= 0
    matched = sparse.csr_array(
        (cells.data[known], (cells.coords[0][known], columns[known])),
        shape=(corpus.n_docs, len(vocab)),
    )
    matched.sum_duplicates()
    marks = (corpus.doc_ids, corpus.groups, corpus.labels)
    carried = Corpus(matched, tuple(vocab), *marks, notes=corpus.notes, snippets=corpus.snippets)
    counted = ~known
    if left_out:
        is_wanted = np.array([word not in left_out for word in corpus.vocab], dtype=bool)
        counted &= is_wanted[cells.coords[1]]
    unknown = np.bincount(cells.coords[0][counted], cells.data[counted], corpus.n_docs)
    return Matched(carried, int(cells.data[~known].sum()), unknown.astype(np.int64))


def infer_theta(
    run: RunDir,
    corpus: Corpus | Vectors,
    *,
    tree: Tree | None = None,
    draw: int | None = None,
    seed: int | None = None,
    engine: Engine = ALONE,
) -> Posterior:
    """Return theta of documents over the run's vocabulary, under its tree or another.

    draw: which of the kept draws ``tree`` is, for processes elsewhere, which read it themselves.
    seed: for backends whose inference draws; None takes the run's own.
    """
    own = tree or run.tree
    if not isinstance(engine, Cluster) or corpus.n_docs == 0:
        return place(run.experiment, own, corpus, seed=seed, engine=engine)
    manifest = run.file(MANIFEST)
    engine.require_seen(manifest)
    stored = StoredTree(run.path.resolve(), hashlib.sha256(manifest.read_bytes()).hexdigest(), draw)
    blocks = np.array_split(np.arange(corpus.n_docs), min(engine.n_workers, corpus.n_docs))
    messages = [(stored, corpus.select(docs), seed) for docs in blocks]
    parts = engine.dealt(_placed_under, messages)
    return together(parts, (corpus.n_docs, own.n_nodes), Room(None))


class StoredTree(NamedTuple):
    """A tree on disk. manifest: hash of that of its run. draw: its number, None for the run's."""

    run: Path
    manifest: str
    draw: int | None


@lru_cache(maxsize=1)
def _read_kept(stored: StoredTree) -> tuple[Experiment, Tree]:
    run = RunDir.open(stored.run)
    return run.experiment, run.tree if stored.draw is None else run.draw(stored.draw)[0]


def _placed_under(message: tuple[StoredTree, Corpus | Vectors, int | None]) -> Posterior:
    """Place documents in a process that reads the tree itself, once for all of its threads."""
    kept, corpus, seed = message
    with _READING:
        experiment, tree = _read_kept(kept)
    return place(experiment, tree, corpus, seed=seed)


def place(
    experiment: Experiment,
    tree: Tree,
    corpus: Corpus | Vectors,
    *,
    seed: int | None = None,
    engine: Engine = ALONE,
) -> Posterior:
    """Return theta of documents over the columns of a tree that was fitted by an experiment.

    Where a document lies depends on no other. Raises RunError where the tree is damaged,
    NumericalError where theta is no distribution.
    """
    backend = registry.load_for(experiment)
    settings = Settings(experiment.model, experiment.inference)
    context = Context(experiment.seed if seed is None else seed, 0, engine)
    check_fitted(tree, backend, settings)
    try:
        posterior: Posterior = backend.infer(tree, corpus, settings, context)
        if posterior.theta.shape[1] != tree.n_nodes:
            raise RunError("model.npz is damaged: its last row is not what lies outside the tree")
        check_posterior(posterior)
    except (NumericalError, *ARITHMETIC) as error:
        raise NumericalError(f"{error}{blamed(experiment, corpus)}") from error
    return posterior


@trusts
def infer(
    run: Path | str | RunDir,
    corpus: Any,
    output: Path | str | None = None,
    *,
    data: Mapping[str, Any] | None = None,
    seed: int | None = None,
    words_by: str | None = None,
    workers: int = 1,
    cluster: str | None = None,
    trust_tokenizer: bool = False,
) -> Inferred:
    """Return theta of new documents, and write it as the suffix of ``output`` tells.

    corpus: a file, or an object as for ``fit``; the columns of a bare table are the run's words.
    output: None writes no file. .csv, .jsonl, .parquet: a row per document
    (``rows.placed_rows``). .npz or no suffix: CSR, which scipy.sparse.load_npz reads; backends
    with paths put more arrays into it: the best path of each document, as in paths.npz, and its
    other paths with their chances (``PathMixture.to_arrays``). data: entries of ``data``
    that describe a file. words_by: the order of topic_words, of ``naming.ORDERS``; None: ``prob``.
    cluster: where else to work
    (``hiertopics.contract.cluster.joining.cluster``).
    Raises UsageError, DataError or RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    if seed is not None and seed < 0:
        raise UsageError(f"--seed must be >= 0, got {seed}")
    if output is not None:
        _require_form(Path(output))
    target = opened(run)
    require_order(target.tree, words_by)
    with on_disk(corpus, columns_of(target)) as path:
        new = _read(target, path, data or {})
    room = Room(None if output is None else Path(output).resolve().parent)
    with engine_of(cluster, workers, said) as engine:
        if isinstance(new, Shelf):
            found = _placed_in_blocks(target, new, room, seed, engine)
        else:
            if isinstance(new, Vectors):
                whole = _matched(new)
            else:
                whole = match(new, target.vocab, left_out(target))
            placed = infer_theta(target, whole.corpus, seed=seed, engine=engine)
            known = whole.unknown_tokens, whole.unknown, whole.corpus.doc_lengths
            found = Inferred(whole.corpus, *known, *_fields(placed))
    if output is not None:
        write_placed(Path(output), target, found.facts, found.posterior, words_by)
    return found


def _fields(found: Posterior) -> tuple[Any, ...]:
    return found.theta, found.paths, found.mixture


def _placed_in_blocks(
    run: RunDir, new: Shelf, room: Room, seed: int | None, engine: Engine
) -> Inferred:
    """Place documents in files some at a time; what is found of all of them lies in the room."""
    none, stopped = np.empty(0, np.int64), left_out(run)
    lengths, unknown, n_unknown = [none], [none], 0

    def parts() -> Iterator[Posterior]:
        nonlocal n_unknown
        for first, last in spans(new.doc_pairs, run.tree.n_nodes):
            rows = new.select(np.arange(first, last))
            block = match(rows.in_memory(), run.vocab, stopped)
            lengths.append(block.corpus.doc_lengths)
            unknown.append(block.unknown)
            n_unknown += block.unknown_tokens
            yield infer_theta(run, block.corpus, seed=seed, engine=engine)

    placed = together(parts(), (new.n_docs, run.tree.n_nodes), room)
    known = np.concatenate(unknown), np.concatenate(lengths)
    return Inferred(new, n_unknown, *known, *_fields(placed))


def _require_form(path: Path) -> None:
    """Raise UsageError where no file can be written, or its suffix would lie."""
    files.require_place(path)
    if path.suffix.lower() not in SUFFIXES:
        known = " ".join(filter(None, SUFFIXES))
        raise UsageError(f"{path}: no format goes by that suffix (known: {known})")
    if path.suffix.lower() == PARQUET:
        parquet.require()


def columns_of(run: RunDir) -> tuple[str, ...] | None:
    """Return the names of a table's unnamed columns: the run's words, unless it made them."""
    return None if run.experiment.data.discretise else run.vocab
