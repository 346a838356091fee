"""The variational updates and the bound of the truncated tree as the formulas have them.

Everything is a loop or a plain array expression over explicit factors: q(path) per document and
slot, q(level) per document (and slot), word and level. No update is shared with the package.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaln, digamma, gammaln, logsumexp, xlogy

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Q:
    """All factors. parent: parents first, siblings by their sticks. counts [D, V].

    chances [D, n]; resp [D, V, L] (structured: [D, n, V, L]); tau [D, L]; lam [n, V]; a, b [n].
    """

    parent: tuple[int, ...]
    counts: Array
    chances: Array
    resp: Array
    tau: Array
    lam: Array
    a: Array
    b: Array
    prior: Array
    gamma: float
    eta: float

    @property
    def structured(self) -> bool:
        return self.resp.ndim == 4


def levels(parent: tuple[int, ...]) -> list[int]:
    found: list[int] = []
    for above in parent:
        found.append(0 if above < 0 else found[above] + 1)
    return found


def path(q: Q, node: int) -> list[int]:
    found: list[int] = []
    while node >= 0:
        found.insert(0, node)
        node = q.parent[node]
    return found


def children(q: Q, node: int) -> list[int]:
    return [child for child, above in enumerate(q.parent) if above == node]


def log_masses(q: Q) -> Array:
    """LM of every slot by section 2.3, node by node."""
    depth = len(q.prior)
    first = digamma(1.0) - digamma(1.0 + q.gamma)
    series = first - np.log1p(-np.exp(digamma(q.gamma) - digamma(1.0 + q.gamma)))
    take = digamma(q.a) - digamma(q.a + q.b)
    skip = digamma(q.b) - digamma(q.a + q.b)
    found = np.zeros(len(q.parent))
    for node in range(len(q.parent)):
        steps = path(q, node)
        for above, below in zip(steps, steps[1:], strict=False):
            found[node] += take[below]
            found[node] += sum(skip[older] for older in children(q, above) if older < below)
        if len(steps) < depth:
            found[node] += sum(skip[child] for child in children(q, node))
            found[node] += (depth - len(steps)) * series
    return found


def log_words(q: Q) -> Array:
    """E log phi of each slot and level, [n, V, L]; e0 where the path has left the tree."""
    n_words = q.counts.shape[1]
    own = digamma(q.lam) - digamma(q.lam.sum(axis=1))[:, None]
    found = np.full(
        (len(q.parent), n_words, len(q.prior)), digamma(q.eta) - digamma(n_words * q.eta)
    )
    for node in range(len(q.parent)):
        for level, at in enumerate(path(q, node)):
            found[node, :, level] = own[at]
    return found


def log_levels(q: Q) -> Array:
    return digamma(q.tau) - digamma(q.tau.sum(axis=1))[:, None]


def spread(q: Q) -> Array:
    """q(level) per slot, [D, n, V, L], in both families."""
    return q.resp if q.structured else np.repeat(q.resp[:, None], len(q.parent), axis=1)


def scores(q: Q) -> Array:
    """What a slot is worth to a document at any q(level), [D, n]."""
    resp = spread(q)
    inside = log_words(q)[None] + log_levels(q)[:, None, None, :]
    return np.einsum("dv,dnvl->dn", q.counts, resp * inside - xlogy(resp, resp))


def update_path(q: Q) -> Q:
    weights = log_masses(q) + scores(q)
    return replace(q, chances=np.exp(weights - logsumexp(weights, axis=1, keepdims=True)))


def update_level(q: Q) -> Q:
    inside = log_words(q)
    if q.structured:
        weights = inside[None] + log_levels(q)[:, None, None, :]
    else:
        weights = np.einsum("dn,nvl->dvl", q.chances, inside) + log_levels(q)[:, None, :]
    return replace(q, resp=np.exp(weights - logsumexp(weights, axis=-1, keepdims=True)))


def update_theta(q: Q) -> Q:
    tokens = np.einsum("dn,dv,dnvl->dl", q.chances, q.counts, spread(q))
    return replace(q, tau=q.prior + tokens)


def update_words(q: Q) -> Q:
    lam = np.full(q.lam.shape, q.eta)
    tokens = np.einsum("dn,dv,dnvl->nvl", q.chances, q.counts, spread(q))
    for node in range(len(q.parent)):
        for level, at in enumerate(path(q, node)):
            lam[at] += tokens[node, :, level]
    return replace(q, lam=lam)


def update_sticks(q: Q, *, forget_slot: bool = False) -> Q:
    """Section 3.5; ``forget_slot``: the classic mistake, for tests that must notice it."""
    mass = q.chances.sum(axis=0)
    passing = [
        sum(mass[slot] for slot in range(len(q.parent)) if node in path(q, slot))
        for node in range(len(q.parent))
    ]
    a, b = q.a.copy(), q.b.copy()
    for node in range(1, len(q.parent)):
        above = q.parent[node]
        a[node] = 1.0 + passing[node]
        b[node] = q.gamma + sum(passing[later] for later in children(q, above) if later > node)
        b[node] += 0.0 if forget_slot else mass[above]
    return replace(q, a=a, b=b)


UPDATES = (update_path, update_level, update_theta, update_words, update_sticks)


def dirichlet(posterior: Array, prior: Array) -> float:
    """E log p - E log q of one Dirichlet."""
    e_log = digamma(posterior) - digamma(posterior.sum())
    own = gammaln(prior.sum()) - gammaln(prior).sum() + ((prior - 1) * e_log).sum()
    other = gammaln(posterior.sum()) - gammaln(posterior).sum() + ((posterior - 1) * e_log).sum()
    return float(own - other)


def elbo(q: Q) -> float:
    """Section 3.6, term by term."""
    a, b = q.a[1:], q.b[1:]
    take, skip = digamma(a) - digamma(a + b), digamma(b) - digamma(a + b)
    value = (np.log(q.gamma) + (q.gamma - 1) * skip + betaln(a, b)).sum()
    value -= ((a - 1) * take + (b - 1) * skip).sum()
    value += sum(dirichlet(row, np.full(len(row), q.eta)) for row in q.lam)
    value += sum(dirichlet(row, q.prior) for row in q.tau)
    value += (q.chances * (log_masses(q) + scores(q)) - xlogy(q.chances, q.chances)).sum()
    return float(value)


def at_best_levels(q: Q) -> Q:
    """q(level) at its best, and q(path) too in the structured family."""
    return update_path(update_level(q)) if q.structured else update_level(q)


def random_q(
    rng: np.random.Generator,
    parent: tuple[int, ...],
    counts: Array,
    prior: Array,
    gamma: float = 1.0,
    eta: float = 0.5,
    *,
    structured: bool,
) -> Q:
    """A state far from any optimum."""
    n_docs, n_words = counts.shape
    n_nodes, depth = len(parent), len(prior)
    shape = (n_docs, n_nodes, n_words) if structured else (n_docs, n_words)
    return Q(
        parent,
        counts,
        rng.dirichlet(np.ones(n_nodes), n_docs),
        rng.dirichlet(np.ones(depth), shape),
        rng.gamma(2.0, 1.0, (n_docs, depth)) + 0.1,
        rng.gamma(1.0, 1.0, (n_nodes, n_words)) + 0.1,
        rng.gamma(2.0, 1.0, n_nodes) + 0.1,
        rng.gamma(2.0, 1.0, n_nodes) + 0.1,
        prior,
        gamma,
        eta,
    )
