"""``export``: a run's tree for other tools; and the one table of the forms a tree is shown in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics import files
from hiertopics.data.groups import group_rows, groups_of
from hiertopics.data.tree import ROOT, Tree
from hiertopics.errors import RunError, UsageError
from hiertopics.runs.artifacts import node_rows, topics_csv, tree_json
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render import Remark, View
from hiertopics.views.render.dot import to_dot
from hiertopics.views.render.graphml import to_graphml
from hiertopics.views.render.groups import to_group_lines
from hiertopics.views.render.html import to_html
from hiertopics.views.render.newick import to_newick
from hiertopics.views.render.text import to_text

N_WORDS = 10
SHOWN_GROUPS = 30
LARGE = 200

Write = Callable[[Tree, Sequence[str], View, str], str]


class Form(NamedTuple):
    """A form: its writer (tree, words, view and the backend's name to text) and its suffixes."""

    write: Write
    suffixes: tuple[str, ...]


def _json(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    """Return the object of tree.json; the nodes that clustering made have strings as ids."""
    note = None if tree.arrangement is None else tree.arrangement.note
    nodes = sorted(view.nodes(tree))
    rows = node_rows(tree, vocab, view.n_words, nodes, view.documents)
    for node, row in zip(nodes, rows, strict=True):
        remarks = () if view.remarks is None else view.remarks.get(node, ())
        row |= {"remarks": {one.name: one.value for one in remarks}} if remarks else {}
    return files.to_json(tree_json(rows, backend, note), indent=1) + "\n"


def _csv(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    rows = node_rows(tree, vocab, view.n_words, sorted(view.nodes(tree)), view.documents)
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


def show(
    run: RunDir,
    view: View,
    form: str = "text",
    *,
    arrange: bool = False,
    n_docs: int | None = None,
    sides: Sequence[str] = (),
) -> str:
    """Return a run's tree in one of ``FORMS``.

    arrange: flat topics are clustered first (``views.arrange``). n_docs: top documents per node,
    for the forms ``WITH_DOCUMENTS``. sides: ``NAME=FILE``, side information to count per
    node, for the forms ``WITH_REMARKS``. Raises UsageError for an unknown form and for
    arranging what is a tree already, RunError where the run is damaged.
    """
    if form not in FORMS:
        near = get_close_matches(form, FORMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMS)}"
        raise UsageError(f"unknown format {form!r}; {hint}")
    if n_docs is not None and form not in WITH_DOCUMENTS:
        raise UsageError(f"--docs has no meaning for format {form}")
    tree = _arranged(run) if arrange else run.supported_tree
    if n_docs is not None:
        from hiertopics.views.topdocs import (
            documents_of,  # reads the corpus, which most views do not
        )

        view = view._replace(documents=documents_of(run, tree, n_docs))
    view = view._replace(remarks=_remarks(run, tree, form, sides, arrange))
    text = FORMS[form].write(tree, run.vocab, view, str(run.manifest["backend"]))
    return text + _groups(run, view) if form == "text" else text


def export(
    run: Path | str | RunDir,
    output: Path | str,
    *,
    to: str | None = None,
    words: int = N_WORDS,
    arrange: bool = False,
) -> Path:
    """Write a run's tree to a file, whole or not at all; return the file's path.

    to: one of ``FORMS``; None takes the one that the suffix of ``output`` tells. words: top words
    per node. arrange: flat topics are clustered first. Raises UsageError or RunError.
    """
    path = Path(output)
    form = form_of(path) if to is None else to
    target = run if isinstance(run, RunDir) else RunDir.open(run)
    files.write_text(path, show(target, View(n_words=words), form, arrange=arrange))
    return path


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


def few_documents(tree: Tree) -> int:
    """Return below how many documents a node is left out where a tree is too large to be read.

    1% of the documents, for trees of more than ``LARGE`` nodes; flat topics are all shown.
    """
    is_flat = bool((tree.parent[tree.shown] == ROOT).all())
    if is_flat or len(tree.shown) <= LARGE:
        return 0
    return int(np.ceil(0.01 * tree.n_docs[tree.shown].max()))


def _remarks(
    run: RunDir, tree: Tree, form: str, entries: Sequence[str], arrange: bool
) -> dict[int, list[Remark]]:
    """Return the main topics of nodes that mix topics, then the side information asked for."""
    from hiertopics.views.remarks import parse_sides, side_remarks, topic_remarks

    sides = parse_sides(entries)
    if sides and form not in WITH_REMARKS:
        raise UsageError(f"--side has no meaning for format {form}")
    if sides and arrange:
        raise UsageError("--side has no meaning for topics that --arrange clusters")
    if form not in WITH_REMARKS:
        return {}
    said = topic_remarks(tree, run.vocab)
    for node, more in (side_remarks(run, sides) if sides else {}).items():
        said[node] = [*said.get(node, []), *more]
    return {node: [Remark(*one) for one in remarks] for node, remarks in said.items()}


def _groups(run: RunDir, view: View) -> str:
    """Return the largest groups with their main topics, where the run has weights of groups."""
    groups = groups_of(run.tree)
    if groups is None:
        return ""
    rows = group_rows(groups, run.tree, run.vocab, n_topics=3, min_docs=max(view.min_docs, 1))
    return "\n" + to_group_lines(rows, SHOWN_GROUPS)


def _arranged(run: RunDir) -> Tree:
    from hiertopics.views.arrange import (  # scipy's clustering is slow to import
        arrange,
        documents_with,
    )

    lengths = run.split.train_lengths
    if lengths is None:
        raise RunError(
            f"{run.path / 'split.npz'} has no train_lengths, which the documents of arranged "
            "topics are counted by; fit the run again in another directory"
        )
    return arrange(run.tree, documents_with(run.theta, lengths))
