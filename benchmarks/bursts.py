"""Words that come again: bursty models beside plain ones that are scored with a cache.

The table is that of docs/bursts.md. A fit is named by its backend, ``-bursts`` of a bursty one, and
``@N`` for another number of topics than the default, as hdp-gibbs-bursts@300.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from scipy import sparse

from benchmarks import fits, options, process, records
from benchmarks.benchmark import benchmark
from benchmarks.corpora import DOCS, FILES, Source
from benchmarks.machine import pinned
from benchmarks.paired import difference
from benchmarks.record_scores import by_document
from benchmarks.records import Record
from benchmarks.systems import AVERAGED, BURSTS, BY_TOPICS, STEADY, variant
from benchmarks.table import grouped, spread, tabulate
from hiertopics.runs.rundir import RunDir

CORPORA = ("psychreview", "kos", "ap", "nips", "20news-test")
PLAIN = "hdp-cvb0"
"""The plain model that all others are compared with; it is scored with a cache."""

MODELS = (
    PLAIN,
    f"hdp-cvb0{BURSTS}",
    "nhdp-variational",
    f"nhdp-variational{BURSTS}",
    "hdp-gibbs",
    f"hdp-gibbs{BURSTS}",
    "nhdp-gibbs",
    f"nhdp-gibbs{BURSTS}",
)
N_WORDS = 10
FEW_DOCS = 10
"""A word that fewer training documents have may be a name that one document brings."""

SCORES = (
    "perplexity",
    "perplexity_with_cache",
    "perplexity_of_seen_words",
    "perplexity_of_new_words",
    "coherence_npmi",
)
KEYS = ("corpus", "split", "model", "seed")


class Fit(NamedTuple):
    """A fit by its name: ``MODEL[@N]``, N topics at most."""

    model: str
    truncation: str

    @staticmethod
    def named(name: str) -> Fit:
        """Return the fit of a name."""
        model, _, truncation = name.partition("@")
        return Fit(model, truncation)

    @property
    def settings(self) -> dict[str, object]:
        """Settings that differ from the defaults."""
        return {"model.truncation": self.truncation} if self.truncation else {}

    @property
    def average(self) -> tuple[str, ...]:
        """The option of ``eval`` for the mean of draws, of a sampler."""
        return ("--average",) if self.model.removesuffix(BURSTS) in AVERAGED else ()


def table(results: Sequence[Record]) -> str:
    """Return a row for each fit: means over seeds, ± the standard deviation of several."""
    found = records.latest(results, *KEYS)
    plain = {(r["corpus"], r["split"]): r for r in found if r["model"] == PLAIN}
    cells = {
        "corpus": lambda rows: rows[0]["corpus"],
        "split": lambda rows: rows[0]["split"],
        "model": lambda rows: rows[0]["model"],
        "seeds": len,
        "perplexity": lambda rows: _mean(rows, "perplexity"),
        "with cache": lambda rows: _mean(rows, "perplexity_with_cache"),
        "new words": lambda rows: _mean(rows, "new_words_by_topics"),
        "gain": lambda rows: _gain(rows, plain.get((rows[0]["corpus"], rows[0]["split"]))),
        "NPMI": lambda rows: _mean(rows, "coherence_npmi", 3),
        "rare top words": lambda rows: _mean(rows, "rare_top_words", 3),
        "processor s": lambda rows: _mean(rows, "command_cpu_seconds", 1),
        "MiB": lambda rows: f"{max(r['peak_bytes'] for r in rows) / 2**20:.0f}",
    }
    return tabulate(cells, grouped(found, "corpus", "split", "model"))


def _mean(rows: Sequence[Record], name: str, digits: int = 1) -> str:
    return spread([row[name] for row in rows], digits)


def _gain(rows: Sequence[Record], plain: Record | None) -> str:
    """Return the gain over the plain model with a cache, nats per word, ± its standard error.

    A bursty model has its own predictive; a plain one has a cache.
    """
    if plain is None:
        return "not measured"
    name = "log_likelihood" if BURSTS in rows[0]["model"] else "log_likelihood_with_cache"
    other = {"log_likelihood": plain["log_likelihood_with_cache"]}
    gained, error = difference([({**row, "log_likelihood": row[name]}, other) for row in rows])
    return f"{gained:.3f} ± {error:.3f}"


@benchmark("bursts", table)
@options.data
@click.option(
    "--corpus", type=click.Choice(tuple(FILES)), multiple=True, default=CORPORA, show_default=True
)
@click.option("--split", multiple=True, default=(DOCS,), show_default=True)
@click.option("--model", multiple=True, default=MODELS, show_default=True)
@options.seeds
@click.pass_obj
def measure(
    output: Path | None,
    data: Path,
    corpus: tuple[str, ...],
    split: tuple[str, ...],
    model: tuple[str, ...],
    seed: tuple[int, ...],
) -> Iterator[Record]:
    """Bursty models beside plain ones with a cache; what the output file holds is not repeated.

    A model is MODEL or MODEL@TOPICS, as hdp-gibbs-bursts@300. A model without draws is fitted with
    the first seed alone.
    """
    known = [] if output is None else records.read([output], "bursts")
    done = {tuple(one[key] for key in KEYS) for one in known}
    for task in product(corpus, split, model, seed):
        steady = Fit.named(task[2]).model in STEADY and task[3] != seed[0]
        if task not in done and not steady:
            source = Source(data, task[0], task[1])
            yield {**dict(zip(KEYS, task, strict=True)), **_measure(source, task[2], task[3])}


def _measure(source: Source, name: str, seed: int) -> Record:
    fit = Fit.named(name)
    with tempfile.TemporaryDirectory() as folder, pinned():
        path = Path(folder) / "run"
        made = fits.fit(source, variant(fit.model), seed, fit.settings, path)
        command = ("eval", path, "--heldout", "--cache", "--json", *fit.average)
        said = json.loads(process.run(process.hiertopics(*command)).stdout)
        return {
            **made.record,
            **{score: said[score] for score in SCORES},
            # A bursty predictive keeps chance for words that come again, which new words then lack.
            "new_words_by_topics": said.get(BY_TOPICS, said["perplexity_of_new_words"]),
            **{key: said[key] for key in ("n_topics", "cache_discount", "cache_concentration")},
            **by_document(path, "log_likelihood", "log_likelihood_with_cache"),
            "rare_top_words": _rare(source, path),
        }


def _rare(source: Source, path: Path) -> float:
    """Return the share of the topics' top words that few training documents have."""
    corpus, _ = source.load()
    n_docs = np.diff(sparse.csc_array(corpus.counts).indptr)
    tree = RunDir.open(path).tree
    words = np.concatenate([tree.top_words(node, N_WORDS) for node in range(tree.n_nodes)])
    return float((n_docs[words] < FEW_DOCS).mean())
