"""Corpora without a file, Python objects and pipes: written to a file, then read as usual.

So an object and the same corpus in a file go one way, and a run keeps what it was fitted to.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np
from scipy import sparse

from hiertopics.base import files
from hiertopics.base.arrays import F64
from hiertopics.base.errors import HiertopicsError, RunError, UsageError
from hiertopics.base.visible import steady
from hiertopics.corpus.data import Corpus, Tags, Vectors, default_columns, default_vocab
from hiertopics.corpus.data.names import made_unique, names_of, require_names, unique_note
from hiertopics.corpus.formats.sidefiles import TagTable
from hiertopics.corpus.formats.source import FOLDER
from hiertopics.corpus.formats.table import FORMATS, format_of
from hiertopics.corpus.formats.text import count_words
from hiertopics.corpus.formats.writing import write_corpus

Marks = Sequence[Sequence[str]]
"""The groups, or the labels, of each document."""


def is_file(corpus: Any) -> bool:
    """Tell whether a corpus is given by the name of its file."""
    return isinstance(corpus, str | os.PathLike)


def as_corpus(
    data: Any,
    *,
    vocab: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    groups: Marks | None = None,
    labels: Marks | None = None,
) -> Corpus | Vectors:
    """Return an object as a corpus, or a dense table as vectors.

    data: a Corpus or Vectors; a scipy.sparse matrix or an array, documents x words; a data frame,
    whose columns are the words; an AnnData; texts, one string per document (scikit-learn's
    CountVectorizer cuts them); or a list of words per document.
    vocab: the words of the columns, or of texts those that are counted. columns: likewise, but
    only for a table that does not name its own. groups, labels: a list of names per document.

    Several genes of an AnnData that have one name are told apart by a number, with a warning on
    stderr. Raises UsageError for anything else; HiertopicsError where the parts do not fit
    together, and for words, groups or labels that are empty, repeated or more than one line.
    """
    data = list(data) if isinstance(data, Iterator) else data
    corpus = _counted(data, vocab, columns)
    if groups is not None:
        corpus = replace(corpus, groups=_tags("groups", groups))
    if labels is not None:
        corpus = replace(corpus, labels=_tags("labels", labels))
    for noun, names in names_of(corpus):
        require_names(names, noun)
    return corpus


def store(corpus: Corpus | Vectors, folder: Path) -> Path:
    """Write a corpus, unless it is there already, under a name that its contents give.

    Returns the path. Raises UsageError for words that no vocabulary file can hold.
    """
    suffix = ".npz" if isinstance(corpus, Corpus) else ".npy"
    path = folder / f"{corpus.fingerprint[:16]}{suffix}"
    if not path.exists():
        files.make_folder(folder)
        write_corpus(corpus, path)
    return path


def holds_texts(data: Any) -> bool:
    """Tell whether data are a frame (pandas, polars, arrow) with a column of texts."""
    frame = _frame(data)
    return frame is not None and any(kind == "String" for kind in map(str, frame.schema.values()))


def _frame(data: Any) -> Any:
    """Return a data frame as narwhals wraps it; None for anything else."""
    try:
        import narwhals.stable.v1 as nw
    except ImportError:
        return None
    found = nw.from_native(data, eager_only=True, pass_through=True)
    return found if isinstance(found, nw.DataFrame) else None


def store_texts(data: Any, folder: Path) -> Path:
    """Write a frame of texts as JSON lines, a record for each row; return the path.

    NaN becomes null. The name of the file is given by what it holds.
    """
    rows = _frame(data).iter_rows(named=True)
    known = (
        {name: value if value == value else None for name, value in row.items()} for row in rows
    )
    lines = "".join(json.dumps(row, default=str) + "\n" for row in known)
    path = folder / f"{hashlib.sha256(lines.encode()).hexdigest()[:16]}.jsonl"
    if not path.exists():
        files.make_folder(folder)
        files.write_text(path, lines)
    return path


@contextmanager
def kept_in(run: Path, put: Callable[[Path], Path]) -> Iterator[Path]:
    """Put a corpus into the folder ``corpus`` of a run; remove it if no fit begins.

    put: writes the file, and others beside it, into a folder and returns its path.
    """
    folder = files.inside(run, "corpus")
    files.refuse_links(folder)
    before = set(folder.glob("*"))
    try:
        path = put(folder)
        yield path
    except HiertopicsError:
        settings = run / "config.yaml"
        told = settings.read_text(encoding="utf-8") if settings.exists() else ""
        new = set(folder.glob("*")) - before
        # A fit that has begun needs all of them to go on, also what its config does not name.
        if not any(file.name in told for file in new):
            for file in new:
                file.unlink()
        for empty in (folder, run):
            with suppress(OSError):
                empty.rmdir()
        raise


@contextmanager
def on_disk(corpus: Any, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Hold a corpus in a file for a while; names of files, and None, are passed on.

    columns: as for ``as_corpus``.
    """
    if corpus is None or is_file(corpus):
        yield corpus
        return
    with TemporaryDirectory(prefix="hiertopics-") as folder:
        yield store(as_corpus(corpus, columns=columns), Path(folder))


def _counted(
    data: Any, vocab: Sequence[str] | None, columns: Sequence[str] | None
) -> Corpus | Vectors:
    words = None if vocab is None else tuple(map(str, vocab))
    require_names(words or (), "word")
    if isinstance(data, Corpus | Vectors):
        if words is not None:
            raise UsageError("vocab is for tables and texts; a Corpus has words of its own")
        return data
    if are_texts(data):
        return count_words(data, words)
    if hasattr(data, "var_names") and hasattr(data, "obs_names"):
        return _of_anndata(data)
    if words is None:
        names = getattr(data, "columns", columns)
        words = None if names is None else tuple(map(str, names))
    if sparse.issparse(data):
        counts = sparse.csr_array(data, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        return Corpus(counts, default_vocab(counts.shape[1]) if words is None else words)
    if holds_pairs(data):
        raise UsageError(f"a corpus is no list of pairs of word and count: {FROM_PAIRS}")
    rows = _table(data)
    return Vectors(rows, default_columns(rows.shape[1]) if words is None else words)


def _of_anndata(data: Any) -> Corpus:
    """Return the counts of an AnnData: its layer ``counts`` if it has one, else X."""
    counts = sparse.csr_array(data.layers.get("counts", data.X))
    if (counts.data < 0).any() or (counts.data != np.floor(counts.data)).any():
        raise UsageError("X of the AnnData holds no counts; put them into layers['counts']")
    counts.sum_duplicates()
    counts.eliminate_zeros()
    genes, docs = tuple(map(str, data.var_names)), tuple(map(str, data.obs_names))
    words = made_unique(genes)
    for note in unique_note(genes, words, "genes"):
        print(f"warning: {steady(note)}", file=sys.stderr)
    return Corpus(counts, words, docs)


def _table(data: Any) -> F64:
    try:
        rows = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2:
        if isinstance(data, list | tuple) and not data:
            raise UsageError("the list is empty; a corpus has one document or more")
        if isinstance(data, list | tuple) and isinstance(data[0], bytes):
            told = "a corpus of texts is a list of str; this one holds bytes"
            raise UsageError(f"{told}: [text.decode('utf-8') for text in texts]")
        how = ", whose to_pandas() is one" if hasattr(data, "to_pandas") else ""
        raise UsageError(
            "a corpus is a file's name, a Corpus, a table of documents x words, a data frame, or a "
            f"list of texts; got {type(data).__name__}{how}"
        )
    return rows


def are_texts(data: Any) -> bool:
    """Tell whether data are documents of text: strings, or lists of words."""
    if sparse.issparse(data) or hasattr(data, "columns") or not hasattr(data, "__iter__"):
        return False
    first = next((one for one in data if isinstance(one, str | list | tuple)), None)
    if isinstance(first, list | tuple):
        first = next((word for document in data for word in document), None)
    return isinstance(first, str)


FROM_PAIRS = (
    "gensim.matutils.corpus2csc(corpus, num_terms=len(dictionary)).T makes a table of gensim's "
    "lists, whose words are [dictionary[word] for word in range(len(dictionary))]"
)


def holds_pairs(data: Any) -> bool:
    """Tell whether data are lists of pairs of a word's number and its count, as gensim has them."""
    if not isinstance(data, list | tuple):
        return False
    first = next((pair for document in data if isinstance(document, list) for pair in document), 0)
    return isinstance(first, tuple) and len(first) == 2


def _tags(name: str, marks: Marks) -> Tags:
    table = TagTable()
    for names in marks:
        if isinstance(names, str):
            raise HiertopicsError(f"{name}: expected a list of names for each document")
        table.add(map(str, names))
    return table.tags()


STDIN = "-"
AT_ONCE = 1 << 20
NAME = "stdin"


def require_format(name: str | None) -> None:
    """Raise UsageError if no format is named, or one that cannot come through a pipe."""
    piped = [other for other, form in FORMATS.items() if other != FOLDER and not form.folder]
    if name is not None:
        format_of(Path(NAME), name)
    if name not in piped:
        raise UsageError(f"{STDIN} has no suffix: name its format by --from, {', '.join(piped)}")


def spooled(folder: Path) -> Path:
    """Write standard input to ``folder``, under a name that its contents give; return the path.

    Raises UsageError where standard input is a terminal, RunError where the file cannot be written.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(f"{STDIN} reads the corpus from a pipe, but there is none")
    files.make_folder(folder)
    files.remove_partial(folder)
    part: Path | None = None
    try:
        part, out = files.open_temporary(folder / NAME)
        with out:
            digest = _copied(sys.stdin.buffer, out)
            target = folder / f"{NAME}-{digest[:16]}"
            os.replace(part, target)
            return target
    except OSError as error:
        raise RunError(f"cannot write {folder / NAME}: {error.strerror or error}") from error
    finally:
        if part is not None:
            part.unlink(missing_ok=True)


def _copied(source: IO[bytes], out: IO[bytes]) -> str:
    """Copy a stream to its end; return the hash of its bytes."""
    digest = hashlib.sha256()
    while block := source.read(AT_ONCE):
        digest.update(block)
        out.write(block)
    out.flush()
    return digest.hexdigest()
