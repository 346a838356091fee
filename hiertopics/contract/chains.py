"""Several chains of a sampler side by side, built from any sampler of one chain.

Chains see nothing of each other: each is the chain alone under random numbers of its own, and
their states are never copied together. What they say of one another is told by ``per_chain``; a
summary is that of the most probable one, now or, with ``inference.summarise: map``, at its best
draw after the burn-in.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, TypeVar, cast, get_type_hints

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.base.axes import Axes, Lengths, declared, require_type
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Backend, Context, PerChain, Settings, Summary
from hiertopics.contract.states import (
    Arrays,
    MisnamedError,
    check,
    placed,
    refuse_flaw,
    restored,
    to_arrays,
)
from hiertopics.settings.config import SamplerConfig

SeenT = TypeVar("SeenT")
DataT = TypeVar("DataT")
StateT = TypeVar("StateT")
Result = TypeVar("Result")
SettingsT = TypeVar("SettingsT", bound=Settings[Any, SamplerConfig])


OWN = (
    *("init", "step", "summarise", "draw", "per_chain", "objective", "memory"),
    *("migrate_state", "check", "restore"),
)
"""The functions that are not those of one chain."""


@dataclass
class Chains(Generic[StateT]):
    """The states of several chains, and of each its best draw.

    best: what is kept of them, as many as chains or none yet. best_score: float64 [n_chains].
    """

    now: list[StateT]
    best: list[StateT]
    best_score: Annotated[F64, Axes("chains", finite=False)]


def begin(states: list[StateT]) -> Chains[StateT]:
    """Return chains that have no best draw yet."""
    return Chains(states, [], np.full(len(states), -np.inf))


@dataclass(frozen=True)
class ChainedBackend(Generic[SeenT, DataT, StateT, SettingsT]):
    """The functions of a backend of several chains; see ``chains``."""

    one: Backend[SeenT, DataT, StateT, SettingsT]
    score: Callable[[StateT, Any], float] | None
    keep: Callable[[StateT], StateT]
    revive: Callable[[StateT, DataT], StateT]
    numbered: bool
    before: Callable[[Arrays, Settings], Chains[StateT]] | None

    @property
    def State(self) -> Any:
        """The type of the states."""
        return Chains[self.one.State]  # type: ignore[name-defined]

    def init(self, data: DataT, settings: SettingsT, context: Context) -> Chains[StateT]:
        """Return the first states."""

        def start(_: int, own: Context) -> StateT:
            return self.one.init(data, settings, own)

        return begin(self._each(settings.inference.chains, start, settings, context))

    def extend_state(
        self, before: Arrays, data: DataT, settings: SettingsT, context: Context
    ) -> Chains[StateT]:
        """Return the states with which each chain of an earlier fit goes on."""
        of_one, states = self.one.extend_state, _by_state(before)
        assert of_one is not None, "only what can go on is asked to"

        def go_on(chain: int, own: Context) -> StateT:
            return of_one(states[f"now.{chain}"], data, settings, own)

        return begin(self._each(settings.inference.chains, go_on, settings, context))

    def step(
        self, state: Chains[StateT], data: DataT, settings: SettingsT, context: Context
    ) -> tuple[Chains[StateT], Any]:
        """Move every chain; report the columns of the first chain, and sums of additive columns."""
        inference = settings.inference
        asked = inference.summarise == "map" and context.iteration > inference.burn_in

        def advance(chain: int, own: Context) -> tuple[StateT, Any, float, StateT | None]:
            now, info = self.one.step(state.now[chain], data, settings, own)
            if not asked:
                return now, info, -np.inf, None
            score = self._score(now, info, data, settings, own)
            better = not state.best or score > state.best_score[chain]
            return now, info, score, self.keep(now) if better else None

        moved = self._each(len(state.now), advance, settings, context)
        for chain, (now, _, score, kept) in enumerate(moved):
            state.now[chain] = now
            if kept is not None:
                state.best[chain : chain + 1] = [kept]
                state.best_score[chain] = score
        infos = [info for _, info, _, _ in moved]
        return state, infos[0]._replace(moved=sum(info.moved for info in infos))

    def summarise(
        self, state: Chains[StateT], data: DataT, settings: SettingsT, context: Context
    ) -> Summary:
        """Return the draw that ``inference.summarise`` asks for; the last where none is best yet.

        Of several chains it is that of the chain where this draw is the most probable.
        """
        if settings.inference.summarise != "map" or not state.best:
            return self.draw(state, data, settings, context)
        best = self.revive(state.best[int(state.best_score.argmax())], data)
        return self.one.summarise(best, data, settings, context)

    def draw(
        self, state: Chains[StateT], data: DataT, settings: SettingsT, context: Context
    ) -> Summary:
        """Return the current draw; with several chains, the most probable one."""
        chain = 0
        if len(state.now) > 1:
            told = self.per_chain(state, data, settings, context)
            chain = int(np.argmax(told.traces["objective"]))
        return self.one.summarise(state.now[chain], data, settings, context)

    def per_chain(
        self, state: Chains[StateT], data: DataT, settings: SettingsT, context: Context
    ) -> PerChain:
        """Return the numbers by which chains are compared, with paths padded to the deepest."""
        of_one = self.one.per_chain
        assert of_one is not None, "a sampler tells what its chains are compared by"

        def tell(chain: int, own: Context) -> PerChain:
            return of_one(state.now[chain], data, settings, own)

        told = self._each(len(state.now), tell, settings, context)
        traces = {name: [each.traces[name][0] for each in told] for name in told[0].traces}
        paths = [each.paths[0] for each in told if each.paths is not None]
        if not paths:
            return PerChain(traces)
        deepest = max(path.shape[1] for path in paths)
        beyond = [((0, 0), (0, deepest - path.shape[1])) for path in paths]
        padded = [np.pad(p, b, constant_values=-1) for p, b in zip(paths, beyond, strict=True)]
        return PerChain(traces, np.stack(padded))

    def objective(
        self, state: Chains[StateT], data: DataT, settings: SettingsT, context: Context
    ) -> float:
        """Return the objective; with several chains, their mean."""

        def of_one(chain: int, own: Context) -> float:
            return self.one.objective(state.now[chain], data, settings, own)

        return float(np.mean(self._each(len(state.now), of_one, settings, context)))

    def memory(self, corpus: SeenT, settings: SettingsT) -> int:
        """Return the bytes of the largest arrays of all chains."""
        return int(settings.inference.chains) * self.one.memory(corpus, settings)

    def memory_from(self, state: Chains[StateT], corpus: SeenT, settings: SettingsT) -> int:
        """Return the bytes of the largest arrays of all chains that go on from these."""
        of_one = self.one.memory_from
        assert of_one is not None, "only what grows is asked"
        return sum(of_one(now, corpus, settings) for now in state.now)

    def migrate_state(self, arrays: Arrays, settings: SettingsT) -> Arrays:
        """Return the arrays of a checkpoint, also of one from before chains ran side by side."""
        if not any(name.startswith("now.") for name in arrays):
            if self.before is not None:
                return to_arrays(self.before(arrays, settings))
            arrays = {f"now.0.{name}": array for name, array in arrays.items()}
            arrays["best_score"] = np.full(1, -np.inf)
        found = {name: array for name, array in arrays.items() if "." not in name}
        for state, own in _by_state(arrays).items():
            migrated = self.one.migrate_state(own, settings)
            found |= {f"{state}.{name}": array for name, array in migrated.items()}
        return found

    def check(self, arrays: Arrays, lengths: Lengths) -> None:
        """Raise ValueError for arrays that are not those of chains (see ``migrate_state``)."""
        states = _by_state(arrays)
        n_chains = sum(state.startswith("now.") for state in states)
        now = {f"now.{chain}" for chain in range(n_chains)}
        best = {f"best.{chain}" for chain in range(n_chains)}
        if {*states} not in (now, now | best) or not n_chains:
            raise MisnamedError("chains that are not all there")
        if {name for name in arrays if "." not in name} != {"best_score"}:
            raise MisnamedError("other arrays than those of chains")
        told = declared(get_type_hints(Chains, include_extras=True)["best_score"])
        require_type("best_score", arrays["best_score"], told)
        assert told.axes is not None
        told.axes.bind("best_score", arrays["best_score"], lengths)
        if lengths["chains"] != n_chains:
            raise ValueError(f"{n_chains} chains, not {lengths['chains']}")
        for name, own in states.items():
            try:
                check(self.one, own, dict(lengths))
            except MisnamedError:
                raise
            except ValueError as error:
                raise ValueError(f"{error} ({name})") from error

    def restore(
        self, arrays: Arrays, data: DataT, settings: SettingsT, context: Context
    ) -> Chains[StateT]:
        """Return the saved chains, with the local state of each placed again."""
        states = _by_state(arrays)
        n_chains = len(arrays["best_score"])

        def restore(which: str) -> list[StateT]:
            def of_one(chain: int, own: Context) -> StateT:
                found = states[f"{which}.{chain}"]
                if which == "now":
                    return cast("StateT", restored(self.one, found, data, settings, own))
                kept = cast("StateT", placed(self.one, found, data, own))
                refuse_flaw(self.one, self.revive(kept, data), data, settings)
                return kept

            return self._each(n_chains, of_one, settings, context)

        best = restore("best") if "best.0" in states else []
        return Chains(restore("now"), best, arrays["best_score"])

    def _each(
        self,
        n_chains: int,
        function: Callable[[int, Context], Result],
        settings: SettingsT,
        context: Context,
    ) -> list[Result]:
        """Apply ``function`` to each chain and its context.

        The workers share the chains, or the shards of one chain after the other: a pool must not
        wait for itself. Neither changes a random number.
        """
        own = [replace(context, chain=self._key(chain)) for chain in range(n_chains)]
        if n_chains == 1 or n_chains < min(settings.inference.shards, context.workers.n_workers):
            return [function(chain, alone) for chain, alone in enumerate(own)]
        nobody = Workers()

        def apply(chain: int) -> Result:
            return function(chain, replace(own[chain], workers=nobody))

        return context.map(apply, range(n_chains))

    def _key(self, chain: int) -> tuple[int, ...]:
        return (chain,) if chain or self.numbered else ()

    def _score(
        self, state: StateT, info: Any, data: DataT, settings: SettingsT, context: Context
    ) -> float:
        if self.score is None:
            return self.one.objective(state, data, settings, context)
        return self.score(state, info)


def _by_state(arrays: Arrays) -> dict[str, Arrays]:
    """Return the arrays of each state, ``now.0`` or ``best.0``, by their names in it."""
    found: dict[str, Arrays] = defaultdict(dict)
    for name, array in arrays.items():
        if "." in name:
            which, chain, own = name.split(".", 2)
            found[f"{which}.{chain}"][own] = array
    return found


def chains(
    one: Backend[SeenT, DataT, StateT, SettingsT],
    *,
    score: Callable[[StateT, Any], float] | None = None,
    keep: Callable[[StateT], StateT] = copy.deepcopy,
    revive: Callable[[StateT, DataT], StateT] = lambda kept, data: kept,
    numbered: bool = False,
    before: Callable[[Arrays, Settings], Chains[StateT]] | None = None,
) -> Backend[SeenT, DataT, Chains[StateT], SettingsT]:
    """Return the one-chain sampler ``one`` as a sampler of ``inference.chains`` chains.

    ``one`` summarises its current draw, tells by ``per_chain`` what its chain is compared by, and
    has a column ``moved``, which adds up. Chain i of several is ``one`` with i before the key of
    each generator, the first chain that of a chain alone.

    score: of a state and its Info, by which draws are compared; None: the objective. keep, revive:
    what is kept of the best draw, and a state again. numbered: the first chain puts its number
    before its keys, too. before: reads checkpoints of an earlier layout; None: they were states of
    one chain.
    """
    several = ChainedBackend(one, score, keep, revive, numbered, before)
    own: dict[str, Any] = {name: getattr(several, name) for name in OWN}
    for name in ("extend_state", "memory_from"):
        if getattr(one, name) is not None:
            own[name] = getattr(several, name)
    made = replace(one, **own, State=several.State, sampler=True, flaw=None)
    return cast("Backend[SeenT, DataT, Chains[StateT], SettingsT]", made)
