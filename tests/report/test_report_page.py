"""Reports in chromium: nothing is loaded, nothing fails, all can be reached, words stay words."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browsing import IN_BROWSER, SETTLED, Opened
from nights import by_night, daily
from pages import data_of, documents, reshaped, search, share_within, with_authors
from unsealed import unsealed

import hiertopics
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import ROOT
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.views.report import gathering, nodes

Call = Callable[..., Any]
pytestmark = IN_BROWSER
WIDTHS = (390, 768, 1280)
EVIL = (
    "</script><b>", "\x1b[31mred", "a\u202eb", 'say"hi"', "<img/src=x>", "=1+1", "日本",
    "\U0001f332", "x",
)  # fmt: skip
SHOWN = {"\x1b[31mred": r"\x1b[31mred", "a\u202eb": r"a\u202eb"}


@pytest.fixture(scope="module")
def reports(
    finished: Callable[..., Path],
    fit_tiny: Call,
    tiny_corpus: Corpus,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Path]:
    """Return a function: the report of a kind of run, made once."""
    folder = tmp_path_factory.mktemp("reports")

    def copied(backend: str, name: str) -> Path:
        return Path(shutil.copytree(finished(backend), folder / f"run-{name}"))

    def groups() -> Path:
        write_corpus(with_authors(tiny_corpus), folder / "tiny.ldac")
        fit_tiny(folder / "run-groups", "chdp-variational", corpus=folder / "tiny.ldac")
        return folder / "run-groups"

    def evil() -> Path:
        run = copied("hlda-variational", "evil")
        (run / "vocab.txt").write_text("".join(f"{word}\n" for word in EVIL), encoding="utf-8")
        return unsealed(run)

    def texts() -> Path:
        raw = folder / "texts.jsonl"
        begin = ("Bread & <b>butter</b>", "Cheese \x1b[1m wine", "A goal </script>", "The team won")
        rows = [{"text": f"{begin[n % 4]} {n % 3}", "id": f"note {n}"} for n in range(30)]
        raw.write_text("".join(json.dumps(row) + "\n" for row in rows))
        fit_tiny(folder / "run-texts", corpus=raw, data={"id_field": "id"})
        return folder / "run-texts"

    kinds: dict[str, Callable[[], Path]] = {
        "texts": texts,
        "tree": lambda: finished("hlda-variational"),
        "sticks": lambda: finished("tssb-mcmc"),
        "axes": lambda: finished("hca-variational"),
        "arranged": lambda: finished("lda-gibbs"),
        "one": lambda: finished("multinomial"),
        "groups": groups,
        "evil": evil,
        "mixed": lambda: reshaped(copied("hdp-pcvb0", "mixed"), [ROOT, 0, 0, 1, 1, 2, 2, 2]),
        "deep": lambda: reshaped(copied("hdp-pcvb0", "deep"), [ROOT, 0, 1, 2, 3]),
        "uneven": lambda: reshaped(
            copied("hdp-pcvb0", "uneven"),
            [ROOT] + [0] * 60 + [1 + b for b in range(60) for _ in range(int(260 * 0.86**b))],
        ),
        "large": lambda: reshaped(
            copied("hdp-pcvb0", "large"), [ROOT] + [0] * 49 + [1 + n % 49 for n in range(4950)]
        ),
    }

    def make(kind: str) -> Path:
        path = folder / f"{kind}.html"
        if not path.exists():
            run = kinds[kind]()
            n_docs = 30
            side = folder / "years"
            side.write_text("".join(f"{1990 + doc * doc % 7}\n" for doc in range(n_docs)))
            other = finished("hlda-gibbs") if kind == "tree" else None
            hiertopics.report(
                run,
                other,
                path,
                json=folder / f"{kind}.json",
                sides=[f"year={side}"],
                limit="50MB",
            )
        return path

    return make


KINDS = ("tree", "sticks", "axes", "arranged", "one", "groups", "evil", "mixed", "large")


def test_a_run_without_a_topic_has_a_page(show: Callable[..., Opened], tmp_path: Path) -> None:
    """Two short documents may leave every topic without tokens."""
    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"text": "the tree has leaves"}\n{"text": "leaves fall, the tree stands"}\n')
    run = tmp_path / "run"
    hiertopics.fit(texts, backend="hdp-pcvb0", holdout="none", run=run, quiet=True)
    assert not len(hiertopics.Run(run).tree.shown)
    hiertopics.report(run, output=tmp_path / "page.html")
    assert "0 topics" in show(tmp_path / "page.html").page.inner_text("header")


def test_a_cell_of_a_notebook_shows_the_whole_page_in_a_frame(
    show: Callable[..., Opened], finished: Callable[..., Path], tmp_path: Path
) -> None:
    """The page follows its addresses in there, too, and loads nothing."""
    cell = hiertopics.Run(finished("hlda-variational")).show(title="<b>Words", height=500)
    outer = tmp_path / "notebook.html"
    outer.write_text(f'<!DOCTYPE html><html class="whole"><body>{cell._repr_html_()}</body></html>')
    page = show(outer).page
    frame = page.frames[1]
    frame.wait_for_selector("html.whole")
    assert frame.title() == "<b>Words" and page.query_selector("b") is None
    assert page.query_selector("iframe").bounding_box()["height"] == 500
    frame.evaluate("() => { location.hash = 't1'; }")
    frame.evaluate(SETTLED)
    assert frame.query_selector("#detail h2")


@pytest.mark.slow
@pytest.mark.parametrize("kind", daily(KINDS, "tree", "groups", "evil"))
def test_every_kind_of_run_is_shown_at_every_width(
    show: Callable[..., Opened], reports: Callable[[str], Path], kind: str
) -> None:
    """No error, no request, no scrolling to the side, whatever is looked at."""
    data = data_of(reports(kind))
    ids = data["nodes"]["id"]
    row = documents(data)[0]["row"] + 1
    views = ["", f"t{ids[0]}", f"t{ids[-1]}", f"d{row}", "documents", "model", "nonsense"]
    views += ["groups", "g0"] * ("groups" in data) + ["compare"] * ("comparison" in data)
    opened = show(reports(kind))
    for width in WIDTHS:
        opened.page.set_viewport_size({"width": width, "height": 844})
        opened.page.emulate_media(color_scheme="dark" if width == 768 else "light")
        opened.page.fill("#query", "")
        for address in views:
            opened.go(address)
            assert opened.wider() <= 0, (width, address)
            assert opened.page.inner_text("#detail h2").strip(), (width, address)
        words = data["words"]
        if words:
            opened.find(words[0])
            assert opened.wider() <= 0


@pytest.mark.parametrize("kind", ["tree", "evil", *by_night("groups", "mixed", "texts")])
def test_the_search_counts_what_python_counts(
    show: Callable[..., Opened], reports: Callable[[str], Path], kind: str
) -> None:
    data = data_of(reports(kind))
    opened = show(reports(kind))
    first = data["words"][0]
    queries = [first, first.upper(), f"{first} {data['words'][1]}", "e", "19", "1994", "nowhere"]
    for query in [*queries, "ann bob", "2", "t", "<b>", "note 7"]:
        n_topics, n_docs = search(data, query)
        told = opened.find(query)
        wanted = (
            f"{n_topics:,} topic{'s' * (n_topics != 1)}, {n_docs:,} document{'s' * (n_docs != 1)}"
        )
        assert told == wanted, query


def test_hostile_words_are_shown_as_text(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    opened = show(reports("evil"), address="t0")
    shown = opened.page.locator(".words .label").all_inner_texts()
    assert set(shown) <= {SHOWN.get(word, word) for word in EVIL} and len(shown) >= 5
    assert {"</script><b>", r"\x1b[31mred"} & set(shown)
    text = opened.page.evaluate("document.body.innerText")
    assert "\x1b" not in text and "\u202e" not in text
    assert opened.page.locator("#main img, #main b > *, #main script").count() == 0


def test_texts_are_shown_and_their_words_have_colours(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("texts"))
    place = next(i for i, text in enumerate(data["texts"]) if "butter" in text)
    opened = show(reports("texts"), address=f"d{documents(data)[place]['row'] + 1}")
    assert opened.page.inner_text("#detail .text") == data["texts"][place]
    coloured = opened.page.locator("#detail .text .painted").all_inner_texts()
    assert coloured[0] == "Bread" and "butter" in coloured
    opened.find("butter")
    assert set(opened.page.locator(".found mark").all_inner_texts()) == {"butter"}


def test_a_tree_is_walked_by_keyboard(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    opened = show(reports("mixed"))
    page, data = opened.page, data_of(reports("mixed"))
    ids, parent = data["nodes"]["id"], data["nodes"]["parent"]
    page.focus('[role=treeitem][tabindex="0"]')

    def here() -> int:
        return int(page.evaluate("Number(document.activeElement.dataset.node)"))

    assert parent[here()] == ROOT
    page.keyboard.press("ArrowRight")  # the root is open: to its first child
    child = here()
    assert parent[child] == 0
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(f'[data-node="{child}"][role=treeitem]', "aria-expanded") == "true"
    page.keyboard.press("ArrowRight")
    grandchild = here()
    assert parent[grandchild] == child
    page.keyboard.press("Enter")
    page.evaluate(SETTLED)
    assert page.evaluate("location.hash") == f"#t{ids[grandchild]}"
    assert page.inner_text("#detail h2").startswith(f"[{ids[grandchild]}]")
    assert here() == grandchild  # who walks by keyboard stays where he is
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.get_attribute(f'[data-node="{child}"][role=treeitem]', "aria-expanded") == "false"
    page.keyboard.press("Home")
    assert parent[here()] == ROOT
    page.keyboard.press("End")
    assert here() != child
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type(data["words"][0])
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    assert page.is_hidden(".found")


def test_every_control_has_its_turn_by_tab(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    opened = show(reports("tree"), address="t0")
    seen = set()
    for _ in range(60):
        opened.page.keyboard.press("Tab")
        seen.add(
            opened.page.evaluate(
                "(e => e.getAttribute('role') || e.id || e.className || e.textContent)"
                "(document.activeElement)"
            )
        )
    assert {"skip", "query", "treeitem", "relevance", "small", "region"} <= seen


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "scheme"),
    [
        ("tree", "dark"),
        ("groups", "light"),
        *by_night(("tree", "light"), ("groups", "dark")),
    ],
)
def test_axe_finds_nothing(
    show: Callable[..., Opened], reports: Callable[[str], Path], kind: str, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    data = data_of(reports(kind))
    opened = show(reports(kind), 1280, color_scheme=scheme, bypass_csp=True)
    row = documents(data)[0]["row"] + 1
    views = ["groups", "g0", f"d{row}"] if kind == "groups" else ["", "t0", "model", "compare"]
    for address in views:
        opened.go(address)
        found = Axe().run(opened.page).response["violations"]
        told = [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found]
        assert told == [], address
    opened.find(data["words"][0])
    assert Axe().run(opened.page).response["violations"] == []


@pytest.mark.parametrize("branch", [False, True])
def test_the_slider_orders_words_by_relevance(
    show: Callable[..., Opened], reports: Callable[[str], Path], branch: bool
) -> None:
    import math

    data = data_of(reports("tree"))
    nodes = data["nodes"]
    is_branch = [bool(words) for words in nodes["branch_words"]]
    place = is_branch.index(branch)
    kind = "branch_" * branch
    ids, values = nodes[f"{kind}words"][place], nodes[f"{kind}values"][place]
    opened = show(reports("tree"), address=f"t{data['nodes']['id'][place]}")
    for weight in (1.0, 0.6, 0.2):
        opened.page.fill("#relevance", str(weight))
        shown = opened.page.locator(".words .label").all_inner_texts()
        score = {
            data["words"][word]: math.log(value)
            - (1 - weight) * math.log(data["word_shares"][word] or 1)
            for word, value in zip(ids, values, strict=True)
        }
        assert [score[word] for word in shown] == sorted(score.values(), reverse=True)[:30]


def test_documents_of_a_topic_are_those_of_the_data(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("tree"))
    records = documents(data)
    for place in range(min(len(data["nodes"]["id"]), 4)):
        end = data["nodes"]["end"][place]
        below = [
            (
                round(1000 * min(share_within(doc, place, end), 1)),
                doc["name"],
            )
            for doc in records
            if place == 0 or place <= doc["home"] < end
        ]
        wanted = sorted(share for share, _ in below)
        assert len(wanted) == data["nodes"]["branch_docs"][place]
        opened = show(reports("tree"), address=f"t{data['nodes']['id'][place]}")
        shown = opened.page.locator("#detail .long .row").first
        assert opened.page.inner_text("#detail").upper().count(f"DOCUMENTS BY SHARE, {len(wanted)}")
        assert shown.locator(".docname").inner_text() in [n for s, n in below if s == wanted[-1]]


def test_documents_of_a_branch_have_their_true_shares(
    show: Callable[..., Opened],
    finished: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gathering, "ENTRIES", (2, 1))
    run = finished("nhdp-variational")
    hiertopics.report(run, output=tmp_path / "page.html")
    shown = data_of(tmp_path / "page.html")["nodes"]
    branches = [place for place, end in enumerate(shown["end"]) if end > place + 1]
    for place in branches[:3]:
        node = shown["id"][place]
        wanted = [row["share"] for row in hiertopics.docs(run, node)]
        opened = show(tmp_path / "page.html", address=f"t{node}")
        texts = opened.page.locator("#detail .long .row .share").all_inner_texts()
        assert len(texts) > 3
        shares = [float(text.strip("<%")) / 100 for text in texts]
        assert shares == pytest.approx(wanted[: len(shares)], abs=0.0061)


def test_the_overview_repeats_nothing_of_paragraph_map_and_outline(
    show: Callable[..., Opened], finished: Callable[..., Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    hiertopics.report(finished("nhdp-variational"), output=page)
    data = data_of(page)
    shown = show(page).page
    table = shown.inner_text("#detail .branches")  # of a corpus without metadata
    overview = shown.inner_text("#detail").replace(table, "")
    branches = [place for place, above in enumerate(data["nodes"]["parent"]) if above == 0]
    outline = shown.inner_text("[role=tree]")
    for branch in branches:
        first = " ".join(data["words"][word] for word in data["nodes"]["called"][branch][:2])
        assert first in outline and first not in overview
    told = "of the documents is left out"
    assert told not in overview and told in shown.inner_text("#lead")


def test_bars_of_years_are_those_of_the_data(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("tree"))
    (column,) = data["columns"]
    opened = show(reports("tree"), address=f"t{data['nodes']['id'][0]}")
    titles = opened.page.locator("#detail .chart svg rect title").all_text_contents()
    n = column["node_n"][0]
    counts = dict(zip(column["node_value"][:n], column["node_count"][:n], strict=True))
    assert len(titles) == len(column["values"])
    for v, (value, total) in enumerate(zip(column["values"], column["totals"], strict=True)):
        assert titles[v].startswith(f"{value}: {counts.get(v, 0)} of {total} document")


def test_names_and_notes_become_labels_csv(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    opened = show(reports("mixed"), address="t1")
    page = opened.page
    page.click(".naming summary")
    page.fill("#name", '=cmd "A, <b>"')
    page.fill("#note", "two\nlines")
    page.locator("#note").blur()
    page.check("#hide")
    assert page.inner_text("#detail h2").startswith('[1] =cmd "A, <b>"')
    with page.expect_download() as waiting:
        page.click(".save")
    text = Path(waiting.value.path()).read_text(encoding="utf-8")
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert waiting.value.suggested_filename == "labels.csv"
    assert (row["node"], row["name"], row["note"]) == ("1", '\'=cmd "A, <b>"', "two\nlines")
    assert row["hidden"] == "true" and row["words"]
    place = data_of(reports("mixed"))["nodes"]["id"].index(1)
    assert page.locator(f'.picture [data-node="{place}"]').count() == 0
    page.reload()
    page.wait_for_selector("html.whole")
    assert page.input_value("#name") == '=cmd "A, <b>"'  # kept by this browser


def test_views_are_handed_out_as_drawings_and_tables(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("tree"))
    opened = show(reports("tree"), address="t0")
    buttons = opened.page.locator(".takeaway button")
    names = set()
    for place in range(buttons.count()):
        with opened.page.expect_download() as waiting:
            buttons.nth(place).click()
        name = waiting.value.suggested_filename
        names.add(name)
        text = Path(waiting.value.path()).read_text(encoding="utf-8")
        if name.endswith(".svg"):
            root = ElementTree.fromstring(text)
            assert root.tag == "{http://www.w3.org/2000/svg}svg" and "var(" not in text
        else:
            rows = list(csv.reader(io.StringIO(text, newline="")))
            assert len(rows) > 1 and len({len(row) for row in rows}) == 1
        if name == "map.csv":
            assert [row[0] for row in rows[1:]] == [str(i) for i in data["nodes"]["id"]]
    assert names == {
        "map.svg",
        "map.csv",
        "words-0.svg",
        "words-0.csv",
        "own-words-0.csv",
        "year-0.svg",
        "year-0.csv",
        "documents-0.csv",
    }


def test_the_map_leads_down_and_back(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    opened = show(reports("large"))
    page = opened.page
    page.locator(".picture g.box[data-node]").nth(1).click()
    page.evaluate(SETTLED)
    deep = page.locator(".crumbs .crumb").count()
    assert page.evaluate("location.hash").startswith("#t") and deep == 2
    page.locator(".crumbs .crumb").first.click()
    assert page.locator(".map .crumbs .crumb").count() == 1
    page = show(reports("uneven")).page
    page.locator(".picture g.box", has_text="more").last.click()
    assert "after the" in page.inner_text(".map .crumbs")
    assert page.locator(".picture g.box").count() > 10


def test_without_scripts_and_on_paper_there_is_the_whole_list(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("tree"))
    still = show(reports("tree"), java_script_enabled=False).page
    assert still.is_visible("#plain") and still.locator("#plain li").count() == len(
        data["nodes"]["id"]
    )
    opened = show(reports("tree"), address="t0")
    assert not opened.page.is_visible("#plain")
    opened.page.emulate_media(media="print")
    assert opened.page.is_visible("#plain") and not opened.page.is_visible("#query")


def test_paper_names_every_topic(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    """Also those below closed parts of the list, in trees deeper than what is open at first."""
    opened = show(reports("deep")).page
    opened.emulate_media(media="print")
    items = opened.locator("#plain li").evaluate_all(
        "all => all.map(one => one.checkVisibility({ contentVisibilityAuto: true }))"
    )
    assert len(items) == 5 and all(items)


def test_another_run_stands_beside_the_first(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("tree"))
    opened = show(reports("tree"), address="compare")
    text = opened.page.inner_text("#detail")
    n_pairs = len(data["comparison"]["mine"])
    assert re.search(rf"pairs of topics\s+{n_pairs}\b", text) and "hlda-gibbs" in text
    assert opened.page.locator("#detail .chart svg path title").count() > 0
    assert json.dumps(data["comparison"]["card"]["title"])[1:-1] == "tiny"


def test_a_browser_without_decompression_says_so_and_shows_the_list(
    browser: Any, reports: Callable[[str], Path]
) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(reports("tree").as_uri())
    page.wait_for_selector("#detail .note")
    assert page.is_visible("#plain") and "cannot unpack" in page.inner_text("#detail")
    context.close()


def test_a_page_begins_with_the_names_that_it_was_made_with(
    show: Callable[..., Opened], finished: Callable[..., Path], tmp_path: Path
) -> None:
    """What it saves is the file that the run has; support by other runs stands beside a topic."""
    run = Path(shutil.copytree(finished("hlda-variational"), tmp_path / "run"))
    hiertopics.label(run, 1, "=cmd <b>", note="two\nlines")
    hiertopics.label(run, 2, "hidden one", hide=True)
    hiertopics.agree([run, finished("hlda-variational")], write=True)
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    opened = show(page, address="t1")
    assert opened.page.inner_text("#detail h2") == "[1] =cmd <b>"
    assert "1 of 1" in opened.page.inner_text("#detail .facts")
    assert opened.page.is_hidden(".save")  # nothing has changed
    assert opened.find("hidden one").startswith("1 topic")
    opened.go("t1")
    opened.page.click(".naming summary") if opened.page.is_hidden("#name") else None
    opened.page.fill("#note", "")
    opened.page.locator("#note").blur()
    opened.page.fill("#note", "two\nlines")
    opened.page.locator("#note").blur()
    opened.page.fill("#name", "=cmd <b>!")
    opened.page.locator("#name").blur()
    with opened.page.expect_download() as waiting:
        opened.page.click(".save")
    text = Path(waiting.value.path()).read_bytes().decode()
    assert text == (run / "labels.csv").read_bytes().decode().replace("'=cmd <b>", "'=cmd <b>!")


def test_every_number_stands_beside_its_topic(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("mixed"))
    opened = show(reports("mixed"), address=f"t{data['nodes']['id'][1]}")
    labels = opened.page.locator("#detail .facts dt").all_inner_texts()
    assert labels == ["documents", "of all words", "of all words its own"]
    numbers = opened.page.locator("#detail .facts dd").all_inner_texts()
    assert numbers[0] == str(data["nodes"]["branch_docs"][1])
    for number, name in zip(numbers[1:], ("below", "weight"), strict=True):
        assert float(number.rstrip("%")) == pytest.approx(100 * data["nodes"][name][1], abs=0.51)


def test_a_branch_leads_with_the_words_at_or_below_it(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    data = data_of(reports("mixed"))
    nodes = data["nodes"]
    opened = show(reports("mixed"), address=f"t{nodes['id'][1]}")
    heads = opened.page.locator("#detail h3").all_text_contents()
    assert heads[1] == "Words at or below"
    assert heads.index("Words at or below") < heads.index(
        next(head for head in heads if head.startswith("Words that stop here"))
    )
    first = opened.page.locator("#detail .words .label").first.inner_text()
    assert first == data["words"][nodes["branch_words"][1][0]]
    opened.go(f"t{nodes['id'][nodes['branch_words'].index([])]}")
    heads = opened.page.locator("#detail h3").all_text_contents()
    assert heads[0] == "Words" and "Words at or below" not in heads
    assert opened.problems == []


@pytest.mark.parametrize(
    ("form", "shown"), [("percent", "350%"), *by_night(("count", "4"), ("decimal", "3.50"))]
)
def test_a_column_that_is_declared_stands_beside_each_topic(
    show: Callable[..., Opened],
    finished: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: nodes.Form,
    shown: str,
) -> None:
    """In its form; not where it has no value, equals another one, or wants a parent."""

    def column(name: str, value: float | None, **how: Any) -> nodes.NodeColumn:
        fact = nodes.Fact(f"{name} {{tokens}}", form, **how)
        return nodes.NodeColumn(name, lambda tree, rows: [value] * len(rows), fact)

    own = (
        column("plain", 3.5),
        column("same", 3.5, unlike="plain"),
        column("hung", 3.5, roots=False),
        column("lacking", None),
        nodes.NodeColumn("data only", lambda tree, rows: [1] * len(rows)),
        nodes.NodeColumn("senseless", lambda tree, rows: None, nodes.Fact("senseless", form)),
    )
    monkeypatch.setattr(nodes, "NODE_COLUMNS", (*nodes.NODE_COLUMNS, *own))
    page = hiertopics.report(finished("hlda-variational"), output=tmp_path / "page.html").path
    opened, data = show(page, address="t0"), data_of(page)
    assert data["nodes"]["parent"][:2] == [ROOT, 0]
    for node, wanted in ((0, ["plain words"]), (1, ["plain words", "hung words"])):
        opened.go(f"t{data['nodes']['id'][node]}")
        labels = opened.page.locator("#detail .facts dt").all_inner_texts()
        numbers = opened.page.locator("#detail .facts dd").all_inner_texts()
        at = len(labels) - len(wanted)
        assert labels[at:] == wanted and numbers[at:] == [shown] * len(wanted)
        assert labels[0] == "document" + "s" * (data["nodes"]["branch_docs"][node] != 1)
        assert "support" not in " ".join(labels)


def test_a_slider_cuts_the_tree_and_the_paragraph_leads_to_its_topics(
    show: Callable[..., Opened], reports: Callable[[str], Path]
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    data = data_of(reports("mixed"))
    opened = show(reports("mixed"), 1280, bypass_csp=True)
    page = opened.page
    boxes, rows = page.locator("#tree .picture [data-node]"), page.locator("#tree [role=treeitem]")
    every = f"{len(data['nodes']['id'])} topics"
    some = f"3 of {every}"
    assert page.inner_text(".where output") == every
    whole = boxes.count()
    page.focus("#cut")
    page.keyboard.press("Home")
    assert page.inner_text(".where output") == some  # the root and its two branches
    assert page.get_attribute("#cut", "aria-valuetext") == some
    assert (boxes.count(), rows.count()) == (3, 3) and whole > 3
    assert Axe().run(page).response["violations"] == []
    deepest = data["nodes"]["parent"].index(1)
    opened.go(f"t{data['nodes']['id'][deepest]}")  # a topic that the cut hides: the one above
    assert page.locator("[role=treeitem][aria-selected=true]").get_attribute("data-node") == "1"
    page.keyboard.press("ArrowRight")
    assert page.inner_text(".where output") != some
    page.keyboard.press("End")
    assert boxes.count() == whole

    opened.go("")  # the paragraph stands beside the overview alone
    link = page.locator(".lead a").first
    place = next(piece for piece in data["lead"] if isinstance(piece, int))
    assert link.get_attribute("href") == f"#t{data['nodes']['id'][place]}"
    link.click()
    page.evaluate(SETTLED)
    words = [data["words"][word] for word in data["nodes"]["called"][place]]
    assert page.locator("#detail h2 ~ .chips").first.locator("button").all_inner_texts() == words

    opened.find(data["words"][0])
    page.click("text=Model")
    page.evaluate(SETTLED)
    assert page.input_value("#query") == "" and page.locator(".found").is_hidden()
    card = page.locator("#detail").bounding_box()
    assert card is not None and card["width"] > 1100 and opened.wider() == 0
    opened.find(data["words"][0])
    assert page.locator("#counts").is_visible()
