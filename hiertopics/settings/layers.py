"""Settings come in layers (defaults, a file, ``--set``, flags); the later layer wins.

Each layer keeps its name, so that a wrong setting can be traced to where it was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hiertopics.base.errors import ConfigError, FieldError
from hiertopics.settings.fields import fields_of, nested_in, read_value, show
from hiertopics.settings.yamlfile import parse_value

Layers = Sequence[tuple[str, Mapping[str, object]]]
Overrides = Sequence[str] | Mapping[str, object]
"""Settings that ``--set`` makes: ``key=value`` strings, or in Python a mapping by dotted keys."""

SIZES = (
    "topics",
    "n_topics",
    "num_topics",
    "nr_topics",
    "n_components",
    "k",
    "n_clusters",
    "clusters",
)
"""Names of the number of topics in other programs."""
SIZED = ("truncation", "branches")
"""Names of it here, under ``model``."""
LEVELS = ("depth", "levels", "n_levels", "num_levels", "nr_levels", "max_depth")
"""Names of the number of levels of a tree in other programs."""
CHARACTERS = ("data.delimiter",)
"""Keys whose value is a character."""


def merge(*layers: Mapping[str, object]) -> dict[str, object]:
    """Return one nested dict of all settings; a later layer wins, key by key.

    A section left empty in a later layer (``model:`` with nothing under it) changes nothing; a
    key inside a section that is null is null.
    """
    merged: dict[str, object] = {}
    for layer in layers:
        for key, value in layer.items():
            older = merged.get(key)
            if isinstance(value, Mapping):
                merged[key] = _overlaid(older if isinstance(older, Mapping) else {}, value)
            elif value is not None or not isinstance(older, Mapping):
                merged[key] = value
    return merged


def _overlaid(older: Mapping[str, object], newer: Mapping[str, object]) -> dict[str, object]:
    section = dict(older)
    for key, value in newer.items():
        if isinstance(value, Mapping):
            below = section.get(key)
            value = _overlaid(below if isinstance(below, Mapping) else {}, value)
        section[key] = value
    return section


def at(layer: Mapping[str, Any], section: str) -> Mapping[str, Any]:
    """Return the keys of a section in a layer; an empty mapping where it has no such section."""
    found = layer.get(section)
    return found if isinstance(found, Mapping) else {}


def with_key(layer: Mapping[str, Any], section: str, key: str, value: object) -> dict[str, Any]:
    """Return a layer with one key of a section set; a section that is no mapping stays wrong."""
    if not isinstance(layer.get(section, {}), Mapping | None):
        return dict(layer)
    return {**layer, section: {**at(layer, section), key: value}}


def without_key(layer: Mapping[str, Any], section: str, key: str) -> dict[str, Any]:
    """Return a layer without one key of a section that it has."""
    return {**layer, section: {name: v for name, v in at(layer, section).items() if name != key}}


def parse_set(items: Overrides) -> dict[str, object]:
    """Turn ``["model.gamma=1e-3", ...]`` into nested settings; values follow the YAML rules.

    A value of one character is that character: YAML reads ``|`` as an empty text, and ``#`` as
    null. Digits are numbers, and ``~`` is null where the key is none of ``CHARACTERS``.

    A mapping ``{"model.gamma": 1e-3, ...}`` holds the values themselves. Raises ConfigError with
    every item that has no ``=``, no proper key or no readable value.
    """
    if isinstance(items, Mapping):
        return merge(*(_nested_under(key.split("."), value) for key, value in items.items()))
    settings: dict[str, object] = {}
    problems = []
    for item in items:
        key, equals, text = item.partition("=")
        parts = key.strip().split(".")
        if not equals or not all(parts):
            problems.append(f"expected section.key=value, got {item!r} (--set)")
            continue
        try:
            value = text if _is_character(key.strip(), text) else parse_value(text)
        except ConfigError as error:
            problems.append(f"{key.strip()}: {error} (--set)")
            continue
        settings = merge(settings, _nested_under(parts, value))
    if problems:
        raise ConfigError(problems)
    return settings


def _is_character(key: str, text: str) -> bool:
    """Tell whether the text of a value stands for itself."""
    if len(text) != 1:
        return False
    return key in CHARACTERS or not (text.isalnum() or text.isspace() or text == "~")


def _nested_under(parts: Sequence[str], value: object) -> dict[str, object]:
    setting = {parts[-1]: value}
    for part in reversed(parts[:-1]):
        setting = {part: setting}
    return setting


class Reader:
    """Reads one section after another and collects the problems of all of them."""

    def __init__(self, layers: Layers, kinds: Mapping[str, type[msgspec.Struct]]) -> None:
        self.layers = layers
        self.raw = merge(*(settings for _, settings in layers))
        self.kinds = kinds
        self.problems: list[str] = []
        self._structs = {**kinds, **_nested(kinds)}

    def read(self, section: str) -> msgspec.Struct | None:
        """Return the section, or None after noting why it cannot be.

        section: a name among ``kinds``, or the dotted path of a struct inside one.
        """
        before = len(self.problems)
        raw = self._settings(section)
        kind = self._structs[section]
        fields = fields_of(kind)
        for key in raw:
            if key not in fields:
                self._note(section, key, self._unknown(section, key))
        values: dict[str, object] = {}
        for key, field in fields.items():
            if (path := _dotted(section, key)) in self._structs and isinstance(
                raw.get(key), Mapping
            ):
                values[field.name] = self.read(path)
                continue
            try:
                if key not in raw and field.required:
                    raise ValueError("must be given")
                # Defaults are read too: a default of 1 in a float field becomes 1.0.
                values[field.name] = read_value(raw.get(key, field.default), field.type)
            except ValueError as error:
                self._note(section, key, f"{_dotted(section, key)} {error}")
        if len(self.problems) == before:
            try:
                return kind(**values)
            except FieldError as error:
                what = f"{_dotted(section, error.field)} {error.what}"
                self._note(section, error.field, what)
            except ValueError as error:
                self._note(section, None, f"{section}: {error}")
        return None

    def _settings(self, section: str) -> Mapping[str, object]:
        if not section:
            return {key: self.raw[key] for key in self.raw if not key or key not in self.kinds}
        settings: object = self.raw
        for key in section.split("."):
            settings = settings.get(key) if isinstance(settings, Mapping) else None
        if settings is None:  # absent, or all its keys are commented out
            return {}
        if not isinstance(settings, Mapping):
            self._note(section, None, f"{section} must be a mapping of keys, got {show(settings)}")
            return {}
        return settings

    def _note(self, section: str, key: str | None, what: str) -> None:
        path = section.split(".") if section else []
        layer = _origin(self.layers, path if key is None else [*path, key])
        self.problems.append(f"{what} ({layer})" if layer else what)

    def _unknown(self, section: str, key: str) -> str:
        import difflib  # slow to import, and only a mistake needs it

        names = {name: list(fields_of(kind)) for name, kind in self._structs.items()}
        names[""] += [name for name in self.kinds if name]
        size = key.lower() in SIZES and section in ("model", "")
        if size and (sizes := [name for name in SIZED if name in names.get("model", ())]):
            meant = " or ".join(_dotted("model", name) for name in sizes)
            return f"unknown key {key!r}; the number of topics is {meant}"
        if section == "model" and key.lower() in LEVELS and "branches" in names["model"]:
            return (
                f"unknown key {key!r} under model; model.branches=[8,30] sets the nodes of each "
                "level between root and leaves"
            )
        near = [_dotted(name, key) for name in names if key in names[name]]
        near += difflib.get_close_matches(key, names[section], n=1)
        what = f"unknown key {key!r}" + (f" under {section}" if section else "")
        return what + (f"; did you mean {near[0]!r}?" if near else "")


def _nested(kinds: Mapping[str, type[msgspec.Struct]]) -> dict[str, type[msgspec.Struct]]:
    """Return the structs inside sections by their dotted paths."""
    found = {
        _dotted(name, key): inner
        for name, kind in kinds.items()
        if name
        for key, inner in nested_in(kind).items()
    }
    return {**found, **_nested(found)} if found else found


def _dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


def _origin(layers: Layers, path: Sequence[str]) -> str | None:
    """Return the name of the last layer that sets the key at ``path``."""
    return next((name for name, layer in reversed(layers) if _holds(layer, path)), None)


def _holds(layer: Mapping[str, object], path: Sequence[str]) -> bool:
    value: object = layer
    for key in path:
        if not isinstance(value, Mapping) or key not in value:
            return False
        value = value[key]
    return True
