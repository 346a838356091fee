"""The table of formats: a new format is a module and a line here.

An installed package adds a format by an entry point of the group ``hiertopics.formats`` that names
a ``Format``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.plugins import PluginTable
from hiertopics.corpus.formats.opening import BINARY, is_binary
from hiertopics.corpus.formats.source import FOLDER, Source, unpacked

if TYPE_CHECKING:
    from hiertopics.corpus.data import Corpus, Vectors
    from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts

Reader = Callable[[Source, "tuple[str, ...] | None"], "Corpus | Vectors"]

Drafter = Callable[[Source, "tuple[str, ...] | None", "CorpusDraft"], "CorpusFacts"]
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
    named: names its own words, so that no vocabulary file goes with it. doc_names: the file that
    ``write`` makes holds the names of documents. xml_labels: an XML file beside it names columns
    that are labels. folder: is a folder, which holds all that belongs to the corpus. layered: may
    hold several tables; ``layer`` names the one that is read.
    """

    module: str
    patterns: tuple[str, ...] = ()
    writes: bool = False
    text: bool = False
    packs: bool = True
    dense: bool = False
    named: bool = False
    doc_names: bool = False
    xml_labels: bool = False
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
        """Return the function that writes ``path``; a module may choose it by the file's name."""
        module = self._import()
        writer: Writer = getattr(module, "writer_for", lambda _: module.write)(path)
        return writer

    def _import(self) -> Any:
        return import_module(self.module)


OWN: dict[str, Format] = {
    "ldac": Format("hiertopics.corpus.formats.ldac", ("*.ldac", "*.dat", "*.corpus"), writes=True),
    "uci": Format("hiertopics.corpus.formats.uci", ("docword.*.txt",), writes=True),
    "mtx": Format("hiertopics.corpus.formats.matrixmarket", ("*.mtx",), writes=True),
    "svmlight": Format(
        "hiertopics.corpus.formats.svmlight", ("*.svmlight", "*.svm", "*.libsvm"), writes=True
    ),
    "edges": Format("hiertopics.corpus.formats.edges", ("*.edges",), writes=True),
    "npz": Format("hiertopics.corpus.formats.npz", ("*.npz",), writes=True, packs=False),
    "vectors": Format("hiertopics.corpus.formats.vectors", ("*.npy",), writes=True, dense=True),
    "arff": Format(
        "hiertopics.papers.arff",
        ("*.arff",),
        writes=True,
        dense=True,
        named=True,
        xml_labels=True,
    ),
    "h5ad": Format(
        "hiertopics.corpus.formats.h5ad", ("*.h5ad",), packs=False, named=True, layered=True
    ),
    "shards": Format(
        "hiertopics.corpus.formats.shards",
        ("*.shards",),
        writes=True,
        packs=False,
        named=True,
        folder=True,
    ),
    "jsonl": Format("hiertopics.corpus.formats.text", ("*.jsonl",), text=True),
    "json": Format("hiertopics.corpus.formats.text", ("*.json",), text=True),
    "csv": Format("hiertopics.corpus.formats.text", ("*.csv",), text=True),
    "tsv": Format("hiertopics.corpus.formats.text", ("*.tsv",), text=True),
    "parquet": Format("hiertopics.corpus.formats.text", ("*.parquet",), text=True, packs=False),
    "lines": Format("hiertopics.corpus.formats.text", text=True),
    "paragraphs": Format("hiertopics.corpus.formats.text", text=True),
    FOLDER: Format("hiertopics.corpus.formats.text", text=True),
}

FORMATS: PluginTable[Format] = PluginTable(
    "format", "hiertopics.formats", "hiertopics.corpus.formats.table:Format", OWN
)
"""Every format: those above, and those of installed packages."""


class UnknownFormatError(UsageError):
    """The name of a file tells no format."""

    def __init__(self, path: Path, hint: str) -> None:
        super().__init__(f"{path}: no format goes by that name; {hint}")
        self.path = path


def format_of(path: Path, wanted: str | None = None) -> str:
    """Return the name of the format: ``wanted`` if given, else decided by the file's name.

    Raises UsageError where no format of that name exists; UnknownFormatError where the name tells
    nothing.
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
    raise UnknownFormatError(path, _hint(path))


def _hint(path: Path) -> str:
    """Return what to do about a corpus whose name tells no format, by how it begins."""
    from hiertopics.corpus.formats.guesses import options_told  # only a mistake needs it

    if _is_known_as_binary(path):
        return f"it {BINARY}; name the format by --from, one of {', '.join(FORMATS)}"
    if (options := options_told(path)) is not None:
        return f"by its first lines, {options} reads it"
    return (
        f"name the format by --from, one of {', '.join(FORMATS)}; --lines takes each line for a "
        "document"
    )


def _is_known_as_binary(path: Path) -> bool:
    """Tell whether a file is there, can be read and is binary; a pipe is not looked into."""
    with suppress(DataError):
        return path.is_file() and is_binary(path)
    return False
