"""Fits of corpora in files: the same bytes, and what grows with documents lies in files, too."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from nights import by_night
from replacing import put_in_place

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.room import beside
from hiertopics.corpus.corpora.conversion import convert
from hiertopics.corpus.formats.shards import open_shelf
from hiertopics.corpus.formats.source import Source
from hiertopics.families.flat import token_layout
from hiertopics.families.hdp import blocks, summary as theta_parts
from hiertopics.families.ncrp import clustering
from hiertopics.families.ncrp.sampler import chains as sampled
from hiertopics.families.ncrp.variational import (
    backend as hlda_variational,
    state as variational_state,
)
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Callback, Event
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate

FILES = ("model.npz", "theta.npz", "tree.json", "split.npz", "topics.csv", "documents.jsonl")
MEANFIELD = {"backend": "hlda-variational", "overrides": ["inference.mode=meanfield"]}
HDP = ["model.truncation=12", "inference.hyper_start=3", "inference.shards=2"]
SETTINGS = ["inference.collapse=partial", "model.truncation=12", "output.checkpoint_seconds=0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a corpus of 60 documents, with authors, and its shards."""
    path = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(0)
    lines, authors = [], []
    for doc in range(60):
        words = rng.choice(np.arange(15) + 15 * (doc % 2), 8, replace=False)
        words = words if doc else words[:0]
        lines.append(f"{len(words)} " + " ".join(f"{word}:{doc % 3 + 1}" for word in words) + "\n")
        authors.append(f"author{doc % 4}\n")
    (path / "a.ldac").write_text("".join(lines))
    (path / "a.authors").write_text("".join(authors))
    convert(path / "a.ldac", path / "a.shards")
    return path


def fitted(
    corpus: Path, run: Path, iterations: int = 7, *more: str, callbacks: tuple[Callback, ...] = ()
) -> RunDir:
    overrides = [*SETTINGS, *more]
    return driver.fit(
        corpus,
        run=run,
        backend="hdp-gibbs",
        iterations=iterations,
        overrides=overrides,
        memory="4GB" if corpus.suffix == ".shards" else None,
        callbacks=callbacks,
    ).run


def contents(run: RunDir) -> dict[str, bytes]:
    return {name: (run.path / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("start", ["random", "variational"])
def test_shards_and_the_file_they_come_from_end_in_the_same_bytes(
    folder: Path, tmp_path: Path, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 16)
    monkeypatch.setattr(blocks, "DENSE_CELLS", 40)
    more = (f"inference.start={start}",)
    whole = fitted(folder / "a.ldac", tmp_path / "whole", 7, *more)
    shards = fitted(folder / "a.shards", tmp_path / "shards", 7, *more)
    assert contents(shards) == contents(whole)
    for name in ("corpus", "split", "objective"):
        assert shards.manifest[name] == whole.manifest[name]
    scores = [evaluate(run)["log_likelihood_per_word"] for run in (whole, shards)]
    quality = [evaluate(run)["coherence_npmi"] for run in (whole, shards)]
    assert scores[0] == scores[1] and quality[0] == quality[1]


@pytest.mark.parametrize(
    "chosen",
    [
        ["data.min_df=20", "data.max_df=0.45"],
        ["data.max_words=11"],
        ["data.min_df=17", "data.vocabulary_from=training"],
    ],
)
def test_words_of_shards_are_chosen_as_those_of_a_file(
    folder: Path, tmp_path: Path, chosen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one more pass: the same corpus, the same split, the same bytes, the same score."""
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 16)
    whole = fitted(folder / "a.ldac", tmp_path / "whole", 3, *chosen)
    shards = fitted(folder / "a.shards", tmp_path / "shards", 3, *chosen)
    assert 0 < len(shards.vocab) < 30
    assert contents(shards) == contents(whole)
    for name in ("corpus", "split", "objective"):
        assert shards.manifest[name] == whole.manifest[name]
    scores = [evaluate(run) for run in (whole, shards)]
    assert scores[0]["perplexity"] == scores[1]["perplexity"]
    assert scores[0]["unknown_tokens"] == scores[1]["unknown_tokens"]


def test_words_are_chosen_again_of_those_that_were_chosen(folder: Path) -> None:
    shelf = open_shelf(Source(folder / "a.shards"))
    first = shelf.with_words(np.array([3, 4, 7, 20]))
    again = first.select([5, 2, 7]).with_words(np.array([0, 2, 3]))
    counts = shelf.in_memory().counts[[5, 2, 7]][:, [3, 7, 20]]
    assert again.vocab == tuple(shelf.vocab[word] for word in (3, 7, 20))
    assert (again.counts != counts).nnz == 0
    np.testing.assert_array_equal(again.doc_lengths, counts.sum(axis=1))
    np.testing.assert_array_equal(again.doc_pairs, np.diff(counts.indptr))
    assert again.fingerprint == again.in_memory().fingerprint


def test_a_fit_of_shards_goes_on_and_keeps_topics_of_tokens_in_files(
    folder: Path, tmp_path: Path
) -> None:
    places: list[Path | None] = []

    def watch(event: Event) -> None:
        state: Any = event.state
        places.append(beside(state.now[0].local.state_of(0).z).folder)

    once = fitted(folder / "a.shards", tmp_path / "once", 7, "inference.summarise=map")
    for iterations in (3, 7):
        twice = fitted(
            folder / "a.shards",
            tmp_path / "twice",
            iterations,
            "inference.summarise=map",
            callbacks=(watch,),
        )
    assert contents(twice) == contents(once)
    assert set(places) == {tmp_path / "twice" / "checkpoints"}
    assert {path.suffix for path in (tmp_path / "twice" / "checkpoints").iterdir()} == {".npz"}


def test_a_theta_of_a_part_predicts_as_the_entire_one_does(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only topics that a document has tokens of are stored, and the mixture that all share."""
    entire = fitted(folder / "a.ldac", tmp_path / "entire")
    monkeypatch.setattr(theta_parts, "MOST_ENTRIES", 0)
    monkeypatch.setattr(blocks, "DENSE_CELLS", 40)
    part = fitted(folder / "a.shards", tmp_path / "part")
    in_pieces = fitted(folder / "a.shards", tmp_path / "pieces", 7, "inference.shards=3")
    assert contents(in_pieces)["theta.npz"] == contents(part)["theta.npz"]
    assert part.theta.nnz < entire.theta.nnz
    np.testing.assert_allclose(part.theta.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    expected = entire.theta @ entire.tree.phi
    np.testing.assert_allclose(part.theta @ part.tree.phi, expected, rtol=1e-9, atol=0)
    np.testing.assert_array_equal(
        part.tree.n_docs[part.tree.shown], entire.tree.n_docs[entire.tree.shown]
    )
    scores = [evaluate(run)["log_likelihood_per_word"] for run in (entire, part)]
    assert abs(scores[0] - scores[1]) < 1e-4


@pytest.mark.parametrize("backend", ["hdp-cvb0", "hdp-gibbs"])
def test_a_part_of_theta_predicts_alike_where_counts_are_expected(
    folder: Path, tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(name: str) -> RunDir:
        settings = ["model.truncation=12"]
        how: dict[str, Any] = {"backend": backend, "iterations": 30, "overrides": settings}
        return driver.fit(folder / "a.ldac", run=tmp_path / name, **how).run

    entire = made("entire")
    monkeypatch.setattr(theta_parts, "MOST_ENTRIES", 0)
    monkeypatch.setattr(theta_parts, "CELLS", 40)
    part = made("part")
    assert part.theta.nnz < entire.theta.nnz
    np.testing.assert_allclose(part.theta.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    counts = read_original(part).train.counts.toarray()
    logs = [(counts * np.log(run.theta @ run.tree.phi)).sum() for run in (entire, part)]
    assert abs(logs[0] - logs[1]) / counts.sum() < 1e-4
    scores = [evaluate(run)["log_likelihood_per_word"] for run in (entire, part)]
    assert abs(scores[0] - scores[1]) < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["hdp-cvb0", "hdp-pcvb0", "hdp-cvb"])
@pytest.mark.parametrize("theta", ["entire", "a part"])
def test_the_variational_hdp_of_shards_keeps_what_grows_in_files(
    folder: Path, tmp_path: Path, backend: str, theta: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries and counts of documents; a fit that goes on ends in the same bytes."""
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 16)
    monkeypatch.setattr("hiertopics.families.hdp.few.CELLS", 60)
    if theta == "a part":
        monkeypatch.setattr(theta_parts, "MOST_ENTRIES", 0)
    places: set[Path | None] = set()

    def watch(event: Event) -> None:
        state: Any = event.state
        arrays = [array for array in state.local.state_of(1) if array is not None and array.size]
        places.update(beside(array).folder for array in arrays)

    def made(corpus: str, name: str, iterations: int, *callbacks: Callback) -> RunDir:
        return driver.fit(
            folder / corpus,
            run=tmp_path / name,
            backend=backend,
            iterations=iterations,
            overrides=[*HDP, "output.checkpoint_seconds=0"],
            memory="4GB",
            callbacks=callbacks,
        ).run

    whole = made("a.ldac", "whole", 7)
    for iterations in (5, 7):
        shards = made("a.shards", "shards", iterations, watch)
    assert contents(shards) == contents(whole)
    assert shards.manifest["objective"] == whole.manifest["objective"]
    assert places == {tmp_path / "shards" / "checkpoints"}


@pytest.mark.parametrize("collapse", ["partial", "full"])
@pytest.mark.parametrize("start", ["clusters", "sequential"])
def test_hlda_gibbs_of_shards_keeps_levels_of_tokens_in_files(
    folder: Path, tmp_path: Path, collapse: str, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the best draw, too; a fit that goes on ends in the same bytes."""
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 16)
    for module in (token_layout, sampled):
        monkeypatch.setattr(module, "TOKENS_AT_ONCE", 40)
    monkeypatch.setattr(clustering, "MOST_PAIRS", 200)
    monkeypatch.setattr(clustering, "CELLS", 60)
    places: set[Path | None] = set()

    def watch(event: Event) -> None:
        state: Any = event.state
        levels = [one.chain.level for one in (*state.now, *state.best)]
        places.update(beside(level).folder for level in levels)

    def made(corpus: str, name: str, iterations: int, *callbacks: Callback) -> RunDir:
        return driver.fit(
            folder / corpus,
            run=tmp_path / name,
            backend="hlda-gibbs",
            iterations=iterations,
            overrides=[
                f"inference.collapse={collapse}",
                f"inference.start={start}",
                "inference.shards=2",
                "inference.burn_in=2",
                "output.checkpoint_seconds=0",
            ],
            memory="4GB",
            callbacks=callbacks,
        ).run

    whole = made("a.ldac", "whole", 7)
    for iterations in (5, 7):
        shards = made("a.shards", "shards", iterations, watch)
    assert contents(shards) == contents(whole)
    assert shards.manifest["objective"] == whole.manifest["objective"]
    assert places == {tmp_path / "shards" / "checkpoints"}
    assert {path.suffix for path in (tmp_path / "shards" / "checkpoints").iterdir()} == {".npz"}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["batches", "sweeps", "a start of a part", "paper"])
def test_hlda_variational_of_shards_lays_documents_out_in_files(
    folder: Path, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots of some documents at a time; a fit that goes on ends in the same bytes."""
    monkeypatch.setattr("hiertopics.corpus.data.shelf.BLOCK_PAIRS", 16)
    monkeypatch.setattr(token_layout, "TOKENS_AT_ONCE", 40)
    monkeypatch.setattr(variational_state, "CELLS", 40)
    monkeypatch.setattr(clustering, "MOST_PAIRS", 200 if how == "a start of a part" else 500)
    monkeypatch.setattr(clustering, "CELLS", 60)
    places: set[Path | None] = set()
    lay_out = variational_state.lay_out

    def laid_out(corpus: Any, n_shards: int) -> Any:
        data = lay_out(corpus, n_shards)
        places.add(beside(data.cells.word).folder)
        return data

    monkeypatch.setattr(hlda_variational, "lay_out", laid_out)
    settings = {
        "batches": ["inference.batch_size=20"],
        "paper": ["inference.moves=paper", "inference.start=overcomplete"],
    }

    def made(corpus: str, name: str, iterations: int) -> RunDir:
        return driver.fit(
            folder / corpus,
            run=tmp_path / name,
            backend="hlda-variational",
            iterations=iterations,
            overrides=[
                "inference.shards=2",
                "inference.start_sweeps=4",
                "inference.moves_every=2",
                "output.checkpoint_seconds=0",
                *settings.get(how, []),
            ],
            memory="4GB",
        ).run

    whole = made("a.ldac", "whole", 7)
    assert places == {None}
    places.clear()
    for iterations in (5, 7):
        shards = made("a.shards", "shards", iterations)
    assert places == {tmp_path / "shards" / "checkpoints"}
    assert contents(shards) == contents(whole)
    assert shards.manifest["objective"] == whole.manifest["objective"]
    scores = [evaluate(run) for run in (whole, shards)]
    for name in ("log_likelihood_per_word", "parent_child_npmi"):
        assert scores[0][name] == scores[1][name]
    assert {path.suffix for path in (tmp_path / "shards" / "checkpoints").iterdir()} == {".npz"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backend": "lda-gibbs"}, "lda-gibbs holds the corpus in memory; of shards fit hdp-pcvb0"),
        (
            {"backend": "hdp-gibbs"},
            "hdp-gibbs:partial or hlda-variational or hlda",
        ),
        (MEANFIELD, "hlda-variational:meanfield holds the corpus in memory; of"),
        ({"holdout": "tokens:0.2@0"}, "of shards whole documents can be"),
        ({"memory": "80MB"}, "--memory 80MB is too little: the least for this fit is [0-9]+MB"),
        ({"data": {"discretise": {"bins": 3}}}, "data.discretise is for dense tables"),
    ],
)
def test_what_shards_cannot_do_is_told_in_one_line(
    folder: Path, tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    full = options.get("backend") is not None
    settings = [] if full else SETTINGS
    arguments = {"backend": "hdp-gibbs", "overrides": settings, "run": tmp_path / "run", **options}
    with pytest.raises(UsageError, match=said) as caught:
        driver.fit(folder / "a.shards", **arguments)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


GROWING = [
    "inference.start_leaves=1",
    "inference.start_sweeps=0",
    "inference.moves_every=2",
    "output.checkpoint_seconds=1000",
]
"""Settings of hlda-variational: a tree of one path at first, which documents of two kinds part."""


def grown(corpus: Path, run: Path, memory: int | str | None, iterations: int = 6) -> RunDir:
    how: dict[str, Any] = {"backend": "hlda-variational", "overrides": GROWING}
    return driver.fit(corpus, run=run, memory=memory, iterations=iterations, **how).run


def least(told: str) -> int:
    """Return the bytes that a refusal says are enough."""
    return int(re.search("(?:fit is|takes) ([0-9]+)MB", told)[1])  # type: ignore[index]


def test_a_tree_that_outgrows_its_memory_stops_in_one_line_and_goes_on_with_more(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told before the fit was told of its first tree."""
    monkeypatch.setattr("hiertopics.fitting.memory.MEGABYTE", 1)
    for name in ("PAIR_BYTES", "READ_BYTES"):  # of what is larger than the tree of a tiny corpus
        monkeypatch.setattr(hlda_variational, name, 0)
    whole = grown(folder / "a.shards", tmp_path / "whole", None)
    rows = whole.metrics()
    assert rows[-1]["n_nodes"] > 3
    with pytest.raises(UsageError) as caught:
        grown(folder / "a.shards", tmp_path / "run", 1)
    enough = least(str(caught.value))
    with pytest.raises(UsageError, match="to go on after iteration 2 takes") as caught:
        grown(folder / "a.shards", tmp_path / "run", enough)
    told = str(caught.value)
    assert "\n" not in told and told.endswith("with more the same command goes on from iteration 2")
    run = RunDir(tmp_path / "run")
    assert (run.manifest["status"], run.manifest["iterations"]) == ("stopped", 2)
    with pytest.raises(UsageError, match="after iteration 2"):
        grown(folder / "a.shards", tmp_path / "run", enough)
    assert least(told) > enough
    again = grown(folder / "a.shards", tmp_path / "run", 10**9)
    assert contents(again) == contents(whole)


@pytest.mark.parametrize("memory", ["2GB", None])
def test_memory_that_runs_out_under_a_limit_leaves_a_run_that_goes_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str | None
) -> None:
    """Without one the shell says so of every command."""
    whole = grown(folder / "a.shards", tmp_path / "whole", None)
    step = hlda_variational.backend.step

    def full(state: Any, data: Any, settings: Any, context: Any) -> Any:
        if context.iteration == 5:
            raise MemoryError
        return step(state, data, settings, context)

    with monkeypatch.context() as patched:
        put_in_place(patched, "hlda-variational", step=full)
        patched.setattr(sys.modules[__name__], "GROWING", [*GROWING[:-1], KEPT])
        kind = UsageError if memory else MemoryError
        with pytest.raises(kind) as caught:
            grown(folder / "a.shards", tmp_path / "run", memory)
    run = RunDir(tmp_path / "run")
    if memory:
        said = "memory ran out after iteration 4, .* goes on from iteration 4"
        assert re.search(said, str(caught.value))
        assert (run.manifest["status"], run.manifest["iterations"]) == ("stopped", 4)
    assert contents(grown(folder / "a.shards", tmp_path / "run", memory)) == contents(whole)


KEPT = "output.checkpoint_seconds=0"


def test_damaged_shards_end_before_a_run_is_made(folder: Path, tmp_path: Path) -> None:
    convert(folder / "a.shards", tmp_path / "b.shards")
    part = tmp_path / "b.shards" / "00000.counts.npy"
    part.write_bytes(part.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"00000.counts.npy: is damaged: it is cut short"):
        fitted(tmp_path / "b.shards", tmp_path / "run")
    assert not (tmp_path / "run").exists()


CHILD = """
    import re, resource, sys
    from importlib import import_module
    from pathlib import Path
    from hiertopics.base.errors import UsageError
    from hiertopics.fitting import driver
    from hiertopics.runs.newdocs import infer
    from hiertopics.scoring.evaluation import evaluate

    folder, backend = Path(sys.argv[1]), sys.argv[3]

    def let(module, **values):
        for name, value in values.items():
            setattr(import_module(f"hiertopics.{module}"), name, value)

    # What is the same for all corpora would hide what a corpus in memory takes. Modules of other
    # backends are left out: they would take what the limit leaves to this one.
    let("runs.placing", MOST_ENTRIES=1 << 10, ROWS=1 << 7)
    let("families.flat.token_layout", TOKENS_AT_ONCE=1 << 14)
    if backend == "hdp-gibbs":
        let("families.hdp.blocks", CHANGES_AT_ONCE=1 << 12)
        let("families.hdp.partial", BUFFERS=4 << 20)
    else:
        let("families.ncrp.clustering", MOST_PAIRS=1 << 12, CELLS=1 << 12)
    if backend == "hlda-gibbs":
        let("families.ncrp.sampler.chains", TOKENS_AT_ONCE=1 << 14)
        let("families.ncrp.sampler.backend", MOST_PAIRS=1 << 12, KEPT=2 << 20)
    if backend == "hlda-variational":
        let("families.ncrp.variational.state", CELLS=1 << 12)
        let("families.ncrp.variational.backend", CELLS=1 << 12)
    settings = {
        "hdp-gibbs": [
            "inference.collapse=partial", "inference.start=random", "model.truncation=6"
        ],
        "hlda-gibbs": [
            "inference.collapse=partial", "inference.shards=2", "model.depth=2",
            "data.holdout=docs:0.01",
        ],
        "hlda-variational": [
            "inference.shards=2", "inference.start_leaves=8", "inference.max_nodes=40",
            "inference.moves_every=1", "data.holdout=docs:0.04",
        ],
    }
    how = {"backend": backend, "iterations": 1, "overrides": settings[backend]}

    def bytes_of(name):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

    small = driver.fit(folder / "small.shards", run=folder / "small", **how).run
    evaluate(small)  # kernels and libraries
    infer(small, folder / "small.shards", folder / "small.csv")
    reserved = bytes_of("VmData") - bytes_of("RssAnon")
    corpus = folder / sys.argv[2]
    try:
        driver.fit(corpus.with_suffix(".shards"), run=folder / "none", memory="80MB", **how)
    except UsageError as error:
        print(error)
        least = re.search("the least for this fit is ([0-9]+MB)", str(error))[1]
    run = None
    while run is None:
        limit = reserved + int(least.removesuffix("MB")) * 1_000_000
        if sys.argv[4] == "limited":
            resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
        memory = least if corpus.suffix == ".shards" else None
        try:
            run = driver.fit(corpus, run=folder / "large", memory=memory, **how).run
        except UsageError as error:  # a first tree may be larger than was expected of it
            least = re.search("to go on after iteration 0 takes ([0-9]+MB)", str(error))[1]
    print("fitted")
    assert evaluate(run)["n_tokens"] > 40_000
    # Documents of so many tokens take hlda-gibbs too long.
    for suffix in ("npz", "csv", "jsonl") if backend != "hlda-gibbs" else ():
        infer(run, folder / "large.shards", folder / f"placed.{suffix}")
    print("done")
"""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with corpora of 8 and of 24 million tokens, one of 3 million pairs, a small
    one, and their shards.
    """
    path = tmp_path_factory.mktemp("large")
    kinds = {
        "small": (20, 20, 200, 10),
        "large": (4000, 4000, 200, 10),
        "larger": (4000, 20, 600, 10),
        "wide": (5000, 20, 3, 600),
    }
    for name, (n_docs, n_kinds, times, n_pairs) in kinds.items():
        first = [doc % n_kinds * 7 for doc in range(n_docs)]
        places = range(0, 13 * n_pairs, 13)
        lines = (
            f"{n_pairs} {' '.join(f'{(word + place) % 1000}:{times}' for place in places)}\n"
            for word in first
        )
        (path / f"{name}.ldac").write_text("".join(lines))
        convert(path / f"{name}.ldac", path / f"{name}.shards")
    return path


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by /proc")
@pytest.mark.parametrize(
    ("backend", "corpus"),
    [
        ("hdp-gibbs", "large"),
        *by_night(("hlda-gibbs", "larger"), ("hlda-variational", "wide")),
    ],
)
@pytest.mark.parametrize("suffix", ["shards", *by_night("ldac")])
def test_a_fit_of_shards_and_what_is_asked_of_it_stay_below_a_limit_of_memory(
    large: Path, tmp_path: Path, suffix: str, backend: str, corpus: str
) -> None:
    """In a process that gets no more; the same corpus in memory does not fit."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def run(name: str, how: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / how
        folder.mkdir()
        for path in large.iterdir():
            (folder / path.name).symlink_to(path)
        argv = [sys.executable, "-c", dedent(CHILD), str(folder), name, backend, how]
        return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)

    compiled = run(f"{corpus}.shards", "free")  # a process that compiles takes more
    assert compiled.returncode == 0, compiled.stderr
    done = run(f"{corpus}.{suffix}", "limited")
    assert "--memory 80MB is too little: the least for this fit is" in done.stdout, done.stderr
    assert ("done" in done.stdout) == (suffix == "shards"), done.stderr
    assert ("fitted" in done.stdout) == (suffix == "shards"), done.stderr
    assert done.returncode == 0 or "MemoryError" in done.stderr
