"""Where a linkage of topics is cut."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.flat.layout import Data

SMALL_CORPUS = 100_000


def branches_of(
    branches: Sequence[int] | None, merges: NDArray[np.float64], data: Data
) -> Sequence[int]:
    """Return the numbers of clusters at each level, those asked for or those found."""
    if branches is not None:
        return branches
    return [25] if data.doc_lengths.sum() < SMALL_CORPUS else [12, 70]
