"""Nodes of a run by their numbers or names: people's labels, automatic names, words of either."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from hiertopics.base.errors import UsageError
from hiertopics.base.visible import visible
from hiertopics.corpus.data.naming import BETWEEN, NAME_WORDS, called, in_order
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir

LONGEST = 12
"""Words of the longest automatic name that is known: views show so many or fewer."""

MOST_SHOWN = 6
"""Nodes that a message lists."""

MOST_DIGITS = 10
"""A number of so many digits is no node's."""


def node_meant(run: RunDir, node: int | str) -> int:
    """Return a node of a run that is given by its number, its name or words of its name.

    Raises UsageError where there is no such node, and where a name fits several.
    """
    if isinstance(node, str) and not is_number(node):
        return NodesByName(run).find(node)
    return run.require_node(int(node) if isinstance(node, str) else node)


def is_number(node: str) -> bool:
    """Return whether a node is given by its number."""
    text = node.strip()
    return text.isascii() and text.isdigit() and len(text) < MOST_DIGITS


class NodesByName:
    """The names that nodes of a run have; case and the number of blanks are all the same."""

    def __init__(self, run: RunDir) -> None:
        tree, labels = in_order(run.tree, run.vocab), labels_of(run, quiet=True)
        self._run = run
        self._shown = {node: called(tree, run.vocab, node) for node in run.tree.shown.tolist()}
        self._names: dict[int, set[str]] = {
            node: {
                *(_plain(called(tree, run.vocab, node, n)) for n in (NAME_WORDS, LONGEST)),
                *(_plain(labels[node].name) for _ in range(node in labels)),
            }
            - {""}
            for node in self._shown
        }
        for node in labels.keys() & self._shown.keys():
            self._shown[node] = labels[node].name or self._shown[node]

    def find(self, name: str) -> int:
        """Return the node of a name, of a beginning of names, or of words of names.

        Raises UsageError where no node has it or several have.
        """
        found = self.fitting(name)
        if len(found) == 1:
            return found[0]
        if found:
            told = ", ".join(self.told(node) for node in found[:MOST_SHOWN])
            more = f" and {len(found) - MOST_SHOWN} more" * (len(found) > MOST_SHOWN)
            raise UsageError(f"{visible(name)!r} fits several nodes: {told}{more}")
        raise UsageError(
            f"no node of {self._run.path} is called {visible(name)!r}{self._near(_plain(name))}"
        )

    def fitting(self, name: str) -> list[int]:
        """Return the nodes of a name; where no node has it, those of its beginning, or words."""
        wanted = _plain(name)
        for fits in (self._equal, self._beginning, self._with_words):
            if wanted and (found := [*fits(wanted)]):
                return found
        return []

    def told(self, node: int) -> str:
        """Return a node as messages show it: its number and its name."""
        return f"{node} {visible(self._shown[node])}"

    def _equal(self, wanted: str) -> Iterator[int]:
        return (node for node, names in self._names.items() if wanted in names)

    def _beginning(self, wanted: str) -> Iterator[int]:
        return (
            node
            for node, names in self._names.items()
            if any(name.startswith(wanted) for name in names)
        )

    def _with_words(self, wanted: str) -> Iterator[int]:
        words = {*wanted.split()}
        return (
            node
            for node, names in self._names.items()
            if any(words <= {*name.split()} for name in names)
        )

    def _near(self, wanted: str) -> str:
        by_name = {name: node for node, names in self._names.items() for name in names}
        near = get_close_matches(wanted, by_name, n=1, cutoff=0.4)
        if near:
            return f"; did you mean {self.told(by_name[near[0]])}?"
        return "; show-tree and topics show names and numbers"


def _plain(name: str) -> str:
    return " ".join(name.replace(BETWEEN.strip(), " ").split()).casefold()
