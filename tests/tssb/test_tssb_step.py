"""The order of what ``step`` of tssb-mcmc does, from states made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from stepping import at, begin, corpus_of, settings_of
from tssb_geweke import put

from hiertopics.families.tssb import stick_kernels, text, trees
from hiertopics.families.tssb.layout import Process

N_DOCS = 8
AT_ONCE, BELOW = 1e-3, 1e3
"""An alpha under which data stop where they are, and one under which they go on."""


def stepped(before: Process, now: Process, depth: int) -> Any:
    """Return the state after a step that finds all data at one node and sets the process.

    before: the process that the sticks of the state belong to. now: the one that the settings
    hold fixed, so that every step draws it.
    """
    fixed = {name: getattr(now, name) for name in ("alpha0", "decay", "gamma")}
    settings = settings_of(
        text.one, n_topics=1, start="root", start_sweeps=0, settle_every=0, **fixed
    )
    state, data = begin(text.one, corpus_of(np.zeros((N_DOCS, 2))), settings)
    nodes = trees.bare(np.zeros(1), 0.0)
    home = np.full(N_DOCS, depth, np.int32)
    for node in range(1, depth + 1):
        nodes.size[0] = node + 1
        nodes.parent[node], nodes.depth[node], nodes.known[node] = node - 1, node, True
    stick_kernels.count(home, nodes)
    stick_kernels.draw_sticks(nodes, before, np.random.default_rng(0), True)
    topics = text.counted(data, np.zeros(0, np.int16), 1)
    put(state, text.State(home, nodes, before, np.array([1.0]), topics))
    state, _ = text.one.step(state, data, settings, at(1))
    assert state.node.tolist() == [depth] * N_DOCS and state.nodes.size[0] == depth + 1
    assert state.process == now
    return state


def test_nu_belongs_to_the_process_of_the_same_step() -> None:
    """Eight data at the root: 1 - nu is Beta(alpha0, 9), here 0.991 and not 0.0001 on average."""
    before, now = (Process(alpha0, 0.5, 1.0, 64) for alpha0 in (AT_ONCE, BELOW))
    state = stepped(before, now, 0)
    assert np.exp(state.nodes.log_rest[0]) > 0.95


def test_psi_belongs_to_the_process_of_the_same_step() -> None:
    """Eight data at the root's first child: psi is Beta(9, gamma), here 0.009 and not 0.9999."""
    before, now = (Process(BELOW, 1e-6, gamma, 64) for gamma in (1e-3, 1e3))
    state = stepped(before, now, 1)
    assert np.exp(state.nodes.log_psi[1]) < 0.05
