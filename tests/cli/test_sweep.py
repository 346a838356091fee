"""``sweep``: lines that run as they are, each with a run directory of its own."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hiertopics
from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.fitting.sweeping import MOST_JOBS

Call = Callable[..., Any]
CONFIG = "backend: hdp-cvb0\nmodel: {truncation: 3}\ninference: {iterations: 2}\n"
NULS = "tr '\\n' '\\0' | xargs -0 -n 1 sh -c"


@pytest.fixture
def place(tmp_path: Path, tiny_file: Path, call: Call) -> Path:
    """Return the test's folder, which is the current one, with my.yaml and tiny.ldac in it."""
    (tmp_path / "my.yaml").write_text(CONFIG)
    for suffix in (".ldac", ".vocab"):
        shutil.copy(tiny_file.with_suffix(suffix), tmp_path / f"tiny{suffix}")
    return tmp_path


def lines_of(call: Call, *words: object) -> list[str]:
    """Return the lines that sweep prints, after nothing on stderr."""
    outcome = call("sweep", *words)
    assert (outcome.code, outcome.err) == (0, "")
    return str(outcome.out).splitlines()


def runs_of(lines: list[str]) -> list[str]:
    return [words[words.index("-o") + 1] for words in map(shlex.split, lines)]


def in_shell(script: str, text: str, folder: Path) -> None:
    """Give lines to a shell script on stdin, the program of the tests first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", script],
        input=text,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr


def configs(folder: Path) -> set[tuple[Any, ...]]:
    """Return backend, truncation and seed of every finished run under runs/."""
    found = set()
    for path in (folder / "runs").iterdir():
        run = hiertopics.Run.open(path)
        assert run.manifest["status"] == "done"
        text = (path / "config.yaml").read_text(encoding="utf-8")
        truncation = re.search(r"truncation: (\d+)", text)
        assert truncation is not None
        found.add((run.manifest["backend"], int(truncation[1]), run.manifest["seed"]))
    return found


def test_a_line_says_all_that_it_sets(place: Path, call: Call) -> None:
    grid = ("--grid", "model.eta=0.1,1e-2", "--grid", "backend=hdp-gibbs,hdp-cvb0")
    lines = lines_of(call, "my.yaml", "tiny.ldac", *grid, "--seeds", "3")
    assert len(lines) == 4
    assert lines[2] == (
        "hiertopics fit tiny.ldac -c my.yaml -s model.eta=1e-2 -b hdp-gibbs --seed 3 "
        "-o runs/tiny-hdp-gibbs-model.eta=1e-2-s3"
    )


def test_without_grid_or_seeds_there_is_one_line(place: Path, call: Call) -> None:
    assert lines_of(call, "my.yaml", "tiny.ldac") == [
        "hiertopics fit tiny.ldac -c my.yaml --seed 0 -o runs/tiny-hdp-cvb0-s0"
    ]


def test_a_corpus_in_the_config_need_not_be_named(place: Path, call: Call) -> None:
    (place / "my.yaml").write_text(CONFIG + "data: {corpus: tiny.ldac}\n")
    assert lines_of(call, "my.yaml", "--seeds", "1") == [
        "hiertopics fit -c my.yaml --seed 1 -o runs/tiny-hdp-cvb0-s1"
    ]
    shutil.copy(place / "tiny.ldac", place / "other.ldac")
    grid = ("--grid", "data.corpus=tiny.ldac,other.ldac")
    names = [Path(run).name.split("-")[0] for run in runs_of(lines_of(call, "my.yaml", *grid))]
    assert names == ["tiny", "other"]


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0:4", [0, 1, 2, 3]), ("3", [3]), ("1,5,9", [1, 5, 9]), ("7,0:2, 12", [7, 0, 1, 12])],
)
def test_seeds_are_ranges_and_lists(place: Path, call: Call, text: str, seeds: list[int]) -> None:
    lines = lines_of(call, "my.yaml", "tiny.ldac", "--seeds", text)
    words = [shlex.split(line) for line in lines]
    assert [int(line[line.index("--seed") + 1]) for line in words] == seeds
    assert runs_of(lines) == [f"runs/tiny-hdp-cvb0-s{seed}" for seed in seeds]


def test_all_combinations_come_in_the_order_given(place: Path, call: Call) -> None:
    grid = ("--grid", "model.eta=1,2", "--grid", "model.alpha=3,4")
    names = [
        run.removeprefix("runs/tiny-hdp-cvb0-")
        for run in runs_of(lines_of(call, "my.yaml", "tiny.ldac", *grid, "--seeds", "0:2"))
    ]
    assert names == [
        f"model.eta={eta}-model.alpha={alpha}-s{seed}"
        for eta in (1, 2) for alpha in (3, 4) for seed in (0, 1)
    ]  # fmt: skip


def test_a_value_with_a_comma_is_quoted_as_in_csv(place: Path) -> None:
    values = ["english", "a,b", 'c"d']
    text = ",".join('"' + value.replace('"', '""') + '"' for value in values)
    assert next(csv.reader([text])) == values
    (place / "a,b").write_text("x")
    (place / 'c"d').write_text("x")
    jobs = hiertopics.sweep("my.yaml", "tiny.ldac", grid=[f"data.stop_words={text}"])
    settings = [job.command[job.command.index("-s") + 1] for job in jobs]
    assert settings == [f"data.stop_words={value}" for value in values]
    assert [Path(job.run).name.split("=")[1] for job in jobs] == ["english-s0", "a_b-s0", "c_d-s0"]


def test_a_run_has_no_marks_in_its_name_that_paths_suffer_from(place: Path, call: Call) -> None:
    grid = ("--grid", 'data.holdout=docs:0.1@3,"fold:2/5@0",none')
    lines = lines_of(call, "my.yaml", "tiny.ldac", *grid)
    assert [run.split("=")[1] for run in runs_of(lines)] == [
        "docs_0.1@3-s0",
        "fold_2_5@0-s0",
        "none-s0",
    ]
    assert "--holdout docs:0.1@3 " in lines[0] and "--holdout fold:2/5@0 " in lines[1]


def test_json_has_an_object_per_line(place: Path, call: Call) -> None:
    words = ("my.yaml", "tiny.ldac", "--grid", "model.eta=0.1,0.2", "--seeds", "0:2")
    records = [json.loads(line) for line in lines_of(call, *words, "--json")]
    assert [shlex.join(record["command"]) for record in records] == lines_of(call, *words)
    assert [record["run"] for record in records] == runs_of(lines_of(call, *words))
    assert all(set(record) == {"command", "run"} for record in records)


def test_the_template_of_a_backend_can_be_swept(place: Path, call: Call) -> None:
    (place / "template.yaml").write_text(call("config", "hdp-gibbs").out)
    (line,) = lines_of(call, "template.yaml", "tiny.ldac", "--grid", "model.truncation=9")
    assert line.endswith("-o runs/tiny-hdp-gibbs-model.truncation=9-s0")


@pytest.mark.slow
def test_lines_run_as_they_are_under_xargs(place: Path, call: Call) -> None:
    grid = ("--grid", "backend=hdp-cvb0,hdp-gibbs")
    lines = lines_of(call, "my.yaml", "tiny.ldac", *grid, "--seeds", "0:2")
    in_shell("xargs -P 2 -I{} sh -c {}", "\n".join(lines) + "\n", place)
    assert configs(place) == {
        (backend, 3, seed) for backend in ("hdp-cvb0", "hdp-gibbs") for seed in (0, 1)
    }
    assert {str(path.relative_to(place)) for path in (place / "runs").iterdir()} == set(
        runs_of(lines)
    )


@pytest.mark.slow
@pytest.mark.parametrize("script", ["sh", NULS], ids=["sh", "xargs"])
def test_odd_paths_survive_the_shell(place: Path, call: Call, script: str) -> None:
    folder = place / 'it\'s "Größe" $HOME; 日本'
    folder.mkdir()
    for suffix in (".ldac", ".vocab"):
        shutil.copy(place / f"tiny{suffix}", folder / f"a b'c{suffix}")
    shutil.copy(place / "my.yaml", folder / "my \\ config.yaml")
    words = (f"{folder.name}/my \\ config.yaml", f"{folder.name}/a b'c.ldac")
    lines = lines_of(call, *words, "--grid", "model.truncation=4")
    in_shell(script, "\n".join(lines) + "\n", place)
    assert configs(place) == {("hdp-cvb0", 4, 0)}
    assert runs_of(lines) == ["runs/a_b_c-hdp-cvb0-model.truncation=4-s0"]


@pytest.mark.slow
def test_a_corpus_that_opens_with_a_dash_is_no_option(place: Path, call: Call) -> None:
    shutil.copy(place / "tiny.ldac", place / "-x.ldac")
    (line,) = lines_of(call, "my.yaml", "--", "-x.ldac")
    in_shell("sh", line, place)
    assert configs(place) == {("hdp-cvb0", 3, 0)}


def test_all_problems_of_all_combinations_are_told_at_once_and_once(
    place: Path, call: Call
) -> None:
    grid = (
        "model.alpha=0,1,-1", "backend=hdp-cvb0,hdp-gibs", "data.holdout=docs:0.1,docs:7",
        "inference.burn=1",
    )  # fmt: skip
    words = [word for item in grid for word in ("--grid", item)]
    outcome = call("sweep", "my.yaml", "gone.ldac", *words, "--seeds", "0:5")
    assert (outcome.code, outcome.out) == (2, "")
    for problem in (
        "model.alpha must be > 0, got 0 ",
        "model.alpha must be > 0, got -1 ",
        "did you mean 'hdp-gibbs'",
        "got 'docs:7'",
        "unknown key 'burn' under inference",
    ):
        assert outcome.err.count(problem) == 1, problem
    assert "got 0 (--set); with model.alpha=0 backend=hdp-cvb0 data.holdout=docs:0.1" in outcome.err
    assert outcome.err.count("\n") == 5


def test_a_missing_corpus_is_told_before_it_fails_in_every_job(place: Path, call: Call) -> None:
    outcome = call("sweep", "my.yaml", "gone.ldac", "--grid", "model.alpha=1,2")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == "hiertopics: error: gone.ldac: no such file\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--grid", "model.eta"), "--grid takes key=value"),
        (("--grid", "=1,2"), "--grid takes key=value"),
        (("--grid", "model.eta=1,,2"), "null for nothing"),
        (("--grid", 'model.eta="1'), "cannot be read"),
        (("--grid", "model.eta=1", "--grid", "model.eta=2"), "holds model.eta twice"),
        (("--grid", "seed=1,2"), "seeds go by --seeds"),
        (("--grid", "data.corpus=x.ldac"), "a corpus is named already"),
        (("--grid", "model.eta=1,1"), "two commands would write"),
        (("--grid", "data.stop_words=a/b,a b"), "two commands would write"),
        (("--seeds", "1,0:2"), "two commands would write"),
        (("--grid", f"data.vocab={'v' * 240}"), "too long for a name"),
        (("--seeds", "ten"), "--seeds takes 0:10"),
        (("--seeds", "-3"), "--seeds takes 0:10"),
        (("--seeds", "5:5"), "--seeds takes 0:10"),
        (("--seeds", ""), "--seeds takes 0:10"),
        (("--seeds", f"0:{10**15}"), "--seeds takes 0:10"),
        (("--seeds", "0:60000", "--grid", "model.eta=1,2"), f"at most {MOST_JOBS}"),
    ],
)
def test_bad_requests_print_nothing(
    place: Path, call: Call, words: tuple[str, ...], message: str
) -> None:
    (place / ("v" * 240)).write_text("".join(f"{n}\n" for n in range(9)))
    outcome = call("sweep", "my.yaml", "tiny.ldac", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err and "Traceback" not in outcome.err


def test_a_line_break_in_a_path_is_refused(place: Path) -> None:
    shutil.copy(place / "tiny.ldac", place / "two\nlines.ldac")
    with pytest.raises(UsageError, match="a line break"):
        hiertopics.sweep("my.yaml", "two\nlines.ldac")


def test_the_function_raises_every_problem_in_one_error(place: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        hiertopics.sweep("my.yaml", "tiny.ldac", grid=["model.eta=0", "model.alpha=0"])
    assert len(caught.value.problems) == 2
