"""The price of a tree's shape: the loss in prediction beside a fit without that shape.

Above the topics of a fitted tree another shape looks dear whatever it is, since the topics have
settled under their own; and of short fits most of the time goes into their starts. So the tree that
is free in its shape is fitted as the run was, where that takes seconds (docs/nhdp.md).
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from msgspec import structs

from hiertopics.contract import Context, Settings, Workers, registry
from hiertopics.corpus.data.shelf import Shelf
from hiertopics.fitting.consensus import with_bins
from hiertopics.fitting.reshaping import Reshaping, written
from hiertopics.runs.inmemoryfits import fitted_in_memory
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.comparison import lost
from hiertopics.scoring.evaluation import held_out_arrays

SHAPING = ("branches", "least_children")
"""Settings of a model that ask for a shape."""

MOST_PAIRS = 100_000
"""Most pairs of document and word of a corpus that is priced: about ten seconds of a processor."""


class Price(NamedTuple):
    """By how many nats per held-out word a run is behind the tree that is free in its shape.

    error: standard error of the difference over documents. settings: those that ask for the shape.
    """

    nats: float
    error: float | None
    settings: tuple[str, ...]

    def __str__(self) -> str:
        error = "" if self.error is None else f" +- {self.error:.4f}"
        return (
            f"price of the shape: {self.nats:+.4f}{error} nats per held-out word, beside the same "
            f"fit without {' and '.join(self.settings)}"
        )


def free_shape(run: RunDir) -> dict[str, Any]:
    """Return the settings of a run's model that ask for a shape, with values that leave it free."""
    model = run.experiment.model
    free = {field.name: field.default for field in structs.fields(model) if field.name in SHAPING}
    return {name: value for name, value in free.items() if getattr(model, name) != value}


def price(run: RunDir, workers: int = 1) -> Price | None:
    """Return the price of the shape that a run's settings ask for.

    A tree that is free in its shape is fitted to the documents of the run, by its settings and
    seed, and both are scored on what the run put aside. Neither tree nor scores are kept. None
    where no shape is asked for, nothing was put aside, the backend is a sampler, or the corpus is
    large.

    Raises DataError where the corpus is gone.
    """
    free, experiment = free_shape(run), run.experiment
    if not free or not len(run.split.heldout_docs) or registry.load_for(experiment).sampler:
        return None
    train = read_original(run).train
    if isinstance(train, Shelf) or train.n_pairs > MOST_PAIRS:
        return None
    began = time.perf_counter()
    model = structs.replace(experiment.model, **free)
    settings = Settings(model, experiment.inference)
    changed = structs.replace(experiment, model=model)
    with Workers(workers) as pool:
        first = Context(experiment.seed, 0, pool)
        summary = fitted_in_memory(changed, train, settings, first, run.manifest["iterations"])
    made = Reshaping(with_bins(summary, run), {}, "price", began)
    with TemporaryDirectory(prefix="hiertopics-") as folder:
        other = written(run, made, Path(folder) / "free", ()).run
        behind = lost(held_out_arrays(run, workers), held_out_arrays(other, workers))
    names = tuple(f"model.{name}" for name in free)
    return Price(behind.log_likelihood_per_word, behind.standard_error, names)
