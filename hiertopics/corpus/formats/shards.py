"""Shards: a folder of arrays that are mapped into memory, for corpora larger than that.

shards.json, written last, tells what all else must be, and what chose the words (``choices``);
vocab.txt has a word per line. Document by
document ``ends.npy`` (pairs before it) and ``lengths.npy`` (tokens), both int64. A part is
``00000.words.npy`` and ``00000.counts.npy``, int32, an entry per pair, words ascending within a
document; a document lies in one part whole. Names of documents: ``names.npy``, their UTF-8 bytes,
and ``name_ends.npy``; groups and labels: ``tags.npz``.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from hiertopics.base import archives, files
from hiertopics.base.arrays import I64, Bools
from hiertopics.base.errors import DamagedError, DataError, HiertopicsError, UsageError
from hiertopics.base.stretches import ends_of
from hiertopics.corpus.data import Bags, Corpus, Limits, Shelf, Tags
from hiertopics.corpus.data.names import (
    first_flaw,
    names_of,
    pack_names,
    require_names,
    unpack_names,
)
from hiertopics.corpus.data.stored import Texts, mapped, part_names, stored_in
from hiertopics.corpus.formats.counting import CountedPairs
from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts
from hiertopics.corpus.formats.folders import new_folder
from hiertopics.corpus.formats.source import Source

MANIFEST = "shards.json"
SCHEMA = "hiertopics.shards/1"
PART_PAIRS = 1 << 23
"""Pairs of a part, a longer document apart: 64 MiB."""

NAME = re.compile(r"[a-z0-9_]+(\.[a-z]+)+")
"""The pattern of names of files in the folder."""

READ_BYTES = 1 << 20
SIZES = ("n_docs", "n_words", "n_pairs", "n_tokens")
TAGS = ("groups", "labels")


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read a folder of shards into memory; raises as ``open_shelf`` does."""
    return open_shelf(source).in_memory()


def open_shelf(source: Source) -> Shelf:
    """Map a folder of shards; raises DataError if one of its files was replaced.

    Raises UsageError for a vocabulary beside the folder's own.
    """
    path = source.path
    if source.vocab is not None:
        raise UsageError(f"{path} names its own words; leave the vocabulary out")
    manifest = _manifest(path)
    for name, seal in manifest["files"].items():
        _require(path, name, seal)
    try:
        shelf = _opened(path, manifest)
        shelf.require_sound()
        if _sizes(shelf) != {name: manifest[name] for name in SIZES}:
            raise ValueError("other sizes")
        return shelf
    except (OSError, ValueError, TypeError, LookupError, OverflowError, HiertopicsError) as error:
        raise _damaged(path / MANIFEST, f"it does not fit the files beside it ({error})") from error


def choices_in(path: Path) -> tuple[Limits, ...]:
    """Return the choices of words behind a folder of shards, in their order.

    Raises DataError where that cannot be read; shards of before there were choices have none.
    """
    told = _manifest(path).get("choices", [])
    try:
        rows = [[choice[name] for name in Limits._fields] for choice in told]
        return tuple(msgspec.convert(row, Limits) for row in rows)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        what = f"it does not say how words were chosen ({error})"
        raise _damaged(path / MANIFEST, what) from error


def _opened(path: Path, manifest: dict[str, Any]) -> Shelf:
    """Return the shelf of a folder; its arrays are mapped, and nobody has checked them."""
    first_doc = np.array(manifest["first_doc"], np.int64)
    names_of = [part_names(number) for number in range(len(first_doc) - 1)]
    wanted = {"vocab.txt", "ends.npy", "lengths.npy"}.union(*names_of)
    if not wanted <= set(manifest["files"]):
        raise ValueError(f"it does not name {min(wanted - set(manifest['files']))}")
    vocab = _vocab(path)
    tags = _tags(path) if "tags.npz" in manifest["files"] else {}
    names = None
    if "names.npy" in manifest["files"]:
        names = Texts(mapped(path / "names.npy"), mapped(path / "name_ends.npy"))
    stored = stored_in(path.resolve(), first_doc)
    prints = (str(manifest["fingerprint"]), str(manifest["text_fingerprint"]))
    marks = (names, tags.get("groups"), tags.get("labels"))
    return Shelf(stored, vocab, None, *marks, prints=prints)


def _sizes(shelf: Shelf) -> dict[str, int]:
    return {name: getattr(shelf, name) for name in SIZES}


def _vocab(path: Path) -> tuple[str, ...]:
    text = (path / "vocab.txt").read_bytes().decode()
    vocab = tuple(text.removesuffix("\n").split("\n")) if text else ()
    require_names(vocab, "word")
    return vocab


def _tags(path: Path) -> dict[str, Tags]:
    """Return the groups and the labels of a folder of shards, as far as it has them."""
    arrays = archives.read_npz(path / "tags.npz")
    found = {}
    for noun in TAGS:
        if f"{noun}_names" in arrays:
            members = archives.unpack_csr(noun, arrays, marks=True)
            names = unpack_names(f"{noun}_names", arrays)
            require_names(names, noun.removesuffix("s"))
            found[noun] = Tags(members, names)
    return found


def _manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        what = f"is no folder of shards: it has no {MANIFEST}; make one with 'hiertopics convert'"
        raise DataError(path, what) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path / MANIFEST, str(error)) from error
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        found = manifest.get("schema") if isinstance(manifest, dict) else None
        raise _damaged(path / MANIFEST, f"its schema is {found!r}, not {SCHEMA!r}")
    if not isinstance(manifest.get("files"), dict):
        raise _damaged(path / MANIFEST, "it names no files")
    if not all(map(NAME.fullmatch, manifest["files"])):
        raise _damaged(path / MANIFEST, "it names files that are none of its own")
    return manifest


def _require(folder: Path, name: str, seal: Any) -> None:
    """Raise DataError unless a file is the one that was sealed."""
    try:
        found = _seal(folder / name)
    except FileNotFoundError:
        raise _damaged(folder, f"{name} is missing") from None
    except OSError as error:
        raise DataError(folder / name, f"cannot be read ({error.strerror or error})") from error
    if found != seal:
        raise _damaged(folder / name, "it is cut short, or is a file of another corpus")


def _damaged(path: Path, what: str) -> DamagedError:
    return DamagedError(path, f"is damaged: {what}; convert the corpus again")


def _seal(path: Path) -> str:
    """Return what tells a file from others: its length and the check sum of its bytes."""
    size, crc = 0, 0
    with open(path, "rb") as file:
        while block := file.read(READ_BYTES):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return f"{size}-{crc:08x}"


class _GrowingArray:
    """An array in a file that grows; its header tells the length once it is known."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self._file: IO[bytes] = open(path, "wb")  # noqa: SIM115
        self._dtype = np.dtype(dtype)
        self.n_entries = 0
        self._head()

    def append(self, part: NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(part, self._dtype).data)
        self.n_entries += len(part)

    def close(self) -> None:
        with self._file:
            self._file.seek(0)
            self._head()
            self._file.flush()
            os.fsync(self._file.fileno())

    def __del__(self) -> None:
        # What cannot be written is said where it is met first; it may never have been opened.
        with suppress(OSError, AttributeError):
            self._file.close()

    def _head(self) -> None:
        # The header has room for any length, so that it is as long at the end as at first.
        np.lib.format.write_array_header_1_0(
            self._file,
            {
                "descr": np.lib.format.dtype_to_descr(self._dtype),
                "fortran_order": False,
                "shape": (self.n_entries,),
            },
        )


class _Parts:
    """Writes parts, one after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.first_doc = [0]
        self._ends = _GrowingArray(folder / "ends.npy", np.int64)
        self._lengths = _GrowingArray(folder / "lengths.npy", np.int64)
        self._ends.append(np.zeros(1, np.int64))
        self._words: _GrowingArray | None = None
        self._counts: _GrowingArray | None = None
        self._n_docs = self._n_pairs = 0

    def add(self, pairs: CountedPairs) -> None:
        """Add documents whose ids ascend within each."""
        ends = ends_of(pairs.lengths)
        tokens = ends_of(pairs.counts)[ends]
        self._ends.append(self._n_pairs + ends[1:])
        self._lengths.append(np.diff(tokens))
        self._n_docs += len(pairs.lengths)
        self._n_pairs += len(pairs.ids)
        if self._words is None or self._counts is None:
            number = len(self.first_doc) - 1
            words, counts = part_names(number)
            self._words = _GrowingArray(self._folder / words, np.int32)
            self._counts = _GrowingArray(self._folder / counts, np.int32)
        self._words.append(pairs.ids)
        self._counts.append(pairs.counts)
        if self._words.n_entries >= PART_PAIRS:
            self._end_part()

    def close(self) -> None:
        self._end_part()
        self._ends.close()
        self._lengths.close()

    def _end_part(self) -> None:
        if self._words is not None and self._counts is not None:
            self._words.close()
            self._counts.close()
            self._words = self._counts = None
            self.first_doc.append(self._n_docs)


class WrittenShards(NamedTuple):
    """A written folder of shards, and notes on it."""

    shelf: Shelf
    files: tuple[Path, ...]


def write_draft(draft: CorpusDraft, facts: CorpusFacts, kept: Bools, path: Path) -> WrittenShards:
    """Write a reader's draft to a folder, whole or not at all.

    kept: bool [n_words], the words that stay, by their final id. A folder of shards that stands
    there is replaced. Raises RunError where the disk refuses, UsageError for words, groups or
    labels that are empty, repeated or more than one line.
    """
    new_id = np.where(kept, np.cumsum(kept) - 1, -1)
    vocab = tuple(word for word, stays in zip(facts.vocab, kept, strict=True) if stays)
    target = new_id if facts.place is None else new_id[facts.place]
    laid = draft.laid()
    return _write(
        (_renamed(block, target) for block in laid.blocks()), facts._replace(vocab=vocab), path
    )


def write_bags(corpus: Bags, path: Path, choices: tuple[Limits, ...] = ()) -> WrittenShards:
    """Write a corpus to a folder of shards; see ``write_draft``. choices: limits on its words."""
    facts = CorpusFacts(
        corpus.vocab, None, corpus.doc_ids, corpus.groups, corpus.labels, choices=choices
    )
    return write_joined([(corpus, np.arange(corpus.n_words))], facts, path)


def write_joined(
    corpora: Sequence[tuple[Bags, I64]], facts: CorpusFacts, path: Path
) -> WrittenShards:
    """Write the documents of several corpora to a folder of shards; see ``write_draft``.

    Beside each corpus: the final id of each of its words, int64 [n_words], -1 for one that is left
    out.
    """
    blocks = (
        _renamed(CountedPairs(np.diff(block.indptr), block.indices, block.data), target)
        for corpus, target in corpora
        for first in range(0, corpus.n_docs, STEP)
        for block in [corpus.rows(first, min(first + STEP, corpus.n_docs))]
    )
    return _write(blocks, facts, path)


STEP = 4096
"""Documents of a corpus in memory that are written at a time."""


def _renamed(pairs: CountedPairs, target: I64) -> CountedPairs:
    """Return documents with other ids, ascending within each; -1 takes a pair out."""
    ids = target[pairs.ids]
    doc = np.repeat(np.arange(len(pairs.lengths)), pairs.lengths)
    stays = ids >= 0
    ids, doc, counts = ids[stays], doc[stays], pairs.counts[stays]
    keys = doc * (int(target.max(initial=0)) + 1) + ids
    if len(keys) and (np.diff(keys) < 0).any():
        order = np.argsort(keys, kind="stable")
        ids, counts = ids[order], counts[order]
    lengths = np.bincount(doc, minlength=len(pairs.lengths))
    return CountedPairs(lengths, ids.astype(np.int32), counts)


def _write(blocks: Iterator[CountedPairs], facts: CorpusFacts, path: Path) -> WrittenShards:
    with new_folder(path) as folder:
        parts = _Parts(folder)
        for pairs in blocks:
            parts.add(pairs)
        parts.close()
        _write_sides(folder, facts)
        names = sorted(file.name for file in folder.iterdir())
        manifest: dict[str, Any] = {
            "schema": SCHEMA,
            "fingerprint": "",
            "text_fingerprint": "",
            "first_doc": parts.first_doc,
            "choices": [_told(choice) for choice in facts.choices if not choice.keep_all],
            "files": {name: _seal(folder / name) for name in names},
        }
        laid = replace(_opened(folder, manifest), prints=None)
        manifest |= _sizes(laid)
        manifest |= {"fingerprint": laid.fingerprint, "text_fingerprint": laid.text_fingerprint}
        files.write_json(folder / MANIFEST, manifest)
    shelf = open_shelf(Source(path))
    return WrittenShards(shelf, tuple(path / name for name in (*names, MANIFEST)))


def _told(choice: Limits) -> dict[str, Any]:
    return choice._asdict() | {"stop_words": sorted(choice.stop_words)}


def _write_sides(folder: Path, facts: CorpusFacts) -> None:
    for noun, names in names_of(facts):
        if (what := first_flaw(names, noun)) is not None:
            raise UsageError(f"shards cannot hold such names: {what}")
    files.write_text(folder / "vocab.txt", "".join(f"{word}\n" for word in facts.vocab))
    if facts.doc_ids is not None:
        text, ends = _GrowingArray(folder / "names.npy", np.uint8), [0]
        for name in facts.doc_ids:
            text.append(np.frombuffer(name.encode(), np.uint8))
            ends.append(text.n_entries)
        text.close()
        column = _GrowingArray(folder / "name_ends.npy", np.int64)
        column.append(np.array(ends, np.int64))
        column.close()
    arrays: dict[str, NDArray[Any]] = {}
    for name in TAGS:
        tags: Tags | None = getattr(facts, name)
        if tags is not None:
            arrays |= archives.pack_csr(name, tags.members)
            arrays |= pack_names(f"{name}_names", tags.names)
    if arrays:
        archives.write_npz(folder / "tags.npz", arrays)


def require_place(path: Path) -> None:
    """Raise UsageError where no folder of shards can be written."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    if path.exists() and not (path / MANIFEST).is_file():
        raise UsageError(f"cannot write {path}: it is no folder of shards; choose another place")
