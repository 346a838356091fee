"""``show-tree`` and ``export``: a run's tree as text, and as a file for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hiertopics import files
from hiertopics.data.groups import group_rows, groups_of
from hiertopics.data.labels import Labels
from hiertopics.data.tree import Tree, by_branch
from hiertopics.errors import UsageError
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.forms import WITH_DOCUMENTS, WITH_REMARKS, form_named, form_of
from hiertopics.views.render import Remark, View, few_documents
from hiertopics.views.render.records import to_group_lines

SHOWN_GROUPS = 30
FOR_EYES = ("text", "html")
WORDS = 10
"""Top words per node in a file, where nobody says how many."""


def show_tree(
    run: Path | str | RunDir,
    *,
    depth: int | None = None,
    words: int = 8,
    words_by: str = "prob",
    min_docs: int | None = None,
    format: str = "text",
    docs: int | None = None,
    sides: Sequence[str] = (),
    arrange: bool = False,
) -> str:
    """Return a run's tree as text.

    depth: most levels. words: top words per node. words_by: ``prob``, a node's own most probable
    words, or ``branch``, what its branch has more of than the corpus. min_docs: fewest documents
    of a node; None: 0, in text 1% of them for large trees. format: text, json, csv, newick, dot,
    graphml or html.
    docs: top documents per node. sides: ``NAME=FILE``, counted per node. arrange: flat topics are
    clustered first. Raises UsageError, DataError or RunError.
    """
    target, form = opened(run), form_named(format)
    if docs is not None and format not in WITH_DOCUMENTS:
        raise UsageError(f"--docs has no meaning for format {format}")
    tree = _arranged(target) if arrange else target.supported_tree
    labels = labels_of(target, tree)
    if words_by == "branch":
        if tree.vectors is not None:
            raise UsageError("--words-by branch needs a tree of words; this one is of vectors")
        tree = by_branch(tree)
    fewest = least_documents(target, format) if min_docs is None else min_docs
    view = View(depth, words, fewest, labels=labels)
    if docs is not None:
        from hiertopics.views.topdocs import (
            documents_of,  # reads the corpus, which most views do not
        )

        view = view._replace(documents=documents_of(target, tree, docs))
    remarks = _remarks(target, tree, format, sides, arrange)
    view = view._replace(remarks=_with_notes(remarks, labels, format))
    text = form.write(tree, target.vocab, view, str(target.manifest["backend"]))
    return text + _groups(target, view) if format == "text" else text


def least_documents(run: RunDir, format: str) -> int:
    """Return ``min_docs`` where nobody gives one: what people read leaves out the small nodes."""
    return few_documents(run.tree) if format == "text" else 0


def export(
    run: Path | str | RunDir,
    output: Path | str,
    *,
    to: str | None = None,
    words: int | None = None,
    depth: int | None = None,
    min_docs: int = 0,
    docs: int | None = None,
    sides: Sequence[str] = (),
    arrange: bool = False,
) -> Path:
    """Write a run's tree to a file, whole or not at all; return the file's path.

    to: text, json, csv, newick, dot, graphml or html, the page of ``report``; None takes the form
    that the suffix of ``output`` tells. words: top words per node; None: 10, or as many as
    ``report`` takes. The others are those of ``show_tree``; a page has no depth, min_docs or docs:
    it holds all of them. Raises UsageError, DataError or RunError.
    """
    path = Path(output)
    files.require_place(path)
    form = form_of(path) if to is None else to
    if form == "html":
        from hiertopics.views.report.writing import WORDS as PAGE_WORDS
        from hiertopics.views.report.writing import report

        if depth is not None or min_docs or docs is not None:
            raise UsageError(
                "--depth, --min-docs and --docs have no meaning for html: the page of report holds "
                "all nodes and documents; show-tree --format html writes lists"
            )
        if arrange:
            _arranged(opened(run))
        report(run, output=path, words=words or PAGE_WORDS, sides=sides)
        return path
    shown = show_tree(
        run,
        depth=depth,
        words=words or WORDS,
        min_docs=min_docs,
        format=form,
        docs=docs,
        sides=sides,
        arrange=arrange,
    )
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


def _groups(run: RunDir, view: View) -> str:
    """Return the largest groups with their main topics, where the run has weights of groups."""
    groups = groups_of(run.tree)
    if groups is None:
        return ""
    rows = group_rows(groups, run.tree, run.vocab, n_topics=3, min_docs=max(view.min_docs, 1))
    return "\n" + to_group_lines(rows, SHOWN_GROUPS)


def _arranged(run: RunDir) -> Tree:
    from hiertopics.views.arrange import arranged  # scipy's clustering is slow to import

    return arranged(run)
