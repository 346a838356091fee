"""Trees in the languages of other programs: Graphviz, GraphML (Gephi, yEd, igraph), Newick."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.views.render import View, comes_back, share

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
NODE_KEYS = {
    "weight": "double",
    "n_docs": "int",
    "n_tokens": "double",
    "depth": "int",
    "words": "string",
}
BRANCH_KEYS = {"branch_docs": "int", "branch_share": "double"}
LABEL_KEYS = ("name", "note")
"""Keys of labels that users gave; written only if a node has one."""

NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, and the carriage return, which its readers turn into \\n."""


def to_dot(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return a digraph: one box per node with its share of tokens and top words.

    It grows from left to right: a hundred boxes of words side by side are too wide to be read.
    """
    body = "".join(f"  {line}\n" for line in _dot_lines(tree, vocab, view))
    return f"digraph tree {{\n  rankdir=LR;\n  node [shape=box];\n{body}}}\n"


def _dot_lines(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    if tree.arrangement is not None:
        yield f"label={_quoted(tree.arrangement.note)};"
    for node in view.nodes(tree):
        name, parent = tree.id_of(node), int(tree.parent[node])
        label = f"{name}: {share(tree, node)}\n{view.called(tree, node, vocab)}"
        yield f"n{name} [label={_quoted(label)}];"
        if parent != ROOT:
            yield f"n{tree.id_of(parent)} -> n{name};"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def to_graphml(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return a directed graph, edges from parent to child; nodes carry typed data.

    ``weight`` and ``n_tokens`` are the node's own, ``branch_docs`` and ``branch_share``, where
    documents were counted, what is at or below it; ``support`` is that by resamples, where known. A
    character that XML cannot hold becomes U+FFFD. A tree that was arranged after the fit says so in
    the graph's data ``arranged``.
    """
    document = ElementTree.Element("graphml", xmlns=NAMESPACE)
    for name, kind in NODE_KEYS.items():
        _add_key(document, name, "node", kind)
    for name, kind in BRANCH_KEYS.items() if tree.counted is not None else ():
        _add_key(document, name, "node", kind)
    for name in LABEL_KEYS if view.labels else ():
        _add_key(document, name, "node", "string")
    if view.names is not None:
        _add_key(document, "auto_name", "node", "string")
    if tree.transfer is not None and tree.transfer.is_of_nodes:
        _add_key(document, "support", "node", "double")
    if tree.arrangement is not None:
        _add_key(document, "arranged", "graph", "string")
    graph = ElementTree.SubElement(document, "graph", id="tree", edgedefault="directed")
    if tree.arrangement is not None:
        _add_data(graph, "arranged", tree.arrangement.note)
    nodes = list(view.nodes(tree))
    for node in nodes:
        element = ElementTree.SubElement(graph, "node", id=str(tree.id_of(node)))
        _add_data(element, "weight", float(tree.weight[node]))
        _add_data(element, "n_docs", int(tree.n_docs[node]))
        _add_data(element, "n_tokens", float(tree.n_tokens[node]))
        _add_data(element, "depth", int(tree.depth[node]))
        if tree.counted is not None:
            _add_data(element, "branch_docs", int(tree.counted[node]))
            _add_data(element, "branch_share", float(tree.subtree_weight[node]))
        _add_data(element, "words", view.words(tree, node, vocab))
        if (support := comes_back(tree, node)) is not None:
            _add_data(element, "support", support)
        for name in LABEL_KEYS if view.labels else ():
            _add_data(element, name, getattr(view.label(node), name))
        if view.names is not None:
            _add_data(element, "auto_name", view.names.texts[node])
    for node in nodes:
        if tree.parent[node] != ROOT:
            source, target = tree.id_of(tree.parent[node]), tree.id_of(node)
            ElementTree.SubElement(graph, "edge", source=str(source), target=str(target))
    ElementTree.indent(document)
    text: bytes = ElementTree.tostring(document, encoding="utf-8", xml_declaration=True)
    return text.decode() + "\n"


def _add_key(document: ElementTree.Element, name: str, owner: str, kind: str) -> None:
    attributes = {"id": name, "for": owner, "attr.name": name, "attr.type": kind}
    ElementTree.SubElement(document, "key", attributes)


def _add_data(element: ElementTree.Element, key: str, value: float | str) -> None:
    ElementTree.SubElement(element, "data", key=key).text = NO_XML.sub("\ufffd", str(value))


def to_newick(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return one line ``(...)root;``: quoted labels hold id and top words.

    Several roots (flat topics) hang from a node without a label. Branches have lengths where the
    tree was arranged after the fit. Support by resamples stands in a comment behind the label, as
    ``[&support=0.81]``.
    """
    return "".join(_pieces(tree, vocab, view)) + ";\n"


def _pieces(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    """Yield brackets, commas and labels in order; what waits is one of those or a node."""
    roots = view.roots(tree)
    waiting: list[int | str] = [*roots] if len(roots) == 1 else _bracketed(roots, "")
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
    text = f"{tree.id_of(node)} {view.called(tree, node, vocab)}".replace("'", "''")
    support = comes_back(tree, node)
    told = f"'{text}'" + ("" if support is None else f"[&support={support:.6f}]")
    if tree.arrangement is None or tree.parent[node] == ROOT:
        return told
    return f"{told}:{tree.arrangement.lengths[node]:.6f}"
