"""A tree in GraphML, the XML of graph programs (Gephi, yEd, igraph, networkx)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from hiertopics.data.tree import ROOT, Tree
from hiertopics.views.render import View

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
NODE_KEYS = {
    "weight": "double",
    "n_docs": "int",
    "n_tokens": "double",
    "depth": "int",
    "words": "string",
}
NO_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, and the carriage return, which its readers turn into \\n."""


def to_graphml(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return a directed graph, edges from parent to child; nodes carry typed data.

    ``weight`` and ``n_tokens`` are the node's own. A character that XML cannot hold becomes
    U+FFFD. A tree that was arranged after the fit says so in the graph's data ``arranged``.
    """
    document = ElementTree.Element("graphml", xmlns=NAMESPACE)
    for name, kind in NODE_KEYS.items():
        _add_key(document, name, "node", kind)
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
        _add_data(element, "words", view.words(tree, node, vocab))
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
