"""The fields of a configuration struct: their meaning in words, and strict reading of values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

import msgspec
from msgspec import inspect, structs

_NOUNS: dict[type[inspect.Type], str] = {
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.StrType: "text",
    inspect.NoneType: "null",
}
_BOUNDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
NUMBER_AS_TEXT = {"number_as_text": True}
"""``Meta(extra=NUMBER_AS_TEXT)`` on a text field: a whole number is taken as its digits."""

UNOFFERED = {"deprecated": True}
"""``Meta(extra_json_schema=UNOFFERED)``: a key that configs may have, but that is not offered.

The name of a variant says the same, or nothing depends on the key. Runs and configs that have such
a key keep it.
"""


@cache
def fields_of(kind: type[msgspec.Struct]) -> Mapping[str, structs.FieldInfo]:
    """Return the fields of a struct by their keys; msgspec works them out anew at each call."""
    return {field.encode_name: field for field in structs.fields(kind)}


@cache
def nested_in(kind: type[msgspec.Struct]) -> Mapping[str, type[msgspec.Struct]]:
    """Return by key the structs that mappings fill in the fields of a struct."""
    inner = {key: nested(field.type) for key, field in fields_of(kind).items()}
    return {key: found for key, found in inner.items() if found is not None}


def nested(annotation: object) -> type[msgspec.Struct] | None:
    """Return the struct for a mapping in a field of this type, if there is one."""
    info = inspect.type_info(annotation)
    return next((part.cls for part in _members(info) if isinstance(part, inspect.StructType)), None)


def description(annotation: object) -> str:
    """Return the sentence that ``Meta(description=...)`` gives to a field of this type."""
    found = (part.extra_json_schema for part in _metadata(inspect.type_info(annotation)))
    return next((str(extra["description"]) for extra in found if extra), "")


def expectation(annotation: object) -> str:
    """Return the expected value of a field of this type: ``a number > 0 or null``.

    Raises TypeError for a type that no setting may have.
    """
    info = inspect.type_info(annotation)
    return ("a whole number, " if _takes_number_as_text(info) else "") + _phrase(info)


def words_of(annotation: object) -> list[str]:
    """Return the values of a field of this type that are words: those of literals, true, null."""
    found: list[str] = []
    for info in _members(inspect.type_info(annotation)):
        if isinstance(info, inspect.LiteralType):
            found += map(str, info.values)
        elif isinstance(info, inspect.BoolType):
            found += ["true", "false"]
        elif isinstance(info, inspect.NoneType):
            found.append("null")
    return found


def show(value: object) -> str:
    """Return ``value`` as it would be typed, shortened, for use in a sentence."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def read_value(value: object, annotation: object) -> object:
    """Return ``value`` as a field of this type holds it (a whole number as float, say).

    Raises ValueError that says what it must be and what came instead.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if _takes_number_as_text(inspect.type_info(annotation)) else value
    try:
        converted: object = _converted(value, annotation)
    except (msgspec.ValidationError, UnicodeEncodeError):  # the latter: half a pair
        # Where the type is right, the bound says enough.
        info = inspect.type_info(annotation)
        wanted = _bounds(info) if _out_of_bounds(value, info) else expectation(annotation)
        raise ValueError(f"must be {wanted}{_example(annotation)}, got {show(value)}") from None
    numbers = converted if isinstance(converted, list | tuple) else [converted]
    if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
        raise ValueError(f"must be a finite number, got {show(value)}")
    return converted


def _out_of_bounds(value: object, info: inspect.Type) -> bool:
    """Tell whether a refused value is a number of a type that a field may have."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    kinds = inspect.FloatType if isinstance(value, float) else (inspect.IntType, inspect.FloatType)
    return any(isinstance(member, kinds) for member in _members(info))


def _converted(value: object, annotation: object) -> object:
    """Return a value as a field holds it; raises msgspec.ValidationError as it came."""
    try:
        return msgspec.convert(value, annotation, strict=True)
    except msgspec.ValidationError:
        meant = _meant(value, list(_members(inspect.type_info(annotation))))
        if meant is None:
            raise
        with suppress(msgspec.ValidationError):
            return msgspec.convert(meant, annotation, strict=True)
        raise


def _meant(value: object, members: Sequence[inspect.Type]) -> object:
    """Return the list or the share that somebody meant by a number or a text; None for others.

    ``8,30`` and ``8`` are lists where a list of numbers is taken, ``90%`` is 0.9.
    """
    lists = inspect.ListType, inspect.VarTupleType, inspect.NamedTupleType
    if any(isinstance(member, lists) for member in members):
        texts = value.split(",") if isinstance(value, str) else [value]
        numbers = [_number(text) for text in texts]
        return None if None in numbers else numbers
    if any(isinstance(member, inspect.FloatType) for member in members):
        share = _number(value[:-1]) if isinstance(value, str) and value.endswith("%") else None
        return None if share is None else share / 100
    return None


def _number(value: object) -> int | float | None:
    """Return a number, or a text that is one; None for all else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    return None


def _example(annotation: object) -> str:
    """Return the example of a field's values that its ``Meta(examples=...)`` has first."""
    found = (part.extra_json_schema for part in _metadata(inspect.type_info(annotation)))
    examples = [extra["examples"][0] for extra in found if extra and "examples" in extra]
    return f", such as {examples[0]}" if examples else ""


def offered(field: structs.FieldInfo) -> bool:
    """Tell whether a field is a key for new configs (see ``UNOFFERED``)."""
    notes = (part.extra_json_schema for part in _metadata(inspect.type_info(field.type)))
    return not any(extra and extra.get("deprecated") for extra in notes)


def _metadata(info: inspect.Type) -> Iterator[inspect.Metadata]:
    """Yield the notes on a type, the outermost first."""
    if isinstance(info, inspect.Metadata):
        yield info
        yield from _metadata(info.type)
    elif isinstance(info, inspect.UnionType):
        for member in info.types:
            yield from _metadata(member)


def _members(info: inspect.Type) -> Iterator[inspect.Type]:
    """Yield the types that a value may have."""
    if isinstance(info, inspect.Metadata):
        yield from _members(info.type)
    elif isinstance(info, inspect.UnionType):
        for member in info.types:
            yield from _members(member)
    else:
        yield info


def _takes_number_as_text(info: inspect.Type) -> bool:
    return any(part.extra == NUMBER_AS_TEXT for part in _metadata(info))


def _phrase(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        return _phrase(info.type)
    if isinstance(info, inspect.LiteralType):
        return " or ".join(str(value) for value in info.values)
    if isinstance(info, inspect.UnionType):
        any_number = any(isinstance(member, inspect.FloatType) for member in info.types)
        members = (m for m in info.types if not (any_number and isinstance(m, inspect.IntType)))
        return " or ".join(map(_phrase, members))
    if isinstance(info, inspect.StructType):
        keys = (f"{field.encode_name}: {_phrase(field.type)}" for field in info.fields)
        return f"{{{', '.join(keys)}}}"
    if isinstance(info, inspect.ListType | inspect.VarTupleType):
        return f"a list, each {_phrase(info.item_type)}"
    if isinstance(info, inspect.NamedTupleType):
        parts = (f"{field.encode_name} ({_phrase(field.type)})" for field in info.fields)
        return f"a list of {' and '.join(parts)}"
    if isinstance(info, inspect.DictType):
        return f"a mapping of names, each to {_phrase(info.value_type)}"
    if type(info) not in _NOUNS:
        raise TypeError(f"a setting cannot be of type {type(info).__name__}")
    return f"{_NOUNS[type(info)]} {_bounds(info)}".rstrip()


def _bounds(info: inspect.Type) -> str:
    if isinstance(info, inspect.Metadata):
        return _bounds(info.type)
    if isinstance(info, inspect.UnionType):
        return " or ".join(filter(None, map(_bounds, info.types)))
    limits = ((sign, getattr(info, name, None)) for name, sign in _BOUNDS.items())
    return " and ".join(f"{sign} {limit}" for sign, limit in limits if limit is not None)
