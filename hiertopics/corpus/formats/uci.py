"""UCI bag of words: D, W and NNZ on three lines, then ``document word count`` lines."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import IO, NamedTuple

from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.counting import (
    MAX_DOCS,
    large_notes,
    room_for,
    shown,
    size_announced,
    whole_number,
    words_of,
)
from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts
from hiertopics.corpus.formats.opening import Block, blocks, without_blank_end
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.triples import (
    LineRules,
    draft_triples,
    read_triples,
    triple_lines,
    triple_matrix,
)

HEADER = ("documents", "words", "pairs")
HEADER_LINES = len(HEADER)


class UciHeader(NamedTuple):
    """The three numbers at the top of the file."""

    n_docs: int
    n_words: int
    n_pairs: int


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a docword file; documents may come in any order, those without a line are empty.

    Reports the line of each mistake, also where NNZ or the length of ``vocab`` contradicts the
    file; raises DataError where the header is none.
    """
    header, stream = _read_header(source, without_blank_end(blocks(source.path)))
    words = words_of(source, header.n_words, vocab, line=2)
    rules = LineRules(header.n_docs, header.n_words)
    sizes, named = (header.n_docs, header.n_words), vocab is not None
    triples = read_triples(source, rules, stream)
    _require_pairs(source, header, len(triples))
    with room_for(source, size_announced(*sizes, named=named), 1):
        counts = triple_matrix(source, rules, triples, HEADER_LINES + 1)
        return Corpus(counts, words, notes=large_notes(*sizes, named=named))


def draft(source: Source, vocab: tuple[str, ...] | None, into: CorpusDraft) -> CorpusFacts:
    """Read as ``read`` does, some lines at a time."""
    header, stream = _read_header(source, without_blank_end(blocks(source.path)))
    words = words_of(source, header.n_words, vocab, line=2)
    rules = LineRules(header.n_docs, header.n_words)
    _require_pairs(source, header, draft_triples(source, rules, stream, into, HEADER_LINES + 1))
    return CorpusFacts(words)


def _require_pairs(source: Source, header: UciHeader, n_pairs: int) -> None:
    """Report a header that announces another number of pairs."""
    if n_pairs != header.n_pairs:
        what = f"the header announces {header.n_pairs} pairs (NNZ), the file holds {n_pairs}"
        source.report(DataError(source.path, what, HEADER_LINES))


def _read_header(source: Source, stream: Iterator[Block]) -> tuple[UciHeader, Iterator[Block]]:
    """Take the header off the stream; the first block is longer than any sound header."""
    _, block = next(stream, (1, b""))
    *head, rest = block.split(b"\n", HEADER_LINES)
    numbers = []
    for line, text in enumerate(head, 1):
        token = text.decode(errors="backslashreplace").strip()
        number = whole_number(token)
        if number is None or (line == 1 and number == 0):
            what = f"expected the number of {HEADER[line - 1]}, alone on header line {line}"
            raise DataError(source.path, f"{what}, got {shown(token)}", line)
        numbers.append(number)
    if len(numbers) < HEADER_LINES:
        what = f"expected three header lines: the numbers of {', '.join(HEADER)}"
        raise DataError(source.path, what, len(numbers) + 1)
    if numbers[0] > MAX_DOCS:
        what = size_announced(*numbers[:2])
        raise DataError(source.path, f"{what}; more than {MAX_DOCS} documents are not read", 1)
    return UciHeader(*numbers), chain([(HEADER_LINES + 1, rest)] if rest else [], stream)


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the counts; words and marks have files of their own."""
    file.write(f"{corpus.n_docs}\n{corpus.n_words}\n{corpus.n_pairs}\n".encode())
    file.writelines(triple_lines(corpus))
