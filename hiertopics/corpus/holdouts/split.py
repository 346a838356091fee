"""The held-out split: put aside before training, with its own seed and its own hash.

Documents of words, or whole rows of numbers. Two scores compare only when their split hashes agree
(``--holdout``, docs/evaluation.md).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import seeds
from hiertopics.base.archives import pack_csr, unpack_csr
from hiertopics.base.arrays import I64
from hiertopics.base.axes import require_below, require_numbers, require_whole
from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data import Bags, Corpus, Shelf, Tags, Vectors
from hiertopics.corpus.data.names import pack_names, unpack_names
from hiertopics.corpus.holdouts.links import Links, withhold_links
from hiertopics.corpus.holdouts.partition import draw_tokens, partition
from hiertopics.corpus.holdouts.spec import WITHIN, Holdout

AnyBags = TypeVar("AnyBags", Corpus, Shelf)


@dataclass(frozen=True)
class Split:
    """The held-out part.

    train_docs, heldout_docs: int64, rows of the corpus as it was read.
    heldout, observed, scored: int32 CSR, one row per held-out document; observed + scored is
    the 80/20 partition of each (of vectors: float64, whole rows, nothing observed). For
    ``tokens`` and ``links`` splits the rows are all documents, observed is what they keep for
    training, and heldout equals scored.
    word_counts: int64 [n_words], training tokens of each word. hash covers documents, partition
    and vocabulary. links: query nodes and what is ranked for them; hashed too.
    train_lengths: int64, training tokens of each training document; None in runs that were made
    before they were kept. groups, labels: those of the held-out documents, where there are any.
    unknown: int64, tokens of each held-out document that are in no training document or were
    dropped; None where all documents chose the words (``data.vocabulary_from``).
    """

    kind: str
    seed: int
    train_docs: I64
    heldout_docs: I64
    heldout: sparse.csr_array
    observed: sparse.csr_array
    scored: sparse.csr_array
    word_counts: I64
    hash: str
    links: Links | None = None
    train_lengths: I64 | None = None
    groups: Tags | None = None
    labels: Tags | None = None
    unknown: I64 | None = None

    @property
    def unknown_tokens(self) -> int:
        """Number of held-out tokens that are not in the vocabulary."""
        return 0 if self.unknown is None else int(self.unknown.sum())

    @property
    def within_documents(self) -> bool:
        """Whether every document was trained on, without the part that was put aside."""
        return self.kind in WITHIN

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of split.npz, CSR matrices in parts (``pack_csr``)."""
        plain = {
            "kind": np.asarray(self.kind),
            "seed": np.asarray(self.seed),
            "train_docs": self.train_docs,
            "heldout_docs": self.heldout_docs,
            "word_counts": self.word_counts,
            "hash": np.asarray(self.hash),
        }
        for name in ("heldout", "observed", "scored"):
            plain |= pack_csr(name, getattr(self, name))
        if self.train_lengths is not None:
            plain["train_lengths"] = self.train_lengths
        if self.unknown is not None:
            plain["unknown"] = self.unknown
        for name in ("groups", "labels"):
            tags = getattr(self, name)
            if tags is not None:
                plain |= pack_csr(name, tags.members)
                plain |= pack_names(f"{name}_names", tags.names)
        return plain if self.links is None else plain | self.links.to_arrays()

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Split:
        """Inverse of ``to_arrays``.

        Raises KeyError where an array is missing, ValueError where they are not those of a split.
        """
        split = Split(
            kind=str(arrays["kind"]),
            seed=int(arrays["seed"]),
            train_docs=arrays["train_docs"],
            heldout_docs=arrays["heldout_docs"],
            heldout=unpack_csr("heldout", arrays),
            observed=unpack_csr("observed", arrays),
            scored=unpack_csr("scored", arrays),
            word_counts=arrays["word_counts"],
            hash=str(arrays["hash"]),
            links=Links.from_arrays(arrays) if "query" in arrays else None,
            train_lengths=arrays.get("train_lengths"),
            groups=_tags("groups", arrays),
            labels=_tags("labels", arrays),
            unknown=arrays.get("unknown"),
        )
        _refuse_misfits(split)
        return split


def _refuse_misfits(split: Split) -> None:
    """Raise ValueError where documents and matrices are not those of one split."""
    n_words = split.heldout.shape[1]
    for name in ("train_docs", "heldout_docs"):
        docs = getattr(split, name)
        require_whole(name, docs)
        require_below(name, docs, np.iinfo(np.int64).max)
    n_rows = len(split.heldout_docs)
    for name in ("heldout", "observed", "scored"):
        shape = getattr(split, name).shape
        if shape != (n_rows, n_words):
            raise ValueError(f"{name} is {shape[0]} x {shape[1]}, not {n_rows} x {n_words}")
    for name, length in (
        ("word_counts", n_words),
        ("train_lengths", len(split.train_docs)),
        ("unknown", n_rows),
    ):
        row = getattr(split, name)
        if row is None:
            continue
        require_numbers(name, row, length)
        if row.size and row.min() < 0:
            raise ValueError(f"{name} has a negative number")


def make_split(corpus: AnyBags, holdout: Holdout) -> tuple[AnyBags, Split]:
    """Return the training corpus and the held-out part of ``corpus``.

    Raises DataError where nothing would be left to train on or to put aside, UsageError where a
    part of each document of a corpus in files would be.
    """
    if holdout.kind in WITHIN:
        if isinstance(corpus, Shelf):
            what = f"holdout {holdout.kind} puts a part of each document aside, all in memory"
            raise UsageError(f"{what}; of shards whole documents can be (docs, fold, train, none)")
        return _withhold(corpus, holdout)
    return _apart(corpus, holdout, *docs_apart(corpus.n_docs, holdout))


GIVEN = "given"
"""The kind of a split whose training documents were listed by hand."""


def split_of_docs(corpus: AnyBags, train_docs: I64) -> tuple[AnyBags, Split]:
    """Return the training corpus of the listed documents, int64 [n], ascending, and the split."""
    heldout_docs = np.setdiff1d(np.arange(corpus.n_docs), train_docs)
    return _apart(corpus, Holdout(GIVEN), train_docs, heldout_docs)


def _apart(
    corpus: AnyBags, holdout: Holdout, train_docs: I64, heldout_docs: I64
) -> tuple[AnyBags, Split]:
    heldout = corpus.counts_of(heldout_docs)
    observed, scored = partition(heldout, heldout_docs, holdout.seed)
    train = corpus.select(train_docs)
    split = _finish(holdout, train, train_docs, heldout_docs, heldout, observed, scored)
    aside = corpus.select(heldout_docs)
    return train, replace(split, groups=aside.groups, labels=aside.labels)


def docs_apart(n_docs: int, holdout: Holdout) -> tuple[I64, I64]:
    """Return the documents to train on and those put aside, int64 [n] each, ascending.

    Raises DataError where nothing would be left to train on or to put aside.
    """
    heldout_docs = _choose_docs(n_docs, holdout)
    train_docs = np.setdiff1d(np.arange(n_docs), heldout_docs)
    if not len(train_docs) or (holdout.kind != "none" and not len(heldout_docs)):
        raise DataError(
            "corpus",
            f"{n_docs} document{'s' * (n_docs != 1)} cannot be split by holdout {holdout.kind}; "
            "choose another --holdout or 'none'",
        )
    return train_docs, heldout_docs


def split_hash(
    train_docs: I64,
    heldout_docs: I64,
    observed: sparse.csr_array,
    scored: sparse.csr_array,
    vocab: Sequence[str],
    links: Links | None = None,
) -> str:
    """Return the hash over documents, partition, links and vocabulary, 16 hexadecimal digits.

    train_docs, heldout_docs: int64 [n] each, ascending. observed, scored: CSR, as in ``Split``.
    """
    digest = hashlib.sha256()
    parts = [train_docs, heldout_docs]
    matrices = [observed, scored]
    if links is not None:
        parts += [links.query, np.asarray([links.mirror == "drop"])]
        matrices += [links.positives, links.negatives]
    for matrix in matrices:
        parts += [matrix.indptr, matrix.indices, matrix.data]
    for part in parts:
        digest.update(np.asarray([len(part)], dtype=np.int64).tobytes())
        digest.update(np.asarray(part, dtype=np.int64).tobytes())
    digest.update("\0".join(vocab).encode())
    return digest.hexdigest()[:16]


def _tags(name: str, arrays: Mapping[str, NDArray[Any]]) -> Tags | None:
    if f"{name}_names" not in arrays:
        return None
    return Tags(unpack_csr(name, arrays, marks=True), unpack_names(f"{name}_names", arrays))


def _choose_docs(n_docs: int, holdout: Holdout) -> I64:
    """Return the documents that are put aside: of those that came together, by themselves."""
    if holdout.kind == "none":
        return np.empty(0, dtype=np.int64)
    ends = [0, *(min(end, n_docs) for end in holdout.ends), n_docs]
    chosen = [
        first + _choose(last - first, holdout, () if part == 0 else (part,))
        for part, (first, last) in enumerate(pairwise(ends))
    ]
    return np.concatenate(chosen)


def _choose(n_docs: int, holdout: Holdout, key: tuple[int, ...]) -> I64:
    order = seeds.derive(holdout.seed, f"holdout-{holdout.kind}", *key).permutation(n_docs)
    if holdout.kind == "docs":
        # Of a corpus one document at least, of what is added to it maybe none.
        chosen = order[: max(0 if key else 1, round(holdout.value * n_docs))]
    elif holdout.kind == "train":
        chosen = order[n_docs if key else int(holdout.value) :]
    else:
        chosen = np.array_split(order, holdout.n_folds)[int(holdout.value) - 1]
    return np.sort(chosen).astype(np.int64)


def _withhold(corpus: Corpus, holdout: Holdout) -> tuple[Corpus, Split]:
    """Put a part of each document aside; the rest of each document is for training."""
    docs = np.arange(corpus.n_docs, dtype=np.int64)
    links = None
    if holdout.kind == "links":
        kept, withheld, links = withhold_links(
            corpus, holdout.value, holdout.seed, holdout.drop_mirrors
        )
    else:
        kept, withheld = draw_tokens(
            corpus.counts, docs, holdout.seed, "holdout-tokens", (), 1 - holdout.value
        )
    if not withheld.nnz:
        raise DataError(
            "corpus",
            "no document has a token to spare for holdout tokens; choose another --holdout",
        )
    train = corpus.with_counts(kept)
    return train, _finish(holdout, train, docs, docs, withheld, kept, withheld, links)


def _finish(
    holdout: Holdout,
    train: Bags,
    train_docs: I64,
    heldout_docs: I64,
    heldout: sparse.csr_array,
    observed: sparse.csr_array,
    scored: sparse.csr_array,
    links: Links | None = None,
) -> Split:
    code = split_hash(train_docs, heldout_docs, observed, scored, train.vocab, links)
    return Split(
        holdout.kind,
        holdout.seed,
        train_docs,
        heldout_docs,
        heldout,
        observed,
        scored,
        train.word_counts,
        code,
        links,
        train.doc_lengths,
    )


def split_rows(vectors: Vectors, holdout: Holdout) -> tuple[Vectors, Split]:
    """Return the training rows and the held-out part.

    ``heldout`` and ``scored`` of the split are float64 CSR, the held-out rows themselves;
    nothing of them is observed. The hash covers every bit of them.

    Raises UsageError for a holdout of parts of documents, DataError where nothing would be left.
    """
    if holdout.kind in WITHIN:
        raise UsageError(
            f"holdout {holdout.kind} puts parts of documents aside, but rows of numbers go whole; "
            "choose docs, fold, train or none"
        )
    train_docs, heldout_docs = docs_apart(vectors.n_docs, holdout)
    train = vectors.select(train_docs)
    heldout = sparse.csr_array(vectors.rows[heldout_docs] + 0.0)  # -0.0 becomes 0.0
    nothing = sparse.csr_array(heldout.shape, dtype=np.int32)
    return train, Split(
        kind=holdout.kind,
        seed=holdout.seed,
        train_docs=train_docs,
        heldout_docs=heldout_docs,
        heldout=heldout,
        observed=nothing,
        scored=heldout,
        word_counts=np.zeros(vectors.n_columns, dtype=np.int64),
        hash=_row_split_hash(train_docs, heldout_docs, heldout, vectors.columns),
        train_lengths=train.doc_lengths,
    )


def hash_of_file(vectors: Vectors) -> str:
    """Return the hash of rows in a file of their own: all are scored, none was trained on."""
    docs = np.arange(vectors.n_docs)
    return _row_split_hash(docs[:0], docs, sparse.csr_array(vectors.rows), vectors.columns)


def _row_split_hash(
    train_docs: np.ndarray[tuple[int], np.dtype[np.int64]],
    heldout_docs: np.ndarray[tuple[int], np.dtype[np.int64]],
    heldout: sparse.csr_array,
    columns: tuple[str, ...],
) -> str:
    """Return the hash over rows and columns, 16 hexadecimal digits; equal bits, equal hashes."""
    bits = heldout.data.astype(np.float64).view(np.int64)
    exact = sparse.csr_array((bits, heldout.indices, heldout.indptr), shape=heldout.shape)
    nothing = sparse.csr_array(heldout.shape, dtype=np.int32)
    return split_hash(train_docs, heldout_docs, nothing, exact, columns)
