"""Another function in place of a backend's own, while a test runs."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from hiertopics.contract import registry


def put_in_place(monkeypatch: pytest.MonkeyPatch, name: str, **parts: Any) -> None:
    """Give a backend of the registry other functions while a test runs."""
    module, _, value = registry.BACKENDS[name].module.partition(":")
    changed = replace(registry.load(name), **{"choose_variant": None, **parts})
    monkeypatch.setattr(import_module(module), value or "backend", changed)
