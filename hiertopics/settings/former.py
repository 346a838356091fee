"""Former names of settings, and their present meaning.

The ``Inference`` record of a backend declares them under ``former``, by dotted keys::

    former: ClassVar[Former] = {
        "inference.sample_eta": Switch("eta"),
        "inference.start": {"uniform": "random"},
    }

A key that told whether one hyperparameter is learned is now an entry of the list
``inference.hold``. A value may have another word now. A ``Constant`` is no key any more. Numbers of
one prior, which had a key each, are now a list: each former key is an ``ListEntry`` of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_type_hints

import msgspec

from hiertopics.settings.fields import fields_of, read_value, show
from hiertopics.settings.layers import Layers, at, with_key, without_key

HOLD = "hold"


class Switch(NamedTuple):
    """A former key that set whether the hyperparameter ``name`` is learned, and its two values."""

    name: str
    held: object = False
    learned: object = True


class Constant(NamedTuple):
    """A former key that has this value in every fit now."""

    value: object


class ListEntry(NamedTuple):
    """A former key that is now the number ``name`` of the list ``key``.

    default: of the list, a NamedTuple whose fields have the bounds of the numbers.
    """

    key: str
    name: str
    default: tuple[float, ...]

    @property
    def place(self) -> int:
        """The place of the number in the list."""
        return tuple(get_type_hints(type(self.default))).index(self.name)

    def read(self, value: object) -> object:
        """Return the number; raises ValueError with its bounds."""
        return read_value(value, get_type_hints(type(self.default), include_extras=True)[self.name])


Former = Mapping[str, Switch | Constant | ListEntry | Mapping[str, str]]
"""By former key: its present key or only value. By key: former words and their present ones."""


class Translation:
    """Layers under the present names.

    notes: (layer, sentence) for the former names of each layer. problems: values that neither the
    former names nor ``hold`` may have; these are left out of the layers.
    """

    def __init__(self, layers: Layers, inference_type: type[msgspec.Struct]) -> None:
        self.layers: list[tuple[str, Mapping[str, Any]]] = []
        self.notes: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self._former: Former = getattr(inference_type, "former", {})
        field = fields_of(inference_type).get(HOLD)
        self._may_hold = () if field is None else _choices(field.type)
        self._held: set[str] = set() if field is None else set(field.default)
        entries = (now for now in self._former.values() if isinstance(now, ListEntry))
        self._lists: dict[str, list[object]] = {one.key: list(one.default) for one in entries}
        for source, layer in layers:
            self.layers.append((source, self._translated(source, layer)))

    def _translated(self, source: str, layer: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a layer with each list as it is valid up to here, ``hold`` sorted."""
        layer = self._read_hold(source, layer)
        self._read_lists(layer)
        switched: list[str] = []
        entered: dict[str, list[str]] = {key: [] for key in self._lists}
        for key, now in self._former.items():
            section, name = key.split(".")
            if name not in at(layer, section):
                continue
            value = at(layer, section)[name]
            if isinstance(now, Switch):
                layer = without_key(layer, section, name)
                if self._switch(source, key, value, now):
                    switched.append(f"{key}: {show_plain(value)}")
            elif isinstance(now, ListEntry):
                layer = without_key(layer, section, name)
                if self._enter(source, key, value, now):
                    entered[now.key].append(f"{key}: {show_plain(value)}")
            elif isinstance(now, Constant):
                layer = without_key(layer, section, name)
                if value != now.value or isinstance(value, bool):
                    always = f"{key} is {show_plain(now.value)} in every fit now"
                    self.problems.append(f"{always}, got {show(value)} ({source}); leave it out")
            elif isinstance(value, str) and value in now:
                layer = with_key(layer, section, name, now[value])
                self.notes.append((source, f"{key}: {value} is now {key}: {now[value]}"))
        gathered: dict[str, tuple[list[str], list[Any]]] = {
            f"inference.{HOLD}": (switched, sorted(self._held)),
            **{key: (told, list(self._lists[key])) for key, told in entered.items()},
        }
        for key, (told, values) in gathered.items():
            if told:
                verb = "is" if len(told) == 1 else "are"
                what = f"{', '.join(told)} {verb} now {key}: [{', '.join(map(str, values))}]"
                self.notes.append((source, what))
                section, name = key.split(".")
                layer = with_key(layer, section, name, values)
        return layer

    def _read_hold(self, source: str, layer: Mapping[str, Any]) -> Mapping[str, Any]:
        given = at(layer, "inference").get(HOLD)
        if not self._may_hold or not isinstance(given, list | tuple):
            return layer
        unknown = [name for name in given if name not in self._may_hold]
        if unknown:
            able = ", ".join(self._may_hold)
            what = f"inference.{HOLD} is a list of any of {able}, got {show(unknown[0])} ({source})"
            self.problems.append(what)
            return without_key(layer, "inference", HOLD)
        self._held = set(given)
        return with_key(layer, "inference", HOLD, sorted(self._held))

    def _read_lists(self, layer: Mapping[str, Any]) -> None:
        """Take the lists that a layer gives; a list of another length stays wrong."""
        for key, known in self._lists.items():
            section, name = key.split(".")
            given = at(layer, section).get(name)
            if isinstance(given, list | tuple) and len(given) == len(known):
                self._lists[key] = list(given)

    def _enter(self, source: str, key: str, value: object, entry: ListEntry) -> bool:
        """Put a number into its list; note a value that cannot be one, and return False."""
        try:
            self._lists[entry.key][entry.place] = entry.read(value)
        except ValueError as error:
            self.problems.append(f"{key} {error} ({source})")
            return False
        return True

    def _switch(self, source: str, key: str, value: object, switch: Switch) -> bool:
        """Hold or learn a hyperparameter; note a value that is neither, and return False."""
        for known, held in ((switch.held, True), (switch.learned, False)):
            if type(value) is type(known) and value == known:
                self._held = self._held | {switch.name} if held else self._held - {switch.name}
                return True
        takes = f"{show_plain(switch.learned)} or {show_plain(switch.held)}"
        self.problems.append(f"{key} must be {takes}, got {show(value)} ({source})")
        return False


def show_plain(value: object) -> str:
    """Return a value as it is typed, text without quotes."""
    return value if isinstance(value, str) else show(value)


def _choices(annotation: Any) -> tuple[str, ...]:
    """Return the words that an ``Annotated`` tuple of them may hold."""
    return tuple(sorted(get_args(get_args(get_args(annotation)[0])[0])))
