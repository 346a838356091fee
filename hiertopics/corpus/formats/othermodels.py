"""Models of other packages as parts of a tree: input of ``import_tree`` besides files.

None of the packages is imported but for a saved model: what is needed of an object is called by
its names there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base.errors import DataError, optional

Parts = dict[str, Any]


def parts_of_tomotopy(model: Any) -> Parts:
    """Return the tree of a fitted tomotopy ``HLDAModel``, or the topics of its ``LDAModel``.

    The rows of theta are its documents, in the order in which they were added: of a tree the
    shares of their tokens at nodes in the last draw, of flat topics their topic distributions.
    """
    nested = hasattr(model, "parent_topic")
    topics = [k for k in range(model.k) if not nested or model.is_live_topic(k)]
    column = {topic: place for place, topic in enumerate(topics)}
    theta = np.zeros((len(model.docs), len(topics)))
    for doc, own in enumerate(model.docs):
        if nested:
            drawn = [column[int(topic)] for topic in own.topics if int(topic) in column]
            np.add.at(theta[doc], drawn or [0], 1.0)
        else:
            theta[doc] = own.get_topic_dist()
    parent = [-1] * len(topics)
    if nested:
        parent = [column.get(model.parent_topic(k), -1) if model.level(k) else -1 for k in topics]
    phi = np.array([model.get_topic_word_dist(k) for k in topics], dtype=np.float64)
    return {
        "parent": parent,
        "theta": theta / theta.sum(axis=1, keepdims=True),
        "phi": phi,
        "vocab": list(model.used_vocabs),
    }


def parts_of_scikit_learn(model: Any, counts: Any, vocab: Sequence[str]) -> Parts:
    """Return the topics of scikit-learn's ``NMF`` or ``LatentDirichletAllocation``.

    counts: the documents that it was fitted to, as ``model.transform`` takes them; vocab: what
    their columns are. A document of no topic has all of them alike.
    """
    theta = np.asarray(model.transform(counts), dtype=np.float64)
    empty = theta.sum(axis=1) == 0
    theta[empty] = 1.0
    return {
        "parent": [-1] * theta.shape[1],
        "theta": theta / theta.sum(axis=1, keepdims=True),
        "phi": np.asarray(model.components_, dtype=np.float64),
        "vocab": list(vocab),
    }


def parts_of_levels(levels: Sequence[NDArray[Any]]) -> Parts:
    """Return the tree of nested groups of documents, such as those of a nested block model.

    levels: the group of each document on each level, [n_docs] each, the coarsest first.
    """
    return nested_groups(np.column_stack(levels).tolist())


def nested_groups(groups: Sequence[Sequence[Any]]) -> Parts:
    """Return the tree of nested groups: those of each document, the coarsest first."""
    paths = [tuple(row) for row in groups]
    known: dict[tuple[Any, ...], int] = {(): 0}
    parent = [-1]
    for path in paths:
        for end in range(1, len(path) + 1):
            if path[:end] not in known:
                known[path[:end]] = len(parent)
                parent.append(known[path[: end - 1]])
    cells = (np.ones(len(paths)), (np.arange(len(paths)), [known[path] for path in paths]))
    theta = sparse.csr_array(cells, shape=(len(paths), len(parent)))
    return {"parent": parent, "theta": theta}


def read_tomotopy(path: Path, kind: str) -> Parts:
    """Return the parts of a model that tomotopy saved; kind: the name of its class.

    Raises UsageError where tomotopy is not installed, DataError for what it cannot load.
    """
    told = "a saved tomotopy model needs tomotopy; install it with: pip install tomotopy"
    tomotopy = optional("tomotopy", told)
    try:
        model = getattr(tomotopy, kind).load(str(path))
    except Exception as error:  # tomotopy raises what its C++ throws
        raise DataError(path, f"tomotopy cannot load it as {kind}: {error}") from error
    return parts_of_tomotopy(model)
