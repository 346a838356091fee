"""New documents as lines for readers: where each lies, and how much of it the run knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hiertopics.base.visible import Line, Span, visible
from hiertopics.corpus.data.tree import Label
from hiertopics.runs.newdocs import PlacedDocuments
from hiertopics.runs.placing import named_tree, placed_blocks
from hiertopics.runs.rows import NamedTree
from hiertopics.runs.rundir import RunDir
from hiertopics.views.documents import way_told

SHOWN_TOPICS = 3


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
    topic has its share at the node itself, its number, and its name: the label if it has one.
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
        yield [Span("   lies in "), Span(way_told(record), "number")]
    for node, share in record["topics"][:SHOWN_TOPICS]:
        called = named.labels.get(node, Label()).name
        if not called and named.names is not None:
            called = named.names.texts[node]
        yield [
            Span(f"   {share:.2f}  "),
            Span(f"[{node}]", "number"),
            Span(f" {visible(called)}", "name"),
        ]
