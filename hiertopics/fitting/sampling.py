"""What a sampler keeps besides the run's tree: its draws, and how its chains agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hiertopics.errors import UsageError
from hiertopics.fitting import diagnostics
from hiertopics.fitting.loop import Callback, Event
from hiertopics.fitting.support import split_probability
from hiertopics.model import AnyBackend, AnySettings, Context, PerChain, Summary
from hiertopics.runs import artifacts
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.config import SamplerConfig


@dataclass(frozen=True)
class Sampling:
    """The draws of one fit. data: what the backend prepared. context: of an iteration."""

    run: RunDir
    backend: AnyBackend
    settings: AnySettings
    data: object
    context: Callable[[int], Context]

    def per_chain(self, event: Event) -> PerChain | None:
        """Return what several chains are compared by; None where one runs alone."""
        if self.backend.per_chain is None:
            return None
        found = self.backend.per_chain(
            event.state, self.data, self.settings, self.context(event.iteration)
        )
        return found if len(found.traces["objective"]) > 1 else None

    def draws(self, finish: Callable[[Summary], Summary]) -> Callback:
        """Keep each ``keep_every``-th draw after ``burn_in`` iterations, as ``finish`` makes it."""
        schedule = self.settings.inference
        assert isinstance(schedule, SamplerConfig), "a sampler has a schedule of draws"

        def watch(event: Event) -> None:
            past = event.iteration - schedule.burn_in
            if past > 0 and past % schedule.keep_every == 0:
                chains = self.per_chain(event)
                paths = None if chains is None else chains.paths
                draw = finish(self._draw(event))
                artifacts.write_draw(self.run, event.iteration, draw, paths)

        return watch

    def with_splits(self, summary: Summary, event: Event, n_tokens: NDArray[np.int64]) -> Summary:
        """Return the summary with the support that the draws of several chains give its nodes.

        n_tokens: of each document; those without a word are left out, since they sit anywhere.
        """
        if summary.paths is None or self.per_chain(event) is None:
            return summary
        docs = np.flatnonzero(n_tokens)
        draws = (paths[docs] for paths in self.run.drawn_paths(event.iteration))
        splits = split_probability(summary.paths.node[docs], summary.tree.n_nodes, draws)
        return replace(summary, tree=replace(summary.tree, split_probability=splits))

    def diagnoses(self, say: Callable[[str], None]) -> list[dict[str, Any]]:
        """Return R-hat and ESS of the run's traces; of several chains they are told as well."""
        try:
            found = diagnostics.diagnose(self.run)
        except UsageError as error:
            if getattr(self.settings.inference, "chains", 1) > 1:
                say(f"note: {error}")
            return []
        for diagnosis in found if any(each.n_chains > 1 for each in found) else ():
            name = self.backend.objective_name if diagnosis.trace == "objective" else None
            say(diagnosis.told(name))
            if diagnosis.problem is not None:
                say(f"note: {name or diagnosis.trace}: {diagnosis.problem}")
        return [diagnosis._asdict() for diagnosis in found]

    def _draw(self, event: Event) -> Summary:
        """Return the current draw; a sampler may summarise another one, and then has ``draw``."""
        draw = self.backend.draw or self.backend.summarise
        return draw(event.state, self.data, self.settings, self.context(event.iteration))
