"""Packages that offer names of their modules, which are loaded when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def offer(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package. homes: the module below it of each name."""

    def load(name: str) -> Any:
        import importlib

        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return load


def homes_of(names: Mapping[str, str]) -> dict[str, str]:
    """Return the module of each name. names: of each module, with blanks between them."""
    return {name: module for module, text in names.items() for name in text.split()}
