"""Files of seed words, their names in views, and what is wrong with them."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics as ht
from hiertopics.runs.labels import ABSENT, labels_of
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.yamlfile import load_yaml

Call = Callable[..., Any]
FRUIT = "apple pear plum cherry quince"
WOOD = "oak birch ash beech elm"
TEXTS = [" ".join(np.random.default_rng(i).choice((FRUIT, WOOD)[i % 2].split(), 12))
         for i in range(40)]  # fmt: skip
FLAGS = ("-b", "hdp-cvb0", "--iterations", 40, "--holdout", "none", "-s", "model.truncation=6",
         "-s", "model.seed_weight=5")  # fmt: skip
TREES = {
    "nhdp-variational": ("-s", "inference.start_iterations=20", "-s", "model.truncation=6"),
    "nhdp-gibbs": ("-s", "inference.start_iterations=20", "-s", "inference.variational_sweeps=5",
                   "-s", "model.truncation=6"),
}  # fmt: skip
"""Backends of trees, and what makes a fit of theirs short."""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Return a file of texts of two kinds."""
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in TEXTS))
    return path


def names_of(run: Path) -> dict[str, str]:
    with (run / "labels.csv").open(encoding="utf-8") as file:
        return {row["name"]: row["words"] for row in csv.DictReader(file)}


def test_seeded_topics_are_named_in_views(call: Call, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text("timber: [oak, elm, baobab]\nfruit: [pear]\n")
    run = tmp_path / "run"
    done = call("fit", corpus, "-o", run, *FLAGS, "-s", "model.seeds=words.yaml")
    assert done.code == 0
    assert "warning: the corpus lacks seed words of 'timber': baobab" in done.err
    node = {label.name: row for row, label in labels_of(RunDir(run)).items()}["timber"]
    assert f"seed words of 'timber': 2 of 3 are among the 10 first words of [{node}]" in done.err
    assert re.search(rf"\[{node}\].* timber: ", done.err), "the tree has the name"
    names = names_of(run)
    assert set(names["timber"].split()) == set(WOOD.split())
    assert set(names["fruit"].split()) == set(FRUIT.split())
    assert "timber: " in call("show-tree", run).out
    seeds = load_yaml(run / "config.yaml")["model"]["seeds"]  # type: ignore[index]
    assert seeds == {"timber": ["oak", "elm", "baobab"], "fruit": ["pear"]}

    call("label", run, ht.Run(run).tree.shown[0], "mine")
    files = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    (tmp_path / "words.yaml").write_text("timber: [oak, ash]\nfruit: [pear]\n")
    refused = call("fit", corpus, "-o", run, *FLAGS, "-s", "model.seeds=words.yaml")
    assert refused.code == 2 and "model.seeds: {timber: [oak, elm, baobab]" in refused.err
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == files

    (tmp_path / "words.yaml").write_text("timber: [oak, elm, baobab]\nfruit: [pear]\n")
    more = ("--iterations", 45, "-s", "model.seeds=words.yaml")
    assert call("fit", corpus, "-o", run, *FLAGS, *more).code == 0
    assert "mine" in names_of(run) and len(names_of(run)) == 2


def test_a_name_without_its_words_is_marked_in_views(call: Call, tmp_path: Path) -> None:
    """One text has the seed word, and the topic of its name takes the words of all texts."""
    rng = np.random.default_rng(5)
    texts = [" ".join(f"w{n:02d}" for n in rng.integers(0, 30, 20)) for _ in range(30)]
    corpus = tmp_path / "texts.jsonl"
    corpus.write_text("".join(f'{{"text": "{text}"}}\n' for text in [*texts, "w00 ghost"]))
    (tmp_path / "words.yaml").write_text("spirits: [ghost]\ncommon: [w00, w01, w02]\n")
    run, more = tmp_path / "run", ("-s", "model.seeds=words.yaml", "-s", "model.seed_weight=1")
    told = call("fit", corpus, "-o", run, *FLAGS, *more, "-s", "model.truncation=2")
    assert "warning: seed words of 'spirits': 0 of 1 are among the 10 first words of" in told.err
    marked = {label.name: label.note for label in labels_of(RunDir(run)).values()}
    assert marked == {"spirits": ABSENT, "common": ""}
    assert ABSENT in call("show-tree", run).out
    assert call("fit", corpus, "-o", run, *FLAGS, *more, "-s", "model.truncation=2",
                "--iterations", 42).code == 0  # fmt: skip
    assert {label.name: label.note for label in labels_of(RunDir(run)).values()} == marked


def test_python_takes_a_mapping(tmp_path: Path) -> None:
    keys = {"model.seeds": {"timber": ["oak"]}, "model.truncation": 6}
    run = ht.fit(
        TEXTS,
        run=tmp_path / "run",
        backend="hdp-gibbs",
        iterations=30,
        holdout="none",
        overrides=keys,
    )
    named = ht.label(run.path)
    assert [row["name"] for row in named] == ["timber"] and "oak" in named[0]["words"]


WRONG = {
    "a: [oak\n": "words.yaml:2: ",
    "a: [oak]\na: [elm]\n": "words.yaml:2: key 'a' is given twice",
    "a: [oak]\n\nb: elm\n": "words.yaml:3: expected a list of words for 'b', as [orbit, nasa], got "
    "'elm'",
    "a: [oak]\nb:\n  - elm\n  - 7\n": "words.yaml:3: expected a list of words for 'b', as [orbit, "
    "nasa], got 7; quote it",
    "a: []\n": "words.yaml:1: expected a list of words for 'a', as [orbit, nasa], got nothing",
    "- oak\n": "words.yaml: the top level must be a mapping",
    "a: [oak, oak]\n": "model.seeds has 'oak' twice for 'a'",
    "a: [yew, larch]\n": "none of the seed words of 'a' (yew, larch) is among the 10 words",
    "{a: [oak], b: [ash], c: [elm], d: [oak], e: [oak], f: [oak], g: [oak]}": "model.seeds names 7 "
    "topics, but truncation is 6",
}


@pytest.mark.parametrize("flags", [(), *(("-b", name) for name in TREES)])
@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_is_wrong_is_told_in_a_line(
    text: str, message: str, flags: tuple[str, ...], call: Call, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "words.yaml").write_text(text)
    run = tmp_path / "run"
    done = call("fit", corpus, "-o", run, *FLAGS, *flags, "-s", "model.seeds=words.yaml")
    assert done.code == 2 and message in done.err, done.err
    assert not run.exists()


def test_more_names_than_branches_are_refused(call: Call, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text("a: [oak]\nb: [elm]\nc: [pear]\n")
    cuts = ("-s", "model.branches=[2, 4]", "-s", "model.seeds=words.yaml")
    done = call("fit", corpus, "-o", tmp_path / "run", "-b", "nhdp-variational", *cuts)
    told = "model.seeds names 3 branches, but branches asks for 2 below the root"
    assert done.code == 2 and told in done.err, done.err
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("backend", TREES)
def test_branches_are_named_and_a_fit_goes_on_with_them(
    backend: str, call: Call, corpus: Path, tmp_path: Path
) -> None:
    """Stopped and continued, by one worker or two: the same bytes."""
    (tmp_path / "words.yaml").write_text("timber: [oak, elm, baobab]\nfruit: [pear]\n")
    flags = ("-b", backend, *TREES[backend], "-s", "model.seeds=words.yaml", "--holdout", "none",
             "-s", "inference.shards=2", "-s", "model.seed_weight=5")  # fmt: skip
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert call("fit", corpus, "-o", whole, *flags, "--iterations", 9).code == 0
    for iterations in (4, 9):
        more = ("--iterations", iterations, "--workers", 2)
        done = call("fit", corpus, "-o", parts, *flags, *more)
        assert done.code == 0 and "lacks seed words of 'timber': baobab" in done.err
    for name in ("model.npz", "theta.npz", "labels.csv"):
        assert (whole / name).read_bytes() == (parts / name).read_bytes()
    assert set(names_of(whole)) == set(names_of(parts)) == {"timber", "fruit"}
    assert "timber: " in call("show-tree", whole).out
    run = ht.Run(whole)
    below = run.tree.below(run.theta.toarray().T)
    wood, fruit = below[1:3, 1::2].mean(axis=1), below[1:3, ::2].mean(axis=1)
    assert wood[0] > 10 * wood[1] and fruit[1] > 10 * fruit[0]


@pytest.mark.slow
def test_paths_have_names_and_a_fit_goes_on_with_them(
    call: Call, corpus: Path, tmp_path: Path
) -> None:
    """hlda-gibbs; what is wrong is told as for topics."""
    seeds, flags = tmp_path / "words.yaml", ("-b", "hlda-gibbs", "-s", "model.seed_weight=1")
    for text, message in (
        ("a: [oak, oak]\n", "model.seeds has 'oak' twice for 'a'"),
        ("a: [yew, larch]\n", "none of the seed words of 'a' (yew, larch) is among the 10 words"),
    ):
        seeds.write_text(text)
        done = call("fit", corpus, "-o", tmp_path / "bad", *flags, "-s", f"model.seeds={seeds}")
        assert done.code == 2 and message in done.err and not (tmp_path / "bad").exists()
    seeds.write_text("timber: [oak, elm]\nfruit: [pear, apple]\n")
    more = ("-s", f"model.seeds={seeds}", "--holdout", "none", "-s", "inference.burn_in=2")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert call("fit", corpus, "-o", whole, *flags, *more, "--iterations", 12).code == 0
    for iterations in (5, 12):
        assert call("fit", corpus, "-o", parts, *flags, *more, "--iterations", iterations).code == 0
    for name in ("model.npz", "theta.npz", "labels.csv"):
        assert (whole / name).read_bytes() == (parts / name).read_bytes()
    assert set(names_of(whole)) == {"timber", "fruit"}
    new = tmp_path / "new.jsonl"
    new.write_text(
        '{"text": "oak oak elm alder alder"}\n{"text": "pear apple medlar medlar"}\n' * 3
    )
    assert call("update", whole, new, "-o", tmp_path / "more", "--iterations", 15).code == 0
    assert set(names_of(tmp_path / "more")) == {"timber", "fruit"}
    done = call("fit", corpus, "-b", "hlda-variational", "-s", f"model.seeds={seeds}")
    assert done.code == 2 and "hlda-variational takes no seed words (model.seeds)" in done.err


@pytest.mark.slow
def test_a_run_with_names_goes_on_with_further_documents(
    call: Call, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "words.yaml").write_text("timber: [oak, elm]\nfruit: [pear]\n")
    flags = (*TREES["nhdp-variational"], "-s", "model.seeds=words.yaml", "--holdout", "none")
    run, more, new = tmp_path / "run", tmp_path / "more", tmp_path / "new.jsonl"
    assert call("fit", corpus, "-o", run, *flags, "-s", "model.seed_weight=5").code == 0
    texts = ("oak elm alder alder oak", "pear apple medlar pear medlar")
    new.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts * 3))
    assert call("update", run, new, "-o", more).code == 0
    assert set(names_of(more)) == {"timber", "fruit"}
    tree, words = ht.Run(more).tree, ht.Run(more).vocab
    assert tree.phi[1, list(words).index("oak")] > 0.1 > tree.phi[2, list(words).index("oak")]


def test_backends_without_seed_words_say_who_takes_them(call: Call, corpus: Path) -> None:
    done = call("fit", corpus, "-b", "lda-gibbs", "-s", "model.seeds=words.yaml")
    assert done.code == 2
    assert "lda-gibbs takes no seed words (model.seeds); hdp-pcvb0, hdp-pcvb, hdp-cvb0" in done.err
    done = call("fit", corpus, *FLAGS, "-s", "model.seeds=nowhere.yaml")
    assert done.code == 2 and "nowhere.yaml: No such file" in done.err


def test_a_broken_labels_csv_does_not_stop_a_fit(call: Call, corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "words.yaml").write_text("timber: [oak]\n")
    flags = ("-o", tmp_path / "run", *FLAGS, "-s", "model.seeds=words.yaml")
    assert call("fit", corpus, *flags, "--iterations", 3).code == 0
    (tmp_path / "run" / "labels.csv").write_text("nodes\n1\n")
    done = call("fit", corpus, *flags, "--iterations", 5)
    assert done.code == 0 and "warning: nodes of seed words stay without their names" in done.err
    assert (tmp_path / "run" / "labels.csv").read_text() == "nodes\n1\n"
