"""Label paths: where people put documents in a hierarchy of their own, such as comp/sys/mac."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import I64, Ints

Path = tuple[str, ...]


class LabelPaths(NamedTuple):
    """The labels of documents by level, the coarsest first.

    codes: int64 [n_levels, n_docs], the label of each document on each level; below 0, and of no
    other document, where its path ends earlier. names: of the labels of each level, by code: the
    path down to it.
    """

    codes: I64
    names: tuple[tuple[Path, ...], ...]

    def permuted(self, order: Ints) -> LabelPaths:
        """Return the labels with documents in another order, [n_docs]."""
        return self._replace(codes=self.codes[:, order])


def label_paths(paths: Sequence[Path]) -> LabelPaths:
    """Return the label paths of documents by level."""
    n_levels = max(map(len, paths), default=0)
    codes = np.empty((n_levels, len(paths)), dtype=np.int64)
    names = []
    for level in range(n_levels):
        known = sorted({path[: level + 1] for path in paths if len(path) > level})
        code = {path: place for place, path in enumerate(known)}
        codes[level] = [
            code[path[: level + 1]] if len(path) > level else -1 - doc
            for doc, path in enumerate(paths)
        ]
        names.append(tuple(known))
    return LabelPaths(codes, tuple(names))
