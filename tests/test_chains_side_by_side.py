"""Several chains of a sampler: each is the chain alone, and the best draw is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import sparse
from stepping import SERIAL, at
from tiny import hand_made

from hiertopics.base.arrays import F64, I64
from hiertopics.contract import registry
from hiertopics.contract.chains import Chains, chains
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Backend, Context, PerChain, Posterior, Settings, Summary
from hiertopics.contract.states import check, from_arrays, lengths_of, restored, to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import NODE, ROOT, Tree
from hiertopics.corpus.data.vectors import Vectors, default_columns
from hiertopics.fitting.diagnostics import diagnosis, traces
from hiertopics.runs.experiment import read_experiment
from hiertopics.settings.config import SamplerConfig
from hiertopics.testing.bench import cases_of_backend

SAMPLERS = [name for name in registry.BACKENDS if registry.load(name).sampler]
WAYS = [case for name in SAMPLERS for case in cases_of_backend(name)]
"""Each sampler under its defaults and under each setting that chooses another algorithm."""

NUMBERED = ("hlda-gibbs", "tssb-mcmc")
"""The first chain, too, puts its number before its keys."""

ITERATIONS, N_CHAINS = 5, 3
COUNTED = ("n_wk", "n_dl", "z", "node")
"""Arrays that say where tokens or documents are."""

Bits = dict[str, tuple[object, ...]]


def bits(state: Any) -> Bits:
    """Return a state as bytes, array by array."""
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in to_arrays(state).items()}


def settings_of(name: str, small: Callable[[str], tuple[str, ...]], *overrides: str) -> Settings:
    experiment = read_experiment({"backend": name}, None, (*small(name), *overrides))
    return Settings(experiment.model, experiment.inference)


def loaded(name: str, settings: Settings) -> Any:
    """Return the backend of a name under these settings."""
    return registry.load(name, model=settings.model, inference=settings.inference)


def corpus_for(backend: Any) -> Corpus | Vectors:
    """Return the corpus by hand, or which words its documents have as rows of 0 and 1."""
    if backend.observes == "counts":
        return hand_made()
    return Vectors((hand_made().counts.toarray() > 0).astype(float), default_columns(9))


def of_one_chain(backend: Any) -> Any:
    """Return the sampler of a single chain that ``chains`` has made this one of."""
    return backend.step.__self__.one


def fitted(name: str, settings: Settings, n_workers: int = 1) -> Chains[Any]:
    """Return the state of a sampler after some iterations."""
    backend = loaded(name, settings)
    with Workers(n_workers) as workers:
        data = backend.prepare(corpus_for(backend), settings)
        state: Any = backend.init(data, settings, at(0, workers=workers))
        for iteration in range(1, ITERATIONS + 1):
            context = at(iteration, workers=workers)
            state, _ = backend.step(state, data, settings, context)
    return state


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_each_chain_is_the_chain_alone_under_keys_of_its_own(
    way: tuple[str, ...], small: Any
) -> None:
    """Stepped by the functions of one chain, without the others; the first is that of one chain."""
    name, *how = way
    settings = settings_of(name, small, f"inference.chains={N_CHAINS}", *how)
    beside = fitted(name, settings)
    assert len(beside.now) == N_CHAINS
    one = of_one_chain(loaded(name, settings))
    data = one.prepare(corpus_for(one), settings)
    for number, now in enumerate(beside.now):
        key = (number,) if number or name in NUMBERED else ()
        state = one.init(data, settings, Context(0, 0, SERIAL, chain=key))
        for iteration in range(1, ITERATIONS + 1):
            context = Context(0, iteration, SERIAL, chain=key)
            state, _ = one.step(state, data, settings, context)
        assert bits(state) == bits(now), number
    alone = fitted(name, settings_of(name, small, *how))
    assert bits(alone.now[0]) == bits(beside.now[0])
    assert len({str(bits(now)) for now in beside.now}) == N_CHAINS


@pytest.mark.parametrize("way", WAYS, ids=" ".join)
def test_chains_that_begin_alike_go_apart(way: tuple[str, ...], small: Any) -> None:
    """One state, moved once under the keys of two chains: no table of counts, nor tree, is one."""
    name, *how = way
    settings = settings_of(name, small, *how)
    one = of_one_chain(loaded(name, settings))
    data = one.prepare(corpus_for(one), settings)
    state = fitted(name, settings).now[0]
    moved = []
    for number in (1, 2):
        context = Context(0, ITERATIONS + 1, SERIAL, chain=(number,))
        now, _ = one.step(copy.deepcopy(state), data, settings, context)
        counts = {k: v for k, v in bits(now).items() if k.split(".")[-1] in COUNTED}
        assert counts
        moved.append(counts)
    assert moved[0] != moved[1]


@pytest.mark.parametrize(
    ("way", "shards"),
    [(way, n) for way in WAYS for n in (1, 2) if n == 1 or "sampler=irp" not in way[-1]],
    ids=str,
)
def test_workers_change_no_byte_of_any_chain(way: tuple[str, ...], shards: int, small: Any) -> None:
    """Fewer workers than chains, and more; with two shards and four workers each chain has them."""
    name, *how = way
    overrides = (
        "inference.chains=3",
        f"inference.shards={shards}",
        "inference.summarise=map",
        *how,
    )
    settings = settings_of(name, small, *overrides)
    found = [bits(fitted(name, settings, n_workers)) for n_workers in (1, 2, 4)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("name", SAMPLERS)
def test_chains_come_back_from_their_arrays(name: str, small: Any) -> None:
    """With best draws and without."""
    backend = registry.load(name)
    for best in ("map", "last"):
        settings = settings_of(name, small, "inference.chains=2", f"inference.summarise={best}")
        state = fitted(name, settings)
        assert bool(state.best) == (best == "map")
        arrays = backend.migrate_state(to_arrays(state), settings)
        data = backend.prepare(hand_made(), settings)
        check(backend, arrays, lengths_of(None, settings))
        assert bits(restored(backend, arrays, data, settings, at(0))) == bits(state)
        for left_out in arrays:
            with pytest.raises(ValueError, match=r"\w"):
                kept = {other: arrays[other] for other in arrays if other != left_out}
                check(backend, kept, lengths_of(None, settings))
            with pytest.raises(ValueError, match=r"\w"):
                more = arrays | {f"{left_out}s": arrays[left_out]}
                check(backend, more, lengths_of(None, settings))


@pytest.mark.parametrize("name", SAMPLERS)
def test_the_objective_is_the_mean_and_the_draw_the_most_probable_chain_s(
    name: str, small: Any
) -> None:
    settings = settings_of(name, small, "inference.chains=3")
    backend, state = registry.load(name), fitted(name, settings)
    data = backend.prepare(hand_made(), settings)
    assert backend.per_chain is not None and backend.draw is not None
    scores = backend.per_chain(state, data, settings, at(0)).traces["objective"]
    assert backend.objective(state, data, settings, at(0)) == pytest.approx(np.mean(scores))
    one = of_one_chain(backend)
    best = one.summarise(state.now[int(np.argmax(scores))], data, settings, at(0))
    drawn = backend.draw(state, data, settings, at(0))
    assert (drawn.theta != best.theta).nnz == 0 and len(set(scores)) == 3


class Info(NamedTuple):
    """The columns of the sampler below."""

    place: float
    moved: int


@dataclass
class Walk:
    """Where a walker is: float64 [1], changed in place, so that what is kept must be a copy."""

    place: F64


class Walking(SamplerConfig, frozen=True, kw_only=True):
    """Its schedule."""


def _step(state: Walk, data: None, settings: Settings, context: Context) -> tuple[Walk, Info]:
    state.place += context.rng("step").normal()
    return state, Info(float(state.place[0]), 1)


def _summary(state: Walk, data: None, settings: Settings, context: Context) -> Summary:
    tree = Tree(
        phi=np.ones((1, 1)),
        parent=np.array([ROOT], np.int32),
        kind=np.array([NODE], np.int8),
        weight=np.ones(1),
        n_docs=np.ones(1, np.int64),
        n_tokens=np.ones(1),
        extra={"place": state.place.copy()},
    )
    return Summary(tree, sparse.csr_array(np.ones((1, 1))))


WALKER: Backend[None, None, Walk] = Backend(
    Model=Walking,
    Inference=Walking,
    State=Walk,
    Info=Info,
    objective_name="height",
    prepare=lambda corpus, settings: None,
    init=lambda data, settings, context: Walk(context.rng("init").normal(size=1)),
    step=_step,
    summarise=_summary,
    infer=lambda tree, corpus, settings, context: Posterior(sparse.csr_array(np.ones((1, 1)))),
    objective=lambda state, data, settings, context: -float(state.place[0] ** 2),
    simulate=lambda settings, sizes, context: (None, {}),
    memory=lambda corpus, settings: 10,
    per_chain=lambda state, data, settings, context: PerChain(
        {"objective": [-float(state.place[0] ** 2)], "place": [float(state.place[0])]},
        np.zeros((1, 2, 1 + int(state.place[0] > 0)), np.int32),
    ),
)


def walked(
    n_iterations: int, **schedule: Any
) -> tuple[Any, Settings, list[list[float]], list[Any]]:
    """Return walkers after a walk, their settings, their places as they went, and the Infos."""
    settings = Settings(None, Walking(**schedule))
    backend, places, infos = chains(WALKER), [], []
    state = backend.init(None, settings, at(0))
    for iteration in range(1, n_iterations + 1):
        state, info = backend.step(state, None, settings, at(iteration))
        places.append([float(now.place[0]) for now in state.now])
        infos.append(info)
    return state, settings, places, infos


def place_of(summary: Summary) -> float:
    return float(summary.tree.extra["place"][0])


def test_the_best_draw_is_the_best_of_all_chains_after_the_burn_in() -> None:
    state, settings, places, _ = walked(30, chains=4, burn_in=10, summarise="map")
    heights = -(np.array(places[10:]) ** 2)
    assert state.best_score == pytest.approx(heights.max(axis=0))
    best = np.array(places[10:]).ravel()[heights.argmax()]
    assert place_of(chains(WALKER).summarise(state, None, settings, at(30))) == best
    draw = chains(WALKER).draw
    assert draw is not None
    assert place_of(draw(state, None, settings, at(30))) == min(places[-1], key=abs)
    assert heights.max() > -(np.array(places[-1]) ** 2).max()


def test_nothing_is_kept_before_the_burn_in_ends_nor_where_the_last_draw_is_asked_for() -> None:
    for schedule in ({"burn_in": 10, "summarise": "map"}, {"burn_in": 0, "summarise": "last"}):
        state, settings, places, _ = walked(10, chains=2, **schedule)
        assert state.best == []
        found = chains(WALKER).summarise(state, None, settings, at(10))
        assert place_of(found) == min(places[-1], key=abs)


def test_columns_are_those_of_the_first_chain_and_moves_add_up() -> None:
    _, _, places, infos = walked(5, chains=3)
    assert [info.place for info in infos] == [row[0] for row in places]
    assert {info.moved for info in infos} == {3}


def test_what_is_counted_before_a_fit_is_counted_for_every_chain() -> None:
    assert chains(WALKER).memory(None, Settings(None, Walking(chains=3))) == 30


def test_paths_of_unequal_depth_are_padded() -> None:
    state, settings, _, _ = walked(3, chains=6)
    told = chains(WALKER).per_chain(state, None, settings, at(3))  # type: ignore[misc]
    deep = np.array(told.traces["place"]) > 0
    assert deep.any() and not deep.all() and told.paths is not None
    assert (told.paths[:, :, 0] == 0).all()
    assert ((told.paths[:, :, 1] == -1) == ~deep[:, None]).all()


def test_r_hat_of_the_traces_is_that_of_the_textbook() -> None:
    """Between and within variances of half chains, of their normal scores and of folded ones."""
    settings = Settings(None, Walking(chains=3))
    backend, rows = chains(WALKER), []
    state = backend.init(None, settings, at(0))
    for iteration in range(1, 41):
        state, info = backend.step(state, None, settings, at(iteration))
        told = backend.per_chain(state, None, settings, at(iteration))  # type: ignore[misc]
        rows.append({"iteration": iteration, **info._asdict(), "chains": dict(told.traces)})
    values = traces(rows, burn_in=10, record_every=1)["place"]
    assert values.shape == (3, 30)
    found = diagnosis("place", values)
    assert found.r_hat == pytest.approx(max(r_hat(values), r_hat(folded(values))), rel=1e-10)
    assert found.r_hat is not None and found.r_hat > 1.5 and found.n_chains == 3
    assert found.ess_bulk == float(
        array_stats.ess(values, chain_axis=0, draw_axis=1, method="bulk")
    )


def folded(values: F64) -> F64:
    return np.abs(values - np.median(values))


def r_hat(values: F64) -> float:
    """Return split R-hat of normal scores (Vehtari et al. 2021, equations 3, 4 and 14)."""
    from scipy.stats import norm, rankdata

    half = values.shape[1] // 2
    split = np.concatenate([values[:, :half], values[:, half:]])
    z = norm.ppf((rankdata(split) - 3 / 8) / (split.size + 1 / 4)).reshape(split.shape)
    between = half * z.mean(axis=1).var(ddof=1)
    within = z.var(axis=1, ddof=1).mean()
    return float(np.sqrt(((half - 1) / half * within + between / half) / within))


def test_a_chain_that_is_stepped_does_not_touch_the_others() -> None:
    settings = Settings(None, Walking(chains=2))
    state = chains(WALKER).init(None, settings, at(0))
    before = copy.deepcopy(state.now[1])
    WALKER.step(state.now[0], None, settings, replace(at(1), chain=(7,)))
    assert bits(state.now[1]) == bits(before)


@dataclass
class Inner:
    """A record in a state."""

    counts: I64
    name: str


@dataclass
class Outer:
    """A state with a record and a list of records."""

    alpha: float
    one: Inner
    more: list[Inner]


def test_a_state_of_records_comes_back_from_its_arrays() -> None:
    inner = [Inner(np.arange(n), f"i{n}") for n in range(12)]
    state = Outer(0.5, inner[3], inner)
    arrays = to_arrays(state)
    assert {"alpha", "one.counts", "more.0.name", "more.11.counts"} <= set(arrays)
    again = from_arrays(Outer, arrays)
    assert bits(again) == bits(state) and isinstance(again.alpha, float)
    assert [each.name for each in again.more] == [f"i{n}" for n in range(12)]
    assert from_arrays(Outer, to_arrays(Outer(1.0, inner[0], []))).more == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda arrays: arrays.pop("one.name"), "no one.name"),
        (lambda arrays: arrays.update({"two.name": np.ones(2)}), "two.name besides"),
        (lambda arrays: arrays.pop("more.1.name"), "no more.1.name"),
    ],
)
def test_arrays_of_another_state_are_refused(change: Any, what: str) -> None:
    arrays = to_arrays(Outer(0.5, Inner(np.arange(2), "x"), [Inner(np.ones(1, int), "y")] * 2))
    change(arrays)
    with pytest.raises(ValueError, match=what):
        from_arrays(Outer, arrays)
