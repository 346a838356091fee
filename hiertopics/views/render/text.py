"""A tree as indented lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hiertopics.data.tree import ROOT, Tree
from hiertopics.views.render import View, share
from hiertopics.visible import Line, Span, plain, visible


def to_text(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> str:
    """Return one line per node: id, share of tokens at or below it, documents, top words.

    Of several chains also the probability of the node's split, and of a tree that was held against
    others how many of them found the node again; a root has neither to speak of.

    Top documents of a node and remarks, where the view has them, follow on lines of their own.

    limit: most lines; the rest is counted in a last one.
    """
    return plain(to_lines(tree, vocab, view, limit))


def to_lines(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> list[Line]:
    """Return the lines of ``to_text``, their parts by what they are."""
    lines: list[Line] = list(_lines(tree, vocab, view))
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], [Span(f"... and {len(lines) - limit} more", "aside")]]
    if tree.arrangement is not None:
        lines.insert(0, [Span(tree.arrangement.note, "aside")])
    return lines


def _lines(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[Line]:
    """Yield the lines; what waits is a node, what its line and what those below it open with."""
    waiting = [(root, "", "") for root in view.children(tree, ROOT)[::-1].tolist()]
    while waiting:
        node, branch, deeper = waiting.pop()
        name, words = visible(view.label(node).name), view.words(tree, node, vocab)
        size = f" {share(tree, node):>6} {tree.n_docs[node]:6d} docs  "
        yield (
            Span(branch, "frame"),
            Span(f"[{tree.id_of(node)}]", "number"),
            Span(f"{size}{_found_again(tree, node)}"),
            Span(name, "name"),
            Span(f": {words}" if name else words),
        )
        children = view.children(tree, node)[::-1].tolist()
        under = Span(deeper + ("│  " if children else "   "), "frame")
        if view.documents is not None:
            yield under, Span(f"documents: {view.document_names(node)}", "aside")
        for remark in () if view.remarks is None else view.remarks.get(node, ()):
            yield under, Span(f"{remark.name}: {remark.line}", "aside")
        marks = ("└─ ", "   ")  # of the last child, which comes off the stack after the others
        for child in children:
            waiting.append((child, deeper + marks[0], deeper + marks[1]))
            marks = ("├─ ", "│  ")


def _found_again(tree: Tree, node: int) -> str:
    told = ""
    if tree.parent[node] == ROOT:
        return told
    if tree.split_probability is not None:
        told += f"split {tree.split_probability[node]:.2f}  "
    if tree.support is not None:
        told += f"support {tree.support.found[node]}/{tree.support.n_others}  "
    return told
