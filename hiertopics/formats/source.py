"""What to read and how, and the table of formats: a new one is a module and a line here.

An installed package adds a format by an entry point of the group ``hiertopics.formats`` that names
a ``Format``. Also which files belong to a corpus because of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from hiertopics.errors import DataError, UsageError
from hiertopics.plugins import Table

if TYPE_CHECKING:
    from hiertopics.data.corpus import Corpus
    from hiertopics.data.vectors import Vectors
    from hiertopics.formats.drafts import Draft, Known

PACKED = (".gz", ".xz")
FIELDS = ("text_field", "id_field", "group_field", "label_field")
"""The fields of a Source that serve raw text only."""
WORDING = ("lowercase", "token_pattern", "ngram_range", "stemmer", "phrases", "tokenizer")
"""What of a Source says how raw text becomes words."""
FOLDER = "folder"

Report = Callable[[DataError], None]


def refuse(problem: DataError) -> None:
    """Raise the problem: what reading does with the first one."""
    raise problem


class Phrases(Protocol):
    """Which pairs of neighbours are joined: by the least NPMI and the least number of times."""

    @property
    def npmi(self) -> float:
        """In [-1, 1]."""

    @property
    def min_count(self) -> int:
        """At least 1."""


@dataclass(frozen=True)
class Source:
    """A corpus to be read; ``None`` means by suffix, by sibling rule or not at all.

    A number as one of FIELDS is a column, counted from 0, of a file without header. label_column:
    the column of classes in a dense table, by name or by number, a negative one from the end.
    layer: the layer of an h5ad file that holds the counts, ``X`` for the matrix itself.
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
    label_column: str | None = None
    layer: str | None = None
    snippets: int = 0
    metadata: bool = False
    stop_words: str | None = None
    lowercase: bool = True
    token_pattern: str | None = None
    ngram_range: Sequence[int] = (1, 1)
    stemmer: str | None = None
    phrases: Phrases | None = None
    tokenizer: str | None = None
    known_phrases: Collection[tuple[str, str]] | None = None
    phrases_from: Collection[int] | None = None
    report: Report = field(default=refuse, compare=False, repr=False)

    @property
    def fields(self) -> dict[str, str]:
        """The fields of raw text that are named."""
        named = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def wording(self) -> list[str]:
        """The names of WORDING that ask for something else than the defaults."""
        plain = Source(self.path)
        return [name for name in WORDING if _plain(self, name) != _plain(plain, name)]


def _plain(source: Source, name: str) -> object:
    value = getattr(source, name)
    return list(value) if name == "ngram_range" else value


Reader = Callable[[Source, "tuple[str, ...] | None"], "Corpus | Vectors"]
Drafter = Callable[[Source, "tuple[str, ...] | None", "Draft"], "Known"]
"""Reads a file some documents at a time."""

Writer = Callable[[Any, IO[bytes]], None]
"""Writes a Corpus; that of a dense format writes Vectors too."""


@dataclass(frozen=True)
class Format:
    """How a format is recognised, and the module that serves it, by its full name.

    The module has ``read(source, vocab)`` and, where ``writes`` is set, ``write(corpus, file)``;
    where documents can be read some at a time, ``draft(source, vocab, into)``, too.
    patterns: of file names, compression suffix removed. text: raw text, to be tokenised.
    packs: may be written as .gz or .xz. dense: holds vectors, a column of classes among them.
    named: names its own words, so that no vocabulary file goes with it. folder: is a folder, which
    holds all that belongs to the corpus. layered: may hold several tables, of which ``layer`` takes
    one.
    """

    module: str
    patterns: tuple[str, ...] = ()
    writes: bool = False
    text: bool = False
    packs: bool = True
    dense: bool = False
    named: bool = False
    folder: bool = False
    layered: bool = False

    @property
    def reader(self) -> Reader:
        """The function that reads this format, imported on first use."""
        reader: Reader = self._import().read
        return reader

    @property
    def drafter(self) -> Drafter | None:
        """The function that reads some documents at a time, or None where there is none."""
        return getattr(self._import(), "draft", None)

    @property
    def writer(self) -> Writer | None:
        """The function that writes a file of this format, or None where there is none."""
        return self._import().write if self.writes and not self.folder else None

    def writer_for(self, path: Path) -> Writer:
        """Return the function that writes ``path``: a module may choose one by the file's name."""
        module = self._import()
        writer: Writer = getattr(module, "writer_for", lambda _: module.write)(path)
        return writer

    def _import(self) -> Any:
        return import_module(self.module)


OWN: dict[str, Format] = {
    "ldac": Format("hiertopics.formats.ldac", ("*.ldac", "*.dat", "*.corpus"), writes=True),
    "uci": Format("hiertopics.formats.uci", ("docword.*.txt",), writes=True),
    "mtx": Format("hiertopics.formats.matrixmarket", ("*.mtx",), writes=True),
    "svmlight": Format(
        "hiertopics.formats.svmlight", ("*.svmlight", "*.svm", "*.libsvm"), writes=True
    ),
    "edges": Format("hiertopics.formats.edges", ("*.edges",), writes=True),
    "npz": Format("hiertopics.formats.npz", ("*.npz",), writes=True, packs=False),
    "vectors": Format("hiertopics.formats.vectors", ("*.npy",), writes=True, dense=True),
    "arff": Format("hiertopics.formats.arff", ("*.arff",), writes=True, dense=True, named=True),
    "h5ad": Format("hiertopics.formats.h5ad", ("*.h5ad",), packs=False, named=True, layered=True),
    "shards": Format(
        "hiertopics.formats.shards",
        ("*.shards",),
        writes=True,
        packs=False,
        named=True,
        folder=True,
    ),
    "jsonl": Format("hiertopics.formats.text", ("*.jsonl",), text=True),
    "csv": Format("hiertopics.formats.text", ("*.csv",), text=True),
    "tsv": Format("hiertopics.formats.text", ("*.tsv",), text=True),
    "parquet": Format("hiertopics.formats.text", ("*.parquet",), text=True, packs=False),
    FOLDER: Format("hiertopics.formats.text", text=True),
}

FORMATS: Table[Format] = Table(
    "format", "hiertopics.formats", "hiertopics.formats.source:Format", OWN
)
"""Every format: those above, and those of installed packages."""


def unpacked(name: str) -> str:
    """Return a file name without its compression suffix."""
    for suffix in PACKED:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def format_of(path: Path, wanted: str | None = None) -> str:
    """Return the name of the format: ``wanted`` if given, else decided by the file's name.

    Raises UsageError where no format of that name exists or the name tells nothing.
    """
    if wanted is not None:
        if wanted not in FORMATS:
            raise UsageError(f"unknown format {wanted!r}; there are {', '.join(FORMATS)}")
        return wanted
    name = unpacked(path.name).lower()
    if path.is_dir():
        folders = (other for other, form in FORMATS.items() if form.folder)
        return next((f for f in folders if fnmatchcase(name, FORMATS[f].patterns[0])), FOLDER)
    for format_name, form in FORMATS.items():
        if any(fnmatchcase(name, pattern) for pattern in form.patterns):
            return format_name
    known = " ".join(pattern for form in FORMATS.values() for pattern in form.patterns)
    raise UsageError(
        f"{path}: no format goes by that name (known: {known}, with .gz or .xz too); "
        f"name the format, one of {', '.join(FORMATS)}"
    )


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
