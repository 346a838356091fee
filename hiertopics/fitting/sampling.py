"""Additional output of a sampler: its draws, and the agreement of its chains.

How sure it is of a node of its tree: the support of the node's split by the draws. A node splits
the documents into those whose path passes it and the rest. On real corpora no two draws have a
node of exactly the same documents, so support is graded by the transfer distance: how many
documents would have to be moved (F. Lemoine et al.: Renewing Felsenstein's phylogenetic bootstrap
in the era of big data, Nature 2018, here for rooted trees).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Ints
from hiertopics.base.errors import UsageError
from hiertopics.contract.model import AnyBackend, AnySettings, Context, PerChain, Summary
from hiertopics.fitting import diagnostics
from hiertopics.fitting.loop import Callback, Event
from hiertopics.runs import artifacts
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.config import SamplerConfig


@dataclass(frozen=True)
class Sampling:
    """The draws of one fit. data: the result of ``prepare``. context: of an iteration."""

    run: RunDir
    backend: AnyBackend
    settings: AnySettings
    data: object
    context: Callable[[int], Context]

    def per_chain(self, event: Event) -> PerChain | None:
        """Return the numbers by which several chains are compared; None for a single chain."""
        if self.backend.per_chain is None:
            return None
        found = self.backend.per_chain(
            event.state, self.data, self.settings, self.context(event.iteration)
        )
        return found if len(found.traces["objective"]) > 1 else None

    def draws(self, finish: Callable[[Summary], Summary]) -> Callback:
        """Keep each ``keep_every``-th draw after ``burn_in`` iterations, as ``finish`` makes it."""
        schedule = self.settings.inference
        assert isinstance(schedule, SamplerConfig), "a sampler has a schedule of draws"

        def watch(event: Event) -> None:
            past = event.iteration - schedule.burn_in
            if past > 0 and past % schedule.keep_every == 0:
                chains = self.per_chain(event)
                paths = None if chains is None else chains.paths
                draw = finish(self._draw(event))
                artifacts.write_draw(self.run, event.iteration, draw, paths)

        return watch

    def with_splits(self, summary: Summary, event: Event, n_tokens: I64) -> Summary:
        """Return the summary with the support that the draws of several chains give its nodes.

        n_tokens: int64 [n_docs], of each document; those without a word are left out, since they
        sit anywhere.
        """
        if summary.paths is None or self.per_chain(event) is None:
            return summary
        docs = np.flatnonzero(n_tokens)
        draws = (paths[docs] for paths in self.run.drawn_paths(event.iteration))
        splits = split_probability(summary.paths.node[docs], summary.tree.n_nodes, draws)
        return replace(summary, tree=replace(summary.tree, split_probability=splits))

    def diagnoses(self, say: Callable[[str], None]) -> list[dict[str, Any]]:
        """Return R-hat and ESS of the run's traces; with several chains, also print them."""
        try:
            found = diagnostics.diagnose(self.run)
        except UsageError as error:
            if getattr(self.settings.inference, "chains", 1) > 1:
                say(f"note: {error}")
            return []
        for diagnosis in found if any(each.n_chains > 1 for each in found) else ():
            name = self.backend.objective_name if diagnosis.trace == "objective" else None
            say(diagnosis.told(name))
            if diagnosis.problem is not None:
                say(f"note: {name or diagnosis.trace}: {diagnosis.problem}")
        return [diagnosis._asdict() for diagnosis in found]

    def _draw(self, event: Event) -> Summary:
        """Return the current draw; a sampler may summarise another one, and then has ``draw``."""
        draw = self.backend.draw or self.backend.summarise
        return draw(event.state, self.data, self.settings, self.context(event.iteration))


def split_probability(path: Ints, n_nodes: int, draws: Iterable[Ints]) -> F64 | None:
    """Return the mean support of each node over draws, float64 [n_nodes]; None without draws.

    path: [n_docs, L], the nodes on each document's path, padded with -1. draws: likewise, each
    over node numbers of its own, the documents in the same order.

    A node of n documents out of D, whose nearest node of a draw differs from it in d documents,
    has the support max(0, 1 - d / (min(n, D - n) - 1)) by this draw, and 1 where d = 0.
    """
    mine = _passing(path, n_nodes)
    smaller = np.asarray(mine.sum(axis=0)).ravel()
    smaller = np.minimum(smaller, len(path) - smaller)
    room = np.maximum(smaller - 1, 1)
    total, n_draws = np.zeros(n_nodes), 0
    for drawn in draws:
        total += np.clip(1.0 - _nearest(mine, _passing(drawn)) / room, 0.0, 1.0)
        n_draws += 1
    return total / n_draws if n_draws else None


def _passing(path: Ints, n_nodes: int | None = None) -> sparse.csc_array:
    """Return which documents pass which node, int64 [n_docs, n_nodes], one where they do."""
    doc, level = np.nonzero(path >= 0)
    node = path[doc, level]
    n_columns = int(node.max(initial=-1)) + 1 if n_nodes is None else n_nodes
    ones = np.ones(len(doc), dtype=np.int64)
    return sparse.csc_array((ones, (doc, node)), shape=(len(path), n_columns))


def _nearest(mine: sparse.csc_array, theirs: sparse.csc_array) -> I64:
    """Return how many documents each of my nodes differs in from the nearest of theirs.

    A node of theirs without a document in common is farther than the smaller side of any split,
    as are all documents: that number stands where there is none in common.
    """
    common = (mine.T @ theirs).tocoo()
    node, other = common.coords
    n_mine, n_theirs = (np.asarray(passing.sum(axis=0)).ravel() for passing in (mine, theirs))
    distance = n_mine[node] + n_theirs[other] - 2 * common.data
    nearest = np.full(mine.shape[1], mine.shape[0])
    np.minimum.at(nearest, node, distance)
    return nearest
