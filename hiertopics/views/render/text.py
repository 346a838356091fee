"""A tree as indented lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hiertopics.data.tree import ROOT, Tree
from hiertopics.views.render import View, share
from hiertopics.visible import visible


def to_text(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> str:
    """Return one line per node: id, share of tokens at or below it, documents, top words.

    Of several chains also the probability of the node's split, and of a tree that was held against
    others how many of them found the node again; a root has neither to speak of.

    Top documents of a node and remarks, where the view has them, follow on lines of their own.

    limit: most lines; the rest is counted in a last one.
    """
    lines = list(_lines(tree, vocab, view))
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], f"... and {len(lines) - limit} more"]
    if tree.arrangement is not None:
        lines.insert(0, tree.arrangement.note)
    return "".join(f"{visible(line)}\n" for line in lines)


def _lines(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    """Yield the lines; what waits is a node, what its line and what those below it open with."""
    waiting = [(root, "", "") for root in view.children(tree, ROOT)[::-1].tolist()]
    while waiting:
        node, branch, deeper = waiting.pop()
        yield (
            f"{branch}[{tree.id_of(node)}] {share(tree, node):>6} "
            f"{tree.n_docs[node]:6d} docs  "
            f"{_found_again(tree, node)}{view.called(tree, node, vocab)}"
        )
        children = view.children(tree, node)[::-1].tolist()
        under = deeper + ("│  " if children else "   ")
        if view.documents is not None:
            yield f"{under}documents: {view.document_names(node)}"
        for remark in () if view.remarks is None else view.remarks.get(node, ()):
            yield f"{under}{remark.name}: {remark.line}"
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
