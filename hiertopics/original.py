"""The corpus that a run was fitted to, read again from its file."""

from __future__ import annotations

from typing import NamedTuple

from hiertopics import dataset
from hiertopics.corpus import Corpus
from hiertopics.errors import UsageError
from hiertopics.experiment import experiment_of
from hiertopics.rundir import RunDir
from hiertopics.split import make_split, parse_holdout


class Original(NamedTuple):
    """The corpus of a fit before its split, and what of it was trained on."""

    whole: Corpus
    train: Corpus


def read_original(run: RunDir) -> Original:
    """Read the corpus of a run again and split it as before.

    Raises DataError where its file is gone, UsageError where it has changed since the fit.
    """
    config = experiment_of(run).data
    whole = dataset.load_corpus(config)
    if whole.fingerprint != run.manifest["corpus"]["fingerprint"]:
        raise UsageError(f"{config.corpus}: the corpus has changed since the fit")
    train, _ = make_split(whole, parse_holdout(config.holdout))
    return Original(whole, train)
