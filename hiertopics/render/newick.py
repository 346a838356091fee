"""A tree in the Newick format of biology."""

from __future__ import annotations

from collections.abc import Sequence

from hiertopics.render import View
from hiertopics.tree import ROOT, Tree


def to_newick(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return one line ``(...)root;``: quoted labels hold id and top words.

    Several roots (flat topics) hang from a node without a label.
    """
    roots = [_clade(tree, vocab, view, int(node)) for node in view.children(tree, ROOT)]
    return (roots[0] if len(roots) == 1 else f"({','.join(roots)})") + ";\n"


def _clade(tree: Tree, vocab: Sequence[str], view: View, node: int) -> str:
    label = f"{node} {view.words(tree, node, vocab)}".replace("'", "''")
    below = [_clade(tree, vocab, view, int(child)) for child in view.children(tree, node)]
    return (f"({','.join(below)})" if below else "") + f"'{label}'"
