"""What commands print as JSON is JSON, also where a score is not defined."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

Call = Callable[..., Any]


def strict(text: str) -> Any:
    """Read JSON as the standard has it."""

    def refuse(word: str) -> NoReturn:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_a_corpus_of_one_document_has_no_coherence(call: Call, tmp_path: Path) -> None:
    """Its topics may be gone, and what is a mean over none is null."""
    (tmp_path / "o.ldac").write_text("3 0:2 1:1 4:1\n")
    settings = ("-b", "hdp-cvb0", "-s", "model.truncation=4", "--holdout", "tokens:0.2")
    assert call("fit", "o.ldac", *settings, "--iterations", 6, "-o", "r", "-q").code == 0
    for words in (
        ("eval", "r", "--heldout", "--json"),
        ("compare", "r", "--json"),
        ("topics", "r", "--format", "json"),
        ("show-tree", "r", "--format", "json"),
        ("infer", "r", "o.ldac", "-o", "t.npz", "--json"),
    ):
        outcome = call(*words)
        assert outcome.code == 0, outcome.err
        for line in [outcome.out] if words[0] == "show-tree" else outcome.out.splitlines():
            strict(line)
    record = strict(call("eval", "r", "--heldout", "--json").out)
    assert record["coherence_npmi"] is None and record["diversity"] is None
    assert strict((tmp_path / "r" / "eval" / "tokens.json").read_text()) == record
    told = call("eval", "r", "--heldout").out
    assert "perplexity:" in told and "coherence" not in told and "None" not in told
    strict((tmp_path / "r" / "manifest.json").read_text())
    for line in (tmp_path / "r" / "metrics.jsonl").read_text().splitlines():
        strict(line)
