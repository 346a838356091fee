"""``eval --cache`` against its definition, from a run's files, and what it must not see."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base import archives
from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.contract.engine import Workers
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.families.flat.summary import flat_tree
from hiertopics.fitting.driver import fit
from hiertopics.numeric.pitman_yor import PitmanYor
from hiertopics.runs import newdocs
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring import comparison
from hiertopics.scoring.cache import (
    SEEN,
    TRAINING,
    Trial,
    cached_chances,
    documents_of,
    learn,
    learn_from_marginal,
    learn_from_seen,
    score_foreign,
    split_again,
)
from hiertopics.scoring.comparison import compare
from hiertopics.scoring.evaluation import evaluate
from hiertopics.scoring.protocols.caching import (
    ScoringTopics,
    learning,
    scored_with_cache,
    smoothing_of,
    without_document,
)
from hiertopics.scoring.protocols.job import CutOptions, ScoringJob, cut_job
from hiertopics.scoring.request import Request
from hiertopics.scoring.scores import word_chances

Copied = Callable[..., Path]
MIXTURE = (0.5, 0.3, 0.2)


@pytest.fixture
def run(copied: Copied) -> RunDir:
    """Return a run that put documents aside."""
    return RunDir(copied())


def trial(seen: Any, scored: Any, mixtures: Any) -> Trial:
    """Return a trial of dense counts and mixtures [n_docs, n_words]."""
    parts = [sparse.csr_array(np.asarray(part, np.int32)) for part in (seen, scored)]
    chances = [np.asarray(mixtures, float)[part.nonzero()] for part in parts]
    return Trial(parts[0], chances[0], parts[1], chances[1])


def naive_mean(count: int, discount: float, x: float) -> float:
    """Return E[t | c, x] by the recursion over counts, in plain numbers."""
    row = [1.0]
    for c in range(1, count):
        pairs = zip([*row, 0.0], [0.0, *row], range(1, c + 2), strict=True)
        row = [(c - discount * t) * stay + new for stay, new, t in pairs]
    weights = [s * x**t for t, s in enumerate(row, 1)]
    return sum(t * w for t, w in enumerate(weights, 1)) / sum(weights)


def naive_predictive(process: PitmanYor, counts: Any, mixture: Any) -> list[float]:
    """Return p(w | d) of all words of one document."""
    a, b = process
    tables = [float(c) for c in counts]
    for _ in range(400):
        rate = b + a * (sum(tables) - 1)
        tables = [
            naive_mean(c, a, rate * p) if c else 0.0 for c, p in zip(counts, mixture, strict=True)
        ]
    base = b + a * sum(tables)
    terms = zip(counts, tables, mixture, strict=True)
    return [(c - a * t + base * p) / (b + sum(counts)) for c, t, p in terms]


@pytest.mark.parametrize("process", [PitmanYor(0.5, 2.0), PitmanYor(0.0, 7.0), PitmanYor(0.9, 0.3)])
def test_chances_with_a_cache_are_those_of_the_definition(process: PitmanYor) -> None:
    seen = [(3, 2, 0, 1), (0, 0, 0, 0), (0, 9, 1, 0)]
    mixtures = [(0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4), (0.25, 0.05, 0.4, 0.3)]
    found = cached_chances(process, trial(seen, np.ones((3, 4)), mixtures)).reshape(3, 4)
    for row, counts, mixture in zip(found, seen, mixtures, strict=True):
        assert row == pytest.approx(naive_predictive(process, counts, mixture), abs=1e-4)
    assert found.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert found[1] == pytest.approx(mixtures[1], abs=1e-15)  # of which nothing is seen


def test_a_written_example_ends_where_it_is_written() -> None:
    """Not in .571429 (a table per word), nor with .176701 for the last word (a scored one seen)."""
    found = cached_chances(PitmanYor(0.5, 2.0), trial([(3, 2, 0)], [(1, 1, 1)], [MIXTURE]))
    assert found == pytest.approx((0.547028, 0.338107, 0.114865), abs=1e-6)


def test_scored_tokens_of_a_word_do_not_see_each_other() -> None:
    process = PitmanYor(0.5, 2.0)
    one, several = (trial([(3, 2, 0)], [(1, n, n)], [MIXTURE]) for n in (1, 7))
    assert (cached_chances(process, one) == cached_chances(process, several)).all()


def test_what_is_learned_is_the_best_of_all() -> None:
    rng = np.random.default_rng(0)
    mixtures = rng.dirichlet(np.ones(6), 40)
    drawn = np.array([rng.dirichlet(20 * p) for p in mixtures])
    seen, scored = (np.array([rng.multinomial(n, p) for p in drawn]) for n in (60, 20))
    data = trial(seen, scored, mixtures)
    cache = learn(data, SEEN)
    assert cache is not None and not cache.at_limit
    assert (cache.n_docs, cache.n_tokens, cache.source) == (40, 800, SEEN)
    assert 8 < cache.process.concentration < 50

    def value(a: float, b: float) -> float:
        return float(data.scored.data @ np.log(cached_chances(PitmanYor(a, b), data)))

    a, b = cache.process
    assert all(
        value(a, b) >= value(*other) - 1e-3
        for other in [(a, b * 1.2), (a, b / 1.2), (min(a + 0.1, 0.95), b), (max(a - 0.1, 0), b)]
    )


def chances_of(run: RunDir, observed: sparse.csr_array, at: sparse.csr_array) -> F64:
    theta = infer_theta(run, Corpus(observed, run.vocab)).theta
    return word_chances(theta, run.tree.phi, at)


def test_both_scores_stand_side_by_side(run: RunDir) -> None:
    plain = evaluate(run)
    record = evaluate(run, cache=True)
    assert {name: record[name] for name in plain} == plain
    split = run.split
    docs = np.flatnonzero(np.asarray(split.observed.sum(axis=1)).ravel() >= 5)
    assert record["cache_from"] == SEEN and record["cache_docs"] == len(docs)
    known, aside = split_again(split.observed, docs, split.seed)
    lengths = np.asarray(split.observed[docs].sum(axis=1)).ravel()
    assert np.asarray(aside.sum(axis=1)).ravel().tolist() == [round(0.2 * n) for n in lengths]
    inner = Trial(known, chances_of(run, known, known), aside, chances_of(run, known, aside))
    cache = learn(inner, SEEN)
    assert cache is not None and record["cache_tokens"] == cache.n_tokens == aside.sum()
    a, b = record["cache_discount"], record["cache_concentration"]
    assert (a, b) == cache.process
    outer = Trial(
        split.observed,
        chances_of(run, split.observed, split.observed),
        split.scored,
        chances_of(run, split.observed, split.scored),
    )
    logs = np.log(cached_chances(PitmanYor(a, b), outer))
    rate = float(split.scored.data @ logs) / split.scored.sum()
    assert record["perplexity_with_cache"] == pytest.approx(math.exp(-rate), rel=1e-9)
    kept = archives.read_npz(run.path / "eval" / "completion-cache=True.npz")
    assert kept["log_likelihood_with_cache"].sum() == pytest.approx(rate * split.scored.sum())
    assert json.loads((run.path / "eval" / "completion.json").read_text()) == plain


def job_of(run: RunDir) -> tuple[Request, ScoringJob]:
    request = Request(run, {}, Workers())
    return request, cut_job(request, CutOptions(), "completion")


@pytest.mark.parametrize("source", [SEEN, TRAINING])
def test_scored_tokens_do_not_reach_what_is_learned(run: RunDir, source: str) -> None:
    """Scored tokens that changed their documents change no learned number."""
    request, job = job_of(run)
    swapped = job._replace(scored=sparse.csr_array(job.scored[::-1]))
    assert (job.scored != swapped.scored).nnz
    drawn, theta = ScoringTopics(run.tree, run.theta, None), evaluate_theta(run, job)
    caches = []
    for each in (job, swapped):
        given = learning(request, each, source, 0)
        assert given is not None
        caches.append(scored_with_cache(request, each, given, drawn, theta)[0])
    assert caches[0] == caches[1] is not None


def evaluate_theta(run: RunDir, job: ScoringJob) -> sparse.csr_array:
    assert job.observed is not None
    return infer_theta(run, Corpus(job.observed, run.vocab)).theta


def test_topics_without_a_document_are_those_of_the_other_counts() -> None:
    """One topic, counts and eta by hand: what is left are the others' tokens."""
    rng = np.random.default_rng(1)
    counts = rng.multinomial(50, rng.dirichlet(np.ones(7)), 4).astype(float)
    counts[:, 6] = 0.0
    eta = 0.03
    whole = (counts.sum(axis=0) + eta) / (counts.sum() + 7 * eta)
    left = (counts[1:].sum(axis=0) + eta) / (counts[1:].sum() + 7 * eta)
    tree = flat_tree(whole[None], 1, np.array([counts.sum()]), np.ones(1, np.int64), {})
    assert smoothing_of(tree) == pytest.approx(eta, rel=1e-9)
    words = np.flatnonzero(counts[0])
    found = without_document(tree, np.ones(1), words, counts[0, words], eta)
    np.testing.assert_allclose(found[0], left, rtol=1e-9)


def test_a_words_tokens_leave_the_topics_that_explain_it() -> None:
    """Shares of a token: theta_k phi_kw over their sum, all of the document's tokens."""
    phi = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    tree = flat_tree(phi, 2, np.array([97.0, 47.0]), np.ones(2, np.int64), {})
    theta = np.array([0.25, 0.75])
    found = without_document(tree, theta, np.array([0, 2]), np.array([4.0, 2.0]), 1.0)
    rows = phi * np.array([100.0, 50.0])[:, None]
    for word, tokens in ((0, 4.0), (2, 2.0)):
        own = theta * phi[:, word]
        rows[:, word] -= tokens * own / own.sum()
    np.testing.assert_allclose(found, rows / rows.sum(axis=1, keepdims=True), rtol=1e-12)


def test_training_documents_are_placed_under_topics_without_them(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = []
    infer = newdocs.place

    def watched(experiment: Any, tree: Any, corpus: Any, **others: Any) -> Any:
        placed.append((tree.phi, corpus.counts.sum()))
        return infer(experiment, tree, corpus, **others)

    record_without = evaluate(run, cache=True)
    monkeypatch.setattr(newdocs, "place", watched)
    record = evaluate(run, cache=True, cache_from=TRAINING)
    own = [(phi, n) for phi, n in placed if phi is not run.tree.phi]
    lengths = run.split.train_lengths
    assert lengths is not None
    long_enough = lengths[lengths >= 5]
    assert record["cache_docs"] == len(own) == len(long_enough)
    assert record["cache_from"] == TRAINING
    assert sum(n for _, n in own) + record["cache_tokens"] == long_enough.sum()
    assert all(np.abs(phi - run.tree.phi).max() > 1e-6 for phi, _ in own)
    assert all(np.allclose(phi.sum(axis=1), 1.0) for phi, _ in own)
    assert record["perplexity"] == record_without["perplexity"]


@pytest.mark.parametrize(
    "backend",
    ["hdp-pcvb0", "hdp-cvb0", "nhdp-variational", "hlda-variational", "hlda-gibbs", "multinomial"],
)
@pytest.mark.slow
def test_every_backend_of_words_has_a_cache(copied: Copied, backend: str) -> None:
    run = RunDir(copied(backend))
    for source in (SEEN, TRAINING):
        record = evaluate(run, cache=True, cache_from=source)
        assert record["cache_from"] == source and record["perplexity_with_cache"] > 1


@pytest.mark.slow
def test_topics_that_are_no_counts_refuse_training_documents(copied: Copied) -> None:
    run = copied("tssb-mcmc")
    with pytest.raises(UsageError, match="needs topics that are counts; tssb-mcmc has none"):
        evaluate(run, cache=True, cache_from=TRAINING)
    assert evaluate(run, cache=True)["cache_from"] == SEEN


def test_the_mean_over_draws_is_that_of_chances_with_caches(copied: Copied) -> None:
    """Each draw by its own topics and numbers; then the mean of chances, not of their parts."""
    run = RunDir(copied("hdp-gibbs"))
    record = evaluate(run, cache=True, average=True)
    split, chances = run.split, []
    processes = zip(record["cache_discount"], record["cache_concentration"], strict=True)
    draws = list(run.draws())
    assert len(draws) == len(record["cache_discount"]) > 1
    for (tree, _), process in zip(draws, processes, strict=True):
        theta = infer_theta(run, Corpus(split.observed, run.vocab), tree=tree).theta
        own = [word_chances(theta, tree.phi, part) for part in (split.observed, split.scored)]
        outer = Trial(split.observed, own[0], split.scored, own[1])
        chances.append(cached_chances(PitmanYor(*process), outer))
    logs = np.log(np.mean(chances, axis=0))
    rate = float(split.scored.data @ logs) / split.scored.sum()
    assert record["perplexity_with_cache"] == pytest.approx(math.exp(-rate), rel=1e-9)
    assert record["perplexity"] == evaluate(run, average=True)["perplexity"]


def test_workers_change_no_byte(run: RunDir) -> None:
    records, kept = [], []
    for workers in (1, 3):
        records.append(evaluate(run, cache=True, workers=workers))
        kept.append((run.path / "eval" / "completion-cache=True.npz").read_bytes())
    assert records[0] == records[1] and kept[0] == kept[1]


@pytest.mark.slow
def test_shards_have_the_cache_of_the_corpus_in_memory(tmp_path: Path, tiny_file: Path) -> None:
    convert(tiny_file, tmp_path / "tiny.shards")
    records = []
    for corpus in (tiny_file, tmp_path / "tiny.shards"):
        name = tmp_path / f"run-{corpus.suffix[1:]}"
        shape = ["model.truncation=12", "inference.shards=2"]
        made = fit(
            corpus,
            run=name,
            backend="hdp-pcvb0",
            iterations=4,
            overrides=shape,
            holdout="docs:0.2@0",
        )
        records.append([evaluate(made.run, cache=True, cache_from=s) for s in (SEEN, TRAINING)])
    for one, other in zip(*records, strict=True):
        assert one | {"run": ""} == other | {"run": ""}


@pytest.mark.parametrize("protocol", ["full", "path", "empirical"])
def test_other_protocols_refuse_a_cache(run: RunDir, protocol: str) -> None:
    with pytest.raises(UsageError, match=f"--cache is for protocol completion: {protocol} "):
        evaluate(run, protocol=protocol, cache=True)


def test_tokens_that_topics_were_trained_beside_refuse_a_cache(copied: Copied) -> None:
    with pytest.raises(UsageError, match="tokens scores documents that the topics were trained on"):
        evaluate(copied("hdp-gibbs", "tokens:0.2@0"), cache=True)


def test_a_source_without_a_cache_or_of_no_meaning_is_refused(run: RunDir) -> None:
    with pytest.raises(UsageError, match="--cache-from has no meaning without --cache"):
        evaluate(run, cache_from=TRAINING)
    with pytest.raises(UsageError, match="takes seen or training, not 'all'"):
        evaluate(run, cache=True, cache_from="all")


def scored_file(path: Path, *documents: str) -> Path:
    path.write_text("".join(f"{text}\n" for text in documents))
    return path


def test_documents_without_a_word_twice_are_refused(run: RunDir, tmp_path: Path) -> None:
    binary = scored_file(tmp_path / "b.ldac", "5 0:1 1:1 2:1 3:1 4:1", "3 1:1 5:1 6:1")
    with pytest.raises(UsageError, match="no held-out document has a word twice"):
        evaluate(run, corpus=binary, cache=True)


@pytest.mark.parametrize(
    ("documents", "options", "told"),
    [
        (["5 0:2 1:1 2:1 3:1 4:1"] * 2, {"observed": 0.0}, "no document repeats a word"),
        (["2 0:2 1:2", "1 0:3"], {}, "no document is long enough"),
    ],
)
def test_where_nothing_can_be_learned_the_scores_are_the_plain(
    run: RunDir,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    documents: list[str],
    options: dict[str, Any],
    told: str,
) -> None:
    record = evaluate(
        run, corpus=scored_file(tmp_path / "c.ldac", *documents), cache=True, **options
    )
    assert record["perplexity_with_cache"] == record["perplexity"]
    assert record["cache_discount"] is None and record["cache_docs"] == 0
    assert told in capsys.readouterr().err


def test_one_document_has_a_cache(run: RunDir, tmp_path: Path) -> None:
    one = scored_file(tmp_path / "one.ldac", "3 0:9 1:6 2:5")
    record = evaluate(run, corpus=one, cache=True)
    assert record["cache_docs"] == 1 and record["perplexity_with_cache"] > 1


def test_a_concentration_at_its_limit_is_told(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One word again and again: the nearer to its own counts, the better."""
    same = scored_file(tmp_path / "same.ldac", *["1 0:40", "1 5:40"] * 3)
    record = evaluate(run, corpus=same, cache=True)
    assert record["cache_at_limit"] is True and record["cache_concentration"] < 1.1
    assert "lies at a limit" in capsys.readouterr().err


def test_rows_of_a_graph_are_refused(tmp_path: Path) -> None:
    lines = [f"{u} {(u * 7 + v) % 20}" for u in range(20) for v in (1, 2, 3, 4)]
    (tmp_path / "g.edges").write_text("\n".join(lines) + "\n")
    overrides = ["model.truncation=5"]
    made = fit(
        tmp_path / "g.edges",
        run=tmp_path / "run",
        backend="hdp-pcvb0",
        iterations=2,
        overrides=overrides,
        holdout="docs:0.2@0",
    )
    with pytest.raises(UsageError, match="its documents are rows of a graph"):
        evaluate(made.run, cache=True)


def test_bins_of_numbers_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.random.default_rng(0).normal(size=(30, 4)))
    made = fit(
        tmp_path / "t.npy",
        run=tmp_path / "run",
        backend="hdp-pcvb0",
        iterations=2,
        overrides=["model.truncation=5", "data.discretise.bins=3"],
        holdout="docs:0.2@0",
    )
    with pytest.raises(UsageError, match="its words are bins of numbers"):
        evaluate(made.run, cache=True)


def dense_mixture(run: RunDir) -> Callable[[sparse.csr_array], F64]:
    def mixture(counts: sparse.csr_array) -> F64:
        theta = infer_theta(run, Corpus(counts, run.vocab)).theta
        return np.asarray(theta @ run.tree.phi)

    return mixture


def test_a_foreign_model_is_scored_as_the_run_is(run: RunDir) -> None:
    split, record = run.split, evaluate(run, cache=True)
    found = score_foreign(dense_mixture(run), split.observed, split.scored, seed=split.seed)
    assert found.cache is not None and found.cache.n_docs == record["cache_docs"]
    assert found.cache.process == pytest.approx(
        (record["cache_discount"], record["cache_concentration"]), rel=1e-6
    )
    assert found.plain.perplexity == pytest.approx(record["perplexity"], rel=1e-9)
    assert found.with_cache.perplexity == pytest.approx(record["perplexity_with_cache"], rel=1e-9)


def test_a_matrix_of_chances_has_its_cache_by_the_marginal(run: RunDir) -> None:
    split = run.split
    matrix = dense_mixture(run)(split.observed)
    found = score_foreign(matrix, split.observed, split.scored)
    rows, columns = split.observed.tocoo().coords
    assert found.cache is not None
    assert found.cache == learn_from_marginal(split.observed, lambda _: matrix[rows, columns])
    assert found.cache.source == "marginal" and found.cache.n_tokens == split.observed.sum()


@pytest.mark.parametrize("bad", [0.0, -0.1, 0.5])
def test_chances_that_are_none_are_refused(run: RunDir, bad: float) -> None:
    split = run.split
    matrix = dense_mixture(run)(split.observed)
    matrix[1, 2] = bad
    for mixture in (matrix, lambda counts: matrix[: counts.shape[0]]):
        with pytest.raises(UsageError, match="must be positive, and those of a document sum to 1"):
            score_foreign(mixture, split.observed, split.scored)
    with pytest.raises(UsageError, match="are \\(1, 9\\), not"):
        score_foreign(matrix[:1], split.observed, split.scored)


def test_theta_of_the_rest_knows_nothing_of_what_is_put_aside() -> None:
    """The mixture is asked for documents without the fifth of their tokens that is predicted."""
    counts = np.random.default_rng(4).poisson(2.0, (12, 9)).astype(np.int32)
    seen = sparse.csr_array(counts)
    asked: list[tuple[Any, Any]] = []

    def mixture(docs: Any, known: sparse.csr_array) -> Callable[[sparse.csr_array], F64]:
        asked.append((docs, known.toarray()))
        return lambda at: np.full(at.nnz, 1 / 9)

    found = learn_from_seen(mixture, seen, seed=0)
    ((docs, known),) = asked
    rest = counts[docs] - known
    lengths = counts[docs].sum(axis=1)
    assert (rest >= 0).all()
    assert rest.sum(axis=1).tolist() == np.round(0.2 * lengths).astype(int).tolist()
    assert found is not None and found.n_tokens == rest.sum()


def test_at_most_a_thousand_documents_are_learned_from() -> None:
    lengths = np.full(1500, 5)
    lengths[::3] = 4
    counts = sparse.csr_array(lengths[:, None])
    docs = documents_of(counts, 0, 700)
    assert len(docs) == 700 and (lengths[docs] == 5).all() and (np.diff(docs) > 0).all()
    assert docs.max() > 1200  # not the first ones
    assert (documents_of(counts, 0, 700) == docs).all()
    assert (documents_of(counts, 1, 700) != docs).any()


def test_runs_are_compared_by_their_scores_with_cache(copied: Copied) -> None:
    paths = [copied(), copied("multinomial")]
    rows = compare(paths, cache=True)
    scores = [row["log_likelihood_per_word_with_cache"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert rows[0]["behind_with_cache"] is None and "behind" not in rows[0]
    assert rows[1]["behind_with_cache"] == pytest.approx(scores[0] - scores[1], rel=1e-9)
    assert rows[1]["behind_with_cache_error"] > 0
    plain = {row["backend"]: row["perplexity"] for row in compare(paths)}
    assert {row["backend"]: row["perplexity"] for row in rows} == plain


def test_the_order_of_runs_is_that_of_the_scores_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that is ahead without a cache is behind with it."""
    scores = {"log_likelihood_per_word": -6.0, "log_likelihood_per_word_with_cache": -5.5}
    first = {"run": "first", "perplexity": 1.0, **scores}
    second = {
        "run": "second",
        "perplexity": 1.0,
        "log_likelihood_per_word": -7.0,
        "log_likelihood_per_word_with_cache": -5.0,
    }
    monkeypatch.setattr(comparison, "_rows", lambda runs, score: [first, second])
    monkeypatch.setattr(comparison, "_behind", lambda row, best, options: {"best": best["run"]})
    with_cache, without = compare([], cache=True), compare([])
    assert [row["run"] for row in with_cache] == ["second", "first"]
    assert [row["run"] for row in without] == ["first", "second"]
    assert [rows[0]["best"] for rows in (with_cache, without)] == ["second", "first"]


def test_tables_show_both_scores(call: Callable[..., Any], copied: Copied) -> None:
    own, other = copied(), copied("multinomial")
    outcome = call("eval", own, "--heldout", "--cache")
    heads = [line.partition(":")[0] for line in outcome.out.splitlines()]
    place = heads.index("perplexity")
    assert heads[place + 1] == "perplexity_with_cache" and "cache_discount" in heads
    record = json.loads(call("eval", own, "--heldout", "--cache", "--json").out)
    assert record["cache_from"] == SEEN
    assert "with cache" in call("compare", own, other, "--cache").out.split("\n")[0]
    assert "cache" not in call("compare", own, other).out.split("\n")[0]
    outcome = call("eval", own, "--heldout", "--cache-from", "training")
    assert outcome.code == 2 and "no meaning without --cache" in outcome.err
