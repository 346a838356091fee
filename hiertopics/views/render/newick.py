"""A tree in the Newick format of biology."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hiertopics.data.tree import ROOT, Tree
from hiertopics.views.render import View


def to_newick(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return one line ``(...)root;``: quoted labels hold id and top words.

    Several roots (flat topics) hang from a node without a label. Branches have lengths where the
    tree was arranged after the fit.
    """
    return "".join(_pieces(tree, vocab, view)) + ";\n"


def _pieces(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    """Yield brackets, commas and labels in order; what waits is one of those or a node."""
    roots = view.children(tree, ROOT).tolist()
    waiting: list[int | str] = roots if len(roots) == 1 else _bracketed(roots, "")
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            yield piece
            continue
        children = view.children(tree, piece).tolist()
        label = _label(tree, vocab, view, piece)
        waiting += _bracketed(children, label) if children else [label]


def _bracketed(children: Sequence[int], label: str) -> list[int | str]:
    """Return ``(a,b,c)label`` with the last piece first."""
    pieces: list[int | str] = [f"){label}"]
    for place in range(len(children) - 1, -1, -1):
        pieces += [children[place], "," if place else "("]
    return pieces if children else [*pieces, "("]


def _label(tree: Tree, vocab: Sequence[str], view: View, node: int) -> str:
    text = f"{tree.id_of(node)} {view.words(tree, node, vocab)}".replace("'", "''")
    if tree.arrangement is None or tree.parent[node] == ROOT:
        return f"'{text}'"
    return f"'{text}':{tree.arrangement.lengths[node]:.6f}"
