"""The data models, by the name that ``model.likelihood`` gives them."""

from __future__ import annotations

from typing import Any

from hiertopics.families.tssb import binary, text

LIKELIHOODS: dict[str, Any] = {"text": text, "binary": binary}
