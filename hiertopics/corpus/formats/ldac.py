"""LDA-C: one line ``M id:count id:count ...`` per document, M pairs, word ids from 0.

A block of lines is read at once by numpy. Where anything about it is unusual, it is read again
token by token: that path knows every rule and every message, the fast one only says "not sure".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np

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
    joined,
    large_notes,
    packed,
    pair_lines,
    read_pairs,
    room_for,
    shown,
    size_announced,
    whole_number,
    whole_numbers,
)
from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts
from hiertopics.corpus.formats.opening import Block, blocks, without_blank_end
from hiertopics.corpus.formats.source import Source


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read an LDA-C file; without ``vocab`` the largest id decides how many words there are.

    Reports the line of each mistake.
    """
    lengths, ids, counts = joined(_documents(source, vocab))
    n_words = int(ids.max(initial=-1)) + 1 if vocab is None else len(vocab)
    sizes, named = (len(lengths), n_words), vocab is not None
    with room_for(source, size_announced(*sizes, named=named)):
        words = default_vocab(n_words) if vocab is None else vocab
        matrix = count_matrix(lengths, ids, counts, n_words)
        return Corpus(matrix, words, notes=large_notes(*sizes, named=named))


def draft(source: Source, vocab: tuple[str, ...] | None, into: CorpusDraft) -> CorpusFacts:
    """Read as ``read`` does, some documents at a time."""
    for pairs in _documents(source, vocab):
        into.add(pairs)
    return CorpusFacts(default_vocab(len(into.n_docs_with)) if vocab is None else vocab)


def _documents(source: Source, vocab: tuple[str, ...] | None) -> Iterator[CountedPairs]:
    rules = rules_of(source, vocab)
    for number, block in without_blank_end(blocks(source.path)):
        yield _read_fast(block, rules.limit) or _read_slowly(source, rules, (number, block))


def rules_of(source: Source, vocab: tuple[str, ...] | None) -> PairRules:
    """Return the rules for a file with this vocabulary."""
    after = "the number of distinct words"
    if vocab is None:
        return PairRules(after, MAX_UNNAMED_WORDS, None, "")
    ids = f"{len(vocab)} words (ids from 0 to {len(vocab) - 1})"
    return PairRules(after, len(vocab), source.vocab, ids)


def _read_fast(block: bytes, limit: int) -> CountedPairs | None:
    """Read a block that is in perfect order; return None for any other."""
    block = block.replace(b"\t", b" ").replace(b" \n", b"\n")
    lengths = gaps(block.translate(None, DIGITS))
    if lengths is None:
        return None
    numbers = whole_numbers(block.replace(b":", b" "))
    if len(numbers) != len(lengths) + 2 * lengths.sum():
        return None
    heads = np.arange(len(lengths)) + 2 * (np.cumsum(lengths) - lengths)
    if (numbers[heads] != lengths).any():
        return None
    ids, counts = np.delete(numbers, heads).reshape(-1, 2).T
    return checked(lengths, ids, counts, limit)


def _read_slowly(source: Source, rules: PairRules, block: Block) -> CountedPairs:
    """Read a block token by token and report each line with a mistake."""
    first, text = block
    documents = []
    for number, line in enumerate(text[:-1].split(b"\n"), first):
        document, problem = _read_line(rules, line.decode(errors="backslashreplace"))
        if problem:
            source.report(DataError(source.path, problem, number))
        documents.append(document)
    return packed(documents)


def _read_line(rules: PairRules, line: str) -> tuple[dict[int, int], str]:
    """Return the counts of one document by word id, and the error in its line, or ""."""
    if not line.strip():
        return {}, "blank line; an empty document is written 0"
    head, *pairs = line.split()
    length = whole_number(head)
    if length is None:
        return {}, f"expected the number of distinct words first, got {shown(head)}"
    document, problem = read_pairs(rules, pairs)
    if not problem and len(document) != length:
        problem = f"the line announces {shown(head)} distinct words but holds {len(document)}"
    return (document, "") if not problem else ({}, problem)


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the counts; words and marks have files of their own."""
    lengths = np.diff(corpus.counts.indptr).tolist()
    for length, pairs in zip(lengths, pair_lines(corpus, 0), strict=True):
        file.write(f"{length}{pairs}\n".encode())
