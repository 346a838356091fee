"""Protocol ``tokens``: what was put aside of each document, under the theta of its training."""

from __future__ import annotations

from typing import NamedTuple

from hiertopics.scoring.protocols.job import Job, tokens_aside
from hiertopics.scoring.protocols.predicting import place, score_words
from hiertopics.scoring.protocols.result import Result
from hiertopics.scoring.request import Request


class Options(NamedTuple):
    """average: score the mean over a sampler's kept draws."""

    average: bool = False


def score(request: Request, options: Options) -> Result:
    """Return the score of the withheld tokens."""
    split = tokens_aside(request.run, "tokens")
    job = Job(None, split.scored, 0, split.hash)
    return score_words(request, job, place(request, job), average=options.average)
