"""nhdp-gibbs against enumerated posteriors, and the joint distribution that it must keep."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from naive_nhdp import PHI, T5, assignments, counts
from nhdp_cases import CERTAIN, mixing_of, random_mixing
from nhdp_geweke import EXACT, STATISTICS, draw_words, joint_test, measure, room
from nights import by_night
from scipy.special import gammaln
from stepping import at, corpus_of, settings_of, twins

from hiertopics.base.arrays import F64, I64
from hiertopics.contract.model import Context
from hiertopics.families.flat.concentrations import CONCENTRATION_PRIOR, draw_concentration
from hiertopics.families.flat.layout import Data, lay_out
from hiertopics.families.nhdp import gibbs, gibbs_kernels, learning, sampler_kernels, starts
from hiertopics.families.nhdp.gibbs_kernels import NodeParameters
from hiertopics.families.nhdp.layout import Local
from hiertopics.families.nhdp.state import State
from hiertopics.numeric.priors import GammaPrior

N_SWEEPS = 12_000


def tokens_of(counts: Any) -> Data:
    return lay_out(corpus_of(counts), 1, np.float64, tokens=True)


WAYS = pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])


def visits(state: Any, data: Data, *, dense: bool, n_sweeps: int = N_SWEEPS) -> F64:
    """Return how often each token was at each node, float64 [n_tokens, 5], after a tenth."""
    found = np.zeros((len(state.z), 5))
    for iteration in range(n_sweeps + n_sweeps // 10):
        gibbs.sweep(state, data, at(iteration + 1), dense=dense)
        if iteration >= n_sweeps // 10:
            found[np.arange(len(state.z)), state.z] += 1
    return found / n_sweeps


def held_document() -> tuple[Any, Data]:
    """Return the tiny document under topics that so many tokens hold."""
    data = tokens_of([[2, 1, 1]])
    state = gibbs.with_nodes(np.zeros(4, np.int32), mixing_of(T5), 1e-9, data, at(0))
    state.n_wk += (CERTAIN * PHI.T).astype(np.int32)
    state.n_k += int(CERTAIN)
    return state, data


THIRD = np.array([0.305023, 0.168959, 0.168311, 0.313797, 0.043910])
FOURTH = np.array([0.330333, 0.122974, 0.406362, 0.090458, 0.049873])


@WAYS
def test_nodes_of_the_tiny_document(dense: bool) -> None:
    """T3: a token that stayed in its document's counts would be at node 2 with 0.479."""
    found = visits(*held_document(), dense=dense)
    assert found[2] == pytest.approx(THIRD, abs=0.02)
    assert found[3] == pytest.approx(FOURTH, abs=0.02)


@WAYS
def test_nodes_of_two_documents(dense: bool) -> None:
    """T4: exact marginals of 15,625 assignments, and log p(w)."""
    words, documents, eta = (0, 0, 1, 1, 2, 2), ((0, 1, 2), (3, 4, 5)), 0.5
    chance_of = {z: T5.log_chance(counts(z, 5)) for z in assignments(3, 5)}
    logs, first, third = [], [], []
    for z in assignments(6, 5):
        n_iw = np.zeros((5, 3))
        np.add.at(n_iw, (list(z), list(words)), 1)
        topics = (gammaln(eta + n_iw) - gammaln(eta)).sum()
        topics -= (gammaln(3 * eta + n_iw.sum(axis=1)) - gammaln(3 * eta)).sum()
        logs.append(topics + sum(chance_of[tuple(z[i] for i in of_doc)] for of_doc in documents))
        first.append(z[0])
        third.append(z[2])
    chances = np.exp(logs)
    assert np.log(chances.sum()) == pytest.approx(-7.08268494, abs=1e-7)
    exact = [np.bincount(z, chances, 5) / chances.sum() for z in (first, third)]
    assert exact[0] == pytest.approx([0.242293, 0.195162, 0.280574, 0.190331, 0.091640], abs=1e-6)
    assert exact[1] == pytest.approx([0.247826, 0.200882, 0.276141, 0.189139, 0.086012], abs=1e-6)
    data = tokens_of([[2, 1, 0], [0, 1, 2]])
    begun = gibbs.with_nodes(np.zeros(6, np.int32), mixing_of(T5), eta, data, at(0))
    found = visits(begun, data, dense=dense)
    assert found[0] == pytest.approx(exact[0], abs=0.02)
    assert found[2] == pytest.approx(exact[1], abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_token_is_drawn_by_its_ratios_of_the_joint(seed: int) -> None:
    """Cutting the unit interval by the kernel's choice gives the ratios of the log joint."""
    rng = np.random.default_rng(seed)
    mixing = random_mixing(rng, 9)
    settings = settings_of(gibbs, eta=0.3)
    corpus = corpus_of(rng.poisson(1.0, (3, 6)) + np.eye(3, 6, dtype=int))
    data = gibbs.prepare(corpus, settings)
    z = rng.integers(0, 9, corpus.n_tokens).astype(np.int32)
    last = corpus.n_tokens - 1
    logs = []
    for node in range(9):
        z[last] = node
        state = gibbs.with_nodes(z, mixing, 0.3, data.tokens, at(0))
        logs.append(gibbs.objective(state, data, settings, at(0)))
    exact = np.exp(np.array(logs) - max(logs))
    state = gibbs.with_nodes(z, mixing, 0.3, data.tokens, at(0))
    shape, word, eta = mixing.shape, data.tokens.cells.word[last], 0.3
    for row in (state.n_dk[2], state.n_wk[word], state.n_k):
        row[z[last]] -= 1
    words = (eta, eta * corpus.n_words)
    prior = NodeParameters(shape.parent, shape.first, shape.inner, mixing.mass, *mixing[2:], *words)
    passing, stay, go, total = (np.zeros(9) for _ in range(4))
    for node in range(8, -1, -1):
        passing[node] = state.n_dk[2, node] + passing[shape.children(node)].sum()
        gibbs_kernels.refresh(node, state.n_dk[2], passing, prior, stay, go)
    rows: Any = (
        state.n_wk[word],
        1.0 / (state.n_k + prior.eta_total),
        passing,
        prior,
        stay,
        go,
        total,
    )
    gibbs_kernels.weigh(*rows)
    cuts = (np.arange(200_000) + 0.5) / 200_000
    drawn = np.bincount([gibbs_kernels.descend(cut, *rows) for cut in cuts], minlength=9)
    assert drawn / len(cuts) == pytest.approx(exact / exact.sum(), abs=1e-4)


def z_scores(n_sweeps: int, *, dense: bool) -> F64:
    """Return z scores of prior means under sweeps that alternate with fresh words."""
    state, data, settings = room()
    rng = np.random.default_rng(1)
    rows = np.zeros((n_sweeps, len(STATISTICS)))
    for sweep in range(n_sweeps):
        gibbs.sweep(state, data.tokens, at(sweep + 1), dense=dense)
        draw_words(state, data, rng)
        rows[sweep] = measure(state)
    batches = rows.reshape(100, -1, rows.shape[1]).mean(axis=1)
    error = batches.std(axis=0, ddof=1) / 10
    return np.asarray((batches.mean(axis=0) - EXACT) / error)


@WAYS
def test_prior_means_are_kept(dense: bool) -> None:
    """T5: shares and concentrations held; all prior means are exact figures."""
    assert np.abs(z_scores(15_000, dense=dense)).max() < 4


def test_customers_that_stopped_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong variant b in the sampler: chances to go on too small where many stopped."""

    def wrong(
        node: int, doc_row: Any, passing: Any, prior: NodeParameters, stay: Any, go: Any
    ) -> None:
        right(node, doc_row, passing, prior, stay, go)
        gone = passing[node] - doc_row[node]
        go[node] *= (gone + prior.concentration[node]) / (
            passing[node] + prior.concentration[node] + (go[node] == 0)
        )

    right = twins(gibbs_kernels.refresh)[1]
    for name in ("begin_chances", "pass_by", "weigh", "descend", "redraw_tokens"):
        monkeypatch.setattr(gibbs_kernels, name, getattr(gibbs_kernels, name).py_func)
    for name in ("begin_chances", "redraw_tokens"):
        monkeypatch.setattr(sampler_kernels, name, getattr(gibbs_kernels, name))
    monkeypatch.setattr(sampler_kernels, "sweep_block", twins(sampler_kernels.sweep_block)[1])
    monkeypatch.setattr(gibbs_kernels, "refresh", wrong)
    assert np.abs(z_scores(3000, dense=True)).max() > 6


def test_shares_of_children_without_a_token_follow_their_prior() -> None:
    """Dir(gamma / n) of n children: the mean sum of squares is (gamma / n + 1) / (gamma + 1)."""
    mixing = mixing_of(T5)
    inner = int(mixing.shape.inner[0])
    children = mixing.shape.children(inner)
    n_children = int(mixing.shape.n_children[inner])
    nothing = learning.visits_of(np.zeros((1, 5), np.int32), mixing.shape)
    squares, rng = np.empty(4000), np.random.default_rng(2)
    for turn in range(len(squares)):
        learning._draw_shares(mixing, nothing, 1.0, rng)
        squares[turn] = (mixing.share[children] ** 2).sum()
    error = squares.std() / np.sqrt(len(squares))
    assert squares.mean() == pytest.approx((1.0 / n_children + 1.0) / 2.0, abs=4 * error)
    assert error < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sparse", *by_night("dense")])
def test_prior_draws_stay_prior_draws(way: str) -> None:
    """T5: through the backend's own step; shares, concentrations, stops and eta are drawn too."""
    outcome = joint_test(n_replicates=600, n_rounds=8, way=way)
    assert outcome.largest_z < 4.0, outcome
    assert outcome.smallest_p > 1e-3, outcome


def no_tables(histogram: I64, large: Any, concentration: F64, rng: Any) -> I64:
    """Count tokens where tables belong: wrong variant d."""
    return np.asarray((histogram * np.arange(histogram.shape[1])).sum(axis=1))


def eta_by_tokens(n_wk: Any, n_k: Any, eta: float, rng: np.random.Generator) -> float:
    """Draw eta as if each token of a topic were a table."""
    total, n_tables = float(eta * len(n_wk)), int(n_k.sum())
    return draw_concentration(total, n_tables, n_k, CONCENTRATION_PRIOR, rng) / len(n_wk)


def all_who_pass(draw: Any) -> Any:
    """Return a way to draw stops in which all who pass a node go on from it."""
    return lambda mixing, visits, rng: draw(mixing, visits._replace(gone=visits.passing), rng)


MUTANTS: dict[str, tuple[ModuleType, str, Any]] = {
    "tokens for tables": (learning, "draw_table_sums", no_tables),
    "no prior rate": (learning, "CONCENTRATION_PRIOR", GammaPrior(1.0, 0.05)),
    "tokens for tables of words": (gibbs, "draw_eta", eta_by_tokens),
    "those who stop go on, too": (
        learning,
        "_draw_stops",
        all_who_pass(learning._draw_stops),
    ),
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(("where", "name", "wrong"), MUTANTS.values(), ids=MUTANTS)
def test_wrong_draws_of_shares_are_rejected(
    where: ModuleType, name: str, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, wrong)
    assert joint_test(n_replicates=300, n_rounds=6).largest_z > 5.0


def test_the_first_topics_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    begin = starts.init

    def noted(data: Data, settings: Any, context: Context) -> State:
        seen.append(settings.inference)
        return begin(data, settings, context)

    monkeypatch.setattr(starts, "init", noted)
    keys = {"start": "random", "start_iterations": 2, "variational_sweeps": 0, "least": 0.2}
    settings = settings_of(gibbs, truncation=2, inner_share=0.3, **keys)
    gibbs.init(gibbs.prepare(corpus_of(np.ones((3, 4))), settings), settings, at(0))
    (told,) = seen
    assert (told.start, told.start_iterations, told.inner_share, told.least) == (
        "random",
        2,
        0.3,
        0.2,
    )


def test_the_start_draws_nodes_by_their_responsibilities() -> None:
    rng = np.random.default_rng(0)
    data = lay_out(corpus_of([[5000, 3000]]), 1, np.float64)
    resp = np.array([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3]])
    local = Local(
        np.array([0, 3]), np.array([0, 1, 2], np.int32), np.zeros(3), np.array([0, 6]), resp.ravel()
    )
    z = np.zeros(8000, np.int32)
    assert gibbs_kernels.draw_start(data.cells, local, data.cells.tokens, 0, z, rng) == 8000
    for tokens, row in ((z[:5000], [0.5, 0.2, 0.3]), (z[5000:], [0.1, 0.6, 0.3])):
        assert np.bincount(tokens, minlength=3) / len(tokens) == pytest.approx(row, abs=0.03)
