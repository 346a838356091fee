"""Nodes of a run by their names: people's labels, and the automatic names."""

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
        """Return the node of a name, or of a beginning of names that only one node has.

        Raises UsageError where no node has it or several have.
        """
        wanted = _plain(name)
        for fits in (self._equal(wanted), self._beginning(wanted)):
            found = list(fits)
            if len(found) == 1:
                return found[0]
            if found:
                told = ", ".join(self.told(node) for node in found[:MOST_SHOWN])
                more = f" and {len(found) - MOST_SHOWN} more" * (len(found) > MOST_SHOWN)
                raise UsageError(f"{visible(name)!r} fits several nodes: {told}{more}")
        raise UsageError(
            f"no node of {self._run.path} is called {visible(name)!r}{self._near(wanted)}"
        )

    def told(self, node: int) -> str:
        """Return a node as messages show it: its number and its name."""
        return f"{node} {visible(self._shown[node])}"

    def _equal(self, wanted: str) -> Iterator[int]:
        return (node for node, names in self._names.items() if wanted in names)

    def _beginning(self, wanted: str) -> Iterator[int]:
        if not wanted:
            return iter(())
        return (
            node
            for node, names in self._names.items()
            if any(name.startswith(wanted) for name in names)
        )

    def _near(self, wanted: str) -> str:
        by_name = {name: node for node, names in self._names.items() for name in names}
        near = get_close_matches(wanted, by_name, n=1, cutoff=0.4)
        return f"; did you mean {self.told(by_name[near[0]])}?" if near else ""


def _plain(name: str) -> str:
    return " ".join(name.replace(BETWEEN.strip(), " ").split()).casefold()
