"""The origin of a run: config, corpus, split, and other runs."""

from __future__ import annotations

import platform
import resource
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.contract.registry import BACKENDS
from hiertopics.corpus.corpora.dataset import corpus_name
from hiertopics.corpus.data import Bags, Vectors
from hiertopics.corpus.formats.table import FORMATS
from hiertopics.corpus.formats.words import tokenizer_hash
from hiertopics.runs.manifest import CONTINUED, FITTED, MADE_BY, PARENTS, SCHEMA, VERSIONED
from hiertopics.runs.meant import another_output
from hiertopics.runs.rundir import RunDir
from hiertopics.settings import history
from hiertopics.settings.config import Experiment
from hiertopics.settings.identity import config_hash, differing_keys


def parent_record(run: RunDir) -> dict[str, Any]:
    """Return the record of a parent run ``run``: its name, settings and seal.

    Keys: run (the name of its folder), backend, seed, config (the hash), model (the seal of
    model.npz).
    """
    manifest = run.manifest
    kept = {key: manifest.get(key) for key in ("backend", "seed", "config")}
    name = run.path.name or run.path.absolute().name
    return {"run": name, **kept, "model": run.seals(["model.npz"])["model.npz"]}


def lineage(parents: Sequence[RunDir], made_by: str) -> dict[str, Any]:
    """Return the entries of a run that was made of others by a command."""
    return {PARENTS: [parent_record(run) for run in parents], MADE_BY: made_by}


def refuse_unfitted(run: RunDir) -> None:
    """Raise UsageError where a run was made of others without a fit that could go on."""
    command = str(run.manifest.get(MADE_BY, FITTED[0])).partition(" ")[0]
    if command not in FITTED:
        names = ", ".join(str(parent.get("run")) for parent in run.manifest.get(PARENTS, ()))
        names = names or "files"
        raise UsageError(
            f"{run.path} was made by {command} of {names}: there is no fit to go on with; "
            f"{another_output(run.path)}"
        )


def refuse_begun_elsewhere(run: RunDir) -> None:
    """Raise UsageError if a run without a checkpoint began at the end of another run."""
    made_by = str(run.manifest.get(MADE_BY, ""))
    if made_by.partition(" ")[0] == CONTINUED:
        raise UsageError(
            f"{run.path} came to no checkpoint yet; give the command {CONTINUED} again, which "
            "knows where it begins"
        )


class Origin(NamedTuple):
    """The origin of a run. whole: before the split, train: after it; split: its hash.

    lineage: entries on the runs that it was made of, if there are any.
    """

    experiment: Experiment
    whole: Bags | Vectors
    train: Bags | Vectors
    split: str
    argv: Sequence[str]
    lineage: Mapping[str, Any] = MappingProxyType({})

    def described(self) -> dict[str, Any]:
        """Return the entries that stay as they are until the fit ends."""
        return {
            "schema": SCHEMA,
            "backend": self.experiment.backend,
            "argv": list(self.argv),
            "seed": self.experiment.seed,
            "versions": _versions(self.experiment),
            "corpus": {
                "fingerprint": self.whole.fingerprint,
                "text_fingerprint": self.whole.text_fingerprint,
                "n_docs": self.train.n_docs,
                "n_empty": self.train.n_empty,
                "n_words": self.train.n_words,
                "n_tokens": self.train.n_tokens,
                **_tokenizer(self.experiment),
            },
            "split": self.split,
            "config": config_hash(self.experiment),
            "settings": history.version(),
            **self.lineage,
        }

    def refuse_other(self, run: RunDir) -> None:
        """Raise ConfigError where a run was made under another config or from another corpus.

        Raises UsageError where no fit made it.
        """
        refuse_unfitted(run)
        name = run.manifest["backend"]
        if name != self.experiment.backend:
            problems = [f"backend: {name} in the run, {self.experiment.backend} now"]
        else:
            problems = differing_keys(run.experiment, self.experiment)
        fitted = run.manifest["corpus"]["fingerprint"]
        if not problems and fitted != self.whole.fingerprint:
            problems = ["data.corpus: the run was fitted to a corpus with other contents"]
        if problems:
            raise ConfigError(
                [f"{run.path} is a run with another config; {another_output(run.path)}", *problems]
            )


def _tokenizer(experiment: Experiment) -> dict[str, Any]:
    """Return what cut the texts, where that was code of the user's: its name and its hash."""
    name = experiment.data.tokenizer
    return {} if name is None else {"tokenizer": name, "tokenizer_hash": tokenizer_hash(name)}


def peak_memory() -> int:
    """Return the most bytes that this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def _versions(experiment: Experiment) -> dict[str, str]:
    """Return versions by package; packages that add the backend or the format are among them."""
    found = {"python": platform.python_version()}
    for name in VERSIONED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    used = ((BACKENDS, experiment.backend), (FORMATS, str(experiment.data.from_)))
    for table, name in used:
        if name in table and table.package_of(name):
            found[table.package_of(name)] = table.version_of(name)
    return found


def refuse_unlike(runs: Sequence[RunDir], command: str) -> None:
    """Raise UsageError unless several runs have one tree backend, corpus and split."""
    if len(runs) < 2:
        raise UsageError(f"{command} takes two runs or more: a tree, and others of the same split")
    for run in runs:
        if run.tree.vectors is not None or run.tree.is_flat:
            raise UsageError(f"{run.path} has no tree of words: {command} compares nodes by depth")
    backends = [str(run.manifest["backend"]) for run in runs]
    if len(set(backends)) > 1:
        pairs = zip(runs, backends, strict=True)
        listed = ", ".join(f"{run.path} has {name}" for run, name in pairs)
        raise UsageError(f"these runs are not of the same backend: {listed}")
    if len({run.manifest["corpus"]["fingerprint"] for run in runs}) > 1:
        raise UsageError(f"these runs are not of the same corpus: {_corpora_told(runs)}")
    if len({run.split.hash for run in runs}) > 1:
        raise UsageError(f"these runs are not of the same split: {_splits_told(runs)}")


def refuse_unequal_splits(runs: Sequence[RunDir]) -> None:
    """Raise UsageError unless all runs have one split; the error names a way to compare them."""
    others = [run for run in runs if run.split.hash != runs[0].split.hash]
    if not others:
        return
    told = "these runs were not scored on the same split"
    pair = f"hiertopics report {runs[0].path} {others[0].path}"
    if len({run.manifest["corpus"]["text_fingerprint"] for run in runs}) > 1:
        raise UsageError(
            f"{told}, since their corpora differ: {_corpora_told(runs)}; scores of different "
            f"documents cannot be compared: fit to one corpus with one --holdout, or see {pair}, "
            "which shows the topics of both side by side where they share words"
        )
    raise UsageError(
        f"{told} of their corpus: {_splits_told(runs)}; fit again with the same --holdout and the "
        f"same choice of words, or see {pair}, which shows the topics of both side by side"
    )


def _corpora_told(runs: Sequence[RunDir]) -> str:
    """Return the corpus of each run and its size as text. Corpora of one name have their paths."""
    paths = [str(run.experiment.data.corpus) for run in runs]
    names = list(map(corpus_name, paths))
    if len(set(names)) < len(set(paths)):
        names = paths
    sizes = [f"({_n_docs(run)} documents, {_n_words(run)} words)" for run in runs]
    told = zip(runs, names, sizes, strict=True)
    return ", ".join(f"{run.path} has {name} {size}" for run, name, size in told)


def _splits_told(runs: Sequence[RunDir]) -> str:
    """Return the held-out part of each run, and the size of its corpus, as text."""
    told = [
        f"{run.experiment.data.holdout} of {_n_docs(run)} documents with {_n_words(run)} words"
        for run in runs
    ]
    same = "; words or documents themselves differ" * (len(set(told)) == 1)
    pairs = zip(runs, told, strict=True)
    return ", ".join(f"{run.path} holds out {split}" for run, split in pairs) + same


def _n_docs(run: RunDir) -> int:
    return len(np.union1d(run.split.train_docs, run.split.heldout_docs))


def _n_words(run: RunDir) -> str:
    return str(run.manifest["corpus"].get("n_words", "?"))
