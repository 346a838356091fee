"""``topics``: a run's topics as records, one topic whole, and all by group of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hiertopics.base.errors import UsageError
from hiertopics.base.visible import visible
from hiertopics.corpus.data.groups import group_rows, groups_of
from hiertopics.corpus.data.naming import NAME, Names, in_order, names_of
from hiertopics.corpus.data.tree import Labels, Tree, by_branch
from hiertopics.runs.labels import labels_of
from hiertopics.runs.nodenames import node_meant
from hiertopics.runs.rows import BRANCH, node_rows
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.documents import documents_of
from hiertopics.views.render import View, share

WORDS = 10
OF_BRANCH = (NAME, "branch")
"""Orders by which a node's words are those of its branch."""

FEW_WORDS = 5
"""Words of the topics above and below a topic that is shown in full."""


def topics(
    run: Path | str | RunDir,
    node: int | str | None = None,
    *,
    words: int = WORDS,
    words_by: str | None = None,
    docs: int | None = None,
    by: str | None = None,
    similar: int = 0,
    sides: Sequence[str] = (),
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Return one record per topic, parents first; or, by group, one per group of documents.

    node: its number, its name or words of its name: that topic alone, its record with more keys:
    ``share`` (of the tokens at or below it, in words), ``telling`` (words that tell it from
    parent and siblings), ``above``, ``below``.
    words: top words of the node itself, pairs of word and probability. words_by: their order, of
    ``naming.ORDERS``; None: ``prob``. branch_words: of trees of words, unless ``words`` are those
    of branches by their order, the most probable words at or below a node with others below it; of
    others none. auto_name: what the topic is called by itself; name_score: the share of the
    name's words that are not true of its siblings (``naming.name_scores``), None without any.
    mixed: whether the branch holds several subjects (``naming.by_name``); parts: the words of each
    part of the name if it does.
    docs: also as many top documents. by: None;
    "group", for backends with weights of groups; or a column of what is known of documents: then a
    record per topic and value (``bycolumn.by_column``), of the node alone where one is given.
    similar: with "group" also the most similar groups. sides: ``NAME=FILE``, where the column is
    read from. seed: of the samples behind intervals. Raises UsageError, DataError or RunError.
    """
    target = opened(run)
    node = None if node is None else node_meant(target, node)
    if by is not None and by != "group":
        from hiertopics.views.bycolumn import by_column

        nodes = None if node is None else [node]
        return by_column(target, by, nodes, sides, seed, words_by)
    if node is not None:
        if by is not None:
            raise UsageError("--by group has no meaning for one topic")
        return [_whole(target, node, words, docs, words_by)]
    if by is None:
        tree, labels = target.supported_tree, labels_of(target)
        documents = None if docs is None else documents_of(target, tree, docs)
        shown = sorted(View(labels=labels).nodes(tree))
        names = names_of(tree, target.vocab, words_by=words_by)
        ordered = in_order(tree, target.vocab, words_by, "prob")
        rows = node_rows(ordered, target.vocab, words, shown, documents, labels, names)
        of_branch = words_by in OF_BRANCH
        below = [] if of_branch else _branch_words(tree, target.vocab, shown, words)
        for row, words_below in zip(rows, below, strict=False):
            row["branch_words"] = words_below
        return rows
    groups = groups_of(target.tree)
    if groups is None:
        raise UsageError(
            f"{target.path} has no weights of groups; fit a chdp backend to a corpus with groups"
        )
    return group_rows(groups, target.tree, target.vocab, n_words=words, n_similar=similar)


def _whole(
    run: RunDir, node: int, n_words: int, n_docs: int | None, words_by: str | None
) -> dict[str, Any]:
    """Return the record of a topic with the topics above and below it and its distinctive words."""
    from hiertopics.views.report.topics import telling_words

    tree, labels = run.supported_tree, labels_of(run)
    documents = None if n_docs is None else documents_of(run, tree, n_docs)
    names = names_of(tree, run.vocab, words_by=words_by)
    shown = in_order(tree, run.vocab, words_by, "prob")
    (record,) = node_rows(shown, run.vocab, n_words, [node], documents, labels, names)
    telling = [] if tree.vectors is not None else telling_words(tree, node, n_words).tolist()
    children = View(labels=labels).children(tree, node).tolist()
    found = [] if words_by in OF_BRANCH else _branch_words(tree, run.vocab, [node], n_words)
    return record | {
        "share": share(tree, node),
        **({"branch_words": found[0]} if found else {}),
        "telling": [run.vocab[word] for word in telling],
        "above": [_short(run, tree, labels, names, other) for other in tree.path(node)[:-1]],
        "below": [_short(run, tree, labels, names, other) for other in children],
    }


def _branch_words(
    tree: Tree, vocab: Sequence[str], nodes: Sequence[int], n_words: int
) -> list[list[list[str | float]]]:
    """Return the most probable words at or below each node, none of a leaf.

    Nothing at all of vectors, and of trees without a node that has others below it.
    """
    is_inner = np.isin(nodes, tree.parent[tree.shown])
    if tree.vectors is not None or not is_inner.any():
        return []
    below = replace(by_branch(tree), ranking=None)
    found = []
    for node, inner in zip(nodes, is_inner.tolist(), strict=True):
        best = below.top_words(node, n_words).tolist() if inner else []
        found.append([[vocab[word], below.chance(node, word)] for word in best])
    return found


def _short(run: RunDir, tree: Tree, labels: Labels, names: Names, node: int) -> dict[str, Any]:
    (record,) = node_rows(tree, run.vocab, FEW_WORDS, [node], None, labels, names)
    words = [word for word, _ in record["words"]]
    keys = ("id", "name", "n_docs", *BRANCH)
    kept = {key: record[key] for key in keys if key in record}
    return kept | {"words": words, "auto_name": record["auto_name"]}


def topic_text(record: dict[str, Any]) -> str:
    """Return the record of one topic, shown whole, as lines of text."""
    head = record.get("name") or record["auto_name"]
    lines = [f"[{record['id']}] {head}", f"{record['share']} of the tokens"]
    lines[1] += f", {_documents(record)} documents"
    if "split_probability" in record:
        lines[1] += f", split {record['split_probability']:.2f}"
    if record.get("transfer_support") is not None:
        lines[1] += f", support {record['transfer_support']:.2f}"
    lines += [f"{key}: {record[key]}" for key in ("note", "norm") if record.get(key)]
    if record["above"]:
        lines.append(f"above: {' > '.join(map(_named, record['above']))}")
    lines += _word_lines(record)
    if record["telling"]:
        lines.append(f"what tells it from its neighbours: {' '.join(record['telling'])}")
    if record["below"]:
        lines.append("below:")
        lines += [f"  {_named(child)}, {_documents(child)} docs" for child in record["below"]]
    if record.get("documents"):
        lines.append("documents:")
        lines += [f"  {part:.2f}  {name}" for name, part in record["documents"]]
    return "".join(f"{visible(line)}\n" for line in lines)


def _word_lines(record: dict[str, Any]) -> list[str]:
    """Return the lines of words; those of a branch stand before those of its own node."""
    own, below = (_chances(record.get(key, [])) for key in ("words", "branch_words"))
    if not below or below == own:
        return [f"words: {own}"] if own else []
    lines = [f"words at or below: {below}"]
    if record["weight"] > 0 and own:
        lines.append(f"words that stop here, {record['weight']:.2%} of the tokens: {own}")
    return lines


def _chances(words: Sequence[tuple[str, float]]) -> str:
    return ", ".join(f"{word} {chance:.4f}" for word, chance in words)


def _documents(record: dict[str, Any]) -> int:
    return int(record.get("branch_docs", record["n_docs"]))


def _named(short: dict[str, Any]) -> str:
    return f"[{short['id']}] {short.get('name') or short['auto_name']}"
