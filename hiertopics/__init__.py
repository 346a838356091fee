"""hiertopics: topic hierarchies in bag-of-words corpora.

Everything that a command does is a function of the same words here (``eval`` is ``evaluate``).
The names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "Corpus": "corpus.data.corpus",
    "HierarchicalTopics": "python.estimator",
    "HiertopicsError": "base.errors",
    "Run": "python.run",
    "Source": "corpus.formats.source",
    "Tags": "corpus.data.corpus",
    "Vectors": "corpus.data.vectors",
    "agree": "scoring.comparison",
    "backends": "contract.registry",
    "changes": "views.changes",
    "check": "corpus.corpora.checking",
    "compare": "scoring.comparison",
    "compare_trees": "scoring.comparison",
    "config": "contract.registry",
    "consensus": "fitting.consensus",
    "convert": "corpus.corpora.conversion",
    "docs": "views.documents",
    "drop": "fitting.reshaping",
    "edit": "fitting.editing",
    "evaluate": "scoring.evaluation",
    "evaluate_task": "scoring.tasks",
    "export": "views.showing",
    "fit": "python.run",
    "import_tree": "fitting.importing",
    "infer": "runs.newdocs",
    "null_check": "scoring.null",
    "judge": "views.judging",
    "label": "views.labelling",
    "merge": "fitting.reshaping",
    "parts_of_levels": "corpus.formats.othermodels",
    "parts_of_scikit_learn": "corpus.formats.othermodels",
    "parts_of_tomotopy": "corpus.formats.othermodels",
    "read_corpus": "corpus.formats.reading",
    "refit": "fitting.refitting",
    "report": "views.report.writing",
    "score_sheets": "scoring.judging",
    "shape": "python.shaping",
    "show_tree": "views.showing",
    "simulate": "fitting.simulation",
    "support": "fitting.support",
    "sweep": "fitting.sweeping",
    "topics": "views.topics",
    "update": "fitting.updating",
    "write_corpus": "corpus.formats.writing",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        told = "; it is evaluate" if name == "eval" else ""
        raise AttributeError(f"module 'hiertopics' has no attribute {name!r}{told}")
    return getattr(importlib.import_module(f"hiertopics.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
