"""Places of documents under a tree, computed in blocks, and files with a row for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from hiertopics.base import archives, files
from hiertopics.base.arrays import I64, Ints
from hiertopics.base.room import GrowingArray, Room
from hiertopics.base.stretches import ends_of, stretches
from hiertopics.contract.model import PathMixture, Paths, Posterior
from hiertopics.corpus.data.naming import in_order, names_of
from hiertopics.corpus.formats import parquet
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rows import NamedTree, docs_csv, placed_kinds, placed_rows
from hiertopics.runs.rundir import RunDir

PARQUET = ".parquet"
TABLES = (".csv", ".jsonl", PARQUET)

MOST_ENTRIES = 1 << 22
"""Documents times nodes that are placed together: 32 MB."""

MOST_PAIRS = 1 << 20
"""Pairs of documents that are placed together, a longer document apart."""

ROWS = 1 << 13
"""Documents whose records are made together."""


def spans(doc_pairs: I64, n_nodes: int) -> Iterator[tuple[int, int]]:
    """Yield first and end (not included) of blocks of documents that are placed together.

    doc_pairs: int64 [n_docs], the pairs of each.
    """
    ends = ends_of(doc_pairs)
    return stretches(ends, MOST_PAIRS, max(1, MOST_ENTRIES // max(n_nodes, 1)))


def together(parts: Iterable[Posterior], shape: tuple[int, int], room: Room) -> Posterior:
    """Return the results of blocks of documents as one, in order.

    shape: of theta, all documents by nodes. room: where its arrays are made.
    """
    kind = np.int64 if shape[0] * shape[1] > np.iinfo(np.int32).max else np.int32
    theta = _DocumentArrays(room, {"data": np.float64, "indices": kind})
    paths = _DocumentArrays(room, {"node": np.int32, "log_prob": np.float64})
    kinds = {"node": np.int32, "log_prob": np.float64, "level_weights": np.float64}
    mixture = _DocumentArrays(room, kinds)
    tables = _DocumentArrays(room, {"data": np.float64, "indices": np.int32})
    has_paths = has_mixture = False
    n_words: int | None = None
    for part in parts:
        theta.append(part.theta.indptr, {name: getattr(part.theta, name) for name in theta.names})
        if part.paths is not None:
            has_paths = True
            paths.append(np.arange(len(part.paths.log_prob) + 1), part.paths._asdict())
        if part.mixture is not None:
            has_mixture = True
            mixture.append(part.mixture.indptr, part.mixture._asdict())
        if part.tables is not None:
            n_words = part.tables.shape[1]
            own = {name: getattr(part.tables, name) for name in tables.names}
            tables.append(part.tables.indptr, own)
    found = theta.done()
    indptr = theta.indptr().astype(kind)
    whole = sparse.csr_array((found["data"], found["indices"], indptr), shape=shape)
    return Posterior(
        whole,
        Paths(**paths.done()) if has_paths else None,
        PathMixture(mixture.indptr(), **mixture.done()) if has_mixture else None,
        None if n_words is None else tables.csr((shape[0], n_words)),
    )


class _DocumentArrays:
    """Arrays with entries for each document, which grow; entries may be rows themselves."""

    def __init__(self, room: Room, kinds: Mapping[str, DTypeLike]) -> None:
        self._growing: dict[str, GrowingArray] = {
            n: room.growing(kind) for n, kind in kinds.items()
        }
        self._widths: dict[str, tuple[int, ...]] = {}
        self._lengths = [np.empty(0, np.int64)]
        self.names = tuple(kinds)

    def append(self, indptr: Ints, arrays: dict[str, NDArray[Any]]) -> None:
        self._lengths.append(np.diff(indptr).astype(np.int64))
        for name in self.names:
            self._widths[name] = arrays[name].shape[1:]
            self._growing[name].append(np.ascontiguousarray(arrays[name]).reshape(-1))

    def indptr(self) -> I64:
        return ends_of(np.concatenate(self._lengths))

    def csr(self, shape: tuple[int, int]) -> sparse.csr_array:
        found = self.done()
        return sparse.csr_array((found["data"], found["indices"], self.indptr()), shape=shape)

    def done(self) -> dict[str, NDArray[Any]]:
        widths = {name: self._widths.get(name, ()) for name in self.names}
        return {name: self._growing[name].done().reshape(-1, *widths[name]) for name in self.names}


class DocumentFacts(NamedTuple):
    """Facts about placed documents: names, if they have any, int64 known and unknown tokens."""

    names: Sequence[str] | None
    lengths: I64
    unknown: I64


def write_placed(
    path: Path, run: RunDir, facts: DocumentFacts, posterior: Posterior, words_by: str | None = None
) -> None:
    """Write where documents lie, in the form that the suffix tells; see ``newdocs.infer``."""
    theta, form = posterior.theta, path.suffix.lower()
    if form not in TABLES:
        beside = {} if posterior.paths is None else posterior.paths._asdict()
        if posterior.mixture is not None:
            beside |= posterior.mixture.to_arrays()
        archives.write_csr(path, theta, beside)
        return
    named = named_tree(run, words_by)
    blocks = placed_blocks(named, facts, posterior)
    if form == PARQUET:
        kinds = placed_kinds(named.tree, posterior.paths is not None, bool(named.labels))
        files.write_whole(path, lambda out: parquet.write(out, blocks, kinds))
    elif form == ".csv":
        files.write_whole(path, lambda out: _write_csv(out, blocks))
    else:
        files.write_whole(path, lambda out: _write_lines(out, blocks))


def named_tree(run: RunDir, words_by: str | None) -> NamedTree:
    """Return the tree of a run with its labels and names; words_by: as for ``newdocs.infer``."""
    tree = in_order(run.tree, run.vocab, words_by, "prob")
    names = names_of(run.tree, run.vocab, words_by=words_by)
    return NamedTree(tree, run.vocab, labels_of(run), names)


def placed_blocks(
    named: NamedTree, facts: DocumentFacts, posterior: Posterior
) -> Iterator[list[dict[str, Any]]]:
    """Yield the records of placed documents (``rows.placed_rows``), some at a time."""
    own = named, posterior.theta, posterior.paths, facts.names, facts.lengths
    n_docs = posterior.theta.shape[0]
    for first in range(0, n_docs, ROWS):
        yield placed_rows(*own, range(first, min(first + ROWS, n_docs)), facts.unknown)


def _write_csv(out: IO[bytes], blocks: Iterator[list[dict[str, Any]]]) -> None:
    for number, rows in enumerate(blocks):
        out.write(docs_csv(rows, header=number == 0).encode())


def _write_lines(out: IO[bytes], blocks: Iterator[list[dict[str, Any]]]) -> None:
    for rows in blocks:
        out.writelines(f"{files.to_json(row)}\n".encode() for row in rows)
