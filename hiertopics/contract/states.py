"""A state as arrays by name, and back: what a checkpoint holds, without pickle.

A state is a record: a dataclass or a NamedTuple of arrays, numbers, strings, further records, lists
of records, and pieces. What lies inside has a dotted name: ``chain.path``, ``local.0.resp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hiertopics.contract.engine import Each, Pieces, as_given, cut
from hiertopics.contract.model import Backend, Context, Settings

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
    """Return the names of what a record of a piece's state keeps between iterations."""
    return [name for name in local._fields if name not in local._field_defaults]


def is_record(kind: Any) -> bool:
    """Return whether a type is that of a state or of a record in one."""
    plain = get_origin(kind) or kind
    return is_dataclass(plain) or (isinstance(plain, type) and hasattr(plain, "_fields"))


def of_pieces(arrays: Arrays, name: str) -> list[NDArray[Any]]:
    """Return an array of what is local in a saved state, one for each piece in their order."""
    found: list[NDArray[Any]] = []
    while (part := arrays.get(f"local.{len(found)}.{name}")) is not None:
        found.append(part)
    return found


def check(backend: Backend[Any, Any, Any, Any], arrays: Arrays) -> None:
    """Raise ValueError where arrays are not those of a state of the backend: it says which."""
    if backend.check is not None:
        backend.check(arrays)
        return
    kept = () if backend.pieces is None else kept_of(backend.pieces.Local)

    def place(found: Arrays) -> None:
        numbers = {name.partition(".")[0] for name in found if "." in name}
        wanted = {f"{number}.{name}" for number in numbers for name in kept} or set(kept)
        for name in sorted(wanted - set(found)):
            raise ValueError(f"no {name} of a piece")
        for name in sorted(set(found) - wanted):
            raise ValueError(f"{name} of a piece besides")

    from_arrays(backend.State, arrays, kept, place)


def restored(
    backend: Backend[Any, Any, Any, Any],
    arrays: Arrays,
    data: object,
    settings: Settings,
    context: Context,
) -> Any:
    """Return the state that was saved; its pieces are placed.

    What older ones have of the whole corpus is cut into the same pieces.
    """
    if backend.restore is not None:
        return backend.restore(arrays, data, settings, context)
    sharded = backend.pieces
    if sharded is None:
        return from_arrays(backend.State, arrays)
    kept, parts = kept_of(sharded.Local), sharded.parts(data)

    def place(found: Arrays) -> Any:
        if any("." in name for name in found):
            states = [
                sharded.Local(**{name: found[f"{number}.{name}"] for name in kept})
                for number in range(len(parts))
            ]
        else:
            states = cut(sharded.Local, found, sharded.bounds(data))
        return context.place(sharded.build, parts, as_given, Each(states))

    return from_arrays(backend.State, arrays, kept, place)


def from_arrays(
    kind: Any,
    arrays: Arrays,
    kept: Sequence[str] = (),
    place: Callable[[Arrays], Any] = lambda found: found,
) -> Any:
    """Return the state of this kind: arrays without dimensions are its numbers and strings.

    kind: a record's type, or a generic one with its argument. kept: what pieces keep. place: what
    is made of the arrays of all pieces, ``0.resp`` or those of the whole corpus. Raises ValueError
    that says which array is missing or too many.
    """
    left = dict(arrays)
    state = _Reader(left, kept, place).record(kind, "")
    for name in sorted(left):
        raise ValueError(f"{name} besides")
    return state


class _Reader:
    """Takes the arrays of records out of ``left``."""

    def __init__(self, left: Arrays, kept: Sequence[str], place: Callable[[Arrays], Any]) -> None:
        self.left, self.kept, self.place = left, kept, place

    def record(self, kind: Any, above: str) -> Any:
        """Return a record whose arrays have names that begin with ``above``."""
        plain = get_origin(kind) or kind
        given = dict(zip(getattr(plain, "__parameters__", ()), get_args(kind), strict=True))
        hints = get_type_hints(plain)
        found = {}
        for name in _names(plain):
            found[name] = self._value(given.get(hints[name], hints[name]), above, name, given)
        return plain(**found)

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
        array = self._popped(name)
        return array if array.ndim else array.item()

    def _taken(self, prefix: str) -> Arrays:
        names = [name for name in self.left if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.left.pop(name) for name in names}

    def _whole(self, above: str) -> Arrays:
        return {name: self._popped(f"{above}{name}") for name in self.kept}

    def _popped(self, name: str) -> NDArray[Any]:
        if name not in self.left:
            raise ValueError(f"no {name}")
        return self.left.pop(name)


def _names(kind: Any) -> tuple[str, ...]:
    return kind._fields if hasattr(kind, "_fields") else tuple(f.name for f in fields(kind))
