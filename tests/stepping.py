"""What tests of methods share: the corpus of rows, the settings of keys, steps without a run."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import structs

from hiertopics.contract.engine import Engine, Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.testing.corpora import corpus_of as corpus_of

SERIAL = Workers()


def docs_of(corpus: Corpus) -> list[list[int]]:
    """Return the word of each token, ascending, document by document."""
    return [np.repeat(np.arange(corpus.n_words), row).tolist() for row in corpus.counts.toarray()]


def settings_of(backend: Any, **keys: Any) -> Settings:
    """Return settings with ``keys`` of the backend's Model or Inference record."""
    names = {field.name for field in structs.fields(backend.Model)}
    model = {name: value for name, value in keys.items() if name in names}
    inference = {name: value for name, value in keys.items() if name not in names}
    return Settings(backend.Model(**model), backend.Inference(**inference))


def at(iteration: int, *, seed: int = 0, workers: Engine = SERIAL) -> Context:
    """Return the context of an iteration."""
    return Context(seed, iteration, workers)


def twins(kernel: Any) -> tuple[Any, Any]:
    """Return a kernel and the Python function that it was compiled from."""
    return kernel, kernel.py_func


def begin(
    backend: Any,
    corpus: Any,
    settings: Settings,
    *,
    seed: int = 0,
    workers: Engine = SERIAL,
) -> tuple[Any, Any]:
    """Return the first state and the data laid out."""
    data = backend.prepare(corpus, settings)
    return backend.init(data, settings, at(0, seed=seed, workers=workers)), data


def advance(
    backend: Any,
    state: Any,
    data: Any,
    settings: Settings,
    iterations: int,
    *,
    start: int = 0,
    seed: int = 0,
    workers: Engine = SERIAL,
) -> Any:
    """Return the state after iterations start + 1 .. start + iterations."""
    for iteration in range(start + 1, start + iterations + 1):
        context = at(iteration, seed=seed, workers=workers)
        state, _ = backend.step(state, data, settings, context)
    return state


def fitted(backend: Any, corpus: Any, n_iterations: int, **keys: Any) -> tuple[Any, Any, Settings]:
    """Return the state after some iterations under ``keys``, the data and the settings."""
    settings = settings_of(backend, **keys)
    state, data = begin(backend, corpus, settings)
    return advance(backend, state, data, settings, n_iterations), data, settings


def same_arrays(found: Any, plain: Any) -> None:
    """Require that all arrays of a plain state are in another one, bit by bit."""
    arrays, others = to_arrays(found), to_arrays(plain)
    assert {name: array.tobytes() for name, array in others.items()} == {
        name: arrays[name].tobytes() for name in others
    }
