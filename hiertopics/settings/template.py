"""The complete commented configuration of a backend, with every default."""

from __future__ import annotations

import textwrap

import msgspec
from msgspec import structs

from hiertopics.settings.config import InferenceConfig, build, section_types
from hiertopics.settings.fields import description, expectation, nested
from hiertopics.settings.yamlfile import dump_yaml

_WIDTH = 96


def template(
    backend_name: str,
    summary: str,
    model_type: type[msgspec.Struct],
    inference_type: type[InferenceConfig],
) -> str:
    """Return YAML text that loads and builds to the all-default experiment of the backend.

    Raises ConfigError if a default breaks the bounds of its own field.
    """
    layers = [("the backend's name", {"backend": backend_name})]
    default = build(layers, model_type=model_type, inference_type=inference_type)
    blocks = [_comment(f"{backend_name}: {summary}\nEvery key is shown with its default.")]
    for name, kind in section_types(model_type, inference_type).items():
        values = msgspec.to_builtins(getattr(default, name) if name else default)
        blocks.append(_section(name, kind, values))
    return "\n".join(blocks)


def _section(name: str, kind: type[msgspec.Struct], values: dict[str, object]) -> str:
    keys = "\n".join(_key(field, values[field.encode_name]) for field in structs.fields(kind))
    if not name:
        return keys
    return f"{name}:\n{textwrap.indent(keys, '  ')}" if keys else f"{name}: {{}}\n"


def _key(field: structs.FieldInfo, value: object) -> str:
    words = f"{description(field.type)} Takes {expectation(field.type)}.".lstrip()
    inner = nested(field.type)
    for key in () if inner is None else structs.fields(inner):
        words += f"\n{key.encode_name} (default {key.default}): {description(key.type)}"
    return _comment(words) + dump_yaml({field.encode_name: value})


def _comment(text: str) -> str:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, _WIDTH - 2)]
    return "".join(f"# {line}\n" for line in lines)
