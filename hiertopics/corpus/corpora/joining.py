"""Documents added to a corpus: one vocabulary for both, old words first."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.stretches import ends_of
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.data.pruning import Limits, kept_words
from hiertopics.corpus.data.shelf import Bags, JoinedNames
from hiertopics.corpus.formats.drafts import CorpusFacts
from hiertopics.corpus.formats.shards import WrittenShards, write_joined


class JoinedVocabulary(NamedTuple):
    """The words of two corpora together. place: int64, the id in ``vocab`` of each word of the
    added corpus, -1 if left out. joined: words that the first corpus lacked. choices: the choices
    of words behind all of them.
    """

    vocab: tuple[str, ...]
    place: I64
    joined: tuple[str, ...]
    choices: tuple[Limits, ...]


def with_new(
    vocab: tuple[str, ...], place: I64, added: Bags, choices: tuple[Limits, ...]
) -> JoinedVocabulary:
    """Return the words of the first corpus, followed by the chosen words of the added one.

    place: int64 [n_words], the id of each word of the added one in the first, -1 where it has none.
    Which others join: by the documents of the added corpus, as each of ``choices`` lets them; they
    have a token there. Where words are limited in number, those of the first corpus are among them.
    """
    n_docs_with = np.zeros(added.n_words, np.int64)
    for block in added.blocks():
        n_docs_with += np.bincount(block.indices, minlength=added.n_words)
    chosen = (n_docs_with > 0) & (place < 0)
    for choice in choices:
        of_number = choice._replace(max_words=None)
        chosen &= kept_words(n_docs_with, added.n_docs, added.vocab, of_number)
    joins = np.flatnonzero(chosen)
    most = min((choice.max_words for choice in choices if choice.max_words), default=None)
    if most is not None:
        order = np.argsort(-n_docs_with[joins], kind="stable")
        joins = np.sort(joins[order[: max(0, most - len(vocab))]])
    placed = place.copy()
    placed[joins] = len(vocab) + np.arange(len(joins))
    joined = tuple(added.vocab[word] for word in joins)
    return JoinedVocabulary((*vocab, *joined), placed, joined, choices)


def in_memory(first: Bags, added: Bags, words: JoinedVocabulary) -> Corpus:
    """Return the documents of two corpora in memory; how texts begin is kept where both have it."""
    cells, ends = [], [np.zeros(1, np.int64)]
    for corpus, place in ((first, np.arange(first.n_words)), (added, words.place)):
        counts = corpus.counts
        stays = place[counts.indices] >= 0
        cells.append((counts.data[stays], place[counts.indices[stays]]))
        before = ends_of(stays)
        ends.append(ends[-1][-1] + before[counts.indptr[1:]])
    data, indices = (np.concatenate(parts) for parts in zip(*cells, strict=True))
    shape = (first.n_docs + added.n_docs, len(words.vocab))
    counts = sparse.csr_array((data, indices, np.concatenate(ends)), shape=shape)
    counts.sum_duplicates()
    known = _known(first, added, words)
    names = None if known.doc_ids is None else tuple(known.doc_ids)
    snippets = None
    if first.snippets is not None and added.snippets is not None:
        snippets = (*first.snippets, *added.snippets)
    marks = (names, known.groups, known.labels)
    return Corpus(counts, words.vocab, *marks, snippets=snippets)


def write_both(first: Bags, added: Bags, words: JoinedVocabulary, path: Path) -> WrittenShards:
    """Write the documents of two corpora as shards; see ``formats.shards.write_draft``."""
    parts = [(first, np.arange(first.n_words)), (added, words.place)]
    known = _known(first, added, words)._replace(choices=words.choices)
    return write_joined(parts, known, path)


def _known(first: Bags, added: Bags, words: JoinedVocabulary) -> CorpusFacts:
    both = (first, added)
    names = None
    if any(corpus.doc_ids is not None for corpus in both):
        names = JoinedNames([(corpus.doc_ids, corpus.n_docs) for corpus in both])
    groups = _tags([(corpus.groups, corpus.n_docs) for corpus in both])
    labels = _tags([(corpus.labels, corpus.n_docs) for corpus in both])
    return CorpusFacts(words.vocab, None, names, groups, labels)


def _tags(parts: list[tuple[Tags | None, int]]) -> Tags | None:
    """Return the marks of all documents; of a corpus without any there are none."""
    if all(tags is None for tags, _ in parts):
        return None
    names = dict.fromkeys(name for tags, _ in parts if tags is not None for name in tags.names)
    column = {name: place for place, name in enumerate(names)}
    docs, marks, first = [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for tags, n_docs in parts:
        if tags is not None:
            own, mark = tags.members.nonzero()
            docs.append(first + own)
            marks.append(np.array([column[name] for name in tags.names], np.int64)[mark])
        first += n_docs
    rows, columns = np.concatenate(docs), np.concatenate(marks)
    members = sparse.csr_array(
        (np.ones(len(rows), np.bool_), (rows, columns)), shape=(first, len(names))
    )
    return Tags(members, tuple(names))
