"""A JSON Schema of the configs of a backend, by which an editor completes and checks keys."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from hiertopics.settings.config import InferenceConfig, section_types

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_of(
    backend: str,
    summary: str,
    model_type: type[msgspec.Struct],
    inference_type: type[InferenceConfig],
) -> str:
    """Return the schema as JSON text: keys, types, bounds, defaults and descriptions.

    It knows one backend, since ``model`` and ``inference`` are that backend's own. A section may
    be left empty, as in a config.
    """
    kinds = section_types(model_type, inference_type)
    schemas, parts = msgspec.json.schema_components(
        list(kinds.values()), ref_template="#/$defs/{name}"
    )
    refs = dict(zip(kinds, schemas, strict=True))
    header = parts.pop(refs.pop("")["$ref"].rpartition("/")[2])
    sections = {name: {"anyOf": [ref, {"type": "null"}]} for name, ref in refs.items()}
    whole: dict[str, Any] = {
        "$schema": DIALECT,
        "title": f"hiertopics {backend}",
        "description": summary,
        "type": "object",
        "properties": {**header["properties"], **sections},
        "additionalProperties": False,
        "$defs": parts,
    }
    return json.dumps(whole, indent=2) + "\n"
