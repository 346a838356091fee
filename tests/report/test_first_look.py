"""The first view of a page: the map has all branches, the paragraph is above it, bars are pale."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import IN_BROWSER, SETTLED, Opened
from mixed_trees import MIXED, PARTS, with_mixed_tree
from pages import data_of, documents, reshaped

import hiertopics
from hiertopics.corpus.data.tree import ROOT
from hiertopics.runs.rundir import RunDir
from hiertopics.views.report import gathering

Call = Callable[..., Any]
Copied = Callable[..., Path]
Show = Callable[..., Opened]
pytestmark = IN_BROWSER
BOXES = """boxes => boxes.map(box => {
  const rect = box.querySelector("rect");
  const [width, height] = ["width", "height"].map(name => Number(rect.getAttribute(name)) + 1.5);
  return {node: box.dataset.node === undefined ? null : Number(box.dataset.node), width, height,
          x: Number(rect.getAttribute("x")), y: Number(rect.getAttribute("y")),
          text: box.querySelector("text")?.textContent ?? ""};
})"""


def even(n_branches: int, n_leaves: int) -> list[int]:
    """Return the parents of a tree whose branches have as many leaves each."""
    return [ROOT] + [0] * n_branches + [1 + n % n_branches for n in range(n_leaves)]


def uneven(sizes: list[int]) -> list[int]:
    """Return the parents of a tree whose branches have these numbers of leaves."""
    return [ROOT] + [0] * len(sizes) + [1 + b for b, n in enumerate(sizes) for _ in range(n)]


TREES = {
    "even": even(49, 490),
    "uneven": uneven([int(260 * 0.86**n) for n in range(40)]),
    "four lanes": uneven([30, 28, 26, 24, 22, 21, 20, 19, 18, 17, 16, 15, 14]),
    "many": even(300, 0),
    "one large": uneven([400, 30, 20, 20, 10]),
}


@pytest.fixture
def page_of(copied: Copied, tmp_path: Path) -> Callable[..., Path]:
    """Return a function: the page of a tree with these parents."""

    def make(parents: list[int], **options: Any) -> Path:
        run = reshaped(copied("hdp-pcvb0"), parents)
        hiertopics.report(run, output=tmp_path / "page.html", limit="50MB", **options)
        return tmp_path / "page.html"

    return make


@pytest.mark.parametrize("tree", TREES)
def test_the_map_shows_every_first_branch_with_its_true_area(
    page_of: Callable[..., Path], show: Show, tree: str
) -> None:
    """Only those too small for a line of letters are joined: a tenth of the area, and not one."""
    page = page_of(TREES[tree])
    nodes = data_of(page)["nodes"]
    first = [place for place, above in enumerate(nodes["parent"]) if above == 0]
    for width in (390, 1280):
        shown = show(page, width).page
        boxes = shown.locator(".picture g.box").evaluate_all(BOXES)
        drawing = shown.locator(".picture svg").first
        high, wide = (float(drawing.get_attribute(name)) for name in ("height", "width"))
        whole = high * (wide - 28)
        scale = whole / max(nodes["below"][0], sum(nodes["below"][place] for place in first))
        joined = [box for box in boxes if box["node"] is None]
        assert sum(box["width"] * box["height"] for box in joined) <= 0.1 * whole
        assert "and 1 more" not in {box["text"] for box in joined}
        drawn = [box for box in boxes if box["node"] in first]
        # A box and the column of its parts beside it are the region of a branch.
        n_columns = 1 + any(box["node"] not in (None, 0, *first) for box in boxes)
        regions = [box["width"] * n_columns * box["height"] for box in drawn]
        wanted = [nodes["below"][box["node"]] * scale for box in drawn]
        assert regions == pytest.approx(wanted, rel=0.02, abs=2)
        assert max(box["y"] + box["height"] for box in boxes) <= high + 1
        left = sum(nodes["below"][place] for place in first) - sum(
            nodes["below"][box["node"]] for box in drawn
        )
        assert left <= 0.1 * nodes["below"][0]


def test_the_map_shows_two_levels_where_more_lanes_have_room_for_them(
    page_of: Callable[..., Path], show: Show
) -> None:
    page = page_of(even(7, 55))
    nodes = data_of(page)["nodes"]
    opened = show(page).page
    boxes = opened.locator(".picture g.box").evaluate_all(BOXES)
    drawn = {box["node"] for box in boxes}
    branches = {place for place, above in enumerate(nodes["parent"]) if above == 0}
    assert branches <= drawn
    assert len({nodes["parent"][node] for node in drawn - branches - {None, 0}}) > len(branches) / 2
    joined = sum(box["width"] * box["height"] for box in boxes if box["node"] is None)
    assert joined <= 0.25 * sum(box["width"] * box["height"] for box in boxes)


def deeper(sizes: list[list[int]]) -> list[int]:
    """Return the parents of a tree; sizes: of each branch, the leaves below each of its parts."""
    parents = [ROOT] + [0] * len(sizes)
    parents += [1 + branch for branch, parts in enumerate(sizes) for _ in parts]
    flat = [n for parts in sizes for n in parts]
    return parents + [1 + len(sizes) + part for part, n in enumerate(flat) for _ in range(n)]


PARTS_OF = {
    "one bag of many": [
        [58, 56, 41, 40, 31, 27, 16, 14, 12, 9, 7, 2], [150, 36], [60, 48, 34, 19, 12, 10],
        [78, 17], [26, 20, 18], [17, 11, 8, 8, 7, 3], [3, 2, 2, 2, 1, 1, 1, 1, 1],
    ],
    "small second parts": [
        [67, 64, 42, 36, 33], [94, 71, 35], [58, 45, 44], [64, 42, 40], [105, 29],
    ],
    "a very small one": [
        [173, 49], [145, 49, 3], [79, 34, 19, 13, 4], [84, 55], [94, 23], [75, 37],
    ],
}  # fmt: skip
LINES = """boxes => boxes.map(box => {
  const rect = box.querySelector("rect").getBBox();
  const inside = [...box.querySelectorAll("text:not([transform])")].map(text => {
    const line = text.getBBox();
    return line.y >= rect.y - 0.5 && line.y + line.height <= rect.y + rect.height + 0.5;
  });
  const texts = [...box.querySelectorAll("text")].map(text => text.textContent);
  return {named: texts.some(text => text && text !== "›"), inside: inside.every(Boolean)};
})"""


@pytest.mark.parametrize("tree", PARTS_OF)
def test_the_map_has_parts_of_branches_and_a_name_in_each_box(
    page_of: Callable[..., Path], show: Show, tree: str
) -> None:
    """A part that is a little too low gets room of its siblings; letters touch no edge."""
    page = page_of(deeper(PARTS_OF[tree]))
    nodes = data_of(page)["nodes"]
    second = [place for place, above in enumerate(nodes["parent"]) if above > 0]
    second = [place for place in second if nodes["parent"][nodes["parent"][place]] == 0]
    for width in (390, 768, 1280):
        boxes = show(page, width).page.locator(".picture g.box")
        lines = boxes.evaluate_all(LINES)
        assert all(line["named"] for line in lines), width
        assert all(line["inside"] for line in lines), width
        drawn = {box["node"] for box in boxes.evaluate_all(BOXES)}
        if width == 1280:
            assert len(drawn & {*second}) >= 7
            largest = max(second, key=lambda place: nodes["below"][place])
            assert largest in drawn


SAID = re.compile(
    r"(?:([\d,]+) of )?([\d,]+) topics(?:, ([\d,]+) drawn; click a box for the others)?"
)


def test_the_slider_says_how_many_topics_are_drawn_and_ends_with_all(
    page_of: Callable[..., Path], show: Show
) -> None:
    """Each step is a topic more; the last one is all, however many boxes have room."""
    page = page_of(deeper(PARTS_OF["one bag of many"]))
    n = len(data_of(page)["nodes"]["id"])
    opened = show(page).page
    first, last = (int(opened.get_attribute("#cut", end) or 0) for end in ("min", "max"))
    assert first == 8 and last < n / 2
    drawn = []
    for step in range(first, last + 1):
        opened.fill("#cut", str(step))
        said = opened.inner_text(".where output")
        found = SAID.fullmatch(said)
        assert found is not None, said
        assert opened.get_attribute("#cut", "aria-valuetext") == said
        some, every, boxes = (int((part or "0").replace(",", "")) for part in found.groups())
        shown = step if step < last else n
        drawn.append(opened.locator(".picture [data-node]").count())
        assert (some or n, every, boxes or shown) == (shown, n, drawn[-1])
    assert drawn[0] == 8 and drawn[-1] == max(drawn)
    # The map has more to show for half of the way.
    assert drawn[len(drawn) // 2] >= 0.8 * max(drawn) > drawn[len(drawn) // 5]


def test_a_map_of_a_topic_counts_the_topics_of_its_branch(
    page_of: Callable[..., Path], show: Show
) -> None:
    page = page_of(deeper(PARTS_OF["one bag of many"]))
    nodes = data_of(page)["nodes"]
    opened = show(page).page
    counted, node = [], 0
    for _ in range(2):
        # A branch, then a part of it.
        below = [place for place, above in enumerate(nodes["parent"]) if above == node]
        node = max(below, key=lambda place: nodes["end"][place] - place)
        opened.locator(f'.picture [data-node="{node}"] rect').click()
        opened.evaluate(SETTLED)
        n = nodes["end"][node] - node
        drawn = opened.locator(".picture [data-node]").count()
        more = f", {drawn} drawn; click a box for the others" if drawn < n else ""
        assert opened.inner_text(".where output") == f"{n} topics{more}"
        counted.append(n)
    assert len(nodes["id"]) > counted[0] > counted[1] > 1


@pytest.mark.parametrize("width", [1280, 1920])
def test_a_deeper_level_is_drawn_in_the_boxes_that_have_room_for_it(
    page_of: Callable[..., Path], show: Show, width: int
) -> None:
    """Each branch has two parts: one with two parts, and one with a hundred."""
    parents = [ROOT, 0, 0, 1, 1, 2, 2, 3, 3, 5, 5]
    parents += [place for place in (7, 8, 9, 10) for _ in range(50)]
    page = page_of(parents + [place for place in (4, 6) for _ in range(100)])
    opened = show(page, width).page
    opened.set_viewport_size({"width": width, "height": 1080})
    opened.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    boxes = opened.locator(".picture g.box")
    drawn = {box["node"] for box in boxes.evaluate_all(BOXES)} - {None}
    depth = data_of(page)["nodes"]["parent"]

    def level(node: int) -> int:
        return 0 if depth[node] < 0 else 1 + level(depth[node])

    assert max(map(level, drawn)) == 3
    weights = opened.locator(".picture g.box[data-node]").evaluate_all(
        """boxes => boxes.filter(box => box.querySelector("text")).map(box =>
          [Number(box.dataset.node), box.querySelector("text").getAttribute("font-weight")])"""
    )
    # Names of the first topics stand out; the root is a strip beside the map.
    assert {weight for node, weight in weights if level(node) == 1} == {"600"}
    assert {weight for node, weight in weights if level(node) > 1} == {None}
    lines = boxes.evaluate_all(LINES)
    assert all(line["named"] and line["inside"] for line in lines)


def test_deep_topics_that_fill_the_map_have_clear_colours(
    page_of: Callable[..., Path], show: Show
) -> None:
    """The colour of a box follows its level in the map, not in the tree."""
    page = page_of([ROOT, 0, 0, 1, 1, 3, 3, 5, 5, 2, 2])
    opened = show(page)

    def fill(node: int) -> str | None:
        return opened.page.locator(f".picture [data-node='{node}'] rect").get_attribute("fill")

    ids = data_of(page)["nodes"]["id"]
    first = ids.index(1)
    clear = fill(first)
    opened.page.locator(f".picture [data-node='{first}']").click()
    opened.page.locator(f".picture [data-node='{ids.index(3)}']").click()
    assert fill(ids.index(5)) == clear


def test_a_topic_further_inside_has_no_single_part_beside_joined_ones(
    page_of: Callable[..., Path], show: Show
) -> None:
    """One part and "and 90 more" say less of a topic than its name in the whole width."""
    parents = [ROOT, 0, 0, 1, 1, 2, 2]
    parents += [place for place in (3, 4, 5, 6) for _ in range(90)]
    page = page_of(parents + [place for place in (7, 97, 187, 277) for _ in range(60)])
    nodes = data_of(page)["nodes"]
    opened = show(page, 1920).page
    opened.set_viewport_size({"width": 1920, "height": 1080})
    opened.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    drawn = {box["node"] for box in opened.locator(".picture g.box").evaluate_all(BOXES)} - {None}
    assert {1, 2} <= {nodes["id"][place] for place in drawn}
    for inner in (place for place in drawn if nodes["parent"][place] > 0):
        parts = [place for place, above in enumerate(nodes["parent"]) if above == inner]
        n = len(drawn & {*parts})
        assert n != 1 or n == len(parts), nodes["id"][inner]


def test_a_hidden_topic_leaves_no_gap_in_the_map(
    copied: Copied, show: Show, tmp_path: Path
) -> None:
    """Neither in the first column nor in the next ones: the others get its room."""
    run = reshaped(copied("hdp-pcvb0"), even(4, 8))
    for node in (1, 6):
        hiertopics.label(run, node, "hidden", hide=True)
    page = hiertopics.report(run, output=tmp_path / "page.html", limit="50MB").path
    nodes = data_of(page)["nodes"]
    place = {node: at for at, node in enumerate(nodes["id"])}
    shown = show(page).page
    drawn = shown.locator(".picture g.box").evaluate_all(BOXES)
    boxes = {box["node"]: box for box in drawn}
    assert place[1] not in boxes and place[6] not in boxes
    high, below = float(shown.locator(".picture svg").first.get_attribute("height")), nodes["below"]
    first = sum(boxes[place[node]]["height"] for node in (2, 3, 4))
    tokens = sum(below[place[node]] for node in (2, 3, 4))
    assert first / high == pytest.approx(tokens / (below[0] - below[place[1]]), rel=0.01)
    left = boxes[place[10]]["height"] / boxes[place[2]]["height"]
    wanted = below[place[10]] / (below[place[2]] - below[place[6]])
    assert left == pytest.approx(wanted, rel=0.02)


def test_the_slider_shows_the_largest_topics_by_words_or_documents(
    page_of: Callable[..., Path], show: Show
) -> None:
    page = page_of([ROOT, 0, 0, 1, 1, 1, 3, 3, 2, 2])
    nodes = data_of(page)["nodes"]
    opened = show(page).page
    for button, sizes in (("by words", "below"), ("by documents", "branch_docs")):
        opened.get_by_role("button", name=button).click()
        first = [0, *(place for place, above in enumerate(nodes["parent"]) if above == 0)]
        others = sorted(
            {*range(len(nodes["id"]))} - {*first}, key=lambda place: (-nodes[sizes][place], place)
        )
        for n in range(len(others) + 1):
            opened.fill("#cut", str(len(first) + n))
            boxes = opened.locator(".picture [data-node]").evaluate_all(BOXES)
            assert {box["node"] for box in boxes} == {*first, *others[:n]}


def test_a_search_ranks_whole_words_before_parts_of_words(
    copied: Copied, show: Show, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, *[0] * 12, *[1] * 9, *[2] * 7], 3)
    words = ["article", "part", "Art", "start", "fine_art", "cart", "stone", "clay", "ink"]
    (run / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    page = hiertopics.report(run, output=tmp_path / "page.html", words=2).path
    data = data_of(page)
    nodes = data["nodes"]

    def held(place: int, wanted: set[str]) -> bool:
        return bool(wanted & {data["words"][word] for word in nodes["words"][place]})

    within = [place for place in range(len(nodes["id"])) if held(place, {*words[:6]})]
    by_size = sorted(within, key=lambda place: (-nodes["below"][place], place))
    ranked = sorted(by_size, key=lambda place: not held(place, {"Art", "fine_art"}))
    assert ranked != by_size
    opened = show(page)
    told = opened.find("art")
    assert told.startswith(f"{len(ranked)} topics")
    links = opened.page.locator("[aria-label='Topics found'] a.topic")
    shown = [link.get_attribute("href") for link in links.all()]
    assert shown == [f"#t{nodes['id'][place]}" for place in ranked][: len(shown)]
    assert links.first.locator("mark").first.inner_text().lower() == "art"
    whole = [bool({"Art", "fine_art"} & {*doc["words"]}) for doc in documents(data)]
    part = [bool({*words[:6]} & {*doc["words"]}) for doc in documents(data)]
    order = sorted((i for i, has in enumerate(part) if has), key=lambda i: not whole[i])
    rows = opened.page.locator("[aria-label='Documents found'] .docname")
    assert [int(row.inner_text()) for row in rows.all()] == [
        documents(data)[i]["row"] + 1 for i in order
    ][: rows.count()]


def test_bars_that_rest_on_few_documents_are_pale_and_say_so(
    finished: Copied, show: Show, tmp_path: Path
) -> None:
    years = [2000] * 15 + [2001] * 9 + [2002] * 4 + [2003] * 2
    (tmp_path / "years").write_text("".join(f"{year}\n" for year in years))
    names = ["ann"] * 24 + ["bob"] * 4 + ["cat"] * 2
    (tmp_path / "names").write_text("".join(f"{name}\n" for name in names))
    sides = [f"year={tmp_path / 'years'}", f"name2={tmp_path / 'names'}"]
    page = hiertopics.report(
        finished("hlda-variational"), output=tmp_path / "page.html", sides=sides
    ).path
    columns = {column["name"]: column for column in data_of(page)["columns"]}
    opened = show(page, address="t0")
    few = [total < 5 for total in columns["year"]["totals"]]
    bars = opened.page.locator("#detail .chart svg rect")
    assert [bar.get_attribute("fill-opacity") == "0.35" for bar in bars.all()] == few
    titles = bars.locator("title").all_text_contents()
    assert ["pale: it rests on" in title for title in titles] == few and any(few)
    listed = opened.page.locator("#detail .meters.wide .meter[title*='of 2 documents'] .bar")
    assert listed.first.evaluate("bar => bar.style.opacity") == "0.35"
    hint = "Pale bars rest on fewer than 5 documents."
    assert opened.page.locator("#detail .hint", has_text=hint).count() == 2
    opened.page.get_by_role("group", name="Show year").get_by_text("count").click()
    assert {bar.get_attribute("fill-opacity") for bar in bars.all()} == {None}
    opened.go("")
    parts = opened.page.locator("#detail .chart rect.part").evaluate_all(
        "parts => parts.map(part => [part.getAttribute('fill-opacity'), part.textContent])"
    )
    assert {pale == "0.35" for pale, text in parts if text.startswith(("2002", "2003"))} == {True}
    assert {pale for pale, text in parts if text.startswith(("2000", "2001"))} == {None}
    assert opened.page.locator("#detail .hint", has_text=hint).count() == 1


def test_the_paragraph_stands_above_the_map_alone(
    finished: Copied, show: Show, tmp_path: Path
) -> None:
    """Not in the head, not beside topics, and its numbers nowhere else in the overview."""
    page = hiertopics.report(finished("nhdp-variational"), output=tmp_path / "page.html").path
    data = data_of(page)
    opened = show(page, 1280)
    lead = opened.page.locator("#lead")
    assert lead.is_visible() and opened.page.locator("header .lead").count() == 0
    above, picture = lead.bounding_box(), opened.page.locator(".map").bounding_box()
    assert above["y"] + above["height"] <= picture["y"] and above["width"] > picture["width"]
    overview = opened.page.inner_text("#detail")
    for number in (data["card"]["corpus"]["n_tokens"], data["card"]["corpus"]["n_docs"]):
        assert f"{number:,}" in lead.inner_text() and f"{number:,}\n" not in overview
    for address in ("t0", "d1", "documents", "model"):
        opened.go(address)
        assert lead.is_hidden()
    opened.go("")
    opened.page.emulate_media(media="print")
    seen = opened.page.locator(".lead").evaluate_all("all => all.map(one => one.checkVisibility())")
    assert seen.count(True) == 1
    assert opened.page.inner_text("#plain").count("measured") == 0


def test_a_branch_that_the_paragraph_names_again_is_named_in_short(
    finished: Copied, show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "lead_part", lambda _: ["First ", 1, ", then ", 2, " and ", 1])
    page = hiertopics.report(finished("nhdp-variational"), output=tmp_path / "page.html").path
    data = data_of(page)
    words = [[data["words"][word] for word in data["nodes"]["called"][place]] for place in (1, 2)]
    assert show(page).page.locator("#lead a").all_inner_texts() == [
        " ".join(words[0][:5]), " ".join(words[1][:5]), " ".join(words[0][:2])
    ]  # fmt: skip


def test_a_name_in_parts_is_whole_or_says_that_it_is_cut(
    copied: Copied, show: Show, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = with_mixed_tree(RunDir(copied("nhdp-variational")), monkeypatch)
    node = run.tree.shown.tolist().index(MIXED)
    monkeypatch.setattr(gathering, "lead_part", lambda _: [node, " and ", node])
    page = hiertopics.report(run, output=tmp_path / "page.html").path
    parts = [" ".join(part) for part in PARTS]
    assert len(parts) > 1
    assert show(page).page.locator("#lead a").all_inner_texts() == [
        " · ".join(parts), f"{parts[0]} …"
    ]  # fmt: skip


def test_names_in_the_map_end_inside_their_boxes(page_of: Callable[..., Path], show: Show) -> None:
    """Bold letters are wider than others, and an arrow may stand at the right of a box."""
    page = page_of(TREES["uneven"])
    for width in (390, 1280):
        shown = show(page, width).page
        over = shown.locator(".picture g.box").evaluate_all(
            """boxes => boxes.filter(box => {
              const right = box.querySelector("rect").getBBox();
              const texts = [...box.querySelectorAll("text:not([transform])")];
              const arrow = texts.at(-1)?.textContent === "›" ? texts.pop() : null;
              const edge = arrow ? arrow.getBBox().x : right.x + right.width;
              return texts.some(text => text.getBBox().x + text.getBBox().width > edge);
            }).map(box => box.textContent)"""
        )
        assert over == []


@pytest.mark.parametrize("family", ["sans-serif", "DejaVu Sans"])
def test_bold_letters_of_a_figure_end_before_its_shares(
    copied: Copied, browser: Any, tmp_path: Path, family: str
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, *[0] * 5, *[1] * 4, *[2] * 3])
    words = ["www", "MMM", "commodity", "gamma", "mommy", "window", "www_mmm", "swimming", "moon"]
    (run / "vocab.txt").write_text("".join(f"{word}\n" for word in words))
    hiertopics.export(run, tmp_path / "figure.svg", width=110.0)
    figure = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    page = browser.new_page()
    page.set_content(figure.partition("?>")[2].replace("sans-serif", family))
    over = page.evaluate(
        """() => [...document.querySelectorAll("g")].flatMap(group => {
          const box = group.querySelector("rect").getBBox();
          const [words, share] = group.querySelectorAll("text:not([transform])");
          const lines = words ? [...words.querySelectorAll("tspan")] : [];
          const edge = line => line === lines[0] && share ? share.getBBox().x : box.x + box.width;
          return lines.filter(line => {
            const begin = Number(line.getAttribute("x"));
            return begin + line.getComputedTextLength() > edge(line);
          }).map(line => line.textContent);
        })"""
    )
    n_bold = page.locator("tspan[font-weight]").count()
    page.close()
    assert over == [] and n_bold > 8


def test_two_runs_are_compared_by_a_picture_with_every_name_and_by_what_differs(
    finished: Copied, show: Show, tmp_path: Path
) -> None:
    runs = finished("hlda-variational"), finished("hlda-gibbs")
    page = hiertopics.report(*runs, output=tmp_path / "page.html").path
    part = data_of(page)["comparison"]
    for width in (390, 1280):
        opened = show(page, width, "compare")
        heads = opened.page.locator("#detail h3").all_text_contents()
        assert heads[:3] == ["Where documents went", "Topics side by side", "Side by side"]
        facts = dict(
            zip(
                opened.page.locator("#detail .facts dt").all_text_contents(),
                opened.page.locator("#detail .facts dd").all_text_contents(),
                strict=True,
            )
        )
        assert facts["pairs of topics"] == str(len(part["mine"]))
        bars = opened.page.locator("#detail .chart svg rect").count()
        boxes = opened.page.locator("#detail .chart svg text").evaluate_all(
            "all => all.map(one => [one.getBBox().x, one.getBBox().y, one.getBBox().width])"
        )
        assert len(boxes) == bars > 2  # each has a name
        edge = float(opened.page.locator("#detail .chart svg").get_attribute("width") or 0)
        assert all(x >= 0 and x + wide <= edge for x, _, wide in boxes)
        rows = opened.page.locator("#detail .sides tbody tr").all_inner_texts()
        cells = [row.split("\t") for row in rows]
        assert all(mine != other for _, mine, other in cells) and cells
        heads_high = opened.page.locator("#detail .sides tbody th").evaluate_all(
            """all => all.filter(one => !one.textContent.includes('.')).map(one => {
                const words = document.createRange();
                words.selectNodeContents(one);
                return words.getBoundingClientRect().height;
            })"""
        )
        assert heads_high and all(high < 60 for high in heads_high)
        hint = opened.page.locator("#detail .hint", has_text="Equal in both: ")
        assert "documents 24" in hint.inner_text()
        assert opened.page.locator("#tree").is_hidden()


def test_the_overview_says_that_it_counts_the_vocabulary(
    page_of: Callable[..., Path], show: Show
) -> None:
    """It has words of held-out documents, too, which no document of the page has."""
    page = page_of(even(2, 6))
    told = show(page).page.inner_text("body")
    assert re.search(r"\d+\s+words in the vocabulary", told) and "different words" not in told
