"""The text of Markdown and reStructuredText, without marks that no reader of the page sees.

Goes by lines and patterns, not by a grammar: what is read are words. Code is text, as it is in
HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

ADDRESS = re.compile(r"<?\b(?:https?|ftp|mailto):[^\s<>)\]}]*>?")
UNDERSCORES = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")
"""Those at the ends of words: emphasis, references."""

FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
COMMENT = re.compile(r"<!--(?:.*?-->|.*)", re.DOTALL)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.MULTILINE)
DEFINITION = re.compile(r"^[ ]{0,3}\[[^\]\n]+\]:[ \t]*\S+.*$", re.MULTILINE)
PLACE = r"(?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|\[[^\]]*\])"
IMAGE, LINK = (re.compile(start + r"\[([^\[\]]*)\]" + PLACE) for start in ("!", ""))

DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\.[ \t]+(?:\|[^|]+\|[ \t]+)?(?P<name>[\w:.+-]*\w)::(?P<rest>.*)$"
)
NOTE = re.compile(r"^[ \t]*\.\.[ \t]+\[[^\]]+\][ \t]*(?P<rest>.*)$")
"""A footnote or a citation."""
HIDDEN = re.compile(r"^(?P<indent>[ \t]*)\.\.(?:[ \t]|$)")
"""A target or a comment."""
OPTION = re.compile(r"^[ \t]+:[\w -]+:(?:[ \t]|$)")
ROLE = re.compile(r"(?<!\w):(?:[\w+.-]+:)*[\w+.-]+:(?=`)")
TARGET = re.compile(r"`([^`<>]*?)\s*<[^`<>]*>`")
SUBSTITUTION = re.compile(r"(?<!\w)\|[\w][^|\n]*\|_{0,2}")

UNREAD = {"toctree", "raw", "meta", "index", "contents", "image", "include", "literalinclude"}
"""Directives whose content is no text of the page."""
ARGUED = {"figure", "code", "code-block", "sourcecode", "highlight", "role", "default-role", "only"}
ARGUED |= {"container", "class", "currentmodule", "py:currentmodule", "table", "tabularcolumns"}
"""Directives whose content is text, and whose argument is a file, a language or a name."""


def text_of_markdown(page: str) -> str:
    """Return the text of a Markdown page: that of links, not their addresses; no front matter."""
    page = FENCE.sub("", DEFINITION.sub("", COMMENT.sub(" ", FRONT_MATTER.sub("", page))))
    page = TAG.sub(" ", ADDRESS.sub(" ", LINK.sub(r"\1", IMAGE.sub(r"\1", page))))
    return UNDERSCORES.sub(" ", html.unescape(page))


def text_of_restructured(page: str) -> str:
    """Return the text of a reStructuredText page: content of directives and roles, not their names.

    Comments, targets, options of directives and lists of other pages go.
    """
    lines: list[str] = []
    skipped: int | None = None
    options = False
    for line in page.splitlines():
        indent = len(line) - len(line.lstrip())
        if skipped is not None and (not line.strip() or indent > skipped):
            continue
        skipped = None
        if options and OPTION.match(line):
            continue
        options = False
        if found := DIRECTIVE.match(line):
            options = True
            name = found["name"]
            if name in UNREAD:
                skipped = indent
            elif name not in ARGUED:
                lines.append(found["rest"])
        elif found := NOTE.match(line):
            lines.append(found["rest"])
        elif HIDDEN.match(line):
            skipped = indent
        else:
            lines.append(line)
    text = TARGET.sub(r"\1", ROLE.sub("", "\n".join(lines)))
    return UNDERSCORES.sub(" ", ADDRESS.sub(" ", SUBSTITUTION.sub(" ", text)))


MARKED: dict[str, Callable[[str], str]] = {
    ".md": text_of_markdown,
    ".rst": text_of_restructured,
}
"""By suffix of a file, what returns its text."""
