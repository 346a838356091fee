"""``simulate``: a corpus from a backend's own generative story, with the truth beside it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from hiertopics.base import archives, files
from hiertopics.base.errors import UsageError
from hiertopics.contract import Context, Hyperparameters, Settings, Sizes, Workers, registry
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.source import beside
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.experiment import flags_of, read_experiment
from hiertopics.settings.layers import Overrides


class SimulationResult(NamedTuple):
    """The simulated corpus, its file, and the npz file of the true parameters.

    hyperparameters: the names of those that were drawn too.
    """

    corpus: Corpus
    path: Path
    truth: Path
    hyperparameters: tuple[str, ...] = ()


def simulate(
    backend: str,
    output: Path | str,
    *,
    n_docs: int = 500,
    n_words: int = 1000,
    doc_length: int = 100,
    seed: int | None = None,
    config: Path | str | None = None,
    overrides: Overrides = (),
    draw_hyperparameters: bool = False,
) -> SimulationResult:
    """Draw a corpus under a backend's config and write it in the format of ``output``'s suffix.

    The truth (weights, topics, ...: the arrays that the backend's ``simulate`` names) goes to
    ``<stem>.truth.npz``. All files are written or none; the same seed, the same bytes.
    doc_length: tokens per document. seed: None takes the config's own. config: a YAML file.
    overrides: ``key=value`` strings, or a mapping. draw_hyperparameters: draw those, too, that a
    fit with this config would draw, from its own priors; they stand in the truth by their names.
    Raises ConfigError, UsageError (also where the backend has no such priors) or RunError.
    """
    path = Path(output)
    files.require_place(path)
    sizes = Sizes(n_docs, n_words, doc_length)
    for name, size in sizes._asdict().items():
        if size < 1:
            raise UsageError(f"{name} must be >= 1, got {size}")
    experiment = read_experiment(flags_of(backend, seed), config, overrides)
    settings = Settings(experiment.model, experiment.inference)
    story = registry.load_for(experiment)
    if draw_hyperparameters and story.draw_hyperparameters is None:
        raise UsageError(
            f"a fit of {experiment.backend} has no priors to draw hyperparameters from; without "
            "--draw-hyperparameters they are the config's values"
        )
    drawn: Hyperparameters = {}
    with Workers(1) as pool:
        context = Context(experiment.seed, 0, pool)
        if draw_hyperparameters and story.draw_hyperparameters is not None:
            drawn = story.draw_hyperparameters(settings, sizes, context)
        corpus, truth = story.simulate(settings, sizes, context, *([drawn] if drawn else []))
    truth_path = beside(path, ".truth.npz")
    write_corpus(corpus, path, others={truth_path: archives.as_npz({**truth, **drawn})})
    return SimulationResult(corpus, path, truth_path, tuple(drawn))
