"""Chains of the collapsed sampler: made, moved document by document, widened and recounted.

Seed words of a name are a document that is held (theory/ncrp 5.1): its path is the first column of
each level for the first name, the second for the second, and so on, and its words are at level 1.
It stands in the counts by node alone, never among the documents.

Of a draw paths, levels and hyperparameters are kept. Of several starts the most probable goes on.
The first ``restarts * restart_iterations`` iterations are tries of equal length, each from a new
sequential start. The one with the highest mean log joint over its second half goes on from where
it ended (C. Wang, D. Blei, NIPS 2009, keep the best of 200 trajectories).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from hiertopics.base.arrays import I8, I32, I64, Bools, Ints
from hiertopics.base.axes import Axes
from hiertopics.base.room import beside
from hiertopics.base.stretches import ends_of, rows_of
from hiertopics.contract import Arrays, Chains
from hiertopics.corpus.data.seedwords import Seeds
from hiertopics.families.flat.token_layout import TOKENS_AT_ONCE, Data
from hiertopics.families.ncrp.config import HldaGibbsInference
from hiertopics.families.ncrp.sampler import chain_kernels, move_kernels, sweep_kernels
from hiertopics.families.ncrp.sampler.chain_kernels import Chain, Hyperparameters

LINE = 16
"""Columns are dealt out in lots of a cache line."""

GROWTH = 1.5

LIFT = 2.0
"""How much more frequent a name's words are in a branch that begins as its own."""


def sequential(data: Data, hyper: Hyperparameters, rng: np.random.Generator) -> Chain:
    """Return a chain whose documents were seated one by one in random order (theory/ncrp 5).

    Each draws a path from the prior and levels on it, then path and levels given those before.
    """
    depth = len(hyper.level)
    first = _lots(len(data.seeds.names) + 1) * np.arange(depth + 1, dtype=np.int64)
    chain = Chain(
        path=np.zeros((data.n_docs, depth), np.int32),
        level=without_level(data),
        n_dl=np.zeros((data.n_docs, depth), np.int32),
        n_wk=np.zeros((data.n_words, first[-1]), np.int32),
        n_k=np.zeros(first[-1], np.int64),
        parent=np.zeros(first[-1], np.int32),
        visits=np.zeros(first[-1], np.int32),
        first=first,
    )
    hold(data.seeds, chain)
    return visit(data, chain, hyper, rng.permutation(data.n_docs), rng, fresh=True)


def without_level(data: Data) -> I8:
    """Return levels of tokens, all unassigned."""
    level: I8 = data.room.empty(data.n_tokens, np.int8)
    level[:] = -1
    return level


def joined_by(
    before: Arrays, data: Data, hyper: Hyperparameters, rng: np.random.Generator
) -> Chain:
    """Return an earlier chain with further documents, seated one by one after its own.

    In random order, as in ``sequential``. before: its arrays by name; further words may follow its
    own, too.
    """
    old = {name: before[f"chain.{name}"] for name in Chain._fields}
    n_docs, n_words = data.n_docs - len(old["path"]), data.n_words - len(old["n_wk"])
    level = without_level(data)
    level[: len(old["level"])] = old["level"]
    wider = {
        name: np.pad(old[name], ((0, n_more), (0, 0)))
        for name, n_more in (("path", n_docs), ("n_dl", n_docs), ("n_wk", n_words))
    }
    same = {name: old[name].copy() for name in ("n_k", "parent", "visits", "first")}
    chain = Chain(level=level, **same, **wider)
    seeds, column = data.seeds, chain.first[1] + data.seeds.name
    new = seeds.word >= len(old["n_wk"])
    np.add.at(chain.n_wk, (seeds.word[new], column[new]), seeds.weight)
    np.add.at(chain.n_k, column[new], seeds.weight)
    order = len(old["path"]) + rng.permutation(n_docs)
    return visit(data, chain, hyper, order, rng, fresh=True)


def on_branches(
    data: Data, branch: Ints, hyper: Hyperparameters, rng: np.random.Generator
) -> Chain:
    """Return a chain of documents on known paths, their tokens on levels drawn from the prior.

    branch: int [n_docs, depth - 1], names of the nodes below the root, unique within a level.
    A branch at level 1 where a name's seed words are ``LIFT`` times as frequent as in all documents
    is that name's.
    """
    share, level = np.cumsum(hyper.level), without_level(data)
    for first in range(0, data.n_tokens, TOKENS_AT_ONCE):
        some = level[first : first + TOKENS_AT_ONCE]
        some[:] = np.searchsorted(share[:-1], rng.random(len(some)) * share[-1], side="right")
    slot = np.zeros((data.n_docs, len(hyper.level)), dtype=np.int32)
    for column, names in enumerate(branch.T, start=1):
        slot[:, column] = np.unique(names, return_inverse=True)[1].ravel()
    slot[:, 1:] += len(data.seeds.names)
    slot[:, 1] = _named(data, slot[:, 1])
    return recounted(data, slot, level)


def _named(data: Data, slot: I32) -> I32:
    """Return the slots at level 1 [n_docs], those of a name where it has much of their tokens."""
    seeds, words = data.seeds, data.words
    if not seeds.names or not data.n_tokens:
        return slot
    times = np.diff(words.token_ptr)
    place = slot[rows_of(words.pair_ptr)]
    lift = np.empty((len(seeds.names), int(slot.max()) + 1))
    for name, row in enumerate(lift):
        its = np.where(np.isin(words.word, seeds.word[seeds.name == name]), times, 0)
        part = np.bincount(place, its, len(row)) / np.maximum(
            np.bincount(place, times, len(row)), 1
        )
        row[:] = part * data.n_tokens / max(its.sum(), 1)
    taken = np.where(lift.max(axis=0) >= LIFT, lift.argmax(axis=0), np.arange(lift.shape[1]))
    return taken[slot].astype(np.int32)


def hold(seeds: Seeds, chain: Chain) -> None:
    """Count the documents that names are, in place."""
    named, depth = seeds.first_topics, len(chain.first) - 1
    chain.visits[0] += len(named)
    for level in range(1, depth):
        column = chain.first[level] + named
        chain.parent[column] = chain.first[level - 1] + named if level > 1 else 0
        chain.visits[column] += 1
    seeds.add_to(chain.n_wk, chain.first[1] + named)
    chain.n_k[:] += seeds.totals(len(chain.n_k), chain.first[1] + named)


def is_held(seeds: Seeds, chain: Chain) -> Bools:
    """Return which columns [C] are on paths of names."""
    place = np.arange(len(chain.visits)) - np.repeat(chain.first[:-1], np.diff(chain.first))
    held: Bools = place < len(seeds.names)
    held[0] = False
    return held


def n_documents(seeds: Seeds, chain: Chain) -> I64:
    """Return the documents through each node [C], without those that names are."""
    own = chain.visits.astype(np.int64) - is_held(seeds, chain)
    own[0] -= len(seeds.names)
    return own


def sweep(data: Data, chain: Chain, hyper: Hyperparameters, rng: np.random.Generator) -> Chain:
    """Redraw path and levels of each document in turn; in place unless columns run out."""
    return visit(data, chain, hyper, np.arange(data.n_docs), rng)


def leap(data: Data, chain: Chain, hyper: Hyperparameters, rng: np.random.Generator) -> Chain:
    """Let each document leap to another path and other levels; in place as ``sweep``."""
    done = 0
    while True:
        done, _ = move_kernels.leap_all(data.words, chain, hyper, done, rng)
        if done == data.n_docs:
            return chain
        chain = moved(chain, grown(chain))


def graft(data: Data, chain: Chain, hyper: Hyperparameters, rng: np.random.Generator) -> Chain:
    """Redraw the parent of each node below the second level, leaves first; as ``sweep``.

    Nodes on paths of names stay: which ones these are does not depend on the draw.
    """
    for level in range(chain.path.shape[1] - 1, 1, -1):
        order = np.argsort(chain.path[:, level], kind="stable")
        order = order[~is_held(data.seeds, chain)[chain.path[order, level]]]
        done = 0
        while done < len(order):
            done = move_kernels.graft_level(data.words, chain, hyper, level, order, done, rng)
            if done < len(order):
                chain = moved(chain, grown(chain))
    return chain


def visit(
    data: Data,
    chain: Chain,
    hyper: Hyperparameters,
    order: I64,
    rng: np.random.Generator,
    *,
    fresh: bool = False,
) -> Chain:
    """Redraw path and levels of the documents of ``order`` in turn; as ``sweep``.

    order: int64 [n]. fresh: they are not seated yet.
    """
    done = 0
    while True:
        done = sweep_kernels.sweep(data.words, chain, hyper, order, done, fresh, rng)
        if done == len(order):
            return chain
        chain = moved(chain, grown(chain))


def grown(chain: Chain) -> I64:
    """Return ``first`` of the chain with more columns at levels without a free column.

    int64 [n_levels + 1].
    """
    widths = np.diff(chain.first)
    for level in range(1, len(widths)):
        if (chain.visits[chain.first[level] : chain.first[level + 1]] > 0).all():
            widths[level] = _lots(GROWTH * widths[level])
    return ends_of(widths)


def moved(chain: Chain, first: I64) -> Chain:
    """Return the chain with its levels starting at other columns; none may get narrower.

    first: int64 [n_levels + 1].
    """
    level_of = rows_of(chain.first)
    column = np.arange(chain.first[-1]) + (first - chain.first)[level_of]
    n_wk = np.zeros((len(chain.n_wk), first[-1]), np.int32)
    n_wk[:, column] = chain.n_wk
    n_k = np.zeros(first[-1], np.int64)
    parent, visits = np.zeros((2, first[-1]), np.int32)
    n_k[column], visits[column] = chain.n_k, chain.visits
    parent[column] = column[chain.parent]
    path = column[chain.path].astype(np.int32)
    return chain._replace(path=path, n_wk=n_wk, n_k=n_k, parent=parent, visits=visits, first=first)


def recounted(data: Data, slot: I32, level: I8, widths: Ints | None = None) -> Chain:
    """Return the chain of these paths and levels, everything else counted afresh.

    slot: int32 [n_docs, L], columns of a path counted from the first of their level. widths: int
    [L], columns of each level; None: few more than are taken.
    """
    n_named = len(data.seeds.names)
    if widths is None:
        taken = [max(int(slots.max(initial=0)) + 2, n_named + 1) for slots in slot.T]
        widths = np.array([_lots(n_columns) for n_columns in taken])
    first = ends_of(widths)
    path = (slot + first[:-1]).astype(np.int32)
    n_wk = np.zeros((data.n_words, first[-1]), np.int32)
    n_dl = np.zeros(path.shape, np.int32)
    chain_kernels.count_all(path, level, *data.words, n_wk, n_dl)
    parent = np.zeros(first[-1], np.int32)
    parent[path[:, 1:]] = path[:, :-1]
    visits = np.bincount(path.ravel(), minlength=first[-1]).astype(np.int32)
    n_k = n_wk.sum(axis=0, dtype=np.int64)
    chain = Chain(path, data.room.copy(level), n_dl, n_wk, n_k, parent, visits, first)
    hold(data.seeds, chain)
    return chain


def flaw(state: State, data: Data, settings: object) -> str | None:
    """Return how a saved draw disagrees with the corpus; see ``Backend``."""
    chain, tries = state.chain, state.tries
    if not len(chain.parent):
        return "a draw that goes on has no counts"
    again = recounted(data, slots(chain), chain.level, np.diff(chain.first))
    used = again.visits > 0
    for name in COUNTED:
        own, wanted = getattr(chain, name), getattr(again, name)
        if name == "parent":  # of a column that is free it says nothing
            own, wanted = own[used], wanted[used]
        if not np.array_equal(own, wanted):
            return f"{name} does not follow from paths and levels"
    if len(tries.slot) not in (0, data.n_docs) or len(tries.level) not in (0, data.n_tokens):
        return "the leading try is not one of all documents"
    if (len(tries.slot) == 0) != (len(tries.level) == 0) and data.n_docs and data.n_tokens:
        return "the leading try has paths or levels alone"
    if len(tries.slot) and (tries.slot[:, 0].any() or int(tries.slot.max()) >= most_slots(data)):
        return "the leading try has paths that lead nowhere"
    return None


def most_slots(data: Data) -> int:
    """Return a number of columns that no level comes to: half of them at most are free."""
    return 1024 + 4 * (data.n_docs + len(data.seeds.names))


def _lots(n_columns: float) -> int:
    return LINE * math.ceil(n_columns / LINE)


COUNTED = ("n_dl", "n_wk", "n_k", "parent", "visits")
"""Fields that follow from paths and levels."""


class Tries(NamedTuple):
    """The end of the best try so far: path as slots, level and prior; empty before the first.

    best: its mean log joint, -inf: none yet. total: that of the try at hand, summed so far.
    """

    slot: Annotated[I32, Axes("n_docs", "depth", least=0, maybe_empty=True)]
    level: Annotated[I8, Axes("n_tokens", below="depth", maybe_empty=True)]
    prior: Hyperparameters
    best: Annotated[float, Axes(finite=False)] = -np.inf
    total: Annotated[float, Axes(finite=False)] = 0.0


@dataclass
class State:
    """One draw: paths, levels and their counts, the hyperparameters, and earlier tries."""

    chain: Chain
    prior: Hyperparameters
    tries: Tries


def begin(chain: Chain, hyper: Hyperparameters, tries: Tries | None = None) -> State:
    """Return the state of a chain; ``tries``: those before, none where it is the first."""
    return State(chain, hyper, tries or Tries(chain.path[:0], chain.level[:0], hyper))


def keep(state: State) -> State:
    """Return paths, levels and hyperparameters, all counts left out."""
    chain = state.chain
    counts = {name: getattr(chain, name)[:0].copy() for name in COUNTED}
    kept = chain._replace(path=chain.path.copy(), level=duplicate(chain.level), **counts)
    return begin(kept, state.prior)


def revive(kept: State, data: Data) -> State:
    """Return the state that was kept, everything counted afresh.

    Raises ValueError where paths lead beyond all columns that there can be.
    """
    if int(slots(kept.chain).max(initial=0)) >= most_slots(data):
        raise ValueError("a kept draw has paths that lead nowhere")
    return begin(recounted(data, slots(kept.chain), kept.chain.level), kept.prior)


def duplicate(level: I8) -> I8:
    """Return a copy of levels of tokens where these lie."""
    return beside(level).copy(level)


def slots(chain: Chain) -> I32:
    """Return paths [n_docs, L], columns counted from the first of their level.

    That stays when levels get wider.
    """
    return chain.path - chain.first[:-1].astype(np.int32)


def begins(schedule: HldaGibbsInference, iteration: int) -> bool:
    """Return whether ``iteration`` is the first of the second or a later try."""
    place, step = divmod(iteration - 1, schedule.restart_iterations)
    return 0 < place < schedule.restarts and step == 0


def tried(
    state: State, data: Data, score: float, schedule: HldaGibbsInference, iteration: int
) -> State:
    """Return the state after an iteration whose draw has the log probability ``score``.

    The best try goes on at the end of the last one.
    """
    place, step = divmod(iteration - 1, schedule.restart_iterations)
    if schedule.restarts == 1 or place >= schedule.restarts:
        return state
    tries, first = state.tries, schedule.restart_iterations // 2
    if step >= first:
        tries = tries._replace(total=tries.total + score)
    if step == schedule.restart_iterations - 1:
        mean = tries.total / (schedule.restart_iterations - first)
        tries = tries._replace(total=0.0)
        if mean > tries.best:
            tries = Tries(slots(state.chain), duplicate(state.chain.level), state.prior, mean)
        if place == schedule.restarts - 1:
            return begin(recounted(data, tries.slot, tries.level), tries.prior)
    return begin(state.chain, state.prior, tries)


def before(arrays: Arrays, settings: object) -> Chains[State]:
    """Return the chains of an old checkpoint, which held them along the first axis.

    There the leading try was where the best draw is, whose log joint was then -inf.
    """
    n_chains = len(arrays["gamma"])
    parts = {name: np.split(array, n_chains) for name, array in arrays.items() if name != "first"}

    def prior(prefix: str, chain: int) -> Hyperparameters:
        level, gamma, eta = (
            parts[prefix + name][chain][0] for name in ("level_prior", "gamma", "eta")
        )
        return Hyperparameters(level, float(gamma), float(eta))

    now, best = [], []
    for number in range(n_chains):
        counts = {name: parts[name][number] for name in Chain._fields[:-1]}
        chain, slot = Chain(**counts, first=arrays["first"]), parts["best_slot"][number]
        level, drawn = parts["best_level"][number], prior("best_", number)
        numbers = (float(parts[name][number][0]) for name in ("best_try", "try_sum"))
        now.append(State(chain, prior("", number), Tries(slot, level, drawn, *numbers)))
        ends = np.cumsum(slot.max(axis=0, initial=0) + 1)
        first = np.concatenate([[0], ends]).astype(np.int64)
        path = (slot + first[:-1]).astype(np.int32)
        relative = chain._replace(path=path, level=level, first=first)
        best.append(keep(State(relative, drawn, now[-1].tries)))
    scores = np.array(arrays["best_log_joint"])
    return Chains(now, best if np.isfinite(scores).all() else [], scores)
