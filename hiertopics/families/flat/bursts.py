"""Bursts of documents: their settings, and the layout of a fit with them (theory/bursts 1, 7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from msgspec import Meta
from scipy import sparse

from hiertopics.base.arrays import F64, I32, I64, Numbers
from hiertopics.numeric.pitman_yor import PitmanYor, mean_tables, predictive
from hiertopics.numeric.pitman_yor_kernels import MeanTables
from hiertopics.numeric.priors import GammaPrior
from hiertopics.settings.config import UNOFFERED
from hiertopics.settings.former import Former, ListEntry

BURST_PRIOR = GammaPrior(1.0, 1e-3)
"""Prior of the concentration b of documents (theory/bursts)."""

Bursts = Annotated[
    Literal["none", "document"],
    Meta(
        description="document: each document draws its words from a Pitman-Yor process around its "
        "mixture of topics, so that a word that it has used comes again; none: from the mixture.",
        extra_json_schema=UNOFFERED,
    ),
]

BurstProcess = Annotated[
    PitmanYor,
    Meta(
        description="Bursts: discount and concentration of a document's Pitman-Yor process. The "
        "discount is held. The concentration, by which a document's words follow its mixture, is "
        "learned from this start value."
    ),
]

DrawnProcess = Annotated[
    PitmanYor,
    Meta(
        description="Bursts: start values of the discount and the concentration of a document's "
        "Pitman-Yor process. Its words follow its mixture by the concentration."
    ),
]

BurstStart = Annotated[
    int,
    Meta(
        ge=0,
        description="Bursts: number of first iterations that ignore bursts.",
    ),
]

BurstAside = Annotated[
    int,
    Meta(
        ge=0,
        description="Bursts: training documents set aside for the first 0.6 of the iterations, "
        "to learn the concentration of bursts from words that the topics do not know; 0: none.",
    ),
]

SampledAside = Annotated[
    int,
    Meta(
        ge=0,
        description="Bursts: training documents set aside for the first 0.6 of burn_in, to learn "
        "discount and concentration of bursts from words that the topics do not know. Both are "
        "held afterwards; 0: no document is set aside, and both are drawn.",
    ),
]

PROCESS, START, ASIDE = PitmanYor(0.5, 100.0), 30, 100
"""Defaults of these settings."""

FORMER_PROCESS: Former = {
    f"model.burst_{name}": ListEntry("model.burst_process", name, PROCESS)
    for name in PitmanYor._fields
}

SHARE_ASIDE = 0.1
"""The largest share of the documents that is put aside."""

UNTIL = 0.6
"""The share of the iterations for which documents stay aside."""

EVERY = 20
"""Iterations from one update of the concentration to the next."""


class BurstPlan(NamedTuple):
    """Constants of a fit with bursts. means: E[t | c, x] of the counts that occur.

    concentration: where it starts. start: iterations before tables are refitted. n_aside: documents
    that are put aside. join: iterations after which they join the others. chance: of a word, the
    geometric mean over all tokens. every: iterations from one update of the concentration to the
    next; None: it is held.
    """

    means: MeanTables
    concentration: float
    start: int
    n_aside: int
    join: int
    chance: float
    every: int | None = EVERY


class Repeats(NamedTuple):
    """Counts of repeated words, which a sampler of bursty documents needs.

    counts: int64, the distinct numbers of tokens of pairs, ascending. longer: int64, the numbers of
    documents with more than 1, 2, .. tokens. start: iterations in which no table comes or goes.
    chance: the geometric mean over all tokens of the share of their word. n_aside: documents that
    are put aside. join: iterations after which they join the others. every: iterations from one
    update by documents put aside to the next.
    """

    counts: I64
    longer: I64
    start: int
    chance: float
    n_aside: int = 0
    join: int = 0
    every: int = EVERY

    @property
    def there(self) -> bool:
        """Whether any document has a word twice."""
        return bool(len(self.counts) and self.counts[-1] > 1)


def are_wanted(settings: Any) -> bool:
    """Tell whether settings ask for bursts."""
    return bool(getattr(settings.model, "bursts", "none") == "document")


def plan(words: I32, counts: Numbers, n_docs: int, settings: Any, n_iterations: int) -> BurstPlan:
    """Return the plan of a fit of documents with these words and tokens of pairs [n_pairs].

    Without a repeated word nothing can be learned of bursts; nothing is put aside then, nor where
    documents would join before tables are refitted.
    """
    model, inference = settings.model, settings.inference
    found = np.unique(counts).astype(np.int64)
    join = int(UNTIL * n_iterations)
    wanted = min(inference.burst_aside, int(SHARE_ASIDE * n_docs))
    learns = len(found) > 0 and found[-1] > 1 and join > inference.burst_start
    return BurstPlan(
        mean_tables(found, model.burst_process.discount),
        model.burst_process.concentration,
        inference.burst_start,
        wanted if learns else 0,
        join,
        usual_chance(words, counts),
    )


def repeats_of(words: I32, counts: Numbers, doc_lengths: I64, start: int) -> Repeats:
    """Return the repeats of a corpus. words, counts: of each pair [n_pairs]."""
    found = np.unique(counts).astype(np.int64)
    return Repeats(found, more_than(np.bincount(doc_lengths)), start, usual_chance(words, counts))


def repeats_of_blocks(blocks: Iterable[sparse.csr_array], doc_lengths: I64, start: int) -> Repeats:
    """Do as ``repeats_of`` does, of counts that come some documents at a time.

    blocks: CSR [some, n_words]. doc_lengths: int64 [n_docs].
    """
    found = np.zeros(0, np.int64)
    tokens: F64 = np.zeros(0)
    for block in blocks:
        found = np.union1d(found, block.data).astype(np.int64)
        own = np.bincount(block.indices, block.data, block.shape[1]).astype(np.float64)
        tokens = own + tokens if len(tokens) else own
    return Repeats(found, more_than(np.bincount(doc_lengths)), start, chance_of_share(tokens))


def putting_aside(repeats: Repeats, wanted: int, n_docs: int, burn_in: int) -> Repeats:
    """Return the repeats of a fit that puts so many of its documents aside, where it can.

    Without a repeated word nothing can be learned of bursts; nothing is put aside then, nor where
    documents would join before tables come and go.
    """
    join = int(UNTIL * burn_in)
    able = repeats.there and join > repeats.start
    n_aside = min(wanted, int(SHARE_ASIDE * n_docs)) if able else 0
    return repeats._replace(n_aside=n_aside, join=join)


def more_than(histogram: I64) -> I64:
    """Return the sums of a histogram above 1, 2, .., int64 [n - 2]; its n entries begin at 0."""
    return np.asarray(histogram[:1:-1].cumsum()[::-1])


def usual_chance(words: I32, counts: Numbers) -> float:
    """Return the geometric mean over all tokens of the share of their word. counts: [n_pairs]."""
    return chance_of_share(np.bincount(words, counts).astype(np.float64))


def chance_of_share(tokens: F64) -> float:
    """Return ``usual_chance`` of words with so many tokens, float64 [n_words]."""
    share = tokens[tokens > 0] / max(tokens.sum(), 1.0)
    return float(np.exp((share * np.log(share)).sum()))


def told(*, repeats: bool, begun: bool, start: int, times: float) -> str:
    """Return a note on a fit with bursts, for the user.

    repeats: whether any document repeats a word. begun: whether tables are fitted yet, after
    ``start`` iterations. times: as ``times_as_likely``.
    """
    if not repeats:
        return "no document repeats a word: model.bursts changes nothing"
    if not begun:
        return f"bursts begin after inference.burst_start: {start} iterations"
    return f"a word once used is {times:.3g} times as likely to come again"


def times_as_likely(process: PitmanYor, length: float, tables: float, chance: float) -> float:
    """Return how many times its chance a word has that its document has used once.

    length, tables: of a document. chance: of the word under the mixture.
    """
    again = predictive(process, chance, 1.0, 1.0, tables, length)
    return float(again / chance)
