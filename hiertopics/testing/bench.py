"""A backend on the test bench: small settings, states made and moved without any run directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from hiertopics.contract import (
    Context,
    Engine,
    Settings,
    Sizes,
    Summary,
    Workers,
    kind_of,
    registry,
)
from hiertopics.contract.states import restored, to_arrays
from hiertopics.corpus.data import Corpus, to_vectors
from hiertopics.runs.experiment import read_experiment
from hiertopics.testing.small import small_settings

Case = tuple[str, ...]
"""A backend and settings of it, written as for ``-s``."""


def cases_of_backend(name: str, overrides: tuple[str, ...] = ()) -> list[Case]:
    """Return a backend's cases: its default, and the setting of each variant with a module."""
    return [(name, *overrides, *settings) for settings in registry.BACKENDS[name].settings]


ALL = [case for name in registry.BACKENDS for case in cases_of_backend(name)]
"""Every backend and every variant."""

PROMISING = [
    *ALL,
    ("hlda-variational", "inference.mode=meanfield"),
    ("hlda-variational", "inference.moves=none"),
    ("hca-variational", "inference.mode=meanfield"),
]
"""Cases that promise a bound are among these."""

_SUMMARIES: dict[tuple[str, str], Summary] = {}
SIZES = Sizes(n_docs=11, n_words=17, doc_length=23)


@dataclass(frozen=True)
class Bench:
    """A backend under settings; ``shards`` and the like are changed by ``having``."""

    name: str
    settings: Settings
    small: tuple[str, ...]

    @property
    def module(self) -> Any:
        """The backend."""
        return registry.load(
            self.name, model=self.settings.model, inference=self.settings.inference
        )

    @property
    def tells_documents_apart(self) -> bool:
        """Whether the backend draws, and gives two documents two answers."""
        return self.name != "multinomial"

    @property
    def of_vectors(self) -> bool:
        """Whether the backend observes rows of numbers."""
        return kind_of(self.name, self.settings.model) != "counts"

    @property
    def has_paths(self) -> bool:
        """Whether a document is at one node, or at the nodes of one path."""
        return self.name.startswith(("hlda-", "hca-", "tssb-"))

    @property
    def counts_tokens(self) -> bool:
        """Whether counts are of tokens; under bursts they are of tables, which are fewer."""
        return bool(getattr(self.settings.model, "bursts", "none") == "none")

    @property
    def most_shards(self) -> int:
        """How many shards the backend can be asked for: a restaurant is not cut into parts."""
        return 1 if "inference.sampler=irp" in self.small else 1000

    def seen(self, corpus: Any) -> Any:
        """Return a corpus in the form that the backend observes: counts, a table, or signs."""
        if not self.of_vectors or not isinstance(corpus, Corpus):
            return corpus
        table = to_vectors(corpus)
        if self.module.observes != "bits":
            return table
        return replace(table, rows=(table.rows > 0).astype(float))

    def prepare(self, corpus: Corpus) -> Any:
        """Return the corpus laid out."""
        return self.module.prepare(self.seen(corpus), self.settings)

    def having(self, *overrides: str) -> Bench:
        """Return the backend under other settings."""
        experiment = read_experiment({"backend": self.name}, None, (*self.small, *overrides))
        settings = Settings(experiment.model, experiment.inference)
        return Bench(self.name, settings, self.small)

    def simulate(self, sizes: Sizes = SIZES, seed: int = 3) -> Corpus:
        """Return a corpus from the backend's own generative story."""
        corpus: Corpus
        corpus, _ = self.module.simulate(self.settings, sizes, Context(seed, 0, Workers()))
        return corpus

    def start(self, corpus: Corpus, seed: int = 0, engine: Engine | None = None) -> tuple[Any, Any]:
        """Return the laid out corpus and the first state, placed on an engine (None: here)."""
        data = self.prepare(corpus)
        context = Context(seed, 0, engine or Workers())
        return data, self.module.init(data, self.settings, context)

    def step(
        self, state: Any, data: Any, iteration: int, seed: int = 0, engine: Engine | None = None
    ) -> Any:
        """Return (state, info) after one iteration."""
        context = Context(seed, iteration, engine or Workers())
        return self.module.step(state, data, self.settings, context)

    def fit(
        self, corpus: Corpus, iterations: int = 6, seed: int = 0, engine: Engine | None = None
    ) -> tuple[Any, Any]:
        """Return the laid out corpus and the state after some iterations."""
        data, state = self.start(corpus, seed, engine)
        for iteration in range(1, iterations + 1):
            state, _ = self.step(state, data, iteration, seed, engine)
        return data, state

    def restored(self, arrays: dict[str, Any], data: Any) -> Any:
        """Return the state that a checkpoint holds."""
        context = Context(0, 0, Workers())
        return restored(self.module, arrays, data, self.settings, context)

    def objective(self, state: Any, data: Any, engine: Engine | None = None) -> Any:
        """Return the objective from scratch."""
        return self.module.objective(state, data, self.settings, Context(0, 0, engine or Workers()))

    def summarise(self, corpus: Corpus, iterations: int = 6) -> Summary:
        """Return the summary of a fit."""
        data, state = self.fit(corpus, iterations)
        return self.summary_of(state, data)

    def summary(self, corpus: Corpus) -> Summary:
        """Return ``summarise`` of the fixture ``corpus``: made once, and not to be changed."""
        key = (self.name, repr(self.settings))
        if key not in _SUMMARIES:
            _SUMMARIES[key] = self.summarise(corpus)
        return _SUMMARIES[key]

    def summary_of(self, state: Any, data: Any, engine: Engine | None = None) -> Summary:
        """Return the summary of a state."""
        context = Context(0, 0, engine or Workers())
        summary: Summary = self.module.summarise(state, data, self.settings, context)
        return summary

    def log_density(self, summary: Summary, corpus: Corpus) -> Any:
        """Return the log density of new rows, of a backend that observes vectors."""
        return self.module.log_density(summary.tree, self.seen(corpus), self.settings)

    def infer(self, summary: Summary, corpus: Corpus, workers: int = 1) -> Any:
        """Return the backend's posterior of new documents."""
        with Workers(workers) as pool:
            context = Context(0, 0, pool)
            return self.module.infer(summary.tree, self.seen(corpus), self.settings, context)


def bits(state: Any) -> dict[str, tuple[object, ...]]:
    """Return a state (or any record of arrays) as bytes, array by array."""
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in to_arrays(state).items()}


@cache
def bench_of(case: Case) -> Bench:
    """Return a case under settings that make its fit small; asked of each test of the contract."""
    name, *overrides = case
    return Bench(name, Settings(None, None), (*small_settings(name), *overrides)).having()


def of_those(can: Callable[[Bench], bool]) -> pytest.MarkDecorator:
    """Return the mark of a test that is made only of the backends that can do something."""
    return pytest.mark.of_those.with_args(can)
