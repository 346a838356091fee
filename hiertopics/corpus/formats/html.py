"""The text of an HTML page."""

from __future__ import annotations

from html.parser import HTMLParser

from hiertopics.base.errors import optional

INSTALL_HTML = "pip install 'hiertopics[html]'"
UNSEEN = ("script", "style", "template", "noscript")
INLINE = (
    *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "em", "font", "i", "kbd"),
    *("mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var"),
)
"""Elements that do not end a word: ``<b>t</b>opic`` is one."""


DIALOGS = (
    *("dialog", "[role=dialog]", "[role=alertdialog]"),
    *(f"div{how}:not(.section)" for how in (".popup", "[id$=-popup]", "[class$=-popup]")),
)
"""CSS selectors of dialogs and pop-ups, which readers see only when they ask for them. A section
of a text (Sphinx) may be called by a heading that ends in "popup"."""


def text_of_html(page: str) -> str:
    """Return the text between the tags, without scripts and styles, with entities resolved."""
    reader = _Text()
    reader.feed(page)
    reader.close()
    return "".join(reader.parts)


def main_text_of_html(page: str, *, dialogs: bool = False) -> str:
    """Return the text of a page without its navigation, side bars and footer.

    dialogs: with dialogs and pop-ups. Raises UsageError where resiliparse is not installed.
    """
    told = f"data.html=main needs resiliparse: {INSTALL_HTML}"
    extract = optional("resiliparse.extract.html2text", told).extract_plain_text
    skipped = () if dialogs else DIALOGS
    found = extract(page, preserve_formatting=False, main_content=True, skip_elements=skipped)
    return str(found)


class _Text(HTMLParser):
    """Collects text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unseen: list[str] = []
        self._first: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Note that text after it is not seen, or that a word ends here."""
        if tag in UNSEEN:
            self._first.setdefault(tag, len(self._unseen))
            self._unseen.append(tag)
        self._end_word(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note that text is seen again, or that a word ends here."""
        if tag in self._first:
            outermost = self._first[tag]
            del self._unseen[outermost:]
            self._first = {name: at for name, at in self._first.items() if at < outermost}
        self._end_word(tag)

    def handle_data(self, data: str) -> None:
        """Keep text that is seen."""
        if not self._unseen:
            self.parts.append(data)

    def _end_word(self, tag: str) -> None:
        if tag not in INLINE:
            self.parts.append("\n")
