"""The commands as a user meets them: help, the three-command story, clean stdout, exit codes."""

from __future__ import annotations

import csv
import io
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from replacing import put_in_place
from scipy import sparse

import hiertopics
from hiertopics import cli
from hiertopics.base.errors import NumericalError
from hiertopics.contract import registry

Call = Callable[..., Any]
Small = Callable[[str], tuple[str, ...]]
Copied = Callable[..., Path]


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_has_help_for_itself_and_for_each_option(call: Call, name: str) -> None:
    command = cli.group.get_command(click.Context(cli.group), name)
    assert command is not None and command.name == name
    outcome = call(name, "-h")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"Usage: hiertopics {name} ")
    for option in command.params:
        if isinstance(option, click.Option) and option.name != "help":
            assert option.opts[0] in outcome.out, option.opts
    assert call(name, "--help").out == outcome.out


def test_every_module_of_a_command_is_listed() -> None:
    folder = Path(cli.__file__).parent
    helpers = {"__init__", "examples", "habits", "options"}
    modules = {path.stem for path in folder.glob("*.py")} - helpers
    assert modules == set(cli.MODULES)


def test_help_lists_every_command_with_its_line(call: Call) -> None:
    outcome = call("-h")
    assert outcome.code == 0
    for name, line in cli.COMMANDS.items():
        assert f"  {name} " in outcome.out and line.split(";")[0].split(",")[0] in outcome.out


def test_help_comes_in_sections_that_hold_everything_once(call: Call) -> None:
    shown = call("-h").out
    assert sorted(sum(cli.SECTIONS.values(), ())) == sorted(cli.COMMANDS)
    assert [title for title in cli.SECTIONS if f"\n{title}:\n" in shown] == [*cli.SECTIONS]
    parts = call("fit", "-h").out.split("\n\n")
    titles = ["Options", "Reading the corpus", "Time and machines", "Output"]
    titles += ["  Examples", "  Guide"]
    assert [part.split(":")[0] for part in parts[-6:]] == titles
    for option, place in (
        ("--backend", -6),
        ("--text-field", -5),
        ("--workers", -4),
        ("--json", -3),
    ):
        assert [option in part for part in parts].index(True) == len(parts) + place


def test_version(call: Call) -> None:
    assert call("--version").out == f"hiertopics {hiertopics.__version__}\n"


FUNCTIONS = ("fit", "evaluate", "infer", "compare", "read_corpus")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_is_a_function_of_the_package(name: str) -> None:
    """Also after its module has been imported, whose name may be the same."""
    assert name in hiertopics.__all__
    assert callable(getattr(hiertopics, name)) and getattr(hiertopics, name).__name__ == name


@pytest.mark.slow
@pytest.mark.parametrize(
    "program",
    [
        "import hiertopics as h; found = [[getattr(h, n) for n in names] for _ in 'ab'][1]",
        "from hiertopics import fit, evaluate, infer, compare, read_corpus; "
        "found = [fit, evaluate, infer, compare, read_corpus]",
        "from hiertopics import *; found = [fit, evaluate, infer, compare, read_corpus]",
    ],
    ids=["attribute", "from import", "star"],
)
def test_functions_of_the_package_are_functions_however_imported(program: str) -> None:
    lines = f"names = {FUNCTIONS!r}\n{program}\nprint([f.__name__ for f in found])"
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (f"{list(FUNCTIONS)!r}\n", "")


@pytest.mark.slow
def test_fit_then_eval_then_show_tree(shell: Call, tiny_file: Path, tmp_path: Path) -> None:
    """Literally these three, in an empty folder, with defaults."""
    for suffix in (".ldac", ".vocab"):
        shutil.copy(tiny_file.with_suffix(suffix), tmp_path / f"X{suffix}")
    run = f"runs/X-{registry.DEFAULT}-s0"

    fitted = shell("fit", "X.ldac")
    assert (fitted.code, fitted.out) == (0, f"{run}\n")
    assert "[0]" in fitted.err and f"hiertopics show-tree {run}" in fitted.err

    scored = shell("eval", "--heldout")
    record = dict(line.split(":", 1) for line in scored.out.splitlines())
    assert (scored.code, scored.err) == (0, f"run: {run}\n")
    assert record["run"].strip() == run and float(record["perplexity"].split()[0]) > 1

    shown = shell("show-tree")
    first, lacks = shown.err.splitlines()
    assert (shown.code, first) == (0, f"run: {run}")
    assert lacks.endswith(f"was not measured; hiertopics support {run} measures it")
    nodes = [line[line.index("[") :] for line in shown.out.splitlines()]
    assert sorted(node.split()[0] for node in nodes) == [f"[{n}]" for n in range(len(nodes))]
    words = (tmp_path / "X.vocab").read_text().split()
    assert set(shown.out.splitlines()[0].split("docs")[1].split()) <= set(words)


def fit_words(tiny_file: Path, *words: object) -> list[object]:
    return [
        "fit",
        tiny_file,
        "-b",
        "hdp-pcvb0",
        "--iterations",
        4,
        "-s",
        "model.truncation=3",
        *words,
    ]


def test_fit_as_json_is_one_object(call: Call, tiny_file: Path, tmp_path: Path) -> None:
    outcome = call(*fit_words(tiny_file, "-o", "run", "--json"))
    record = json.loads(outcome.out)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert record == {
        "run": "run", "status": "done", "iterations": 4, "objective": manifest["objective"],
    }  # fmt: skip
    assert outcome.out.count("\n") == 1


def test_quiet_means_nothing_on_stderr(call: Call, tiny_file: Path) -> None:
    assert call(*fit_words(tiny_file, "-o", "run", "-q")) == (0, "run\n", "")


def test_a_finished_run_says_so_and_ends_well(call: Call, tiny_file: Path) -> None:
    words = fit_words(tiny_file, "-o", "run")
    call(*words, "-q")
    outcome = call(*words)
    assert (outcome.code, outcome.out) == (0, "run\n")
    assert "finished already" in outcome.err and "--iterations" in outcome.err
    fewer = call(*words, "--iterations", 1)
    for told in (outcome.err, fewer.err):
        assert "nothing was done: the run is complete at iteration 4, and a larger" in told
        assert "\ndone: " not in told


def test_a_time_limit_ends_in_75_and_the_same_command_continues(
    call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    words = fit_words(tiny_file, "-o", "run")
    stopped = call(*words, "--time-limit", "0s")
    assert (stopped.code, stopped.out) == (75, "run\n")
    assert "time limit" in stopped.err
    assert call(*words).code == 0


@pytest.mark.parametrize(("times", "code", "out"), [(1, 75, "run\n"), (2, 130, "")])
def test_interrupts_end_in_75_and_in_130(
    call: Call, tiny_file: Path, monkeypatch: pytest.MonkeyPatch, times: int, code: int, out: str
) -> None:
    step = registry.load("hdp-pcvb0").step

    def interrupted(*arguments: Any) -> Any:
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        return step(*arguments)

    put_in_place(monkeypatch, "hdp-pcvb0", step=interrupted)
    outcome = call(*fit_words(tiny_file, "-o", "run", "-q"))
    assert (outcome.code, outcome.out) == (code, out)
    assert outcome.err.count("\n") == (times == 2) and "Traceback" not in outcome.err


def test_an_interrupt_in_the_start_ends_in_75_and_says_how_to_go_on(
    call: Call, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(data: Any, settings: Any, context: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        context.report(1, 2)

    put_in_place(monkeypatch, "hdp-pcvb0", init=interrupted)
    outcome = call(*fit_words(tiny_file, "-o", "run"))
    assert (outcome.code, outcome.out) == (75, "run\n")
    assert "signal SIGINT; the same command begins it anew" in outcome.err
    assert "no model yet" in call("eval", "run", "--heldout").err


def test_a_failure_in_the_numbers_ends_in_1(
    call: Call, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise NumericalError("document 3 is not finite")

    put_in_place(monkeypatch, "hdp-pcvb0", step=broken)
    outcome = call(*fit_words(tiny_file, "-o", "run", "-q"))
    told = "iteration 1: document 3 is not finite; no setting is far from its default"
    assert outcome == (1, "", f"hiertopics: error: {told}\n")


def test_running_out_of_memory_is_told_in_one_line(
    call: Call, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hungry(*_: Any) -> Any:
        raise MemoryError

    put_in_place(monkeypatch, "hdp-pcvb0", init=hungry)
    outcome = call(*fit_words(tiny_file, "-o", "run", "-q"))
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "memory" in outcome.err


def test_eval_as_json_has_a_line_per_run(call: Call, copied: Copied) -> None:
    runs = [copied(), copied("hdp-gibbs")]
    outcome = call("eval", *runs, "--heldout", "--json")
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert (outcome.code, outcome.err) == (0, "")
    assert [record["run"] for record in records] == [str(run) for run in runs]
    assert [record["backend"] for record in records] == ["hdp-pcvb0", "hdp-gibbs"]


def test_eval_of_a_file_needs_no_heldout_flag(call: Call, copied: Copied, tmp_path: Path) -> None:
    (tmp_path / "new.ldac").write_text("2 0:5 1:5\n")
    outcome = call("eval", copied(), "--corpus", "new.ldac", "--json")
    assert json.loads(outcome.out)["n_tokens"] == 2


def test_show_tree_in_all_its_formats(call: Call, copied: Copied) -> None:
    run = copied()
    tree = json.loads((run / "tree.json").read_text())
    shown = json.loads(call("show-tree", run, "--format", "json", "--words", 3).out)
    assert shown["schema"] == tree["schema"]
    for ours, theirs in zip(shown["nodes"], tree["nodes"], strict=True):
        assert {"auto_name", "name_score"} <= set(ours)
        assert (ours["mixed"], ours["parts"]) == (False, [])
        for name in ("auto_name", "name_score", "mixed", "parts", "branch_docs", "branch_share"):
            del ours[name]
        assert ours == theirs | {"words": theirs["words"][:3]}
    text = call("show-tree", run, "--words", 2).out
    assert len(text.splitlines()) == len(tree["nodes"])
    assert call("show-tree", run, "--format", "dot").out.startswith("digraph")
    assert call("show-tree", run, "--format", "newick").out.endswith(";\n")
    most = max(node["n_docs"] for node in tree["nodes"])
    for form in ("text", "json", "dot", "newick"):
        fewer = call("show-tree", run, "--format", form, "--min-docs", most)
        assert fewer.code == 0 and len(fewer.out) < len(
            call("show-tree", run, "--format", form).out
        )


def test_topics_in_all_its_formats(call: Call, copied: Copied) -> None:
    run = copied()
    nodes = json.loads((run / "tree.json").read_text())["nodes"]
    table = call("topics", run).out.splitlines()
    assert table[0].split() == ["id", "share", "own", "documents", "words"]
    assert [int(line.split()[0]) for line in table[1:]] == [node["id"] for node in nodes]
    rows = list(csv.DictReader(io.StringIO(call("topics", run, "--format", "csv").out)))
    records = [
        json.loads(line)
        for line in call("topics", run, "--format", "json", "--words", 20).out.splitlines()
    ]
    for record in records:
        assert 0 <= record.pop("name_score") <= 1 and record.pop("auto_name")
        assert record.pop("branch_docs") == record["n_docs"]  # flat topics
        assert record.pop("branch_share") == record["weight"]
        assert (record.pop("mixed"), record.pop("parts")) == (False, [])
    assert records == nodes
    assert [float(row["weight"]) for row in rows] == [node["weight"] for node in nodes]


def test_infer_prints_the_path_of_what_it_wrote(call: Call, copied: Copied, tmp_path: Path) -> None:
    (tmp_path / "new.ldac").write_text("2 0:3 1:1\n0\n1 30:4\n")
    run = copied()
    outcome = call("infer", run, "new.ldac", "-o", "theta.npz")
    assert (outcome.code, outcome.out) == (0, "theta.npz\n")
    assert "3 documents, 4 tokens, 4 unknown" in outcome.err
    theta = sparse.load_npz(tmp_path / "theta.npz")
    assert np.allclose(theta.sum(axis=1), 1)
    as_json = call("infer", run, "new.ldac", "-o", "again.npz", "--json")
    assert json.loads(as_json.out) == {
        "output": "again.npz", "n_docs": 3, "n_tokens": 4, "unknown_tokens": 4,
    }  # fmt: skip
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "theta.npz").read_bytes()


def test_infer_says_of_how_many_documents_most_words_are_unknown(
    call: Call, copied: Copied, tmp_path: Path
) -> None:
    (tmp_path / "new.ldac").write_text("2 0:3 2:4\n2 0:3 2:3\n1 2:4\n2 1:1 2:9\n")
    (tmp_path / "new.vocab").write_text("goal\nteam\nyeti\n")
    outcome = call("infer", copied(), "new.ldac", "-o", "new.csv")
    told = "note: 2 documents have more unknown words than known ones; their places say little"
    assert told in outcome.err
    assert "1 document has no word that the run knows" in outcome.err
    rows = list(csv.DictReader((tmp_path / "new.csv").read_text().splitlines()))
    assert [(row["words"], row["unknown"]) for row in rows] == [
        ("3", "4"), ("3", "3"), ("0", "4"), ("1", "9"),
    ]  # fmt: skip


def test_compare_prints_the_best_first(call: Call, copied: Copied) -> None:
    runs = [copied(), copied("hdp-gibbs"), copied("hdp-cvb0")]
    rows = [json.loads(line) for line in call("compare", *runs, "--json").out.splitlines()]
    assert [row["perplexity"] for row in rows] == sorted(row["perplexity"] for row in rows)
    table = call("compare", *runs).out.splitlines()
    assert [line.split()[0] for line in table[1:]] == [row["backend"] for row in rows]


@pytest.mark.parametrize("name", registry.BACKENDS)
def test_config_is_a_config_that_fit_takes(
    call: Call, small: Small, file_for: Callable[[str], Path], tmp_path: Path, name: str
) -> None:
    printed = call("config", name)
    assert (printed.code, printed.err) == (0, "")
    (tmp_path / "my.yaml").write_text(printed.out)
    sizes = [word for setting in small(name) for word in ("-s", setting)]
    words = ("--iterations", 1, "-o", "run", *sizes)
    assert call("fit", file_for(name), "-c", "my.yaml", *words).code == 0
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["backend"] == name


def test_backends_lists_them_and_their_variants_one_per_line(call: Call) -> None:
    lines = call("backends").out.splitlines()
    listed = [
        first
        for name, entry in registry.BACKENDS.items()
        for first in (name, *(f"  :{word}" for word in entry.variants))
    ]
    assert [line[:17].rstrip() for line in lines] == listed
    assert [line for line in lines if line.endswith("(default)")][0].startswith(registry.DEFAULT)
    records = [json.loads(line) for line in call("backends", "--json").out.splitlines()]
    assert [record["backend"] for record in records if record["default"]] == [registry.DEFAULT]
    (gibbs,) = (record["variants"] for record in records if record["backend"] == "hdp-gibbs")
    assert [one["variant"] for one in gibbs][:2] == [
        "hdp-gibbs:bursts",
        "hdp-gibbs:partial",
    ]
    assert gibbs[1]["setting"] == "inference.collapse=partial"


def test_each_command_is_found_in_the_one_module_that_has_it() -> None:
    assert sorted(cli.MODULE_OF) == sorted(cli.COMMANDS)
    assert sum(map(len, cli.MODULES.values())) == len(cli.COMMANDS)
    for name in cli.COMMANDS:
        command = cli.group.get_command(click.Context(cli.group), name)
        assert isinstance(command, click.Command) and command.name == name
