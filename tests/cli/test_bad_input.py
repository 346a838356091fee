"""Bad input of many kinds: exit code 2 (or 1), one clear message, nothing on stdout."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
FILES = {
    "good.ldac": "2 0:1 1:2\n2 1:1 2:3\n1 0:4\n",
    "letters.ldac": "2 0:1 1:2\n1 a:b\n",
    "negative.ldac": "1 0:-3\n",
    "fraction.ldac": "1 0:1.5\n",
    "repeated.ldac": "1 0:1\n2 1:1 1:2\n",
    "short.ldac": "3 0:1\n",
    "nothing.ldac": "",
    "empty.ldac": "0\n0\n",
    "binary.ldac": "\x00\x01\x02\n",
    "large.ldac": "1 0:99999999999999\n",
    "data.xyz": "1 0:1\n",
    "two.vocab": "one\ntwo\n",
    "short.authors": "Ann\n",
    "list.yaml": "- a\n- b\n",
    "broken.yaml": "model: {alpha: 1\n",
    "unknown.yaml": "model:\n  alhpa: 1\nsed: 3\n",
    "types.yaml": "model: {alpha: much, truncation: 2.5}\nseed: -1\n",
    "nolist.jsonl": '{"text": "one two"}\n[1, 2]\n',
    "notext.jsonl": '{"body": "one two"}\n',
}
FIT = ("fit", "good.ldac", "-b", "hdp-pcvb0")

CASES: dict[str, tuple[tuple[object, ...], str]] = {
    "no corpus": (("fit",), "name a corpus"),
    "no such file": (("fit", "gone.ldac"), r"gone\.ldac: no such file"),
    "an unknown suffix": (
        ("fit", "data.xyz"),
        "no format goes by that name; name the format by --from",
    ),
    "an unknown format": ((*FIT, "--from", "ladc"), "unknown format 'ladc'; there are"),
    "letters for numbers": (("fit", "letters.ldac"), r"letters\.ldac:2: .*a:b"),
    "a negative count": (("fit", "negative.ldac"), r"negative\.ldac:1: .*-3"),
    "a fraction": (("fit", "fraction.ldac"), r"fraction\.ldac:1: .*1\.5"),
    "a repeated word": (("fit", "repeated.ldac"), r"repeated\.ldac:2: .*repeated"),
    "a wrong length": (("fit", "short.ldac"), r"short\.ldac:1: .*announces"),
    "an empty file": (("fit", "nothing.ldac"), r"nothing\.ldac: holds no documents"),
    "bytes": (("fit", "binary.ldac"), r"binary\.ldac:1: "),
    "a count too large": (("fit", "large.ldac"), r"large\.ldac:1: .*count from 1"),
    "a word out of range": ((*FIT, "--vocab", "two.vocab"), r"good\.ldac:2: .*out of range"),
    "a missing vocabulary": ((*FIT, "--vocab", "gone.vocab"), r"gone\.vocab: no such file"),
    "groups of another corpus": ((*FIT, "--groups", "short.authors"), r"short\.authors"),
    "a field of another format": ((*FIT, "--text-field", "body"), "raw text"),
    "a line that is no record": (("fit", "nolist.jsonl"), r"nolist\.jsonl:2: "),
    "a record without its field": (("fit", "notext.jsonl"), r"notext\.jsonl:1: no field 'text'"),
    "a misspelt backend": ((*FIT, "-b", "hdp-gibs"), "did you mean 'hdp-gibbs'"),
    "a beginning of several backends": (
        (*FIT, "-b", "hdp-p"),
        "backend 'hdp-p' may be hdp-pcvb0 or hdp-pcvb$",
    ),
    "an empty backend": ((*FIT, "-b", ""), "unknown backend ''; there are"),
    "a strange backend": ((*FIT, "-b", "zzz"), "there are hdp-pcvb0"),
    "a bad holdout": ((*FIT, "--holdout", "docs:2"), r"data\.holdout must be one of docs:0\.1@0"),
    "a holdout of everything": ((*FIT, "--holdout", "train:3"), "cannot be split"),
    "too few words left": ((*FIT, "-s", "data.min_df=3"), "no word is left"),
    "documents without any word": (("fit", "empty.ldac", "--holdout", "none"), "word"),
    "a split seed beyond measure": ((*FIT, "--holdout", f"docs:0.5@{10**23}"), "holdout"),
    "a truncation beyond measure": ((*FIT, "-s", f"model.truncation={10**20}"), "truncation"),
    "negative iterations": ((*FIT, "--iterations", -1), r"inference\.iterations must be .*>= 0"),
    "no worker": ((*FIT, "--workers", 0), "--workers"),
    "a negative seed": ((*FIT, "--seed", -1), "seed must be .*>= 0"),
    "a duration in words": ((*FIT, "--time-limit", "soon"), "like 3h50m"),
    "a setting without value": ((*FIT, "-s", "model.alpha"), "expected section.key=value"),
    "an unknown setting": ((*FIT, "-s", "model.alhpa=1"), "did you mean 'alpha'"),
    "a setting out of bounds": ((*FIT, "-s", "model.alpha=0"), r"model\.alpha must be .*> 0"),
    "a setting that is not a number": ((*FIT, "-s", "model.alpha=x"), r"model\.alpha must be"),
    "an infinite setting": ((*FIT, "-s", "model.alpha=.inf"), "finite"),
    "a missing config": ((*FIT, "-c", "gone.yaml"), r"gone\.yaml: No such file"),
    "a config that is a folder": ((*FIT, "-c", "."), "directory"),
    "a config that is a list": ((*FIT, "-c", "list.yaml"), "must be a mapping"),
    "a config that is no YAML": ((*FIT, "-c", "broken.yaml"), r"broken\.yaml:\d"),
    "an unknown option": ((*FIT, "--iteration-count", 3), "--iteration-count"),
    "an unknown command": (("show-tre",), "did you mean 'show-tree'"),
    "a strange command": (("frobnicate",), "hiertopics -h lists those"),
    "two corpora": ((*FIT, "other.ldac"), "other.ldac"),
    "an unknown protocol": (
        ("eval", "RUN", "--heldout", "--protocol", "x"),
        "there are completion",
    ),
    "an observed share": (("eval", "RUN", "--heldout", "--observed", 2), "from 0 to below 1"),
    "a negative partition seed": (("eval", "RUN", "--corpus", "good.ldac", "--seed", -3), "seed"),
    "the training corpus": (("eval", "RUN", "--corpus", "TRAINED"), "trained on"),
    "an empty test file": (("eval", "RUN", "--corpus", "empty.ldac"), "no token to score"),
    "draws that were not kept": (("eval", "RUN", "--heldout", "--average"), "no draws"),
    "a negative seed for infer": (
        ("infer", "RUN", "good.ldac", "-o", "t.npz", "--seed", -1),
        "seed",
    ),
    "infer on a broken file": (("infer", "RUN", "letters.ldac", "-o", "t.npz"), r"letters\.ldac:2"),
    "no words at all": (("show-tree", "RUN", "--words", 0), "--words"),
    "levels of flat topics": (("show-tree", "RUN", "--cut", "3,9"), "--arrange makes a tree"),
    "levels that do not grow": (("show-tree", "RUN", "--cut", "9,3"), "like 20,80"),
    "two forms at once": (("topics", "RUN", "--json", "--format", "csv"), "exclude each other"),
    "two forms of a tree": (
        ("show-tree", "RUN", "--json", "--format", "csv"),
        "exclude each other",
    ),
    "a misspelt format": (("show-tree", "RUN", "--format", "jsn"), "json"),
    "a misspelt backend for config": (("config", "hdp-pcvb00"), "did you mean 'hdp-pcvb0'"),
    "a backend for config left out": (("config",), "BACKEND"),
    "compare without runs": (("compare",), "RUNS"),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return the test's folder with all the files in it."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def assert_one_message(outcome: Any, code: int) -> str:
    """Assert that stderr is one message of ours; return it."""
    assert (outcome.code, outcome.out) == (code, "")
    assert "Traceback" not in outcome.err and outcome.err.endswith("\n")
    first, *others = outcome.err.splitlines()
    assert first.startswith("hiertopics: error: "), outcome.err
    # Besides it one indented line per further problem.
    assert all(line.startswith("  ") for line in others), outcome.err
    return str(outcome.err)


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_told_in_one_message_and_exit_code_2(
    call: Call, copied: Callable[..., Path], tiny_file: Path, place: Path, name: str
) -> None:
    words, message = CASES[name]
    stand_ins = {"RUN": copied(), "TRAINED": tiny_file}
    outcome = call(*(stand_ins.get(str(word), word) for word in words))
    assert re.search(message, assert_one_message(outcome, 2), re.DOTALL)
    assert not (place / "runs").exists()


@pytest.mark.parametrize(
    ("name", "problems"),
    [
        ("unknown.yaml", ["'alhpa' under model", "did you mean 'alpha'", "'sed'"]),
        ("types.yaml", ["model.alpha must be", "model.truncation must be", "seed must be"]),
    ],
)
def test_all_problems_of_a_config_are_told_at_once_with_its_name(
    call: Call, place: Path, name: str, problems: list[str]
) -> None:
    message = assert_one_message(call(*FIT, "-c", name), 2)
    assert all(problem in message for problem in problems)
    assert message.count(f"({name})") >= 2


BROKEN: dict[str, tuple[str, bytes | None, tuple[str, ...]]] = {
    "manifest gone": ("manifest.json", None, ("show-tree", "eval", "topics", "infer", "compare")),
    "manifest cut": ("manifest.json", b'{"schema": "hiert', ("eval", "infer", "compare")),
    "manifest of another kind": ("manifest.json", b"[]", ("eval", "infer", "compare")),
    "manifest without keys": (
        "manifest.json", b'{"schema": "hiertopics.run/1"}', ("eval", "infer", "compare"),
    ),
    "model gone": ("model.npz", None, ("show-tree", "eval", "topics", "infer", "compare")),
    "model cut": ("model.npz", b"PK\x03\x04", ("show-tree", "eval", "topics", "infer")),
    "model empty": ("model.npz", b"", ("show-tree", "eval", "topics", "infer")),
    "vocabulary gone": ("vocab.txt", None, ("show-tree", "eval", "topics", "infer")),
    "vocabulary short": ("vocab.txt", b"one\n", ("show-tree", "eval", "topics", "infer")),
    "vocabulary of bytes": ("vocab.txt", b"\xff\xfe\n" * 9, ("show-tree", "eval", "topics")),
    "split gone": ("split.npz", None, ("eval", "compare")),
    "split cut": ("split.npz", b"PK\x03\x04", ("eval", "compare")),
    "config gone": ("config.yaml", None, ("eval", "infer")),
    "config cut": ("config.yaml", b"model: {", ("eval", "infer")),
}  # fmt: skip


@pytest.mark.usefixtures("files_are_closed")
@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_run_is_told_in_one_message(
    call: Call, finished: Callable[..., Path], place: Path, name: str
) -> None:
    file, data, commands = BROKEN[name]
    run = place / "run"
    shutil.copytree(finished(), run)
    (run / file).unlink() if data is None else (run / file).write_bytes(data)
    extra = {"eval": ("--heldout",), "infer": ("good.ldac", "-o", "t.npz")}
    for command in commands:
        outcome = call(command, run, *extra.get(command, ()))
        assert outcome.code in (1, 2), command
        assert file in assert_one_message(outcome, outcome.code), command


def test_arrays_missing_from_a_file_are_told(
    call: Call, finished: Callable[..., Path], place: Path
) -> None:
    for name, command in (
        ("model.npz", ("show-tree",)),
        ("split.npz", ("eval", "--heldout")),
        ("theta.npz", ("eval", "--heldout")),
    ):
        run = place / name.partition(".")[0]
        shutil.copytree(finished(holdout="tokens:0.2@0"), run)
        np.savez(run / name, unrelated=np.arange(3))
        outcome = call(command[0], run, *command[1:])
        assert outcome.code in (1, 2), name
        assert name in assert_one_message(outcome, outcome.code)


@pytest.mark.parametrize("command", ["show-tree", "topics", "eval"])
def test_no_run_at_all_says_how_to_make_one(call: Call, command: str) -> None:
    words = (command, "--heldout") if command == "eval" else (command,)
    assert "make one with 'fit'" in assert_one_message(call(*words), 2)


def test_a_folder_that_is_no_run_is_named(call: Call, place: Path) -> None:
    assert "is not a run" in assert_one_message(call("show-tree", place), 2)


def test_what_is_no_run_is_told_what_it_is(
    call: Call, place: Path, finished: Callable[..., Path]
) -> None:
    """The command that was meant stands in the message, and names what is there."""

    def told(path: str) -> str:
        return assert_one_message(call("show-tree", path), 2)

    shutil.copytree(finished(), place / "runs" / "press")
    texts = place / "my texts"
    texts.mkdir()
    (texts / "a.txt").write_text("word")
    (place / "a.csv").write_text("text\nword\n")
    assert "it is a corpus; hiertopics fit a.csv makes a run of it first" in told("a.csv")
    assert "hiertopics fit 'my texts' makes a run" in told("my texts")
    assert "a folder of runs, such as runs/press" in told("runs")
    assert "a part of the run runs/press" in told("runs/press/model.npz")
    assert "a part of the run runs/press" in told("runs/press/checkpoints")
    assert "did you mean runs/press?" in told("runs/pres")
    assert "did you mean runs/press?" in told("pres")
    assert "make one with 'fit'" in told("other")
    (place / "b.md").mkdir()
    assert "make one with 'fit'" in told("b.md")


def test_another_config_on_an_existing_run_names_the_keys(
    call: Call, copied: Callable[..., Path], tiny_file: Path
) -> None:
    words = (
        "fit",
        tiny_file,
        "-b",
        "hdp-pcvb0",
        "-o",
        copied(),
        "--holdout",
        "docs:0.2@0",
        "--iterations",
        8,
    )
    message = assert_one_message(call(*words, "-s", "model.truncation=9"), 2)
    assert "model.truncation: 5 in the run, 9 now" in message and "choose another -o" in message
    assert message.splitlines()[0].endswith("hdp-pcvb0-docs-2")
    made = re.search(r"such as -o (\S+)$", message.splitlines()[0])
    assert made is not None and not Path(made[1]).exists()


def test_unequal_splits_are_refused_by_compare(call: Call, finished: Callable[..., Path]) -> None:
    outcome = call("compare", finished(), finished(holdout="tokens:0.2@0"))
    assert "not scored on the same split" in assert_one_message(outcome, 2)


def test_a_held_run_is_refused_in_one_line(
    call: Call, copied: Callable[..., Path], tiny_file: Path
) -> None:
    run = copied()
    words = (
        "fit",
        tiny_file,
        "-b",
        "hdp-pcvb0",
        "-o",
        run,
        "--holdout",
        "docs:0.2@0",
        "--iterations",
        50,
    )
    settings = (
        "-s",
        "model.truncation=5",
        "-s",
        "inference.hyper_start=2",
        "-s",
        "output.record_every=2",
    )
    with RunDir(run).locked():
        message = assert_one_message(call(*words, *settings), 1)
    assert "another process" in message and "-o" in message


def test_nothing_is_left_of_a_command_that_was_refused(call: Call, place: Path) -> None:
    before = sorted(path.name for path in place.iterdir())
    for words, _ in CASES.values():
        if words[0] == "fit":
            call(*words)
    assert sorted(path.name for path in place.iterdir()) == before


def test_a_place_that_cannot_be_is_told_without_a_traceback(
    call: Call, finished: Callable[..., Path], place: Path
) -> None:
    outcome = call("infer", finished(), "good.ldac", "-o", "no/such/folder/t.npz")
    assert "no/such/folder" in assert_one_message(outcome, 2)
    outcome = call("infer", finished(), "good.ldac", "-o", ".")
    assert_one_message(outcome, outcome.code)
    assert outcome.code in (1, 2)


def test_json_lines_come_before_an_error_not_instead_of_it(
    call: Call, finished: Callable[..., Path], tmp_path: Path
) -> None:
    """Of several runs the first is scored; the second, which is none, ends the command."""
    run = tmp_path / "run"
    shutil.copytree(finished(), run)
    outcome = call("eval", run, tmp_path / "gone", "--heldout", "--json")
    assert outcome.code == 2 and "gone is not a run" in outcome.err
    assert json.loads(outcome.out)["run"] == str(run)


@pytest.mark.parametrize(
    "words",
    [
        ("show-tree", "gone"),
        ("topics", "gone", "3"),
        ("docs", "gone"),
        ("eval", "gone", "--heldout"),
        ("compare", "gone", "gone"),
        ("agree", "gone", "gone"),
        ("report", "gone"),
        ("export", "gone", "-o", "x.json"),
        ("label", "gone", "--list"),
        ("infer", "gone", "good.ldac"),
        ("judge", "gone", "-o", "x.csv"),
        ("support", "gone"),
        ("shape", "gone", "--branches", "4", "-o", "x"),
        ("drop", "gone", "1", "-o", "x"),
        ("merge", "gone", "1", "2", "-o", "x"),
        ("refit", "gone", "1", "-o", "x"),
        ("consensus", "gone", "gone", "-o", "x"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("place")
def test_every_command_ends_with_2_where_there_is_no_run(call: Call, words: Sequence[str]) -> None:
    assert "gone is not a run" in assert_one_message(call(*words), 2)
