"""Names that tell columns apart (words, columns of tables, groups, labels), and names as arrays.

One rule holds for every table of them: no name is empty, none stands there twice, and each is one
line of UTF-8. Readers refuse what breaks it, and name it. Where things have numbers or places
besides their names (genes of AnnData, keys of groups and labels), equal names are made unique, and
a note says so. Names of documents may repeat: nothing is looked up by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.errors import HiertopicsError

if TYPE_CHECKING:
    from hiertopics.corpus.data.corpus import Tags

SHORT = 256
"""Letters of the longest name in an array of equal width: 1 KiB for each name."""

_NO_LINE = re.compile("[\n\ud800-\udfff]")
"""Line ends, and half surrogate pairs, which UTF-8 cannot hold."""


def flaw(name: str) -> str | None:
    """Return why a text cannot be a name, as the end of a message; None if it can."""
    if not name:
        return "is empty"
    found = _NO_LINE.search(name)
    if found is None:
        return None
    return "holds a line end" if found[0] == "\n" else "holds half a surrogate pair"


def first_flaw(names: Sequence[str], noun: str) -> str | None:
    """Return the fault of the first forbidden name; None if all are allowed.

    noun: what one is called in the message, such as ``word``. Takes linear time.
    """
    if not all(names) or _NO_LINE.search("".join(names)):
        place = next(place for place, name in enumerate(names) if flaw(name) is not None)
        told = f"{noun} {place + 1}" + f" ({names[place]!r:.40})" * bool(names[place])
        return f"{told} {flaw(names[place])}"
    if len(set(names)) == len(names):
        return None
    before: dict[str, int] = {}
    for place, name in enumerate(names, 1):
        if name in before:
            break
        before[name] = place
    return f"the {noun} {name!r:.40} stands there twice, as number {before[name]} and {place}"


class NamedData(Protocol):
    """Data with a vocabulary or columns, and maybe groups and labels."""

    @property
    def vocab(self) -> tuple[str, ...]:
        """The words."""

    @property
    def groups(self) -> Tags | None:
        """Marks of documents."""

    @property
    def labels(self) -> Tags | None:
        """Marks of documents."""


def names_of(data: NamedData) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the tables of names of a corpus, each after the term for one of its names."""
    yield "word", data.vocab
    for noun, tags in (("group", data.groups), ("label", data.labels)):
        if tags is not None:
            yield noun, tags.names


def require_names(names: Sequence[str], noun: str) -> None:
    """Raise HiertopicsError at the first name that the rule forbids; see ``first_flaw``."""
    if (what := first_flaw(names, noun)) is not None:
        raise HiertopicsError(what)


def made_unique(names: Sequence[str]) -> tuple[str, ...]:
    """Return unique names: repeated ones get ``-1``, ``-2``, ...; the first of each stays.

    A name that is taken already is passed over, as by anndata's ``var_names_make_unique``. Takes
    linear time.
    """
    taken = set(names)
    if len(taken) == len(names):
        return tuple(names)
    seen: set[str] = set()
    last: dict[str, int] = {}
    found = []
    for name in names:
        new = name
        if name in seen:
            number = last.get(name, 0) + 1
            while (new := f"{name}-{number}") in taken:
                number += 1
            last[name] = number
            taken.add(new)
        seen.add(name)
        found.append(new)
    return tuple(found)


def unique_note(before: Sequence[str], after: Sequence[str], noun: str) -> tuple[str, ...]:
    """Return the note that says which names ``made_unique`` has changed; nothing without any.

    noun: of many, such as ``genes``.
    """
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    if not pairs:
        return ()
    old, new = pairs[0]
    are = (
        "has the name of an earlier one and is"
        if len(pairs) == 1
        else ("have the name of an earlier one and are")
    )
    return (
        f"{len(pairs)} of {len(before)} {noun} {are} told apart by a number: "
        f"the second {old!r:.60} is called {new!r:.60}",
    )


def pack_names(name: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return names as two arrays: ``name``, uint8, their consecutive UTF-8 bytes, and
    ``name_ends``, int64 [n + 1], the bounds of each name.
    """
    parts = [text.encode() for text in names]
    ends = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=ends[1:])
    return {name: np.frombuffer(b"".join(parts), np.uint8), f"{name}_ends": ends}


def pack_short_names(name: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return names as one array of texts, ``name``, or in the form of ``pack_names``.

    The array of texts is [n_names]. The other form is for names that are longer than ``SHORT`` or
    end in NUL, which numpy would cut off.
    """
    if any(len(text) > SHORT or text.endswith("\0") for text in names):
        return pack_names(name, names)
    return {name: np.array(names, dtype=np.str_)}


def unpack_names(name: str, arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Inverse of ``pack_names`` and of ``pack_short_names``.

    arrays: by name; others than those of ``name`` are passed over. Raises KeyError for a missing
    array, ValueError for nonsense.
    """
    text = arrays[name]
    if text.dtype.kind == "U" and text.ndim == 1:
        return tuple(text.tolist())
    ends = arrays[f"{name}_ends"]
    if text.ndim != 1 or text.dtype != np.uint8 or ends.ndim != 1 or ends.dtype != np.int64:
        raise ValueError(f"{name} holds no names")
    if not len(ends) or ends[0] != 0 or ends[-1] != len(text) or (ends[1:] < ends[:-1]).any():
        raise ValueError(f"{name}_ends does not lead from name to name")
    whole, bounds = text.tobytes(), ends.tolist()
    return tuple(
        whole[first:last].decode() for first, last in zip(bounds[:-1], bounds[1:], strict=True)
    )
