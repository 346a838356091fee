"""The config records of tree-structured stick breaking."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.stick_kernels import ProcessBounds
from hiertopics.settings.config import Iterations, SamplerConfig, Summarise

Positive = Annotated[float, Meta(gt=0)]
Few = Annotated[float, Meta(gt=0, le=1000)]
Range = Positive | tuple[Positive, ...]
"""A number holds a parameter fixed; two are the ends of the range in which it is uniform."""


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The process, the topics, and the law of nodes; raises ValueError for a wrong range."""

    likelihood: Annotated[
        Literal["text", "binary"],
        Meta(
            description="What a datum is: text, the words of a document; binary, a row of 0 and 1."
        ),
    ] = "text"
    n_topics: Annotated[
        int,
        Meta(ge=1, le=10_000, description="Text: topics, which nodes mix in shares of their own."),
    ] = 20
    alpha0: Annotated[
        Range,
        Meta(
            description="How seldom data stop at the root: a number, or the two ends of its "
            "uniform prior; likewise below."
        ),
    ] = (10.0, 50.0)
    decay: Annotated[
        Range, Meta(description="The factor of alpha0 from one level to the next, up to 1.")
    ] = (0.05, 0.8)
    gamma: Annotated[
        Few | tuple[Few, ...],
        Meta(description="How readily nodes get further children; a fit's time grows with it."),
    ] = (1.0, 10.0)
    kappa: Annotated[
        Range,
        Meta(
            description="Text: how closely a node's topic shares follow its parent's; it starts at "
            "n_topics."
        ),
    ] = (0.1, 1000.0)
    eta: Annotated[
        float, Meta(gt=0, description="Text: pseudo-count of each word in each topic.")
    ] = 0.1
    root_concentration: Annotated[
        Literal["each", "total"],
        Meta(
            description="Text: whether kappa is the pseudo-count of each topic at the root, or "
            "of all topics together."
        ),
    ] = "each"
    persistence: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Binary: how much of its parent's parameters a node keeps; 1: all, so that "
            "they walk at random down the tree.",
        ),
    ] = 1.0
    variance: Annotated[
        Range,
        Meta(description="Binary: variance of a node's parameters around its parent's, by column."),
    ] = (0.01, 1.0)
    root_variance: Annotated[
        Positive | None,
        Meta(description="Binary: that of the root's around 0; null: the same as below it."),
    ] = None
    max_depth: Annotated[
        int, Meta(ge=0, le=1000, description="Depth at which all data stop; the root has depth 0.")
    ] = 64

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("alpha0", "decay", "gamma", "kappa", "variance"):
            value = getattr(self, name)
            if isinstance(value, tuple) and not (len(value) == 2 and value[0] < value[1]):
                raise ValueError(f"{name} must be a number or a rising pair, got {list(value)}")
        if ends(self.decay)[1] > 1.0:
            raise ValueError(f"decay must be <= 1, got {ends(self.decay)[1]}")


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule."""

    iterations: Iterations = 500
    keep_every: Annotated[int, Meta(ge=1, description="Iterations between two kept draws.")] = 100
    start: Annotated[
        Literal["insertion", "root", "prior"],
        Meta(
            description="Where data begin: put into the tree one by one where they fit, all at the "
            "root, or as the prior has it."
        ),
    ] = "insertion"
    start_sweeps: Annotated[
        int,
        Meta(ge=0, description="Text: sweeps of a flat topic model (LDA) that topics begin with."),
    ] = 50
    hold_topics: Annotated[
        int,
        Meta(
            ge=0,
            description="Text: iterations during which tokens keep the topics they begin with.",
        ),
    ] = 0
    leapfrog_steps: Annotated[
        int, Meta(ge=1, description="Binary: steps of each Hamiltonian move of the parameters.")
    ] = 25
    slice_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Binary: iterations from one sweep of slice moves of the parameters to "
            "the next; 0: none.",
        ),
    ] = 10
    assignment_sweeps: Annotated[
        int, Meta(ge=1, description="Passes of the data through the tree in an iteration.")
    ] = 1
    settle_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations between two at which data may also found nodes that fit them; "
            "0: never, as in the paper, and far fewer nodes.",
        ),
    ] = 2
    summarise: Summarise = "map"


def ends(value: float | tuple[float, ...]) -> tuple[float, float]:
    """Return the two ends of a range; those of a fixed parameter are equal."""
    return (value[0], value[1]) if isinstance(value, tuple) else (value, value)


def process_bounds(model: Model) -> ProcessBounds:
    """Return the ranges of the parameters of the process."""
    return ProcessBounds(ends(model.alpha0), ends(model.decay), ends(model.gamma))


def middle(model: Model) -> Process:
    """Return the process at the middle of its ranges."""
    alpha0, decay, gamma = (sum(bounds) / 2 for bounds in process_bounds(model))
    return Process(alpha0, decay, gamma, model.max_depth)


Settings = SettingsOf[Model, Inference]
