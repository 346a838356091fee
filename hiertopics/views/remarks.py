"""What a view of a tree says of each node besides its words: topics it mixes, side information.

Side information is a file of one line per document of the file given to fit, such as authors or
years; it is counted over the documents whose best path passes a node, and of a flat model over
those whose largest share a topic has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.data.corpus import Tags
from hiertopics.data.tree import Tree
from hiertopics.errors import UsageError
from hiertopics.formats.opening import require_file
from hiertopics.formats.sidefiles import read_tags
from hiertopics.runs.rundir import RunDir

N_VALUES = 5
N_BINS = 40
N_TOPICS = 3
TOPIC_WORDS = 3
BARS = "▁▂▃▄▅▆▇█"

Said = tuple[str, str, Any]
"""What a remark is called, what is printed, and the same as a JSON value."""


def topic_remarks(tree: Tree, vocab: Sequence[str]) -> dict[int, list[Said]]:
    """Return the main topics of each node of a model whose nodes mix topics, else nothing."""
    if not {"shares", "topics"} <= set(tree.extra):
        return {}
    shares, topics = tree.extra["shares"], tree.extra["topics"]
    names = [
        " ".join(vocab[word] for word in np.argsort(-row, kind="stable")[:TOPIC_WORDS])
        for row in topics
    ]
    remarks = {}
    for node in tree.shown.tolist():
        main = np.argsort(-shares[node], kind="stable")[:N_TOPICS]
        line = ", ".join(f"{topic} {shares[node, topic]:.2f} ({names[topic]})" for topic in main)
        value = [[int(topic), float(shares[node, topic])] for topic in main]
        remarks[node] = [("topics", line, value)]
    return remarks


def parse_sides(entries: Sequence[str]) -> dict[str, Path]:
    """Turn ``["authors=FILE", ...]`` into names and files; raises UsageError for another form."""
    sides: dict[str, Path] = {}
    for entry in entries:
        name, equals, file = entry.partition("=")
        if not (name and equals and file):
            raise UsageError(f"--side expects NAME=FILE, got {entry!r}")
        if name in sides:
            raise UsageError(f"--side {name} is given twice")
        sides[name] = Path(file)
    return sides


def side_remarks(run: RunDir, sides: Mapping[str, Path]) -> dict[int, list[Said]]:
    """Return for each node the most common values, or a histogram of few ordered ones.

    A histogram stands for a file with at most one value per document and N_BINS values in all.
    Raises DataError where a file does not fit the run's corpus.
    """
    tree, passing = run.tree, _documents(run)
    remarks: dict[int, list[Said]] = {node: [] for node in tree.shown.tolist()}
    for name, path in sides.items():
        tags = tags_of(run, path)
        counts = (passing.T @ tags.members.astype(np.int64)).toarray()
        single = int(np.diff(tags.members.indptr).max(initial=0)) <= 1
        rule = _histogram if single and len(tags.names) <= N_BINS else _most_common
        for node in remarks:
            remarks[node].append(rule(name, counts[node], tags.names))
    return remarks


def tags_of(run: RunDir, path: Path) -> Tags:
    """Return the values of the training documents; DataError where the file does not fit."""
    split = run.split
    n_docs = len(np.union1d(split.train_docs, split.heldout_docs))
    require_file(path)
    return read_tags(path, n_docs, Path("the corpus of the run")).select(split.train_docs)


def _documents(run: RunDir) -> sparse.csr_array:
    """Return which documents are counted at which node, int64 CSR [n_docs, n_nodes]."""
    n_docs, n_nodes = run.theta.shape
    if run.paths is None:
        columns = run.theta.argmax(axis=1)
        cells = (np.arange(n_docs), np.asarray(columns).ravel())
    else:
        docs, levels = np.nonzero(run.paths.node >= 0)
        cells = (docs, run.paths.node[docs, levels])
    ones = np.ones(len(cells[0]), dtype=np.int64)
    return sparse.csr_array((ones, cells), shape=(n_docs, n_nodes))


def _most_common(name: str, counts: NDArray[np.int64], names: Sequence[str]) -> Said:
    top = [place for place in np.argsort(-counts, kind="stable")[:N_VALUES] if counts[place]]
    line = ", ".join(f"{names[place]} {counts[place]}" for place in top)
    return name, line, [[names[place], int(counts[place])] for place in top]


def _histogram(name: str, counts: NDArray[np.int64], names: Sequence[str]) -> Said:
    high = max(int(counts.max(initial=0)), 1)
    bars = "".join(" " if n == 0 else BARS[(int(n) * len(BARS) - 1) // high] for n in counts)
    line = f"{names[0]} |{bars}| {names[-1]}, at most {high}" if names else ""
    value = [[value, int(n)] for value, n in zip(names, counts, strict=True)]
    return name, line, value
