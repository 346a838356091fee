"""The size of a corpus, as a record and in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.corpus.data.shelf import Bags
from hiertopics.corpus.data.vectors import Vectors


def shape_of(data: Bags | Vectors) -> dict[str, Any]:
    """Return the numbers of documents, words (or columns), pairs and tokens."""
    if isinstance(data, Vectors):
        return {"n_docs": data.n_docs, "n_columns": data.n_columns}
    return {
        "n_docs": data.n_docs,
        "n_empty": data.n_empty,
        "n_words": data.n_words,
        "n_unused_words": data.n_words - int(np.count_nonzero(data.word_counts)),
        "n_pairs": data.n_pairs,
        "n_tokens": data.n_tokens,
    }


def marks_of(data: Bags | Vectors) -> dict[str, Any]:
    """Return for groups and labels how many there are and how many documents have none."""
    shape: dict[str, Any] = {}
    for name, tags in (("groups", data.groups), ("labels", data.labels)):
        n_unmarked = None if tags is None else int((np.diff(tags.members.indptr) == 0).sum())
        shape[f"n_{name}"] = None if tags is None else len(tags.names)
        shape[f"n_without_{name}"] = n_unmarked
    return shape


def in_words(shape: dict[str, Any]) -> str:
    """Return a shape as a phrase."""
    if "n_columns" in shape:
        phrases = [f"{shape['n_docs']} rows", f"{shape['n_columns']} columns"]
    else:
        phrases = [
            f"{shape['n_docs']} documents ({shape['n_empty']} empty)",
            f"{shape['n_words']} words ({shape['n_unused_words']} unused)",
            f"{shape['n_tokens']} tokens",
        ]
    for name in ("groups", "labels"):
        if shape.get(f"n_{name}") is not None:
            n_without = shape[f"n_without_{name}"]
            phrases.append(f"{shape[f'n_{name}']} {name} ({n_without} documents without)")
    return ", ".join(phrases)
