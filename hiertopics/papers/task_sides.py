"""Training and test documents of a task on groups or labels, matched by the names of these."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import F64, Bools
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data import Corpus, Tags, groups_of
from hiertopics.corpus.holdouts.split import split_hash
from hiertopics.runs import unseen
from hiertopics.runs.original import OriginalCorpus, read_original
from hiertopics.scoring.request import Request

FLAGS = {"groups": "--groups", "labels": "--labels"}


class Sides(NamedTuple):
    """Documents with their tags as bool [n_docs, n_tags] over one list of names.

    train_tags: of the training documents; those that no one has come last. test: without tags.
    unknown_tokens: of test. split: hash.
    """

    train: Corpus
    train_tags: Bools
    test: Corpus
    test_tags: Bools
    names: tuple[str, ...]
    unknown_tokens: int
    split: str

    @property
    def n_known(self) -> int:
        """Number of tags with a training document; they are the first ones."""
        return int(self.train_tags.any(axis=0).sum())


class TaskDocuments(NamedTuple):
    """The corpus of a run, read again, and the documents to be scored.

    sources: the files that the two come from, for messages. unknown_tokens: of test. split: hash.
    """

    original: OriginalCorpus
    test: Corpus
    sources: tuple[str, str]
    unknown_tokens: int
    split: str


def read_documents(request: Request, corpus: Path | str | None, kind: str) -> TaskDocuments:
    """Read the corpus of a run again, and the file to be scored.

    kind: groups or labels, which are needed. corpus: None for the documents that the run put
    aside. Raises UsageError where there are none, DataError.
    """
    run = request.run
    split = run.split
    if corpus is None and (split.within_documents or not len(split.heldout_docs)):
        raise UsageError(
            f"{run.path} put no documents aside (holdout {split.kind}); "
            f"give --corpus FILE {FLAGS[kind]} FILE"
        )
    original, own = read_original(run), str(run.experiment.data.corpus)
    if corpus is None:
        test = original.whole.select(split.heldout_docs)
        return TaskDocuments(original, test, (own, own), split.unknown_tokens, split.hash)
    matched = unseen.read_unseen(run, corpus, request.data)
    counts = matched.corpus.counts
    code = split_hash(split.train_docs, np.arange(counts.shape[0]), counts, counts, run.vocab)
    return TaskDocuments(original, matched.corpus, (own, str(corpus)), matched.unknown_tokens, code)


def read_sides(request: Request, corpus: Path | str | None, kind: str) -> Sides:
    """Read the documents with their tags; arguments and errors are those of ``read_documents``.

    Raises UsageError too where there are no tags.
    """
    found = read_documents(request, corpus, kind)
    train_tags = _tags(found.original.train, kind, found.sources[0])
    tags = _tags(found.test, kind, found.sources[1])
    used = train_tags.members.sum(axis=0) > 0
    known = [name for name, is_used in zip(train_tags.names, used, strict=True) if is_used]
    names = tuple(dict.fromkeys([*known, *train_tags.names, *tags.names]))
    train, test = (
        replace(side, groups=None, labels=None) for side in (found.original.train, found.test)
    )
    rows = (_columns(train_tags, names), _columns(tags, names))
    return Sides(train, rows[0], test, rows[1], names, found.unknown_tokens, found.split)


def profiles(request: Request, sides: Sides, kind: str) -> F64:
    """Return the weights over nodes of each tag with a training document [n_known, n_nodes].

    They are the model's own where its groups are these tags, else the mean of theta over the
    tag's training documents.
    """
    tree = request.run.tree
    found = groups_of(tree)
    parents = getattr(request.run.experiment.model, "parents", None)
    if found is not None and parents == kind:
        row = {name: place for place, name in enumerate(found.names)}
        return np.asarray(found.theta[[row[name] for name in sides.names[: sides.n_known]]])
    members = sides.train_tags[:, : sides.n_known].astype(np.float64)
    mean: Any = (request.run.theta.T @ members).T / members.sum(axis=0)[:, None]
    return np.asarray(mean)


def _tags(corpus: Corpus, kind: str, source: str) -> Tags:
    tags: Tags | None = getattr(corpus, kind)
    if tags is None:
        raise UsageError(f"{source} has no {kind}; {FLAGS[kind]} FILE gives them, a line for each")
    return tags


def _columns(tags: Tags, names: tuple[str, ...]) -> Bools:
    """Return the members with a column for each of ``names``."""
    place = {name: column for column, name in enumerate(names)}
    rows = np.zeros((tags.members.shape[0], len(names)), dtype=bool)
    rows[:, [place[name] for name in tags.names]] = tags.members.toarray()
    return rows
