"""The joint-distribution tests of nhdp-gibbs on the tiny tree."""

from __future__ import annotations

from typing import Any

import joint
import numpy as np
from joint import Outcome, Story
from naive_nhdp import T5
from nhdp_cases import mixing_of
from stepping import at, corpus_of, settings_of

from hiertopics.base.arrays import I32
from hiertopics.families.nhdp import gibbs
from hiertopics.families.nhdp.mixing import Mixing

LENGTHS = (4, 3)
N_WORDS, ETA, N_NODES = 3, 0.5, 5
STATISTICS = (
    *("tokens at 0", "tokens at 1", "tokens at 3"),
    *("nodes of the first document", "nodes in use", "n_iw squared", "tokens of word 0"),
    "tokens at 0 of both",
)
EXACT = (1.75, 1.326316, 1.276579, 2.063800, 3.069652, 15.603906, 2.333333, 0.75)
"""Their means under the prior, shares and concentrations held (theory/nhdp 8, T5)."""

LEARNED = (
    *("share of 1", "share of 3", "concentration of 0", "concentration of 1", "log joint"),
    *("eta", "stop at 0", "go at 0", "stop at 1", "go at 1"),
)


EXPONENTIAL = (*LEARNED[2:4], *LEARNED[5:])
"""What is Exp(1) under the prior: of eta its product with the words."""


def measure(state: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    return [
        *(float(state.n_k[node]) for node in (0, 1, 3)),
        float((state.n_dk[0] > 0).sum()),
        float((state.n_k > 0).sum()),
        float((state.n_wk.astype(float) ** 2).sum()),
        float(state.n_wk[0].sum()),
        float(state.n_dk[0, 0] * state.n_dk[1, 0]),
    ]


def room(way: str = "sparse") -> tuple[Any, Any, Any]:
    """Return a state of two documents without words yet, its data and settings."""
    settings = settings_of(gibbs, sweep=way)
    data = gibbs.prepare(corpus_of([[length, 0, 0] for length in LENGTHS]), settings)
    z = np.zeros(sum(LENGTHS), np.int32)
    return gibbs.with_nodes(z, mixing_of(T5), ETA, data.tokens, at(0)), data, settings


def draw_nodes(mixing: Mixing, rng: np.random.Generator) -> I32:
    """Draw the nodes of all tokens, each by the mixture that those before it make."""
    drawn: list[int] = []
    for length in LENGTHS:
        n = np.zeros(N_NODES)
        for _ in range(length):
            theta = mixing.weights(n[None])[0]
            node = min(int(np.searchsorted(np.cumsum(theta), rng.random())), N_NODES - 1)
            n[node] += 1
            drawn.append(node)
    return np.array(drawn, np.int32)


def draw_words(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw all words given their nodes."""
    joint.draw_words(state.z, np.full(N_WORDS, state.eta), data.tokens.cells.word, state.n_wk, rng)


def draw_shared(state: Any, rng: np.random.Generator) -> None:
    """Draw what documents share from the prior, and eta."""
    for children in (slice(1, 3), slice(3, 5)):
        state.share[children] = np.maximum(rng.dirichlet([0.5, 0.5]), 1e-100)
    for row in (state.concentration, state.stop_a, state.stop_b):
        row[:2] = rng.exponential(size=2)
    state.eta = float(rng.exponential()) / N_WORDS


def begin(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw everything from the prior, what documents share and eta too."""
    draw_shared(state, rng)
    state.z[:] = draw_nodes(state.mixing, rng)
    fresh = gibbs.with_nodes(state.z, state.mixing, state.eta, data.tokens, at(0))
    state.n_dk[:] = fresh.n_dk
    state.n_k = fresh.n_k
    draw_words(state, data, rng)


def learned(state: Any, log_joint: float) -> list[float]:
    """Return the statistics of what is drawn besides nodes, in the order of their names."""
    shared = (*state.share[[1, 3]], *state.concentration[:2], max(log_joint, -100.0))
    return [*map(float, shared), *exponentials(state)[2:]]


def exponentials(state: Any) -> list[float]:
    """Return what is Exp(1) under the prior: eta times the words, and weights at inner nodes."""
    stops = (state.stop_a[0], state.stop_b[0], state.stop_a[1], state.stop_b[1])
    return [float(x) for x in (*state.concentration[:2], state.eta * N_WORDS, *stops)]


def joint_test(*, n_replicates: int, n_rounds: int, seed: int = 0, way: str = "sparse") -> Outcome:
    """Run replicates of the backend's own step."""
    state, data, settings = room(way)

    def all_of(state: Any) -> list[float]:
        log_joint = gibbs.objective(state, data, settings, None)  # type: ignore[arg-type]
        return [*measure(state), *learned(state, log_joint)]

    story = Story(
        gibbs.backend,
        state,
        data,
        settings,
        names=(*STATISTICS, *LEARNED),
        begin=lambda state, rng: begin(state, data, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=all_of,
        exponential_names=EXPONENTIAL,
        exponentials=exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)
