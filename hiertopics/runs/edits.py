"""edits.yaml: nodes of a run that somebody wants joined, elsewhere in the tree, or split.

An entry for each edit, so that leaving one out undoes it. A node is written as its number and some
of its words, which tell whether it is the one that was meant, or by its name alone
(``runs.nodenames``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hiertopics.base import files
from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.visible import visible
from hiertopics.corpus.data.naming import by_name
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.labels import AMONG, LEAST, words_told
from hiertopics.runs.nodenames import NodesByName
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.fields import show
from hiertopics.settings.yamlfile import lines_within, load_yaml

EDITS = "edits.yaml"
MERGE, MOVE, SPLIT = "merge", "move", "split"
KINDS = (MERGE, MOVE, SPLIT)
MOST_PARTS = 100
"""Topics that a split makes, at most."""

EXAMPLES: Mapping[str, str] = {
    MERGE: "[3 server socket, 7 mail address]",
    MOVE: "{node: 12 json xml, below: 4 data file}",
    SPLIT: "{node: 12 json xml, into: 2}",
}


BY_NAME = -1
"""Stands for the number of a node that is written by its name."""


class NodeName(NamedTuple):
    """A node in an edit: its number in the run, and some of its words; or ``BY_NAME`` and a name.

    ``require_fitting`` puts numbers in place of names.
    """

    number: int
    words: str

    def __str__(self) -> str:
        return self.words if self.number == BY_NAME else f"{self.number} {self.words}"


class Edit(NamedTuple):
    """An edit. nodes: to be merged; for a move the node and its new parent.

    line: where it stands in its file; 0: in none. into: the number of topics that a split makes.
    """

    kind: str
    nodes: tuple[NodeName, ...]
    line: int = 0
    into: int = 0

    def __str__(self) -> str:
        numbers = [str(node.number) for node in self.nodes]
        if self.kind == MERGE:
            return f"merge {' '.join(numbers)}"
        if self.kind == SPLIT:
            return f"split {numbers[0]} into {self.into}"
        return f"move {numbers[0]} below {numbers[1]}"


def read_edits(path: Path) -> list[Edit]:
    """Return the edits of a file in its order; ConfigError or DataError where it is wrong."""
    found = load_yaml(path)
    places = lines_within(path)
    edits: list[Edit] = []
    for kind, entries in found.items():
        top, lines = places[kind]
        if kind not in KINDS:
            what = f"expected {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {visible(kind)!r:.40}"
            raise DataError(path, what, top)
        if entries is None:
            continue
        if not isinstance(entries, list):
            what = f"expected a list of edits, an entry as - {EXAMPLES[kind]}, got {show(entries)}"
            raise DataError(path, what, top)
        edits += [
            Edit(kind, _nodes(path, line, kind, entry), line, _into(path, line, kind, entry))
            for line, entry in zip(lines, entries, strict=True)
        ]
    return edits


def _nodes(path: Path, line: int, kind: str, entry: object) -> tuple[NodeName, ...]:
    """Return the nodes of an entry."""
    written: list[object] = []
    if kind == MERGE and isinstance(entry, list) and len(entry) > 1:
        written = entry
    elif kind == MOVE and isinstance(entry, dict) and set(entry) == {"node", "below"}:
        written = [entry["node"], entry["below"]]
    elif kind == SPLIT and isinstance(entry, dict) and set(entry) == {"node", "into"}:
        written = [entry["node"]]
    if not written:
        raise DataError(path, f"expected an entry as {EXAMPLES[kind]}, got {show(entry)}", line)
    return tuple(_node(path, line, one) for one in written)


def _into(path: Path, line: int, kind: str, entry: object) -> int:
    """Return the number of topics that a split makes; 0 for other edits."""
    if kind != SPLIT or not isinstance(entry, dict):
        return 0
    into = entry["into"]
    if type(into) is not int or not 2 <= into <= MOST_PARTS:
        what = f"expected a number of topics from 2 to {MOST_PARTS}, got {show(into)}"
        raise DataError(path, what, line)
    return into


def _node(path: Path, line: int, written: object) -> NodeName:
    number, _, words = str(written).strip().partition(" ")
    whole = number.isascii() and number.isdigit() and len(number) < 10
    if whole and not isinstance(written, bool):
        return NodeName(int(number), words.strip())
    if not isinstance(written, str) or not written.strip():
        what = (
            "expected a node as its number and some of its words, as 12 json xml parser, or its "
            "name"
        )
        raise DataError(path, f"{what}, got {show(written)}", line)
    return NodeName(BY_NAME, written.strip())


def edits_of(run: RunDir) -> list[Edit]:
    """Return the edits in a run's folder; none if there is no file."""
    path = run.file(EDITS)
    return read_edits(path) if path.exists() else []


def write_edits(run: RunDir, edits: Sequence[Edit]) -> None:
    """Replace the file in a run's folder by these edits, a line for each."""
    text = "".join(_section(kind, [one for one in edits if one.kind == kind]) for kind in KINDS)
    files.write_text(run.file(EDITS), text)


def _section(kind: str, edits: Sequence[Edit]) -> str:
    lines = [f"- {_entry(edit)}\n" for edit in edits]
    return "".join([f"{kind}:\n", *lines]) if lines else ""


def _entry(edit: Edit) -> str:
    """Return an edit on one line of YAML; a text of JSON is one of YAML."""
    first, *others = (files.to_json(str(node)) for node in edit.nodes)
    if edit.kind == MERGE:
        return f"[{', '.join([first, *others])}]"
    if edit.kind == SPLIT:
        return f"{{node: {first}, into: {edit.into}}}"
    return f"{{node: {first}, below: {others[0]}}}"


def as_line(kind: str, run: RunDir, nodes: Sequence[int]) -> str:
    """Return a whole file with an edit of nodes of a run, on one line."""
    tree = by_name(run.tree, run.vocab)  # the words that views show
    names = tuple(named(tree, run.vocab, node) for node in nodes)
    return f"{kind}: [{_entry(Edit(kind, names))}]"


def named(tree: Tree, vocab: Sequence[str], node: int) -> NodeName:
    """Return a node as it is written: its number and its five most probable words."""
    return NodeName(int(node), words_told(tree, vocab, node))


class NodeWords:
    """The words that identify nodes of a run: their first words, in any order of views."""

    def __init__(self, tree: Tree, vocab: Sequence[str]) -> None:
        self._orders = (tree, by_name(tree, vocab))
        self._vocab = vocab

    def fit(self, node: NodeName) -> bool:
        """Tell whether half of the words that are written are among the node's own."""
        wanted = set(node.words.split())
        has = {
            word
            for tree in self._orders
            for word in words_told(tree, self._vocab, node.number, AMONG).split()
        }
        return len(wanted & has) >= LEAST * len(wanted)


def require_fitting(run: RunDir, edits: Sequence[Edit], path: Path) -> list[Edit]:
    """Return edits with a number for each node that is written by its name.

    Raises DataError for the first edit of an unknown node, of a node with other words, or of a name
    that several nodes have.
    """
    found = _numbered(run, edits, path)
    words, shown = NodeWords(run.tree, run.vocab), set(run.tree.shown.tolist())
    for edit in found:
        for node in edit.nodes:
            if node.number not in shown:
                known = f"; they go from {min(shown)} to {max(shown)}" if shown else ""
                what = f"{run.path} has no node {node.number}{known}"
                raise DataError(path, what, edit.line)
            if not words.fit(node):
                now = visible(words_told(run.tree, run.vocab, node.number))
                what = f"node {node.number} of {run.path} has other words ({now})"
                raise DataError(path, f"{what}; is this the file of another run?", edit.line)
    return found


def _numbered(run: RunDir, edits: Sequence[Edit], path: Path) -> list[Edit]:
    by_name_alone = any(node.number == BY_NAME for edit in edits for node in edit.nodes)
    names, found = NodesByName(run) if by_name_alone else None, []
    shown = set(run.tree.shown.tolist())
    for edit in edits:
        try:
            nodes = tuple(_written_out(run, node, names, shown) for node in edit.nodes)
        except UsageError as error:
            raise DataError(path, str(error), edit.line) from error
        found.append(edit._replace(nodes=nodes))
    return found


def _written_out(
    run: RunDir, node: NodeName, names: NodesByName | None, shown: set[int]
) -> NodeName:
    """Return a node with its number and some of its words."""
    if node.number == BY_NAME and names is not None:
        return named(run.tree, run.vocab, names.find(node.words))
    if not node.words and node.number in shown:
        return named(run.tree, run.vocab, node.number)
    return node
