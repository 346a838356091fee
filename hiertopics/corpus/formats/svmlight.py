"""SVMlight (libsvm): one line ``labels id:count id:count ... # comment`` per document.

Labels are separated by commas and may be left out; word ids count from 1, or from 0 in a file
in which id 0 occurs, as scikit-learn has it. An empty line is an empty document, a line with
nothing but a comment is none. Ranking data (``qid:``) are refused. scikit-learn's reader names
no line; this one names every line that cannot be read.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import IO

import numpy as np

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus, default_vocab
from hiertopics.corpus.formats.counting import (
    DIGITS,
    MAX_UNNAMED_WORDS,
    CountedPairs,
    PairRules,
    checked,
    count_matrix,
    gaps,
    in_digits,
    joined,
    large_notes,
    packed,
    pair_lines,
    read_pairs,
    room_for,
    shown,
    size_announced,
    whole_numbers,
)
from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts
from hiertopics.corpus.formats.opening import Block, blocks, decoded_line
from hiertopics.corpus.formats.sidefiles import TagTable, tag_ids
from hiertopics.corpus.formats.source import Source

# Possessive, here and elsewhere: what is given back and tried again takes quadratic time.
REAL_COUNT = re.compile(rb"(?<=:)[^:\s.eE]*+[.eE][^:\s]*+(?=\s)")


FROM_ZERO = "word ids count from 0, because id 0 occurs"


class Heads:
    """The labels of the documents, and the line of each document."""

    def __init__(self) -> None:
        self.numbers = array("q")
        self.labels = TagTable()

    def add(self, number: int, labels: list[str]) -> None:
        """Add a document."""
        self.numbers.append(number)
        self.labels.add(labels)


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read an SVMlight file of whole counts (3.0 is whole); its labels become the corpus's.

    Reports the line of each mistake.
    """
    rules, heads = rules_of(source, vocab), Heads()
    lengths, ids, counts = joined(_documents(source, rules, heads))
    notes: tuple[str, ...] = ()
    if (ids == 0).any():
        notes = (FROM_ZERO,)
        if vocab is not None and ids.max() == len(vocab):
            docs = np.repeat(np.arange(len(lengths)), lengths)[ids == rules.limit - 1]
            _report_last_id(source, rules, heads, docs)
            vocab = None
    else:
        ids -= 1
    n_words = int(ids.max(initial=-1)) + 1 if vocab is None else len(vocab)
    sizes, named = (len(lengths), n_words), vocab is not None
    labels = heads.labels.tags() if heads.labels.columns else None
    with room_for(source, size_announced(*sizes, named=named)):
        words = default_vocab(n_words) if vocab is None else vocab
        matrix = count_matrix(lengths, ids, counts, n_words)
        notes = (*notes, *large_notes(*sizes, named=named))
        return Corpus(matrix, words, labels=labels, notes=notes)


def draft(source: Source, vocab: tuple[str, ...] | None, into: CorpusDraft) -> CorpusFacts:
    """Read as ``read`` does, some documents at a time."""
    rules, heads, with_last = rules_of(source, vocab), Heads(), array("q")
    for pairs in _documents(source, rules, heads):
        if vocab is not None and (is_last := pairs.ids == rules.limit - 1).any():
            docs = np.repeat(np.arange(len(pairs.lengths)), pairs.lengths)[is_last]
            with_last.extend((into.n_docs + docs).tolist())
        into.add(pairs)
    n_ids = len(into.n_docs_with)
    labels = heads.labels.tags() if heads.labels.columns else None
    if n_ids and into.n_docs_with[0]:
        if with_last:
            _report_last_id(source, rules, heads, np.asarray(with_last))
            vocab = None
        words = default_vocab(n_ids) if vocab is None else vocab
        return CorpusFacts(words, labels=labels, notes=(FROM_ZERO,))
    words = default_vocab(max(n_ids - 1, 0)) if vocab is None else vocab
    return CorpusFacts(words, np.maximum(np.arange(n_ids) - 1, 0), labels=labels)


def _documents(source: Source, rules: PairRules, heads: Heads) -> Iterator[CountedPairs]:
    for number, block in blocks(source.path):
        fast = read_fast((number, block), rules.limit, heads)
        yield fast or read_slowly(source, rules, (number, block), heads)


def rules_of(source: Source, vocab: tuple[str, ...] | None) -> PairRules:
    """Return the rules for a file with this vocabulary."""
    if vocab is None:
        return PairRules("the labels", MAX_UNNAMED_WORDS + 1, None, "")
    n_words = len(vocab)
    ids = f"{n_words} words (ids from 1 to {n_words}, or from 0 to {n_words - 1} if 0 occurs)"
    return PairRules("the labels", n_words + 1, source.vocab, ids)


def _report_last_id(source: Source, rules: PairRules, heads: Heads, docs: I64) -> None:
    """Report the id that is one too large because ids turn out to count from 0."""
    last = rules.limit - 1
    for doc in docs.tolist():
        what = f"word id {last} is out of range: id 0 occurs, and {rules.vocab} holds {last} words"
        source.report(DataError(source.path, what, heads.numbers[doc]))


def read_fast(block: Block, limit: int, heads: Heads) -> CountedPairs | None:
    """Read a block that is in perfect order; return None for any other."""
    numbers, labels, bodies = [], [], []
    for number, line in _lines(block):
        head, _, body = line.partition(b" ")
        if b":" in head:
            head, body = b"", line
        numbers.append(number)
        labels.append(head)
        bodies.append(body)
    entries = _entries(labels)
    text = (b" " + b"\n ".join(bodies) + b"\n").replace(b" \n", b"\n") if bodies else b""
    text = REAL_COUNT.sub(in_digits, text)
    lengths = gaps(text.translate(None, DIGITS))
    if entries is None or lengths is None:
        return None
    values = whole_numbers(text.replace(b":", b" "))
    if len(values) != 2 * lengths.sum():
        return None
    ids, counts = values.reshape(-1, 2).T
    pairs = checked(lengths, ids, counts, limit)
    if pairs is not None:
        for number, names in zip(numbers, entries, strict=True):
            heads.add(number, names)
    return pairs


def _lines(block: Block) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of every line that is not merely a comment."""
    first, text = block
    for number, line in enumerate(text[:-1].replace(b"\t", b" ").split(b"\n"), first):
        content, mark, _ = line.partition(b"#")
        if not mark or content.strip():
            yield number, content


def _entries(heads: list[bytes]) -> list[list[str]] | None:
    """Return the labels of each line; None where anything about them is unusual."""
    try:
        names = b" ".join(heads).decode()
    except UnicodeDecodeError:
        return None
    pieces = names.split(" ") if heads else []
    entries = [piece.split(",") if piece else [] for piece in pieces]
    unusual = any("" in labels for labels in entries) or names.split() != list(filter(None, pieces))
    return None if unusual else entries


def read_slowly(source: Source, rules: PairRules, block: Block, heads: Heads) -> CountedPairs:
    """Read a block token by token and report each line with a mistake."""
    documents = []
    for number, line in _lines(block):
        plain = REAL_COUNT.sub(in_digits, line + b"\n")
        tokens = decoded_line(source.path, plain, number, source.report).split()
        labels, document, problem = _read_line(rules, tokens)
        if problem:
            source.report(DataError(source.path, problem, number))
        heads.add(number, labels)
        documents.append(document)
    return packed(documents)


def _read_line(rules: PairRules, tokens: list[str]) -> tuple[list[str], dict[int, int], str]:
    """Return labels and counts of a document, and the error in its line, or ""."""
    labels: list[str] = []
    if tokens and ":" not in tokens[0]:
        labels = tokens[0].split(",")
        if "" in labels:
            return [], {}, f"expected labels separated by commas, got {shown(tokens[0])}"
    pairs = tokens[1:] if labels else tokens
    if any(token.startswith("qid:") for token in pairs):
        return [], {}, "qid: makes this ranking data, which are no corpus; take it out"
    document, problem = read_pairs(rules, pairs)
    return labels, document, problem


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write label ids, separated by commas, and counts; words and names have their own files."""
    labels = [[]] * corpus.n_docs if corpus.labels is None else tag_ids(corpus.labels)
    for ids, pairs in zip(labels, pair_lines(corpus, 1), strict=True):
        line = f"{','.join(map(str, ids))}{pairs}"
        file.write(f"{line.lstrip()}\n".encode())
