"""What is trained on and what is scored: one split for every model of a comparison.

The split is that of ``hiertopics fit --holdout``; the peers train on what it leaves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.holdouts.partition import partition
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.corpus.holdouts.split import Split, make_split

TUNING_SEED = 1_000_003  # not a split's own seed: the two draws should share no random numbers

SHARES = (0.25, 0.5, 1.0)
"""Parts of the documents over which the growth of cost is measured."""


class Trial(NamedTuple):
    """Documents whose theta is estimated on ``observed`` and judged on ``scored``; CSR counts."""

    observed: sparse.csr_array
    scored: sparse.csr_array


def split_corpus(corpus: Corpus, spec: str) -> tuple[Corpus, Split]:
    """Return what ``hiertopics fit --holdout spec`` trains on and what it puts aside."""
    return make_split(corpus, parse_holdout(spec))


def part_of(corpus: Corpus, share: float) -> Corpus:
    """Return a random ``share`` of the documents, in their order."""
    order = np.random.default_rng(0).permutation(corpus.n_docs)
    return corpus.select(np.sort(order[: round(share * corpus.n_docs)]))


def trials(split: Split) -> tuple[Trial, Trial]:
    """Return the trial on which a model's prior strength is chosen and the one it is scored on.

    No model was trained on the tokens that the choice is made on, and none of them is scored.
    Held-out documents: a fifth of their observed tokens, given the other four fifths; the
    scored trial then observes all of them. ``tokens:`` splits: a fifth of the withheld tokens,
    given the training tokens; the other four fifths are scored.
    """
    docs = np.asarray(split.heldout_docs)
    if split.kind == "tokens":
        scored, tuning = partition(split.scored, docs, TUNING_SEED)
        return Trial(split.observed, tuning), Trial(split.observed, scored)
    observed, tuning = partition(split.observed, docs, TUNING_SEED)
    return Trial(observed, tuning), Trial(split.observed, split.scored)
