"""Runs in the forms of other packages, and their objects as corpora."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import hiertopics as ht
from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.python.run import Run

RECORDS: dict[str, list[Any]] = {
    "body": ["a tree of topics", "the tree has leaves", "leaves fall", "topics of trees"],
    "name": ["a", "b", "c", "d"],
    "year": [2001, 2002, None, 2002],
}
FIELDS = {"text_field": "body", "id_field": "name"}


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def backend(request: pytest.FixtureRequest) -> str:
    pytest.importorskip(request.param)
    pytest.importorskip("narwhals")
    name: str = request.param
    return name


def frame_of(backend: str) -> Any:
    import narwhals.stable.v1 as nw

    chosen: Any = backend
    return nw.from_dict(RECORDS, backend=chosen).to_native()


def test_a_frame_of_texts_is_read_as_a_table_of_them(backend: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"backend": "lda-gibbs", "iterations": 1, "holdout": "none"}
    run = ht.fit(frame_of(backend), **how, data=FIELDS, run=tmp_path / "run")
    rows = [",".join(map(str, row)) for row in zip(*RECORDS.values(), strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["body,name,year", *rows]))
    same = ht.fit(tmp_path / "a.csv", **how, data=FIELDS)
    assert run.vocab == same.vocab and (run.tree.phi == same.tree.phi).all()
    assert run.documents is not None and list(run.documents.names or ()) == RECORDS["name"]
    import narwhals.stable.v1 as nw

    documents = nw.from_native(run.to_frame("documents", backend), eager_only=True)
    year = [None if value is None else str(value) for value in RECORDS["year"]]
    assert [value and str(value)[:4] for value in documents["year"].to_list()] == year
    again = ht.fit(frame_of(backend), **how | {"iterations": 2}, data=FIELDS, run=tmp_path / "run")
    assert again.iterations == 2, "the same frame goes on with its run"
    with pytest.raises(UsageError, match="has groups and labels in columns"):
        ht.fit(frame_of(backend), **how, data=FIELDS, groups=[["x"]] * 4)


def test_frames_of_topics_and_documents(finished: Callable[..., Path], backend: str) -> None:
    import narwhals.stable.v1 as nw

    run = Run.open(finished("hlda-variational"))
    found = nw.from_native(run.to_frame("topics", backend), eager_only=True)
    assert found["id"].to_list() == [row["id"] for row in ht.topics(run)]
    words = [" ".join(word for word, _ in row["words"]) for row in ht.topics(run, words=10)]
    assert found["words"].to_list() == words
    documents = nw.from_native(run.to_frame("documents", backend), eager_only=True)
    assert len(documents) == len(run.train_docs)
    assert documents["doc"].to_list() == [row["doc"] for row in ht.docs(run)]


def test_a_frame_of_nothing_is_refused(finished: Callable[..., Path]) -> None:
    run = Run.open(finished())
    with pytest.raises(UsageError, match="a frame of topics or documents, not of 'words'"):
        run.to_frame("words")
    with pytest.raises(UsageError, match="no data frame by 'paper'"):
        run.to_frame("topics", "paper")


def test_what_pyldavis_takes_are_distributions(finished: Callable[..., Path]) -> None:
    run = Run.open(finished())
    found = run.to_pyldavis()
    phi, theta = found["topic_term_dists"], found["doc_topic_dists"]
    assert phi.shape == (theta.shape[1], len(found["vocab"]))
    assert theta.shape[0] == len(found["doc_lengths"])
    assert phi.sum(axis=1) == pytest.approx(1) and theta.sum(axis=1) == pytest.approx(1)
    assert found["doc_lengths"].min() > 0 and found["term_frequency"].min() > 0
    assert found["doc_lengths"].sum() == found["term_frequency"].sum()
    with pytest.raises(UsageError, match="this run has vectors"):
        Run.open(finished("hca-variational")).to_pyldavis()


def test_traces_for_arviz_are_those_of_the_diagnosis(tiny_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("arviz_base")
    how: dict[str, Any] = {"backend": "lda-gibbs", "iterations": 6, "run": tmp_path / "run"}
    settings = {
        "inference.burn_in": 2,
        "inference.keep_every": 1,
        "inference.chains": 2,
        "output.record_every": 1,
        "model.n_topics": 3,
    }
    run = ht.fit(tiny_file, **how, overrides=settings)
    posterior = run.to_inference_data()["posterior"]
    rows = [row for row in run.metrics() if row["iteration"] > 2]
    assert len(rows) == 4
    for name in rows[0]["chains"]:
        assert posterior[name].dims[:2] == ("chain", "draw")
        assert posterior[name].values.T.tolist() == [row["chains"][name] for row in rows]
    with pytest.raises(UsageError, match="hdp-pcvb0 draws no samples"):
        ht.fit(
            tiny_file,
            backend="hdp-pcvb0",
            iterations=1,
            overrides={"model.truncation": 4},
        ).to_inference_data()


def test_anndata_comes_in_and_goes_out(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    counts = np.array([[2, 0, 3], [0, 1, 0], [1, 1, 1], [0, 0, 4]])
    cells = anndata.AnnData(sparse.csr_matrix(np.log1p(counts)))
    cells.var_names, cells.obs_names = ["g1", "g2", "g3"], ["c1", "c2", "c3", "c4"]
    how: dict[str, Any] = {
        "backend": "lda-gibbs",
        "iterations": 1,
        "holdout": "none",
        "overrides": {"model.n_topics": 2},
    }
    with pytest.raises(UsageError, match=r"holds no counts; put them into layers\['counts'\]"):
        ht.fit(cells, **how)
    cells.layers["counts"] = counts + 2**32
    with pytest.raises(HiertopicsError, match="larger than 2147483647"):
        ht.fit(cells, **how)
    cells.layers["counts"] = counts
    run = ht.fit(cells, **how)
    found = run.to_anndata()
    assert found.X.toarray().tolist() == counts.tolist()
    assert list(found.var_names) == ["g1", "g2", "g3"]
    assert (found.obsm["topics"] == run.theta.toarray()).all()
    assert (found.varm["topics"] == run.tree.phi.T).all()
    assert found.uns["topics"]["parent"].tolist() == run.tree.parent.tolist()
    found.write_h5ad(tmp_path / "a.h5ad")
    assert (anndata.read_h5ad(tmp_path / "a.h5ad").obsm["topics"] == run.theta.toarray()).all()
