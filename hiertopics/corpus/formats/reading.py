"""A corpus from its files: the format by name, side files by the name of the corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data import Corpus, Vectors
from hiertopics.corpus.data.names import NamedData, first_flaw, names_of
from hiertopics.corpus.formats.opening import lacking, require_file
from hiertopics.corpus.formats.sidefiles import read_tags, read_vocabulary
from hiertopics.corpus.formats.source import (
    FOLDER,
    Source,
    find_groups,
    find_labels,
    find_vocabulary,
    names_columns,
    unpacked,
)
from hiertopics.corpus.formats.table import FORMATS, format_of
from hiertopics.corpus.formats.trust import trusts


def resolve(source: Source) -> Source:
    """Return the source with its format decided and its sibling files filled in.

    Raw text takes no vocabulary by name: a fixed one would drop words in silence. A dense table
    takes none that does not bear its name.

    Raises DataError for a missing file; UsageError for an unknown format and for fields or files
    that exclude each other.
    """
    path = Path(source.path)
    if not path.exists():
        raise lacking(path)
    if path.name in ("", ".."):  # files beside it go by the name that the folder has above
        path = path.resolve()
    if source.format is None and path.is_file():
        refuse_documents(path)
    name = format_of(path, source.format)
    if name == FOLDER and path.is_file():
        refuse_documents(path)
    _refuse_contradictions(source, name)
    form = FORMATS[name]
    if form.folder:
        return replace(source, path=path, format=name)
    vocab, groups, labels = source.vocab, source.groups, source.labels
    if vocab is None and not form.text and not form.named:
        vocab = find_vocabulary(path, unnamed=not form.dense)
    if groups is None and source.group_field is None:
        groups = find_groups(path)
    if labels is None and source.label_field is None and source.label_column is None:
        labels = find_labels(path, columns=form.xml_labels)
    return replace(source, path=path, format=name, vocab=vocab, groups=groups, labels=labels)


PLAIN_TEXT = (".txt", ".text", ".md", ".rst")
PAGES = (".html", ".htm", ".xhtml")
SHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
CONFIGS = (".yaml", ".yml")
DOCUMENTS = (".pdf", ".doc", ".docx", ".odt", ".epub", ".rtf", ".ps")


def refuse_documents(path: Path) -> None:
    """Raise UsageError for a text that is no corpus by its name; say how it can be read."""
    name = unpacked(path.name).lower()
    if name.endswith(PAGES):
        raise UsageError(f"{path} is one page: give a folder of pages, each of them a document")
    if name.endswith(SHEETS):
        raise UsageError(f"{path} is a table of an office program: save it there as csv (UTF-8)")
    if name.endswith(CONFIGS):
        raise UsageError(f"{path} is no corpus: a config is given as --config {path}")
    if name.endswith(DOCUMENTS):
        what = "is not read; turn each such file into a .txt file, and give their folder"
        raise UsageError(f"{path} {what}")
    if name.endswith(PLAIN_TEXT) and not name.startswith("docword."):
        raise UsageError(
            f"{path} is one text: --lines takes each line for a document, --from paragraphs each "
            "paragraph; or give a folder with a file for each document"
        )


def _refuse_contradictions(source: Source, name: str) -> None:
    for side in (source.vocab, source.groups, source.labels):
        if side is not None:
            require_file(Path(side))
    given = next(iter([*source.fields, *source.wording]), None)
    if given is not None and not FORMATS[name].text:
        raise UsageError(f"{given} is for raw text, but {source.path} is read as {name}")
    if source.delimiter is not None and name != "csv":
        raise UsageError(f"delimiter is for csv files, but {source.path} is read as {name}")
    if source.quoting != "double" and name != "csv":
        raise UsageError(f"quoting is for csv files, but {source.path} is read as {name}")
    if source.suffixes is not None and name != FOLDER:
        raise UsageError(f"suffixes are for folders of texts, but {source.path} is read as {name}")
    if source.html != "all" and name != FOLDER:
        raise UsageError(f"html is for folders of pages, but {source.path} is read as {name}")
    if source.markup != "all" and name != FOLDER:
        raise UsageError(
            f"markup is for folders of .md and .rst files, but {source.path} is read as {name}"
        )
    if source.encoding is not None and name == "parquet":
        raise UsageError(f"{source.path} is a parquet file, whose texts need no encoding")
    if source.groups is not None and source.group_field is not None:
        raise UsageError("groups come from a file or from group_field, not from both")
    if source.labels is not None and source.label_field is not None:
        raise UsageError("labels come from a file or from label_field, not from both")
    if source.label_column is not None and not FORMATS[name].dense:
        raise UsageError(f"label_column is for dense tables, but {source.path} is read as {name}")
    if source.layer is not None and not FORMATS[name].layered:
        raise UsageError(f"layer is for h5ad files, but {source.path} is read as {name}")
    if source.labels is None:
        return
    if source.label_column is not None:
        raise UsageError("labels come from a file or from label_column, not from both")
    if names_columns(source.labels) and not FORMATS[name].xml_labels:
        what = f"{source.labels} names the label columns of an ARFF file"
        raise UsageError(f"{what}, but {source.path} is read as {name}")


@trusts
def read_corpus(source: Source | Path | str, *, trust_tokenizer: bool = False) -> Corpus | Vectors:
    """Read the counts, or the vectors, and everything beside them.

    source: a file or folder, or a Source that says more of it. Raises DataError naming file and
    line for whatever cannot be read, and what ``resolve`` raises.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    return read_resolved(resolve(source if isinstance(source, Source) else Source(Path(source))))


def read_resolved(source: Source) -> Corpus | Vectors:
    """Read the result of ``resolve`` as ``read_corpus`` does."""
    vocab = None if source.vocab is None else read_vocabulary(source.vocab)
    corpus = read_counts(source, vocab)
    if source.groups is not None:
        tags = read_tags(source.groups, corpus.n_docs, source.path)
        corpus = replace(corpus, groups=tags, notes=(*corpus.notes, *tags.notes))
    if source.labels is not None and not names_columns(source.labels):
        tags = read_tags(source.labels, corpus.n_docs, source.path)
        corpus = replace(corpus, labels=tags, notes=(*corpus.notes, *tags.notes))
    return corpus


def read_counts(source: Source, vocab: tuple[str, ...] | None) -> Corpus | Vectors:
    """Read the file of a resolved source alone, without groups and labels beside it.

    Raises DataError where it holds no documents; see ``Source.report`` for other mistakes.
    """
    data = FORMATS[format_of(source.path, source.format)].reader(source, vocab)
    if data.n_docs == 0:
        raise DataError(source.path, "holds no documents")
    require_names_of(source, data)
    return data


def require_names_of(source: Source, data: NamedData) -> None:
    """Report a word, group or label of a file that is empty, repeated or longer than a line."""
    for noun, names in names_of(data):
        if (what := first_flaw(names, noun)) is not None:
            source.report(DataError(source.path, what))
