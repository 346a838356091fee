"""The config records of the cooperative HDP: its model, and the schedules."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct

from hiertopics.base.errors import ConfigError
from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.flat.config import Eta, Gamma, HyperStart, ReorderSticks, Sweep, Truncation
from hiertopics.settings.config import InferenceConfig, Iterations, SamplerConfig


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the parents of documents are, how they cooperate, and start values of what is learned.

    Raises ValueError where mixing weights are to be learned but have no meaning.
    """

    parents: Annotated[
        Literal["groups", "labels"],
        Meta(description="What the parents of a document are: its groups (authors) or its labels."),
    ] = "groups"
    cooperation: Annotated[
        Literal["superposition", "maximization"],
        Meta(
            description="superposition: a document's parents are mixed; maximization: each topic "
            "is as strong as in the parent that has most of it."
        ),
    ] = "superposition"
    weights: Annotated[
        Literal["uniform", "learned"],
        Meta(
            description="Mixing weights of a document's parents: all equal, or learned for each "
            "training document (superposition only)."
        ),
    ] = "uniform"
    alpha_doc: Annotated[
        float, Meta(gt=0, description="Start value: how closely documents follow their parents.")
    ] = 1.0
    alpha_group: Annotated[
        float, Meta(gt=0, description="Start value: how closely groups follow the corpus's topics.")
    ] = 1.0
    gamma: Gamma = 1.0
    eta: Eta = 0.01
    truncation: Truncation = 500

    def __post_init__(self) -> None:
        """Refuse to learn weights that do not enter the model."""
        if self.weights == "learned" and self.cooperation == "maximization":
            raise ValueError("weights learned needs cooperation superposition")

    @property
    def maximization(self) -> bool:
        """Whether parents cooperate by maximization."""
        return self.cooperation == "maximization"


class Sampled(NamedTuple):
    """Which concentrations are drawn; the others stay where the config starts them."""

    alpha_doc: bool
    alpha_group: bool
    gamma: bool
    eta: bool


class GibbsInference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule of chdp-gibbs; raises ValueError for shards of a sampler that has none."""

    iterations: Iterations = 500
    hyper_start: HyperStart = 15
    sampler: Annotated[
        Literal["exact", "irp"],
        Meta(
            description="exact: explicit group weights; irp: the paper's international restaurant "
            "process, exact under superposition, an approximation (irp_max_plugin) under "
            "maximization."
        ),
    ] = "exact"
    sweep: Sweep = "sparse"
    reorder_sticks: ReorderSticks = True
    sample_alpha_doc: Annotated[
        bool, Meta(description="Draw alpha_doc too; model.alpha_doc is where it starts.")
    ] = True
    sample_alpha_group: Annotated[
        bool, Meta(description="Draw alpha_group too; model.alpha_group is where it starts.")
    ] = True
    sample_gamma: Annotated[
        bool, Meta(description="Draw gamma too; model.gamma is where it starts.")
    ] = True
    sample_eta: Annotated[bool, Meta(description="Draw eta too; model.eta is where it starts.")] = (
        True
    )

    def __post_init__(self) -> None:
        """Refuse to cut a restaurant into parts."""
        if self.sampler == "irp" and self.shards > 1:
            raise ValueError(f"shards must be 1 for sampler irp, got {self.shards}")

    @property
    def sampled(self) -> Sampled:
        """Which concentrations are drawn."""
        return Sampled(
            self.sample_alpha_doc, self.sample_alpha_group, self.sample_gamma, self.sample_eta
        )


class VariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of chdp-variational."""

    iterations: Iterations = 150
    hyper_start: HyperStart = 15
    method: Annotated[
        Literal["collapsed", "sticks"],
        Meta(
            description="collapsed: weights and topics integrated out; sticks: the paper's mean "
            "field over sticks of documents, groups and corpus (superposition only)."
        ),
    ] = "collapsed"
    tables: Annotated[
        int, Meta(ge=1, le=1000, description="Method sticks: most tables of a document.")
    ] = 10
    options: Annotated[
        int, Meta(ge=1, le=1000, description="Method sticks: most options of a group.")
    ] = 20
    fit_alpha_group: Annotated[
        bool,
        Meta(
            description="Fit alpha_group too. Many groups with one document each drive it up, and "
            "then groups are all alike: compare held-out scores."
        ),
    ] = False
    fit_normaliser: Annotated[
        bool,
        Meta(
            description="Method collapsed, maximization: climb to weights of groups that take the "
            "normaliser of each document into account; slower."
        ),
    ] = False


def refuse_misfits(model: Model, inference: VariationalInference) -> None:
    """Raise ConfigError where method and cooperation do not fit."""
    if inference.method == "sticks" and model.maximization:
        raise ConfigError(["inference.method sticks needs model.cooperation superposition"])
    if inference.fit_normaliser and not model.maximization:
        raise ConfigError(["inference.fit_normaliser needs model.cooperation maximization"])


VariationalSettings = SettingsOf[Model, VariationalInference]
GibbsSettings = SettingsOf[Model, GibbsInference]
ModelSettings = SettingsOf[Model, InferenceConfig]
