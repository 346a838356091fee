"""From packed parts and the files of the folder ``page`` to one HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from html import escape
from pathlib import Path

from hiertopics.visible import visible

PAGE = Path(__file__).with_name("page")
SCRIPTS = (
    "data",
    "labels",
    "elements",
    "figures",
    "map",
    "outline",
    "search",
    "topic",
    "document",
    "group",
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
        "TITLE": escape(visible(title)),
        "ABOUT": escape(visible(about)),
        "STYLE": style,
        "PLAIN": plain,
        "DATA": "".join(f"{name} {text}\n" for name, text in texts.items()),
        "SCRIPT": script,
    }
    text = (PAGE / "page.html").read_text(encoding="utf-8")
    pieces = text.split("%%")
    return "".join(filled[piece] if place % 2 else piece for place, piece in enumerate(pieces))


def _script() -> str:
    return f'"use strict";\n(() => {{\n{_joined(SCRIPTS, ".js")}}})();\n'


def _joined(names: tuple[str, ...], suffix: str) -> str:
    return "".join((PAGE / f"{name}{suffix}").read_text(encoding="utf-8") for name in names)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
