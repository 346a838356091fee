"""The config records of hierarchical component analysis."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta, Struct

from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.nested.tree_state import MaxNodes, MovesEvery
from hiertopics.numeric.priors import GammaPrior
from hiertopics.settings.config import UNOFFERED, InferenceConfig, Iterations
from hiertopics.settings.former import Constant, Former, ListEntry

NOISE_PRIOR = GammaPrior(1e-3, 1e-3)


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tree, and the priors of its vectors, of the mean and of the noise."""

    depth: Annotated[
        int,
        Meta(
            ge=2,
            le=30,
            description="Number of levels of the tree, including the root: axes per row.",
        ),
    ] = 3
    gamma: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of the nested Chinese restaurant process: "
            "with a larger value rows open more branches.",
        ),
    ] = 1.0
    max_nodes: MaxNodes = 30
    vector_variance: Annotated[
        float, Meta(gt=0, description="Prior variance of each entry of a node's vector.")
    ] = 1e3
    mean_variance: Annotated[
        float, Meta(gt=0, description="Prior variance of each entry of the mean of all rows.")
    ] = 1e3
    noise_prior: Annotated[
        GammaPrior, Meta(description="Shape and rate of the Gamma prior of the noise precision.")
    ] = NOISE_PRIOR


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule."""

    former: ClassVar[Former] = {
        "inference.local_rounds": Constant(3),
        "model.noise_shape": ListEntry("model.noise_prior", "shape", NOISE_PRIOR),
        "model.noise_rate": ListEntry("model.noise_prior", "rate", NOISE_PRIOR),
    }

    iterations: Iterations = 200
    mode: Annotated[
        Literal["structured", "meanfield"],
        Meta(
            description="structured: the coordinates of a row depend on its path, which gives a "
            "tighter bound; meanfield: coordinates and path are independent, as in Wang and Blei "
            "2009.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "structured"
    vectors: Annotated[
        Literal["joint", "separate"],
        Meta(
            description="joint: one variational distribution over the vectors of all nodes, "
            "tighter and faster; separate: one per node, as in Wang and Blei 2009.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "joint"
    start: Annotated[
        Literal["clusters", "residuals", "axes"],
        Meta(
            description="First tree. clusters: from clusters of rows; residuals: from clusters of "
            "residuals, level by level; axes: one path of principal axes."
        ),
    ] = "clusters"
    moves_every: MovesEvery = 5
    trials: Annotated[
        int,
        Meta(ge=0, description="Number of moves of the tree that are proposed per round; 0: none."),
    ] = 2
    trial_sweeps: Annotated[
        int,
        Meta(
            ge=1,
            description="Number of sweeps of the tree with a move, and without it, before the "
            "better tree is kept.",
        ),
    ] = 30


Settings = SettingsOf[Model, Inference]
