"""Remarks on nodes in a view of a tree besides words: mixed topics, side information.

Side information are columns of metadata, such as authors or years: those that the run keeps, those
of the table that it was fitted to, or a file of one line per document of it. It is counted over the
documents whose best path passes a node. Without paths a document takes the way to its main topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.saying import note
from hiertopics.corpus.data import ROOT, Tags, Tree
from hiertopics.corpus.data.columns import Drawn, axis_of, drawn_part, is_time, why_not_shown
from hiertopics.corpus.data.treeshares import main_topics
from hiertopics.corpus.formats.metadata import parted
from hiertopics.corpus.formats.opening import require_file
from hiertopics.corpus.formats.records import column_of, table_form
from hiertopics.corpus.formats.sidefiles import read_tags
from hiertopics.corpus.formats.tablerows import TABLES
from hiertopics.runs.documents import by_field
from hiertopics.runs.rundir import RunDir

ENTRIES = 1 << 22
"""Entries of theta that are looked at together."""

N_VALUES = 5
N_BINS = 40
N_TOPICS = 3
TOPIC_WORDS = 3
BARS = "▁▂▃▄▅▆▇█"

Said = tuple[str, str, Any]
"""The name of a remark, its printed text, and its JSON value."""


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


def parse_sides(entries: Sequence[str]) -> dict[str, Path | None]:
    """Turn ``["authors=FILE", "year"]`` into names and files; None: a column of the run's own.

    Raises UsageError for another form.
    """
    sides: dict[str, Path | None] = {}
    for entry in entries:
        name, equals, file = entry.partition("=")
        if not name or bool(equals) != bool(file):
            raise UsageError(f"--side expects NAME or NAME=FILE, got {entry!r}")
        if name in sides:
            raise UsageError(f"--side {name} is given twice")
        sides[name] = Path(file) if file else None
    return sides


def side_remarks(run: RunDir, sides: Mapping[str, Path | None]) -> dict[int, list[Said]]:
    """Return for each node the most common values, or a histogram of few dates or years.

    If a column has at most one value per document and at most N_BINS values, the JSON value has
    all values, in their order. Raises DataError where a file does not fit the run's corpus.
    """
    tree, passing = run.tree, counted_at(run)
    remarks: dict[int, list[Said]] = {node: [] for node in tree.shown.tolist()}
    for name, path in sides.items():
        tags = tags_of(run, name, path)
        name = column_called(name)
        counts = (passing.T @ tags.members.astype(np.int64)).toarray()
        single = int(np.diff(tags.members.indptr).max(initial=0)) <= 1
        is_whole, over_time = single and len(tags.names) <= N_BINS, is_time(tags)
        drawn = drawn_part(tags.names, np.asarray(tags.members.sum(axis=0), int).ravel().tolist())
        if is_whole and over_time and drawn.told:
            note(f"column {name!r}: {drawn.told}")
        for node in remarks:
            _, line, value = _most_common(name, counts[node], tags.names)
            if is_whole:
                _, bars, value = _histogram(name, counts[node], tags.names, drawn)
                line = bars if over_time else line
            remarks[node].append((name, line, value))
    return remarks


MARKS = ";,|"
"""Characters that part the values of a cell, at the end of the name of a column."""


def column_called(name: str) -> str:
    """Return ``authors`` of ``authors;``: the name of a column without the mark in its cells."""
    return _column_and_mark(name)[0]


def _column_and_mark(name: str) -> tuple[str, str | None]:
    is_parted = len(name) > 1 and name[-1] in MARKS
    return (name[:-1], name[-1]) if is_parted else (name, None)


def tell_what_is_not_shown(name: str, tags: Tags, bins: Tags) -> None:
    """Say on stderr why a column that was asked for does not show what its user expects."""
    if told := why_not_shown(tags, bins):
        note(f"column {name!r}: {told}")


def tags_of(run: RunDir, name: str, path: Path | None) -> Tags:
    """Return the values of the training documents in a column.

    name: with one of ``MARKS`` at its end (``authors;``) the cells of the column hold several
    values, with this mark between them, if no column has that name. path: a file of one line per
    document, or a table (jsonl, csv, tsv, parquet) with a column of that name; lines that are no
    UTF-8 are in ``data.encoding``. None: the run's own metadata, or the table that it was fitted
    to. Raises DataError where a file does not fit, UsageError where there is no such column.
    """
    split = run.split
    n_docs = len(np.union1d(split.train_docs, split.heldout_docs))
    written: dict[str, Any] = {}
    column, mark = _column_and_mark(name)
    if path is None:
        data = run.experiment.data
        marked = {} if run.documents is None else run.documents.tags
        kept = by_field(marked, data)
        if found := kept.get(name) or marked.get(name):
            return found
        if mark is not None and column in kept:
            return parted(kept[column], mark)
        path, form = Path(str(data.corpus)), str(data.from_)
        if form not in TABLES or not path.is_file():
            known = f"; it keeps {', '.join(kept)}" if kept else "; it keeps none"
            near = get_close_matches(column, kept, n=1)
            known += f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(
                f"{run.path} keeps no column {column!r} of its documents{known}; "
                f"--side {column}=FILE reads one"
            )
        written = {
            "delimiter": data.delimiter,
            "quoting": data.quoting,
            "encoding": data.encoding,
        }
    else:
        form = table_form(path) or ""
        written = {"encoding": _encoding_beside(run)}
    require_file(path)
    if not form:
        corpus = Path("the corpus of the run")
        tags = read_tags(path, n_docs, corpus, **written).select(split.train_docs)
        return tags if mark is None else parted(tags, mark)
    tags = column_of(path, column, form, mark=mark, **written)
    if tags.members.shape[0] != n_docs:
        what = (
            f"{tags.members.shape[0]} records, but the corpus of the run holds {n_docs} documents"
        )
        raise DataError(path, what)
    return tags.select(split.train_docs)


def _encoding_beside(run: RunDir) -> str | None:
    """Return the encoding of files that views read: UTF-8 or, line by line, that of the corpus."""
    encoding = run.experiment.data.encoding
    return None if encoding is None else f"utf-8,{encoding}"


def counted_at(run: RunDir) -> sparse.csr_array:
    """Return whose values are counted at which node, int64 CSR [n_docs, n_nodes].

    Documents without words are counted at none: nothing places them.
    """
    n_docs, n_nodes = len(run.split.train_docs), run.tree.n_nodes
    if run.paths is None and run.tree.is_flat:
        blocks = run.theta_in_blocks(ENTRIES)
        columns = [np.asarray(rows.argmax(axis=1)).ravel() for rows in blocks]
        cells = (np.arange(n_docs), np.concatenate(columns))
    elif run.paths is None:
        homes = [main_topics(run.tree, rows) for rows in run.theta_in_blocks(ENTRIES)]
        home = np.concatenate(homes)
        docs = np.flatnonzero(home != ROOT)  # the others are in no node of a forest
        ends = (np.ones(len(docs)), (docs, home[docs]))
        ways = sparse.csr_array(ends, shape=(n_docs, n_nodes)) @ run.tree.above
        cells = sparse.csr_array(ways).nonzero()
    else:
        docs, levels = np.nonzero(run.paths.node >= 0)
        cells = (docs, run.paths.node[docs, levels])
    lengths = run.split.train_lengths
    has_words = np.ones(n_docs, np.int64) if lengths is None else (lengths > 0).astype(np.int64)
    return sparse.csr_array((has_words[cells[0]], cells), shape=(n_docs, n_nodes))


def _most_common(name: str, counts: I64, names: Sequence[str]) -> Said:
    top = [place for place in np.argsort(-counts, kind="stable")[:N_VALUES] if counts[place]]
    line = ", ".join(f"{names[place]} {counts[place]}" for place in top)
    return name, line, [[names[place], int(counts[place])] for place in top]


def _histogram(name: str, counts: I64, names: Sequence[str], drawn: Drawn) -> Said:
    high = max(int(counts[drawn.first : drawn.end].max(initial=0)), 1)
    own, shown = dict(zip(names, counts.tolist(), strict=True)), drawn.of(names)
    heights = [own.get(name, 0) for name in axis_of(shown)]
    bars = "".join(" " if n == 0 else BARS[(n * len(BARS) - 1) // high] for n in heights)
    line = f"{shown[0]} |{bars}| {shown[-1]}, at most {high}" if shown else ""
    value = [[value, int(n)] for value, n in zip(names, counts, strict=True)]
    return name, line, value
