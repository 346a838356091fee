"""Hashes of fits are compared rightly; no hash is stored anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import golden, golden_fits
from benchmarks.process import ROOT
from hiertopics.contract import registry


def fitted(model: str = "a", phi: str = "a", theta: str = "b") -> dict[str, Any]:
    files = {"model.npz": model, "theta.npz": theta}
    arrays = {"model.npz": {"phi": phi, "parent": "p"}, "theta.npz": {"data": theta}}
    return {"code": 0, "files": files, "arrays": arrays}


def ended(code: int, said: str) -> dict[str, Any]:
    return {"code": code, "said": said}


def test_same_hashes_are_equal() -> None:
    compared = golden.compare({"x": fitted()}, {"x": fitted()})
    assert compared.all_equal
    assert list(golden.lines(compared, "abc")) == ["equal: 1 fits equal"]


def test_files_that_differ_are_named_with_their_arrays() -> None:
    compared = golden.compare(
        {"x": fitted(), "y": fitted()}, {"x": fitted("c", "c"), "y": fitted()}
    )
    assert not compared.all_equal
    assert compared.differ == {"x": "model.npz (phi)"}
    assert compared.equal == ["y"]


def test_a_file_whose_arrays_are_the_same_differs_all_the_same() -> None:
    assert golden.compare({"x": fitted()}, {"x": fitted("c")}).differ == {"x": "model.npz"}


def test_a_file_that_one_side_lacks_differs() -> None:
    more = fitted()
    more["files"]["paths.npz"], more["arrays"]["paths.npz"] = "q", {"node": "q"}
    for pair in ((fitted(), more), (more, fitted())):
        found = golden.compare({"x": pair[0]}, {"x": pair[1]})
        assert found.differ == {"x": "paths.npz (node)"}


def test_what_the_earlier_commit_refuses_is_named_and_does_not_fail() -> None:
    compared = golden.compare({"x": ended(2, "no such setting")}, {"x": fitted()})
    assert compared.all_equal
    assert compared.unknown == {"x": "no such setting"}
    assert "unknown to abc x: no such setting" in list(golden.lines(compared, "abc"))


@pytest.mark.parametrize("code", [1, 2, 70])
def test_what_this_commit_does_not_fit_fails(code: int) -> None:
    for earlier in (fitted(), ended(2, "unknown")):
        assert not golden.compare({"x": earlier}, {"x": ended(code, "broken")}).all_equal


def test_what_failed_before_and_fits_now_differs() -> None:
    assert not golden.compare({"x": ended(1, "broken")}, {"x": fitted()}).all_equal


def test_every_backend_and_every_variant_is_fitted(tmp_path: Path) -> None:
    fits = golden_fits.fits(tmp_path)
    assert len({fit.name for fit in fits}) == len(fits)
    for name, entry in registry.BACKENDS.items():
        own = [fit.words for fit in fits if fit.name.startswith(f"{name}/")]
        assert own, name
        for word, variant in entry.variants.items():
            assert any(variant.setting in words for words in own), f"{name}:{word}"
    assert golden_fits.fits(tmp_path, "lda-gibbs/sparse/*/1") == [
        fit for fit in fits if fit.name == "lda-gibbs/sparse/planted/1"
    ]


@pytest.mark.slow
def test_the_process_that_fits_takes_the_package_that_it_is_given(tmp_path: Path) -> None:
    golden_fits.write_corpora(tmp_path)
    fits = golden_fits.fits(tmp_path, "multinomial/default/planted/0")
    kept = tmp_path / "kept.json"
    found = golden.fit(fits, ROOT, lambda line: None, kept)
    assert set(found.fits[fits[0].name]["files"]) == {"model.npz", "theta.npz", "tree.json"}
    told: list[str] = []
    assert golden.fit(fits, ROOT, told.append, kept) == found
    assert not told, "what is kept is not fitted again"
    (tmp_path / "hiertopics").mkdir()
    (tmp_path / "hiertopics" / "__init__.py").write_text("", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", str(golden.CHILD)],
        input="",
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert str(tmp_path) in done.stdout
