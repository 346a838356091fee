"""Fits that write nothing: of shuffled words, of resamples of a run's documents."""

from __future__ import annotations

from typing import Any

from hiertopics.base.errors import NumericalError
from hiertopics.contract import Context, Settings, Summary, registry
from hiertopics.runs.soundness import blamed, check_summary
from hiertopics.settings.config import Experiment


def fitted_in_memory(
    experiment: Experiment, corpus: Any, settings: Settings, first: Context, n_iterations: int
) -> Summary:
    """Return the summary of a fit of the given number of iterations.

    corpus: what the backend of the experiment observes. first: context of the start. Raises
    NumericalError for what is no distribution.
    """
    context = first
    backend = registry.load_suited(experiment, corpus, settings)
    data = backend.prepare(corpus, settings)
    state = backend.init(data, settings, first)
    for iteration in range(1, n_iterations + 1):
        context = Context(first.seed, iteration, first.workers)
        state, _ = backend.step(state, data, settings, context)
    summary: Summary = backend.summarise(state, data, settings, context)
    try:
        check_summary(summary)
    except NumericalError as error:
        raise NumericalError(f"{error}{blamed(experiment, corpus)}") from error
    return summary
