"""Files beside the counts: vocabulary, groups, labels and their names."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np
from scipy import sparse

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.corpus import Tags
from hiertopics.corpus.data.names import flaw, made_unique, unique_note
from hiertopics.corpus.formats.counting import shown, whole_number
from hiertopics.corpus.formats.opening import RECODE, blocks, decoded_lines, rows
from hiertopics.corpus.formats.source import Report, refuse, unpacked

BLANKS = " \t\r"


class TagTable:
    """A documents x tags table that grows one document at a time.

    Columns come in the order in which tags turn up; ``tags`` puts them into their final order.
    """

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}
        self._entries = array("i")
        self._ends = array("q", [0])

    def add(self, entries: Iterable[str]) -> None:
        """Add a document; an entry given twice counts once."""
        for entry in dict.fromkeys(entries):
            self._entries.append(self.columns.setdefault(entry, len(self.columns)))
        self._ends.append(len(self._entries))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def tags(self) -> Tags:
        """Return the table with its columns sorted: numbers by value, names by name."""
        names = in_order(self.columns)
        return self.tags_by(dict(zip(names, range(len(names)), strict=True)), tuple(names))

    def tags_by(self, place: dict[str, int], names: tuple[str, ...]) -> Tags:
        """Return the table with entry ``e`` in column ``place[e]``, columns named ``names``."""
        order = np.array([place[entry] for entry in self.columns], dtype=np.int32)
        entries = order[np.array(self._entries, dtype=np.int32)]
        ends = np.array(self._ends, dtype=np.int32)
        marks = np.ones(len(entries), dtype=bool)
        members = sparse.csr_array((marks, entries, ends), shape=(len(self), len(names)))
        members.sum_duplicates()
        return Tags(members, names)


def in_order(names: Collection[str]) -> list[str]:
    """Return names sorted: by value if all of them are whole numbers, else by name."""
    numbers = all(whole_number(name) is not None for name in names)
    return sorted(names, key=_by_value if numbers else None)


def _by_value(digits: str) -> tuple[int, str, str]:
    """Order runs of digits by value, however long they are."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits


def read_vocabulary(path: Path, report: Report = refuse) -> tuple[str, ...]:
    """Read one word per line; a line ``word = ...`` gives its first field.

    Where all lines are ``number<TAB>word``, numbered through, the numbers are left out. Reports a
    blank or repeated word; such a line keeps its id, under a name that no word has.
    """
    words: dict[str, int] = {}
    for number, word in enumerate(_unnumbered([_word(line) for line in rows(path, report)]), 1):
        if not word:
            report(DataError(path, "blank line where a word should be", number))
        elif word in words:
            what = f"the word {shown(word)} stands on line {words[word]} already"
            report(DataError(path, what, number))
        words[word if word and word not in words else f"\0{number}"] = number
    return tuple(words)


def _word(line: str) -> str:
    return line.partition(" = ")[0].strip(BLANKS)


def _unnumbered(lines: list[str]) -> list[str]:
    """Return what follows the numbers, from 0 or 1, of lines that all have one and a tab."""
    numbers = [whole_number(line.partition("\t")[0]) if "\t" in line else None for line in lines]
    first = numbers[0] if numbers else None
    if first not in (0, 1) or numbers != list(range(first, first + len(lines))):
        return lines
    return [line.partition("\t")[2].strip(BLANKS) for line in lines]


def read_names(path: Path, report: Report = refuse) -> tuple[str, ...]:
    """Read one name per line, in the order of the ids; several ids may share a name.

    Reports a blank line.
    """
    names = tuple(line.strip(BLANKS) for line in rows(path, report))
    for number, name in enumerate(names, 1):
        if not name:
            report(DataError(path, "blank line where a name should be", number))
    return names


def key_of(path: Path) -> Path | None:
    """Return the file with the names of the ids in ``path``, if there is one."""
    for candidate in (f"{path.name}.key", f"{unpacked(path.name)}.key"):
        if path.with_name(candidate).is_file():
            return path.with_name(candidate)
    return None


def read_tags(
    path: Path,
    n_docs: int | None,
    corpus: Path,
    report: Report = refuse,
    encoding: str | None = None,
) -> Tags:
    """Read the groups or labels of ``corpus``, one line per document.

    Entries are split at tabs if the file has any, else at white space. With a key file they are
    ids and the names come from there; otherwise they are the names.

    Several ids of one name are told apart (``names.made_unique``), and a note of the tags says so.
    encoding: of ``path``, as ``opening.decoders`` takes it.

    Reports an id without name and a number of lines that is not ``n_docs`` (None: not known).
    """
    table, key = TagTable(), key_of(path)
    names = () if key is None else read_names(key, report)
    for number, entries in enumerate(_split_lines(path, report, encoding), 1):
        if key is not None:
            entries = _named(path, key, entries, names, table.columns, report, number)
        table.add(entries)
    if n_docs is not None and len(table) != n_docs:
        what = f"{len(table)} lines, but {corpus} holds {n_docs} documents"
        report(DataError(path, what))
    if key is None:
        return table.tags()
    unique = made_unique(names)
    tags = table.tags_by({entry: int(entry) for entry in table.columns}, unique)
    notes = (f"{key}: {note}" for note in unique_note(names, unique, "names"))
    return replace(tags, notes=tuple(notes))


def _split_lines(path: Path, report: Report, encoding: str | None) -> Iterator[list[str]]:
    parts = list(blocks(path, encoding=encoding))
    tabs = any(b"\t" in block for _, block in parts)
    for line in decoded_lines(path, parts, report, encoding, RECODE):
        entries = (entry.strip() for entry in line.split("\t")) if tabs else line.split()
        yield [entry for entry in entries if entry]


def _named(
    path: Path,
    key: Path,
    entries: list[str],
    names: tuple[str, ...],
    known: Container[str],
    report: Report,
    number: int,
) -> list[str]:
    """Return the entries of a line that ``names`` holds; report the first other one."""
    right = [entry for entry in entries if entry in known or _is_id(entry, len(names))]
    if len(right) < len(entries):
        wrong = next(e for e in entries if e not in known and not _is_id(e, len(names)))
        what = f"expected ids from 0 to {len(names) - 1}, since {key} holds {len(names)} names"
        report(DataError(path, f"{what}, got {shown(wrong)}", number))
    return right


def _is_id(entry: str, n_names: int) -> bool:
    value = whole_number(entry)
    return value is not None and value < n_names


def vocabulary_text(vocab: tuple[str, ...]) -> bytes:
    """Return the vocabulary as a file.

    Raises UsageError at a word that would not be read back as it is.
    """
    _refuse_repeated(vocab, "word stands in the vocabulary")
    return _text(vocab, _unnumbered([_word(word) for word in vocab]))


def names_text(names: tuple[str, ...]) -> bytes:
    """Return the names as a key file.

    Raises UsageError at a name that would not be read back as it is.
    """
    _refuse_repeated(names, "name stands in the key")
    return _text(names, [name.strip(BLANKS) for name in names])


def _refuse_repeated(names: Iterable[str], told: str) -> None:
    name, times = max(Counter(names).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        noun, where = told.split(" ", 1)
        raise UsageError(f"the {noun} {shown(name)} {where} {times} times")


def _text(names: Iterable[str], read_back: Iterable[str]) -> bytes:
    for name, back in zip(names, read_back, strict=True):
        lost = name != back or "\n" in name or name.startswith("\ufeff")
        if not name or lost or not encodes(name):
            hint = "; a folder of shards can hold it" * (flaw(name) is None)
            raise UsageError(
                f"{shown(name)} cannot stand on a line of its own in a text file{hint}"
            )
    return "".join(f"{name}\n" for name in names).encode()


def encodes(name: str) -> bool:
    """Tell whether UTF-8 can hold the name: half a surrogate pair cannot be written."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def same_tags(left: Tags, right: Tags) -> bool:
    """Tell whether two tables mark the same documents with the same names."""
    return (
        left.names == right.names
        and left.members.shape == right.members.shape
        and (left.members != right.members).nnz == 0
    )


def tag_ids(tags: Tags) -> list[list[int]]:
    """Return the columns that each document is marked with."""
    members = sparse.csr_array(tags.members, dtype=bool, copy=True)
    members.sum_duplicates()
    members.eliminate_zeros()
    return [ids.tolist() for ids in np.split(members.indices, members.indptr[1:-1])]


def tags_text(tags: Tags) -> bytes:
    """Return the ids of each document, one line each."""
    return "".join(" ".join(map(str, ids)) + "\n" for ids in tag_ids(tags)).encode()
