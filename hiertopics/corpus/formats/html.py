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


def text_of_html(page: str) -> str:
    """Return the text between the tags, without scripts and styles, with entities resolved."""
    reader = _Text()
    reader.feed(page)
    reader.close()
    return "".join(reader.parts)


def main_text_of_html(page: str) -> str:
    """Return the text of a page without its navigation, side bars and footer.

    Raises UsageError where resiliparse is not installed.
    """
    told = f"data.html=main needs resiliparse: {INSTALL_HTML}"
    extract = optional("resiliparse.extract.html2text", told).extract_plain_text
    return str(extract(page, preserve_formatting=False, main_content=True))


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
