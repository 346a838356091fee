"""The forms in which a tree can be written, in one table: a new one is a writer and a line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from hiertopics import files
from hiertopics.data.tree import Tree
from hiertopics.errors import UsageError
from hiertopics.runs.noderows import node_rows, topics_csv, tree_json
from hiertopics.views.render import View
from hiertopics.views.render.graphs import to_dot, to_graphml, to_newick
from hiertopics.views.render.html import to_html
from hiertopics.views.render.text import to_text

Write = Callable[[Tree, Sequence[str], View, str], str]


class Form(NamedTuple):
    """A form: its writer (tree, words, view and the backend's name to text) and its suffixes."""

    write: Write
    suffixes: tuple[str, ...]


def _json(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    """Return the object of tree.json; the nodes that clustering made have strings as ids."""
    note = None if tree.arrangement is None else tree.arrangement.note
    others = None if tree.support is None else tree.support.n_others
    nodes = sorted(view.nodes(tree))
    rows = node_rows(tree, vocab, view.n_words, nodes, view.documents, view.labels)
    for node, row in zip(nodes, rows, strict=True):
        remarks = () if view.remarks is None else view.remarks.get(node, ())
        row |= {"remarks": {one.name: one.value for one in remarks}} if remarks else {}
    return files.to_json(tree_json(rows, backend, note, others), indent=1) + "\n"


def _csv(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    nodes = sorted(view.nodes(tree))
    rows = node_rows(tree, vocab, view.n_words, nodes, view.documents, view.labels)
    return topics_csv(rows)


def _drawn(write: Callable[[Tree, Sequence[str], View], str]) -> Write:
    return lambda tree, vocab, view, backend: write(tree, vocab, view)


FORMS: dict[str, Form] = {
    "text": Form(_drawn(to_text), (".txt",)),
    "json": Form(_json, (".json",)),
    "csv": Form(_csv, (".csv",)),
    "newick": Form(_drawn(to_newick), (".nwk", ".newick")),
    "dot": Form(_drawn(to_dot), (".dot", ".gv")),
    "graphml": Form(_drawn(to_graphml), (".graphml",)),
    "html": Form(_drawn(to_html), (".html", ".htm")),
}

WITH_DOCUMENTS = ("text", "json", "csv", "html")
WITH_REMARKS = ("text", "json", "html")


def form_named(name: str) -> Form:
    """Return the form of that name; raises UsageError with the nearest one where there is none."""
    if name not in FORMS:
        near = get_close_matches(name, FORMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMS)}"
        raise UsageError(f"unknown format {name!r}; {hint}")
    return FORMS[name]


def form_of(path: Path) -> str:
    """Return the form that a file's suffix tells; raises UsageError where it tells none."""
    for name, form in FORMS.items():
        if path.suffix.lower() in form.suffixes:
            return name
    known = " ".join(suffix for form in FORMS.values() for suffix in form.suffixes)
    raise UsageError(
        f"{path}: no format goes by that suffix (known: {known}); "
        f"name one with --to: {', '.join(FORMS)}"
    )
