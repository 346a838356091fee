"""The config records of the cooperative HDP: its model, and the schedules."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, NamedTuple

from msgspec import Meta, Struct

from hiertopics.base.errors import ConfigError, FieldError
from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.families.flat.config import Eta, Gamma, HyperStart, ReorderSticks, Sweep, Truncation
from hiertopics.settings.config import HELD, UNOFFERED, InferenceConfig, Iterations, SamplerConfig
from hiertopics.settings.former import Former, Switch


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The kind of parents of documents, their cooperation, and start values of parameters.

    Raises ValueError where mixing weights are to be learned but have no meaning.
    """

    parents: Annotated[
        Literal["groups", "labels"],
        Meta(
            description="Parents of a document: its groups (authors) or its labels.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "groups"
    cooperation: Annotated[
        Literal["superposition", "maximization"],
        Meta(
            description="Combination of parents. superposition: a weighted mean of their topic "
            "shares; maximization: for each topic, the largest share among them.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "superposition"
    weights: Annotated[
        Literal["uniform", "learned"],
        Meta(
            description="Weights of a document's parents: equal, or learned for each training "
            "document (superposition only).",
            extra_json_schema=UNOFFERED,
        ),
    ] = "uniform"
    alpha_doc: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of documents: how closely a document follows "
            "its parents. The start value where it is learned.",
        ),
    ] = 1.0
    alpha_group: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of groups: how closely a group follows the "
            "corpus's topic shares. The start value where it is learned.",
        ),
    ] = 1.0
    gamma: Gamma = 1.0
    eta: Eta = 0.01
    truncation: Truncation = 500

    def __post_init__(self) -> None:
        """Refuse to learn weights that do not enter the model."""
        if self.weights == "learned" and self.cooperation == "maximization":
            raise FieldError("weights", "learned needs cooperation superposition")

    @property
    def maximization(self) -> bool:
        """Whether parents cooperate by maximization."""
        return self.cooperation == "maximization"


class ConcentrationFlags(NamedTuple):
    """Flags of the concentrations that are drawn; the others keep their values in the config."""

    alpha_doc: bool
    alpha_group: bool
    gamma: bool
    eta: bool


class ChdpGibbsInference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule of chdp-gibbs; raises FieldError for shards of a sampler that has none."""

    former: ClassVar[Former] = {
        f"inference.sample_{name}": Switch(name) for name in ConcentrationFlags._fields
    }

    iterations: Iterations = 500
    hyper_start: HyperStart = 15
    sampler: Annotated[
        Literal["exact", "irp"],
        Meta(
            description="exact: explicit group weights; irp: the paper's international restaurant "
            "process, exact under superposition, an approximation (irp_max_plugin) under "
            "maximization.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "exact"
    sweep: Sweep = "sparse"
    reorder_sticks: ReorderSticks = True
    hold: Annotated[
        tuple[Literal["alpha_doc", "alpha_group", "eta", "gamma"], ...], Meta(description=HELD)
    ] = ()

    def __post_init__(self) -> None:
        """Refuse to cut a restaurant into parts."""
        if self.sampler == "irp" and self.shards > 1:
            raise FieldError("shards", f"must be 1 for sampler irp, got {self.shards}")

    @property
    def sampled(self) -> ConcentrationFlags:
        """Flags of the concentrations that are drawn."""
        return ConcentrationFlags(*(name not in self.hold for name in ConcentrationFlags._fields))


class ChdpVariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of chdp-variational."""

    former: ClassVar[Former] = {"inference.fit_alpha_group": Switch("alpha_group")}

    iterations: Iterations = 150
    hyper_start: HyperStart = 15
    method: Annotated[
        Literal["collapsed", "sticks"],
        Meta(
            description="collapsed: weights and topics are integrated out; sticks: the paper's "
            "mean field over the sticks of documents, groups and corpus (superposition only).",
            extra_json_schema=UNOFFERED,
        ),
    ] = "collapsed"
    tables: Annotated[
        int,
        Meta(ge=1, le=1000, description="Variant sticks: largest number of tables of a document."),
    ] = 10
    options: Annotated[
        int,
        Meta(ge=1, le=1000, description="Variant sticks: largest number of options of a group."),
    ] = 20
    hold: Annotated[
        tuple[Literal["alpha_group"], ...],
        Meta(
            description=f"{HELD} Many groups with one document each make a learned alpha_group "
            "large, and then all groups are alike: compare held-out scores."
        ),
    ] = ("alpha_group",)
    fit_normaliser: Annotated[
        bool,
        Meta(
            description="Variant maximization: optimise the weights of groups with "
            "the normaliser of each document, by gradient ascent; slower.",
            extra_json_schema=UNOFFERED,
        ),
    ] = False


def refuse_misfits(model: Model, inference: ChdpVariationalInference) -> None:
    """Raise ConfigError where method and cooperation do not fit."""
    if inference.method == "sticks" and model.maximization:
        raise ConfigError(["inference.method sticks needs model.cooperation superposition"])
    if inference.fit_normaliser and not model.maximization:
        raise ConfigError(["inference.fit_normaliser needs model.cooperation maximization"])


VariationalSettings = SettingsOf[Model, ChdpVariationalInference]
GibbsSettings = SettingsOf[Model, ChdpGibbsInference]
ModelSettings = SettingsOf[Model, InferenceConfig]
