"""A tree in Graphviz's language."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from hiertopics.data.tree import ROOT, Tree
from hiertopics.views.render import View, share


def to_dot(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return a digraph: one box per node with its share of tokens and top words."""
    body = "".join(f"  {line}\n" for line in _lines(tree, vocab, view))
    return f"digraph tree {{\n  node [shape=box];\n{body}}}\n"


def _lines(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    if tree.arrangement is not None:
        yield f"label={_quoted(tree.arrangement.note)};"
    for node in view.nodes(tree):
        name, parent = tree.id_of(node), int(tree.parent[node])
        label = f"{name}: {share(tree, node)}\n{view.words(tree, node, vocab)}"
        yield f"n{name} [label={_quoted(label)}];"
        if parent != ROOT:
            yield f"n{tree.id_of(parent)} -> n{name};"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
