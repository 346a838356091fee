"""The paragraph above the map says what the numbers say, and nothing where they say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import data_of
from scipy import sparse
from small_trees import tree_of

import hiertopics
from hiertopics.base.arrays import F64
from hiertopics.corpus.data.columns import moments
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.data.tree import Label
from hiertopics.runs.rundir import RunDir
from hiertopics.views.render import share_told
from hiertopics.views.report import lead
from hiertopics.views.report.documents import Shares
from hiertopics.views.report.lead import LeadInput, lead_part, lead_text
from hiertopics.views.report.topics import lay_out

Call = Callable[..., Any]
CARD: dict[str, Any] = {
    "corpus": {"n_docs": 60, "n_tokens": 4000},
    "split": {"spec": "none", "n_heldout": 0, "n_heldout_tokens": 0},
    "settings": [],
    "scores": [],
}
NAMES = ["root", "first", "second"]
ABOVE = sparse.csr_array([[1.0, 0, 0], [1, 1, 0], [1, 0, 1]])
"""Which of a root and its two branches lie at or above each."""


def told(theta: F64, tags: dict[str, Tags], card: dict[str, Any] = CARD) -> str:
    """Return the paragraph on a root with two branches; theta: [n_docs, 3], shares at nodes."""
    tree = tree_of([-1, 0, 0])
    known = LeadInput(tree, lay_out(tree), shares_of(theta), tags, card, "words")
    return lead_text(lead_part(known), NAMES)


def shares_of(theta: F64) -> Shares:
    """Return shares whose documents have their main topic where their largest share is."""
    return Shares(sparse.csr_array(theta), ABOVE, theta.argmax(axis=1))


def tags_of(values: list[str]) -> Tags:
    names = sorted(set(values))
    cells = (np.ones(len(values), bool), ([*range(len(values))], [names.index(v) for v in values]))
    return Tags(sparse.csr_array(cells, shape=(len(values), len(names))), tuple(names))


def moving(later: float) -> F64:
    """Return shares of 60 documents.

    A fifth of the first half, and a part ``later`` of the second, have their main topic in the
    first branch, and none of them most of its words.
    """
    place = np.arange(60) % 5
    is_first = place < 5 * np.where(np.arange(60) < 30, 0.2, later)
    first = np.where(is_first, 0.47, 0.43)
    return np.column_stack([np.full(60, 0.1), first, 0.9 - first])


YEARS = [str(1990 + doc // 6) for doc in range(60)]


@pytest.mark.parametrize("values", [YEARS, [f"{year}-05-01" for year in YEARS]])
def test_what_grows_and_shrinks_over_years_is_said(values: list[str]) -> None:
    text = told(moving(0.8), {"year": tags_of(values)})
    found = re.search(
        r"By year: first has (\S+)% of the documents from 1990 to 1994 and (\S+)% from 1995 to "
        r"1999, and second has 80% and 20%; a document counts at its main topic\.",
        text,
    )
    assert found is not None, text
    assert found.groups() == ("20", "80")
    assert "By year" not in told(moving(0.2), {"year": tags_of(values)})


def by_year(shares: list[float], n_docs: list[int]) -> str:
    """Return the paragraph on years from 2000 on; shares: of the first branch in each year."""
    is_first = [place < round(share * n) for share, n in zip(shares, n_docs, strict=True)
                for place in range(n)]  # fmt: skip
    first = np.where(is_first, 0.6, 0.3)
    theta = np.column_stack([np.full(len(first), 0.1), first, 0.9 - first])
    years = np.repeat([str(2000 + year) for year in range(len(shares))], n_docs)
    return told(theta, {"year": tags_of(years.tolist())})


def test_a_share_that_turned_is_not_said_to_grow_alone() -> None:
    text = by_year([0.05, 0.05, 0.05, 0.8, 0.6, 0.2, 1], [40] * 6 + [4])
    told = "By year: first rises to 80% of the documents in 2003 and falls to 20% in 2005, and "
    assert told in text
    assert "second falls to 20% in 2003 and rises to 80% in 2005; a document counts at" in text


def test_a_year_of_few_documents_is_no_turn_by_chance() -> None:
    """All of five documents are not sure to be apart from half of the others."""
    text = by_year([0.2, 0.2, 1, 0.6, 0.6, 0.6], [80, 80, 5, 80, 80, 80])
    assert "first has" in text and "rises to" not in text, text


def test_a_highest_share_that_is_not_apart_from_the_last_is_no_turn() -> None:
    text = by_year([0.05, 0.1, 0.8, 0.75], [20] * 4)
    assert re.search(
        r"first has 7\S+% of the documents from 2000 to 2001 and \S+% from 2002 to 2003", text
    )


def test_halves_of_a_column_end_at_a_value() -> None:
    text = by_year([0.1, 0.8], [40, 20])
    assert "first has 10% of the documents in 2000 and 80% in 2001" in text


def test_periods_begin_where_enough_documents_are() -> None:
    """One document of long ago is in no period."""
    text = by_year([1, *[0] * 8, 0.1, 0.8], [1, *[0] * 8, 400, 400])
    assert "first has 10% of the documents in 2009 and 80% in 2010" in text, text


def test_a_group_that_stands_out_is_said() -> None:
    groups = tags_of(["Ann"] * 30 + ["Bob"] * 30)
    text = told(moving(0.8), {"author": groups})
    first = "80% of the documents with author: Bob have their main topic in first, and 20% of the"
    second = "80% of the documents with author: Ann have their main topic in second, and 20% of the"
    assert first in text or second in text
    assert "author" not in told(moving(0.2), {"author": groups})


def test_a_code_is_told_as_a_group_and_never_as_time() -> None:
    """Nothing rises or falls over areas 0 and 1, and what comes after them is still found."""
    codes = tags_of([str(doc // 30) for doc in range(60)])
    text = told(moving(0.8), {"area": codes})
    assert not re.search("By area|rises|falls|has \\d+%", text), text
    assert "% of the documents with area: " in text
    assert "By year: first has" in told(moving(0.8), {"area": codes, "year": tags_of(YEARS)})


def test_shares_of_a_group_are_those_of_its_bars(
    finished: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not means of shares of words, which are shares neither of words nor of documents."""
    monkeypatch.setattr(lead, "STANDARD_ERRORS", 0.0)
    monkeypatch.setattr(lead, "FEWEST", 3)
    values = ["old", "new"]
    (tmp_path / "kind").write_text("".join(f"{values[doc % 5 > 1]}\n" for doc in range(30)))
    page, sides = tmp_path / "page.html", [f"kind={tmp_path / 'kind'}"]
    hiertopics.report(finished("nhdp-variational"), output=page, sides=sides)
    data = data_of(page)
    at = next(place for place, piece in enumerate(data["lead"]) if "kind: " in str(piece))
    before, branch, after = data["lead"][at : at + 3]
    own, name = re.findall(r"(\S+) of the documents with kind: (\w+) have", before)[0]
    (column,) = data["columns"]
    first = sum(column["node_n"][:branch])
    cells = slice(first, first + column["node_n"][branch])
    found = dict(zip(column["node_value"][cells], column["node_count"][cells], strict=True))
    bars = {
        value: share_told(found.get(place, 0) / column["totals"][place])
        for place, value in enumerate(column["values"])
    }
    assert bars.pop(name) == own and after.startswith(f", and {bars.popitem()[1]} of the others.")


def test_without_a_topic_no_branch_is_named() -> None:
    tree = tree_of([-1])
    tree = replace(tree, kind=np.array([1], dtype=np.int8))
    none = sparse.csr_array((60, 0))
    shares = Shares(none, sparse.csr_array((0, 0)), np.full(60, -1))
    for values in (YEARS, ["a", "b"] * 30):
        known = LeadInput(tree, lay_out(tree), shares, {"column": tags_of(values)}, CARD, "words")
        assert "column" not in lead_text(lead_part(known), [])


def test_a_hidden_branch_is_counted_and_not_spoken_of() -> None:
    tree, theta = tree_of([-1, 0, 0]), moving(0.8)
    shares = shares_of(theta)
    tags = {"year": tags_of(YEARS)}
    known = LeadInput(tree, lay_out(tree), shares, tags, CARD, "words")
    whole = lead_text(lead_part(known), NAMES)
    assert "in 2 topics." in whole and "The largest are" in whole and "first has" in whole
    without = lead_text(lead_part(known._replace(labels={1: Label(hidden=True)})), NAMES)
    assert "in 1 topic (1 hidden)." in without and "By year: second has" in without
    assert "first" not in without and "no branch" not in without


def test_a_manifest_without_a_number_of_documents_names_none() -> None:
    """As of a run that somebody altered; the page shows the rest."""
    text = told(moving(0.8), {}, {**CARD, "corpus": {"n_docs": None, "n_tokens": None}})
    assert text.startswith("The documents are in 2 topics.")


def test_a_share_that_is_not_zero_is_not_told_as_zero() -> None:
    theta = np.tile([0.1, 0.6, 0.3], (3000, 1))
    theta[0] = [0.5, 0.25, 0.25]
    assert "1 document (<0.1%) fits no branch: none has a third of its words." in told(theta, {})


def test_a_tree_whose_support_nobody_measured_says_so() -> None:
    text = told(moving(0.8), {})
    assert "How many branches come back if a tenth of the documents is left out was not" in text
    assert " measured; hiertopics support RUN measures it." in text


def test_documents_of_no_branch_are_counted_and_scores_told() -> None:
    theta = moving(0.8)
    theta[:3] = [0.5, 0.25, 0.25]
    score = {"perplexity": 812.4, "standard_error": 0.01}
    text = told(theta, {}, {**CARD, "scores": [score]})
    assert "3 documents (5.0%) fit no branch: none has a third of their words." in text
    assert "Each document has a branch with a third of its words" in told(moving(0.8), {})
    assert text.endswith(
        "Perplexity of held-out words: 812 ± 8, the uncertainty of a choice among so many words."
    )
    assert text.startswith("60 documents with 4,000 words in 2 topics.")
    assert "perplexity" not in told(theta, {})


@pytest.mark.parametrize(
    ("spec", "told_of_it"),
    [
        ("docs:0.1@0", "; 7 more documents are held out"),
        ("tokens:0.2@0", "; 1,100 more words are held out"),
        ("none", ""),
    ],
)
@pytest.mark.parametrize(
    ("settings", "dropped"),
    [
        ([["data.stop_words", "english", None]], "stop words are not counted"),
        ([["data.stop_words", "english", None], ["data.min_df", 2, 1]],
         "stop words and rare words are not counted"),
        ([["data.min_df", 2, 1], ["data.max_df", 0.5, 1.0], ["data.stop_words", "english", None]],
         "stop words, rare words and frequent words are not counted"),
        ([["data.text_field", "text", None]], ""),
    ],
)  # fmt: skip
def test_what_is_not_in_the_counts_is_said_beside_them(
    spec: str, told_of_it: str, settings: list[list[Any]], dropped: str
) -> None:
    """Documents that are held out, and words that are dropped."""
    n_docs = {"docs:0.1@0": 7, "tokens:0.2@0": 60, "none": 0}[spec]
    split = {"spec": spec, "n_heldout": n_docs, "n_heldout_tokens": 1100}
    text = told(moving(0.8), {}, {**CARD, "split": split, "settings": settings})
    behind = f"{told_of_it}{'; ' if dropped else ''}{dropped}."
    assert text.startswith(f"60 documents with 4,000 words in 2 topics{behind} The largest")


def test_one_of_a_kind_is_told_in_the_singular() -> None:
    tree, theta = tree_of([-1, 0, 1]), np.array([[0.1, 0.2, 0.7]])
    above = sparse.csr_array([[1.0, 0, 0], [1, 1, 0], [1, 1, 1]])
    shares = Shares(sparse.csr_array(theta), above, np.array([2]))
    card = {**CARD, "corpus": {"n_docs": 1, "n_tokens": 1}}
    text = lead_text(lead_part(LeadInput(tree, lay_out(tree), shares, {}, card, "words")), NAMES)
    assert text.startswith("1 document with 1 word in 1 branch and 1 topic below it.")


def test_only_numbers_and_dates_are_moments() -> None:
    assert moments(["1990-01", "1990-07"]) == pytest.approx([1990, 1990.5])
    assert moments(["3", "x"]) is None and moments(["nan", "1"]) is None and moments([]) is None


@pytest.mark.slow
def test_the_page_has_the_paragraph_and_its_title(
    finished: Callable[..., Path], call: Call, tmp_path: Path
) -> None:
    run = finished("nhdp-variational")
    title = "Bread & <i>wine</i>"
    assert call("report", run, "-o", "page.html", "--title", title).code == 0
    data, text = data_of(tmp_path / "page.html"), (tmp_path / "page.html").read_text("utf-8")
    assert data["title"] == title and "<title>Bread &amp; &lt;i&gt;wine" in text
    n_docs = len(RunDir(run).split.train_docs)
    assert data["lead"][0].startswith(f"{n_docs} documents with ")
    assert {piece for piece in data["lead"] if isinstance(piece, int)} <= set(
        np.flatnonzero(np.array(data["nodes"]["parent"]) == 0).tolist()
    )
    assert f'<p class="lead">{n_docs} documents with ' in text


def test_fit_writes_its_page_beside_the_run(tiny_file: Path, call: Call, tmp_path: Path) -> None:
    done = call("fit", tiny_file, "-b", "multinomial", "-o", "runs/mine", "--report")
    assert done.code == 0 and done.out.splitlines()[-1] == "runs/mine"
    assert done.err.splitlines()[-1].startswith("page: runs/mine.html (")
    assert data_of(tmp_path / "runs/mine.html")["card"]["backend"] == "multinomial"
    assert "hiertopics report runs/mine --open" in done.err
    call("fit", tiny_file, "-b", "multinomial", "-o", "runs/other", "-q")
    assert not (tmp_path / "runs/other.html").exists()
