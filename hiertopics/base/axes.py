"""Checks of arrays from files, made before any function computes with the arrays.

The annotation of a field declares its array: in ``Annotated[I32, Axes("n_tokens",
below="n_topics")]`` the type gives the dtype, and ``Axes`` the lengths and the range. A record
whose fields declare their arrays is checked by ``require_record``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, MutableMapping
from types import UnionType
from typing import IO, Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Lengths = MutableMapping[str, int]
"""Lengths of axes by their names."""

AT_ONCE = 1 << 18
"""Entries of an array whose values are looked at together."""

POSITIVE = 5e-324
"""The lowest value of what must be above 0."""

SCALARS = {float: "fiu", int: "iu", str: "U", bool: "b"}
"""Kinds of arrays that hold one value of a type."""

_AXIS = re.compile(r"(\w+)([+-]\d+)?")


class Axes:
    """The axes of an array and the range of its values.

    names: of the axes, in order; axes of one name have one length, ``K+1`` is an axis that is one
    longer than ``K``, and ``1`` one of one entry. No names: one value. below: values are below the
    length of that axis. least: the lowest value. finite: whether NaN and infinities are refused.
    maybe_empty: an array whose first axis has no entry is sound, too. equals: the one value is that
    length. ascends_to: values are pointers, which ascend from 0 to the length of that axis.
    Raises ValueError for a name that no axis can have.
    """

    def __init__(
        self,
        *names: str,
        below: str | None = None,
        least: float | None = None,
        finite: bool = True,
        maybe_empty: bool = False,
        equals: str | None = None,
        ascends_to: str | None = None,
    ) -> None:
        self.names, self.below, self.least = names, below, least
        self.finite, self.maybe_empty, self.equals = finite, maybe_empty, equals
        self.ascends_to = ascends_to
        for axis in (*names, *(name for name in (below, ascends_to) if name is not None)):
            _parsed(axis)

    @property
    def lengths(self) -> set[str]:
        """The names of the lengths of its axes."""
        return {_parsed(axis)[0] for axis in self.names}

    @property
    def first(self) -> str:
        """The name of the first axis, whatever it is longer or shorter than that."""
        return _parsed(self.names[0])[0]

    def bind(self, name: str, array: NDArray[Any], lengths: Lengths) -> None:
        """Raise ValueError unless the axes have the lengths of their names; note new lengths."""
        if self.maybe_empty and array.ndim and not len(array):
            return
        if array.ndim != len(self.names):
            raise ValueError(f"{name} has {array.ndim} axes, not {len(self.names)}")
        if self.equals is not None and int(array) != lengths[self.equals]:
            raise ValueError(f"{name} is {int(array)}, not {lengths[self.equals]}")
        for axis, length in zip(self.names, array.shape, strict=True):
            own, beyond = _parsed(axis)
            if own.isdigit():
                lengths.setdefault(own, int(own))
            if length < max(beyond, 0):
                raise ValueError(f"{name} has {length} entries along {axis}")
            if lengths.setdefault(own, length - beyond) != length - beyond:
                wanted = lengths[own] + beyond
                raise ValueError(f"{name} has {length} entries along {axis}, not {wanted}")

    def require_values(
        self, name: str, array: NDArray[Any], lengths: Mapping[str, int] | None = None
    ) -> None:
        """Raise ValueError where a value of an array, of any shape, is outside of the range."""
        if not array.size:
            return
        if self.finite and array.dtype.kind == "f":
            require_finite(name, array)
        if self.ascends_to is not None:
            end = _length(name, self.ascends_to, lengths)
            require_pointers(name, array, len(array) - 1, end)
        if self.below is not None:
            end = _length(name, self.below, lengths)
            require_below(name, array, end, int(self.least or 0))
        elif self.least is not None and float(array.min()) < self.least:  # float32 makes POSITIVE 0
            raise ValueError(f"{name} has a value below {self.least:g}")


def _parsed(axis: str) -> tuple[str, int]:
    """Return the name of a length, and how much longer the axis is."""
    found = _AXIS.fullmatch(axis)
    if found is None:
        raise ValueError(f"no axis has the name {axis!r}")
    return found[1], int(found[2] or 0)


def _length(name: str, axis: str, lengths: Mapping[str, int] | None) -> int:
    """Return the length of an axis that bounds the values of an array."""
    own, beyond = _parsed(axis)
    if own not in (lengths or {}):
        raise ValueError(f"{name} has values below a length that is not known: {own}")
    return (lengths or {})[own] + beyond


class FieldDeclaration(NamedTuple):
    """The declared types and axes of a field. kinds: of the types that it may have."""

    kinds: tuple[Any, ...]
    axes: Axes | None

    @property
    def is_of_fit(self) -> bool:
        """Whether an array has the precision of the fit, so that float32 is allowed."""
        return np.floating in self.kinds or np.float32 in self.kinds

    def is_one_value(self, array: NDArray[Any]) -> bool:
        """Whether an array is the single value, of shape (), that may replace a row of values."""
        scalars = any(kind in SCALARS for kind in self.kinds)
        return scalars and array.ndim == 0 and self.axes is not None and bool(self.axes.names)


def declared(hint: Any) -> FieldDeclaration:
    """Return the types that the annotation of a field declares, and its axes if it has some."""
    if get_origin(hint) is Annotated:
        base, *marks = get_args(hint)
        found = [mark for mark in marks if isinstance(mark, Axes)]
        return FieldDeclaration(_types(base), found[0] if found else None)
    return FieldDeclaration(_types(hint), None)


def _types(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, UnionType):
        return tuple(kind for part in get_args(hint) for kind in _types(part))
    if get_origin(hint) is np.ndarray:
        (scalar,) = get_args(get_args(hint)[1])
        return (get_origin(scalar) or scalar,)
    return (hint,)


def require_type(name: str, array: NDArray[Any], told: FieldDeclaration) -> None:
    """Raise ValueError unless an array, of any shape, has one of its field's declared types."""
    for kind in told.kinds:
        if kind in SCALARS:
            if array.ndim == 0 and array.dtype.kind in SCALARS[kind]:
                return
        elif array.dtype.isnative and np.issubdtype(array.dtype, kind):
            return
    wanted = " or ".join(kind.__name__ for kind in told.kinds)
    raise ValueError(f"{name} holds {array.dtype}, not {wanted}")


class Field(NamedTuple):
    """An array with its name and its declaration."""

    name: str
    told: FieldDeclaration
    array: NDArray[Any]


def require_one_float(fields: Iterable[Field]) -> None:
    """Raise ValueError unless all arrays of the fit's precision have one type, of 4 or 8 bytes.

    A fit has all of them in single, or all in double precision. Arrays that are always in double
    precision are not among them.
    """
    tables = [each for each in fields if each.told.is_of_fit and each.array.dtype.kind == "f"]
    for name, _, array in tables:
        if array.dtype.itemsize not in (4, 8) or array.dtype != tables[0].array.dtype:
            first = tables[0]
            raise ValueError(f"{name} holds {array.dtype}, {first.name} {first.array.dtype}")


def require_axes(fields: Iterable[Field], lengths: Lengths) -> None:
    """Raise ValueError unless arrays have their types and axes; note new lengths."""
    for name, told, array in fields:
        require_type(name, array, told)
        if told.axes is not None and not told.is_one_value(array):
            told.axes.bind(name, array, lengths)


def require_ranges(fields: Iterable[Field], lengths: Mapping[str, int]) -> None:
    """Raise ValueError where a value of an array is outside of its range."""
    for name, told, array in fields:
        if told.axes is not None:
            told.axes.require_values(name, array, lengths)


def require_declared(name: str, array: NDArray[Any], hint: Any, lengths: Lengths) -> None:
    """Raise ValueError unless an array has the type, shape and range of its annotation.

    New lengths of axes are noted.
    """
    fields = [Field(name, declared(hint), array)]
    require_axes(fields, lengths)
    require_ranges(fields, lengths)


def require_record(record: Any, **lengths: int) -> None:
    """Raise ValueError unless the arrays of a record match the declarations of its fields.

    Fields without ``Axes`` are passed over. ``require_sound``, where the record has it, is called
    afterwards: it checks what only the arrays together tell. lengths: of axes that are known.
    """
    hints = get_type_hints(type(record), include_extras=True)
    told = {name: declared(hint) for name, hint in hints.items()}
    fields = [Field(name, each, getattr(record, name)) for name, each in told.items() if each.axes]
    require_axes(fields, lengths)
    require_ranges(fields, lengths)
    if hasattr(record, "require_sound"):
        record.require_sound()


def read_head(part: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and type of an array that is about to be read.

    size: bytes of header and array. Raises ValueError where the header is none, or tells of
    Python objects, or of an array of another size: before there is memory for it.
    """
    begin = part.tell()
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    try:
        version = np.lib.format.read_magic(part)
        shape, by_columns, dtype = read[version[0]](part)
    except Exception as error:  # what numpy raises depends on what it parses the header with
        raise ValueError(f"the header of an array cannot be read ({error})") from error
    if dtype.hasobject:
        raise ValueError("an array holds Python objects")
    if any(length < 0 for length in shape):
        raise ValueError("an array has a negative length")
    if part.tell() - begin + math.prod(shape) * dtype.itemsize != size:
        raise ValueError("an array is not as long as its header tells")
    return shape, by_columns, dtype


def require_whole(name: str, array: NDArray[Any], *, axes: int = 1) -> None:
    """Raise ValueError unless an array, of any shape and dtype, holds whole numbers.

    axes: how many axes it must have.
    """
    if array.ndim != axes or array.dtype.kind not in "iu" or not array.dtype.isnative:
        raise ValueError(f"{name} is no {'row' if axes == 1 else 'table'} of whole numbers")


def require_numbers(name: str, array: NDArray[Any], *shape: int) -> None:
    """Raise ValueError unless an array holds finite numbers and has this shape.

    Truth values are no numbers: numpy does not subtract them.
    """
    if array.dtype.kind not in "iuf" or not array.dtype.isnative:
        raise ValueError(f"{name} holds {array.dtype}, no numbers")
    if array.shape != shape:
        found, wanted = (" x ".join(map(str, sizes)) for sizes in (array.shape, shape))
        raise ValueError(f"{name} is {found or 'one number'}, not {wanted or 'one number'}")
    require_finite(name, array)


def require_finite(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError where an array of any shape has NaN or an infinity."""
    if array.dtype.kind != "f" or not array.size:
        return
    # A sum tells of NaN and of infinities, but overflows where values are huge.
    with np.errstate(all="ignore"):
        if not math.isfinite(float(array.sum())) and not np.isfinite(array).all():
            raise ValueError(f"{name} is not finite")


def require_below(name: str, array: NDArray[Any], end: int, least: int = 0) -> None:
    """Raise ValueError where a value of an array of any shape is not in ``least .. end - 1``."""
    if array.size:
        lowest, highest = int(array.min()), int(array.max())
        if lowest < least or highest >= end:
            wrong = lowest if lowest < least else highest
            raise ValueError(f"{name} has the id {wrong}, which is outside {least} .. {end - 1}")


def require_pointers(name: str, pointers: NDArray[Any], n_rows: int, n_entries: int) -> None:
    """Raise ValueError unless pointers [n_rows + 1] lead from 0 row by row to ``n_entries``."""
    require_whole(name, pointers)
    if len(pointers) != n_rows + 1:
        raise ValueError(f"{name} has {len(pointers)} pointers for {n_rows} rows")
    if pointers[0] != 0 or pointers[-1] != n_entries or (pointers[1:] < pointers[:-1]).any():
        raise ValueError(f"{name} does not lead from 0 to {n_entries} row by row")


def require_parents(name: str, parent: NDArray[Any]) -> None:
    """Raise ValueError unless parent [n_nodes], -1 for node 0, the only root, has earlier nodes.

    Parents ascend, as they do where nodes stand level by level and siblings next to each other.
    """
    require_whole(name, parent)
    if not len(parent) or parent[0] != -1:
        raise ValueError(f"{name} does not begin with a root")
    if (parent[1:] < 0).any() or (parent >= np.arange(len(parent))).any():
        raise ValueError(f"{name} has a node whose parent is no node before it")
    if (parent[1:] < parent[:-1]).any():
        raise ValueError(f"{name} has siblings that do not stand next to each other")


def require_shape(shape: NDArray[Any]) -> tuple[int, int]:
    """Return the rows and columns that an array [2] holds; ValueError if it holds no such pair."""
    require_whole("shape", shape)
    if len(shape) != 2 or shape.min() < 0:
        raise ValueError("shape is no pair of lengths")
    n_rows, n_columns = shape.tolist()
    return n_rows, n_columns


def require_csr(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    data: NDArray[Any],
    shape: NDArray[Any],
    *,
    marks: bool = False,
) -> tuple[int, int]:
    """Return the shape of a CSR matrix; raises ValueError if its arrays form no such matrix.

    Values are finite numbers, or truth values where it may hold ``marks``. Columns of a row may
    stand in any order.
    """
    n_rows, n_columns = require_shape(shape)
    require_whole("indices", indices)
    if data.ndim != 1 or len(data) != len(indices):
        raise ValueError("data and indices are not as many")
    require_pointers("indptr", indptr, n_rows, len(indices))
    require_below("indices", indices, n_columns)
    if not (marks and data.dtype.kind == "b"):
        require_numbers("data", data, len(indices))
    return n_rows, n_columns
