"""hiertopics: topic hierarchies in bag-of-words corpora.

Everything that a command does is a function of the same words here (``eval`` is ``evaluate``).
The names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Corpus": "corpus",
    "HierarchicalTopics": "estimator",
    "HiertopicsError": "errors",
    "Run": "run",
    "Source": "formats",
    "Tags": "corpus",
    "Vectors": "vectors",
    "check": "checking",
    "compare": "comparison",
    "convert": "conversion",
    "evaluate": "evaluation",
    "evaluate_task": "tasks",
    "export": "exporting",
    "fit": "api",
    "infer": "newdocs",
    "read_corpus": "formats",
    "show_tree": "api",
    "simulate": "simulation",
    "sweep": "sweeping",
    "topics": "api",
    "write_corpus": "formats",
}
_MODULES = ("backends", "config")
"""Modules of the package that can be called as the commands of their names."""

__all__ = ["__version__", *_MODULES, *_HOMES]


def __getattr__(name: str) -> Any:
    import importlib

    if name in _MODULES:
        return importlib.import_module(f"hiertopics.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'hiertopics' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hiertopics.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
