"""A corpus whose documents have one or two tags, which their words tell, and fits to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.rundir import RunDir

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


def write_tagged(path: Path, suffix: str) -> Path:
    """Write the corpus and, beside it, its tags as ``suffix`` (.authors or .labels), with names."""
    rows, tags = tagged()
    names = tuple(f"w{word}" for word in range(rows.shape[1]))
    write_corpus(Corpus(sparse.csr_array(rows.astype(np.int32)), names), path)
    lines = [" ".join(map(str, own)) for own in tags]
    path.with_suffix(suffix).write_text("\n".join(lines) + "\n")
    path.with_suffix(f"{suffix}.key").write_text("\n".join(NAMES) + "\n")
    return path


def fit_tagged(fit_tiny: Callable[..., Any], corpus: Path, run: Path, *overrides: str) -> RunDir:
    """Return a run of the cooperative HDP on most documents of a file of ``write_tagged``."""
    settings = ("model.truncation=8", *overrides)
    fit_tiny(run, "chdp-variational", 60, settings, corpus, holdout="docs:0.3@1")
    return RunDir(run)


def truth_of(run: RunDir) -> tuple[Any, Any]:
    """Return the tags of training and held-out documents, bool [n_docs, 5]."""
    members = np.zeros((N_DOCS, len(NAMES)), dtype=bool)
    for doc, own in enumerate(tagged()[1]):
        members[doc, own] = True
    return members[run.split.train_docs], members[run.split.heldout_docs]
