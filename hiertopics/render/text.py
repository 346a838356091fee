"""A tree as indented lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hiertopics.render import View, share
from hiertopics.tree import ROOT, Tree


def to_text(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> str:
    """Return one line per node: id, share of tokens at or below it, documents, top words.

    limit: most lines; the rest is counted in a last one.
    """
    lines = list(_lines(tree, vocab, view))
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], f"... and {len(lines) - limit} more"]
    if tree.arrangement is not None:
        lines.insert(0, tree.arrangement.note)
    return "".join(f"{line}\n" for line in lines)


def _lines(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    """Yield the lines; what waits is a node, what its line and what those below it open with."""
    waiting = [(root, "", "") for root in view.children(tree, ROOT)[::-1].tolist()]
    while waiting:
        node, branch, deeper = waiting.pop()
        yield (
            f"{branch}[{tree.id_of(node)}] {share(tree, node):>6} "
            f"{tree.n_docs[node]:6d} docs  {view.words(tree, node, vocab)}"
        )
        marks = ("└─ ", "   ")  # of the last child, which comes off the stack after the others
        for child in view.children(tree, node)[::-1].tolist():
            waiting.append((child, deeper + marks[0], deeper + marks[1]))
            marks = ("├─ ", "│  ")
