"""Config keys of every truncated model of flat topics."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

HyperStart = Annotated[
    int,
    Meta(
        ge=0,
        description="Iterations during which concentrations and topic weights keep their start "
        "values; learning them while topics are diffuse leaves the corpus in few topics.",
    ),
]

Gamma = Annotated[
    float, Meta(gt=0, description="Start value: how many topics the corpus tends to have.")
]

Eta = Annotated[
    float, Meta(gt=0, description="Start value: pseudo-count of each word in each topic.")
]

Truncation = Annotated[
    int,
    Meta(
        ge=1,
        le=1_000_000,
        description="Largest number of topics kept; take more than are used.",
    ),
]

ReorderSticks = Annotated[
    bool,
    Meta(
        description="Redraw which topic has which stick, too; without it topics keep the places "
        "that the start gave them, and gamma is drawn too large."
    ),
]
