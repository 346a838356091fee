"""The sampler's state: one record per chain while it moves, flat arrays in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Prior
from hiertopics.families.ncrp.sampler.chains import moved


@dataclass
class State:
    """The current and the best draw of each of C chains, chain after chain along the first axis.

    path: int32 [C n_docs, L], columns of the count tables from the root down. level: int8
    [C n_tokens], 0 for the root. Counts: n_dl int32 [C n_docs, L], n_wk int32 [C n_words, K],
    n_k int64 [C K]. parent, visits: int32 [C K], the parent and the documents of a column, which
    is free if it has none. first: int64 [L + 1], the first column of each level, then K.
    gamma, eta: float64 [C]. level_prior: float64 [C, L].
    best_*: likewise of the best draw; best_slot is its path, columns counted from the first of
    their level, which stays when levels get wider. best_log_joint: float64 [C], -inf: none yet.
    While starts are tried, best_* is where the leading
    one ended; best_try: float64 [C], its mean log joint; try_sum: float64 [C], that of the try at
    hand, summed so far.
    """

    path: NDArray[np.int32]
    level: NDArray[np.int8]
    n_dl: NDArray[np.int32]
    n_wk: NDArray[np.int32]
    n_k: NDArray[np.int64]
    parent: NDArray[np.int32]
    visits: NDArray[np.int32]
    first: NDArray[np.int64]
    gamma: NDArray[np.float64]
    eta: NDArray[np.float64]
    level_prior: NDArray[np.float64]
    best_slot: NDArray[np.int32]
    best_level: NDArray[np.int8]
    best_gamma: NDArray[np.float64]
    best_eta: NDArray[np.float64]
    best_level_prior: NDArray[np.float64]
    best_log_joint: NDArray[np.float64]
    best_try: NDArray[np.float64]
    try_sum: NDArray[np.float64]


class Draw(NamedTuple):
    """Paths as slots and levels, the hyperparameters they were drawn under, and a log joint."""

    slot: NDArray[np.int32]
    level: NDArray[np.int8]
    prior: Prior
    log_joint: float


class Walk(NamedTuple):
    """One chain: where it is, its hyperparameters, its best draw; tries as in ``State``."""

    chain: Chain
    prior: Prior
    best: Draw
    best_try: float = -np.inf
    try_sum: float = 0.0


def begin(chain: Chain, prior: Prior) -> Walk:
    """Return a chain that has no best draw yet."""
    return Walk(
        chain, prior, Draw(np.zeros_like(chain.path), np.zeros_like(chain.level), prior, -np.inf)
    )


def pack(walks: list[Walk]) -> State:
    """Lay chains into a state; a single one is not copied."""
    widths = np.max([np.diff(walk.chain.first) for walk in walks], axis=0)
    first = np.concatenate([[0], np.cumsum(widths)])
    chains = [
        walk.chain if np.array_equal(walk.chain.first, first) else moved(walk.chain, first)
        for walk in walks
    ]
    arrays: dict[str, Any] = {
        name: _joined([getattr(chain, name) for chain in chains]) for name in Chain._fields[:-1]
    }
    for prefix, priors in (
        ("", [walk.prior for walk in walks]),
        ("best_", [walk.best.prior for walk in walks]),
    ):
        arrays[f"{prefix}gamma"] = np.array([prior.gamma for prior in priors])
        arrays[f"{prefix}eta"] = np.array([prior.eta for prior in priors])
        arrays[f"{prefix}level_prior"] = np.array([prior.level for prior in priors])
    return State(
        **arrays,
        first=first,
        best_slot=_joined([walk.best.slot for walk in walks]),
        best_level=_joined([walk.best.level for walk in walks]),
        best_log_joint=np.array([walk.best.log_joint for walk in walks]),
        best_try=np.array([walk.best_try for walk in walks]),
        try_sum=np.array([walk.try_sum for walk in walks]),
    )


def unpack(state: State) -> list[Walk]:
    """Return the chains of a state, as views of its arrays."""
    n_chains = len(state.gamma)

    def parts(name: str) -> list[Any]:
        return np.split(getattr(state, name), n_chains)

    def priors(prefix: str) -> list[Prior]:
        values = (getattr(state, prefix + name) for name in ("level_prior", "gamma", "eta"))
        return [Prior(level, float(g), float(e)) for level, g, e in zip(*values, strict=True)]

    columns = [*map(parts, Chain._fields[:-1]), [state.first] * n_chains]
    chains = [Chain(*arrays) for arrays in zip(*columns, strict=True)]
    bests = [
        Draw(slot, level, prior, float(log_joint))
        for slot, level, prior, log_joint in zip(
            parts("best_slot"),
            parts("best_level"),
            priors("best_"),
            state.best_log_joint,
            strict=True,
        )
    ]
    tries = (state.best_try.tolist(), state.try_sum.tolist())
    return [Walk(*walk) for walk in zip(chains, priors(""), bests, *tries, strict=True)]


def _joined(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
