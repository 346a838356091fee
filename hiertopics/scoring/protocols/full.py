"""Protocol ``full``: every token of a document is seen, then scored. Optimistic.

For backends with paths it is the protocol of C. Wang, D. Blei: Variational inference for the
nested Chinese restaurant process, NIPS 2009, Table 1 (theory/ncrp 6): paths and level
weights come from the words that are scored, and the path is averaged over the whole document.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hiertopics.scoring.protocols.job import whole_job
from hiertopics.scoring.protocols.predicting import place, score_paths, score_words
from hiertopics.scoring.protocols.result import Result
from hiertopics.scoring.request import Request


class Options(NamedTuple):
    """corpus: score this file. average: score the mean over a sampler's kept draws."""

    corpus: Path | str | None = None
    average: bool = False


def score(request: Request, options: Options) -> Result:
    """Return the score of all tokens, by paths where the backend has them."""
    job = whole_job(request, options.corpus, "full")
    placed = place(request, job)
    rule = score_words if placed.mixture is None else score_paths
    return rule(request, job, placed, average=options.average)
