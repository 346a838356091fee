"""The page can be read: on a phone, on paper, and in the colours, letters and names it uses."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from browsing import IN_BROWSER, Opened
from pages import data_of, reshaped, sums

import hiertopics
from hiertopics.contract import registry
from hiertopics.corpus.data.tree import ROOT

Show = Callable[..., Opened]
Finished = Callable[..., Path]
pytestmark = IN_BROWSER
PAPER = {"width": 718, "height": 1046}
"""A page of A4 with usual margins, in pixels of CSS."""


@pytest.fixture
def page(finished: Finished, tmp_path: Path) -> Path:
    """Return the page of a tree with years."""
    (tmp_path / "years").write_text("".join(f"{1990 + doc % 6}\n" for doc in range(30)))
    sides = [f"year={tmp_path / 'years'}"]
    return hiertopics.report(
        finished("nhdp-variational"), output=tmp_path / "page.html", sides=sides
    ).path


@pytest.mark.parametrize("address", ["documents", "model"])
def test_a_view_that_is_not_about_topics_has_a_phone_for_itself(
    page: Path, show: Show, address: str
) -> None:
    """The map and the outline stand above topics alone."""
    opened = show(page, 390, address, reduced_motion="reduce")
    assert opened.page.locator("#tree").is_hidden()
    opened.page.evaluate("scrollTo(0, 0)")
    box = opened.page.locator("#detail h2").bounding_box()
    assert box is not None and box["y"] < 300
    opened.go("t0")
    assert opened.page.locator("#tree").is_visible()


@pytest.fixture
def wordy(fit_tiny: Callable[..., Any], tmp_path: Path) -> Path:
    """Return the page of texts of 40 words with dates."""
    rows = [{"text": " ".join(f"word{(n + i) % 40}" for i in range(20))} for n in range(30)]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "days").write_text("".join(f"2001-0{n % 9 + 1}-15\n" for n in range(30)))
    run, sides = tmp_path / "wordy", [f"day={tmp_path / 'days'}"]
    fit_tiny(run, "nhdp-variational", corpus=tmp_path / "texts.jsonl", holdout="none")
    return hiertopics.report(run, output=tmp_path / "wordy.html", sides=sides).path


def test_documents_of_a_topic_are_near_on_a_phone(wordy: Path, show: Show) -> None:
    """Long lists of words are folded, but not where there is room."""
    opened = show(wordy, 390, "t0")
    words = opened.page.locator(".words .meter:visible")
    assert words.count() == 8
    opened.page.fill("#relevance", "0.4")
    opened.page.click(".block:has(.words) summary")
    assert words.count() == 30
    opened.page.fill("#relevance", "0.6")
    assert words.count() == 30
    opened.page.set_viewport_size({"width": 1280, "height": 844})
    opened.page.wait_for_function("() => !document.querySelector('.words + details')")
    assert words.count() == 30


def test_the_table_tells_the_day_on_a_phone(wordy: Path, show: Show) -> None:
    """Elsewhere it has a column."""
    for width, has_day in ((390, True), (1280, False)):
        line = show(wordy, width, "documents").page.locator(".doctable .row .snippet").first
        assert line.inner_text().startswith("2001-0") == has_day


def test_the_first_page_of_paper_has_map_and_chart(page: Path, show: Show) -> None:
    """What explains mouse and keys does not stand there."""
    opened = show(page, 1280)
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size(PAPER)
    for place in ("#tree .picture svg", "#detail .chart"):
        opened.page.locator(place).wait_for()  # a page of another width draws its map anew
        box = opened.page.locator(place).bounding_box()
        assert box is not None and box["y"] + box["height"] < PAPER["height"], place
    assert opened.page.locator("h3", has_text="How to read this page").is_hidden()


def test_drawings_are_as_wide_as_paper_and_nothing_there_tells_of_clicks(
    page: Path, show: Show
) -> None:
    """Map, chart and heads have one left edge; signs of further levels and hints are away."""
    opened = show(page, 1280, reduced_motion="reduce")
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size(PAPER)
    opened.page.wait_for_function("() => document.querySelector('.picture svg').clientWidth > 700")
    for place in ("#tree .picture svg", "#detail .chart svg", "#detail h2", "#head h1"):
        box = opened.page.locator(place).bounding_box()
        assert box is not None and box["x"] < 1, place
        assert box["x"] + box["width"] > 0.98 * PAPER["width"] or "svg" not in place, place
    text = opened.page.inner_text("main")
    assert "›" not in text and "leads to" not in text
    opened.go("t0")
    text = opened.page.inner_text("main")
    assert "starts a search" not in text and "DOCUMENTS BY SHARE" not in text.upper()


@pytest.mark.parametrize("width", [390, 1280])
def test_letters_of_curves_have_their_size(page: Path, show: Show, width: int) -> None:
    """A drawing is as wide as its column: the card stands in two of them on wide screens."""
    opened = show(page, width, "model")
    scales = opened.page.locator("figure svg").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().width / one.viewBox.baseVal.width)"
    )
    assert scales and scales == pytest.approx([1] * len(scales), abs=0.02)


def test_the_model_card_names_the_axis_of_its_curves_and_its_columns_begin_together(
    page: Path, show: Show
) -> None:
    opened = show(page, 1280, "model")
    curves = opened.page.locator("figure svg")
    assert curves.count() and all("iteration" in text for text in curves.all_text_contents())
    places = opened.page.locator("#detail > .block").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect()).map(box => [box.left, box.top])"
    )
    tops = {left: min(top for x, top in places if x == left) for left, _ in places}
    assert len(tops) == 2 and len(set(tops.values())) == 1


def test_head_paragraph_and_map_have_one_left_edge_on_a_wide_screen(page: Path, show: Show) -> None:
    opened = show(page, 2200)
    edge = "one => one.getBoundingClientRect().left"
    places = [
        opened.page.locator(place).first.evaluate(edge)
        for place in ("#head h1", "#lead p", "#tree .map")
    ]
    assert places == pytest.approx([places[0]] * 3, abs=1) and places[0] > 200


def test_each_level_of_a_path_stands_further_in(
    copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, *range(8)])
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    data = data_of(page)["documents"]
    deepest = data["home"].index(max(data["home"]))
    opened = show(page, 390, address=f"d{sum(data['row_steps'][: deepest + 1]) + 1}")
    lefts = opened.page.locator(".path a").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().left)"
    )
    assert len(lefts) > 5 and lefts == sorted(set(lefts))
    assert opened.wider() <= 0


def test_a_search_without_results_says_what_is_searched_and_dims_all(
    finished: Finished, show: Show, tmp_path: Path
) -> None:
    page = hiertopics.report(finished("nhdp-variational"), output=tmp_path / "page.html").path
    opened = show(page, 1280)
    assert opened.find("zzzq") == "0 topics, 0 documents"
    n = data_of(page)["card"]["split"]["n_heldout"]
    said = opened.page.inner_text(".found .hint")
    assert said.startswith("Nothing holds all terms. A search looks at numbers, names and words")
    assert n and said.endswith(f"{n} documents that are held out are not searched.")
    dim = opened.page.locator(".picture svg > g").evaluate_all(
        """all => all.filter(one => one.querySelector("text[x]")).map(
          one => one.getAttribute("opacity"))"""
    )
    assert len(dim) > 2 and set(dim) == {"0.3"}
    assert opened.page.locator(".picture .own").count()
    opened.page.fill("#query", "")
    assert opened.page.locator(".picture [opacity]").count() == 0


def test_the_overview_shows_the_whole_map_again(
    copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, 0, 0, 1, 1, 3, 3])
    opened = show(hiertopics.report(run, output=tmp_path / "page.html").path, 1280)
    for node in (1, 3):
        opened.page.locator(f'.picture [data-node="{node}"]').click()
    assert opened.page.locator(".map .crumbs button").count() > 1
    opened.page.get_by_role("link", name="Overview").click()
    opened.page.wait_for_function(
        "() => document.querySelectorAll('.map .crumbs button').length === 1"
    )


def test_without_metadata_the_overview_lists_the_branches(
    copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, 0, 0, 0, 1, 1, 3])
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    nodes = data_of(page)["nodes"]
    first = [place for place, above in enumerate(nodes["parent"]) if above == 0]
    first.sort(key=lambda place: -nodes["below"][place])
    rows = show(page, 1280).page.locator(".branches tbody tr").all_inner_texts()
    told = [row.split("\t")[1:] for row in rows]
    wanted = [[str(nodes["end"][p] - p), str(nodes["branch_docs"][p])] for p in first]
    assert [row[:2] for row in told] == wanted
    assert [float(row[2].rstrip("%")) for row in told] == pytest.approx(
        [100 * nodes["below"][place] for place in first], abs=0.6
    )


def test_the_list_of_branches_is_not_wider_than_a_phone(
    copied: Finished, show: Show, tmp_path: Path
) -> None:
    """A long name is cut; numbers and heads stay in one line."""
    run = copied("nhdp-variational")
    for node in (1, 2):
        hiertopics.label(run, node, "authentication username version password certificate key")
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    opened = show(page, 390)
    table = opened.page.locator("table.branches")
    assert "authentication" in table.inner_text()
    assert opened.wider() <= 0
    assert all(cell.bounding_box()["height"] < 40 for cell in table.locator("td, thead th").all())


def test_results_of_a_search_have_the_names_of_the_map(page: Path, show: Show) -> None:
    data = data_of(page)
    nodes = data["nodes"]
    opened = show(page, 1280)
    opened.find(data["words"][nodes["words"][1][-1]])
    results = opened.page.locator("[aria-label='Topics found'] a.topic").all_inner_texts()
    names = opened.page.locator(".outline .what").all_inner_texts()
    found = [text.split("] ")[1].split(": ")[0] for text in results if text.startswith("[")]
    assert len(found) == len(results) > 0
    assert any(name.startswith(found[0]) for name in names)


def test_the_outline_has_the_measure_of_the_map(page: Path, show: Show) -> None:
    nodes = data_of(page)["nodes"]
    opened = show(page, 1280)
    opened.page.get_by_role("button", name="by documents").click()
    shown = opened.page.locator(".outline .item[data-node] .number").all_inner_texts()
    first = sorted(
        (place for place, above in enumerate(nodes["parent"]) if above == 0),
        key=lambda place: (-nodes["branch_docs"][place], place),
    )
    wanted = [nodes["branch_docs"][place] for place in (0, *first)]
    assert [int(text.split()[0]) for text in shown] == wanted


def test_the_address_of_a_held_out_document_says_so(page: Path, show: Show) -> None:
    rows = set(sums(data_of(page)["documents"]["row_steps"]))
    row = next(row for row in range(30) if row not in rows)
    opened = show(page, 1280, f"d{row + 1}")
    assert f"Document {row + 1} is held out" in opened.page.inner_text("#detail")
    opened.go("d31")
    assert "This report has no d31." in opened.page.inner_text("#detail")


def test_clusters_of_flat_topics_are_no_topics_of_a_comparison(
    finished: Finished, copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, 0])
    page = hiertopics.report(run, finished("hdp-gibbs"), output=tmp_path / "page.html").path
    data = data_of(page)
    ids = data["comparison"]["nodes"]["id"]
    topics = [name for name in ids if isinstance(name, int)]
    assert len(topics) < len(ids)
    opened = show(page, 1280, "compare")
    rows = opened.page.locator(".sides tbody tr").all_inner_texts()
    (counts,) = [row.split("\t")[1:] for row in rows if row.startswith("topics\t")]
    assert counts == [str(len(data["nodes"]["id"])), str(len(topics))]
    unmatched = [name for place, name in enumerate(ids) if place not in data["comparison"]["other"]]
    alone = sum(isinstance(name, int) for name in unmatched)
    facts = opened.page.locator("#detail .facts").first.inner_text().split("\n")
    assert facts[facts.index("only in the other") + 1] == str(alone)


def test_documents_go_from_branches_to_branches(
    copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    """Those below the root, as everywhere, however few they are."""
    run = reshaped(copied("hdp-pcvb0"), [ROOT, 0, 0, *[1] * 4, *[2] * 4])
    page = hiertopics.report(run, run, output=tmp_path / "page.html").path
    flows = data_of(page)["comparison"]["flows"]
    parents = data_of(page)["nodes"]["parent"]
    assert {parents[one] for one, _, _ in flows} <= {0, ROOT} and flows


def test_a_curve_of_a_number_is_called_so(finished: Finished, show: Show, tmp_path: Path) -> None:
    """``n_topics`` of the file of metrics is no word of a page."""
    page = hiertopics.report(finished("hdp-pcvb0"), output=tmp_path / "page.html").path
    assert [name for name in data_of(page)["card"]["trace"] if name.startswith("n_")]
    opened = show(page, address="model")
    opened.page.locator("#detail summary", has_text="more").click()
    names = [text.strip() for text in opened.page.locator("figcaption").all_inner_texts()]
    assert [name for name in names if name.startswith("number of ")]
    assert not [name for name in names if name.startswith("n ")]


def test_the_card_names_the_paper_of_the_backend(
    finished: Finished, show: Show, page: Path
) -> None:
    assert "J. Paisley, C. Wang" in show(page, address="model").page.inner_text("#detail")
    without = [name for name, entry in registry.OWN.items() if not entry.paper]
    assert without == ["multinomial"]
    other = page.with_name("other.html")
    hiertopics.report(finished("multinomial"), output=other)
    assert "paper of the backend" not in show(other, address="model").page.inner_text("#detail")


def test_a_setting_without_a_value_is_no_word_of_json(
    fit_tiny: Callable[..., Any], finished: Finished, show: Show, tmp_path: Path
) -> None:
    fit_tiny(tmp_path / "run", "multinomial", holdout="docs:0.2@0", data={"max_words": 1000})
    page = tmp_path / "page.html"
    hiertopics.report(tmp_path / "run", finished("multinomial"), page)
    row = show(page, address="compare").page.locator(".sides tr", has_text="data.max_words")
    assert row.locator("td").all_inner_texts() == ["1000", "–"]


@pytest.fixture
def named(fit_tiny: Callable[..., Any], tmp_path: Path) -> Callable[[list[str]], Path]:
    """Return a function: the page of documents with these names."""

    def make(names: list[str]) -> Path:
        texts = ("bread butter cheese wine", "goal match team coach")
        rows = [{"text": texts[n % 2], "id": name} for n, name in enumerate(names)]
        (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        fit_tiny(
            tmp_path / "run", corpus=tmp_path / "texts.jsonl", data={"id_field": "id"},
            holdout="none",
        )  # fmt: skip
        return hiertopics.report(tmp_path / "run", output=tmp_path / "page.html").path

    return make


def test_long_names_keep_the_end_that_tells_them_apart(
    named: Callable[[list[str]], Path], show: Show
) -> None:
    """Paths of modules differ at their end; a name that is read or copied is whole."""
    names = [f"package.subpackage._module_with_a_long_name._function_{n:02}" for n in range(20)]
    links = show(named(names), 390, "documents").page.locator(".doctable a.docname")
    shown = links.all_inner_texts()
    assert shown == sorted(names)[: len(shown)] and shown
    ends = links.locator("span:last-child")
    assert ends.all_inner_texts() == [name[-16:] for name in shown]
    right = "all => all.map(one => one.getBoundingClientRect().right)"
    edges = links.locator("xpath=ancestor::*[@role='cell']").evaluate_all(right)
    assert all(end <= edge + 1 for end, edge in zip(ends.evaluate_all(right), edges, strict=True))
    assert links.first.evaluate("link => getComputedStyle(link).textDecorationLine") == "none"


def test_long_titles_keep_their_beginning(named: Callable[[list[str]], Path], show: Show) -> None:
    names = [f"{n:02} of the remarks on what is common to all of them" for n in range(20)]
    opened = show(named(names), 390, "documents")
    assert opened.page.locator(".docname .start").count() == 0


COLOURS = """all => all.map(one =>
  getComputedStyle(one).backgroundColor.match(/\\d+/g).map(Number))"""


def test_topics_of_one_branch_have_colours_apart_in_a_document(
    copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, 0, 0, *[1] * 6])
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    rows = data_of(page)["documents"]["row_steps"]
    seen = 0
    for scheme in ("light", "dark"):
        opened = show(page, address=f"d{rows[0] + 1}", color_scheme=scheme)
        for row in (sum(rows[: n + 1]) for n in range(6)):
            opened.go(f"d{row + 1}")
            colours = opened.page.locator(".legend .painted").evaluate_all(COLOURS)
            for one, other in combinations(colours, 2):
                assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 30
            seen = max(seen, len(colours))
    assert seen >= 3
