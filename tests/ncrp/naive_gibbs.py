"""The nested CRP mixture token by token, and its exact posterior for tiny corpora.

Nothing here shares code with the package. ``docs[d][i]`` is the word of a token, ``levels[d][i]``
its level, ``paths[d]`` a tuple of labels from below the root down; two documents share a node
where their tuples agree up to it. Section numbers are those of theory/ncrp.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Path = tuple[int, ...]
Docs = Sequence[Sequence[int]]
Levels = Sequence[Sequence[int]]


class Hyper(NamedTuple):
    """Level prior (root first), gamma, eta, and the size of the vocabulary."""

    alpha: Sequence[float]
    gamma: float
    eta: float
    n_words: int


def log_joint(docs: Docs, paths: Sequence[Path], levels: Levels, hyper: Hyper) -> float:
    """Return log p(paths, levels, words), each drawn given those before it (sections 1 and 5)."""
    total = 0.0
    visits: Counter[Path] = Counter()
    seen: Counter[tuple[Path, int]] = Counter()
    size: Counter[Path] = Counter()
    for doc, path, level_of in zip(docs, paths, levels, strict=True):
        for depth in range(len(path)):
            at, child = path[:depth], path[: depth + 1]
            new = visits[child] == 0
            total += math.log(hyper.gamma if new else visits[child])
            total -= math.log(visits[at] + hyper.gamma)
        for depth in range(len(path) + 1):
            visits[path[:depth]] += 1
        used: Counter[int] = Counter()
        for word, level in zip(doc, level_of, strict=True):
            node = path[:level]
            total += math.log(used[level] + hyper.alpha[level])
            total -= math.log(sum(used.values()) + sum(hyper.alpha))
            chance = (seen[node, word] + hyper.eta) / (size[node] + hyper.n_words * hyper.eta)
            total += math.log(chance)
            used[level] += 1
            seen[node, word] += 1
            size[node] += 1
    return total


def candidates(others: Sequence[Path], depth: int) -> Iterator[Path]:
    """Yield a document's possible paths given the others': each leaf, each new branch once.

    New labels are negative, the deepest first.
    """
    nodes = {path[:cut] for path in others for cut in range(depth)} | {()}
    yield from sorted(set(others))
    for node in sorted(nodes):
        if len(node) < depth - 1:
            yield node + tuple(-1 - level for level in range(len(node), depth - 1))


def path_chances(
    docs: Docs, paths: Sequence[Path], levels: Levels, hyper: Hyper, doc: int
) -> dict[Path, float]:
    """Return P(path of a document | all else) for each candidate, by the log joint alone."""
    others = [path for d, path in enumerate(paths) if d != doc]
    scores = {}
    for path in candidates(others, len(hyper.alpha)):
        moved = [*paths[:doc], path, *paths[doc + 1 :]]
        scores[path] = log_joint(docs, moved, levels, hyper)
    return normalised(scores)


def level_chances(
    docs: Docs, paths: Sequence[Path], levels: Levels, hyper: Hyper, doc: int, token: int
) -> list[float]:
    """Return P(level of a token | all else) for each level, by the log joint alone."""
    scores = {}
    for level in range(len(hyper.alpha)):
        changed = [list(row) for row in levels]
        changed[doc][token] = level
        scores[level] = log_joint(docs, paths, changed, hyper)
    chances = normalised(scores)
    return [chances[level] for level in range(len(hyper.alpha))]


def normalised(scores: dict[Any, float]) -> dict[Any, float]:
    """Return chances from log weights."""
    largest = max(scores.values())
    weights = {key: math.exp(value - largest) for key, value in scores.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


class Posterior(NamedTuple):
    """Evidence, and the chance of each (paths in order of appearance, levels)."""

    log_evidence: float
    chances: dict[tuple[tuple[Path, ...], tuple[tuple[int, ...], ...]], float]


def posterior(docs: Docs, hyper: Hyper) -> Posterior:
    """Return the exact posterior by listing every tree and every level (T6)."""
    depth = len(hyper.alpha)
    scores = {}
    for paths in trees(len(docs), depth):
        choices = [itertools.product(range(depth), repeat=len(doc)) for doc in docs]
        for levels in itertools.product(*map(list, choices)):
            scores[paths, levels] = log_joint(docs, paths, levels, hyper)
    largest = max(scores.values())
    evidence = largest + math.log(sum(math.exp(score - largest) for score in scores.values()))
    return Posterior(evidence, normalised(scores))


def trees(n_docs: int, depth: int) -> Iterator[tuple[Path, ...]]:
    """Yield the paths of documents in every tree, children numbered as they appear."""
    if n_docs == 0:
        yield ()
        return
    for before in trees(n_docs - 1, depth):
        for path in candidates(before, depth):
            yield (*before, in_order(before, path))


def in_order(before: Sequence[Path], path: Path) -> Path:
    """Return ``path`` with its new labels replaced by the next numbers among siblings."""
    named: Path = ()
    for label in path:
        children = {other[: len(named) + 1] for other in before if other[: len(named)] == named}
        named = (*named, label if label >= 0 else len(children))
    return named


def relabelled(paths: Sequence[Sequence[int]]) -> tuple[Path, ...]:
    """Return paths with children numbered in order of appearance, as ``trees`` does."""
    number: dict[Path, int] = {}
    children: Counter[Path] = Counter()
    done = []
    for path in paths:
        for cut in range(1, len(path) + 1):
            node = tuple(path[:cut])
            if node not in number:
                number[node] = children[node[:-1]]
                children[node[:-1]] += 1
        done.append(tuple(number[tuple(path[:cut])] for cut in range(1, len(path) + 1)))
    return tuple(done)
