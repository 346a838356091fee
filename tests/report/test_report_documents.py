"""The page's table of documents, its picture over time, and the edits that it saves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import IN_BROWSER, Opened
from nights import by_night
from pages import data_of, documents, reshaped

import hiertopics
from hiertopics.base.units import many
from hiertopics.runs.edits import read_edits
from hiertopics.runs.rundir import RunDir
from hiertopics.views.report import gathering
from hiertopics.views.report.documents import TrainingDocuments, known_documents

pytestmark = IN_BROWSER
Show = Callable[..., Opened]
N_DOCS = 40


@pytest.fixture(scope="module")
def dated(fit_tiny: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of texts with dates, sections and identifiers."""
    folder = tmp_path_factory.mktemp("dated")
    texts = ("bread butter cheese wine bread", "goal match team coach goal")
    rows = [
        {
            "text": f"{texts[n % 2]} {texts[n % 2].split()[n % 5]}",
            "id": f"note {n:02}",
            "key": f"k-{n}",
            "day": f"{1998 + n // 10}-{1 + n % 12:02}-{1 + n % 28:02}",
            "section": "food" if n % 2 == 0 else "sport",
            "area": 2 if n % 5 < 3 else 11 if n % 5 < 4 else 0,
        }
        for n in range(N_DOCS)
    ]
    raw = folder / "texts.jsonl"
    raw.write_text("".join(json.dumps(row) + "\n" for row in rows))
    data = {"id_field": "id"}
    fit_tiny(folder / "run", "nhdp-variational", corpus=raw, data=data, holdout="none")
    hiertopics.report(folder / "run", output=folder / "page.html")
    return folder / "page.html"


def cells(page: Any) -> list[list[str]]:
    """Return the texts of the table's rows in sight."""
    return list(
        page.evaluate(
            "() => [...document.querySelectorAll('.doctable .row')].map(row => "
            "[...row.querySelectorAll('[role=cell]')].map(cell => cell.innerText.split('\\n')[0]))"
        )
    )


def test_columns_are_shown_as_what_they_hold(dated: Path) -> None:
    columns = {column["name"]: column for column in data_of(dated)["columns"]}
    assert set(columns) == {"day", "section", "area"}, "identifiers are no property"
    assert columns["area"]["values"] == ["0", "2", "11"] and not columns["area"]["ordered"]
    assert columns["day"]["values"] == ["1998", "1999", "2000", "2001"]
    assert columns["day"]["ordered"] and columns["day"]["totals"] == [10] * 4


def test_without_time_the_overview_shows_branches_by_another_column(
    finished: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    """Its most common values first; a part of a bar is a count of documents, and leads to them."""
    values = ["port"] * 12 + ["starboard"] * 10 + ["keel"] * 6 + ["mast"] * 2
    (tmp_path / "sides").write_text("".join(f"{value}\n" for value in values))
    names = "".join(f"{doc}\n" for doc in range(30))
    (tmp_path / "names").write_text(names)
    page = tmp_path / "page.html"
    sides = [f"side={tmp_path / 'sides'}", f"code={tmp_path / 'names'}"]
    hiertopics.report(finished("nhdp-variational"), output=page, sides=sides)
    column = next(one for one in data_of(page)["columns"] if one["name"] == "side")
    opened = show(page)
    block = opened.page.locator("#detail .block", has_text="Branches by side")
    assert block.locator(".choice").count() == 0, "codes of one document each are not compared"
    texts = block.locator("svg text").all_text_contents()
    assert texts[0::2] == column["values"] and texts[1::2] == list(map(str, column["totals"]))
    titles = block.locator("rect.part title").all_text_contents()
    for value, total in zip(column["values"], column["totals"], strict=True):
        mine = [title for title in titles if title.startswith(f"{value}, ")]
        counts = [int(re.findall(r": (\d+) of (\d+) document", title)[0][0]) for title in mine]
        assert 0 < sum(counts) <= total
        assert {"pale" in title for title in mine} == {total < 5}
    assert "Of the documents of each side, the share whose main topic" in block.inner_text()
    n = int(re.findall(r": (\d+) of", titles[0])[0])
    block.locator("rect.part").first.dispatch_event("click")
    opened.page.locator(".doctable").wait_for()
    assert opened.page.locator("#detail .sub[role=status]").inner_text().startswith(f"{n} of ")


def test_bars_say_how_they_count_the_documents_of_a_topic(
    finished: Callable[..., Path], dated: Path, show: Show, tmp_path: Path
) -> None:
    """A document with words there counts at its main topic alone: sums of bars are smaller."""
    (tmp_path / "sides").write_text("port\nstarboard\n" * 15)
    page = tmp_path / "page.html"
    sides = [f"side={tmp_path / 'sides'}"]
    hiertopics.report(finished("nhdp-variational"), output=page, sides=sides)
    data = data_of(page)
    (column,), nodes = data["columns"], data["nodes"]
    seen = set()
    for place, name in enumerate(nodes["id"]):
        first = sum(column["node_n"][:place])
        n = sum(column["node_count"][first : first + column["node_n"][place]])
        if not n:
            continue
        text = show(page, address=f"t{name}").page.inner_text("#detail")
        told = re.findall(
            r"Bars count a document once, at its main topic: (\d+) of the (\d+)", text
        )
        total = nodes["branch_docs"][place]
        assert told == ([] if n == total else [(str(n), str(total))])
        seen.add(n == total)
    # One document has no words: even at the root bars count fewer.
    assert seen == {False}
    root = data_of(dated)["nodes"]["id"][0]
    assert "Bars count a document once" not in show(dated, address=f"t{root}").page.inner_text(
        "#detail"
    )


def test_a_few_documents_far_from_all_others_are_not_drawn_and_named(
    finished: Callable[..., Path], show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no chart; the table of documents has them, and finds them by their year."""
    monkeypatch.setattr("hiertopics.corpus.data.columns.OUTLYING", 0.2, raising=False)
    values = ["1970"] * 3 + ["1990"] * 10 + ["1991"] * 10 + ["1992"] * 7
    (tmp_path / "years").write_text("".join(f"{value}\n" for value in values))
    page, sides = tmp_path / "page.html", [f"year={tmp_path / 'years'}"]
    hiertopics.report(finished("nhdp-variational"), output=page, sides=sides)
    (column,) = data_of(page)["columns"]
    assert column["axis"] == ["1990", "1991", "1992"] and column["values"][0] == "1970"
    told = column["not_drawn"]
    assert re.fullmatch(r"[123] documents? before 1990 (is|are) not drawn", told)
    for address, marks in (("", "rect.part"), ("t0", "rect")):
        opened = show(page, address=address)
        drawing = opened.page.locator("#detail .chart svg").first
        assert {year for _, year in drawing.locator(marks).evaluate_all(GAPS)} == {*column["axis"]}
        assert opened.page.locator("#detail .hint", has_text=f"{told}.").count() == 1
    opened.go("documents")
    options = opened.page.locator(".filters select").nth(1).locator("option")
    assert any(text.startswith("1970 (") for text in options.all_inner_texts())


def test_dates_and_their_years_are_one_column(
    finished: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    """One axis and one panel; table and documents show the day, and rows are sorted by it."""
    days = [f"{1990 + doc % 4}-{1 + doc % 12:02}-{1 + 7 * doc % 28:02}" for doc in range(30)]
    (tmp_path / "years").write_text("".join(f"{day[:4]}\n" for day in days))
    (tmp_path / "days").write_text("".join(f"{day}\n" for day in days))
    sides = [f"year={tmp_path / 'years'}", f"day={tmp_path / 'days'}"]
    page = hiertopics.report(
        finished("nhdp-variational"), output=tmp_path / "page.html", sides=sides
    ).path
    data = data_of(page)
    year, day = data["columns"]
    assert (year["same_as"], day.get("same_as")) == ("day", None)
    assert day["values"] == ["1990", "1991", "1992", "1993"] and day["days"] == sorted(day["days"])
    opened = show(page, 1280)
    block = opened.page.locator("#detail .block", has_text="Branches over")
    assert block.locator(".choice").count() == 0
    assert "Of the documents of each year, the share" in block.inner_text()
    opened.go("t0")
    heads = opened.page.locator("#detail .block h3").all_inner_texts()
    assert [head for head in heads if head in ("YEAR", "DAY")] == ["DAY"]
    documents_at = next(at for at, head in enumerate(heads) if head.startswith("DOCUMENTS BY"))
    assert documents_at < heads.index("DAY"), "documents come before what is known of them"
    opened.go("documents")
    assert opened.page.locator(".heads button").all_inner_texts()[-1] == "day"
    assert opened.page.locator(".filters select").count() == 2
    opened.page.locator("[data-sort='column day']").click()
    shown = [row[-1] for row in cells(opened.page)]
    rows = [doc["row"] for doc in documents(data)]
    assert shown == sorted(days[row] for row in rows)[: len(shown)] and len(shown) > 10
    opened.go(f"d{rows[0] + 1}")
    facts = opened.page.locator("#detail .facts").inner_text().split("\n")
    assert days[rows[0]] in facts and days[rows[0]][:4] not in facts
    n = sum(days[row] == days[rows[0]] for row in rows)
    assert opened.find(days[rows[0]]) == f"0 topics, {many(n, 'document')}"


GAPS = """bars => bars.map(bar => [Math.round(bar.getBBox().x + bar.getBBox().width / 2),
  bar.querySelector("title").textContent.slice(0, 4)])"""


def test_years_without_documents_keep_their_place_on_the_axis(
    finished: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    """In the chart of branches and in that of a topic. The axis names them."""
    values = ["1970"] * 5 + ["1990"] * 10 + ["1991"] * 10 + ["1993"] * 5
    (tmp_path / "years").write_text("".join(f"{value}\n" for value in values))
    page = tmp_path / "page.html"
    sides = [f"year={tmp_path / 'years'}"]
    hiertopics.report(finished("nhdp-variational"), output=page, sides=sides)
    (column,) = data_of(page)["columns"]
    assert column["values"] == ["1970", "1990", "1991", "1993"]
    assert column["axis"] == [str(year) for year in range(1970, 1994)]
    for address, marks in (("", "rect.part"), ("t0", "rect")):
        opened = show(page, address=address)
        drawing = opened.page.locator("#detail .chart svg").first
        bars = dict(
            (year, x) for x, year in drawing.locator(marks).evaluate_all(GAPS) if year.isdigit()
        )
        assert set(bars) == {"1970", "1990", "1991", "1993"}
        step = (bars["1993"] - bars["1970"]) / 23
        for year in ("1990", "1991"):
            assert bars[year] - bars["1970"] == pytest.approx((int(year) - 1970) * step, abs=1)
        labels = drawing.locator("text").all_text_contents()
        assert any("1970" < label < "1990" for label in labels)


def test_codes_are_listed_by_how_common_they_are_and_never_drawn_as_time(
    dated: Path, show: Show
) -> None:
    opened = show(dated)
    heads = opened.page.locator("#detail h3").all_inner_texts()
    assert [head for head in heads if head.lower().startswith("branches over")] == [
        "BRANCHES OVER DAY"
    ]
    assert not opened.page.locator("[aria-label='Branches over']").count()
    opened.go("t0")
    block = opened.page.locator("#detail section", has=opened.page.locator("h3", has_text="area"))
    assert block.locator("svg").count() == 0
    opened.page.get_by_role("group", name="Show area").get_by_text("count").click()
    assert block.locator(".meter .label").all_inner_texts() == ["2", "0", "11"]


def test_the_table_is_sorted_by_any_column(dated: Path, show: Show) -> None:
    opened = show(dated, address="documents")
    page = opened.page
    heads = page.locator(".doctable [role=columnheader]").all_inner_texts()
    assert [head.split(" ")[0] for head in heads] == [
        "Document",
        "Topic",
        "Words",
        "day",
        "section",
        "area",
    ]
    assert cells(page)[0][0] == "note 00"
    page.get_by_role("button", name="day").click()
    assert page.locator("[aria-sort=ascending]").inner_text().startswith("day")
    assert cells(page)[0][3] == "1998-01-01"
    page.get_by_role("button", name="day").click()
    assert page.locator("[aria-sort=descending]").inner_text().startswith("day")
    assert cells(page)[0][3] == "2001-12-08" and cells(page)[0][0] == "note 35"
    page.get_by_role("button", name="Document", exact=True).click()
    page.get_by_role("button", name="Document", exact=True).click()
    assert cells(page)[0][0] == "note 39"


def test_the_table_is_filtered_by_branch_and_values(dated: Path, show: Show) -> None:
    page = show(dated, address="documents").page
    page.get_by_label("section").select_option(label="food (20)")
    assert page.locator("#detail [role=status]").inner_text() == "20 of 40 documents"
    assert {row[4] for row in cells(page)} == {"food"}
    page.get_by_label("day").select_option(label="1999 (10)")
    assert page.locator("#detail [role=status]").inner_text() == "5 of 40 documents"
    assert [row[0] for row in cells(page)] == [f"note {n}" for n in range(10, 20, 2)]
    page.get_by_label("section").select_option(label="All")
    page.get_by_label("day").select_option(label="All")
    data = data_of(dated)
    branch = page.get_by_label("Branch")
    choices = branch.evaluate("select => [...select.options].map(o => Number(o.value))")
    assert len(choices) > 1, "the tree has branches"
    for node in choices[1:]:
        branch.select_option(value=str(node))
        inside = range(node, data["nodes"]["end"][node])
        n = sum(home in inside for home in data["documents"]["home"])
        said = "40 documents" if n == N_DOCS else f"{n} of 40 documents"
        assert page.locator("#detail [role=status]").inner_text() == said


def test_the_csv_holds_the_documents_that_are_shown(
    dated: Path, show: Show, tmp_path: Path
) -> None:
    page = show(dated, address="documents").page
    page.get_by_label("section").select_option(label="sport (20)")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save documents as csv").click()
    waiting.value.save_as(tmp_path / "documents.csv")
    lines = (tmp_path / "documents.csv").read_text().splitlines()
    assert lines[0] == "document,number,node,topic,words,day,section,area" and len(lines) == 21
    assert all(line.split(",")[-2] == "sport" for line in lines[1:])


def test_a_part_of_the_picture_leads_to_its_documents(dated: Path, show: Show) -> None:
    opened = show(dated)
    page, data = opened.page, data_of(dated)
    assert page.get_by_text("Branches over day").count() == 1
    parts = page.locator("rect.part")
    told = parts.first.locator("title").text_content()
    parts.first.click()
    page.wait_for_selector(".doctable")
    n = int(told.split(": ")[1].split(" of ")[0])
    value = told.split(",")[0]
    assert page.locator("#detail [role=status]").inner_text() == f"{n} of 40 documents"
    assert {row[3][:4] for row in cells(page)} == {value}
    totals = page.evaluate("() => location.hash")
    assert totals == "#documents" and sum(data["columns"][0]["totals"]) == N_DOCS


def test_a_hidden_branch_is_left_out_of_the_picture(dated: Path, show: Show) -> None:
    """As labels.csv hides it, or the reader of the page; its part and its line in the legend go."""
    opened, data = show(dated), data_of(dated)
    nodes = data["nodes"]
    branches = [place for place, above in enumerate(nodes["parent"]) if above == 0]
    legend = opened.page.locator(".legend.keyed a")
    before = legend.all_text_contents()
    assert len(before) == len(branches) and "hidden" not in opened.page.inner_text("#detail")
    opened.go(f"t{nodes['id'][branches[0]]}")
    opened.page.get_by_text("Name, note, hide").click()
    opened.page.check("#hide")
    opened.go("")
    after = legend.all_text_contents()
    assert len(after) == len(before) - 1 and set(after) < set(before)
    assert "Left out: 1 hidden branch." in opened.page.inner_text("#detail")


def test_bars_of_the_picture_are_shares_of_all_documents(dated: Path, show: Show) -> None:
    page = show(dated).page
    heights = page.evaluate(
        "() => { const sums = {}; const of = (part, name) => Number(part.getAttribute(name));"
        "for (const part of document.querySelectorAll('rect.part'))"
        "  sums[of(part, 'x')] = (sums[of(part, 'x')] || 0) + of(part, 'height');"
        "return Object.values(sums); }"
    )
    assert len(heights) == 4
    assert all(height <= 172 + 0.5 for height in heights)


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(390, "dark"), *by_night((1280, "light"), (390, "light"), (1280, "dark"))],
)
def test_axe_finds_nothing_and_the_page_is_no_wider(
    dated: Path, show: Show, scheme: str, width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    opened = show(dated, width, color_scheme=scheme, bypass_csp=True)
    leaf = data_of(dated)["nodes"]["id"][-1]
    for address in ("", "documents", f"t{leaf}"):
        opened.go(address)
        for summary in opened.page.locator("details.naming summary").all():
            summary.click()
        found = Axe().run(opened.page).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == [], address
        assert opened.wider() <= 0, address


def test_the_table_is_sorted_by_keyboard(dated: Path, show: Show) -> None:
    page = show(dated, address="documents").page
    page.get_by_role("button", name="day").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert cells(page)[0][3] == "2001-12-08"


def test_edits_are_saved_for_the_command_edit(dated: Path, show: Show, tmp_path: Path) -> None:
    data = data_of(dated)
    nodes = data["nodes"]
    run = dated.with_name("run")
    leaves = [i for i, end in enumerate(nodes["end"]) if end == i + 1 and nodes["parent"][i] >= 0]
    siblings = [(a, b) for a in leaves for b in leaves
                if a < b and nodes["parent"][a] == nodes["parent"][b]]  # fmt: skip
    opened = show(dated)
    page = opened.page
    assert page.get_by_role("button", name="Save edits.yaml").count() == 0
    leaf = leaves[-1]
    opened.go(f"t{nodes['id'][leaf]}")
    page.get_by_text("Merge, move, split").click()
    page.get_by_role("button", name="Split", exact=True).click()
    if siblings:
        first, second = siblings[0]
        opened.go(f"t{nodes['id'][first]}")
        if not page.get_by_label("Merge with").is_visible():
            page.get_by_text("Merge, move, split").click()
        page.get_by_label("Merge with").select_option(value=str(second))
        page.get_by_role("button", name="Merge", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save edits.yaml").click()
    waiting.value.save_as(tmp_path / "edits.yaml")
    found = {one.kind: one for one in read_edits(tmp_path / "edits.yaml")}
    split = found["split"]
    assert (split.nodes[0].number, split.into) == (nodes["id"][leaf], 2)
    if siblings:
        merged = [node.number for node in found["merge"].nodes]
        assert merged == [nodes["id"][first], nodes["id"][second]]
    if not siblings or leaf not in siblings[0]:
        made = hiertopics.edit(run, tmp_path / "new", edits=tmp_path / "edits.yaml")
        assert made.run.manifest["made_by"].startswith("edit ")


def test_an_edit_is_undone(dated: Path, show: Show) -> None:
    nodes = data_of(dated)["nodes"]
    leaf = max(i for i, end in enumerate(nodes["end"]) if end == i + 1)
    opened = show(dated, address=f"t{nodes['id'][leaf]}")
    page = opened.page
    page.get_by_text("Merge, move, split").click()
    page.get_by_role("button", name="Split", exact=True).click()
    page.reload()
    page.wait_for_selector("html.whole")
    assert page.get_by_role("button", name="Save edits.yaml").is_visible(), "the browser kept it"
    page.get_by_role("button", name="Undo").click()
    assert not page.get_by_role("button", name="Save edits.yaml").is_visible()


def test_the_topic_of_a_document_is_told_with_its_branch(
    copied: Callable[..., Path], show: Show, tmp_path: Path
) -> None:
    """In words: nobody has to know which branch has which colour."""
    run = reshaped(copied("hdp-pcvb0"), [-1, 0, 0, 0, 1, 1, 4])
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    data = data_of(page)
    nodes, home = data["nodes"], data["documents"]["home"]

    def called(node: int, n: int) -> str:
        return " ".join(data["words"][word] for word in nodes["called"][node][:n])

    def branch_of(node: int) -> int:
        while nodes["parent"][node] > 0:
            node = nodes["parent"][node]
        return node

    wanted = [
        f"{called(node, 3)}\nin {called(branch_of(node), 5)}"
        if nodes["parent"][node] > 0
        else called(node, 3)
        for node in home
    ]
    assert any("\n" in text for text in wanted) and any("\n" not in text for text in wanted)
    for width in (390, 1280):
        opened = show(page, width, "documents")
        rows = opened.page.locator(".doctable .row [role=cell]:nth-child(2)")
        shown = rows.all_inner_texts()
        assert shown == wanted[: len(shown)] and shown
        heights = "all => all.map(one => one.scrollHeight <= one.closest('.row').clientHeight)"
        assert all(rows.evaluate_all(heights))


def test_a_search_says_of_how_many_documents_the_page_has_texts(
    dated: Path, show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where texts were left out, documents may be missing among its results."""
    assert re.fullmatch(r"\d+ topics?, 20 documents", show(dated).find("bread"))
    assert "are here" not in show(dated).page.inner_text("#main")

    def some(run: RunDir) -> TrainingDocuments:
        known = known_documents(run)
        texts = known.snippets or []
        kept = [text if place % 4 == 0 else "" for place, text in enumerate(texts)]
        return known._replace(counts=None, snippets=kept)

    run = dated.parent / "run"
    bare = hiertopics.report(run, output=tmp_path / "bare.html", text=False).path
    monkeypatch.setattr(gathering, "known_documents", some)
    part = hiertopics.report(run, output=tmp_path / "part.html").path
    for page, said in (
        (part, "texts of 10 of 40 documents are here"),
        (bare, "no texts of documents are here"),
    ):
        for width in (390, 1280):
            opened = show(page, width)
            opened.find("bread")
            line = opened.page.locator(".found .blockhead")
            assert said in line.inner_text() and line.locator(".hint").is_visible()
            assert said in opened.page.inner_text("#status") and opened.wider() <= 0
            heading, clear = (
                line.locator("h2").bounding_box(),
                line.locator("button").bounding_box(),
            )
            assert abs(heading["y"] + heading["height"] / 2 - clear["y"] - clear["height"] / 2) < 3
