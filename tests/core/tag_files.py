"""A corpus whose documents have one to three tags, which their words tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.data.corpus import Corpus
from hiertopics.formats import write_corpus

NAMES = ("ann", "bob", "cyd", "dee", "eve")
N_DOCS, N_WORDS = 60, 15


def tagged() -> tuple[Any, list[list[int]]]:
    """Return counts [60, 15] and each document's tags; a tag has three words to itself."""
    rng = np.random.default_rng(4)
    rows, tags = np.zeros((N_DOCS, N_WORDS), dtype=int), []
    for doc in range(N_DOCS):
        own = sorted(rng.choice(5, rng.choice([1, 2], p=[0.6, 0.4]), replace=False).tolist())
        share = np.full(N_WORDS, 0.02)
        for tag in own:
            share[3 * tag : 3 * tag + 3] += 1 / len(own)
        rows[doc] = rng.multinomial(20, share / share.sum())
        rows[doc, rng.integers(N_WORDS)] += rng.choice([0, 12])  # a burst says little
        tags.append(own)
    rows[7], tags[9] = 0, []
    return rows, tags


def write_tagged(path: Path, suffix: str, tags: list[list[int]], rows: Any) -> Path:
    """Write a corpus and, beside it, its tags as ``suffix`` (.authors or .labels), with names."""
    names = tuple(f"w{word}" for word in range(rows.shape[1]))
    write_corpus(Corpus(sparse.csr_array(rows.astype(np.int32)), names), path)
    lines = [" ".join(map(str, own)) for own in tags]
    path.with_suffix(suffix).write_text("\n".join(lines) + "\n")
    path.with_suffix(f"{suffix}.key").write_text("\n".join(NAMES) + "\n")
    return path
