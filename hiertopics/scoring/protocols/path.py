"""Protocol ``path``: as ``completion``, but one path goes for all scored tokens of a document.

log p(scored | observed) = log sum_c q(c | observed) prod_w (sum_l theta_l(c) phi(c, l, w))^n_w,
with 1 / V for the levels of a path that lie outside the tree.
"""

from __future__ import annotations

from hiertopics.errors import UsageError
from hiertopics.scoring.protocols.job import CutOptions as Options
from hiertopics.scoring.protocols.job import cut_job
from hiertopics.scoring.protocols.predicting import place, score_paths
from hiertopics.scoring.protocols.result import Result
from hiertopics.scoring.request import Request

__all__ = ["Options", "score"]


def score(request: Request, options: Options) -> Result:
    """Return the score of the tokens that were not seen; UsageError for a backend without paths."""
    job = cut_job(request, options, "path")
    placed = place(request, job)
    if placed.mixture is None:
        backend = request.run.manifest["backend"]
        raise UsageError(f"protocol path needs a backend whose documents take paths, not {backend}")
    return score_paths(request, job, placed, average=options.average)
