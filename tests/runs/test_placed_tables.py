"""``infer -o``: the suffix tells the form, and every form says where documents are placed."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]


@pytest.mark.parametrize("backend", ["hlda-variational", "hdp-pcvb0"])
def test_a_table_has_a_line_per_document(
    call: Call, finished: Callable[..., Path], tiny_file: Path, tmp_path: Path, backend: str
) -> None:
    run = finished(backend)
    assert call("infer", run, tiny_file, "-o", "new.csv").code == 0
    assert call("infer", run, tiny_file, "-o", "new.jsonl").code == 0
    found = hiertopics.infer(run, tiny_file)
    theta, kind = found.theta.toarray(), RunDir(run).tree.kind
    lines = (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "new.csv").read_text(encoding="utf-8"))))
    assert len(records) == len(rows) == len(theta)
    for doc, (record, row) in enumerate(zip(records, rows, strict=True)):
        assert record["doc"] == int(row["doc"]) == doc + 1
        assert record["words"] == found.corpus.doc_lengths[doc]
        shares = [share for _, share in record["topics"]]
        assert shares == sorted(shares, reverse=True) and min(shares, default=1) >= 0.01
        assert all(theta[doc, node] == share for node, share in record["topics"])
        largest = np.flatnonzero(kind == 0)[theta[doc, kind == 0].argmax()]
        assert not record["topics"] or theta[doc, record["topics"][0][0]] == theta[doc, largest]
        if found.paths is None:
            assert "path" not in record
        else:
            path = found.paths.node[doc]
            assert record["path"] == path[path >= 0].tolist()
            assert row["path"] == " ".join(map(str, record["path"]))
            assert record["probability"] == np.exp(found.paths.log_prob[doc])


@pytest.mark.parametrize("name", ["new.feather", "new.json", "new.txt"])
def test_a_suffix_that_would_lie_is_refused(
    call: Call, finished: Callable[..., Path], tiny_file: Path, tmp_path: Path, name: str
) -> None:
    outcome = call("infer", finished(), tiny_file, "-o", name)
    assert (outcome.code, outcome.out) == (2, "") and outcome.err.count("\n") == 1
    assert ".npz .csv .jsonl .parquet" in outcome.err and not (tmp_path / name).exists()


@pytest.mark.parametrize("backend", ["hlda-variational", "hdp-pcvb0"])
def test_parquet_holds_what_jsonl_holds(
    call: Call, copied: Callable[..., Path], tiny_file: Path, tmp_path: Path, backend: str
) -> None:
    import pyarrow.parquet

    run = copied(backend)
    for labelled in (False, True):
        if labelled:
            call("label", run, 0, "every thing")
        for name in ("new.parquet", "new.jsonl"):
            assert call("infer", run, tiny_file, "-o", name).code == 0
        rows = pyarrow.parquet.read_table(tmp_path / "new.parquet").to_pylist()
        lines = (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()
        wanted = [json.loads(line) for line in lines]
        for row in rows:
            row["topics"] = [[pair["id"], pair["share"]] for pair in row["topics"]]
        assert rows == wanted and ("topic_name" in rows[0]) == labelled


def test_parquet_without_pyarrow_is_told_before_the_work(
    call: Call,
    finished: Callable[..., Path],
    tiny_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    told = call("infer", finished(), tiny_file, "-o", "new.parquet")
    assert told.code == 2 and "pip install 'hiertopics[parquet]'" in told.err
    assert not (tmp_path / "new.parquet").exists()
