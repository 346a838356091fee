"""labels.csv: names, notes and hidden nodes that people set for a run.

A row for each node that somebody labelled: node, words, name, hidden, note. The words tell which
node was meant: a fit that went on may have given its number to another one. The page of ``report``
saves the same file.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.base import files
from hiertopics.base.errors import DataError, RunError
from hiertopics.base.visible import as_typed, steady, visible
from hiertopics.corpus.data.naming import in_order
from hiertopics.corpus.data.tree import NONE, Label, Labels, Tree
from hiertopics.runs.rundir import RunDir

LABELS = "labels.csv"
COLUMNS = ("node", "words", "name", "hidden", "note")
YES, NO = ("true", "yes", "1", "x"), ("false", "no", "0", "")

N_WORDS = 5
"""Top words of its node in a row."""

AMONG, LEAST = 20, 0.5
"""A row fits a node where at least this share of its words are among so many top words."""

MOST_WARNINGS = 3

FIRST_WORDS = 10
"""Words of a node among which its seed words are looked for."""

ABSENT = "no seed word of this name is among the first words of the node"
"""The note on a node whose name would say what is not in it."""


class Row(NamedTuple):
    """A row of the file. node: an id of the run's tree, or of it arranged (``a3``)."""

    line: int
    node: int | str
    words: str
    label: Label


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, none if there is no file.

    Raises DataError for a wrong row, RunError for a file that cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DataError(path, "not UTF-8; save it as CSV in UTF-8", line) from error
    found: dict[int | str, Row] = {}
    header: list[str] | None = None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        line = 1
        for cells in reader:
            if header is None:
                header = _header(path, cells)
            elif any(cells):
                row = _row(path, line, header, cells)
                if row.node in found:
                    what = f"node {row.node} has a row already, on line {found[row.node].line}"
                    raise DataError(path, what, line)
                found[row.node] = row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, f"broken CSV ({error})", line) from error
    return list(found.values())


def _header(path: Path, cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    known = set(header) <= set(COLUMNS) and len(set(header)) == len(header)
    if "node" not in header or not known:
        wanted = f"expected the columns {', '.join(COLUMNS)}, separated by commas"
        raise DataError(path, f"{wanted}; got {visible(','.join(cells)):.60}", 1)
    return header


def _row(path: Path, line: int, header: list[str], cells: list[str]) -> Row:
    if len(cells) != len(header):
        what = f"expected {len(header)} columns as on the first line, got {len(cells)}"
        raise DataError(path, what, line)
    given = {name: as_typed(cell) for name, cell in zip(header, cells, strict=True)}
    hidden = given.get("hidden", "").strip().lower()
    if hidden not in (*YES, *NO):
        what = f"expected true or nothing in the column hidden, got {visible(hidden)!r:.40}"
        raise DataError(path, what, line)
    node = given["node"].strip()
    if not node:
        raise DataError(path, "a row without a node", line)
    label = Label(one_line(given.get("name", "")), hidden in YES, given.get("note", "").strip())
    number = node.isascii() and node.isdigit() and len(node) < 10
    return Row(line, int(node) if number else node, given.get("words", "").strip(), label)


def one_line(text: str) -> str:
    """Return a name without line ends, with single blanks."""
    return " ".join(text.split())


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Replace the file by these rows, in the order of nodes; those that say nothing are left out.

    Raises RunError.
    """
    kept = sorted(
        (row for row in rows if row.label != Label()),
        key=lambda row: (isinstance(row.node, str), len(str(row.node)), str(row.node)),
    )
    cells = [
        (row.node, row.words, row.label.name, "true" * row.label.hidden, row.label.note)
        for row in kept
    ]
    files.write_text(path, files.to_csv([COLUMNS, *cells]))


def words_told(tree: Tree, vocab: Sequence[str], node: int, n_words: int = N_WORDS) -> str:
    """Return the words that tell row ``node`` of a tree; of a vector its longest entries."""
    if tree.vectors is not None and not tree.has_words:
        chosen = np.argsort(-np.abs(tree.vectors[node]), kind="stable")[:n_words]
    else:
        chosen = tree.top_words(node, n_words)
    return " ".join(vocab[word] for word in chosen)


def labels_of(run: RunDir, tree: Tree | None = None, *, quiet: bool = False) -> Labels:
    """Return the labels that fit the nodes of a run's tree, or of it arranged, by row.

    Rows that fit none are left out, with a warning on stderr unless ``quiet``. Raises DataError
    where the file is wrong.
    """
    path = run.file(LABELS)
    rows = read_rows(path)
    if not rows:
        return NONE
    labels, problems = fitting(rows, run.tree if tree is None else tree, run.vocab)
    if quiet:
        return labels
    for line, problem in problems[:MOST_WARNINGS]:
        _warn(f"{path}:{line}: {problem}; the row is ignored")
    if len(problems) > MOST_WARNINGS:
        _warn(f"{path}: {len(problems) - MOST_WARNINGS} more rows are ignored")
    return labels


def _warn(what: str) -> None:
    print(f"warning: {steady(what)}", file=sys.stderr)


def name_nodes(
    run: RunDir, tree: Tree, vocab: Sequence[str], names: Mapping[int, str]
) -> list[str]:
    """Name the rows of a run's new tree; labels that people wrote stay.

    Rows that an earlier fit gave those names get the words of this one, and go where their nodes
    have become others. A node without its seed words among its first words has ``ABSENT`` as its
    note. Returns what is wrong with a file that is left alone.
    """
    if not names:
        return []
    path = run.file(LABELS)
    try:
        rows = read_rows(path)
    except (DataError, RunError) as error:
        return [f"nodes of seed words stay without their names: {error}"]
    labels, problems = fitting(rows, tree, vocab)
    gone = {line for line, _ in problems}
    given = {Label(name, note=note) for name in names.values() for note in ("", ABSENT)}
    kept = [row for row in rows if row.line not in gone or row.label not in given]
    absent = {one.name for one in seeds_found(run, tree, vocab, names) if not one.n_found}
    new = [
        Row(
            0,
            tree.id_of(node),
            words_told(tree, vocab, node),
            Label(name, note=ABSENT if name in absent else ""),
        )
        for node, name in names.items()
        if node not in labels or (labels[node].name == name and labels[node] in given)
    ]
    replaced = {row.node for row in new}
    write_rows(path, [*(row for row in kept if row.node not in replaced), *new])
    return []


class SeedsFound(NamedTuple):
    """How many of the ``n_words`` seed words of a name are among the ``n_first`` words of its node.

    First words are those at or below the node, by probability.
    """

    name: str
    node: int
    n_words: int
    n_found: int
    n_first: int


def seeds_found(
    run: RunDir, tree: Tree, vocab: Sequence[str], names: Mapping[int, str]
) -> list[SeedsFound]:
    """Return what is found of the run's seed words, by the names of rows of a tree, in their order.

    Names without seed words are left out.
    """
    seeds = getattr(run.experiment.model, "seeds", None) or {}
    if not seeds:
        return []
    ranked = in_order(tree, vocab, "branch")
    rows = {name: node for node, name in names.items()}
    found = []
    for name, words in seeds.items():
        if name in rows:
            first = ranked.top_words(rows[name], max(FIRST_WORDS, len(words))).tolist()
            n_found = len({*words} & {vocab[word] for word in first})
            found.append(SeedsFound(name, rows[name], len(words), n_found, len(first)))
    return found


def fitting(
    rows: Sequence[Row], tree: Tree, vocab: Sequence[str]
) -> tuple[dict[int, Label], list[tuple[int, str]]]:
    """Return the valid labels, by row of the tree, and (line, problem) of the others.

    A row without words fits whatever has its number. Rows of clusters (``a3``) concern an arranged
    tree alone, and there those clusters that it shows.
    """
    places = {tree.id_of(node): node for node in tree.shown.tolist()}
    labels: dict[int, Label] = {}
    problems: list[tuple[int, str]] = []
    for row in rows:
        node = places.get(row.node)
        if node is None:
            if isinstance(row.node, int) or not row.node.startswith("a"):
                problems.append((row.line, f"there is no node {visible(str(row.node))}"))
            continue
        wanted = set(row.words.split())
        has = set(words_told(tree, vocab, node, AMONG).split())
        if wanted and len(wanted & has) < LEAST * len(wanted):
            now = visible(words_told(tree, vocab, node))
            problems.append((row.line, f"node {row.node} has other words now ({now})"))
        else:
            labels[node] = row.label
    return labels, problems
