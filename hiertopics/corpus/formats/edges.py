"""Edge lists: an undirected link ``u v`` per line, read as a bag of links per node.

Documents and words are the nodes; a link counts once in each of its two nodes, however often
and in whichever direction it is listed. Lines that open with # or % are comments.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import IO, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.counting import DIGITS, shown, whole_numbers
from hiertopics.corpus.formats.opening import Block, blocks, decoded_line, without_blank_end
from hiertopics.corpus.formats.sidefiles import in_order
from hiertopics.corpus.formats.source import Source

COMMENTS = ("#", "%")
COMMENT_LINE = re.compile(rb"^[#%].*\n", re.MULTILINE)
# Names such as 007 must stay what they are, and a number must fit into 64 bits.
NO_PLAIN_NUMBER = re.compile(rb"(?<![0-9])0[0-9]|[0-9]{19}")
PLAIN_NUMBER = re.compile("0|[1-9][0-9]{0,17}")

Names = list[tuple[str, str]]


class LinkEnds(NamedTuple):
    """The two ends of each line: numbers where a whole block holds nothing else, names.

    numbers: int64 [n_lines, 2], of such lines alone.
    """

    numbers: I64
    names: Names


class KnownNodes(NamedTuple):
    """The nodes that may occur: all their names, and those of them that are plain numbers."""

    names: frozenset[str]
    numbers: I64


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read an edge list; ``vocab`` gives the nodes and their order, also of those without links.

    Without it the nodes are those that occur, by value if all are whole numbers, else by name.
    Self-loops are dropped and counted. Reports each line that does not hold two (known) nodes.
    """
    links = _read_blocks(source, None if vocab is None else _known(vocab))
    names, ends = _numbered(links, vocab)
    loops = ends[:, 0] == ends[:, 1]
    n_loops = int(loops.sum())
    matrix = _symmetric(ends[~loops], len(names))
    notes = (f"{n_loops} self-loop{'s were' if n_loops > 1 else ' was'} dropped",)
    return Corpus(matrix, names, doc_ids=names, notes=notes if n_loops else ())


def _known(vocab: Collection[str]) -> KnownNodes:
    numbers = [int(name) for name in vocab if PLAIN_NUMBER.fullmatch(name)]
    return KnownNodes(frozenset(vocab), np.array(numbers, dtype=np.int64))


def _read_blocks(source: Source, nodes: KnownNodes | None) -> LinkEnds:
    numbers, names = [np.empty((0, 2), np.int64)], []
    for number, block in without_blank_end(blocks(source.path)):
        ends = read_fast(block, nodes)
        if ends is None:
            names += read_slowly(source, nodes, (number, block))
        else:
            numbers.append(ends)
    return LinkEnds(np.concatenate(numbers), names)


def read_fast(block: bytes, nodes: KnownNodes | None) -> I64 | None:
    """Read a block of plain numbers in perfect order, int64 [n, 2]; return None for any other."""
    if any(mark.encode() in block for mark in COMMENTS):
        block = COMMENT_LINE.sub(b"", block)
    block = block.replace(b"\t", b" ").replace(b" \n", b"\n")
    # One gap per line holds at most two numbers; two per line in all means none is empty.
    marks = block.translate(None, DIGITS)
    n_lines = marks.count(b"\n")
    if marks != b" \n" * n_lines or NO_PLAIN_NUMBER.search(block):
        return None
    numbers = whole_numbers(block)
    if len(numbers) != 2 * n_lines or (nodes and not np.isin(numbers, nodes.numbers).all()):
        return None
    return numbers.reshape(-1, 2)


def read_slowly(source: Source, nodes: KnownNodes | None, block: Block) -> Names:
    """Read a block line by line and report each mistake."""
    first, text = block
    links = []
    for number, raw in enumerate(text[:-1].split(b"\n"), first):
        line = decoded_line(source.path, raw, number, source.report)
        if line.startswith(COMMENTS):
            continue
        ends = line.split()
        unknown = [name for name in ends if nodes is not None and name not in nodes.names]
        if len(ends) != 2:
            what = f"expected the names of two nodes and nothing else, got {shown(line)}"
            source.report(DataError(source.path, what, number))
        elif unknown:
            what = f"the node {shown(unknown[0])} is not in {source.vocab}"
            source.report(DataError(source.path, what, number))
        else:
            links.append((ends[0], ends[1]))
    return links


def _numbered(links: LinkEnds, vocab: tuple[str, ...] | None) -> tuple[tuple[str, ...], I64]:
    """Return the nodes and the links as places in them, int64 [n, 2]."""
    values, inverse = np.unique(links.numbers, return_inverse=True)
    ends = inverse.reshape(-1, 2)
    plain = tuple(map(str, values.tolist()))
    if vocab is None and not links.names:
        return plain, ends
    names = vocab or tuple(in_order({*plain, *chain.from_iterable(links.names)}))
    place = {name: index for index, name in enumerate(names)}
    columns = np.array([place[name] for name in plain], dtype=np.int64)
    others = [[place[u], place[v]] for u, v in links.names]
    return names, np.concatenate([columns[ends], np.array(others, np.int64).reshape(-1, 2)])


def _symmetric(ends: I64, n_nodes: int) -> sparse.csr_array:
    """Return a count of 1 in both directions of each link."""
    both = np.concatenate([ends, ends[:, ::-1]])
    rows, columns = np.divmod(np.unique(both[:, 0] * n_nodes + both[:, 1]), max(n_nodes, 1))
    ones = np.ones(len(rows), dtype=np.int32)
    return sparse.csr_array((ones, (rows, columns)), shape=(n_nodes, n_nodes))


def write(corpus: Corpus, file: IO[bytes]) -> None:
    """Write each link once; raises UsageError for a corpus that is no such graph."""
    problem = next(_problems(corpus), None)
    if problem is not None:
        raise UsageError(f"this corpus cannot be written as edges: {problem}")
    upper = sparse.triu(corpus.counts, format="csr").tocoo()
    for u, v in zip(*(part.tolist() for part in upper.coords), strict=True):
        file.write(f"{corpus.vocab[u]} {corpus.vocab[v]}\n".encode())


def _problems(corpus: Corpus) -> Iterator[str]:
    counts = corpus.counts
    if corpus.n_docs != corpus.n_words:
        yield f"{corpus.n_docs} documents over {corpus.n_words} words are not nodes over nodes"
        return
    if (counts.data != 1).any():
        yield f"a count of {counts.data.max()} would be lost; links count once"
    if (counts != counts.T).nnz:
        yield "a link from u to v without one from v to u"
    if counts.diagonal().any():
        yield "self-loops are not read back"
    names = (name for name in corpus.vocab if name.split() != [name] or name.startswith(COMMENTS))
    for name in names:
        yield f"the name {shown(name)} would not be read back (white space, # or %)"
    if corpus.n_empty:
        lonely = corpus.vocab[int(np.flatnonzero(corpus.doc_lengths == 0)[0])]
        yield f"nodes without any link would be lost ({corpus.n_empty}, first {shown(lonely)})"
