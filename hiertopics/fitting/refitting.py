"""``refit``: the documents of a node fitted alone, a run like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from hiertopics.base.arrays import I64
from hiertopics.base.errors import UsageError
from hiertopics.contract.registry import named
from hiertopics.corpus.corpora.dataset import PLAIN
from hiertopics.corpus.corpora.inmemory import kept_in, store
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.trust import trusts
from hiertopics.fitting import driver
from hiertopics.fitting.editing import carry_edits, edits_to_carry
from hiertopics.fitting.job import FitResult
from hiertopics.runs import artifacts
from hiertopics.runs.nodenames import node_meant
from hiertopics.runs.origin import lineage
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.settings.layers import Overrides


@trusts
def refit(
    run: Path | str | RunDir,
    node: int | str,
    output: Path | str,
    *,
    backend: str | None = None,
    overrides: Overrides = (),
    seed: int | None = None,
    iterations: int | None = None,
    holdout: str | None = None,
    time_limit: float | str | None = None,
    workers: int = 1,
    quiet: bool = True,
    argv: Sequence[str] = (),
    trust_tokenizer: bool = False,
) -> FitResult:
    """Fit the training documents of a node alone, and write a run; given again, continue it.

    The documents are those whose best path passes the node; without paths, those with the largest
    share there: on the way that always goes into the child with the largest share. They are kept
    in the new run's folder ``corpus``. Settings are those of ``run``, unless another backend is
    asked for; the others are as for ``fit``. Edits of ``run`` that have a meaning still stand in
    the new run's edits.yaml, and stderr says which have not. Raises what
    ``fit`` raises, and UsageError for a node without enough documents.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target, made = opened(run), RunDir(output)
    node = node_meant(target, node)
    edits, docs = edits_to_carry(target), documents_below(target, node)
    if len(docs) < 2:
        raise UsageError(f"node {node} of {target.path} has {len(docs)} documents: too few to fit")
    train = read_original(target).train
    if not isinstance(train, Corpus):
        raise UsageError(f"{target.path} has rows of numbers; only documents of words are refitted")
    corpus = _alone(train, docs)
    same = backend is None or named(backend) == target.experiment.backend
    with kept_in(made.path, partial(store, corpus)) as path:
        result = driver.fit(
            path,
            run=made.path,
            config=target.file("config.yaml") if same else None,
            overrides=overrides,
            backend=backend,
            seed=target.experiment.seed if seed is None else seed,
            iterations=iterations,
            holdout=target.experiment.data.holdout if holdout is None else holdout,
            data={**PLAIN, "from_": "npz", "repeat_cap": target.experiment.data.repeat_cap},
            time_limit=time_limit,
            workers=workers,
            quiet=quiet,
            argv=argv,
            lineage=lineage([target], f"refit {node}"),
        )
    refitted = RunDir(output)
    _name_documents(target, refitted, corpus, docs)
    if result.status == "done":
        own = refitted.split.train_docs
        carry_edits(edits, target, refitted, docs[own], np.arange(len(own)))
    return result


def documents_below(run: RunDir, node: int) -> I64:
    """Return the training documents of a node, by their rows in theta: int64 [n], ascending.

    Raises UsageError for an unknown node.
    """
    tree, node = run.tree, run.require_node(node)
    if run.paths is not None:
        return np.flatnonzero((run.paths.node == node).any(axis=1))
    shares = tree.below(run.theta.toarray().T).T
    docs = np.arange(len(shares))
    for step in tree.path(node):
        siblings = tree.shown[tree.parent[tree.shown] == tree.parent[step]]
        docs = docs[siblings[shares[np.ix_(docs, siblings)].argmax(axis=1)] == step]
    return docs


def _alone(train: Corpus, docs: I64) -> Corpus:
    """Return documents over the words that they have."""
    chosen = train.select(docs)
    used = np.flatnonzero(np.asarray(chosen.counts.sum(axis=0)).ravel() > 0)
    counts = chosen.counts[:, used]
    vocab = tuple(train.vocab[word] for word in used.tolist())
    return Corpus(counts, vocab, groups=chosen.groups, labels=chosen.labels)


def _name_documents(parent: RunDir, run: RunDir, corpus: Corpus, docs: I64) -> None:
    """Give documents the names that the parent has for them, or their numbers in its corpus."""
    kept = parent.documents
    names: Sequence[str] = [str(doc + 1) for doc in parent.split.train_docs.tolist()]
    if kept is not None and kept.names is not None:
        names = kept.names
    snippets = None if kept is None else kept.snippets
    known = replace(
        corpus,
        doc_ids=tuple(names[doc] for doc in docs),
        snippets=None if snippets is None else tuple(snippets[doc] for doc in docs),
    )
    artifacts.write_documents(run, known)
