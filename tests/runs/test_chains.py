"""Several chains: what a run says of them, and the same bytes however it came about."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_files import artefacts, stop_at

from hiertopics.base.archives import read_npz
from hiertopics.base.errors import UsageError
from hiertopics.contract import registry
from hiertopics.fitting.diagnostics import diagnose, traces
from hiertopics.fitting.sampling import split_probability
from hiertopics.runs.rundir import RunDir

Fit = Callable[..., Any]
CHAINS = ["inference.chains=3"]
TREES = ("hlda-gibbs", "tssb-mcmc")
"""Samplers whose chains have paths, and nodes with the support of their splits."""

ITERATIONS = 12


@pytest.fixture(params=[name for name in registry.BACKENDS if registry.load(name).sampler])
def sampler(request: pytest.FixtureRequest) -> str:
    """Return the name of each sampler."""
    return str(request.param)


@pytest.fixture(params=TREES)
def tree_sampler(request: pytest.FixtureRequest) -> str:
    """Return the name of each sampler of trees."""
    return str(request.param)


def rows(run: Path) -> list[dict[str, Any]]:
    """Return the recorded iterations without their times."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in row.items() if k != "seconds"} for row in lines]


def told(run: Path) -> Any:
    return json.loads((run / "manifest.json").read_text())["diagnostics"]


@pytest.mark.slow
def test_resumed_and_with_other_workers_the_bytes_are_the_same(
    fit_tiny: Fit, sampler: str, tmp_path: Path
) -> None:
    whole, stopped, spread = (tmp_path / name for name in ("whole", "stopped", "spread"))
    fit_tiny(whole, sampler, ITERATIONS, CHAINS)
    for iteration in (3, 5, 8):
        fit_tiny(stopped, sampler, ITERATIONS, CHAINS, callbacks=[stop_at(iteration)])
    fit_tiny(stopped, sampler, ITERATIONS, CHAINS)
    fit_tiny(spread, sampler, ITERATIONS, CHAINS, workers=2)
    assert artefacts(stopped) == artefacts(whole) == artefacts(spread)
    assert ("split_probability" in (whole / "tree.json").read_text()) == (sampler in TREES)
    kept = [row for row in rows(stopped) if row["iteration"] % 2 == 0]
    assert kept == rows(whole) == rows(spread)
    assert told(stopped) == told(whole) == told(spread)


def test_each_recorded_line_has_a_value_per_chain(
    fit_tiny: Fit, sampler: str, tmp_path: Path
) -> None:
    fit_tiny(tmp_path / "run", sampler, ITERATIONS, CHAINS)
    for row in rows(tmp_path / "run"):
        values = row["chains"]["objective"]
        assert len(set(values)) == 3
        assert np.mean(values) == pytest.approx(row["objective"], rel=1e-12)
        size = next(name for name in row if name not in ("iteration", "objective"))
        assert row["chains"][size][0] == row[size]


def test_splits_are_those_of_the_paths_of_all_kept_draws(
    fit_tiny: Fit, tree_sampler: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, tree_sampler, ITERATIONS, CHAINS, holdout="none")
    draws = [read_npz(path)["chain_paths"] for path in sorted((run / "draws").iterdir())]
    assert len(draws) == 5 and all(len(paths) == 3 for paths in draws)
    path, model = read_npz(run / "paths.npz")["node"], read_npz(run / "model.npz")
    with_words = np.delete(np.arange(30), 4)  # document 4 is empty and sits anywhere
    expected = split_probability(
        path[with_words],
        len(model["parent"]),
        [paths[chain][with_words] for paths in draws for chain in range(3)],
    )
    assert expected is not None
    nodes = json.loads((run / "tree.json").read_text())["nodes"]
    assert [node["split_probability"] for node in nodes] == expected[: len(nodes)].tolist()
    assert nodes[0]["split_probability"] == 1.0
    assert len({node["split_probability"] for node in nodes}) > 2


def test_the_summarised_chain_is_among_the_paths_of_a_draw(
    fit_tiny: Fit, tree_sampler: str, tmp_path: Path
) -> None:
    run = RunDir(tmp_path / "run")
    fit_tiny(run.path, tree_sampler, 6, [*CHAINS, "inference.summarise=last"])
    last = list(run.drawn_paths(6))[-3:]
    assert run.paths is not None
    same = [
        split_probability(run.paths.node, run.tree.n_nodes, [np.asarray(path)]) for path in last
    ]
    assert any(found is not None and (found[run.tree.shown] == 1.0).all() for found in same)
    assert list(run.drawn_paths(3)) == []


def test_the_tree_is_shown_with_its_splits(
    fit_tiny: Fit, call: Callable[..., Any], tree_sampler: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, tree_sampler, ITERATIONS, CHAINS)
    nodes = json.loads((run / "tree.json").read_text())["nodes"]
    lines = [line for line in call("show-tree", run).out.splitlines() if re.search(" docs? ", line)]
    assert "split" not in lines[0] and len(lines) == len(nodes)
    shown = {int(line.partition("[")[2].partition("]")[0]): line for line in lines[1:]}
    for node in nodes[1:]:
        assert f"  split {node['split_probability']:.2f}  " in shown[node["id"]]
    again = json.loads(call("show-tree", run, "--format", "json").out)["nodes"]
    assert again[1]["split_probability"] == nodes[1]["split_probability"]


def test_a_tree_file_that_is_no_tree_is_reported(
    fit_tiny: Fit, call: Callable[..., Any], tree_sampler: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, tree_sampler, 4, CHAINS)
    for text in ("{", "[]", '{"nodes": [{"id": 9999, "split_probability": 1}]}', '{"nodes": [3]}'):
        (run / "tree.json").write_text(text)
        outcome = call("show-tree", run)
        assert outcome.code == 1 and "tree.json is damaged" in outcome.err, text


def test_one_chain_has_neither_traces_nor_splits_but_its_own_diagnosis(
    fit_tiny: Fit, sampler: str, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    fit_tiny(run, sampler, 20)
    assert all("chains" not in row for row in rows(run))
    assert "split_probability" not in (run / "tree.json").read_text()
    assert "chain_paths" not in read_npz(run / "draws" / "00000020.npz")
    assert [entry["n_chains"] for entry in told(run)] == [1, 1]
    assert told(run)[0]["n_draws"] == 9 and told(run)[0]["r_hat"] > 0.5


def test_a_fit_says_how_its_chains_agree(
    fit_tiny: Fit, sampler: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = fit_tiny(tmp_path / "run", sampler, ITERATIONS, CHAINS, quiet=False)
    err = capsys.readouterr().err
    found = diagnose(result.run)
    assert len(found) >= 2 and {entry.n_draws for entry in found} == {5}
    assert [entry._asdict() for entry in found] == told(tmp_path / "run")
    name = registry.load(sampler).objective_name
    assert found[0].told(name) + "\n" in err and found[1].told() + "\n" in err
    assert f"note: {name}: {found[0].problem}\n" in err


def test_diagnoses_are_those_of_the_recorded_lines(
    fit_tiny: Fit, sampler: str, tmp_path: Path
) -> None:
    result = fit_tiny(tmp_path / "run", sampler, 13, CHAINS)
    found = traces(result.run.metrics(), burn_in=2, record_every=2)
    expected = [row["chains"]["objective"] for row in rows(tmp_path / "run")]
    assert [row["iteration"] for row in rows(tmp_path / "run")] == [2, 4, 6, 8, 10, 12, 13]
    assert found["objective"].T.tolist() == expected[1:-1]


@pytest.mark.slow
def test_without_the_extra_a_fit_of_several_chains_says_so_and_goes_on(
    fit_tiny: Fit,
    sampler: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "arviz_stats"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    assert fit_tiny(tmp_path / "two", sampler, 6, CHAINS, quiet=False).status == "done"
    assert capsys.readouterr().err.count("pip install 'hiertopics[diagnostics]'") == 1
    assert told(tmp_path / "two") == []
    assert fit_tiny(tmp_path / "one", sampler, 6, quiet=False).status == "done"
    assert "pip install" not in capsys.readouterr().err


def test_a_run_that_drew_nothing_is_no_sampler_s(finished: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match="draws no samples"):
        diagnose(RunDir.open(finished("hlda-variational")))


@pytest.mark.slow
def test_the_most_probable_draw_is_the_model_where_it_is_asked_for(
    fit_tiny: Fit, sampler: str, tmp_path: Path
) -> None:
    """Best of all chains after the burn-in; the last draw of the most probable chain else."""
    every = [*CHAINS, "output.record_every=1", "inference.keep_every=1"]
    best = fit_tiny(tmp_path / "best", sampler, ITERATIONS, [*every, "inference.summarise=map"])
    last = fit_tiny(tmp_path / "last", sampler, ITERATIONS, [*every, "inference.summarise=last"])
    told = np.array([row["chains"]["objective"] for row in rows(tmp_path / "best")])[2:]
    draws = [tree.phi for tree, _ in best.run.draws()]
    assert len(draws) == len(told) == ITERATIONS - 2
    np.testing.assert_array_equal(best.run.tree.phi, draws[int(told.max(axis=1).argmax())])
    np.testing.assert_array_equal(last.run.tree.phi, draws[-1])


@pytest.mark.slow
def test_the_first_chain_is_the_chain_alone(fit_tiny: Fit, sampler: str, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "one", sampler, ITERATIONS)
    fit_tiny(tmp_path / "three", sampler, ITERATIONS, CHAINS)
    alone = [row["objective"] for row in rows(tmp_path / "one")]
    assert [row["chains"]["objective"][0] for row in rows(tmp_path / "three")] == pytest.approx(
        alone, rel=1e-12
    )


def test_every_sampler_is_diagnosed(fit_tiny: Fit, tmp_path: Path) -> None:
    result = fit_tiny(tmp_path / "run", "hdp-gibbs", 20)
    assert [entry.trace for entry in diagnose(result.run)] == ["objective", "n_topics"]
    assert told(tmp_path / "run")[0]["ess_bulk"] > 0
