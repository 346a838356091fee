"""Numbers of the nodes of a report: the source of each, and its form on the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.tree import Tree

Form = Literal["count", "percent", "decimal"]
"""How the page writes a number: whole, as a percentage, or with two decimals."""


class Fact(NamedTuple):
    """How the page shows a number beside a topic.

    label: what the number is; ``{tokens}`` stands for what the tokens of the corpus are called.
    one: the label of the number 1, where it differs. of: the key of the part ``tree`` whose number
    stands behind this one, as in "2 of 3". unlike: another column; the number is left out where
    both are equal. roots: whether it is shown of nodes without a parent.
    """

    label: str
    form: Form
    one: str | None = None
    of: str | None = None
    unlike: str | None = None
    roots: bool = True


class NodeColumn(NamedTuple):
    """A number of each node of a report.

    name: the key in the part ``nodes``. values: of a tree and of the rows of its shown nodes, int64
    [n]: a list of n numbers, with None for a node that has none, or None where the column has no
    meaning. fact: how the page shows it; None if it does not.
    """

    name: str
    values: Callable[[Tree, I64], list[Any] | None]
    fact: Fact | None = None


def columns_of(tree: Tree, rows: I64) -> dict[str, list[Any]]:
    """Return the columns that have a meaning for a tree, by name; rows: int64 [n], the nodes."""
    values = {column.name: column.values(tree, rows) for column in NODE_COLUMNS}
    return {name: column for name, column in values.items() if column is not None}


def facts_part(columns: dict[str, list[Any]], tokens: str) -> list[dict[str, Any]]:
    """Return the part ``facts``: how the page shows these columns.

    tokens: what the tokens of the corpus are called, in the plural.
    """
    return [
        {
            "column": name,
            **fact._asdict(),
            "label": fact.label.format(tokens=tokens),
        }
        for name, _, fact in NODE_COLUMNS
        if fact is not None and name in columns
    ]


def rounded(values: F64, digits: int) -> list[float]:
    """Return numbers [n] with so many decimals; whole numbers in their shortest form."""
    return [_shortest(value) for value in np.round(values, digits).tolist()]


def shortened(values: F64, digits: int = 4) -> list[float]:
    """Return numbers [n] with so many significant digits."""
    return [_shortest(float(f"{value:.{digits}g}")) for value in values.tolist()]


def _shortest(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


def _support(tree: Tree, rows: I64) -> list[Any] | None:
    if tree.split_probability is None:
        return None
    return rounded(tree.split_probability[rows], 4)


def _back(tree: Tree, rows: I64) -> list[Any] | None:
    if tree.transfer is None or not tree.transfer.is_of_nodes:
        return None
    values = tree.transfer.value[rows].tolist()
    return [None if np.isnan(value) else round(value, 2) for value in values]


def _found(tree: Tree, rows: I64) -> list[Any] | None:
    if tree.support is None:
        return None
    counts: list[Any] = tree.support.found[rows].tolist()
    return counts


def _norm(tree: Tree, rows: I64) -> list[Any] | None:
    if tree.vectors is None or tree.has_words:
        return None
    return shortened(np.linalg.norm(tree.vectors[rows], axis=1))


NODE_COLUMNS = (
    NodeColumn("n_docs", lambda tree, rows: tree.n_docs[rows].tolist()),
    NodeColumn(
        "branch_docs",
        lambda tree, rows: tree.branch_docs[rows].tolist(),
        Fact("documents", "count", one="document"),
    ),
    NodeColumn(
        "below",
        lambda tree, rows: rounded(tree.subtree_weight[rows], 6),
        Fact("of all {tokens}", "percent"),
    ),
    NodeColumn(
        "weight",
        lambda tree, rows: rounded(tree.weight[rows], 6),
        Fact("of all {tokens} its own", "percent", unlike="below"),
    ),
    NodeColumn(
        "support", _support, Fact("support by the draws of all chains", "decimal", roots=False)
    ),
    NodeColumn(
        "back",
        _back,
        Fact("support: how far it comes back in fits to nine tenths of the documents", "decimal"),
    ),
    NodeColumn(
        "found", _found, Fact("other fits found it again", "count", of="others", roots=False)
    ),
    NodeColumn("norm", _norm),
)
"""Numbers of nodes; those with a fact in the order in which the page shows them."""
