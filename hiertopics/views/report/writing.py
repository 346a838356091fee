"""``report``: one file that shows a run in any browser."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from hiertopics.base import files
from hiertopics.base.errors import UsageError
from hiertopics.base.visible import in_letters, steady, visible
from hiertopics.corpus.data.naming import in_order, in_parts
from hiertopics.corpus.data.support import without_sentence
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.levels import in_levels, parse_cut, supported_part
from hiertopics.views.render import FEW_DOCUMENTS, View, few_documents
from hiertopics.views.render.trees import to_lists
from hiertopics.views.report.gathering import ReportRequest, gather
from hiertopics.views.report.lead import lead_text
from hiertopics.views.report.packing import DEFAULT_LIMIT, parse_size

WORDS = 30
"""Most words per topic and order, where nobody says how many."""

PLAIN_WORDS = 8
N_CALLED = 5
"""Words that a topic is called by in the paragraph above the map."""

SUFFIXES = ("", ".html", ".htm")
"""Suffixes that the name of a page may have."""
PLAIN_PART = 0.1
"""Part of the largest page up to which the list for paper holds the nodes of few documents, too."""


class Report(NamedTuple):
    """A written report: the page, its size in bytes, and its omissions, in sentences."""

    path: Path
    n_bytes: int
    left_out: tuple[str, ...]


@trusts
def report(
    run: Path | str | RunDir,
    other: Path | str | RunDir | None = None,
    output: Path | str = "report.html",
    *,
    json: Path | str | None = None,
    words: int = WORDS,
    words_by: str | None = None,
    limit: str = DEFAULT_LIMIT,
    text: bool = True,
    sides: Sequence[str] = (),
    cut: str | None = None,
    supported: float | None = None,
    title: str | None = None,
    trust_tokenizer: bool = False,
) -> Report:
    """Write a run as one HTML file that loads nothing, whole or not at all.

    other: a second run to compare with. json: a file for the data of the page, too. words: per
    topic and order. words_by: the order of the words that topics are called by, of
    ``naming.ORDERS``; None: ``name``. limit: most bytes of the page, such as "5MB". text: False
    leaves out the words of single documents. sides: ``NAME=FILE``, a line per document of the
    corpus. cut: about how many nodes each level has, ``20,80``. supported: nodes of less support
    by resamples are part of those above. title: of the page; None: the corpus's name. Raises
    UsageError, DataError or RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    path = Path(output)
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{path}: the page is HTML; give it a name that ends in .html (a browser prints it as "
            "PDF)"
        )
    targets = [path] if json is None else [path, Path(json)]
    for target in targets:
        files.require_place(target)
    if len({target.absolute() for target in targets}) < len(targets):
        raise UsageError(f"{path} cannot be both the page and its data; choose another name")
    request = ReportRequest(
        words, parse_size(limit), text, tuple(sides), cut, supported, words_by, title
    )
    page, data, left_out = made_page(opened(run), None if other is None else opened(other), request)
    writers = {path: files.as_text(page)}
    if json is not None:
        writers[Path(json)] = files.as_text(files.to_json(data) + "\n")
    files.write_together(writers)
    return Report(path, len(page.encode()), left_out)


def made_page(
    run: RunDir, other: RunDir | None, request: ReportRequest
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """Return the page, its data and the omissions of both, in sentences.

    Raises UsageError, DataError or RunError.
    """
    # Names are those of the whole tree: a node that stays keeps its name.
    tree = in_order(run.supported_tree, run.vocab, request.words_by)
    if request.supported is not None:
        tree = supported_part(run, tree, request.supported)
    if request.cut is not None and not tree.is_flat:
        tree = in_levels(tree, parse_cut(request.cut))
    labels = labels_of(run, tree, quiet=True)
    view = View(n_words=PLAIN_WORDS, labels=labels)
    plain = without_sentence(tree)  # the paragraph has it
    lists = to_lists(plain, run.vocab, view)
    if len(lists) > PLAIN_PART * request.limit:
        lists = to_lists(plain, run.vocab, view._replace(min_docs=few_documents(tree)))
    backend = str(run.manifest["backend"])
    overhead = len(html_of("", "", lists, {}).encode()) + 1000
    box = gather(run, other, request, overhead)
    card, lead = box.parts["card"], _lead(box.parts)
    title = request.title or f"{card['title']}: topics"
    page = html_of(title, f"{backend}, {card['title']}", f"{lead}{lists}", box.texts)
    return page, box.parts, tuple(box.parts["left_out"])


def _lead(parts: Mapping[str, Any]) -> str:
    """Return the paragraph above the map as HTML, for paper and without scripts."""
    nodes, words = parts["nodes"], parts["words"]
    names = nodes.get("name", [""] * len(nodes["id"]))
    in_several: list[list[list[int]]] = nodes.get("parts", [[]] * len(names))
    called = [
        name or in_parts(_in_words(words, whole or [first[:N_CALLED]]), N_CALLED)
        for name, whole, first in zip(names, in_several, nodes["called"], strict=True)
    ]
    told = escape(visible(lead_text(parts.get("lead", ()), called)))
    return f'<p class="lead">{told}</p>\n' if told else ""


def _in_words(words: Sequence[str], parts: Sequence[Sequence[int]]) -> list[list[str]]:
    return [[words[word] for word in part] for part in parts]


PAGE = Path(__file__).with_name("page")
SCRIPTS = (
    "data",
    "labels",
    "edits",
    "elements",
    "figures",
    "map",
    "outline",
    "search",
    "topic",
    "time",
    "table",
    "document",
    "group",
    "agreement",
    "card",
    "comparison",
    "main",
)
"""The files of the script, in the order in which they are joined; each knows those before it."""

STYLES = ("base", "panes", "print")


def html_of(title: str, about: str, plain: str, texts: Mapping[str, str]) -> str:
    """Return the page. plain: the tree as nested lists of HTML, for paper and without scripts.

    texts: parts of the data by name (``packing.packed``). The policy of the page lets nothing be
    loaded, and only its own script run, which it knows by its hash.
    """
    script, style = _script(), _joined(STYLES, ".css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    filled = {
        "POLICY": policy,
        "TITLE": escape(steady(in_letters(title))),
        "ABOUT": escape(steady(in_letters(about))),
        "STYLE": style,
        "PLAIN": plain,
        "DATA": "".join(f"{name} {text}\n" for name, text in texts.items()),
        "SCRIPT": script,
    }
    text = (PAGE / "page.html").read_text(encoding="utf-8")
    pieces = text.split("%%")
    return "".join(filled[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _script() -> str:
    passed = f"const FEW_DOCUMENTS = {FEW_DOCUMENTS};\n"
    return f'"use strict";\n(() => {{\n{passed}{_joined(SCRIPTS, ".js")}}})();\n'


def _joined(names: tuple[str, ...], suffix: str) -> str:
    return "".join((PAGE / f"{name}{suffix}").read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
