"""New documents under a fitted run: words matched to its vocabulary, theta inferred."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base import files
from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, NumericalError, RunError, UsageError
from hiertopics.base.progress import said
from hiertopics.base.room import Room
from hiertopics.base.units import many
from hiertopics.contract import (
    Cluster,
    Context,
    Engine,
    PathMixture,
    Paths,
    Posterior,
    Settings,
    Workers,
    engine_of,
    registry,
)
from hiertopics.contract.model import unreported
from hiertopics.corpus.corpora.inmemory import on_disk
from hiertopics.corpus.data import (
    Corpus,
    Shelf,
    Tree,
    Vectors,
    require_order,
)
from hiertopics.corpus.formats import parquet
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.manifest import MANIFEST
from hiertopics.runs.placing import PARQUET, TABLES, DocumentFacts, spans, together, write_placed
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.soundness import ARITHMETIC, blamed, check_fitted, check_posterior
from hiertopics.runs.unseen import MatchedCorpus, as_matched, columns_of, left_out, match, read_new
from hiertopics.settings.config import Experiment

SUFFIXES = (".npz", *TABLES, "")
ALONE = Workers()
_READING = threading.Lock()


@dataclass(frozen=True, repr=False)
class PlacedDocuments(MatchedCorpus):
    """New documents and where they lie under a run's tree.

    corpus: of shards, as they were read. lengths: int64 [n_docs], their known tokens. theta:
    float64 CSR [n_docs, n_nodes], rows sum to 1. paths, mixture: each document's best path and all
    its likely ones, for backends whose documents take one path each; else None.
    """

    lengths: I64
    theta: sparse.csr_array
    paths: Paths | None
    mixture: PathMixture | None

    def __repr__(self) -> str:
        docs = many(len(self.lengths), "document")
        known, unknown = int(self.lengths.sum()), many(self.unknown_tokens, "unknown token")
        nodes = many(self.theta.shape[1], "node")
        return f"PlacedDocuments({docs}, {many(known, 'token')}, {unknown}, {nodes})"

    @property
    def facts(self) -> DocumentFacts:
        """Names and sizes of the documents."""
        return DocumentFacts(self.corpus.doc_ids, self.lengths, self.unknown)

    @property
    def posterior(self) -> Posterior:
        """Where the documents lie."""
        return Posterior(self.theta, self.paths, self.mixture)


def infer_theta(
    run: RunDir,
    corpus: Corpus | Vectors,
    *,
    tree: Tree | None = None,
    draw: int | None = None,
    seed: int | None = None,
    engine: Engine = ALONE,
    report: Callable[[int, int], None] = unreported,
) -> Posterior:
    """Return theta of documents over the run's vocabulary, under its tree or another.

    draw: which of the kept draws ``tree`` is, for processes elsewhere, which read it themselves.
    report: is told how many of how many documents are placed, by backends that say so.
    seed: for backends whose inference draws; None takes the run's own.
    """
    own = tree or run.tree
    if not isinstance(engine, Cluster) or corpus.n_docs == 0:
        return place(run.experiment, own, corpus, seed=seed, engine=engine, report=report)
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
    report: Callable[[int, int], None] = unreported,
) -> Posterior:
    """Return theta of documents over the columns of a tree that was fitted by an experiment.

    Where a document lies depends on no other. Raises RunError where the tree is damaged,
    NumericalError where theta is no distribution.
    """
    backend = registry.load_for(experiment)
    settings = Settings(experiment.model, experiment.inference)
    context = Context(experiment.seed if seed is None else seed, 0, engine, report)
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
    report: Callable[[int, int], None] = unreported,
) -> PlacedDocuments:
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

    trust_tokenizer: import the data.tokenizer that a config file or the run names. report: is told
    how many of how many documents are placed.
    """
    if seed is not None and seed < 0:
        raise UsageError(f"--seed must be >= 0, got {seed}")
    if output is not None:
        _require_form(Path(output))
    target = opened(run)
    require_order(target.tree, words_by)
    if isinstance(corpus, str) and " " in corpus and not Path(corpus).exists():
        told = "; a text itself goes into a list, run.infer([text]), or through a pipe"
        raise DataError(corpus, f"no such file{told}")
    with on_disk(corpus, columns_of(target)) as path:
        new = read_new(target, path, data or {})
    room = Room(None if output is None else Path(output).resolve().parent)
    with engine_of(cluster, workers, said) as engine:
        if isinstance(new, Shelf):
            found = _placed_in_blocks(target, new, room, seed, engine, report)
        else:
            if isinstance(new, Vectors):
                whole = as_matched(new)
            else:
                whole = match(new, target.vocab, left_out(target))
            placed = infer_theta(target, whole.corpus, seed=seed, engine=engine, report=report)
            known = whole.unknown, whole.corpus.doc_lengths
            found = PlacedDocuments(whole.corpus, *known, *_fields(placed))
    if output is not None:
        write_placed(Path(output), target, found.facts, found.posterior, words_by)
    return found


def _fields(found: Posterior) -> tuple[Any, ...]:
    return found.theta, found.paths, found.mixture


def _placed_in_blocks(
    run: RunDir,
    new: Shelf,
    room: Room,
    seed: int | None,
    engine: Engine,
    report: Callable[[int, int], None],
) -> PlacedDocuments:
    """Place documents in files some at a time; the results of all lie in the room."""
    none, stopped = np.empty(0, np.int64), left_out(run)
    lengths, unknown = [none], [none]

    def parts() -> Iterator[Posterior]:
        for first, last in spans(new.doc_pairs, run.tree.n_nodes):
            rows = new.select(np.arange(first, last))
            block = match(rows.in_memory(), run.vocab, stopped)
            lengths.append(block.corpus.doc_lengths)
            unknown.append(block.unknown)
            yield infer_theta(run, block.corpus, seed=seed, engine=engine)
            report(last, new.n_docs)

    placed = together(parts(), (new.n_docs, run.tree.n_nodes), room)
    known = np.concatenate(unknown), np.concatenate(lengths)
    return PlacedDocuments(new, *known, *_fields(placed))


def _require_form(path: Path) -> None:
    """Raise UsageError where no file can be written, or its suffix would lie."""
    files.require_place(path)
    if path.suffix.lower() not in SUFFIXES:
        known = " ".join(filter(None, SUFFIXES))
        raise UsageError(f"{path}: no format goes by that suffix (known: {known})")
    if path.suffix.lower() == PARQUET:
        parquet.require()
