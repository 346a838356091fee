"""Lists without brackets and percentages, where a key takes a list of numbers or a share."""

from __future__ import annotations

import pytest

from hiertopics.base.errors import ConfigError
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.runs.experiment import read_experiment
from hiertopics.settings.config import Experiment


def built(*overrides: str, backend: str = "nhdp-variational") -> Experiment:
    return read_experiment({"backend": backend}, None, overrides)


@pytest.mark.parametrize(
    ("given", "bracketed"),
    [("8,30", "[8,30]"), ("8, 30", "[8,30]"), ("8", "[8]"), ("8,300", "[8, 300]")],
)
def test_numbers_are_a_list_where_a_list_is_taken(given: str, bracketed: str) -> None:
    made = built(f"model.branches={given}", "data.ngram_range=1,2")
    assert made == built(f"model.branches={bracketed}", "data.ngram_range=[1,2]")


def test_two_numbers_of_one_process_need_no_brackets() -> None:
    bare, listed = (built(f"model.stop_prior={text}") for text in ("2,3.5", "[2, 3.5]"))
    assert bare == listed
    with pytest.raises(ConfigError, match=r"model\.stop_prior must be a list of .* got '1,2,3'"):
        built("model.stop_prior=1,2,3")


def test_a_percentage_is_a_share() -> None:
    assert built("data.max_df=90%", "data.min_df=1%") == built("data.max_df=0.9", "data.min_df=.01")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("branches=a,b", r"auto or a list, each a whole number >= 2, such as \[8,30\], got 'a,b'"),
        ("branches=1,5", r"such as \[8,30\], got '1,5'"),
        ("depth=3", r"unknown key 'depth' under model; model\.branches=\[8,30\] sets the nodes"),
    ],
)
def test_what_is_no_list_is_answered_with_one(name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        built(f"model.{name}")


@pytest.mark.parametrize(
    ("given", "spec"), [("10%", "docs:0.1"), ("12.5 %", "docs:0.125"), ("0.2", "docs:0.2")]
)
def test_a_share_for_a_held_out_part_is_answered_with_its_form(given: str, spec: str) -> None:
    told = f"data.holdout: {given} of the documents is {spec} \\(got '{given}'"
    with pytest.raises(ConfigError, match=told):
        parse_holdout(given)
    parse_holdout(spec)
    with pytest.raises(ConfigError, match=r"itself\); got 'x%'"):
        parse_holdout("x%")
