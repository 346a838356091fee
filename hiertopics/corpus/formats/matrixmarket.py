"""Matrix Market: documents x words as ``row column value`` lines, ids from 1.

The first line names what is stored, the first line without % holds rows, columns and entries
(Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935, 1996). SciPy's reader
lets entries that stand twice and fractions pass; this one names the line of each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import IO, NamedTuple

from scipy import sparse

from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.counting import (
    MAX_DOCS,
    in_digits,
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

BANNER = "%%MatrixMarket matrix coordinate integer general"
LAST_REAL = re.compile(rb"(?<=[ \t])[^ \t\n.eE]*+[.eE][^ \t\n]*+(?=[ \t\r]*\n)")


class MatrixMarketHeader(NamedTuple):
    """The content of the lines before the entries; line: that of the three sizes."""

    field: str
    symmetric: bool
    n_docs: int
    n_words: int
    n_entries: int
    line: int


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a matrix of counts; stored zeros are no pairs, a pattern has counts of 1.

    Reports the line of each mistake, also where the number of entries or the length of ``vocab``
    contradicts the file; raises DataError where the header is none.
    """
    header, stream = _read_header(source, without_blank_end(blocks(source.path)))
    words = words_of(source, header.n_words, vocab, header.line)
    rules = rules_of(header)
    triples = read_triples(source, rules, stream)
    _require_entries(source, header, int((triples[:, 0] != 0).sum()))
    if header.symmetric:
        # Either triangle may be stored, so that a pair and its mirror are one pair twice.
        triples[:, :2].sort(axis=1)
    sizes, named = (header.n_docs, header.n_words), vocab is not None
    with room_for(source, size_announced(*sizes, named=named), header.line):
        counts = triple_matrix(source, rules, triples, header.line + 1)
        if header.symmetric:
            counts = sparse.csr_array(counts + sparse.triu(counts, 1).T)
        return Corpus(counts, words, notes=large_notes(*sizes, named=named))


def draft(source: Source, vocab: tuple[str, ...] | None, into: CorpusDraft) -> CorpusFacts:
    """Read as ``read`` does, some lines at a time."""
    header, stream = _read_header(source, without_blank_end(blocks(source.path)))
    words = words_of(source, header.n_words, vocab, header.line)
    n_entries = draft_triples(
        source, rules_of(header), stream, into, header.line + 1, symmetric=header.symmetric
    )
    _require_entries(source, header, n_entries)
    return CorpusFacts(words)


def _require_entries(source: Source, header: MatrixMarketHeader, n_entries: int) -> None:
    """Report a header that announces another number of entries."""
    if n_entries != header.n_entries:
        what = f"the header announces {header.n_entries} entries, the file holds {n_entries}"
        source.report(DataError(source.path, what, header.line))


def rules_of(header: MatrixMarketHeader) -> LineRules:
    """Return the rules for the lines of entries."""
    n_docs, n_words = header.n_docs, header.n_words
    if header.field == "pattern":
        form = '"row column", two whole numbers (a pattern has no counts)'
        return LineRules(n_docs, n_words, form, _with_ones, comments=True)
    form = '"row column count", three whole numbers'
    if header.field == "real":
        form += " (3.0 is one)"
        return LineRules(n_docs, n_words, form, _in_digits, lowest=0, comments=True)
    return LineRules(n_docs, n_words, form, lowest=0, comments=True)


def _with_ones(block: bytes) -> bytes:
    return block.replace(b"\n", b" 1\n")


def _in_digits(block: bytes) -> bytes:
    return LAST_REAL.sub(in_digits, block)


def _read_header(
    source: Source, stream: Iterator[Block]
) -> tuple[MatrixMarketHeader, Iterator[Block]]:
    """Take everything up to the line of sizes off the stream."""
    field, symmetric, number = "", False, 0
    for first, block in stream:
        number = first - 1
        start = 0
        while start < len(block):
            number += 1
            end = block.index(b"\n", start)
            line = block[start:end].decode(errors="backslashreplace").strip()
            start = end + 1
            if number == 1:
                field, symmetric = _read_banner(source, line)
            elif line and not line.startswith("%"):
                sizes = _read_sizes(source, line, number)
                if symmetric and sizes[0] != sizes[1]:
                    what = f"a symmetric matrix must be square, got {shown(line)}"
                    raise DataError(source.path, what, number)
                header = MatrixMarketHeader(field, symmetric, *sizes, number)
                rest = block[start:]
                return header, chain([(number + 1, rest)] if rest else [], stream)
    what = f"expected a first line like {BANNER!r}"
    if number:
        what = "expected a line with the numbers of rows, columns and entries"
    raise DataError(source.path, what, number + 1)


def _read_banner(source: Source, line: str) -> tuple[str, bool]:
    """Return the field (integer, real or pattern) and whether the matrix is symmetric."""
    words = line.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        what = f"expected a first line like {BANNER!r}, got {shown(line)}"
        raise DataError(source.path, what, 1)
    layout, field, symmetry = words[2:]
    for name, value, known in (
        ("layout", layout, ("coordinate",)),
        ("field", field, ("integer", "real", "pattern")),
        ("symmetry", symmetry, ("general", "symmetric")),
    ):
        if value not in known:
            what = f"counts cannot be read from the {name} {shown(value)}"
            raise DataError(source.path, f"{what}; store them as {' or '.join(known)}", 1)
    return field, symmetry == "symmetric"


def _read_sizes(source: Source, line: str, number: int) -> tuple[int, int, int]:
    sizes = [size for token in line.split() if (size := whole_number(token)) is not None]
    if len(sizes) != len(line.split()) or len(sizes) != 3 or sizes[0] == 0:
        what = "expected the numbers of rows (at least 1), columns and entries"
        raise DataError(source.path, f"{what}, got {shown(line)}", number)
    if sizes[0] > MAX_DOCS:
        what = size_announced(*sizes[:2])
        raise DataError(source.path, f"{what}; more than {MAX_DOCS} documents are not read", number)
    return sizes[0], sizes[1], sizes[2]


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write the counts; words and marks have files of their own."""
    sizes = f"{corpus.n_docs} {corpus.n_words} {corpus.n_pairs}"
    file.write(f"{BANNER}\n{sizes}\n".encode())
    file.writelines(triple_lines(corpus))
