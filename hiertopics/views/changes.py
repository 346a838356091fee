"""Changes by further documents, node by node: a run beside the run that it continued."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.matching import TreeNodes, affinities, matched
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.render.records import to_table

WORDS = 10
AMONG = 20
"""Words that come are among so many top words now and were not before; those that left likewise."""

SHOWN = 20
SHOWN_WORDS = 4

BLOCK = 1 << 14
"""Documents whose theta is looked at together."""


def changes(run: Path | str | RunDir, updated: Path | str | RunDir) -> list[dict[str, Any]]:
    """Return a record per node of an updated run, and of each node of ``run`` that is gone.

    node, was: its ids now and before, None where it is gone or new; nodes of the same depth are
    the same whose words are the most alike (``affinity``, from 0 to 1, over words in common), one
    to one. tokens_before, tokens_after: at and below it; share_before, share_after: of all.
    tokens_added: those of the further documents. words: its top ten. came, left: words among its
    top twenty now and not before, and the other way round. Raises UsageError for trees of vectors.
    """
    before, after = opened(run), opened(updated)
    if before.tree.vectors is not None or after.tree.vectors is not None:
        raise UsageError("changes are told of trees of words")
    pairs = _pairs(before, after)
    added = _tokens_added(before, after)
    was = {new: old for old, (new, _) in pairs.items()}
    records = [_record(before, after, was.get(node), node, added) for node in after.tree.shown]
    for record in records:
        if record["was"] is not None:
            record["affinity"] = pairs[record["was"]][1]
    gone = [node for node in before.tree.shown.tolist() if node not in pairs]
    return records + [_record(before, after, node, None, added) for node in gone]


def to_changes_table(records: Sequence[dict[str, Any]]) -> str:
    """Return a line for each of the nodes whose share of the tokens changed most."""

    def change(record: dict[str, Any]) -> float:
        return abs(float(record["share_after"]) - float(record["share_before"]))

    first = sorted(records, key=change, reverse=True)[:SHOWN]
    rows = [
        {
            "node": "gone" if record["node"] is None else record["node"],
            "was": "new" if record["was"] is None else record["was"],
            "tokens": f"{record['tokens_before']:.0f} -> {record['tokens_after']:.0f}",
            "share": f"{record['share_before']:.2%} -> {record['share_after']:.2%}",
            "words": " ".join(word for word in record["words"][:SHOWN_WORDS]),
            "came": " ".join(record["came"][:SHOWN_WORDS]),
            "left": " ".join(record["left"][:SHOWN_WORDS]),
        }
        for record in first
    ]
    table = to_table(rows, list(rows[0]) if rows else [], right=("node", "was", "tokens", "share"))
    more = len(records) - len(first)
    return str(table) + (f"and {more} nodes that changed less (--json)\n" if more else "")


def _pairs(before: RunDir, after: RunDir) -> dict[int, tuple[int, float]]:
    """Return for nodes that were there before the node now, and how alike the two are."""
    found = {}
    for depth in np.unique(before.tree.depth[before.tree.shown]).tolist():
        old, new = (_at_depth(one.tree, depth) for one in (before, after))
        if not len(new):
            continue
        alike = affinities(
            TreeNodes(before.tree, old, before.vocab), TreeNodes(after.tree, new, after.vocab)
        )
        for row, column in matched(alike):
            found[int(old[row])] = (int(new[column]), round(float(alike[row, column]), 4))
    return found


def _at_depth(tree: Tree, depth: int) -> I64:
    return np.asarray(tree.shown[tree.depth[tree.shown] == depth])


def _record(
    before: RunDir, after: RunDir, was: int | None, node: int | None, added: F64
) -> dict[str, Any]:
    old, new = _top(before, was), _top(after, node)
    return {
        "node": None if node is None else int(node),
        "was": was,
        "parent": None if node is None else int(after.tree.parent[node]),
        "affinity": None,
        "tokens_before": _tokens(before.tree, was),
        "tokens_after": _tokens(after.tree, node),
        "tokens_added": 0.0 if node is None else round(float(added[node]), 1),
        "share_before": 0.0 if was is None else float(before.tree.subtree_weight[was]),
        "share_after": 0.0 if node is None else float(after.tree.subtree_weight[node]),
        "words": (new or old)[:WORDS],
        "came": [word for word in new if word not in old] if was is not None else [],
        "left": [word for word in old if word not in new] if node is not None else [],
    }


def _top(run: RunDir, node: int | None) -> list[str]:
    if node is None:
        return []
    return [run.vocab[word] for word in run.tree.top_words(node, AMONG)]


def _tokens(tree: Tree, node: int | None) -> float:
    """Return the tokens at and below a node."""
    return 0.0 if node is None else round(float(tree.subtree_weight[node] * tree.n_tokens.sum()), 1)


def _tokens_added(before: RunDir, after: RunDir) -> F64:
    """Return the tokens at and below each node that are of the further documents."""
    n_before = len(before.split.train_docs)
    lengths, theta = after.split.train_lengths, after.theta
    assert lengths is not None, "runs that are updated keep them"
    added = np.zeros(after.tree.n_nodes)
    for first in range(n_before, theta.shape[0], BLOCK):
        added += lengths[first : first + BLOCK] @ theta[first : first + BLOCK]
    for node in range(after.tree.n_nodes - 1, -1, -1):
        if after.tree.parent[node] != ROOT:
            added[after.tree.parent[node]] += added[node]
    return added
