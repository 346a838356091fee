"""An imaginary backend, declared and built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import pytest
from imaginary_backend import Inference, Model

from hiertopics.settings.config import Experiment, build

Build = Callable[..., Experiment]


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
