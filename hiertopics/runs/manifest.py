"""What a run was made from: the entries of manifest.json, and whether a fit may go on there."""

from __future__ import annotations

import platform
import resource
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from hiertopics.data.corpus import Corpus
from hiertopics.data.vectors import Vectors
from hiertopics.errors import ConfigError
from hiertopics.runs.experiment import experiment_of
from hiertopics.runs.rundir import SCHEMA, RunDir
from hiertopics.settings import history
from hiertopics.settings.config import Experiment
from hiertopics.settings.identity import config_hash, differing_keys

VERSIONED = ("hiertopics", "numpy", "scipy", "numba")


class Origin(NamedTuple):
    """What a run was made from. whole: before the split, train: after it; split: its hash."""

    experiment: Experiment
    whole: Corpus | Vectors
    train: Corpus | Vectors
    split: str
    argv: Sequence[str]

    def described(self) -> dict[str, Any]:
        """Return the entries that stay as they are until the fit ends."""
        return {
            "schema": SCHEMA,
            "backend": self.experiment.backend,
            "argv": list(self.argv),
            "seed": self.experiment.seed,
            "versions": _versions(),
            "corpus": {
                "fingerprint": self.whole.fingerprint,
                "text_fingerprint": self.whole.text_fingerprint,
                "n_docs": self.train.n_docs,
                "n_empty": self.train.n_empty,
                "n_words": self.train.n_words,
                "n_tokens": self.train.n_tokens,
            },
            "split": self.split,
            "config": config_hash(self.experiment),
            "settings": history.version(),
        }

    def refuse_other(self, run: RunDir) -> None:
        """Raise ConfigError where a run was made under another config or from another corpus."""
        name = run.manifest["backend"]
        if name != self.experiment.backend:
            problems = [f"backend: {name} in the run, {self.experiment.backend} now"]
        else:
            problems = differing_keys(experiment_of(run), self.experiment)
        fitted = run.manifest["corpus"]["fingerprint"]
        if not problems and fitted != self.whole.fingerprint:
            problems = ["data.corpus: the run was fitted to a corpus with other contents"]
        if problems:
            raise ConfigError(
                [f"{run.path} is a run with another config; choose another -o", *problems]
            )


def peak_memory() -> int:
    """Return the most bytes that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
