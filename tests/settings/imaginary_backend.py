"""The structs of an imaginary backend whose configuration has a field of every type.

They live in a module whose name is nobody else's: msgspec looks annotations up by module name.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from hiertopics.base.errors import FieldError
from hiertopics.settings.config import InferenceConfig, Iterations


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
            raise FieldError("max_nodes", "must be >= depth")
        if self.prior == "AA" and not self.learn:
            raise FieldError("prior", "AA needs learn")
        if self.name == "":
            raise ValueError("an empty name means nothing")
        if self.depth == 9 and self.name == "deep":
            raise ValueError("depth and name say the same")


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """Another default for a common key and one key more."""

    iterations: Iterations = 500
    shuffle: Annotated[bool, Meta(description="Visit documents in random order.")] = False
