"""An imaginary backend whose configuration has a field of every type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from hiertopics.config import Experiment, InferenceConfig, Iterations, build

Build = Callable[..., Experiment]


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One field of each type, and a check across two of them."""

    gamma: Annotated[float, Meta(gt=0, description="Concentration of the top level.")] = 1
    depth: Annotated[int, Meta(ge=1, le=9, description="Levels of the tree.")] = 3
    prior: Annotated[Literal["AS", "AA"], Meta(description="Which priors are symmetric.")] = "AS"
    max_nodes: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="Most nodes kept; null: no limit.")
    ] = None
    name: Annotated[str, Meta(description="A name with: a colon # and a hash.")] = "yes"
    learn: Annotated[bool, Meta(description="Learn gamma.")] = True
    step: Annotated[float, Meta(gt=0, lt=1, description="Step size.")] = 1e-05

    def __post_init__(self) -> None:
        """Refuse two combinations: one is laid to a field, one to the section."""
        if self.max_nodes is not None and self.max_nodes < self.depth:
            raise ValueError("max_nodes must be >= depth")
        if self.prior == "AA" and not self.learn:
            raise ValueError("prior AA needs learn")
        if self.name == "":
            raise ValueError("an empty name means nothing")


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """Another default for a common key and one key more."""

    iterations: Iterations = 500
    shuffle: Annotated[bool, Meta(description="Visit documents in random order.")] = False


@pytest.fixture(scope="session")
def declared() -> SimpleNamespace:
    """Return the two structs that a backend declares."""
    return SimpleNamespace(Model=Model, Inference=Inference)


@pytest.fixture(scope="session")
def make() -> Build:
    """Return a function that builds an experiment from settings or named layers."""

    def make(*layers: Mapping[str, object] | tuple[str, Mapping[str, object]]) -> Experiment:
        named = [item if isinstance(item, tuple) else ("a layer", item) for item in layers]
        first = ("defaults", {"backend": "imaginary"})
        return build([first, *named], model_type=Model, inference_type=Inference)

    return make
