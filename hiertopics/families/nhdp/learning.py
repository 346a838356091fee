"""An iteration; shares, concentrations and stops, refitted (theory/nhdp 3, 4) or drawn (5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.contract.model import Context, Settings
from hiertopics.families.flat.concentrations import (
    CONCENTRATION_PRIOR,
    HIGHEST,
    LOWEST,
)
from hiertopics.families.flat.layout import Data, Piece
from hiertopics.families.hdp.table_kernels import SMALL, draw_growth, draw_table_sums
from hiertopics.families.nhdp import gibbs_kernels as kernels, sweep_kernels
from hiertopics.families.nhdp.lane_kernels import room_for_places
from hiertopics.families.nhdp.layout import Ancestry, AnyLocal, Shape
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.families.nhdp.state import State, by_tables, recount_now_and_then, sweep
from hiertopics.families.nhdp.sweep_kernels import NodeSums, Rates

SMALLEST = 1e-100


def refit(state: State, data: Data, settings: Settings, context: Context) -> float:
    """Refit q(z) of every pair; now and then shares and concentrations. Return the drift undone."""
    sweep(state, data, settings.model.eta)
    drift = recount_now_and_then(state, data, context)
    if context.iteration % settings.inference.hyper_every == 0:
        state.mix(learn(state, data, settings))
    return drift


def learn(state: State, data: Data, settings: Settings) -> Mixing:
    """Return the refitted shares, concentrations and, if they are learned, stop weights."""
    sums = gather(state, data)
    mixing = refitted(state.mixing, sums, settings.model.gamma)
    return restopped(mixing, sums) if "stop" not in settings.inference.hold else mixing


def gather(state: State, data: Data) -> NodeSums:
    """Return the sums of the documents' expected tables."""
    mixing = state.mixing
    rates = mixing.rates(1.0, data.n_words, np.float64)
    parts = state.local.ask(_tables, (mixing.shape.ancestry, rates))
    return NodeSums(*(np.sum(rows, axis=0) for rows in zip(*parts, strict=True)))


def _tables(piece: Piece, local: AnyLocal, given: tuple[Ancestry, Rates]) -> NodeSums:
    ancestry, rates = given
    sums = NodeSums(*(np.zeros(len(rates.share)) for _ in NodeSums._fields))
    counted, own = by_tables(piece, local)
    n_nodes = len(rates.share)
    places, room = room_for_places(n_nodes), np.zeros((sweep_kernels.N_SUMS, n_nodes))
    sweep_kernels.add_tables(counted.cells, own, ancestry, rates, sums, places, room)
    return sums


def refitted(mixing: Mixing, sums: NodeSums, gamma: float) -> Mixing:
    """Return the means of shares and concentrations given the tables (theory/nhdp 4)."""
    shape = mixing.shape
    share, concentration = mixing.share.copy(), mixing.concentration.copy()
    for node in shape.inner:
        children = shape.children(int(node))
        of_children = sums.tables[children]
        mass = of_children + gamma / len(of_children)
        share[children] = np.maximum(mass / mass.sum(), SMALLEST)
        learned = CONCENTRATION_PRIOR.posterior(of_children.sum(), sums.growth[node])
        concentration[node] = learned.mean
    return mixing._replace(share=share, concentration=concentration)


def restopped(mixing: Mixing, sums: NodeSums) -> Mixing:
    """Return stop weights refitted, one pair for the inner nodes of each depth."""
    stop_a, stop_b = mixing.stop_a.copy(), mixing.stop_b.copy()
    for nodes in levels_of(mixing.shape):
        visits = sums.visits[nodes].sum()
        for weight, tables in ((stop_a, sums.stops), (stop_b, sums.goes)):
            learned = CONCENTRATION_PRIOR.posterior(tables[nodes].sum(), visits)
            weight[nodes] = learned.mean
    return mixing._replace(stop_a=stop_a, stop_b=stop_b)


def levels_of(shape: Shape) -> list[I64]:
    """Return the inner nodes of each depth that has some, from the root down: int64 [n] each."""
    depth = shape.depth[shape.inner]
    return [shape.inner[depth == level] for level in np.unique(depth)]


class VisitHistograms(NamedTuple):
    """How often each count occurs among documents, by node.

    passing, stopped, gone: int64 [K, SMALL], documents with each small count of tokens at and below
    a node; at an inner node; below it. large: int64 [n, 3], which of these, node and count of the
    others.
    """

    passing: I64
    stopped: I64
    gone: I64
    large: I64

    def large_of(self, name: str) -> I64:
        """Return node and count of the large ones of a field, int64 [n, 2]."""
        return self.large[self.large[:, 0] == self._fields.index(name), 1:]

    def tables(self, name: str, concentration: F64, rng: np.random.Generator) -> I64:
        """Draw the tables of each node under a concentration of its own, int64 [K]."""
        histogram = getattr(self, name)
        return draw_table_sums(histogram, self.large_of(name), concentration, rng)

    def growth(self, name: str, concentration: F64, rng: np.random.Generator) -> F64:
        """Draw the sum of -log e of each node's documents, float64 [K] (theory/nhdp 5.2)."""
        histogram = getattr(self, name)
        return draw_growth(histogram, self.large_of(name), concentration, rng)


def visits_of(n_dk: I32, shape: Shape) -> VisitHistograms:
    """Return how often each count occurs. n_dk: int32 [n_docs, K], tokens at each node."""
    histogram = np.zeros((3, shape.n_nodes, SMALL), np.int64)
    large = kernels.count_visits(n_dk, shape.parent, shape.first, histogram)
    passing, stopped, gone = histogram
    return VisitHistograms(passing, stopped, gone, large)


def all_visits(parts: Sequence[VisitHistograms]) -> VisitHistograms:
    """Return the visits of all documents from those of parts of them."""
    passing = np.sum([part.passing for part in parts], axis=0)
    stopped = np.sum([part.stopped for part in parts], axis=0)
    gone = np.sum([part.gone for part in parts], axis=0)
    return VisitHistograms(passing, stopped, gone, np.concatenate([part.large for part in parts]))


def draw_mixing(
    mixing: Mixing,
    visits: VisitHistograms,
    gamma: float,
    rng: np.random.Generator,
    *,
    learns_stops: bool,
) -> None:
    """Draw shares, concentrations and, if they are learned, stop weights, in place."""
    _draw_shares(mixing, visits, gamma, rng)
    if learns_stops:
        _draw_stops(mixing, visits, rng)


def _draw_shares(
    mixing: Mixing, visits: VisitHistograms, gamma: float, rng: np.random.Generator
) -> None:
    """Draw tables, then shares and concentrations given these."""
    tables = visits.tables("passing", mixing.mass, rng)
    growth = visits.growth("gone", mixing.concentration, rng)
    for node in mixing.shape.inner:
        children = mixing.shape.children(int(node))
        of_children = tables[children]
        share = rng.dirichlet(of_children + gamma / len(of_children))
        mixing.share[children] = np.maximum(share, SMALLEST)
        drawn = CONCENTRATION_PRIOR.posterior(of_children.sum(), growth[node]).draw(rng)
        mixing.concentration[node] = min(max(drawn, LOWEST), HIGHEST)


def _draw_stops(mixing: Mixing, visits: VisitHistograms, rng: np.random.Generator) -> None:
    """Draw the stop weights of each level: Gamma, given tables and auxiliary Beta variables."""
    stops = visits.tables("stopped", mixing.stop_a, rng)
    goes = visits.tables("gone", mixing.stop_b, rng)
    growth = visits.growth(
        "passing", np.where(mixing.stop_b > 0, mixing.stop_a + mixing.stop_b, 0.0), rng
    )
    for nodes in levels_of(mixing.shape):
        visits_of_level = growth[nodes].sum()
        for weight, tables in ((mixing.stop_a, stops), (mixing.stop_b, goes)):
            drawn = CONCENTRATION_PRIOR.posterior(tables[nodes].sum(), visits_of_level).draw(rng)
            weight[nodes] = min(max(drawn, LOWEST), HIGHEST)
