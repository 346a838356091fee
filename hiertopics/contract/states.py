"""A state as arrays by name, and back: the contents of a checkpoint, without pickle.

A state is a record: a dataclass or a NamedTuple of arrays, numbers, strings, further records, lists
of records, and pieces. What lies inside has a dotted name: ``chain.path``, ``local.0.resp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hiertopics.base.arrays import I64
from hiertopics.base.axes import (
    Field,
    FieldDeclaration,
    Lengths,
    declared,
    require_axes,
    require_one_float,
    require_ranges,
)
from hiertopics.contract.engine import Each, Pieces, as_given, cut
from hiertopics.contract.model import Backend, Context, Settings, Sharded

Arrays = dict[str, NDArray[Any]]


def to_arrays(state: object) -> Arrays:
    """Return everything in a state by its dotted name, numbers and strings as arrays, too."""
    return {name: np.asarray(value) for name, value in leaves(state)}


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arrays, numbers and strings of a state, each after its dotted name."""
    if is_record(type(value)):
        inner = {part: getattr(value, part) for part in _names(type(value))}
    elif isinstance(value, list):
        inner = {str(place): part for place, part in enumerate(value)}
    elif hasattr(value, "state_of"):
        states = [value.state_of(number) for number in range(value.n_pieces)]
        inner = {
            f"{number}.{part}": getattr(state, part)
            for number, state in enumerate(states)
            for part in kept_of(type(state))
        }
    else:
        yield name, value
        return
    for part, found in inner.items():
        yield from leaves(found, f"{name}.{part}" if name else part)


def kept_of(local: Any) -> list[str]:
    """Return the names of the fields of a piece's state that are kept between iterations."""
    return [name for name in local._fields if name not in local._field_defaults]


def is_record(kind: Any) -> bool:
    """Return whether a type is that of a state or of a record in a state."""
    plain = get_origin(kind) or kind
    return is_dataclass(plain) or (isinstance(plain, type) and hasattr(plain, "_fields"))


def of_pieces(arrays: Arrays, name: str) -> list[NDArray[Any]]:
    """Return a local array of a saved state: one [n_rows, ...] for each piece, in their order."""
    found: list[NDArray[Any]] = []
    while (part := arrays.get(f"local.{len(found)}.{name}")) is not None:
        found.append(part)
    return found


class MisnamedError(ValueError):
    """An array of a state is missing or superfluous: the state is of another version."""


SIZES = ("n_docs", "n_words", "n_columns", "n_tokens", "n_pairs")


def lengths_of(seen: object, settings: Settings[Any, Any]) -> Lengths:
    """Return the lengths of axes that are known of a fit: by its settings and of its corpus.

    The names are those of settings that are whole numbers, and ``SIZES``.
    """
    found: Lengths = {}
    for record in (settings.model, settings.inference):
        for name in record.__struct_fields__:
            value = getattr(record, name)
            if isinstance(value, int) and not isinstance(value, bool):
                found[name] = value
    for name in SIZES:
        if hasattr(seen, name):
            found[name] = int(getattr(seen, name))
    return found


def check(backend: Backend[Any, Any, Any, Any], arrays: Arrays, lengths: Lengths) -> None:
    """Raise ValueError where arrays are not those of a state of the backend: it says which.

    ``MisnamedError``: one is missing or superfluous. Else one has not the type, the axes or the
    values that its field declares (``hiertopics.base.axes``), or a record's ``require_sound``
    refuses it.
    lengths: of the axes that are known (``lengths_of``); further ones are noted there.
    """
    if backend.check is not None:
        backend.check(arrays, lengths)
        return
    kept = () if backend.pieces is None else kept_of(backend.pieces.Local)
    pieces: list[Arrays] = []

    def place(found: Arrays) -> None:
        numbers = sorted({int(name.partition(".")[0]) for name in found if "." in name})
        wanted = {f"{number}.{name}" for number in numbers for name in kept} or set(kept)
        for name in sorted(wanted - set(found)):
            raise MisnamedError(f"no {name} of a piece")
        for name in sorted(set(found) - wanted):
            raise MisnamedError(f"{name} of a piece besides")
        of_each = [f"{number}." for number in numbers] or [""]
        pieces.extend({name: found[f"{which}{name}"] for name in kept} for which in of_each)

    fields: list[Field] = []
    from_arrays(backend.State, arrays, kept, place, fields)
    require_axes(fields, lengths)
    tables = [(fields, lengths)]
    if backend.pieces is not None:
        tables += _bind_pieces(backend.pieces.Local, pieces, lengths)
    require_one_float([field for table, _ in tables for field in table])
    for table, known in tables:
        require_ranges(table, known)
    # Whole records last: what they look at has the right types and axes by now.
    from_arrays(backend.State, arrays, kept, lambda found: None, sound=True)
    for piece in pieces:
        if hasattr(backend.pieces.Local, "require_sound"):  # type: ignore[union-attr]
            backend.pieces.Local(**piece).require_sound()  # type: ignore[union-attr]


def _bind_pieces(
    local: Any, pieces: list[Arrays], lengths: Lengths
) -> list[tuple[list[Field], Lengths]]:
    """Return the fields of each piece with the lengths of its axes.

    The first axis of an array counts what the piece has of something; all pieces together have
    what the corpus has of it.
    """
    hints = get_type_hints(local, include_extras=True)
    told = {name: declared(hints[name]) for name in kept_of(local)}
    counted = {said.axes.first for said in told.values() if said.axes is not None}
    total = dict.fromkeys(counted, 0)
    found: list[tuple[list[Field], Lengths]] = []
    for piece in pieces:
        own = {name: length for name, length in lengths.items() if name not in counted}
        fields = [Field(f"{name} of a piece", told[name], array) for name, array in piece.items()]
        require_axes(fields, own)
        lengths.update((name, length) for name, length in own.items() if name not in counted)
        for name in counted:
            total[name] += own.get(name, 0)
        found.append((fields, own))
    for name, length in total.items():
        if length and lengths.setdefault(name, length) != length:
            raise ValueError(f"pieces have {length} of {name} in all, not {lengths[name]}")
    return found


def restored(
    backend: Backend[Any, Any, Any, Any],
    arrays: Arrays,
    data: object,
    settings: Settings,
    context: Context,
) -> Any:
    """Return the state that was saved; its pieces are placed.

    What older ones have of the whole corpus is cut into the same pieces. The arrays must have
    passed ``check``. Raises ValueError where a piece is not one of the corpus, or where what is
    counted in the state is not what the corpus has (``Backend.flaw``).
    """
    if backend.restore is not None:
        return backend.restore(arrays, data, settings, context)
    state = placed(backend, arrays, data, context)
    refuse_flaw(backend, state, data, settings)
    return state


def refuse_flaw(
    backend: Backend[Any, Any, Any, Any], state: object, data: object, settings: Settings[Any, Any]
) -> None:
    """Raise ValueError if a state does not fit the corpus that is laid out."""
    flaw = None if backend.flaw is None else backend.flaw(state, data, settings)
    if flaw is not None:
        raise ValueError(flaw)


def placed(
    backend: Backend[Any, Any, Any, Any], arrays: Arrays, data: object, context: Context
) -> Any:
    """Return the saved state of one chain, as ``restored`` does, even if it has a flaw."""
    sharded = backend.pieces
    if sharded is None:
        return from_arrays(backend.State, arrays)
    kept, parts = kept_of(sharded.Local), sharded.parts(data)

    def place(found: Arrays) -> Any:
        _require_rows(sharded, found, len(parts), sharded.bounds(data))
        if any("." in name for name in found):
            states = [
                sharded.Local(**{name: found[f"{number}.{name}"] for name in kept})
                for number in range(len(parts))
            ]
        else:
            states = cut(sharded.Local, found, sharded.bounds(data))
        return context.place(sharded.build, parts, as_given, Each(states))

    return from_arrays(backend.State, arrays, kept, place)


def _require_rows(
    sharded: Sharded[Any], arrays: Arrays, n_parts: int, bounds: Mapping[str, I64]
) -> None:
    """Raise ValueError unless arrays of pieces have the rows of the parts of a corpus."""
    hints = get_type_hints(sharded.Local, include_extras=True)
    numbers = {name.partition(".")[0] for name in arrays if "." in name}
    if numbers and numbers != {str(number) for number in range(n_parts)}:
        raise ValueError(f"{len(numbers)} pieces, but the corpus has {n_parts}")
    for name in kept_of(sharded.Local):
        axes = declared(hints[name]).axes
        if axes is None or axes.names[0] not in ROWS or name not in bounds:
            continue
        ends = bounds[name] if numbers else bounds[name][[0, -1]]
        for number, n_rows in enumerate((ends[1:] - ends[:-1]).tolist()):
            array = arrays[f"{number}.{name}" if numbers else name]
            if len(array) != n_rows and not (axes.maybe_empty and not len(array)):
                raise ValueError(f"{name} of a piece has {len(array)} rows, not {n_rows}")


ROWS = ("n_docs", "n_tokens", "n_pairs", "n_links", "n_orphans")
"""Axes whose length in a piece is that of the piece's part of the corpus."""


def from_arrays(
    kind: Any,
    arrays: Arrays,
    kept: Sequence[str] = (),
    place: Callable[[Arrays], Any] = lambda found: found,
    fields: list[Field] | None = None,
    *,
    sound: bool = False,
) -> Any:
    """Return the state of this kind: arrays without dimensions are its numbers and strings.

    kind: a record's type, or a generic one with its argument. kept: what pieces keep. place: what
    is made of the arrays of all pieces, ``0.resp`` or those of the whole corpus. fields: to which
    the fields that were read are added. sound: whether records that can tell are asked whether they
    are sound. Raises Misnamed that says which array is missing or too many.
    """
    left = dict(arrays)
    state = _Reader(left, kept, place, [] if fields is None else fields, sound).record(kind, "")
    for name in sorted(left):
        raise MisnamedError(f"{name} besides")
    return state


def _holds_float(told: FieldDeclaration, array: NDArray[Any]) -> bool:
    return float in told.kinds and int not in told.kinds and array.dtype.kind in "fiu"


class _Reader:
    """Takes the arrays of records out of ``left``."""

    def __init__(
        self,
        left: Arrays,
        kept: Sequence[str],
        place: Callable[[Arrays], Any],
        fields: list[Field],
        sound: bool,
    ) -> None:
        self.left, self.kept, self.place = left, kept, place
        self.fields, self.sound = fields, sound

    def record(self, kind: Any, above: str) -> Any:
        """Return a record whose arrays have names that begin with ``above``."""
        plain = get_origin(kind) or kind
        given = dict(zip(getattr(plain, "__parameters__", ()), get_args(kind), strict=True))
        hints = get_type_hints(plain, include_extras=True)
        found = {}
        for name in _names(plain):
            found[name] = self._value(given.get(hints[name], hints[name]), above, name, given)
        record = plain(**found)
        if self.sound and hasattr(record, "require_sound"):
            record.require_sound()
        return record

    def _value(self, kind: Any, above: str, own: str, given: dict[Any, Any]) -> Any:
        name = f"{above}{own}"
        if get_origin(kind) is Pieces:
            return self.place(self._taken(f"{name}.") or self._whole(above))
        if is_record(kind):
            return self.record(kind, f"{name}.")
        if get_origin(kind) is list:
            (item,) = get_args(kind)
            found: list[Any] = []
            while any(other.startswith(f"{name}.{len(found)}.") for other in self.left):
                found.append(self.record(given.get(item, item), f"{name}.{len(found)}."))
            return found
        array, told = self._popped(name), declared(kind)
        self.fields.append(Field(name, told, array))
        if array.ndim:
            return array
        # Kernels are compiled by type: a number that is read is of the type that a fit has there.
        return float(array.item()) if _holds_float(told, array) else array.item()

    def _taken(self, prefix: str) -> Arrays:
        names = [name for name in self.left if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.left.pop(name) for name in names}

    def _whole(self, above: str) -> Arrays:
        return {name: self._popped(f"{above}{name}") for name in self.kept}

    def _popped(self, name: str) -> NDArray[Any]:
        if name not in self.left:
            raise MisnamedError(f"no {name}")
        return self.left.pop(name)


def _names(kind: Any) -> tuple[str, ...]:
    return kind._fields if hasattr(kind, "_fields") else tuple(f.name for f in fields(kind))
