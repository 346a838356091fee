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


def test_trees_show_their_hierarchy_and_flat_topics_do_not(call: Call, copied: Copied) -> None:
    tree, flat = copied("hlda-gibbs"), copied()
    header, first = call("eval", tree, "--heldout").out.splitlines()
    assert set(Hierarchy._fields) <= set(header.split())
    assert first.split()[-1].count("/") == 2  # specialization of three levels
    header, _ = call("eval", flat, "--heldout").out.splitlines()
    assert not set(Hierarchy._fields) & set(header.split())
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
