"""hdp-pcvb and hdp-cvb: the methods of hdp-pcvb0 and hdp-cvb0 to second order.

q(z) sees the counts by their means and variances (pcvb: equation 34 of Sato et al. 2012, cvb: 18;
theory/hdp 5.1). The second order moves faster at first and usually ends worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from hiertopics.families.flat.config import PointInference, PosteriorInference
from hiertopics.families.hdp import estimates, posteriors
from hiertopics.families.hdp.variational import POINTS, WHOLE, collapsed
from hiertopics.papers.hdp_second_order import SECOND, Variances
from hiertopics.settings.config import UNOFFERED

AllKept = Annotated[
    Literal["all"],
    Meta(
        description="Storage of responsibilities: all, 4 bytes for each pair of document and word "
        "and each topic. Second-order updates need them.",
        extra_json_schema=UNOFFERED,
    ),
]


class SecondPoints(PointInference, frozen=True, kw_only=True):
    """The schedule of hdp-pcvb."""

    responsibilities: AllKept = "all"


class SecondPosteriors(PosteriorInference, frozen=True, kw_only=True):
    """The schedule of hdp-cvb."""

    responsibilities: AllKept = "all"


@dataclass
class SecondOrderPointState(estimates.State, Variances):
    """The responsibilities, counts with their variances, and the point estimates."""


@dataclass
class SecondOrderWholeState(posteriors.State, Variances):
    """The responsibilities, counts with their variances, and the other posteriors."""


pcvb = collapsed(SecondOrderPointState, POINTS._replace(Inference=SecondPoints), SECOND)
cvb = collapsed(SecondOrderWholeState, WHOLE._replace(Inference=SecondPosteriors), SECOND)
