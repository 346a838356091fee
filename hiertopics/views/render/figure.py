"""A tree as a figure for a paper: an icicle in SVG, as the map of the report draws it.

Roots stand on the left, children to the right of their parent. Areas are in proportion to shares of
tokens at or below a node: all boxes have one width, and heights one scale. Lengths are millimetres.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from hiertopics.base.visible import visible
from hiertopics.corpus.data.naming import BETWEEN
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.views.render import View, is_weak, share_told
from hiertopics.views.render.graphs import NO_XML
from hiertopics.views.render.letters import shortened, text_width

NAMESPACE = "http://www.w3.org/2000/svg"
FONT, LEADING, PAD = 2.5, 3.1, 1.0
STRIP = 5.0
"""Width of the strip of a single root. All boxes stand to the right of it."""

COLUMN = 32.0
"""The least width of a box where flat topics stand side by side."""

LOW = 3.2
"""Siblings with less height than this are joined to one box: no line of words fits in them."""

LEAST_HIGH, MOST_HIGH = 50.0, 230.0
"""Heights of a figure; the larger one is that of the text of a page."""

ROW, MOST_ROW = 6.5, 10.0
"""Height of the figure for each leaf, where there are not too many; more where the smallest one
would have no room for its words, but not more than the larger."""

FULL = 0.97
"""Boxes fill at most this share of several lanes, so that no box is cut in two."""

INK, PAPER, JOINED, FAINT = "#14202e", "#ffffff", "#eceff3", "#4a5868"
GREY = (215.0, 0.12, 0.88)
PALE = (0.4, 0.95)
"""Saturation and lightness of boxes that are no topic, in the hue of their branch."""

LEAST_RAISED = LOW / 2
"""The least height of a box that is drawn as high as ``LOW``, where own words have room for it."""

LEAST_OWN = 0.3
"""Height from which a node's own words have a box."""

MOST_JOINED = 0.1
"""Share of the tokens in joined boxes, above which a figure gets all the height of a page."""


class Box(NamedTuple):
    """A rectangle of the figure. rest: nodes that are joined in it; none in the box of a node.

    is_own: whether it stands for what a node has besides its children, whose boxes are above it.
    """

    node: int
    x: float
    y: float
    width: float
    height: float
    rest: tuple[int, ...] = ()
    is_own: bool = False


class FigurePlan(NamedTuple):
    """The shape of a figure.

    focus: the single root, -1 where there are several. left: where the first boxes begin. levels:
    boxes side by side on the way to a leaf; lanes: stacks of first boxes. scale: height of a share
    of 1.
    """

    focus: int
    left: float
    width: float
    height: float
    levels: int
    lanes: int
    scale: float

    @property
    def column(self) -> float:
        """The width of every box."""
        return (self.width - self.left) / (self.levels * self.lanes)


def to_svg(tree: Tree, vocab: Sequence[str], view: View) -> str:
    """Return the figure: a group for each box, with a title, a rectangle and its words as text.

    Words, and what else comes from the corpus, are escaped; controls are written out. Equal trees
    have equal bytes.
    """
    plan = _planned(tree, view)
    size = {"width": f"{_told(plan.width)}mm", "height": f"{_told(plan.height)}mm"}
    box = f"0 0 {_told(plan.width)} {_told(plan.height)}"
    font = {"font-family": "sans-serif", "font-size": _told(FONT), "fill": INK}
    svg = Element("svg", {"xmlns": NAMESPACE, **size, "viewBox": box, **font})
    SubElement(svg, "title").text = "Tree of topics; areas are shares of all words"
    if tree.arrangement is not None:
        SubElement(svg, "desc").text = _safe(tree.arrangement.note)
    back = {"width": _told(plan.width), "height": _told(plan.height), "fill": PAPER}
    SubElement(svg, "rect", back)
    if plan.focus != ROOT:
        _draw_strip(svg, tree, vocab, view, plan)
    hues = _hues(tree, view, plan)
    for each in _boxes(tree, view, plan):
        if each.is_own:
            _draw_own(svg, tree, each, hues.get(each.node))
        elif each.rest:
            _draw_joined(svg, tree, vocab, view, each, hues.get(each.node))
        else:
            _draw_node(svg, tree, vocab, view, each, hues.get(each.node))
    indent(svg)
    text: bytes = tostring(svg, encoding="utf-8", xml_declaration=True)
    return text.decode() + "\n"


def _planned(tree: Tree, view: View) -> FigurePlan:
    roots = view.roots(tree)
    below = view.children(tree, roots[0]).tolist() if len(roots) == 1 else []
    focus = roots[0] if below else ROOT
    first, left = below or roots, STRIP if below else 0.0
    nodes = list(view.nodes(tree))
    depths = [int(tree.depth[node]) for node in nodes]
    levels = max(depths, default=0) - (int(tree.depth[first[0]]) if first else 0) + 1
    leaves = [node for node in nodes if not len(view.children(tree, node))]
    n_leaves = len(leaves)
    lanes = 1
    if levels == 1:
        most = max(int((view.width - left) / COLUMN), 1)
        lanes = min(math.ceil(n_leaves * ROW / MOST_HIGH) or 1, most)
    sizes = tree.subtree_weight
    whole = max(float(sizes[first].sum()), float(sizes[focus]) if focus != ROOT else 0.0, 1e-12)
    lowest = min((float(sizes[node]) for node in leaves if sizes[node] > 0), default=whole)
    wanted = min(max(ROW * n_leaves, LOW * whole / lowest), MOST_ROW * n_leaves) / lanes
    high = min(max(wanted, LEAST_HIGH), MOST_HIGH)
    low = sum(float(sizes[node]) for node in leaves if sizes[node] * high * lanes < LOW * whole)
    if low > MOST_JOINED * whole:
        high = MOST_HIGH
    room = high * lanes * (FULL if lanes > 1 else 1.0)
    return FigurePlan(focus, left, view.width, high, levels, lanes, room / whole)


def _boxes(tree: Tree, view: View, plan: FigurePlan) -> Iterator[Box]:
    """Yield the boxes, each before those to its right."""
    first = view.children(tree, plan.focus).tolist()
    heights = [float(tree.subtree_weight[node]) * plan.scale for node in first]
    lane, at, begin = 0, 0.0, 0
    for place, high in enumerate(heights):
        if at > 0 and at + high > plan.height and lane + 1 < plan.lanes:
            yield from _stack(tree, view, plan, first[begin:place], _lane(plan, lane))
            lane, at, begin = lane + 1, 0.0, place
        at += high
    yield from _stack(tree, view, plan, first[begin:], _lane(plan, lane))


def _lane(plan: FigurePlan, lane: int) -> float:
    return plan.left + lane * plan.levels * plan.column


def _stack(
    tree: Tree, view: View, plan: FigurePlan, nodes: Sequence[int], x: float
) -> Iterator[Box]:
    """Yield the boxes of siblings below one another, and of all that is to their right.

    What waits is a box whose children are not yet placed.
    """
    above = None if plan.focus == ROOT else Box(plan.focus, 0.0, 0.0, x, plan.height)
    waiting = [*_siblings(tree, plan, nodes, x, 0.0, above)][::-1]
    while waiting:
        box = waiting.pop()
        yield box
        children = [] if box.rest or box.is_own else view.children(tree, box.node).tolist()
        if children:
            waiting += [*_siblings(tree, plan, children, box.x + box.width, box.y, box)][::-1]


def _siblings(
    tree: Tree, plan: FigurePlan, nodes: Sequence[int], x: float, y: float, above: Box | None
) -> Iterator[Box]:
    """Yield the boxes of siblings, and the box of the own words of the node above them."""
    heights = [float(tree.subtree_weight[node]) * plan.scale for node in nodes]
    end = plan.height if above is None else above.y + above.height
    n_high = _n_drawn(heights, end - y)
    if n_high == len(nodes):
        heights = [max(high, min(LOW, end - y)) for high in heights]
    for node, high in zip(nodes[:n_high], heights[:n_high], strict=True):
        yield Box(node, x, y, plan.column, high)
        y += high
    if n_high < len(nodes):
        rest = tuple(nodes[n_high:])
        high = min(max(sum(heights[n_high:]), LOW), end - y)
        yield Box(rest[0], x, y, plan.column, high, rest)
        y += high
    if above is not None and end - y > LEAST_OWN:
        yield Box(above.node, x, y, plan.column, end - y, is_own=True)


def _n_drawn(heights: Sequence[float], room: float) -> int:
    """Return how many of some siblings have boxes of their own; the others are joined to one box.

    heights: of all, descending. room: for them and the own words of the node above them. A box too
    low for a line of words, of one sibling or of joined ones, takes a little from the own words.
    If it cannot, the next higher sibling is joined, too, but never the highest one.
    """
    left = room - sum(heights)

    def has_line(high: float) -> bool:
        return high >= LOW or (high >= LEAST_RAISED and LOW - high <= left)

    n_high = sum(high >= LOW for high in heights)
    if n_high == len(heights) - 1 and (not n_high or has_line(min(heights))):
        return len(heights)
    while 1 < n_high < len(heights) and not has_line(sum(heights[n_high:])):
        n_high -= 1
    return n_high


def _draw_strip(
    svg: Element, tree: Tree, vocab: Sequence[str], view: View, plan: FigurePlan
) -> None:
    box = Box(plan.focus, 0.0, 0.0, STRIP, plan.height)
    group = _group(svg, box, _colour(*GREY), f"{_title(tree, vocab, view, plan.focus)}")
    middle = f"translate({_told(STRIP / 2 + FONT / 3)} {_told(plan.height / 2)}) rotate(-90)"
    how = {"transform": middle, "text-anchor": "middle", "font-weight": "600"}
    words = view.label(plan.focus).name or view.words(tree, plan.focus, vocab)
    (line, *_) = _lines(visible(words), plan.height - 2 * PAD, 1) or [""]
    SubElement(group, "text", how).text = _safe(line)


def _draw_node(
    svg: Element,
    tree: Tree,
    vocab: Sequence[str],
    view: View,
    box: Box,
    hue: tuple[float, int] | None,
) -> None:
    """Draw a node with its name or words, and its share on the right of the first line."""
    node = box.node
    fill = _colour(*GREY) if hue is None else _colour(hue[0], 0.52, 0.76 + 0.045 * min(hue[1], 4))
    group = _group(svg, box, fill, _title(tree, vocab, view, node))
    if is_weak(tree, node):
        group.set("opacity", "0.55")
    if box.height < LOW:
        return
    share = share_told(float(tree.subtree_weight[node]))
    name, words = visible(view.label(node).name), visible(view.words(tree, node, vocab))
    room = box.width - 2 * PAD
    n_lines = max(int((box.height - PAD) / LEADING), 1)
    first = room - FONT * text_width(f" {share}", bold=False)
    named = _lines(name, room, n_lines, first) if name else []
    bold = named or _lines(words, room, n_lines, first)
    light = _lines(words, room, n_lines - len(named), bold=False) if named else []
    top = box.y + (box.height / 2 + FONT / 3 if n_lines == 1 else PAD / 2 + FONT)
    _write(group, box.x + PAD, top, bold, light)
    if first > 0:
        at = {"x": _told(box.x + box.width - PAD), "y": _told(top), "text-anchor": "end"}
        SubElement(group, "text", at).text = share


def _write(group: Element, x: float, y: float, bold: Sequence[str], light: Sequence[str]) -> None:
    """Write lines as one text, those of a name bold: programs edit it as a whole."""
    if not bold:
        return
    text = SubElement(group, "text")
    for number, line in enumerate((*bold, *light)):
        at = {"x": _told(x), "y": _told(y + number * LEADING)}
        weight = {"font-weight": "600"} if number < len(bold) else {}
        SubElement(text, "tspan", at | weight).text = _safe(line)


def _draw_joined(
    svg: Element,
    tree: Tree,
    vocab: Sequence[str],
    view: View,
    box: Box,
    hue: tuple[float, int] | None,
) -> None:
    told = f"and {len(box.rest)} more"
    names = "; ".join(visible(view.called(tree, node, vocab)) for node in box.rest)
    _draw_faint(svg, box, hue, f"{told}: {names}", told)


def _draw_own(svg: Element, tree: Tree, box: Box, hue: tuple[float, int] | None) -> None:
    """Draw the rest of a node beside its children: its own words, and those of hidden topics."""
    title = f"own words of [{tree.id_of(box.node)}], and of topics that are not shown"
    _draw_faint(svg, box, hue, title, "own words")


def _draw_faint(
    svg: Element, box: Box, hue: tuple[float, int] | None, title: str, told: str
) -> None:
    """Draw a box that is no topic, pale in the hue of its branch."""
    fill = JOINED if hue is None else _colour(hue[0], *PALE)
    group = _group(svg, box, fill, title)
    if box.height >= LOW:
        at = {"x": _told(box.x + PAD), "y": _told(box.y + min(box.height / 2 + FONT / 3, LEADING))}
        SubElement(group, "text", at | {"fill": FAINT}).text = told


def _group(svg: Element, box: Box, fill: str, title: str) -> Element:
    """Add a rectangle with a title. A white edge separates it from its neighbours."""
    group = SubElement(svg, "g")
    SubElement(group, "title").text = _safe(title)
    place = {"x": _told(box.x), "y": _told(box.y), "width": _told(box.width)}
    edge = {"stroke": PAPER, "stroke-width": "0.3"}
    SubElement(group, "rect", {**place, "height": _told(box.height), "fill": fill, **edge})
    return group


def _title(tree: Tree, vocab: Sequence[str], view: View, node: int) -> str:
    share, n_docs = share_told(float(tree.subtree_weight[node])), int(tree.branch_docs[node])
    told = f"{n_docs} document{'s' * (n_docs != 1)}, {share} of all words"
    return f"[{tree.id_of(node)}] {visible(view.called(tree, node, vocab))}: {told}"


def _hues(tree: Tree, view: View, plan: FigurePlan) -> dict[int, tuple[float, int]]:
    """Return the hue of the branch of each node, and how deep it lies in the branch."""
    hues: dict[int, tuple[float, int]] = {}
    for number, branch in enumerate(view.children(tree, plan.focus).tolist()):
        hues[branch] = ((205 + number * 137.508) % 360, 0)
    for node in view.nodes(tree):
        above = hues.get(int(tree.parent[node]))
        if above is not None:
            hues[node] = (above[0], above[1] + 1)
    return hues


def _lines(
    text: str, room: float, most: int, first: float | None = None, *, bold: bool = True
) -> list[str]:
    """Cut a text into lines of a width, between parts of a name or at blanks.

    first: room of the first line, where it has less. A word that is too long is cut.
    """
    found: list[str] = []

    def fits(line: str, number: int) -> bool:
        of_line = room if number or first is None else first
        return FONT * text_width(line, bold=bold) <= of_line

    for word in _units(text, fits):
        if found and fits(f"{found[-1]} {word}", len(found) - 1):
            found[-1] += f" {word}"
        elif len(found) < most:
            found.append(word)
        else:
            break
    rooms = [room if first is None else first, *[room] * len(found)]
    cut = [shortened(line, rooms[number] / FONT, bold=bold) for number, line in enumerate(found)]
    return cut if all(cut) else []


def _units(text: str, fits: Callable[[str, int], bool]) -> Iterator[str]:
    """Yield units that no line divides: a part of a name with the separator before it, or a word.

    A separator begins a line and never ends one: a separator at the end would look cut. fits:
    whether a text has room on a line, by its number. Only the first part stands on the first line
    in any case.
    """
    first, *others = text.split(BETWEEN)
    for number, part in enumerate((first, *(f"{BETWEEN.lstrip()}{part}" for part in others))):
        if others and fits(part, number):
            yield part
        elif words := part.removeprefix(BETWEEN.lstrip()).split():
            yield f"{BETWEEN.lstrip() if number else ''}{words[0]}"
            yield from words[1:]


def _colour(hue: float, saturation: float, lightness: float) -> str:
    """Return a colour of HSL as #rrggbb, which every program reads. hue: from 0 to 360."""
    most = saturation * min(lightness, 1 - lightness)
    parts = [(n + hue / 30) % 12 for n in (0, 8, 4)]
    values = [lightness - most * max(-1, min(part - 3, 9 - part, 1)) for part in parts]
    return "#" + "".join(f"{round(255 * value):02x}" for value in values)


def _told(length: float) -> str:
    """Return a length with at most four decimals, without zeros at its end."""
    return f"{length:z.4f}".rstrip("0").rstrip(".")


def _safe(text: str) -> str:
    return NO_XML.sub("\ufffd", text)
