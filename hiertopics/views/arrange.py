"""``--arrange``: the flat topics of a run as a tree, for looking at."""

from __future__ import annotations

from hiertopics.base.errors import RunError
from hiertopics.corpus.data.arranging import arrange, banded, contexts, documents_with
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.rundir import RunDir


def arranged(run: RunDir) -> Tree:
    """Return the flat topics of a run as a tree with few levels.

    Raises UsageError where they are a tree already, RunError for a run of before lengths of
    documents were kept.
    """
    lengths = run.split.train_lengths
    if lengths is None:
        raise RunError(
            f"{run.path / 'split.npz'} has no train_lengths, which the documents of arranged "
            "topics are counted by; fit the run again in another directory"
        )
    tree = run.supported_tree
    context = contexts(run.theta, lengths, tree.phi)
    return banded(arrange(tree, documents_with(run.theta, lengths), context))
