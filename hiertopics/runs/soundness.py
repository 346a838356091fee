"""Checks before writing: no infinite numbers, negative shares, or sums other than 1.

One place for every backend: what a fit summarises, what inference returns, what a score says. The
error names the setting, or the size of the data, that is farthest from what is usual. What is
written with a note: trees that say little.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from hiertopics.base.arrays import F64
from hiertopics.base.axes import Lengths, declared, require_declared, require_parents
from hiertopics.base.errors import NumericalError, RunError
from hiertopics.base.made import MadeRows
from hiertopics.contract.model import AnyBackend, Posterior, Settings, Summary
from hiertopics.contract.states import lengths_of
from hiertopics.corpus.data import Bags, Tree, Vectors
from hiertopics.corpus.data.discretise import EDGES
from hiertopics.settings.config import Experiment

ARITHMETIC = (ArithmeticError, LinAlgError)
"""Exceptions of Python and numpy where numbers leave their domain."""

OFF_ONE = 1e-6
"""How far a sum of shares may be from 1."""

FAR = 3.0
"""Powers of ten from its default from which a setting is suspected."""

USUAL = 1e6
"""Counts and values up to this size are not suspected."""

SCORES = (
    "log_likelihood_per_word",
    "log_likelihood_per_row",
    "perplexity",
    "standard_error",
    "perplexity_with_cache",
)


def check_objective(value: float, name: str) -> float:
    """Return ``value``; raises NumericalError where it is not finite."""
    if not math.isfinite(value):
        raise NumericalError(f"the {name} is {value:g}")
    return value


def check_summary(summary: Summary) -> None:
    """Raise NumericalError unless a tree and its theta are valid."""
    with np.errstate(all="ignore"):
        _check_tree(summary.tree)
        if isinstance(summary.rows, MadeRows):
            _check_made_shares(summary.rows, "theta")
        else:
            _check_sparse_shares(summary.rows, "theta")
        if summary.paths is not None:
            _check_finite(summary.paths.log_prob, "log_prob of the best paths")


def check_posterior(posterior: Posterior) -> None:
    """Raise NumericalError unless theta and paths of new documents are valid."""
    with np.errstate(all="ignore"):
        _check_sparse_shares(posterior.theta, "theta")
        if posterior.paths is not None:
            _check_finite(posterior.paths.log_prob, "log_prob of the best paths")
        if posterior.mixture is not None:
            _check_shares(posterior.mixture.level_weights, "level_weights", "path")


def check_fitted(tree: Tree, backend: AnyBackend, settings: Settings[Any, Any]) -> None:
    """Raise RunError if a tree lacks arrays that its backend needs, or has other shapes."""
    lengths = _lengths(tree, settings)
    try:
        _require_extra(tree, backend, lengths)
        if backend.breadth_first:
            require_parents("parent", tree.parent)
        if not tree.is_flat and int(tree.depth.max()) >= lengths.get("depth", tree.n_nodes):
            raise ValueError(f"its tree has more than {lengths['depth']} levels")
    except ValueError as error:
        raise RunError(f"model.npz is damaged: {error}") from error


def check_extra(tree: Tree, backend: AnyBackend, settings: Settings[Any, Any]) -> None:
    """Raise ValueError unless ``Tree.extra`` of a backend matches ``Backend.extra``.

    A declared axis must have a length that is known (a whole number, a size of the tree, a setting)
    or be one of two arrays: any other array fits an axis whose name is misspelt.
    """
    lengths = _lengths(tree, settings)
    declares = {name: declared(hint).axes for name, hint in backend.extra.items()}
    axes = {name: each.lengths if each else set() for name, each in declares.items()}
    users = Counter(axis for own in axes.values() for axis in own)
    for name, own in axes.items():
        for axis in sorted(own - {*lengths}):
            if not axis.isdigit() and users[axis] == 1:
                known = ", ".join(sorted(lengths))
                raise ValueError(f"{name} has the axis {axis}, which is none of {known}")
    _require_extra(tree, backend, lengths)


def _lengths(tree: Tree, settings: Settings[Any, Any]) -> Lengths:
    sizes = {
        "n_nodes": tree.n_nodes,
        "n_shown": len(tree.shown),
        "n_words": tree.phi.shape[1],
        "n_columns": tree.n_columns,
    }
    return {**lengths_of(None, settings), **sizes}


def _require_extra(tree: Tree, backend: AnyBackend, lengths: Lengths) -> None:
    for name, hint in backend.extra.items():
        if name not in tree.extra:
            raise ValueError(f"it has no {name}")
        require_declared(name, tree.extra[name], hint, lengths)


def check_scores(metrics: Mapping[str, Any]) -> None:
    """Raise NumericalError where a score of some token or row is not finite."""
    for name in SCORES:
        value = metrics.get(name)
        if value is not None and not math.isfinite(value):
            raise NumericalError(f"{name} is {value:g}: the model gives what is scored no chance")


def blamed(experiment: Experiment, *corpora: Bags | Vectors) -> str:
    """Return the end of a sentence that names the likeliest cause of a failed computation."""
    suspects = [*_far_settings(experiment), *_large_data(corpora)]
    if not suspects:
        return "; no setting is far from its default"
    return f"; the likeliest cause is {max(suspects)[1]}"


def _far_settings(experiment: Experiment) -> Iterator[tuple[float, str]]:
    """Yield (powers of ten from its default, what it is) of the settings that are far from it."""
    for section in ("model", "inference"):
        record = getattr(experiment, section)
        for field in structs.fields(record):
            value = msgspec.to_builtins(getattr(record, field.name))
            default = msgspec.to_builtins(field.default)
            far = max((_powers(number) for number in _numbers(value)), default=0.0)
            usual = [_powers(number) for number in _numbers(default)]
            distance = min((abs(far - power) for power in usual), default=abs(far))
            if value != default and distance >= FAR:
                shown = f"{section}.{field.encode_name}={_shown(value)}"
                yield distance, f"{shown} (default {_shown(default)})"


def _numbers(value: Any) -> list[float]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, float) and each]


def _powers(number: float) -> float:
    """Return the power of ten of a number that is not 0."""
    return math.log10(abs(number))


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if value is None:
        return "null"
    texts = [str(value), f"{value:g}"] if isinstance(value, float) else [str(value)]
    return min((text for text in texts if text == str(value) or float(text) == value), key=len)


def _large_data(corpora: tuple[Bags | Vectors, ...]) -> Iterator[tuple[float, str]]:
    for corpus in corpora:
        of_counts = not isinstance(corpus, Vectors)
        if isinstance(corpus, Vectors):
            largest = float(np.abs(corpus.rows).max(initial=0))
        else:
            largest = float(corpus.largest_count)
        if largest > USUAL:
            what = "a count" if of_counts else "a value"
            yield _powers(largest), f"{what} of {largest:.10g} in the corpus"


def _check_tree(tree: Tree) -> None:
    if tree.vectors is None:
        _check_shares(tree.phi, "phi", "node")
    for name, array in {"weight": tree.weight, "n_tokens": tree.n_tokens, **tree.extra}.items():
        if name != EDGES and array.dtype.kind == "f":
            _check_finite(array, name)
    for name, array in (("weight", tree.weight), ("n_tokens", tree.n_tokens)):
        if array.min(initial=0.0) < 0:
            raise NumericalError(f"{name} of node {int(array.argmin())} is negative")


def _check_finite(array: NDArray[Any], what: str) -> None:
    # A sum tells of NaN and of infinities, but overflows where values are huge.
    if not math.isfinite(float(array.sum())) and not np.isfinite(array).all():
        raise NumericalError(f"{what} is not finite")


def _check_shares(rows: F64, what: str, owner: str) -> None:
    """Raise NumericalError unless each row of shares [n, m] is a distribution."""
    _check_sums(rows.sum(axis=1), what, owner)
    if rows.min(initial=0.0) < 0:
        raise NumericalError(f"{what} of {owner} {int(rows.min(axis=1).argmin())} is negative")


def _check_sparse_shares(rows: Any, what: str) -> None:
    _check_sums(rows.sum(axis=1), what, "document")
    if rows.data.min(initial=0.0) < 0:
        doc = int(np.searchsorted(rows.indptr, rows.data.argmin(), side="right")) - 1
        raise NumericalError(f"{what} of document {doc} is negative")


def _check_made_shares(rows: MadeRows, what: str) -> None:
    found = [(block.sum(axis=1), block.min(axis=1, initial=0.0)) for block in rows.blocks()]
    sums, least = (np.concatenate(parts) for parts in zip(*found, strict=True))
    _check_sums(sums, what, "document")
    if least.min(initial=0.0) < 0:
        raise NumericalError(f"{what} of document {int(least.argmin())} is negative")


def _check_sums(sums: F64, what: str, owner: str) -> None:
    wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= OFF_ONE))
    if len(wrong):
        total = float(sums[wrong[0]])
        said = f"sums to {total:.6g}, not to 1" if math.isfinite(total) else "is not finite"
        raise NumericalError(f"{what} of {owner} {int(wrong[0])} {said}")


NEARLY_ALL = 0.95
SAME = 0.99
MOST_PAIRS = 3
EMPTY = 1e-4


def notes(summary: Summary) -> tuple[str, ...]:
    """Say where the tree of a fit is degenerate; of flat topics there is nothing to say."""
    tree, n_docs = summary.tree, summary.rows.shape[0]
    if summary.paths is None and tree.is_flat:
        return ()
    found = []
    leaves = np.setdiff1d(tree.shown, tree.parent)
    # Where documents mix paths, a leaf of general words may well be in all of them.
    single = summary.paths is not None
    if single and n_docs > 1 and tree.n_docs[leaves].max(initial=0) >= NEARLY_ALL * n_docs:
        found.append("one path holds nearly every document; the corpus may be small or uniform")
    same = alike_siblings(tree)
    if same:
        pairs = ", ".join(f"{first} and {second}" for first, second in same[:MOST_PAIRS])
        more = f" and {len(same) - MOST_PAIRS} more pairs" if len(same) > MOST_PAIRS else ""
        what = "words" if tree.vectors is None else "direction"
        found.append(f"sibling nodes have nearly the same {what}: {pairs}{more}")
    return tuple(found)


def alike_siblings(tree: Tree) -> list[tuple[int, int]]:
    """Return pairs of siblings whose rows of phi have a cosine above ``SAME``.

    In a tree of vectors those whose vectors do, either way round: their sign is free. Nodes with
    next to no tokens have the words of their prior, and are in no pair.
    """
    table = tree.phi if tree.vectors is None else tree.vectors
    found = []
    for node in tree.shown:
        children = np.sort(tree.children(int(node)))
        if tree.vectors is None:
            children = children[tree.weight[children] >= EMPTY]
        rows = table[children]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
        first, second = np.nonzero(np.triu(np.abs(rows @ rows.T), 1) > SAME)
        found += [(int(children[i]), int(children[j])) for i, j in zip(first, second, strict=True)]
    return found
