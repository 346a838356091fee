"""``show-tree`` and ``export``: a run's tree as text, and as a file for other tools.

A new form is a writer and a line of ``FORMS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.base import files
from hiertopics.base.errors import UsageError
from hiertopics.base.visible import Line, Span, plain
from hiertopics.corpus.data.groups import group_rows, groups_of
from hiertopics.corpus.data.naming import NAME, in_order, names_of
from hiertopics.corpus.data.tree import Labels, Tree
from hiertopics.runs.labels import labels_of
from hiertopics.runs.manifest import MADE_BY
from hiertopics.runs.nodenames import node_meant
from hiertopics.runs.rows import node_rows, topics_csv, tree_json
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.arrange import arranged
from hiertopics.views.levels import in_levels, levels_shown, parse_cut, supported_part
from hiertopics.views.render import LARGE, Remark, View, few_documents, first_levels, for_reading
from hiertopics.views.render.figure import to_svg
from hiertopics.views.render.graphs import to_dot, to_graphml, to_newick
from hiertopics.views.render.records import to_group_lines
from hiertopics.views.render.trees import to_html, to_lines, to_text

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
    rows = node_rows(tree, vocab, view.n_words, nodes, view.documents, view.labels, view.names)
    for node, row in zip(nodes, rows, strict=True):
        remarks = () if view.remarks is None else view.remarks.get(node, ())
        row |= {"remarks": {one.name: one.value for one in remarks}} if remarks else {}
    return files.to_json(tree_json(rows, backend, note, others), indent=1) + "\n"


def _csv(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    nodes = sorted(view.nodes(tree))
    rows = node_rows(tree, vocab, view.n_words, nodes, view.documents, view.labels, view.names)
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
    "svg": Form(_drawn(to_svg), (".svg",)),
}

WITH_DOCUMENTS = ("text", "json", "csv", "html")
WITH_REMARKS = ("text", "json", "html")


def form_named(name: str) -> Form:
    """Return the form with that name; raises UsageError with the nearest name otherwise."""
    if name not in FORMS:
        near = get_close_matches(name, FORMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMS)}"
        raise UsageError(f"unknown format {name!r}; {hint}")
    return FORMS[name]


PICTURES = (".pdf", ".png", ".jpg", ".jpeg", ".eps", ".ps")
"""Suffixes of figures that other programs make of one in svg."""


def form_of(path: Path) -> str:
    """Return the form that a file's suffix tells; raises UsageError where it tells none."""
    for name, form in FORMS.items():
        if path.suffix.lower() in form.suffixes:
            return name
    if path.suffix.lower() in PICTURES:
        raise UsageError(
            f"{path}: no format goes by that suffix; write a figure (.svg) and convert it, or "
            "print the page of 'report' from a browser"
        )
    known = " ".join(suffix for form in FORMS.values() for suffix in form.suffixes)
    raise UsageError(
        f"{path}: no format goes by that suffix (known: {known}); "
        f"name one with --to: {', '.join(FORMS)}"
    )


WITH_NAMES = ("json", "csv", "graphml")
"""Forms with the automatic name in a field of its own: their words stay by probability."""

READABLE = "8,30"
"""Numbers of nodes by level of a tree that is read as a whole."""

SHOWN_GROUPS = 30
FOR_EYES = ("text", "html")
FIRST_LEVELS = ("text", "svg")
"""Forms that show the first levels of a large tree, where nobody says how many."""

WORDS = 10
"""Top words per node in a file, where nobody says how many."""


class TreeRequest(NamedTuple):
    """The requested part of a tree; see ``show_tree``."""

    depth: int | None = None
    words: int = 8
    words_by: str | None = None
    min_docs: int | None = None
    docs: int | None = None
    sides: Sequence[str] = ()
    arrange: bool = False
    cut: str | None = None
    supported: float | None = None
    width: float | None = None
    node: int | None = None

    @property
    def fewest(self) -> int | None:
        """Fewest documents of a node; None where the view chooses: cuts and branches are whole."""
        is_whole = self.cut is not None or self.node is not None
        return 0 if self.min_docs is None and is_whole else self.min_docs


def show_tree(
    run: Path | str | RunDir,
    *,
    depth: int | None = None,
    words: int = 8,
    words_by: str | None = None,
    min_docs: int | None = None,
    format: str = "text",
    docs: int | None = None,
    sides: Sequence[str] = (),
    arrange: bool = False,
    cut: str | None = None,
    supported: float | None = None,
    width: float | None = None,
    node: int | str | None = None,
) -> str:
    """Return a run's tree as text.

    depth: most levels, the root's among them (1: the root alone); with cut levels of the cut. None:
    all, in text and svg two below the root of a tree of more than 60 nodes.
    words: top words per node. words_by: one of ``naming.ORDERS``; None: ``name``, in forms with the
    automatic name in a field of its own ``prob``, a node's own most probable words. min_docs:
    fewest documents at or below a node; None: 0, in text 1% of them for large trees. format: text,
    json, csv, newick, dot, graphml, html or svg (a figure, ``figure.to_svg``).
    docs: top documents per node. sides: ``NAME=FILE``, counted per node. arrange: flat topics are
    clustered first. cut: about how many nodes each level has, ``20,80``. supported: nodes of less
    support by resamples are part of those above. width: of the figure, in millimetres; None: 170.
    node: show its branch alone, whole (text and html); depth counts from it. It is a number, a name
    or words of a name.
    Raises UsageError, DataError or RunError.
    """
    target, form = opened(run), form_named(format)
    node = node_meant(target, node) if isinstance(node, str) else node
    request = TreeRequest(
        depth, words, words_by, min_docs, docs, sides, arrange, cut, supported, width, node
    )
    return _text(target, request, format, form)


def _text(run: RunDir, request: TreeRequest, name: str, form: Form) -> str:
    """Return a tree in the form of a name."""
    tree, view = _viewed(run, request, name)
    if request.fewest is None:
        view = view._replace(min_docs=_least_shown(run, request, name, view.depth))
    text = form.write(tree, run.vocab, view, str(run.manifest["backend"]))
    return text + plain(_groups(run, view)) if name == "text" else text


def tree_on_screen(
    run: RunDir, request: TreeRequest, *, is_narrow: bool = False
) -> tuple[list[Line], int]:
    """Return the lines of a tree as they suit a screen, and the fewest documents of their nodes."""
    tree, view = _viewed(run, request, "text")
    fewest = request.fewest
    if fewest is None and request.supported is not None:
        fewest = _least_shown(run, request, "text", view.depth)
    view = for_reading(tree, view, fewest)._replace(is_narrow=is_narrow)
    return [*to_lines(tree, run.vocab, view), *_groups(run, view)], view.min_docs


def _viewed(target: RunDir, request: TreeRequest, format: str) -> tuple[Tree, View]:
    """Return the tree and what of it is shown; ``min_docs`` is 0 where nobody asked for one."""
    if request.docs is not None and format not in WITH_DOCUMENTS:
        raise UsageError(f"--docs has no meaning for format {format}")
    if request.width is not None and format != "svg":
        raise UsageError(f"--width has no meaning for format {format}: it is for svg")
    if request.node is not None:
        _refuse_branch(target.tree, request.node, request, format)
    tree = arranged(target) if request.arrange else target.supported_tree
    chosen, labels = request.words_by, labels_of(target, tree)
    names = names_of(tree, target.vocab, words_by=chosen) if format in WITH_NAMES else None
    # Names are those of the whole tree: a node that stays keeps its name.
    tree = in_order(tree, target.vocab, chosen, "prob" if names else NAME)
    if request.supported is not None:
        tree = supported_part(target, tree, request.supported)
    shown = {*tree.shown.tolist()}
    labels = {row: label for row, label in labels.items() if row in shown}
    if format in FIRST_LEVELS:
        request = at_first(tree, request)
    if request.cut is not None:
        tree = in_levels(tree, parse_cut(request.cut))
        request = request._replace(depth=levels_shown(tree, request.depth))
    view = View(request.depth, request.words, request.fewest or 0, labels=labels, names=names)
    if request.node is not None:
        levels = request.depth and request.depth + int(tree.depth[request.node])
        view = view._replace(root=request.node, depth=levels)
    if request.width is not None:
        view = view._replace(width=request.width)
    if request.docs is not None:
        from hiertopics.views.documents import (
            documents_of,  # reads the corpus, which most views do not
        )

        view = view._replace(documents=documents_of(target, tree, request.docs))
    remarks = _remarks(target, tree, format, request.sides, request.arrange)
    return tree, view._replace(remarks=_with_notes(remarks, labels, format))


def _refuse_branch(tree: Tree, node: int, request: TreeRequest, format: str) -> None:
    """Raise UsageError where the branch of a node cannot be shown alone."""
    if node not in tree.shown:
        raise UsageError(f"there is no node {node}; nodes are 0 to {tree.shown[-1]}")
    if format not in FOR_EYES:
        raise UsageError(f"a branch alone is shown as text or html; {format} holds the whole tree")
    if request.cut is not None and request.cut.isdecimal():
        raise UsageError(f"--cut takes its levels with commas: --cut {request.cut},{node}")
    for name in ("arrange", "cut", "supported"):
        if getattr(request, name):
            raise UsageError(f"--{name} has no meaning for a branch alone: it changes the tree")


def at_first(tree: Tree, request: TreeRequest) -> TreeRequest:
    """Return the default view of a tree if no depth is given."""
    chosen = (request.depth, request.cut, request.node)
    if any(value is not None for value in chosen) or request.arrange:
        return request
    depth = first_levels(tree)
    return request._replace(depth=depth)


def readable_command(run: RunDir) -> str | None:
    """Return the command that shows a large tree in a shape to read; None for small trees.

    For a nested HDP the command makes a run with ``READABLE`` nodes above the leaves; None if the
    user gave the run its shape. For other trees it shows levels of about ``READABLE`` nodes.
    """
    tree = run.tree
    n_leaves = len(np.setdiff1d(tree.shown, tree.parent))
    if tree.is_flat or len(tree.shown) <= LARGE or 2 * n_leaves <= len(tree.shown):
        return None
    branches = getattr(run.experiment.model, "branches", None)
    if branches is None:
        return f"hiertopics show-tree {run.path} --cut {READABLE}"
    if branches != "auto" or MADE_BY in run.manifest:
        return None
    new = run.path.with_name(f"{run.path.name}-{READABLE.replace(',', '-')}")
    return f"hiertopics shape {run.path} --branches {READABLE} -o {new}"


def least_documents(run: RunDir, format: str, depth: int | None = None) -> int:
    """Return the default ``min_docs``: views for people leave out small nodes.

    depth: levels that are shown.
    """
    return few_documents(run.supported_tree, depth) if format == "text" else 0


def _least_shown(run: RunDir, request: TreeRequest, format: str, depth: int | None) -> int:
    """Return ``least_documents`` of what is shown: small nodes may have support, too."""
    return least_documents(run, format, None if request.supported is not None else depth)


def export(
    run: Path | str | RunDir,
    output: Path | str,
    *,
    to: str | None = None,
    words: int | None = None,
    words_by: str | None = None,
    depth: int | None = None,
    min_docs: int = 0,
    docs: int | None = None,
    sides: Sequence[str] = (),
    arrange: bool = False,
    cut: str | None = None,
    supported: float | None = None,
    width: float | None = None,
) -> Path:
    """Write a run's tree to a file, whole or not at all; return the file's path.

    to: text, json, csv, newick, dot, graphml, svg or html, the page of ``report``; None takes the
    form that the suffix of ``output`` tells. words: top words per node; None: 10, or as many as
    ``report`` takes. The others are those of ``show_tree``; a page has no depth, min_docs or docs:
    it holds all of them. Raises UsageError, DataError or RunError.
    """
    path = Path(output)
    files.require_place(path)
    form = form_of(path) if to is None else to
    if form == "html":
        from hiertopics.views.report.writing import WORDS as PAGE_WORDS, report

        if width is not None:
            raise UsageError("--width has no meaning for html: it is for svg")
        if depth is not None or min_docs or docs is not None:
            raise UsageError(
                "--depth, --min-docs and --docs have no meaning for html: the page of report "
                "holds all nodes and documents; --cut 20,80 and show-tree --format html show fewer"
            )
        if arrange:
            arranged(opened(run))
        report(
            run,
            output=path,
            words=words or PAGE_WORDS,
            words_by=words_by,
            sides=sides,
            cut=cut,
            supported=supported,
        )
        return path
    request = TreeRequest(
        depth, words or WORDS, words_by, min_docs, docs, sides, arrange, cut, supported, width
    )
    shown = _text(opened(run), request, form, form_named(form))
    files.write_text(path, shown)
    return path


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


def _with_notes(
    remarks: dict[int, list[Remark]], labels: Labels, form: str
) -> dict[int, list[Remark]]:
    """Return the remarks with the notes on nodes before them, in forms for eyes."""
    if form in FOR_EYES:
        for node, label in labels.items():
            if label.note:
                note = Remark("note", label.note, label.note)
                remarks[node] = [note, *remarks.get(node, [])]
    return remarks


def _groups(run: RunDir, view: View) -> Iterator[Line]:
    """Yield the largest groups with their main topics, where the run has weights of groups."""
    groups = groups_of(run.tree)
    if groups is not None:
        rows = group_rows(groups, run.tree, run.vocab, n_topics=3, min_docs=max(view.min_docs, 1))
        for line in ["", *to_group_lines(rows, SHOWN_GROUPS).splitlines()]:
            yield [Span(line)]
