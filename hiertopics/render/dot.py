"""A tree in Graphviz's language."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hiertopics.render import View
from hiertopics.tree import ROOT, Tree


def to_dot(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return a digraph: one box per node with its weight and top words."""
    body = "".join(f"  {line}\n" for line in _lines(tree, vocab, view, ROOT))
    return f"digraph tree {{\n  node [shape=box];\n{body}}}\n"


def _lines(tree: Tree, vocab: Sequence[str], view: View, parent: int) -> Iterator[str]:
    for node in view.children(tree, parent):
        label = f"{node}: {tree.weight[node]:.2%}\n{view.words(tree, int(node), vocab)}"
        yield f"n{node} [label={json.dumps(label, ensure_ascii=False)}];"
        if parent != ROOT:
            yield f"n{parent} -> n{node};"
        yield from _lines(tree, vocab, view, int(node))
