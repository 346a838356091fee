"""Config keys of every truncated tree."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

MaxNodes = Annotated[
    int, Meta(ge=1, description="No start and no move makes the tree larger than this.")
]
MovesEvery = Annotated[
    int, Meta(ge=1, description="Iterations from one round of moves to the next.")
]
