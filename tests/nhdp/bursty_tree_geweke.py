"""The joint-distribution test of nhdp-gibbs with bursty documents, on the tiny tree."""

from __future__ import annotations

from typing import Any

import joint
import laid_tables
import numpy as np
from joint import Outcome, Story
from laid_tables import Table
from naive_nhdp import T5
from nhdp_cases import mixing_of
from nhdp_geweke import EXPONENTIAL, LEARNED, draw_shared, exponentials, learned
from stepping import at, corpus_of, settings_of

from hiertopics.families.flat import seats
from hiertopics.families.flat.bursts import Repeats, more_than
from hiertopics.families.flat.seat_kernels import count_tables
from hiertopics.families.nhdp import bursty_gibbs, gibbs
from hiertopics.families.nhdp.mixing import Mixing
from hiertopics.numeric.priors import GammaPrior

FEW_TOKENS = GammaPrior(1.0, 0.3)
"""The prior of the concentration under which documents of some tokens repeat words."""

LENGTHS = np.array([6, 4, 3, 1, 0])
N_WORDS, N_NODES = 3, 5
STATISTICS = (
    *("tables", "tables squared", "tables at 0", "tables at 1", "tables at 3"),
    *("n_dk squared", "n_k squared", "n_wk squared", "c squared", "c t", "pairs of several tables"),
    *("discount", "log b", "their product"),
)


def joint_test(*, n_replicates: int, n_rounds: int, seed: int = 0, way: str = "sparse") -> Outcome:
    """Run replicates of the backend's own step."""
    settings = settings_of(bursty_gibbs.one, sweep=way, bursts="document")
    data = bursty_gibbs.prepare(corpus_of([[n, 0, 0] for n in LENGTHS]), settings)
    longer = more_than(np.bincount(LENGTHS))
    repeats = Repeats(np.arange(1, 7), longer, 0, 0.1)
    data = data._replace(tokens=data.tokens._replace(repeats=repeats))
    z = np.zeros(int(LENGTHS.sum()), np.int32)
    plain = gibbs.with_nodes(
        z, mixing_of(T5), 0.5, data.tokens, at(0), count_tables, bursty_gibbs.Local
    )
    state = bursty_gibbs.State(**vars(plain), burst_discount=0.5, burst_concentration=3.0)
    story = Story(
        bursty_gibbs.backend,
        state,
        data,
        settings,
        names=(*STATISTICS, *LEARNED),
        begin=lambda state, rng: draw_from_prior(state, data, rng),
        words=lambda state, rng: draw_words(state, data, rng),
        measure=lambda state: measure(state, data, settings),
        exponential_names=(*EXPONENTIAL, "b", "log discount"),
        exponentials=all_exponentials,
    )
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def draw_from_prior(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw everything from the model."""
    draw_shared(state, rng)
    state.burst_discount, state.burst_concentration = seats.draw_process_from_prior(rng)
    sizes = laid_tables.seated(LENGTHS, state.process, rng)
    lay(state, data, with_nodes(sizes, state.mixing, rng), rng)


def with_nodes(sizes: list[list[int]], mixing: Mixing, rng: Any) -> laid_tables.Documents:
    """Return tables with nodes, each by the mixture that those before it make."""
    found = []
    for own in sizes:
        n, tables = np.zeros(N_NODES), []
        for size in own:
            ends = np.cumsum(mixing.weights(n[None])[0])
            node = min(int(np.searchsorted(ends, rng.random() * ends[-1])), N_NODES - 1)
            n[node] += 1
            tables.append(Table(size, node))
        found.append(tables)
    return found


def draw_words(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw sizes of tables given their numbers, and all words given nodes."""
    cells = data.tokens.cells
    slots = (cells.word, state.z, np.append(cells.cuts[:, 0], len(cells.word)))
    lay(state, data, laid_tables.unlaid(*slots, state.burst_discount, rng), rng)


def lay(state: Any, data: Any, docs: laid_tables.Documents, rng: np.random.Generator) -> None:
    """Write tables to slots and counts."""
    cells, prior = data.tokens.cells, np.full(N_WORDS, state.eta)
    laid_tables.lay(docs, prior, cells.word, state.z, np.zeros_like(state.n_wk), rng)
    state.n_dk[:], state.n_wk[:] = 0, 0
    count_tables(cells, state.z, state.n_dk, state.n_wk)
    state.n_k[:] = state.n_dk.sum(axis=0)


def measure(state: Any, data: Any, settings: Any) -> list[float]:
    """Return the statistics, in the order of their names."""
    pair = np.repeat(np.arange(len(LENGTHS)), LENGTHS) * N_WORDS + data.tokens.cells.word
    c, t = np.bincount(pair), np.bincount(pair, state.z >= 0)
    tables, log_b = state.n_dk.sum(axis=1), float(np.log(state.burst_concentration))
    log_joint = float(np.clip(bursty_gibbs.objective(state, data, settings, at(0)), -100.0, 100.0))
    return [
        float(tables.sum()),
        float((tables**2).sum()),
        *(float(state.n_k[node]) for node in (0, 1, 3)),
        float((state.n_dk**2).sum()),
        float((state.n_k**2).sum()),
        float((state.n_wk**2).sum()),
        float((c**2).sum()),
        float((c * t).sum()),
        float((t > 1).sum()),
        state.burst_discount,
        log_b,
        state.burst_discount * log_b,
        *learned(state, log_joint),
    ]


def all_exponentials(state: Any) -> list[float]:
    """Return what is Exp(1) under the prior."""
    rate = vars(seats)["BURST_PRIOR"].rate  # tests replace it in that module
    of_process = (rate * state.burst_concentration, -float(np.log(state.burst_discount)))
    return [*exponentials(state), *of_process]
