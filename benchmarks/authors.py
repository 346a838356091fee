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

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import corpora, scorer
from benchmarks.peers import train
from benchmarks.records import Record
from benchmarks.splits import TUNING_SEED, load_split
from hiertopics.data.corpus import Corpus
from hiertopics.holdouts.split import Split, partition
from hiertopics.runs import newdocs
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.tasks import evaluate_task
from hiertopics.scoring.tasks.groups import SHARPNESS, rank_metrics
from hiertopics.scoring.tasks.tagging import Tagger, tag_scores

Array = NDArray[np.float64]

PRIOR_DOCS = 0.5
SWEEPS = {"unigram": 0, "tomotopy-lda-100": 500}
GENSIM_PASSES = 10


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


def measure(
    data: Path, corpus_name: str, spec: str, runs: Sequence[Path], names: Sequence[str]
) -> Iterator[Record]:
    """Score runs and peers; a run on another split is refused."""
    case = read_case(data, corpus_name, spec)
    about = {"corpus": corpus_name, "split": spec}
    for name in names:
        start = time.perf_counter()
        score = _gensim if name.startswith("gensim") else _peer
        yield {**about, "model": name, **score(case, name), "seconds": time.perf_counter() - start}
    for path in runs:
        run = RunDir.open(path)
        if run.split.hash != case.split.hash:
            raise ValueError(f"{path} was fitted on another split than {spec}")
        model = f"{path.name}: {run.manifest['backend']}"
        yield {**about, "model": model, **_run(case, run), "seconds": run.manifest["wall_seconds"]}


def read_case(data: Path, corpus_name: str, spec: str) -> Case:
    """Return what is trained on and scored."""
    train_docs, split = load_split(corpora.load(data, corpus_name), spec)
    assert train_docs.groups is not None and split.groups is not None
    seen, scored = partition(split.heldout, split.heldout_docs, split.seed, 0.5)
    wrote, by = (tags.members.toarray() != 0 for tags in (train_docs.groups, split.groups))
    return Case(train_docs, split, seen, scored, wrote.astype(float), by.astype(float))


def _peer(case: Case, name: str) -> Record:
    model = train(name, case.train.counts, 0, SWEEPS[name]).model()
    theta = np.ones((case.train.n_docs, 1)) if model.theta is None else model.theta
    shares = model.topic_shares / model.topic_shares.sum()
    record = _by_authors(case, model.phi, theta, shares)
    return record if len(shares) == 1 else record | _votes(case, model.phi, theta, shares)


def _run(case: Case, run: RunDir) -> Record:
    """Score a run by its own inference where it knows groups, else as a peer."""
    task = evaluate_task(run, "groups")
    told = {"mrr": task["mean_reciprocal_rank"], "precision_at_1": task["precision_at_1"]}
    told |= {"tfidf_mrr": task["baselines"]["tfidf_nearest"]["mean_reciprocal_rank"]}
    if "group_names" not in run.tree.extra:
        weight = run.tree.weight / run.tree.weight.sum()
        return _by_authors(case, run.tree.phi, run.theta.toarray(), weight) | told
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


def _askable(case: Case) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the documents with an author of a training paper, and these authors."""
    known = np.flatnonzero(case.n_papers)
    return np.flatnonzero(case.by[:, known].any(axis=1)), known


def _ranked(case: Case, able: NDArray[np.int64], known: NDArray[np.int64], scores: Array) -> Record:
    found = rank_metrics(case.by[able][:, known] > 0, scores, np.arange(len(known)))
    return {"mrr": found["mean_reciprocal_rank"], "precision_at_1": found["precision_at_1"]}


def _gensim(case: Case, name: str) -> Record:
    """Train AuthorTopicModel, its defaults but for the passes; unknown authors: the mean author."""
    from gensim.models import AuthorTopicModel

    counts, known = case.train.counts, np.flatnonzero(case.n_papers)
    rows = (slice(*counts.indptr[doc : doc + 2]) for doc in range(case.train.n_docs))
    bags: list[Any] = [
        list(zip(counts.indices[row].tolist(), counts.data[row].tolist(), strict=True))
        for row in rows
    ]
    model = AuthorTopicModel(
        bags,
        num_topics=int(name.rsplit("-", 1)[1]),
        id2word={word: str(word) for word in range(case.train.n_words)},
        author2doc={str(a): np.flatnonzero(case.wrote[:, a]).tolist() for a in known},
        passes=GENSIM_PASSES,
        random_state=0,
    )
    phi = model.get_topics()
    profiles = np.zeros((len(case.n_papers), len(phi)))
    for author in known:
        for topic, weight in model.get_author_topics(str(author), minimum_probability=0.0):
            profiles[author, topic] = weight
    profiles /= np.maximum(profiles.sum(axis=1, keepdims=True), 1e-12)
    papers = case.n_papers[known]
    profiles[case.n_papers == 0] = papers @ profiles[known] / papers.sum()
    able, known = _askable(case)
    even = np.full(len(known), 1 / len(known))
    tagger = Tagger(profiles[known], phi, even)
    heldout = sparse.csr_array(case.split.heldout[able])
    (scores,) = tag_scores(tagger, heldout, [("single", 1.0)])
    base = case.mean_over_authors(profiles)
    return _from_base(case, phi, base) | _ranked(case, able, known, scores)


def perplexity(chances: Array, scored: sparse.csr_array) -> float:
    """Return the perplexity of the scored tokens under p(w | d) [n_docs, V]."""
    cells = scored.tocoo()
    logs = np.log(chances[cells.coords[0], cells.coords[1]])
    return float(np.exp(-(cells.data @ logs) / cells.data.sum()))
