"""Foreign or spoilt files in a run: "damaged" in one line and exit code 1, whatever reads them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import artefacts
from tiny import small_settings
from unsealed import unsealed

from hiertopics.base.archives import read_npz, write_npz
from hiertopics.base.errors import RunError
from hiertopics.fitting.diagnostics import diagnose
from hiertopics.runs.rundir import RunDir

Fit = Callable[..., Any]
Call = Callable[..., Any]
BACKEND = "hdp-gibbs"
EVAL = ("eval", "{run}", "--heldout", "--json")
AVERAGE = (*EVAL, "--average")
TREE = ("show-tree", "{run}")
DOCS = (*TREE, "--docs", "2")
TOPICS = ("topics", "{run}")
EXPORT = ("export", "{run}", "-o", "tree.json")
COMPARE = ("compare", "{run}")
INFER = ("infer", "{run}", "{corpus}", "-o", "theta.npz")
FIT = (
    "fit", "{corpus}", "-q", "-b", BACKEND, "-o", "{run}", "--holdout", "docs:0.2@0",
    "-s", "output.record_every=2", "--iterations", "10",
)  # fmt: skip


@pytest.fixture
def damaged(
    call: Call, tiny_file: Path
) -> Callable[[Path, str, tuple[tuple[str, ...], ...]], None]:
    """Return a function: every command on the run says in one line that a file is damaged."""

    def check(run: Path, name: str, commands: tuple[tuple[str, ...], ...]) -> None:
        settings = [word for each in small_settings(BACKEND) for word in ("-s", each)]
        for command in commands:
            words = [word.format(run=run, corpus=tiny_file) for word in command]
            outcome = call(*words, *(settings if command is FIT else ()))
            assert (outcome.code, outcome.out) == (1, ""), (command, outcome)
            assert outcome.err.startswith("hiertopics: error: "), command
            assert f"{run / name} is damaged: " in outcome.err, (command, outcome.err)
            assert outcome.err.count("\n") == 1, outcome.err

    return check


@pytest.mark.parametrize(
    "line",
    [
        b"\xff",
        b"5",
        b"{}",
        b"{",
        b"null",
        b'{"iteration": "9", "objective": 1.0}',
        b'{"iteration": 9, "objective": "low"}',
        b'{"iteration": 9}',
    ],
    ids=repr,
)
def test_a_line_of_metrics_that_is_none(
    copied: Callable[..., Path],
    damaged: Callable[..., None],
    line: bytes,
) -> None:
    run = copied(BACKEND)
    with open(run / "metrics.jsonl", "ab") as stream:
        stream.write(line + b"\n")
    damaged(run, "metrics.jsonl", (FIT,))
    with pytest.raises(RunError, match=r"metrics\.jsonl is damaged: line 5 "):
        diagnose(RunDir.open(run))


@pytest.mark.parametrize("rest", [b'{"iteration": 10, "obj', b"\xff\xfe", b"5"], ids=repr)
def test_a_last_line_that_was_half_written_is_passed_over(
    fit_tiny: Fit, copied: Callable[..., Path], rest: bytes
) -> None:
    run = copied(BACKEND)
    with open(run / "metrics.jsonl", "ab") as stream:
        stream.write(rest)
    assert fit_tiny(run, BACKEND, 10).status == "done"
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == [2, 4, 6, 8, 10]


def test_metrics_without_the_column_that_is_diagnosed(copied: Callable[..., Path]) -> None:
    run = copied(BACKEND)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    del lines[-1]["n_topics"]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(RunError, match=r"metrics\.jsonl is damaged"):
        diagnose(RunDir.open(run))


def test_no_number_and_an_old_nan_in_metrics_are_read(
    fit_tiny: Fit, copied: Callable[..., Path], tmp_path: Path
) -> None:
    """A tolerance is not reached by what is no number."""
    for value in ("null", "NaN", "-Infinity"):
        run = copied(BACKEND).rename(tmp_path / value)
        lines = (run / "metrics.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        text = "".join(json.dumps(row | {"objective": "@"}) + "\n" for row in rows)
        (run / "metrics.jsonl").write_text(text.replace('"@"', value))
        result = fit_tiny(run, BACKEND, 10, ["inference.tolerance=0"])
        assert (result.status, result.iterations) == ("done", 10)
        assert diagnose(result.run)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("wall_seconds", None),
        ("wall_seconds", "3"),
        ("iterations", "8"),
        ("iterations", None),
        ("status", 5),
        ("status", "finished"),
        ("backend", None),
        ("corpus", {}),
        ("corpus", [1]),
        ("corpus", {"fingerprint": "a", "text_fingerprint": "b", "n_docs": "many"}),
        ("corpus", {"fingerprint": "a", "text_fingerprint": "b", "n_tokens": -1}),
        ("split", 7),
        ("objective", "low"),
        ("peak_memory_bytes", None),
        ("files", ["model.npz"]),
        ("files", {"model.npz": 7}),
    ],
    ids=repr,
)
def test_a_manifest_with_an_entry_of_another_kind(
    copied: Callable[..., Path], damaged: Callable[..., None], key: str, value: object
) -> None:
    run = copied(BACKEND)
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {key: value}))
    commands = (FIT, COMPARE, TREE, EVAL, INFER, TOPICS, EXPORT)
    damaged(run, "manifest.json", commands)


def test_a_manifest_without_an_objective_is_sound(
    copied: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    run = copied(BACKEND)
    text = (run / "manifest.json").read_text()
    manifest = json.loads(text)
    objective = json.dumps(manifest["objective"])
    for value in ("null", "NaN"):
        (run / "manifest.json").write_text(text.replace(objective, value))
        assert call("compare", run).code == 0


def changed(path: Path, **arrays: Any) -> None:
    """Write a file of arrays anew: with other ones, or without those that are None."""
    kept = read_npz(path) | arrays
    write_npz(path, {name: array for name, array in kept.items() if array is not None})


MODEL: Mapping[str, dict[str, Any]] = {
    "phi flat": {"phi": np.ones(9) / 9},
    "phi short": {"phi": np.ones((1, 9)) / 9},
    "parent short": {"parent": np.array([-1], dtype=np.int32)},
    "parent of text": {"parent": np.array(["-1"] * 5)},
    "parent after its child": {"parent": np.array([3, -1, -1, -1, -1], dtype=np.int32)},
    "no kind": {"kind": None},
    "weight square": {"weight": np.ones((5, 5))},
    "n_docs short": {"n_docs": np.ones(1, dtype=np.int64)},
}


@pytest.mark.parametrize("name", MODEL)
def test_a_model_whose_arrays_do_not_fit_one_another(
    copied: Callable[..., Path], damaged: Callable[..., None], name: str
) -> None:
    run = unsealed(copied(BACKEND))
    assert len(read_npz(run / "model.npz")["parent"]) == 5
    changed(run / "model.npz", **MODEL[name])
    damaged(run, "model.npz", (TREE, TOPICS, EVAL, INFER, EXPORT, COMPARE))


@pytest.fixture(scope="module")
def other(fit_tiny: Fit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run over fewer documents and words, into fewer topics."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "o.ldac").write_text("2 0:2 1:1\n1 1:3\n2 0:1 2:2\n1 2:4\n2 1:1 2:1\n" * 2)
    overrides = ["model.truncation=2"]
    fit_tiny(folder / "run", BACKEND, 8, overrides, folder / "o.ldac")
    return folder / "run"


@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("theta.npz", (DOCS,)),
        ("split.npz", (DOCS, EVAL, COMPARE)),
    ],
)
def test_a_file_of_another_run_in_a_run_without_seals(
    copied: Callable[..., Path],
    damaged: Callable[..., None],
    other: Path,
    name: str,
    commands: tuple[tuple[str, ...], ...],
) -> None:
    run = unsealed(copied(BACKEND))
    shutil.copy(other / name, run / name)
    damaged(run, name, commands)


def test_paths_without_an_array_or_of_other_documents(copied: Callable[..., Path]) -> None:
    run = unsealed(copied("hlda-gibbs"))
    sound = read_npz(run / "paths.npz")
    spoilt: list[dict[str, Any]] = [
        {"node": None},
        {"log_prob": None},
        {"node": sound["node"][:3]},
        {"node": sound["node"] + 1000},
    ]
    for arrays in spoilt:
        write_npz(run / "paths.npz", sound)
        changed(run / "paths.npz", **arrays)
        with pytest.raises(RunError, match=r"paths\.npz is damaged"):
            _ = RunDir.open(run).paths


def test_a_theta_whose_pointers_lead_nowhere(
    copied: Callable[..., Path], damaged: Callable[..., None]
) -> None:
    run = unsealed(copied(BACKEND))
    theta = read_npz(run / "theta.npz")
    changed(run / "theta.npz", indices=theta["indices"] + 99)
    damaged(run, "theta.npz", (DOCS,))


def test_what_is_named_by_no_iteration_is_no_draw(copied: Callable[..., Path], call: Call) -> None:
    run = copied(BACKEND)
    before = call("eval", run, "--heldout", "--average", "--json").out
    n_draws = RunDir.open(run).n_draws
    assert n_draws > 0
    shutil.copy(run / "draws" / "00000008.npz", run / "draws" / "old.npz")
    shutil.copy(run / "draws" / "00000008.npz", run / "draws" / "00000008 (copy).npz")
    (run / "draws" / "8.npz").write_bytes(b"")
    assert RunDir.open(run).n_draws == n_draws
    assert call("eval", run, "--heldout", "--average", "--json").out == before
    assert call("compare", run, "--average").code == 0


def test_stray_files_do_not_stop_several_chains(fit_tiny: Fit, tmp_path: Path) -> None:
    for name in ("run", "whole"):
        fit_tiny(tmp_path / name, "hlda-gibbs", 6, ["inference.chains=2"])
    shutil.copy(tmp_path / "run/draws/00000006.npz", tmp_path / "run/draws/old.npz")
    for name in ("run", "whole"):
        fit_tiny(tmp_path / name, "hlda-gibbs", 8, ["inference.chains=2"])
    own, stray = artefacts(tmp_path / "whole"), artefacts(tmp_path / "run")
    assert stray.pop("draws/old.npz") and stray == own


@pytest.mark.parametrize("name", ["phi", "parent", "theta_data"])
def test_a_draw_without_an_array(
    copied: Callable[..., Path], damaged: Callable[..., None], name: str
) -> None:
    run = unsealed(copied(BACKEND))
    changed(run / "draws" / "00000006.npz", **{name: None})
    damaged(run, "draws/00000006.npz", (AVERAGE,))


def test_a_draw_of_another_run(
    copied: Callable[..., Path], damaged: Callable[..., None], other: Path
) -> None:
    run = unsealed(copied(BACKEND))
    shutil.copy(other / "draws" / "00000006.npz", run / "draws" / "00000006.npz")
    damaged(run, "draws/00000006.npz", (AVERAGE,))


@pytest.mark.parametrize("name", ["00000006.npz", "00000007.npz"], ids=["changed", "added"])
def test_a_draw_that_was_not_sealed_with_the_others(
    copied: Callable[..., Path], damaged: Callable[..., None], call: Call, name: str
) -> None:
    """Another draw of the same shape: nothing but its seal tells."""
    run = copied(BACKEND)
    shutil.copy(run / "draws" / "00000008.npz", run / "draws" / name)
    damaged(run, f"draws/{name}", (AVERAGE,))
    assert call("eval", run, "--heldout", "--json").code == 0


def test_a_draw_that_is_gone_is_missed(copied: Callable[..., Path], call: Call) -> None:
    run = copied(BACKEND)
    (run / "draws" / "00000006.npz").unlink()
    outcome = call("eval", run, "--heldout", "--average")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == f"hiertopics: error: {run / 'draws/00000006.npz'} is missing\n"


def test_draws_keep_their_seals_when_a_run_is_extended_or_repaired(
    copied: Callable[..., Path], damaged: Callable[..., None], fit_tiny: Fit, tmp_path: Path
) -> None:
    run = copied(BACKEND)
    fit_tiny(tmp_path / "whole", BACKEND, 12)
    (run / "theta.npz").write_bytes(b"")
    fit_tiny(run, BACKEND, 12)
    seals = json.loads((run / "manifest.json").read_text())["files"]
    assert seals == json.loads((tmp_path / "whole/manifest.json").read_text())["files"]
    assert sum(name.startswith("draws/") for name in seals) > 2
    changed(run / "draws" / "00000006.npz", phi=read_npz(run / "draws" / "00000008.npz")["phi"])
    (run / "theta.npz").write_bytes(b"")
    fit_tiny(run, BACKEND, 12)
    damaged(run, "draws/00000006.npz", (AVERAGE,))


def test_a_foreign_file_among_checkpoints_is_neither_read_nor_removed(
    fit_tiny: Fit, copied: Callable[..., Path], tmp_path: Path
) -> None:
    run = copied(BACKEND)
    shutil.copy(run / "checkpoints" / "00000008.npz", run / "checkpoints" / "backup.npz")
    shutil.copy(run / "checkpoints" / "00000008.npz", run / "checkpoints" / "0.npz")
    fit_tiny(run, BACKEND, 12, ["output.checkpoint_seconds=0"])
    names = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert names == ["0.npz", "00000011.npz", "00000012.npz", "backup.npz"]
    fit_tiny(tmp_path / "whole", BACKEND, 12)
    assert artefacts(run) == artefacts(tmp_path / "whole")


@pytest.mark.parametrize("data", [b"model: {", b"\xff\n", b"[]", b"model:\n  nonsense: 3\n"])
def test_a_config_that_is_none(
    copied: Callable[..., Path], damaged: Callable[..., None], data: bytes
) -> None:
    run = copied(BACKEND)
    (run / "config.yaml").write_bytes(data)
    damaged(run, "config.yaml", (EVAL, INFER, FIT))


def test_a_config_of_another_backend(
    copied: Callable[..., Path], damaged: Callable[..., None]
) -> None:
    run = copied(BACKEND)
    for data in (b"backend: hdp-cvb0\n", b"backend: hdp-cvb0\ndata: {holdout: none}\n"):
        (run / "config.yaml").write_bytes(data)
        damaged(run, "config.yaml", (EVAL, INFER, FIT))
