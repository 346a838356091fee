"""What every protocol gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from numpy.typing import NDArray


class Result(NamedTuple):
    """The fields of the protocol's record, and the arrays that it can be recomputed from.

    split: hash of the split scored on. of_words: whether topic quality belongs into the record.
    """

    metrics: Mapping[str, Any]
    split: str
    arrays: Mapping[str, NDArray[Any]]
    of_words: bool = True
