"""Where a setting comes from: flags over --set over the config file over defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Call = Callable[..., Any]
CONFIG = {
    "backend": "hdp-cvb0",
    "seed": 11,
    "data": {"holdout": "docs:0.3@11"},
    "inference": {"iterations": 1},
    "model": {"alpha": 1.25, "truncation": 3},
}


@pytest.fixture
def settle(call: Call, tiny_file: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function: options of fit to the effective config of the run."""
    (tmp_path / "my.yaml").write_text(yaml.safe_dump(CONFIG))
    number = iter(range(100))

    def run(*words: object) -> dict[str, Any]:
        path = tmp_path / f"run-{next(number)}"
        outcome = call("fit", tiny_file, "-q", "-o", path, *words)
        assert outcome.code == 0, outcome.err
        found: dict[str, Any] = yaml.safe_load((path / "config.yaml").read_text())
        return found

    return run


SETS = (
    "-s",
    "backend=hdp-gibbs",
    "-s",
    "seed=12",
    "-s",
    "data.holdout=docs:0.4@12",
    "-s",
    "inference.iterations=2",
    "-s",
    "model.alpha=1.5",
)
FLAGS = ("-b", "hdp-pcvb0", "--seed", 13, "--holdout", "tokens:0.2@13", "--iterations", 3)


def layers_of(config: dict[str, Any]) -> list[Any]:
    return [
        config["backend"],
        config["seed"],
        config["data"]["holdout"],
        config["inference"]["iterations"],
        config["model"]["alpha"],
    ]


def test_the_file_wins_over_defaults(settle: Callable[..., dict[str, Any]]) -> None:
    config = settle("-c", "my.yaml")
    assert layers_of(config) == ["hdp-cvb0", 11, "docs:0.3@11", 1, 1.25]
    assert config["model"]["gamma"] == 1.0  # what the file leaves out stays a default


def test_sets_win_over_the_file(settle: Callable[..., dict[str, Any]]) -> None:
    config = settle("-c", "my.yaml", *SETS)
    assert layers_of(config) == ["hdp-gibbs", 12, "docs:0.4@12", 2, 1.5]
    assert config["model"]["truncation"] == 3


def test_flags_win_over_sets_and_file(settle: Callable[..., dict[str, Any]]) -> None:
    config = settle("-c", "my.yaml", *SETS, *FLAGS)
    assert layers_of(config) == ["hdp-pcvb0", 13, "tokens:0.2@13", 3, 1.5]


def test_the_beginning_of_a_name_is_a_backend_wherever_it_stands(
    call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "short.yaml").write_text("backend: mult\n")
    for words in (("-b", "mult"), ("-s", "backend=mult"), ("-c", "short.yaml")):
        done = call("fit", tiny_file, *words, "-q", "--iterations", 1, "--seed", len(words[1]))
        run = Path(done.out.strip())
        assert run.name == f"tiny-multinomial-s{len(words[1])}"
        assert "backend: multinomial\n" in (tmp_path / run / "config.yaml").read_text()
    assert call("config", "mult").out == call("config", "multinomial").out


def test_the_last_of_two_sets_wins(settle: Callable[..., dict[str, Any]]) -> None:
    words = (
        "-b",
        "hdp-pcvb0",
        "-s",
        "inference.iterations=0",
        "-s",
        "model.truncation=4",
        "-s",
        "model.truncation=6",
    )
    assert settle(*words)["model"]["truncation"] == 6


def test_a_flag_of_zero_counts(settle: Callable[..., dict[str, Any]]) -> None:
    assert settle("-c", "my.yaml", "--seed", 0)["seed"] == 0


def test_the_corpus_may_come_from_the_config_of_a_run(
    call: Call, copied: Callable[..., Path], tiny_file: Path, tmp_path: Path
) -> None:
    first = copied()
    outcome = call("fit", "-c", first / "config.yaml", "-o", "again", "-q")
    assert outcome == (0, "again\n", "")
    for name in ("model.npz", "theta.npz", "tree.json"):
        assert (tmp_path / "again" / name).read_bytes() == (first / name).read_bytes()


def test_the_config_of_a_run_continues_it(
    call: Call, copied: Callable[..., Path], tmp_path: Path
) -> None:
    run = copied()
    outcome = call("fit", "-c", run / "config.yaml", "-o", run, "--iterations", 10, "-q")
    assert outcome.code == 0
    assert json.loads((run / "manifest.json").read_text())["iterations"] == 10


def test_without_o_the_run_is_named_after_corpus_backend_and_seed(
    call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    outcome = call(
        "fit",
        tiny_file,
        "-b",
        "hdp-cvb0",
        "--seed",
        5,
        "--iterations",
        1,
        "-q",
        "-s",
        "model.truncation=3",
    )
    assert outcome.out == "runs/tiny-hdp-cvb0-s5\n"
    assert (tmp_path / "runs" / "tiny-hdp-cvb0-s5" / "manifest.json").exists()


def test_ten_seeds_share_one_split(call: Call, tiny_file: Path, tmp_path: Path) -> None:
    hashes = set()
    for seed in (0, 1, 2):
        path = tmp_path / str(seed)
        call("fit", tiny_file, "--seed", seed, "-o", path, "--iterations", 1, "-q")
        hashes.add(json.loads((path / "manifest.json").read_text())["split"])
    assert len(hashes) == 1
