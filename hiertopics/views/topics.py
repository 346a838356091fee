"""``topics``: a run's topics as records, and the same by group of documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hiertopics.data.groups import group_rows, groups_of
from hiertopics.errors import UsageError
from hiertopics.runs.noderows import node_rows
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.topdocs import documents_of


def topics(
    run: Path | str | RunDir,
    *,
    words: int = 10,
    docs: int | None = None,
    by: str | None = None,
    similar: int = 0,
) -> list[dict[str, Any]]:
    """Return one record per topic, parents first; or, by group, one per group of documents.

    words: top words, pairs of word and probability. docs: also as many top documents. by: None or
    "group", for backends with weights of groups; similar: then also the most similar groups.
    Raises UsageError or RunError.
    """
    target = opened(run)
    if by is None:
        documents = None if docs is None else documents_of(target, target.tree, docs)
        return node_rows(target.tree, target.vocab, words, documents=documents)
    if by != "group":
        raise UsageError(f"topics are told by group, not by {by!r}")
    groups = groups_of(target.tree)
    if groups is None:
        raise UsageError(
            f"{target.path} has no weights of groups; fit a chdp backend to a corpus with groups"
        )
    return group_rows(groups, target.tree, target.vocab, n_words=words, n_similar=similar)
