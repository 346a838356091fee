"""The memory of a fit: an estimate before it begins, and the limit on it."""

from __future__ import annotations

import sys

from scipy import sparse

from hiertopics.base.errors import UsageError
from hiertopics.contract import Settings, registry
from hiertopics.corpus.data import Bags, Shelf, Vectors
from hiertopics.corpus.holdouts.split import Split
from hiertopics.settings.config import Experiment

MEGABYTE = 1_000_000
LIBRARIES, FEWER = 92 << 20, 34 << 20
"""Bytes of Python, numpy, scipy and numba with its kernels, before there is any data; without the
last."""

CODE, LESS = 96 << 20, 40 << 20
"""Bytes of their code that is mapped from files: it counts in the peak, but not in the limit."""

READER, READER_CODE = 64 << 20, 48 << 20
"""The same two numbers for scikit-learn, which cuts texts into words."""

DOC_BYTES = 48
"""Bytes for each document beside its counts: lengths, numbers and places."""

WORD_BYTES = 120
"""Bytes for each word: the string, and its place in the written vocabulary."""


def estimated(
    experiment: Experiment,
    whole: Bags | Vectors,
    train: Bags | Vectors,
    split: Split,
    n_workers: int = 1,
) -> int:
    """Return the anonymous bytes of a fit at its largest: libraries, corpus, split and arrays.

    n_workers: threads of this process. What is mapped from files does not count: the system lets
    it go where memory is scarce.
    """
    settings = Settings(experiment.model, experiment.inference)
    backend = registry.load_for(experiment)
    arrays = backend.memory(train, settings)
    if backend.memory_of_worker is not None:
        further = min(n_workers, experiment.inference.shards) - 1
        arrays += further * backend.memory_of_worker(train, settings)
    return besides(whole, train, split) + arrays


def besides(whole: Bags | Vectors, train: Bags | Vectors, split: Split) -> int:
    """Return the bytes of everything but the backend's arrays: libraries, corpus and split."""
    texts = 0 if isinstance(train, Vectors) else WORD_BYTES * train.n_words
    aside = sum(_held(getattr(split, name)) for name in ("heldout", "observed", "scored"))
    kept = sum(_size_of(corpus) for corpus in (whole, train))
    libraries = (LIBRARIES if _compiles() else FEWER) + READER * _cuts()
    return libraries + kept + aside + texts


def code() -> int:
    """Return the bytes that libraries have in files mapped into memory."""
    return (CODE if _compiles() else LESS) + READER_CODE * _cuts()


def _compiles() -> bool:
    """Tell whether a backend that was loaded, this fit's or another, has compiled kernels."""
    return "numba" in sys.modules


def _cuts() -> bool:
    """Tell whether texts were cut into words, for this fit or another one."""
    return "sklearn" in sys.modules


def _size_of(corpus: Bags | Vectors) -> int:
    if isinstance(corpus, Vectors):
        return int(corpus.rows.nbytes)
    documents = DOC_BYTES * corpus.n_docs
    return documents if isinstance(corpus, Shelf) else documents + _held(corpus.counts)


def _held(matrix: sparse.csr_array) -> int:
    return int(matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes)


def require_memory(limit: int, needed: int) -> None:
    """Raise UsageError where a fit would take more than it may."""
    if needed > limit:
        raise UsageError(
            f"--memory {given_in_megabytes(limit)} is too little: the least for this fit is "
            f"{in_megabytes(needed)}; fewer topics or nodes, a smaller vocabulary or held-out part "
            "take less"
        )


def given_in_megabytes(n_bytes: int) -> str:
    """Return the bytes of ``--memory`` in the unit of ``in_megabytes``, as they were given."""
    return f"{round(n_bytes / MEGABYTE, 1):.10g}MB"


def in_megabytes(n_bytes: int) -> str:
    """Return bytes, rounded up, as ``--memory`` takes them."""
    return f"{-(-n_bytes // MEGABYTE)}MB"
