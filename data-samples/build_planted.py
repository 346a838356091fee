"""Draw a small corpus from a planted tree of topics with three levels.

The story is that of the nested Chinese restaurant process on a tree of fixed shape: a document
walks from the root to a leaf, each time taking a child in proportion to the documents that went
there before, shares its tokens out over the three nodes of its path and draws every word from the
node's own distribution. A word is named after the node that it is typical of.

Usage: python build_planted.py [FOLDER]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

SEED = 20100907
PARAMETERS: dict[str, Any] = {
    "documents": 300,
    "mean_tokens": 60,
    "leaves": [2, 3, 4],  # of the children a, b, c of the root
    "words_per_node": [24, 12, 10],  # by level
    "word_concentration": 1.0,  # Dirichlet over a node's own words
    "noise": 0.05,  # share of a node's tokens drawn evenly from the whole vocabulary
    "level_weights": [3.0, 4.0, 5.0],  # Dirichlet over the levels of a path
    "first_customers": 5.0,  # imagined documents at each child before the first
}
TOP_WORDS = 15

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Tree(NamedTuple):
    """The shape of the planted tree, parents before children."""

    names: list[str]
    parent: Ints
    depth: Ints


class Corpus(NamedTuple):
    """The drawn documents with the truth about each."""

    counts: Ints  # documents by words
    paths: Ints  # documents by levels: nodes
    level_weights: Floats  # documents by levels
    node_tokens: Ints  # tokens drawn at each node


def plant_tree(leaves: Sequence[int]) -> Tree:
    """Return the tree whose root has a child for each entry, with so many leaves."""
    names, parent, depth = ["root"], [-1], [0]
    letters = "abcdefghijklmnopqrstuvwxyz"[: len(leaves)]
    for letter, count in zip(letters, leaves, strict=True):
        child = len(names)
        names += [letter, *(f"{letter}{number}" for number in range(1, count + 1))]
        parent += [0, *[child] * count]
        depth += [1, *[2] * count]
    return Tree(names, np.array(parent), np.array(depth))


def plant_words(tree: Tree, words_per_node: Sequence[int]) -> tuple[list[str], Ints]:
    """Return the vocabulary and the node that each word is typical of."""
    vocabulary, owner = [], []
    for node, name in enumerate(tree.names):
        stem = name if name == "root" else name + "_"
        size = words_per_node[tree.depth[node]]
        vocabulary += [f"{stem}{number:02d}" for number in range(size)]
        owner += [node] * size
    return vocabulary, np.array(owner)


def draw_phi(random: np.random.RandomState, owner: Ints, n_nodes: int) -> Floats:
    """Draw the word distribution of each node."""
    noise = PARAMETERS["noise"]
    phi = np.full((n_nodes, len(owner)), noise / len(owner))
    for node in range(n_nodes):
        own = np.flatnonzero(owner == node)
        weights = random.dirichlet(np.full(len(own), PARAMETERS["word_concentration"]))
        # Rounded, so that the last bits of another machine's log and exp change nothing.
        phi[node, own] += (1 - noise) * np.sort(weights)[::-1].round(9)
    return np.asarray(phi / phi.sum(axis=1, keepdims=True))


def draw_path(random: np.random.RandomState, tree: Tree, visits: Floats) -> list[int]:
    """Walk from the root to a leaf by the documents that went before, and count the visit."""
    path = [0]
    while (children := np.flatnonzero(tree.parent == path[-1])).size:
        weights = visits[children]
        path.append(int(random.choice(children, p=weights / weights.sum())))
    visits[path] += 1
    return path


def draw_corpus(random: np.random.RandomState, tree: Tree, phi: Floats) -> Corpus:
    """Draw the documents."""
    n_docs = PARAMETERS["documents"]
    counts = np.zeros((n_docs, phi.shape[1]), dtype=np.int64)
    paths = np.zeros((n_docs, 3), dtype=np.int64)
    level_weights = random.dirichlet(PARAMETERS["level_weights"], size=n_docs).round(9)
    level_weights /= level_weights.sum(axis=1, keepdims=True)
    visits = np.full(len(tree.names), PARAMETERS["first_customers"])
    node_tokens = np.zeros(len(tree.names), dtype=np.int64)
    for doc in range(n_docs):
        paths[doc] = draw_path(random, tree, visits)
        size = random.poisson(PARAMETERS["mean_tokens"])
        for node in random.choice(paths[doc], size=size, p=level_weights[doc]):
            node_tokens[node] += 1
            counts[doc, random.choice(len(phi[node]), p=phi[node])] += 1
    return Corpus(counts, paths, level_weights, node_tokens)


def node_records(
    tree: Tree, phi: Floats, vocabulary: Sequence[str], corpus: Corpus
) -> list[dict[str, Any]]:
    """Return what the truth file says about each node."""
    weight = corpus.node_tokens / corpus.node_tokens.sum()
    records = []
    for node, name in enumerate(tree.names):
        best = np.argsort(-phi[node], kind="stable")[:TOP_WORDS]
        records.append(
            {
                "id": node,
                "name": name,
                "parent": int(tree.parent[node]),
                "depth": int(tree.depth[node]),
                "weight": round(float(weight[node]), 6),
                "words": [[vocabulary[word], round(float(phi[node, word]), 6)] for word in best],
            }
        )
    return records


def ldac_line(counts: Ints) -> str:
    """Return a document as a line `M id:count id:count ...`, ids increasing."""
    ids = np.flatnonzero(counts)
    return " ".join([str(len(ids)), *(f"{word}:{counts[word]}" for word in ids)])


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines with the same line ends on every platform."""
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii", newline="\n")


def json_lines(nodes: Sequence[dict[str, Any]], corpus: Corpus) -> list[str]:
    """Return the truth as JSON, one node or path per line."""
    return [
        '{"nodes": [',
        ",\n".join(json.dumps(node) for node in nodes),
        '], "paths": [',
        ",\n".join(json.dumps(path) for path in corpus.paths.tolist()),
        f'], "seed": {SEED}, "parameters": {json.dumps(PARAMETERS)}}}',
    ]


def write_corpus(
    folder: Path, tree: Tree, phi: Floats, vocabulary: Sequence[str], corpus: Corpus
) -> None:
    """Write the corpus, the leaf of each document and the truth."""
    leaves = np.flatnonzero(tree.depth == 2)
    write_lines(folder / "planted.ldac", (ldac_line(counts) for counts in corpus.counts))
    write_lines(folder / "planted.vocab", vocabulary)
    write_lines(folder / "planted.labels", map(str, np.searchsorted(leaves, corpus.paths[:, -1])))
    write_lines(folder / "planted.labels.key", (tree.names[leaf] for leaf in leaves))
    named = ([tree.names[node] for node in path[1:]] for path in corpus.paths)
    write_lines(folder / "planted.paths", map("/".join, named))
    nodes = node_records(tree, phi, vocabulary, corpus)
    write_lines(folder / "planted.truth.json", json_lines(nodes, corpus))
    np.savez(
        folder / "planted.truth.npz",
        phi=phi,
        parent=tree.parent,
        paths=corpus.paths,
        level_weights=corpus.level_weights,
    )


def build(folder: Path) -> Corpus:
    """Draw the corpus and write its files to a folder."""
    # The streams of RandomState are frozen for good, those of the newer generators are not.
    random = np.random.RandomState(SEED)
    tree = plant_tree(PARAMETERS["leaves"])
    vocabulary, owner = plant_words(tree, PARAMETERS["words_per_node"])
    phi = draw_phi(random, owner, len(tree.names))
    corpus = draw_corpus(random, tree, phi)
    write_corpus(folder, tree, phi, vocabulary, corpus)
    return corpus


def main() -> None:
    """Build the corpus in the folder given, by default that of this script."""
    corpus = build(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
    documents, words = corpus.counts.shape
    print(f"{documents} documents, {words} words, {corpus.counts.sum()} tokens", file=sys.stderr)


if __name__ == "__main__":
    main()
