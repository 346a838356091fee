"""Documents by authors: what a model says of a held-out one before its words, after half, of who.

All models are scored on the same tokens: the half of each held-out document that ``--observed
0.5`` leaves unseen, its authors known.

- before a word: theta is the mean over the document's authors, of each the mean over the training
  papers and half a paper like the corpus; an author without one stands for the corpus. A run of a
  cooperative HDP says it itself, as ``eval --observed 0`` does.
- half observed: smoothed EM on the other half (``scorer``), the prior being a0 times the
  theta above, a0 chosen on a fifth of that half. A run of a cooperative HDP infers theta itself.
- who wrote it: the mean reciprocal rank of the first right author by the votes of training papers,
  exp(20 x Hellinger affinity of theta), theta from all words without authors. A run is scored by
  ``eval --task groups``; gensim's author-topic model by the likelihood under each author.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from scipy import sparse

from benchmarks import options, scorer
from benchmarks.benchmark import benchmark
from benchmarks.corpora import Source
from benchmarks.ours import open_run, topic_model
from benchmarks.peers import PEERS, gensim_bags, gensim_words, train
from benchmarks.records import Record
from benchmarks.splits import TUNING_SEED
from benchmarks.table import Table
from benchmarks.timing import Cost
from hiertopics.base.arrays import F64, I64
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.holdouts.partition import partition
from hiertopics.corpus.holdouts.split import Split
from hiertopics.papers.task_groups import SHARPNESS, rank_metrics
from hiertopics.papers.task_tagging import Tagger, tag_scores
from hiertopics.runs import newdocs
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.tasks import evaluate_task

Array = F64

PRIOR_DOCS = 0.5
GENSIM_PASSES = 10
TABLE = Table(
    ("corpus", "split", "model"),
    {
        "model": "{model}",
        "topics": "{topics}",
        "before a word": "{before:.0f}",
        "half observed": "{half:.0f}",
        "reciprocal rank": lambda record: f"{record['mrr']:.3f}" if "mrr" in record else "",
        "precision at 1": lambda record: (
            f"{record['precision_at_1']:.3f}" if "mrr" in record else ""
        ),
        "training, s": lambda record: f"{_training_seconds(record):.0f}",
    },
)


def _training_seconds(record: Record) -> float:
    # Files of old have the time of training and scoring together.
    return float(record["train_seconds"] if "train_seconds" in record else record["seconds"])


class Case(NamedTuple):
    """A split: training documents, what is held out, and who wrote what (float64 0/1)."""

    train: Corpus
    split: Split
    seen: sparse.csr_array
    scored: sparse.csr_array
    wrote: Array
    by: Array

    @property
    def n_papers(self) -> Array:
        """Training papers of each author."""
        return np.asarray(self.wrote.sum(axis=0))

    def mean_over_authors(self, profiles: Array) -> Array:
        """Return the mean of the profiles [n_authors, K] of each held-out document's authors."""
        return np.asarray((self.by / self.by.sum(axis=1, keepdims=True)) @ profiles)


@benchmark("authors", TABLE)
@options.source("nips")
@click.option("--run", "runs", type=options.FOLDER, multiple=True, help="A run on this split.")
@options.peers("unigram", "tomotopy-lda-100", "gensim-authors-50")
def measure(source: Source, runs: tuple[Path, ...], peer: tuple[str, ...]) -> Iterator[Record]:
    """Documents by authors: before a word, after half of the words, who wrote it."""
    case = read_case(source)
    for name in peer:
        score = _author_topics if name.startswith("gensim-authors") else _peer
        yield {**source.about, "model": name, **score(case, name)}
    for path in runs:
        run = open_run(path, case.split)
        model = f"{path.name}: {run.manifest['backend']}"
        seconds = {"train_seconds": run.manifest["wall_seconds"]}
        yield {**source.about, "model": model, **_run(case, run), **seconds}


def read_case(source: Source) -> Case:
    """Return what is trained on and scored."""
    train_docs, split = source.load()
    assert train_docs.groups is not None and split.groups is not None
    seen, scored = partition(split.heldout, split.heldout_docs, split.seed, 0.5)
    wrote, by = (tags.members.toarray() != 0 for tags in (train_docs.groups, split.groups))
    return Case(train_docs, split, seen, scored, wrote.astype(float), by.astype(float))


def _peer(case: Case, name: str) -> Record:
    with Cost() as cost:
        peer = train(name, case.train.counts, 0, PEERS[name].n_sweeps)
    model = peer.model()
    theta = np.ones((case.train.n_docs, 1)) if model.theta is None else model.theta
    shares = model.topic_shares / model.topic_shares.sum()
    record = _by_authors(case, model.phi, theta, shares) | cost.record
    return record if len(shares) == 1 else record | _votes(case, model.phi, theta, shares)


def _run(case: Case, run: RunDir) -> Record:
    """Score a run by its own inference where it knows groups, else as a peer."""
    task = evaluate_task(run, "groups")
    told = {"mrr": task["mean_reciprocal_rank"], "precision_at_1": task["precision_at_1"]}
    told |= {"tfidf_mrr": task["baselines"]["tfidf_nearest"]["mean_reciprocal_rank"]}
    if "group_names" not in run.tree.extra:
        phi, weight, theta, _ = topic_model(run)
        assert theta is not None
        return _by_authors(case, phi, theta, weight / weight.sum()) | told
    nothing = sparse.csr_array(case.seen.shape, dtype=case.seen.dtype)
    found = [
        newdocs.infer_theta(run, Corpus(counts, run.vocab, groups=case.split.groups)).theta
        for counts in (nothing, case.seen)
    ]
    before, half = (perplexity(theta.toarray() @ run.tree.phi, case.scored) for theta in found)
    return {"before": before, "half": half, "topics": len(run.tree.shown), **told}


def _by_authors(case: Case, phi: Array, theta: Array, shares: Array) -> Record:
    papers = case.wrote.T @ theta + PRIOR_DOCS * shares
    profiles = papers / (case.n_papers + PRIOR_DOCS)[:, None]
    base = case.mean_over_authors(profiles)
    return _from_base(case, phi, base)


def _from_base(case: Case, phi: Array, base: Array) -> Record:
    """Score theta = base, and theta after EM on what is seen with the prior a0 base."""
    tuning = partition(case.seen, case.split.heldout_docs, TUNING_SEED)
    tried = {
        a0: perplexity(_em(phi, a0 * base, tuning[0]) @ phi, tuning[1])
        for a0 in scorer.STRENGTHS[::2]
    }
    strength = min(tried, key=lambda a0: tried[a0])
    half = perplexity(_em(phi, strength * base, case.seen) @ phi, case.scored)
    return {"before": perplexity(base @ phi, case.scored), "half": half, "topics": len(phi)}


def _em(phi: Array, prior: Array, observed: sparse.csr_array) -> Array:
    of_word = np.ascontiguousarray(phi.T, dtype=np.float32)
    rows = [
        scorer.fold_in(of_word, prior[doc], sparse.csr_array(observed[[doc]]))
        for doc in range(observed.shape[0])
    ]
    return np.vstack(rows).astype(np.float64)


def _votes(case: Case, phi: Array, theta: Array, shares: Array) -> Record:
    able, known = _askable(case)
    new = _em(phi, np.tile(shares, (len(able), 1)), sparse.csr_array(case.split.heldout[able]))
    affinity = np.sqrt(new) @ np.sqrt(theta).T
    votes = np.exp(SHARPNESS * (affinity - affinity.max(axis=1, keepdims=True)))
    return _ranked(case, able, known, votes @ case.wrote[:, known])


def _askable(case: Case) -> tuple[I64, I64]:
    """Return the documents with an author of a training paper, and these authors."""
    known = np.flatnonzero(case.n_papers)
    return np.flatnonzero(case.by[:, known].any(axis=1)), known


def _ranked(case: Case, able: I64, known: I64, scores: Array) -> Record:
    found = rank_metrics(case.by[able][:, known] > 0, scores, np.arange(len(known)))
    return {"mrr": found["mean_reciprocal_rank"], "precision_at_1": found["precision_at_1"]}


def _author_topics(case: Case, name: str) -> Record:
    """Score gensim's author-topic model; an author without training papers: the mean author."""
    with Cost() as cost:
        model = _train_author_topics(case, int(name.rsplit("-", 1)[1]))
    able, known = _askable(case)
    phi = model.get_topics()
    profiles = np.zeros((len(case.n_papers), len(phi)))
    for author in known:
        for topic, weight in model.get_author_topics(str(author), minimum_probability=0.0):
            profiles[author, topic] = weight
    profiles /= np.maximum(profiles.sum(axis=1, keepdims=True), 1e-12)
    papers = case.n_papers[known]
    profiles[case.n_papers == 0] = papers @ profiles[known] / papers.sum()
    tagger = Tagger(profiles[known], phi, np.full(len(known), 1 / len(known)))
    heldout = sparse.csr_array(case.split.heldout[able])
    (scores,) = tag_scores(tagger, heldout, [("single", 1.0)])
    base = case.mean_over_authors(profiles)
    return _from_base(case, phi, base) | _ranked(case, able, known, scores) | cost.record


def _train_author_topics(case: Case, n_topics: int) -> Any:
    """Return an AuthorTopicModel, trained with its defaults but for the passes."""
    from gensim.models import AuthorTopicModel

    known = np.flatnonzero(case.n_papers)
    return AuthorTopicModel(
        gensim_bags(case.train.counts),
        num_topics=n_topics,
        id2word=gensim_words(case.train.counts),
        author2doc={str(a): np.flatnonzero(case.wrote[:, a]).tolist() for a in known},
        passes=GENSIM_PASSES,
        random_state=0,
    )


def perplexity(chances: Array, scored: sparse.csr_array) -> float:
    """Return the perplexity of the scored tokens under p(w | d) [n_docs, V]."""
    cells = scored.tocoo()
    logs = np.log(chances[cells.coords[0], cells.coords[1]])
    return float(np.exp(-(cells.data @ logs) / cells.data.sum()))
