"""hiertopics: topic hierarchies in bag-of-words corpora.

Everything that a command does is a function of the same words here (``eval`` is ``evaluate``).
The names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Corpus": "corpus",
    "RunDir": "rundir",
    "check": "checking",
    "compare": "comparison",
    "convert": "conversion",
    "evaluate": "evaluation",
    "evaluate_task": "tasks",
    "export": "exporting",
    "fit": "fitting",
    "infer": "newdocs",
    "read_corpus": "formats",
    "simulate": "simulation",
    "sweep": "sweeping",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hiertopics' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"hiertopics.{_HOMES[name]}"), name)
