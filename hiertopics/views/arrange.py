"""``--arrange``: the flat topics of a run as a tree, for looking at."""

from __future__ import annotations

from dataclasses import replace

from scipy import sparse

from hiertopics.base.errors import RunError, UsageError
from hiertopics.corpus.data.arranging import arrange, banded, contexts
from hiertopics.corpus.data.membership import branch_counts, columns_of, documents_with
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
    if tree.vectors is not None:
        raise UsageError("--arrange is for topics of words; these nodes have vectors")
    context = contexts(run.theta, lengths, tree.phi)
    found = banded(arrange(tree, documents_with(run.theta, lengths).toarray(), context))
    theta = sparse.csr_array(run.theta @ columns_of(found, tree.n_nodes))
    return replace(found, counted=branch_counts(found, theta, lengths, None))
