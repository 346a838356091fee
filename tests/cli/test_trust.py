"""Code that settings name: only what the user names is run, and what a call is told to trust."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import hiertopics
from hiertopics import cli
from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.corpus.formats import trust

pytest.importorskip("sklearn.feature_extraction.text")

LINES = '{"text": "new york has trees"}\n{"text": "a wood of trees"}\n{"text": "leaves fall"}\n'
SHORT = ("--iterations", 2, "--holdout", "none", "-q")


@pytest.fixture
def mailed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a config that names code, in a folder of its own; the code leaves a mark."""
    folder = tmp_path / "mailed"
    folder.mkdir()
    (tmp_path / "a.jsonl").write_text(LINES)
    (tmp_path / "marking.py").write_text(
        f"open({str(tmp_path / 'mark')!r}, 'w').close()\ndef cut(text):\n    return text.split()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(trust, "_named", set())
    config = folder / "own.yaml"
    config.write_text("backend: hdp-cvb0\nmodel: {truncation: 3}\ndata: {tokenizer: marking:cut}\n")
    yield config
    sys.modules.pop("marking", None)


REFUSAL = "marking:cut is code that a config file or a run names; {} runs it"


@pytest.mark.parametrize("name", ["own.yaml", "config.yaml", "link.yaml"])
def test_no_config_file_runs_code_unasked(
    call: Callable[..., Any], tmp_path: Path, mailed: Path, name: str
) -> None:
    """Whatever its name, and whatever lies beside it: only -s and flags are trusted."""
    config = mailed.parent / name
    if name == "link.yaml":
        config.symlink_to(mailed)
    elif config != mailed:
        mailed.rename(config)
    for words_of in (
        ("fit", "a.jsonl", "-c", config, "-o", "r", *SHORT),
        ("sweep", config, "a.jsonl", "--seeds", "0:2"),
    ):
        done = call(*words_of)
        assert (done.code, done.out) == (2, "")
        assert done.err == f"hiertopics: error: data.tokenizer: {REFUSAL.format(trust.FLAG)}\n"
        assert not (tmp_path / "mark").exists() and not (tmp_path / "r").exists()


def test_a_config_file_runs_code_where_it_is_trusted(
    call: Callable[..., Any], tmp_path: Path, mailed: Path
) -> None:
    done = call("sweep", mailed, "a.jsonl", "--seeds", "0:2", "--trust-tokenizer")
    assert done.code == 0 and not (tmp_path / "mark").exists()
    lines = done.out.splitlines()
    assert len(lines) == 2 and all(" --trust-tokenizer " in line for line in lines)
    assert call(*lines[0].split()[1:], *SHORT).code == 0
    assert (tmp_path / "mark").exists()
    # It holds for one command alone.
    assert call("fit", "a.jsonl", "-c", mailed, "-o", "r", *SHORT).code == 2


def test_a_command_that_was_not_understood_leaves_no_trust(tmp_path: Path, mailed: Path) -> None:
    """Python of the same process asks for its own argument afterwards."""
    command = cli.group.get_command(click.Context(cli.group), "fit")
    assert command is not None
    words = ["a.jsonl", "--trust-tokenizer", "--iterations", "many"]
    # The context stays alive: its collection would end the trust too.
    with pytest.raises(click.UsageError, match="many") as refused:
        command.make_context("fit", words)
    assert refused.value.ctx is not None
    with pytest.raises(UsageError, match=re.escape(REFUSAL.format("trust_tokenizer=True"))):
        hiertopics.fit(tmp_path / "a.jsonl", config=mailed, iterations=2, quiet=True)


def test_what_the_user_names_is_trusted(
    call: Callable[..., Any], tmp_path: Path, mailed: Path
) -> None:
    mailed.write_text("backend: hdp-cvb0\nmodel: {truncation: 3}\n")
    own = ("-s", "data.tokenizer=marking:cut")
    assert call("fit", "a.jsonl", "-c", mailed, "-o", "r", *own, *SHORT).code == 0
    grid = ("--grid", "data.tokenizer=marking:cut,null")
    done = call("sweep", mailed, "a.jsonl", *grid)
    assert done.code == 0 and "--trust-tokenizer" not in done.out


def test_python_names_its_argument(tmp_path: Path, mailed: Path) -> None:
    texts, told = tmp_path / "a.jsonl", REFUSAL.format("trust_tokenizer=True")
    few: dict[str, Any] = {"iterations": 2, "holdout": "none", "quiet": True}
    asking: list[Callable[[], Any]] = [
        lambda: hiertopics.fit(texts, config=mailed, **few),
        lambda: hiertopics.sweep(mailed, texts),
    ]
    for asked in asking:
        with pytest.raises((UsageError, ConfigError), match=re.escape(told)):
            asked()
    assert "marking" not in sys.modules
    run = hiertopics.fit(texts, config=mailed, trust_tokenizer=True, **few)
    refused: list[Callable[[], Any]] = [
        lambda: run.infer(texts),
        lambda: run.resume(3, quiet=True),
        lambda: run.to_anndata(),
    ]
    for again in refused:
        with pytest.raises(UsageError, match=re.escape(told)):
            again()
    assert run.infer(texts, trust_tokenizer=True).unknown_tokens == 0
    assert run.resume(3, quiet=True, trust_tokenizer=True).iterations == 3
    assert "--trust-tokenizer" in hiertopics.sweep(mailed, texts, trust_tokenizer=True)[0].command
