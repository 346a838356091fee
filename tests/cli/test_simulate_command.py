"""``simulate``: the backend's own story in any format, with the truth beside it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics
from hiertopics.base import archives
from hiertopics.contract import registry
from hiertopics.contract.engine import Workers
from hiertopics.contract.model import Context, Settings, Sizes
from hiertopics.contract.observed import kind_of
from hiertopics.corpus.data.corpus import default_vocab
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.runs.experiment import read_experiment

Call = Callable[..., Any]
SMALL = ("--docs", 12, "--words", 20, "--length", 15, "-s", "model.truncation=4")


def test_defaults_are_500_documents_of_100_tokens_over_1000_words(
    call: Call, tmp_path: Path
) -> None:
    outcome = call("simulate", "hdp-gibbs", "-o", "x.ldac")
    assert (outcome.code, outcome.out) == (0, "x.ldac\n") and "x.truth.npz" in outcome.err
    corpus = read_corpus(Source(tmp_path / "x.ldac"))
    assert corpus.vocab == default_vocab(1000)
    assert corpus.doc_lengths.tolist() == [100] * 500
    assert {path.name for path in tmp_path.iterdir()} == {"x.ldac", "x.vocab", "x.truth.npz"}


@pytest.mark.parametrize("backend", registry.BACKENDS)
def test_corpus_and_truth_are_those_of_the_backends_own_story(
    call: Call, tmp_path: Path, small: Callable[[str], tuple[str, ...]], backend: str
) -> None:
    settings_words = [word for setting in small(backend) for word in ("-s", setting)]
    of_vectors = kind_of(backend, registry.load(backend).Model()) != "counts"
    name = "x.npy" if of_vectors else "x.npz"
    call("simulate", backend, "-o", name, *SMALL[:6], "--seed", 7, *settings_words)
    experiment = read_experiment({"backend": backend, "seed": 7}, overrides=small(backend))
    settings = Settings(experiment.model, experiment.inference)
    with Workers(1) as pool:
        story = registry.load(backend).simulate
        corpus, truth = story(settings, Sizes(12, 20, 15), Context(7, 0, pool))
    assert read_corpus(Source(tmp_path / name)).text_fingerprint == corpus.text_fingerprint
    found = archives.read_npz(tmp_path / "x.truth.npz")
    assert found.keys() == truth.keys()
    assert all((found[name] == truth[name]).all() for name in truth)


@pytest.mark.parametrize("name", ["x.ldac", "docword.x.txt", "x.npz", "x.ldac.gz"])
def test_every_format_holds_the_same_corpus_and_lies_beside_the_same_truth(
    call: Call, tmp_path: Path, name: str
) -> None:
    for folder in ("wanted", "found"):
        (tmp_path / folder).mkdir()
    call("simulate", "hdp-cvb0", "-o", "wanted/x.ldac", *SMALL)
    assert call("simulate", "hdp-cvb0", "-o", f"found/{name}", *SMALL).out == f"found/{name}\n"
    wanted, found = (
        read_corpus(Source(path))
        for path in (tmp_path / "wanted/x.ldac", tmp_path / "found" / name)
    )
    assert found.fingerprint == wanted.fingerprint
    truths = [(tmp_path / folder / "x.truth.npz").read_bytes() for folder in ("wanted", "found")]
    assert truths[0] == truths[1]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    call: Call, tmp_path: Path
) -> None:
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        (tmp_path / folder).mkdir()
        call("simulate", "hdp-pcvb0", "-o", f"{folder}/x.npz", *SMALL, "--seed", seed)
    a, b, c = (bytes_of(tmp_path / folder) for folder in "abc")
    assert a == b and len(a) == 3
    assert c["x.npz"] != a["x.npz"] and c["x.truth.npz"] != a["x.truth.npz"]


def test_settings_come_from_flags_overrides_and_config_in_this_order(
    call: Call, tmp_path: Path
) -> None:
    (tmp_path / "my.yaml").write_text(
        "model: {truncation: 3, eta: 2}\nseed: 5\nbackend: hdp-cvb0\n"
    )
    sizes = SMALL[:6]
    call("simulate", "hdp-gibbs", "-o", "a.ldac", *sizes, "-c", "my.yaml")
    call("simulate", "hdp-gibbs", "-o", "b.ldac", *SMALL, "-s", "model.eta=2", "--seed", 5)
    call("simulate", "hdp-gibbs", "-o", "c.ldac", *SMALL, "-c", "my.yaml")
    truths = [archives.read_npz(tmp_path / f"{name}.truth.npz") for name in "abc"]
    assert [len(truth["pi"]) for truth in truths] == [3, 4, 4]
    assert all((truths[1][name] == truths[2][name]).all() for name in truths[1])


def test_json_names_both_files_and_the_sizes(call: Call) -> None:
    outcome = call("simulate", "hdp-cvb0", "-o", "x.ldac", *SMALL, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out) == {
        "output": "x.ldac", "truth": "x.truth.npz", "n_docs": 12, "n_words": 20, "n_tokens": 180,
    }  # fmt: skip


def test_simulate_is_a_function_of_the_package(tmp_path: Path) -> None:
    drawn = hiertopics.simulate(
        "hdp-cvb0", tmp_path / "x.ldac", n_docs=5, n_words=6, doc_length=7, seed=1
    )
    assert drawn.corpus.counts.shape == (5, 6) and drawn.truth == tmp_path / "x.truth.npz"
    np.testing.assert_allclose(archives.read_npz(drawn.truth)["phi"].sum(axis=1), 1)


def test_what_was_drawn_can_be_fitted(call: Call) -> None:
    call("simulate", "hdp-cvb0", "-o", "x.ldac", *SMALL)
    fitted = call(
        "fit", "x.ldac", "-b", "hdp-pcvb0", "--iterations", 2, "-s", "model.truncation=3", "-q"
    )
    assert (fitted.code, fitted.err) == (0, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hdp-gibs", "-o", "x.ldac"), "did you mean 'hdp-gibbs'"),
        (("hdp-cvb0",), "--output"),
        (("hdp-cvb0", "-o", "x.xyz"), "no format goes by that name; give it a suffix, as .ldac"),
        (("hdp-cvb0", "-o", "x.jsonl"), "jsonl is only read"),
        (("hdp-cvb0", "-o", "x.ldac", "--docs", 0), "--docs"),
        (("hdp-cvb0", "-o", "x.ldac", "--seed", -1), "seed must be"),
        (("hdp-cvb0", "-o", "x.ldac", "-s", "model.eta=0"), r"model\.eta must be .*> 0"),
        (("hdp-cvb0", "-o", "x.ldac", "-c", "gone.yaml"), r"gone\.yaml"),
    ],
)
def test_bad_requests_write_nothing(
    call: Call, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    outcome = call("simulate", *words)
    assert (outcome.code, outcome.out) == (2, "") and re.search(message, outcome.err)
    assert "Traceback" not in outcome.err and list(tmp_path.iterdir()) == []


def test_sizes_are_checked_for_the_function_too(tmp_path: Path) -> None:
    with pytest.raises(hiertopics.base.errors.UsageError, match="n_words must be >= 1, got 0"):
        hiertopics.simulate("hdp-cvb0", tmp_path / "x.ldac", n_words=0)


def test_a_disk_that_is_full_leaves_neither_corpus_nor_truth(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.truth.npz").write_bytes(b"older")
    written = iter(range(9))

    def full(*_: Any) -> None:
        if next(written) == 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    outcome = call("simulate", "hdp-cvb0", "-o", "x.ldac", *SMALL)
    assert outcome.code == 1 and "No space left on device" in outcome.err
    assert bytes_of(tmp_path) == {"x.truth.npz": b"older"}


def test_a_truth_that_cannot_be_written_leaves_no_corpus(call: Call, tmp_path: Path) -> None:
    (tmp_path / "x.truth.npz").mkdir()
    outcome = call("simulate", "hdp-cvb0", "-o", "x.ldac", *SMALL)
    assert outcome.code == 1 and "cannot write x.truth.npz" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["x.truth.npz"]


def test_a_word_list_that_would_be_misread_is_replaced(call: Call, tmp_path: Path) -> None:
    (tmp_path / "x.vocab").write_text("older\n")
    call("simulate", "hdp-cvb0", "-o", "x.ldac", *SMALL)
    assert read_corpus(Source(tmp_path / "x.ldac")).n_words == 20
