"""The config records of the nested CRP's backends: their common model, the schedule of each."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from msgspec import Meta, Struct

from hiertopics.base.arrays import F64
from hiertopics.base.errors import FieldError
from hiertopics.contract.model import Settings as SettingsOf
from hiertopics.corpus.data.seedwords import check
from hiertopics.families.flat.config import BranchSeeds, SeedWeight, WordPseudoCount
from hiertopics.families.nested.tree_state import MaxNodes, MovesEvery
from hiertopics.settings.config import (
    HELD,
    UNOFFERED,
    InferenceConfig,
    Iterations,
    SamplerConfig,
    Summarise,
)
from hiertopics.settings.former import Constant, Former, Switch


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tree's depth and the concentrations; raises ValueError where they do not fit together."""

    depth: Annotated[
        int, Meta(ge=2, le=30, description="Number of levels of the tree, including the root.")
    ] = 3
    level_prior: Annotated[
        list[Annotated[float, Meta(gt=0)]] | None,
        Meta(
            description="Pseudo-count of each level in a document, root first, one number per "
            "level; null: 1 for every level."
        ),
    ] = None
    gamma: Annotated[
        float,
        Meta(
            gt=0,
            description="Concentration of the nested Chinese restaurant process: "
            "with a larger value documents open more branches.",
        ),
    ] = 1.0
    eta: WordPseudoCount = 0.1

    def __post_init__(self) -> None:
        """Check that the level prior has an entry for each level."""
        if self.level_prior is not None and len(self.level_prior) != self.depth:
            what = f"must have depth = {self.depth} entries, got {len(self.level_prior)}"
            raise FieldError("level_prior", what)


class SeededModel(Model, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The model of hlda-gibbs, in which branches may have names."""

    seeds: BranchSeeds = None
    seed_weight: SeedWeight = 5

    def __post_init__(self) -> None:
        """Check seed words, too."""
        super().__post_init__()
        check(self.seeds)


class HldaVariationalInference(InferenceConfig, frozen=True, kw_only=True):
    """The schedule of hlda-variational."""

    former: ClassVar[Former] = {
        "inference.learn_gamma": Switch("gamma"),
        "inference.learn_eta": Switch("eta"),
        "inference.learn_level_prior": Switch("level_prior"),
        "inference.start": {"crp": "sequential", "one_path_per_doc": "separate"},
        "inference.local_rounds": Constant(8),
        "inference.batch_delay": Constant(10.0),
        "inference.batch_decay": Constant(0.7),
    }

    iterations: Iterations = 40
    mode: Annotated[
        Literal["structured", "meanfield"],
        Meta(
            description="structured: the levels of tokens depend on the document's path, which "
            "gives a tighter bound; meanfield: levels and path are independent, as in Wang and "
            "Blei 2009.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "structured"
    start: Annotated[
        Literal["clusters", "sequential", "separate", "overcomplete", "gibbs", "root"],
        Meta(
            description="First tree. clusters, gibbs: the best draw of a short Gibbs run, which "
            "starts from clusters of documents or from documents that choose paths one by one; "
            "sequential: documents choose paths one by one; separate: a path for each document; "
            "overcomplete: fifteen random paths; root: the root alone."
        ),
    ] = "clusters"
    start_sweeps: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of sweeps of the Gibbs run of start: clusters and start: gibbs; 0: "
            "none.",
        ),
    ] = 100
    start_leaves: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="Number of paths of start: clusters; null: one per 4 documents, at most "
            "450.",
        ),
    ] = None
    max_nodes: MaxNodes = 1000
    batch_size: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of documents per batch, after which topics are updated, for large "
            "corpora; 0: one batch of all documents, with which the bound never falls.",
        ),
    ] = 0
    moves: Annotated[
        Literal["all", "paper", "none"],
        Meta(
            description="Moves that change the tree. paper: grow, prune and merge; all: also "
            "split, merge and transfer branches where the bound gains.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "all"
    moves_every: MovesEvery = 5
    guard_moves: Annotated[
        bool,
        Meta(
            description="Undo a round of moves if the bound is lower three sweeps later.",
            extra_json_schema=UNOFFERED,
        ),
    ] = True
    hold: Annotated[
        tuple[Literal["eta", "gamma", "level_prior"], ...],
        Meta(
            description=f"{HELD} A learned eta is smaller than the eta that predicts new documents "
            "best."
        ),
    ] = ("eta", "gamma", "level_prior")
    hyper_start: Annotated[
        int,
        Meta(
            ge=0,
            description="Number of first iterations during which gamma, eta and the "
            "level prior keep their start values.",
        ),
    ] = 15


class HldaGibbsInference(SamplerConfig, frozen=True, kw_only=True):
    """The schedule of hlda-gibbs; raises ValueError where restarts reach beyond the burn-in."""

    former: ClassVar[Former] = {
        "inference.sample_gamma": Switch("gamma"),
        "inference.sample_eta": Switch("eta"),
        "inference.sample_level_prior": Switch("level_prior"),
    }

    iterations: Iterations = 500
    start: Annotated[
        Literal["clusters", "sequential"],
        Meta(
            description="First paths. clusters: from a tree of clusters of documents; sequential: "
            "documents choose a path one by one in random order, as in every restart."
        ),
    ] = "clusters"
    collapse: Annotated[
        Literal["full", "partial"],
        Meta(
            description="full: topics and branches are integrated out, and documents are sampled "
            "one after the other; partial: seven tenths of the documents are sampled side by "
            "side, in inference.shards parts, given drawn topics and branches. Both are exact, "
            "except that partial keeps the drawn topics as float32.",
            extra_json_schema=UNOFFERED,
        ),
    ] = "full"
    leap_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations between two rounds of moves that propose a new path and new "
            "levels for a document at once; 0: none.",
        ),
    ] = 2
    graft_every: Annotated[
        int,
        Meta(
            ge=0,
            description="Iterations between two rounds of moves that propose another parent for a "
            "whole branch; 0: none.",
        ),
    ] = 1
    hold: Annotated[tuple[Literal["eta", "gamma", "level_prior"], ...], Meta(description=HELD)] = (
        "eta",
        "gamma",
        "level_prior",
    )
    restarts: Annotated[
        int, Meta(ge=1, description="Number of starts; the most probable one is continued.")
    ] = 1
    restart_iterations: Annotated[
        int,
        Meta(
            ge=1,
            description="Iterations of each start; the second half of them is compared.",
        ),
    ] = 50
    summarise: Summarise = "map"

    def __post_init__(self) -> None:
        """Check that no draw is kept while starts are tried."""
        tries = self.restarts * self.restart_iterations
        if self.restarts > 1 and tries > self.burn_in:
            what = f"must be >= restarts * restart_iterations = {tries}, got {self.burn_in}"
            raise FieldError("burn_in", what)


def level_prior(model: Model) -> F64:
    """Return the level prior, float64 [depth], the default filled in."""
    return np.array(model.level_prior or [1.0] * model.depth)


VariationalSettings = SettingsOf[Model, HldaVariationalInference]
GibbsSettings = SettingsOf[SeededModel, HldaGibbsInference]
