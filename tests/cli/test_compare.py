"""``compare`` as typed, and the script that fits every backend before it."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from hiertopics.contract import registry
from hiertopics.contract.observed import kind_of
from hiertopics.views.render.records import to_comparison_table

Call = Callable[..., Any]
Copied = Callable[..., Path]
SCRIPT = Path(__file__).parents[2] / "configs" / "compare" / "compare.sh"


def rows_of(call: Call, *words: object) -> list[dict[str, Any]]:
    return [json.loads(line) for line in call("compare", *words, "--json").out.splitlines()]


def made_up(backend: str, **fields: Any) -> dict[str, Any]:
    """Return a row of ``compare`` with long numbers."""
    return {
        "run": f"runs/corpus-{backend}-s0",
        "backend": backend,
        "perplexity": 12345.6,
        "standard_error": 0.0456,
        "behind": 1.2345,
        "behind_error": 0.0123,
        "n_topics": 1000,
        "coherence_npmi": -0.1234,
        "diversity": 0.9876,
        "seconds": 12345.67,
        "peak_memory_bytes": 12345 * 2**20,
    } | fields


def column(table: str, head: str) -> list[str]:
    """Return the cells of a column; two blanks or more stand between columns."""
    heads, *lines = [re.split("  +", line) for line in table.splitlines()]
    return [line[heads.index(head)] for line in lines]


def test_a_table_of_trees_and_flat_topics_fits_into_120_columns() -> None:
    tree = {"parent_child_npmi": -0.1234, "specialization": [0.1234, 0.5, 0.75, 0.9]}
    rows = [made_up("chdp-variational"), made_up("hlda-variational", **tree)]
    table = str(to_comparison_table(rows))
    assert max(map(len, table.splitlines())) <= 120
    assert column(table, "child_npmi") == ["-", "-0.123"]
    assert column(table, "specialization") == ["-", "0.12/0.50/0.75"]
    assert column(table, "perplexity") == ["12345.6 ± 563.0"] * 2
    assert column(table, "MiB") == ["12345"] * 2


def test_runs_are_named_where_the_backend_does_not_tell_them_apart() -> None:
    one, other = made_up("hdp-cvb0"), made_up("hdp-cvb0", run="runs/again")
    assert "run" not in str(to_comparison_table([one, made_up("hdp-cvb")])).split()
    lines = str(to_comparison_table([one, other])).splitlines()
    assert [line.split()[-1] for line in lines] == ["run", one["run"], other["run"]]


def test_the_table_shows_the_scores_of_eval(call: Call, copied: Copied) -> None:
    runs = [copied(), copied("hlda-gibbs")]
    rows, table = rows_of(call, *runs), call("compare", *runs).out
    assert [line.split()[0] for line in table.splitlines()[1:]] == [r["backend"] for r in rows]
    (tree,) = (row for row in rows if row["backend"] == "hlda-gibbs")
    place = rows.index(tree)
    error = tree["perplexity"] * tree["standard_error"]
    assert column(table, "perplexity")[place] == f"{tree['perplexity']:.1f} ± {error:.1f}"
    assert column(table, "child_npmi")[place] == f"{tree['parent_child_npmi']:.3f}"
    assert column(table, "topics") == [str(row["n_topics"]) for row in rows]
    assert column(table, "seconds") == [f"{row['seconds']:.1f}" for row in rows]


def test_vectors_are_compared_by_their_density_per_row(call: Call, copied: Copied) -> None:
    run = copied("hca-variational")
    (row,), table = rows_of(call, run), call("compare", run).out
    assert "perplexity" not in table
    shown = f"{row['log_likelihood_per_row']:.2f} ± {row['standard_error']:.2f}"
    assert column(table, "per_row") == [shown]


def test_behind_is_the_mean_difference_on_the_same_documents(call: Call, copied: Copied) -> None:
    best, worse = rows_of(call, copied("hdp-gibbs"), copied("hlda-gibbs"))
    assert best["behind"] is None and best["behind_error"] is None
    first, second = (naive_log_likelihoods(Path(row["run"])) for row in (best, worse))
    with np.load(Path(best["run"]) / "eval" / "completion.npz") as arrays:
        scored = sparse.csr_array(
            tuple(arrays[f"scored_{part}"] for part in ("data", "indices", "indptr")),
            shape=tuple(arrays["scored_shape"]),
        ).toarray()
    lost, lengths = first - second, scored.sum(axis=1)
    mean = lost.sum() / lengths.sum()
    error = np.sqrt(((lost - mean * lengths) ** 2).sum()) / lengths.sum()
    assert worse["behind"] == pytest.approx(mean, rel=1e-9) and mean > 0
    assert worse["behind_error"] == pytest.approx(error, rel=1e-9)


def naive_log_likelihoods(run: Path) -> np.ndarray:
    """Return the log likelihood of each document's scored tokens, by dense arithmetic."""
    with np.load(run / "eval" / "completion.npz") as arrays, np.load(run / "model.npz") as model:
        dense = [
            sparse.csr_array(
                tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr")),
                shape=tuple(arrays[f"{name}_shape"]),
            ).toarray()
            for name in ("theta", "scored")
        ]
        theta, scored = dense
        return np.asarray((scored * np.log(theta @ model["phi"])).sum(axis=1))


def test_draws_are_averaged_where_there_are_some(call: Call, copied: Copied) -> None:
    sampled, other = copied("hdp-gibbs"), copied()
    averaged = json.loads(call("eval", sampled, "--heldout", "--average", "--json").out)
    rows = {row["backend"]: row for row in rows_of(call, sampled, other, "--average")}
    assert rows["hdp-gibbs"]["perplexity"] == averaged["perplexity"]
    assert rows["hdp-gibbs"]["draws"] == len(list((sampled / "draws").glob("*.npz"))) > 1
    assert rows["hdp-pcvb0"]["draws"] is None
    worse, best = sorted(rows.values(), key=lambda row: row["log_likelihood_per_word"])
    lost = best["log_likelihood_per_word"] - worse["log_likelihood_per_word"]
    assert worse["behind"] == pytest.approx(lost, rel=1e-9)
    table = call("compare", sampled, other, "--average").out
    assert sorted(column(table, "draws")) == sorted(["-", str(rows["hdp-gibbs"]["draws"])])


def test_a_run_that_failed_is_named_and_the_others_are_compared(call: Call, copied: Copied) -> None:
    broken, good = copied("hdp-gibbs"), copied()
    (broken / "model.npz").unlink()
    outcome = call("compare", broken, good, "nowhere")
    assert outcome.code == 1
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["backend", "hdp-pcvb0"]
    said = outcome.err.splitlines()
    assert len(said) == 2 and all(line.startswith("warning: left out: ") for line in said)
    assert any("nowhere" in line for line in said) and any(str(broken) in line for line in said)


def test_a_protocol_of_trees_leaves_flat_runs_out(call: Call, copied: Copied) -> None:
    outcome = call("compare", copied(), copied("hlda-gibbs"), "--protocol", "path")
    assert outcome.code == 1 and "hdp-pcvb0" in outcome.err
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["backend", "hlda-gibbs"]


def test_csv_holds_what_json_holds(call: Call, copied: Copied) -> None:
    runs = [copied(), copied("hlda-gibbs")]
    rows = rows_of(call, *runs)
    assert call("compare", *runs, "--format", "json").out == call("compare", *runs, "--json").out
    table = list(csv.DictReader(call("compare", *runs, "--format", "csv").out.splitlines()))
    for row, line in zip(rows, table, strict=True):
        assert list(line) == list(row)
        levels = row.pop("specialization")
        assert line.pop("specialization") == ("" if levels is None else " ".join(map(str, levels)))
        assert line == {name: "" if value is None else str(value) for name, value in row.items()}


def test_the_script_names_every_backend_of_texts() -> None:
    found = re.search(r"BACKENDS:=([\w,-]+)", SCRIPT.read_text(encoding="utf-8"))
    of_texts = {
        name for name in registry.BACKENDS if kind_of(name, registry.load(name).Model()) == "counts"
    }
    assert found is not None and set(found[1].split(",")) == of_texts


@pytest.mark.slow
def test_the_script_compares_what_could_be_fitted_and_names_the_rest(
    tmp_path: Path, tiny_file: Path
) -> None:
    blocked = tmp_path / "runs" / "tiny-hdp-gibbs-inference.iterations=2-s0"
    blocked.parent.mkdir()
    blocked.write_text("a file where a run should be\n")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    words = ["sh", str(SCRIPT), str(tiny_file), "--grid", "inference.iterations=2"]
    chosen = {"BACKENDS": "hdp-gibbs,multinomial,hdp-pcvb0"}

    def run_script() -> tuple[list[str], str]:
        done = subprocess.run(
            words, cwd=tmp_path, env={**os.environ, **chosen, "PATH": path},
            capture_output=True, encoding="utf-8",
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        return done.stdout.splitlines(), done.stderr

    table, said = run_script()
    assert {line.split()[0] for line in table} == {"backend", "multinomial", "hdp-pcvb0"}
    assert f"left out: {blocked.relative_to(tmp_path)}" in said and "Traceback" not in said
    fitted = {path: path.stat().st_mtime_ns for path in tmp_path.glob("runs/*/model.npz")}
    again, _ = run_script()
    assert again == table
    assert fitted == {path: path.stat().st_mtime_ns for path in fitted} and len(fitted) == 2


def test_a_sampler_scored_on_one_draw_is_told_of_its_others(call: Call, copied: Copied) -> None:
    flat, tree = copied(), copied("hlda-gibbs")
    n_draws = len(list((tree / "draws").glob("*.npz")))
    told = f"{tree}: one draw is scored; --average: the mean of {n_draws} kept draws\n"
    assert n_draws > 0
    for words in (("compare", flat, tree), ("eval", flat, tree, "--heldout")):
        assert call(*words).err == told
    assert call("compare", flat, tree, "--average").err == ""
    assert call("eval", tree, "--heldout", "--average").err == ""


def test_scores_of_different_splits_are_said_to_be_incomparable(call: Call, copied: Copied) -> None:
    run, other = copied(), copied(holdout="tokens:0.2@0")
    for form in ((), ("--json",), ("--format", "csv")):
        told = call("eval", run, other, "--heldout", *form)
        assert told.code == 0
        assert "2 different splits: their scores cannot be compared" in told.err
    assert "different splits" not in call("eval", run, run, "--heldout").err


def test_one_run_alone_is_told_that_compare_needs_two(call: Call, copied: Copied) -> None:
    run = copied()
    told = call("compare", run)
    assert told.code == 0 and "compare needs two runs or more" in told.err
    assert "needs two" not in call("compare", run, run).err
