"""update: a fit that goes on with further documents; what was put aside stays aside."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults import refusals
from nights import daily
from scipy import sparse

from hiertopics.base.errors import RunError, UsageError
from hiertopics.contract import registry
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings
from hiertopics.contract.states import to_arrays
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.corpora.joining import with_new
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.pruning import Limits
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.families.hdp import few, variational
from hiertopics.fitting import driver, updating
from hiertopics.fitting.updating import update
from hiertopics.runs.checkpoints import StateOrigin, load_checkpoint
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.views.changes import changes

FILES = ("model.npz", "theta.npz", "tree.json", "split.npz", "topics.csv", "documents.jsonl")
HOW: dict[str, list[str]] = {
    "hdp-gibbs": ["inference.collapse=partial", "model.truncation=8"],
    "hdp-cvb0": ["model.truncation=8"],
    "hdp-pcvb0": ["model.truncation=8", "model.prior=AA", "inference.responsibilities=few"],
    "nhdp-variational": ["model.truncation=8", "inference.start_iterations=10"],
    "hlda-variational": ["inference.start_sweeps=5", "model.depth=2"],
    "hlda-gibbs": ["inference.collapse=partial", "model.depth=2", "inference.burn_in=3"],
}
OLD, NEW = "abcdefghij", "abcdefghijklmno"


def corpus_of(words: str, n_docs: int, seed: int, name: str) -> Corpus:
    """Return documents of one half of the words each."""
    rng, half = np.random.default_rng(seed), len(words) // 2
    counts = np.zeros((n_docs, len(words)), int)
    for doc in range(n_docs):
        own = range(half) if doc % 2 else range(half, len(words))
        counts[doc, own] = rng.poisson(2, len(own))
    vocab = tuple(f"{letter}{letter}" for letter in words)
    return Corpus(sparse.csr_array(counts), vocab, tuple(f"{name}{d}" for d in range(n_docs)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with documents of last year and of this year, and a run of each backend."""
    path = tmp_path_factory.mktemp("updates")
    write_corpus(corpus_of(OLD, 40, 0, "old"), path / "old.npz")
    write_corpus(corpus_of(NEW, 30, 1, "new"), path / "new.npz")
    for backend, settings in HOW.items():
        overrides = [*settings, "inference.iterations=12", "data.min_df=2"]
        driver.fit(path / "old.npz", run=path / backend, backend=backend, overrides=overrides)
    return path


def updated(folder: Path, output: Path, backend: str = "hdp-gibbs", **how: Any) -> RunDir:
    return update(folder / backend, folder / "new.npz", output, **how).run


def contents(run: RunDir) -> dict[str, bytes]:
    return {name: (run.path / name).read_bytes() for name in FILES if (run.path / name).exists()}


@pytest.mark.parametrize("backend", HOW)
def test_the_result_is_a_run_of_all_documents(folder: Path, tmp_path: Path, backend: str) -> None:
    before, run = RunDir(folder / backend), updated(folder, tmp_path / "both", backend)
    whole = read_original(run).whole
    assert (whole.n_docs, whole.vocab[:10]) == (70, before.vocab)
    assert run.theta.shape[0] == len(run.split.train_docs) == 63
    assert run.manifest["parents"][0]["run"] == backend
    assert run.manifest["made_by"].startswith("update join ")
    aside = before.split.heldout_docs.tolist()
    assert run.split.heldout_docs.tolist()[: len(aside)] == aside
    assert (run.split.heldout_docs[len(aside) :] >= 40).all()
    rows = run.split.scored[: len(aside), :10]
    assert (rows != before.split.scored).nnz == 0
    assert evaluate(run)["perplexity"] > 1


def test_new_words_join_or_are_left_out(folder: Path, tmp_path: Path) -> None:
    joined, dropped = (
        updated(folder, tmp_path / how, new_words=how, iterations=2) for how in ("join", "drop")
    )
    assert dropped.vocab == RunDir(folder / "hdp-gibbs").vocab
    assert set(joined.vocab) - set(dropped.vocab) == {"kk", "ll", "mm", "nn", "oo"}
    assert joined.tree.phi.shape[1] == 15
    assert joined.tree.n_tokens.sum() > dropped.tree.n_tokens.sum()


def test_rare_words_of_the_new_documents_do_not_join(folder: Path, tmp_path: Path) -> None:
    rare = corpus_of(NEW, 30, 1, "new").counts.toarray()
    rare[1:, 14] = 0
    rare[0, 14] = 5
    write_corpus(Corpus(sparse.csr_array(rare), tuple(c + c for c in NEW)), tmp_path / "rare.npz")
    run = update(folder / "hdp-gibbs", tmp_path / "rare.npz", tmp_path / "run", iterations=1).run
    assert "nn" in run.vocab and "oo" not in run.vocab


TEXTS = {
    "old": ["the cat and the dog sat on a mat", "the dog and the cat ran", "a cat sat on the mat"],
    "new": ["the fox and the dog ran on the hill", "a fox sat on the hill", "the fox and a mole"],
    "later": [
        "the fox and the mole ran",
        "a mole sat on the hill by the sea",
        "the sea and the fox",
    ],
}


def put_texts(folder: Path) -> None:
    for name, texts in TEXTS.items():
        lines = [json.dumps({"id": f"{name}{n}", "text": text}) for n, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "stopped.txt").write_text("the and on by\n")


@pytest.mark.parametrize("when", ["convert", "fit"])
@pytest.mark.parametrize("how", [["data.stop_words=stopped.txt"], ["data.min_df=2"]])
def test_what_chose_the_words_chooses_those_of_further_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, how: list[str]
) -> None:
    """Of shards, too, and of a run that was updated: its words are those of one corpus of all."""
    monkeypatch.chdir(tmp_path)
    put_texts(tmp_path)
    corpus, chosen = Path("old.jsonl"), how
    if when == "convert":
        convert(corpus, Path("old.shards"), overrides=how)
        corpus, chosen = Path("old.shards"), []
    settings = [*HOW["hdp-gibbs"], "data.holdout=none", "inference.iterations=1", *chosen]
    run = driver.fit(corpus, run="a", backend="hdp-gibbs", overrides=settings).run
    fields = {"text_field": "text", "id_field": "id"}
    for name, before in (("b", "new"), ("c", "later")):
        run = update(run, f"{before}.jsonl", name, data=fields).run
    if "min_df" in how[0]:
        assert set(run.vocab) == {
            "the",
            "cat",
            "and",
            "dog",
            "sat",
            "on",
            "mat",
            "fox",
            "hill",
            "mole",
            "sea",
        }
    else:
        words = {word for texts in TEXTS.values() for text in texts for word in text.split()}
        assert set(run.vocab) == words - {"the", "and", "on", "by", "a"}


@pytest.mark.parametrize(
    ("limits", "joins"),
    [
        (Limits(max_df=0.5), [0, 1]),
        (Limits(min_df=0.5), [1, 2]),
        (Limits(min_df=6), [2]),
        (Limits(min_df=0.5, max_df=0.5), [1]),
    ],
)
def test_shares_are_shares_of_the_further_documents(limits: Limits, joins: list[int]) -> None:
    """Of ten documents and four words; the last word is known already."""
    n_docs_with = [1, 5, 6, 10]
    counts = (np.arange(10)[:, None] < np.array(n_docs_with)).astype(np.int32)
    added = Corpus(sparse.csr_array(counts), ("a", "b", "c", "d"))
    words = with_new(("d",), np.array([-1, -1, -1, 0]), added, (limits,))
    assert words.joined == tuple("abcd"[word] for word in joins)


def test_words_join_while_there_is_room_for_them(folder: Path, tmp_path: Path) -> None:
    """max_words counts all words together; those in most of the new documents come first."""
    counts = corpus_of(NEW, 30, 1, "new").counts.toarray()
    counts[:20, 11] = 0
    vocab = tuple(letter + letter for letter in NEW)
    write_corpus(Corpus(sparse.csr_array(counts), vocab), tmp_path / "new.npz")
    for most, joined in ((10, set()), (13, {"kk", "mm", "nn", "oo"}), (99, {"kk", "ll", "mm"})):
        how = [*HOW["hdp-gibbs"], f"data.max_words={most}", "inference.iterations=1"]
        run = tmp_path / str(most)
        driver.fit(folder / "old.npz", run=run, backend="hdp-gibbs", overrides=how)
        made = update(run, tmp_path / "new.npz", tmp_path / f"{most} new").run
        fresh = set(made.vocab) - set(RunDir(run).vocab)
        assert len(made.vocab) == min(most, 15) and (
            fresh >= joined if most > 15 else fresh <= joined
        )


def test_stop_words_that_join_a_run_that_may_have_left_them_out_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file of counts does not say what chose its words."""
    monkeypatch.chdir(tmp_path)
    put_texts(tmp_path)
    Path("new.jsonl").write_text('{"text": "he was with the fox and it is by the sea"}\n' * 3)
    convert("old.jsonl", "old.ldac", overrides=["data.stop_words=stopped.txt"])
    settings = [*HOW["hdp-gibbs"], "data.holdout=none", "inference.iterations=1"]
    driver.fit("old.ldac", run="a", backend="hdp-gibbs", overrides=settings)
    update("a", "new.jsonl", "b", data={"text_field": "text"})
    told = capsys.readouterr().err
    assert told.startswith("warning: 8 of the 10 words that join are stop words (") and "\n" in told
    assert told.count("\n") == 1


STOPS = [(backend, after) for after in (0, 1, 6) for backend in HOW]
STOPS_OF_A_DAY = [(backend, after) for backend, after in STOPS if after == 1 or "cvb0" in backend]


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "after"), daily(STOPS, *STOPS_OF_A_DAY))
def test_a_stopped_update_goes_on_to_the_same_bytes(
    folder: Path, tmp_path: Path, backend: str, after: int
) -> None:
    once = updated(folder, tmp_path / "once", backend)
    begun = updated(folder, tmp_path / "twice", backend, iterations=after)
    assert begun.manifest["iterations"] == after
    again = updated(folder, tmp_path / "twice", backend)
    assert contents(again) == contents(once)
    # fit goes on with it, too
    updated(folder, tmp_path / "fitted", backend, iterations=after)
    path = tmp_path / "fitted"
    fitted = driver.fit(run=path, config=path / "config.yaml", iterations=12).run
    assert contents(fitted) == contents(once)


def test_a_corpus_that_outgrows_whole_rows_goes_on_with_entries(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = RunDir(folder / "hdp-cvb0")
    n_pairs = read_original(before).train.n_pairs
    monkeypatch.setattr(few, "MOST_ENTRIES", 8 * n_pairs)
    run = updated(folder, tmp_path / "both", "hdp-cvb0")
    kept: Any = variational.few_cvb0
    settings = Settings(run.experiment.model, run.experiment.inference)
    stamp = f"{run.manifest['corpus']['fingerprint']} {run.split.hash}"
    found = load_checkpoint(run, StateOrigin(kept, settings, stamp, read_original(run).train))
    assert found is not None and found[0] == 12
    assert run.manifest["objective"] > before.manifest["objective"] - 0.5


def test_what_was_killed_before_a_checkpoint_is_begun_again_by_update_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = updated(folder, tmp_path / "once")

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(updating, "_state_of", killed)
        updated(folder, tmp_path / "twice")
    path = tmp_path / "twice"
    with pytest.raises(UsageError, match="give the command update again"):
        driver.fit(run=path, config=path / "config.yaml")
    assert contents(updated(folder, path)) == contents(once)


def test_neither_workers_nor_parts_nor_the_form_of_the_documents_change_a_byte(
    folder: Path, tmp_path: Path
) -> None:
    once = updated(folder, tmp_path / "once")
    convert(folder / "new.npz", tmp_path / "new.shards")
    run = update(folder / "hdp-gibbs", tmp_path / "new.shards", tmp_path / "shards", workers=2).run
    assert contents(run) == contents(once)


@pytest.mark.parametrize("backend", HOW)
def test_it_begins_where_the_run_ended(folder: Path, tmp_path: Path, backend: str) -> None:
    """While topics are held, the new documents find places under those of the run."""
    before = RunDir(folder / backend)
    run = updated(folder, tmp_path / "both", backend, iterations=5)
    theirs = [record for record in changes(before, run) if record["was"] is not None]
    assert len(theirs) == len(before.tree.shown)
    tokens = [record["tokens_before"] for record in theirs]
    assert np.average([record["affinity"] or 0 for record in theirs], weights=tokens) > 0.9


def test_topics_of_old_tokens_are_kept_and_those_of_others_drawn() -> None:
    """A token keeps its topic; counts are those of all tokens; shards change nothing."""
    how = [*HOW["hdp-gibbs"], "inference.start=random"]
    old = corpus_of(OLD, 40, 0, "old")
    wide = np.zeros((40, 15), int)
    wide[:, :10] = old.counts.toarray()
    both = np.vstack([wide, corpus_of(NEW, 30, 1, "new").counts.toarray()])
    whole = Corpus(sparse.csr_array(both), tuple(c + c for c in NEW))
    found = []
    for shards in (1, 3):
        experiment = read_experiment(
            {"backend": "hdp-gibbs"}, None, [*how, f"inference.shards={shards}"]
        )
        settings = Settings(experiment.model, experiment.inference)
        backend: Any = registry.load_for(experiment)
        data = backend.prepare(old, settings)
        state = backend.init(data, settings, Context(0, 0, Workers()))
        for iteration in (1, 2):
            state, _ = backend.step(state, data, settings, Context(0, iteration, Workers()))
        before = to_arrays(state)
        z = state.now[0].z.copy()
        more = backend.prepare(whole, settings)
        draw = backend.extend_state(before, more, settings, Context(0, 0, Workers())).now[0]
        np.testing.assert_array_equal(draw.z[: len(z)], z)
        assert len(draw.z) == whole.n_tokens and len(set(draw.z[len(z) :].tolist())) == 8
        counts = np.zeros((15, 8), int)
        rows = [
            word
            for doc in range(70)
            for word in np.flatnonzero(both[doc])
            for _ in range(both[doc, word])
        ]
        np.add.at(counts, (rows, draw.z), 1)
        np.testing.assert_array_equal(draw.n_wk, counts)
        np.testing.assert_array_equal(draw.n_k, counts.sum(axis=0))
        np.testing.assert_allclose(draw.topics.sum(axis=0), 1, rtol=1e-6)
        assert draw.tau.sum() == pytest.approx(1)
        assert draw.word_mass / 15 == pytest.approx(before["now.0.word_mass"] / 10)
        found.append(draw.z)
    np.testing.assert_array_equal(*found)


def test_what_changed_is_told_node_by_node(folder: Path, tmp_path: Path) -> None:
    before, run = RunDir(folder / "hdp-gibbs"), updated(folder, tmp_path / "both")
    records = changes(before, run)
    now = [record for record in records if record["node"] is not None]
    assert [record["node"] for record in now] == run.tree.shown.tolist()
    told = sum(record["tokens_after"] for record in now)
    assert told == pytest.approx(run.tree.n_tokens[run.tree.shown].sum(), abs=1)
    was = [record["was"] for record in records if record["was"] is not None]
    assert sorted(was) == before.tree.shown.tolist()
    lengths = run.split.train_lengths
    assert lengths is not None
    # theta is n_dk and a prior: what it gives is about what was counted.
    fresh = lengths[36:] @ run.theta[36:]
    assert [record["tokens_added"] for record in now] == pytest.approx(
        fresh[run.tree.shown], abs=0.06
    )
    came = {word for record in now for word in record["came"]}
    assert came & {"kk", "ll", "mm", "nn", "oo"}


def test_an_unknown_node_is_new_and_a_lost_one_gone(folder: Path) -> None:
    run = RunDir(folder / "hdp-gibbs")
    assert all(
        record["affinity"] == 1 and record["was"] == record["node"] for record in changes(run, run)
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            ["inference.collapse=full"],
            "cannot go on with further documents .* update is for .*hdp-gibbs:partial",
        ),
        (["inference.collapse=partial", "data.holdout=tokens:0.2"], "a part of each document"),
        (["inference.collapse=partial", "data.vocabulary_from=training"], "vocabulary_from: all"),
    ],
)
def test_runs_that_cannot_be_updated_are_told(
    folder: Path, tmp_path: Path, settings: list[str], said: str
) -> None:
    overrides = [*settings, "model.truncation=8", "inference.iterations=1"]
    driver.fit(folder / "old.npz", run=tmp_path / "a", backend="hdp-gibbs", overrides=overrides)
    with pytest.raises(UsageError, match=said) as caught:
        update(tmp_path / "a", folder / "new.npz", tmp_path / "b")
    assert "\n" not in str(caught.value) and not (tmp_path / "b").exists()


def test_other_refusals(folder: Path, tmp_path: Path) -> None:
    run, out = folder / "hdp-gibbs", tmp_path / "b"
    strange = Corpus(sparse.csr_array(np.ones((3, 2), int)), ("x", "y"))
    write_corpus(strange, tmp_path / "strange.npz")
    cases: list[tuple[Path, dict[str, Any], str]] = [
        (folder / "old.npz", {}, "holds the documents that .* has already"),
        (tmp_path / "strange.npz", {"new_words": "drop"}, "no word of the new documents is known"),
        (folder / "new.npz", {"new_words": "maybe"}, "new words join or drop"),
    ]
    for corpus, how, said in cases:
        with pytest.raises(UsageError, match=said):
            update(run, corpus, out, **how)
        assert not out.exists()
    update(run, folder / "new.npz", out, iterations=1)
    for corpus, output in ((tmp_path / "strange.npz", out), (folder / "new.npz", run)):
        with pytest.raises(UsageError, match="is another run already"):
            update(run, corpus, output)


def test_an_update_is_updated(folder: Path, tmp_path: Path) -> None:
    """What two runs put aside stays aside in the third."""
    second = updated(folder, tmp_path / "second", iterations=3)
    write_corpus(corpus_of(NEW, 20, 2, "third"), tmp_path / "third.npz")
    third = update(second, tmp_path / "third.npz", tmp_path / "third").run
    aside = second.split.heldout_docs.tolist()
    assert third.split.heldout_docs.tolist()[: len(aside)] == aside
    assert third.experiment.data.holdout == "docs:0.1@0+40+70"
    assert len(third.split.train_docs) == 81


def test_a_disk_that_refuses_ends_in_one_line_and_the_command_given_again_makes_the_run(
    folder: Path, tmp_path: Path
) -> None:
    def act(_: int) -> str | None:
        try:
            updated(folder, tmp_path / "new")
        except RunError as error:
            return str(error)
        return None

    refused = [told for _, told in refusals("rename", tmp_path, int, act, every=5)]
    assert len(refused) > 1
    assert all("No space left" in told and "\n" not in told for told in refused)
    whole = contents(updated(folder, tmp_path / "at once"))
    assert contents(RunDir(tmp_path / "new")) == whole


@pytest.mark.parametrize("name", ["hdp-gibbs", "hdp-cvb0"])
def test_what_no_fit_begins_with_is_taken_out_again(
    folder: Path, tmp_path: Path, name: str
) -> None:
    out = tmp_path / "b"
    with pytest.raises(UsageError):
        update(folder / name, folder / "new.npz", out, memory=1)
    assert not out.exists()
    out.mkdir()
    (out / "corpus").mkdir()
    for name_of_mine in ("mine.txt", "corpus/mine.txt"):
        (out / name_of_mine).write_text("mine")
    with pytest.raises(UsageError):
        update(folder / name, folder / "new.npz", out, memory=1)
    found = sorted(str(file.relative_to(out)) for file in out.rglob("*"))
    assert found == ["corpus", "corpus/mine.txt", "mine.txt"]


@pytest.mark.parametrize("name", ["hdp-gibbs", "hdp-cvb0"])
def test_a_damaged_state_of_the_run_before_leaves_no_new_run(
    folder: Path, tmp_path: Path, name: str
) -> None:
    sent, out = tmp_path / "sent", tmp_path / "new"
    shutil.copytree(folder / name, sent)
    for path in (sent / "checkpoints").iterdir():
        path.write_bytes(b"damaged")
    with pytest.raises(RunError, match="no checkpoint of .*sent can be continued"):
        update(sent, folder / "new.npz", out)
    assert not out.exists()
