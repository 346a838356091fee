"""The description of an input, and the files that belong to a corpus by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from hiertopics.base.errors import DataError

PACKED = (".gz", ".xz")
FIELDS = ("text_field", "id_field", "group_field", "label_field")
"""The fields of a Source that serve raw text only."""
FORM = ("delimiter", "quoting", "encoding", "suffixes", "html", "html_dialogs", "markup")
"""Fields of a Source that describe the file of a raw text."""
WORDING = (
    *("lowercase", "token_pattern", "ngram_range", "stemmer", "lemmas", "stop_lemmas"),
    *("phrases", "tokenizer", "letterless", "stop_rests"),
)
"""Fields of a Source that describe how raw text is split into words."""
FOLDER = "folder"

Report = Callable[[DataError], None]


def refuse(problem: DataError) -> None:
    """Raise the problem: a reader does this with the first one."""
    raise problem


class PhraseChoice(Protocol):
    """The choice of phrases: the least NPMI, the least number of occurrences, and their gaps."""

    @property
    def npmi(self) -> float:
        """In [-1, 1]."""

    @property
    def min_count(self) -> int:
        """At least 1."""

    @property
    def over_stop_words(self) -> bool:
        """Whether words are neighbours though words between them were left out."""


@dataclass(frozen=True)
class Source:
    """A corpus to be read; ``None`` means by suffix, by sibling rule or not at all.

    A number as one of FIELDS is a column, counted from 0, of a file without header. delimiter:
    the letter between the columns of a csv file, or ``tab``. quoting: ``double`` where its cells
    may stand in double quotes, or ``none``. encoding: that of a raw text, or
    several apart by commas; the first one that fits reads a line. None is UTF-8.
    suffixes: those of the files of a folder that are read, apart by commas; None: see
    ``plaintexts.texts_in``. html: the text of a page that is read, ``all`` of it or its ``main``
    part alone; html_dialogs: with its dialogs. markup: what is read of a .md or .rst file, ``all``
    of it or its ``text`` alone.
    label_column: the column of classes in a dense table, by name or by number, a negative one
    from the end. layer: the layer of an h5ad file that holds the counts, ``X`` for the matrix
    itself.
    snippets: letters of each raw text that are kept for reading; metadata: whether its other fields
    are kept, too. stop_words and WORDING: see the settings of these names. known_phrases: pairs
    that are joined instead of those that are found in the texts; phrases_from: the documents that
    they are found in, None for all. report: is told of each line that cannot be read; where it
    returns, the reader leaves that line out and goes on.
    """

    path: Path
    format: str | None = None
    vocab: Path | None = None
    groups: Path | None = None
    labels: Path | None = None
    text_field: str | None = None
    id_field: str | None = None
    group_field: str | None = None
    label_field: str | None = None
    delimiter: str | None = None
    quoting: str = "double"
    encoding: str | None = None
    suffixes: str | None = None
    html: str = "all"
    html_dialogs: bool = False
    markup: str = "all"
    label_column: str | None = None
    layer: str | None = None
    snippets: int = 0
    metadata: bool = False
    stop_words: str | None = None
    stop_rests: bool = True
    lowercase: bool = True
    token_pattern: str | None = None
    ngram_range: Sequence[int] = (1, 1)
    stemmer: str | None = None
    lemmas: str | None = None
    stop_lemmas: bool = True
    phrases: PhraseChoice | None = None
    tokenizer: str | None = None
    letterless: bool = False
    known_phrases: Container[tuple[str, str]] | None = None
    phrases_from: Collection[int] | None = None
    report: Report = field(default=refuse, compare=False, repr=False)

    @property
    def fields(self) -> dict[str, str]:
        """The fields of raw text that are named."""
        named = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def wording(self) -> list[str]:
        """The names of FORM and WORDING that ask for something else than the defaults."""
        plain = Source(self.path)
        # Older runs have other values of these, which say nothing without another setting.
        silent = ("stop_lemmas", "stop_rests", "letterless", "html_dialogs")
        names = [name for name in (*FORM, *WORDING) if name not in silent]
        return [name for name in names if _plain(self, name) != _plain(plain, name)]


def _plain(source: Source, name: str) -> object:
    value = getattr(source, name)
    return list(value) if name == "ngram_range" else value


def unpacked(name: str) -> str:
    """Return a file name without its compression suffix."""
    for suffix in PACKED:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def stem(path: Path) -> str:
    """Return X of corpus X: no compression suffix, no suffix; the middle of ``docword.X.txt``."""
    if path.is_dir() and not path.name.endswith(".shards"):
        return path.name
    name = unpacked(path.name)
    return name.removeprefix("docword.").rpartition(".")[0] or name


def beside(path: Path, ending: str) -> Path:
    """Return the path of ``X<ending>`` beside corpus X."""
    return path.parent / (stem(path) + ending)


def find_vocabulary(path: Path, *, unnamed: bool = True) -> Path | None:
    """Return the vocabulary of corpus X; the file that is named most like X wins.

    unnamed: take ``vocab.txt`` too, which names no corpus at all, as the last resort.
    """
    names = vocabulary_names(path)
    return _first(path, [*names, "vocab.txt"] if unnamed else names)


def vocabulary_names(path: Path) -> list[str]:
    """Return the names that the vocabulary of corpus X may have, ``vocab.txt`` left out."""
    return [
        name
        for x in _stems(path)
        for name in (f"{x}.vocab", f"{x}.tokens", f"vocab.{x}.txt", f"{x}.vocab.gz")
    ]


def find_groups(path: Path) -> Path | None:
    """Return ``X.authors`` if it exists. Names are not cut here: a line belongs to a document."""
    return _first(path, [stem(path) + ".authors"])


def find_labels(path: Path, *, columns: bool = False) -> Path | None:
    """Return ``X.labels`` or ``X.labels.gz`` if one exists.

    columns: else ``X.xml``, which names the label columns of a table, X cut as for vocabularies.
    """
    names = [stem(path) + ".labels", stem(path) + ".labels.gz"]
    return _first(path, names + [f"{x}.xml" for x in _stems(path)] if columns else names)


def find_paths(path: Path) -> Path | None:
    """Return ``X.paths`` or ``X.paths.gz`` if one exists."""
    return _first(path, [stem(path) + ".paths", stem(path) + ".paths.gz"])


def names_columns(path: Path) -> bool:
    """Tell whether a labels file names columns of a table: XML as MULAN writes it."""
    return unpacked(path.name).lower().endswith(".xml")


def _stems(path: Path) -> list[str]:
    """Return X, and X cut at its last ``-`` or ``.``."""
    full = stem(path)
    cut = full[: max(full.rfind("-"), full.rfind("."), 0)]
    return [full, cut] if cut else [full]


def _first(path: Path, names: Iterable[str]) -> Path | None:
    candidates = (path.parent / name for name in names)
    return next((candidate for candidate in candidates if candidate.is_file()), None)
