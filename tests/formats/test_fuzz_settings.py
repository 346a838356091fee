"""Spoilt configs and stop lists: every problem in one clear line with the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fuzzing import common, spoilt
from hypothesis import example, given, settings, strategies as st
from judging import INTERNALS, LONGEST

from hiertopics.base.errors import ConfigError, DataError, UsageError
from hiertopics.corpus.corpora import dataset
from hiertopics.runs.experiment import read_experiment
from hiertopics.settings.config import DataConfig, dump

YAML = b"""backend: hdp-pcvb0
seed: 3
model: {alpha: 1.5, truncation: 10}
data:
  corpus: a.ldac
  holdout: "docs:0.1@0"
  min_df: 2
  discretise: {method: quantile, bins: 5}
inference:
  iterations: 20
"""
BOMB = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c, *%c, *%c]\n" % (c, c, c - 1, c - 1, c - 1, c - 1) for c in range(98, 118)
)


@settings(common, max_examples=150)
@example(content=BOMB + b"seed: *u\n")
@example(content=b'data: {corpus: "a\\0b"}\n')
@example(content=b"a: &a {b: *a}\n")
@example(content=b"backend:\n")
@given(content=spoilt(YAML))
def test_a_spoilt_config_is_refused_clearly_or_sound(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(content)
    try:
        experiment = read_experiment({}, path)
    except ConfigError as error:
        for problem in error.problems:
            assert problem.isprintable() and len(problem) <= LONGEST, problem
            assert not INTERNALS.search(problem), problem
            assert "my.yaml" in problem or problem.startswith("backend must be a name"), problem
    except UsageError as error:
        assert "backend" in str(error) and len(str(error)) <= LONGEST
    else:
        (tmp_path / "again.yaml").write_text(dump(experiment), encoding="utf-8")
        assert read_experiment({}, tmp_path / "again.yaml") == experiment


@common
@given(data=st.data())
def test_a_spoilt_stop_list_is_refused_clearly_or_sound(tmp_path: Path, data: Any) -> None:
    (tmp_path / "a.ldac").write_text("1 0:1\n2 0:1 1:2\n")
    (tmp_path / "a.vocab").write_text("ant\nbee\n")
    (tmp_path / "stop").write_bytes(data.draw(spoilt(b"ant\nthe of\n")))
    config = DataConfig(corpus=str(tmp_path / "a.ldac"), stop_words=str(tmp_path / "stop"))
    try:
        corpus = dataset.load_corpus(config)
    except DataError as error:
        assert error.path.endswith("stop") and "stop words" in error.what
        assert not INTERNALS.search(str(error)) and str(error).isprintable()
    else:
        assert set(corpus.vocab) <= {"ant", "bee"} and corpus.n_docs == 2


@pytest.mark.parametrize("name", ["gone", ".", "a\0b"])
def test_a_stop_list_that_is_no_file_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.ldac").write_text("1 0:1\n")
    stop = f"{tmp_path}/{name}"
    with pytest.raises(DataError, match="cannot be read"):
        dataset.load_corpus(DataConfig(corpus=str(tmp_path / "a.ldac"), stop_words=stop))
