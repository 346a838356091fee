"""An iteration; shares, concentrations and stops, refitted (theory/nhdp 3, 4) or drawn (5)."""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import I32, I64
from hiertopics.contract.model import Context, Settings
from hiertopics.families.flat.concentrations import (
    HIGHEST,
    LOWEST,
    PRIOR_RATE,
    PRIOR_SHAPE,
    draw_concentration,
)
from hiertopics.families.flat.layout import Data, Piece
from hiertopics.families.flat.token_kernels import count_tables
from hiertopics.families.nhdp import gibbs_kernels as kernels
from hiertopics.families.nhdp import sweep_kernels
from hiertopics.families.nhdp.config import Model
from hiertopics.families.nhdp.layout import Ancestry, AnyLocal, Shape
from hiertopics.families.nhdp.mixing import Mixing, below
from hiertopics.families.nhdp.state import State, by_tables, recount_now_and_then, sweep
from hiertopics.families.nhdp.sweep_kernels import Rates, Sums

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
    return restopped(mixing, sums) if settings.model.stop == "learned" else mixing


def gather(state: State, data: Data) -> Sums:
    """Return the sums of the documents' expected tables."""
    mixing = state.mixing
    rates = mixing.rates(1.0, data.n_words, np.float64)
    parts = state.local.ask(_tables, (mixing.shape.ancestry, rates))
    return Sums(*(np.sum(rows, axis=0) for rows in zip(*parts, strict=True)))


def _tables(piece: Piece, local: AnyLocal, given: tuple[Ancestry, Rates]) -> Sums:
    ancestry, rates = given
    sums = Sums(*(np.zeros(len(rates.share)) for _ in Sums._fields))
    counted, own = by_tables(piece, local)
    sweep_kernels.add_tables(counted.cells, own, ancestry, rates, sums)
    return sums


def refitted(mixing: Mixing, sums: Sums, gamma: float) -> Mixing:
    """Return the means of shares and concentrations given the tables (theory/nhdp 4)."""
    shape = mixing.shape
    share, concentration = mixing.share.copy(), mixing.concentration.copy()
    for node in shape.inner:
        children = shape.children(int(node))
        of_children = sums.tables[children]
        mass = of_children + gamma / len(of_children)
        share[children] = np.maximum(mass / mass.sum(), SMALLEST)
        growth = sums.growth[node]
        concentration[node] = (PRIOR_SHAPE + of_children.sum()) / (PRIOR_RATE + growth)
    return mixing._replace(share=share, concentration=concentration)


def restopped(mixing: Mixing, sums: Sums) -> Mixing:
    """Return stop weights refitted, one pair for the inner nodes of each depth."""
    stop_a, stop_b = mixing.stop_a.copy(), mixing.stop_b.copy()
    for nodes in levels_of(mixing.shape):
        rate = PRIOR_RATE + sums.visits[nodes].sum()
        stop_a[nodes] = (PRIOR_SHAPE + sums.stops[nodes].sum()) / rate
        stop_b[nodes] = (PRIOR_SHAPE + sums.goes[nodes].sum()) / rate
    return mixing._replace(stop_a=stop_a, stop_b=stop_b)


def levels_of(shape: Shape) -> list[I64]:
    """Return the inner nodes of each depth that has some, from the root down."""
    depth = shape.depth[shape.inner]
    return [shape.inner[depth == level] for level in np.unique(depth)]


def draw_mixing(mixing: Mixing, n_dk: I32, model: Model, rng: np.random.Generator) -> None:
    """Draw shares, concentrations and, if they are learned, stop weights, in place.

    n_dk: int32 [n_docs, K], tokens that stop at each node.
    """
    passing = below(mixing.shape, n_dk).astype(np.int64)
    _draw_shares(mixing, n_dk, passing, model.gamma, rng)
    if model.stop == "learned":
        _draw_stops(mixing, n_dk, passing, rng)


def _draw_shares(
    mixing: Mixing, n_dk: I32, passing: I64, gamma: float, rng: np.random.Generator
) -> None:
    """Draw tables, then shares and concentrations given these."""
    tables = np.zeros(mixing.shape.n_nodes, np.int64)
    kernels.draw_tables(passing, mixing.mass, tables, rng)
    for node in mixing.shape.inner:
        children = mixing.shape.children(int(node))
        of_children = tables[children]
        share = rng.dirichlet(of_children + gamma / len(of_children))
        mixing.share[children] = np.maximum(share, SMALLEST)
        gone = passing[:, node] - n_dk[:, node]
        n_tables = int(of_children.sum())
        drawn = draw_concentration(mixing.concentration[node], n_tables, gone, rng)
        mixing.concentration[node] = np.clip(drawn, LOWEST, HIGHEST)


def _draw_stops(mixing: Mixing, n_dk: I32, passing: I64, rng: np.random.Generator) -> None:
    """Draw the stop weights of each level: Gamma, given tables and auxiliary Beta variables."""
    for nodes in levels_of(mixing.shape):
        a, b = mixing.stop_a[nodes[0]], mixing.stop_b[nodes[0]]
        stopped, passed = n_dk[:, nodes], passing[:, nodes]
        stops = count_tables(stopped, a, rng)
        goes = count_tables((passed - stopped).astype(np.int32), b, rng)
        rate = PRIOR_RATE - np.log(rng.beta(a + b, passed[passed > 0])).sum()
        for weight, n_tables in ((mixing.stop_a, stops), (mixing.stop_b, goes)):
            weight[nodes] = np.clip(rng.gamma(PRIOR_SHAPE + n_tables, 1.0 / rate), LOWEST, HIGHEST)
