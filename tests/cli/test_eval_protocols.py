"""``eval --protocol`` as typed: what help lists, what tables show, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.corpus.data.quality import Hierarchy
from hiertopics.scoring.protocols import PROTOCOLS

Call = Callable[..., Any]
Copied = Callable[..., Path]


@pytest.mark.parametrize("command", ["eval", "compare"])
def test_help_lists_every_protocol(call: Call, command: str) -> None:
    words = call(command, "-h").out.replace(",", " ").replace(".", " ").split()
    assert set(PROTOCOLS) <= set(words)


def test_the_score_by_paths_is_printed_and_kept(call: Call, copied: Copied) -> None:
    run = copied("hlda-gibbs")
    record = json.loads(call("eval", run, "--heldout", "--protocol", "path", "--json").out)
    assert record == json.loads((run / "eval" / "path.json").read_text())
    assert record["protocol"] == "path" and record["perplexity"] > 1


def lines_of(shown: str) -> dict[str, str]:
    """Return the values that ``eval`` shows of one run, by measure."""
    pairs = (line.partition(":") for line in shown.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def test_one_run_has_a_line_for_each_measure_with_its_error(call: Call, copied: Copied) -> None:
    run = copied("hlda-gibbs")
    shown = call("eval", run, "--heldout", "--cache").out
    assert all(len(line) <= 80 for line in shown.splitlines()[1:])
    told, record = lines_of(shown), json.loads(call("eval", run, "--cache", "--json").out)
    assert list(told)[:3] == ["run", "protocol", "perplexity"] and told["run"] == str(run)
    value, error = record["perplexity"], record["standard_error"]
    assert told["perplexity"] == f"{value:.1f} ± {value * error:.1f}"
    value = record["log_likelihood_per_word"]
    assert told["log_likelihood_per_word"] == f"{value:.4f} ± {error:.4f}"
    error = record["standard_error_with_cache"]
    assert told["log_likelihood_per_word_with_cache"].endswith(f" ± {error:.4f}")
    assert "standard_error" not in told and "standard_error_with_cache" not in told
    assert int(told["n_tokens"]) == record["n_tokens"]


def test_rows_of_numbers_have_a_density_and_no_perplexity(call: Call, copied: Copied) -> None:
    run = copied("hca-variational")
    told = lines_of(call("eval", run, "--heldout").out)
    record = json.loads(call("eval", run, "--json").out)
    shown = (record["log_likelihood_per_row"], record["standard_error"])
    assert told["log_likelihood_per_row"] == "{:.2f} ± {:.2f}".format(*shown)
    assert "perplexity" not in told


def test_trees_show_their_hierarchy_and_flat_topics_do_not(call: Call, copied: Copied) -> None:
    tree, flat = copied("hlda-gibbs"), copied()
    told = lines_of(call("eval", tree, "--heldout").out)
    assert set(Hierarchy._fields) <= set(told)
    assert told["specialization"].count("/") == 2  # three levels
    assert not set(Hierarchy._fields) & set(lines_of(call("eval", flat, "--heldout").out))
    header, one, other = call("eval", tree, flat, "--heldout").out.splitlines()
    assert len(header.split()) == len(one.split()) == len(other.split())
    assert other.split()[-1] == "-"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--protocol", "path", "--k", "3"), "--k has no meaning"),
        (
            ("--protocol", "full", "--observed", "0.5"),
            "--observed has no meaning for protocol full",
        ),
        (("--protocol", "full", "--seed", "1"), "--seed has no meaning for protocol full"),
        (("--protocol", "completion", "--seed", "1"), "--seed has no meaning without --corpus"),
        (("--vocab", "words.txt"), "--vocab describes a file; name it with --corpus"),
    ],
)
def test_a_flag_without_meaning_is_refused(
    call: Call, copied: Copied, words: tuple[str, ...], complaint: str
) -> None:
    outcome = call("eval", copied("hlda-gibbs"), "--heldout", *words)
    assert outcome.code == 2 and complaint in outcome.err
