"""``label``: names, notes and hidden nodes, which every view uses."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.naming import names_of, require_order
from hiertopics.corpus.data.tree import Label, Labels, Tree
from hiertopics.corpus.formats.sidefiles import encodes
from hiertopics.runs.labels import (
    LABELS,
    Row,
    labels_of,
    one_line,
    read_rows,
    seeds_found,
    words_told,
    write_rows,
)
from hiertopics.runs.nodenames import is_number, node_meant
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.arrange import arranged

CLUSTER = re.compile("a[0-9]+")
"""What clusters of flat topics are called."""


def seeds_told(run: RunDir, labels: Labels) -> list[str]:
    """Return a line for each node with seed words: how many of them are among its first words.

    labels: a node with seed words has the name of these words as its label.
    """
    lines = []
    names = {row: label.name for row, label in labels.items()}
    for found in seeds_found(run, run.tree, run.vocab, names):
        told = f"{found.n_found} of {found.n_words} are among the {found.n_first} first words"
        line = f"seed words of {found.name!r}: {told} of [{run.tree.id_of(found.node)}]"
        lines.append(line if found.n_found else f"warning: {line}, so its name may be wrong")
    return lines


def label(
    run: Path | str | RunDir,
    node: int | str | None = None,
    name: str | None = None,
    *,
    hide: bool | None = None,
    note: str | None = None,
    words_by: str | None = None,
) -> list[dict[str, Any]]:
    """Name a node of a run, hide it, or note something; return a record per labelled node.

    Keys of a record: node, words, name, hidden, note, auto_name. node: its number, its name, words
    of its name or, of flat topics that ``--arrange`` clusters, what a cluster is called (``a3``).
    name, hide, note: None
    leaves what there is; an empty name or note takes it away. words_by: the order of the words of
    auto_name, of ``naming.ORDERS``; None: ``name``. Without any of them nothing is
    written, and with a node only its record is returned. Raises UsageError, DataError or RunError.
    """
    target = opened(run)
    require_order(target.tree, words_by)
    if node is None:
        if (name, hide, note) != (None, None, None):
            raise UsageError("say which node is meant")
        return _records(target, words_by)
    node = meant(target, node)
    tree = target.tree if isinstance(node, int) else arranged(target)
    row, node = _row_of(target, tree, node)
    if (name, hide, note) == (None, None, None):
        return [record for record in _records(target, words_by) if record["node"] == node]
    for text in (name, note):
        if text is not None and not encodes(text):
            raise UsageError("a name or note holds bytes that are no UTF-8")
    with target.locked():
        path = target.file(LABELS)
        rows = {one.node: one for one in read_rows(path)}
        known = labels_of(target, tree, quiet=True).get(row, Label())
        changed = Label(
            known.name if name is None else one_line(name),
            known.hidden if hide is None else hide,
            known.note if note is None else note.strip(),
        )
        rows[node] = Row(0, node, words_told(tree, target.vocab, row), changed)
        write_rows(path, rows.values())
    return _records(target, words_by)


def meant(run: RunDir, node: int | str) -> int | str:
    """Return a node by its number or, of flat topics, a cluster as it is called (``a3``).

    node: also a name, or words of it. Raises UsageError where it fits no node or several.
    """
    if isinstance(node, int):
        return node
    if is_number(node):
        return int(node)
    return node if run.tree.is_flat and CLUSTER.fullmatch(node) else node_meant(run, node)


def _row_of(run: RunDir, tree: Tree, node: int | str) -> tuple[int, int | str]:
    """Return the row of a node; UsageError where there is none."""
    for row in tree.shown.tolist():
        if tree.id_of(row) == node:
            return row, node
    known = [tree.id_of(row) for row in tree.shown.tolist()]
    there = f"; they go from {known[0]} to {known[-1]}" if known else ""
    raise UsageError(f"{run.path} has no node {node}{there}")


def _records(run: RunDir, words_by: str | None) -> list[dict[str, Any]]:
    labels_of(run)  # warns of rows that fit no node
    rows = read_rows(run.file(LABELS))
    called = names_of(run.tree, run.vocab, words_by=words_by).texts if rows else []
    known = dict(zip(map(run.tree.id_of, run.tree.shown.tolist()), called, strict=False))
    return [
        {"node": row.node, "words": row.words, **row.label._asdict()}
        | {"auto_name": known.get(row.node, "")}
        for row in rows
    ]
