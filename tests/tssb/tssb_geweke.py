"""The joint-distribution tests of tssb-mcmc, text and binary, through its own ``step``."""

from __future__ import annotations

import math
from typing import Any

import joint
import numpy as np
from joint import Outcome, Story
from scipy.special import expit
from stepping import begin, corpus_of, settings_of

from hiertopics.base.arrays import F64
from hiertopics.contract.model import Settings
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.families.flat.token_layout import Data
from hiertopics.families.tssb import binary, text
from hiertopics.families.tssb.binary_kernels import Diffusion, offset_of
from hiertopics.families.tssb.config import process_bounds
from hiertopics.families.tssb.layout import Process
from hiertopics.families.tssb.state import State
from hiertopics.families.tssb.text_kernels import Dirichlet, draw_log_dirichlet
from hiertopics.families.tssb.trees import plant

PROCESS = {"alpha0": (0.3, 5.0), "decay": (0.1, 0.9), "gamma": (0.3, 5.0), "max_depth": 4}
"""Ranges that are wide for their size, so that a tree and its process hang together."""

LENGTHS = (6, 5, 4, 3, 1, 0)
N_WORDS, N_TOPICS = 3, 2
KAPPA = (0.4, 4.0)
ROWS, COLUMNS = 5, 2
VARIANCE, PERSISTENCE = (0.3, 3.0), 0.9
OF_THE_TREE = (
    "alpha0",
    "decay",
    "gamma",
    "alpha0 by the root's stick",
    "gamma by the first stick",
    "gamma by the gaps",
    "nodes",
    "gaps",
    "children of the root",
    "nodes with data",
    "depth of 1",
    "depths squared",
    "1 and 2 at one node",
    "root's data squared",
)
OF_TEXT = (
    "kappa",
    "kappa squared",
    "root's share squared",
    "share of 1 squared",
    "share of 1 by the root's",
    "share by count",
    "n_dk squared",
    "n_dk squared where alone",
    "n_wk squared",
    "n_k squared",
)
OF_ROWS = (
    "variance",
    "variance squared",
    "root",
    "root squared",
    "theta of 1 squared",
    "theta of 1 by the root's",
    "step by variance",
    "theta by row",
    "rows alike",
    "rows alike at one node",
)


def joint_test(
    likelihood: str, *, n_replicates: int, n_rounds: int = 6, seed: int = 0, **keys: Any
) -> Outcome:
    """Run the replicates of text or binary."""
    story = STORIES[likelihood](keys)
    return joint.joint_test(story, n_replicates=n_replicates, n_rounds=n_rounds, seed=seed)


def story_of_text(keys: dict[str, Any]) -> Story:
    settings = settings_of(
        text.one, n_topics=N_TOPICS, eta=0.7, kappa=KAPPA, start_sweeps=0,
        burn_in=0, **PROCESS, **keys,
    )  # fmt: skip
    template = corpus_of([[length, 0, 0] for length in LENGTHS])
    state, _ = begin(text.one, template, settings)
    data = joint.room_for_words(LENGTHS, N_WORDS)
    return Story(
        text.backend,
        state,
        data,
        settings,
        names=OF_THE_TREE + OF_TEXT,
        begin=lambda state, rng: begin_text(state, data, settings, rng),
        words=lambda state, rng: draw_words(state, data, settings, rng),
        measure=lambda state: [*of_the_tree(state), *of_text(state)],
        exponential_names=("alpha0", "decay", "gamma", "kappa", "root's stick"),
        exponentials=lambda state: exponentials(state, settings, state.law[0], KAPPA),
    )


def story_of_rows(keys: dict[str, Any]) -> Story:
    settings = settings_of(
        binary.one, likelihood="binary", variance=VARIANCE, persistence=PERSISTENCE, burn_in=0,
        slice_every=3, **PROCESS, **keys,
    )  # fmt: skip
    vectors = Vectors(np.eye(ROWS, COLUMNS), default_columns(COLUMNS))
    state, data = begin(binary.one, vectors, settings)
    return Story(
        binary.backend,
        state,
        data,
        settings,
        names=OF_THE_TREE + OF_ROWS,
        begin=lambda state, rng: begin_rows(state, data, settings, rng),
        words=lambda state, rng: draw_rows(state, data, rng),
        measure=lambda state: [*of_the_tree(state), *of_rows(state, data)],
        exponential_names=("alpha0", "decay", "gamma", "variance", "root's stick"),
        exponentials=lambda state: exponentials(state, settings, state.law[0], VARIANCE),
    )


STORIES = {"text": story_of_text, "binary": story_of_rows}


def draw_process(settings: Settings, rng: np.random.Generator) -> Process:
    ranges = process_bounds(settings.model)
    alpha0, decay, gamma = (float(rng.uniform(*ends)) for ends in ranges)
    return Process(alpha0, decay, gamma, settings.model.max_depth)


def begin_text(state: Any, data: Data, settings: Settings, rng: np.random.Generator) -> None:
    """Draw everything from the model."""
    process, kappa = draw_process(settings, rng), float(rng.uniform(*KAPPA))
    root = np.empty(N_TOPICS)
    draw_log_dirichlet(np.full(N_TOPICS, kappa), root, rng)
    nothing = np.zeros((len(LENGTHS), N_TOPICS), np.int32)
    nodes, home = plant(nothing, root, 0.0, "prior", process, Dirichlet(kappa), rng)
    shares = np.exp(nodes.value[home])
    z = np.concatenate(
        [
            rng.choice(N_TOPICS, size=length, p=share / share.sum())
            for length, share in zip(LENGTHS, shares, strict=True)
        ]
    ).astype(np.int16)
    # Any words will do: they are drawn next.
    joint.lay_words(np.array(LENGTHS), np.zeros(len(z), np.int32), z, N_WORDS, data.words)
    topics = text.counted(data, z, N_TOPICS)
    put(state, text.State(home, nodes, process, np.array([kappa]), topics))
    draw_words(state, data, settings, rng)


def draw_words(state: Any, data: Data, settings: Settings, rng: np.random.Generator) -> None:
    """Draw all words given their topics, topics' words integrated out."""
    words = np.empty(data.n_tokens, np.int32)
    joint.draw_words(
        state.topics.z, np.full(N_WORDS, settings.model.eta), words, state.topics.n_wk, rng
    )
    joint.lay_words(np.array(LENGTHS), words, state.topics.z, N_WORDS, data.words)


def begin_rows(state: Any, data: Any, settings: Settings, rng: np.random.Generator) -> None:
    """Draw everything from the model."""
    process, variance = draw_process(settings, rng), rng.uniform(*VARIANCE, COLUMNS)
    root = binary.on_grid(np.sqrt(variance) * rng.standard_normal(COLUMNS))
    law = Diffusion(PERSISTENCE, np.sqrt(variance))
    nodes, home = plant(data.rows, root, offset_of(root), "prior", process, law, rng)
    values = np.append(variance, binary.FIRST_STEP)
    put(state, State(home, nodes, process, values))
    draw_rows(state, data, rng)


def draw_rows(state: Any, data: Any, rng: np.random.Generator) -> None:
    """Draw all rows given their nodes."""
    chance = expit(state.nodes.value[state.node].astype(np.float64))
    data.rows[:] = rng.random(data.rows.shape) < chance


def put(state: State, other: State) -> None:
    """Write a state into another."""
    vars(state).update(vars(other))


def of_the_tree(state: Any) -> list[float]:
    """Return the statistics named by OF_THE_TREE."""
    nodes, process, home = state.nodes, state.process, state.node
    n = int(nodes.size[0])
    gaps = int((nodes.n_sub[:n] == 0).sum())
    depths = nodes.depth[home].astype(float)
    return [
        process.alpha0,
        process.decay,
        process.gamma,
        process.alpha0 * float(nodes.log_rest[0]),
        process.gamma * float(nodes.log_psi_rest[1]) if n > 1 else 0.0,
        process.gamma * gaps,
        n,
        gaps,
        float((nodes.parent[1:n] == 0).sum()),
        len(set(home.tolist())),
        depths[0],
        float((depths**2).sum()),
        float(home[0] == home[1]),
        float(nodes.n_at[0] ** 2),
    ]


def of_text(state: Any) -> list[float]:
    """Return the statistics named by OF_TEXT."""
    nodes, home, n_dk = state.nodes, state.node, state.topics.n_dk
    shares, kappa = np.exp(nodes.value), float(state.law[0])
    alone = (nodes.n_sub[home] == 1) & (home > 0)
    squares = (n_dk**2).sum(axis=1)
    return [
        kappa,
        kappa**2,
        float(shares[0, 0] ** 2),
        float(shares[home[0], 0] ** 2),
        float(shares[home[0], 0] * shares[0, 0]),
        float((shares[home] * n_dk).sum()),
        float(squares.sum()),
        float(squares[alone].sum()),
        float((state.topics.n_wk**2).sum()),
        float((state.topics.n_k**2).sum()),
    ]


def of_rows(state: Any, data: Any) -> list[float]:
    """Return the statistics named by OF_ROWS."""
    nodes, home, x = state.nodes, state.node, data.rows
    theta, variance = nodes.value.astype(np.float64), float(state.law[0])
    first, root = theta[home[0], 0], theta[0, 0]
    parent = nodes.parent[home[0]]
    step = first - PERSISTENCE * theta[parent, 0] if home[0] > 0 else first
    alike = float((x[0] == x[1]).mean())
    return [
        variance,
        variance**2,
        root,
        root**2,
        first**2,
        first * root,
        step**2 / variance,
        float((theta[home] * x).sum()),
        alike,
        alike * (home[0] == home[1]),
    ]


def exponentials(state: Any, settings: Settings, value: float, ends: tuple[float, float]) -> F64:
    """Return Exp(1) numbers: of uniform parameters, and the root's stick scaled by its own.

    A stick nu ~ Beta(1, alpha) has -alpha log(1 - nu) ~ Exp(1).
    """
    ranges = [*process_bounds(settings.model), ends]
    values = [*state.process[:3], value]
    scaled = [
        -math.log((number - low) / (high - low))
        for number, (low, high) in zip(values, ranges, strict=True)
    ]
    return np.array([*scaled, -state.process.alpha0 * state.nodes.log_rest[0]])
