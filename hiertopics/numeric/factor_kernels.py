"""Dense steps of factorisations. Sums have one order for every width of vectors.

numpy allocates results and scratch before a kernel is called: numba takes about a tenth of a
second to compile each kind of allocation.
"""

from __future__ import annotations

import numpy as np

from hiertopics.base.arrays import F64, I32, I64
from hiertopics.numeric.jit import kernel
from hiertopics.numeric.special import fill_row

SWEEPS = 30
"""Rounds of rotations at most; eight are usual."""

DIAGONAL = 1e-26
"""Squares off the diagonal that count as none, of those on it."""

BESIDE = 64
"""Rows of a factor that are moved at a time; loops over fewer LLVM unrolls, not as vector code."""


def product(one: F64, other: F64) -> F64:
    """Return one [n, k] @ other [k, m], each entry summed from the first of k to the last."""
    found = np.zeros((one.shape[0], other.shape[1]))
    add_product(one, other, found)
    return found


@kernel()
def add_product(one: F64, other: F64, found: F64) -> None:
    """Add one [n, k] @ other [k, m] to ``found`` [n, m], from the first of k to the last.

    So parts of k, one after the other, give the bits of ``product``.
    """
    for row in range(one.shape[0]):
        for middle in range(one.shape[1]):
            factor = one[row, middle]
            if factor != 0.0:
                for column in range(other.shape[1]):
                    found[row, column] += factor * other[middle, column]


def gram(rows: F64) -> F64:
    """Return the inner products of columns, rows.T @ rows, [k, k]; rows: [n, k].

    Each entry is summed from the first row to the last.
    """
    found = np.zeros((rows.shape[1], rows.shape[1]))
    add_gram(rows, found)
    return found


@kernel()
def add_gram(rows: F64, found: F64) -> None:
    """Add rows.T @ rows to ``found`` [k, k]; rows: [n, k].

    Four rows are added at a time, so that a sum is loaded and stored once for them.
    """
    n_columns = rows.shape[1]
    in_fours = rows.shape[0] - rows.shape[0] % 4
    for row in range(0, in_fours, 4):
        for one in range(n_columns):
            a, b = rows[row, one], rows[row + 1, one]
            c, d = rows[row + 2, one], rows[row + 3, one]
            for other in range(n_columns):
                total = found[one, other] + a * rows[row, other]
                total = total + b * rows[row + 1, other]
                total = total + c * rows[row + 2, other]
                found[one, other] = total + d * rows[row + 3, other]
    for row in range(in_fours, rows.shape[0]):
        for one in range(n_columns):
            for other in range(n_columns):
                found[one, other] += rows[row, one] * rows[row, other]


def lengths(rows: F64) -> F64:
    """Return the Euclidean length of each row [n, m], float64 [n], summed from the first column."""
    if not rows.shape[1]:
        return np.zeros(len(rows))
    # ``cumsum`` adds one by one, ``sum`` does not.
    return np.array([np.sqrt((row * row).cumsum()[-1]) for row in rows])


def orthonormalise(rows: F64) -> None:
    """Make rows [k, n] orthonormal in place; a row in the span of the others becomes 0.

    Modified Gram-Schmidt, twice. Each row, once it has length 1, is taken out of all later ones.
    """
    for _ in range(2):
        _orthonormalise(rows, lengths(rows))


@kernel()
def _orthonormalise(rows: F64, before: F64) -> None:
    """Scale each row to length 1 and take it out of all later ones.

    before [k]: lengths of the rows before this pass.
    """
    for one in range(rows.shape[0]):
        total = 0.0
        for column in range(rows.shape[1]):
            total += rows[one, column] * rows[one, column]
        # What rounding alone leaves of a row is no direction.
        there = total > 1e-24 * before[one] * before[one] and total > 0.0
        scale = 1.0 / np.sqrt(total) if there else 0.0
        for column in range(rows.shape[1]):
            rows[one, column] *= scale
        _take_out(rows, one)


@kernel()
def _take_out(rows: F64, one: int) -> None:
    """Make the rows after a row of length 1 orthogonal to it.

    A sum waits for its last addend. Four sums, each in the order of columns, wait side by side.
    """
    in_fours = rows.shape[0] - (rows.shape[0] - one - 1) % 4
    for first in range(one + 1, in_fours, 4):
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for column in range(rows.shape[1]):
            entry = rows[one, column]
            a += rows[first, column] * entry
            b += rows[first + 1, column] * entry
            c += rows[first + 2, column] * entry
            d += rows[first + 3, column] * entry
        _subtract(rows[first], a, rows[one])
        _subtract(rows[first + 1], b, rows[one])
        _subtract(rows[first + 2], c, rows[one])
        _subtract(rows[first + 3], d, rows[one])
    for other in range(in_fours, rows.shape[0]):
        inner = 0.0
        for column in range(rows.shape[1]):
            inner += rows[other, column] * rows[one, column]
        _subtract(rows[other], inner, rows[one])


@kernel()
def _subtract(row: F64, times: float, other: F64) -> None:
    for column in range(len(row)):
        row[column] -= times * other[column]


def eigenvectors(symmetric: F64) -> F64:
    """Return the eigenvectors of a matrix [k, k] as rows; it becomes diagonal in place.

    Cyclic Jacobi rotations (G. Golub, C. Van Loan, Matrix Computations, section 8.5).
    """
    found = np.eye(len(symmetric))
    _diagonalise(symmetric, found)
    return found


@kernel()
def _diagonalise(symmetric: F64, vectors: F64) -> None:
    """Make a symmetric matrix diagonal by rotations; rows of ``vectors`` [k, k] rotate with it."""
    n = symmetric.shape[0]
    for _ in range(SWEEPS):
        off, diagonal = 0.0, 0.0
        for row in range(n):
            diagonal += symmetric[row, row] * symmetric[row, row]
            for column in range(row):
                off += symmetric[row, column] * symmetric[row, column]
        if off <= DIAGONAL * diagonal:
            break
        for one in range(n - 1):
            for other in range(one + 1, n):
                if abs(symmetric[one, other]) > 1e-300:
                    _rotate(symmetric, vectors, one, other)


@kernel()
def _rotate(symmetric: F64, vectors: F64, one: int, other: int) -> None:
    """Make an entry off the diagonal 0."""
    slope = (symmetric[other, other] - symmetric[one, one]) / (2.0 * symmetric[one, other])
    sign = 1.0 if slope >= 0.0 else -1.0
    tangent = sign / (abs(slope) + np.sqrt(1.0 + slope * slope))
    cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    for place in range(symmetric.shape[0]):
        first, second = symmetric[one, place], symmetric[other, place]
        symmetric[one, place] = cosine * first - sine * second
        symmetric[other, place] = sine * first + cosine * second
    for place in range(symmetric.shape[0]):
        first, second = symmetric[place, one], symmetric[place, other]
        symmetric[place, one] = cosine * first - sine * second
        symmetric[place, other] = sine * first + cosine * second
    for place in range(symmetric.shape[0]):
        first, second = vectors[one, place], vectors[other, place]
        vectors[one, place] = cosine * first - sine * second
        vectors[other, place] = sine * first + cosine * second


def descend(factor: F64, against: F64, inner: F64) -> float:
    """Update a factor W [n, k] of X by one pass of coordinate descent; return the total change.

    Least squares of X - W H over W >= 0 given H. against: X @ H.T, [n, k]; inner: H @ H.T, [k, k].
    """
    block, target, steps = np.zeros((3, factor.shape[1], BESIDE))
    return float(_descend(factor, against, inner, block, target, steps, np.zeros(BESIDE)))


@kernel()
def _descend(
    factor: F64, against: F64, inner: F64, block: F64, target: F64, steps: F64, slopes: F64
) -> float:
    """Update a factor; return the total change. The last four arguments are scratch.

    Rows know nothing of each other: some of them move side by side, as vector code.
    """
    moved, n_columns = 0.0, factor.shape[1]
    for first in range(0, factor.shape[0], BESIDE):
        n_rows = min(BESIDE, factor.shape[0] - first)
        for row in range(n_rows):
            for column in range(n_columns):
                block[column, row] = factor[first + row, column]
                target[column, row] = against[first + row, column]
        _descend_beside(block, target, inner, slopes, steps)
        # The way is added up row by row, whatever moved at the same time.
        for row in range(n_rows):
            for column in range(n_columns):
                factor[first + row, column] = block[column, row]
                moved += steps[column, row]
    return moved


@kernel()
def _descend_beside(block: F64, target: F64, inner: F64, slopes: F64, steps: F64) -> None:
    """Move rows of a factor, columns here; all [k, BESIDE]. steps: how far each entry moved.

    slopes: scratch, [BESIDE].
    """
    # Four addends at a time, in the order of columns: a slope is loaded and stored once for them.
    in_fours = block.shape[0] - block.shape[0] % 4
    for one in range(block.shape[0]):
        scale = inner[one, one]
        if scale <= 0.0:
            continue
        for row in range(BESIDE):
            slopes[row] = -target[one, row]
        for other in range(0, in_fours, 4):
            a, b = inner[other, one], inner[other + 1, one]
            c, d = inner[other + 2, one], inner[other + 3, one]
            for row in range(BESIDE):
                slope = slopes[row] + block[other, row] * a
                slope = slope + block[other + 1, row] * b
                slope = slope + block[other + 2, row] * c
                slopes[row] = slope + block[other + 3, row] * d
        for other in range(in_fours, block.shape[0]):
            for row in range(BESIDE):
                slopes[row] += block[other, row] * inner[other, one]
        for row in range(BESIDE):
            old = block[one, row]
            new = max(old - slopes[row] / scale, 0.0)
            block[one, row] = new
            steps[one, row] = abs(new - old)


def best_parts(
    starts: I64, word: I32, tokens: F64, phi: F64, prior: float, n_rounds: int, power: int = 1
) -> I64:
    """Return which topic suits each pair best, int64 [n_pairs], of documents under held topics.

    starts: [n_docs + 1]; word, tokens: of each pair; phi: [n_words, T]. theta begins even, and
    ``n_rounds`` times becomes the mean of q, prior tokens in each topic with it. The topic of the
    largest theta^power phi suits a pair best, the first of equal ones. power: at least 1.
    """
    best, (theta, n, row) = np.zeros(len(word), np.int64), np.zeros((3, phi.shape[1]))
    _choose_parts(starts, word, tokens, phi, prior, n_rounds, power, theta, n, row, best)
    return best


@kernel()
def _choose_parts(
    starts: I64,
    word: I32,
    tokens: F64,
    phi: F64,
    prior: float,
    n_rounds: int,
    power: int,
    theta: F64,
    n: F64,
    row: F64,
    best: I64,
) -> None:
    """Write the topic of each pair to ``best``; theta, n and row [T] are scratch."""
    n_topics = phi.shape[1]
    for doc in range(len(starts) - 1):
        fill_row(theta, n_topics, 1.0 / n_topics)
        for _ in range(n_rounds):
            fill_row(n, n_topics, prior)
            for pair in range(starts[doc], starts[doc + 1]):
                total = 0.0
                for topic in range(n_topics):
                    row[topic] = theta[topic] * phi[word[pair], topic]
                    total += row[topic]
                if total > 0.0:
                    scale = tokens[pair] / total
                    for topic in range(n_topics):
                        n[topic] += scale * row[topic]
            total = 0.0
            for topic in range(n_topics):
                total += n[topic]
            for topic in range(n_topics):
                theta[topic] = n[topic] / total
        for topic in range(n_topics):
            n[topic] = theta[topic]
            for _ in range(power - 1):
                n[topic] *= theta[topic]
        for pair in range(starts[doc], starts[doc + 1]):
            most = -1.0
            for topic in range(n_topics):
                chance = n[topic] * phi[word[pair], topic]
                if chance > most:
                    most = chance
                    best[pair] = topic


@kernel()
def tokens_in_parts(
    starts: I64, word: I32, tokens: F64, part: I64, theta: F64, phi: F64, n_parts: int
) -> F64:
    """Return the expected tokens of each topic in each part, float64 [T, n_parts].

    starts: [n_docs + 1]; word, tokens, part: of each pair; theta: [n_docs, T]; phi: [n_words, T].
    A pair's tokens are divided among the topics in proportion to theta phi.
    """
    n_topics = phi.shape[1]
    found, row = np.zeros((n_topics, n_parts)), np.empty(n_topics)
    for doc in range(len(starts) - 1):
        for pair in range(starts[doc], starts[doc + 1]):
            total = 0.0
            for topic in range(n_topics):
                row[topic] = theta[doc, topic] * phi[word[pair], topic]
                total += row[topic]
            if total > 0.0:
                scale = tokens[pair] / total
                for topic in range(n_topics):
                    found[topic, part[pair]] += scale * row[topic]
    return found
