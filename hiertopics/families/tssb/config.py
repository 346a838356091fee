"""The config records of tree-structured stick breaking."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from hiertopics.base.errors import FieldError
from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.stick_kernels import ProcessBounds
from hiertopics.numeric.priors import Positive
from hiertopics.settings.config import (
    UNOFFERED,
    IdleShards,
    Iterations,
    KeepEvery,
    SamplerConfig,
    Summarise,
)
from hiertopics.settings.former import Constant, Former

Few = Annotated[float, Meta(gt=0, le=1000)]
Range = Positive | tuple[Positive, ...]
"""A number holds a parameter fixed; two are the ends of the range in which it is uniform."""


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The process, the topics, and the law of nodes; raises ValueError for a wrong range."""

    likelihood: Annotated[
        Literal["text", "binary"],
        Meta(
            description="Kind of data: text (the words of a document) or binary (a row of 0 and "
            "1).",
            extra_json_schema=UNOFFERED,
        ),
    ] = "text"
    n_topics: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Text: number of topics; each node has its own shares of them.",
        ),
    ] = 20
    alpha0: Annotated[
        Range,
        Meta(
            description="Concentration of stopping: with a larger value fewer data stop at the "
            "root and at nodes near it. A number, or the two ends of its uniform prior."
        ),
    ] = (10.0, 50.0)
    decay: Annotated[
        Range, Meta(description="Factor of alpha0 from one level to the next, at most 1.")
    ] = (0.05, 0.8)
    gamma: Annotated[
        Few | tuple[Few, ...],
        Meta(
            description="Concentration of children: with a larger value nodes have more children. "
            "The time of a fit grows with it."
        ),
    ] = (1.0, 10.0)
    kappa: Annotated[
        Range,
        Meta(
            description="Text: concentration of a node's topic shares around its parent's; "
            "sampled, starting from n_topics."
        ),
    ] = (0.1, 1000.0)
    eta: Annotated[
        float, Meta(gt=0, description="Text: pseudo-count of each word in each topic.")
    ] = 0.1
    persistence: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Binary: factor of the parent's parameters in the mean of a node's "
            "parameters; 1: a random walk down the tree.",
        ),
    ] = 1.0
    variance: Annotated[
        Range,
        Meta(
            description="Binary: variance of a node's parameters around its parent's, in each "
            "column."
        ),
    ] = (0.01, 1.0)
    root_variance: Annotated[
        Positive | None,
        Meta(
            description="Binary: variance of the root's parameters around 0; null: the same as "
            "variance.",
        ),
    ] = None
    max_depth: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Largest depth of a node, at which all data stop; the root has depth 0.",
        ),
    ] = 64

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("alpha0", "decay", "gamma", "kappa", "variance"):
            value = getattr(self, name)
            if isinstance(value, tuple) and not (len(value) == 2 and value[0] < value[1]):
                raise FieldError(name, f"must be a number or a rising pair, got {list(value)}")
        if ends(self.decay)[1] > 1.0:
            raise FieldError("decay", f"must be <= 1, got {ends(self.decay)[1]}")


class Inference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule."""

    former: ClassVar[Former] = {
        "inference.start": {"insertion": "sequential"},
        "model.root_concentration": Constant("each"),
        "inference.leapfrog_steps": Constant(25),
        "inference.assignment_sweeps": Constant(1),
    }

    iterations: Iterations = 500
    keep_every: KeepEvery = 100
    start: Annotated[
        Literal["sequential", "root", "prior"],
        Meta(
            description="First nodes of data. sequential: data are inserted one by one where they "
            "fit; root: all at the root; prior: a draw from the prior."
        ),
    ] = "sequential"
    start_sweeps: Annotated[
        int,
        Meta(ge=0, description="Text: number of sweeps of LDA from which topics start."),
    ] = 50
    hold_topics: Annotated[
        int,
        Meta(
            ge=0,
            description="Text: number of first iterations during which tokens keep the topics of "
            "the start.",
        ),
    ] = 0
    slice_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Binary: iterations between two sweeps of slice sampling of the "
            "parameters; 0: none.",
        ),
    ] = 10
    settle_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations between two rounds in which data may found new nodes that fit "
            "them; 0: none, as in the paper, which gives far fewer nodes.",
        ),
    ] = 2
    shards: IdleShards = 1
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
