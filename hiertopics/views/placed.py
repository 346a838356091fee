"""New documents as lines for readers: where each lies, and how much of it the run knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hiertopics.base.visible import Line, Span, visible
from hiertopics.corpus.data.naming import BETWEEN
from hiertopics.corpus.data.tree import Label
from hiertopics.runs.newdocs import PlacedDocuments
from hiertopics.runs.placing import named_tree, placed_blocks
from hiertopics.runs.rows import NamedTree
from hiertopics.runs.rundir import RunDir

SHOWN_TOPICS = 3

WAY_WORDS = 2
"""Words of an automatic name on the way to a topic, which is one line."""


def placed_records(
    run: RunDir, found: PlacedDocuments, words_by: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield a record for each new document, as ``infer`` writes them (``rows.placed_rows``)."""
    for block in placed_blocks(named_tree(run, words_by), found.facts, found.posterior):
        yield from block


def placed_lines(
    run: RunDir, found: PlacedDocuments, words_by: str | None = None
) -> Iterator[Line]:
    """Yield lines for each new document: name, unknown words, beginning; and its main topics.

    A document of a tree has the way to its main topic, with the shares at or below its nodes. A
    topic has its share at the node itself, its number, and its name: the label if it has one. Its
    share is not on the way, too. On the way an automatic name is its first two words that no node
    above has there.
    """
    named = named_tree(run, words_by)
    snippets = getattr(found.corpus, "snippets", None)
    for block in placed_blocks(named, found.facts, found.posterior):
        for record in block:
            begins = "" if snippets is None else snippets[record["doc"] - 1]
            yield _head(record, begins)
            yield from _topics(named, record)


def _head(record: dict[str, Any], begins: str) -> Line:
    name = record["name"] or str(record["doc"])
    n_words = record["words"] + record["unknown"]
    share = f", {record['unknown'] / n_words:.0%} unknown" if record["unknown"] else ""
    told = f"  {n_words} word{'s' * (n_words != 1)}{share}"
    said = f": {visible(begins)}" if begins else ""
    return [Span(visible(name), "head"), Span(told, "aside"), Span(said)]


def _topics(named: NamedTree, record: dict[str, Any]) -> Iterator[Line]:
    if record["topic"] is None:
        yield [Span("   not placed: it has no word that the run knows")]
        return
    if not named.tree.is_flat:
        yield [Span("   lies in "), *_way(named, record)]
    for node, share in record["topics"][:SHOWN_TOPICS]:
        yield [
            Span(f"   {share:.2f}  "),
            Span(f"[{node}]", "number"),
            Span(f" {visible(_label(named, node) or _name(named, node))}", "name"),
        ]


def _way(named: NamedTree, record: dict[str, Any]) -> Iterator[Span]:
    """Yield the way to a document's main topic, or its path, with the nodes' names."""
    shares = record.get("main_path") or [(node, None) for node in record.get("path") or ()]
    listed = {node for node, _ in record["topics"][:SHOWN_TOPICS]}
    told: set[str] = set()
    for at, (node, share) in enumerate(shares):
        if at:
            yield Span(" > ")
        yield Span(f"[{node}]", "number")
        words = _name(named, node).replace(BETWEEN, " ").split()
        own = [word for word in words if word not in told] or words
        label = _label(named, node)
        told.update(() if label else own[:WAY_WORDS])
        if name := label or " ".join(own[:WAY_WORDS]):
            yield Span(f" {visible(name)}", "name")
        if share is not None and node not in listed:
            yield Span(f" {share:.2f}")


def _label(named: NamedTree, node: int) -> str:
    return named.labels.get(node, Label()).name


def _name(named: NamedTree, node: int) -> str:
    return "" if named.names is None else named.names.texts[node]
