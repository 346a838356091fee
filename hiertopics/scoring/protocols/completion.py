"""Protocol ``completion``: theta from a share of each document's tokens, the others scored.

Each token is scored by itself, under theta @ phi.
"""

from __future__ import annotations

from hiertopics.scoring.protocols.job import CutOptions as Options
from hiertopics.scoring.protocols.job import cut_job
from hiertopics.scoring.protocols.predicting import place, score_words
from hiertopics.scoring.protocols.result import Result
from hiertopics.scoring.request import Request

__all__ = ["Options", "score"]


def score(request: Request, options: Options) -> Result:
    """Return the score of the tokens that were not seen."""
    job = cut_job(request, options, "completion")
    return score_words(request, job, place(request, job), average=options.average)
