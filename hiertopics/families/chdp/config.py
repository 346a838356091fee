"""What the config says of the model."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from hiertopics.families.flat.config import Eta, Gamma, Truncation


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
        float,
        Meta(gt=0, description="Start value: how closely documents follow their parents."),
    ] = 1.0
    alpha_group: Annotated[
        float,
        Meta(gt=0, description="Start value: how closely groups follow the corpus's topics."),
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
