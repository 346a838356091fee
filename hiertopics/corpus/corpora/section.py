"""The ``data`` section of a command that has no other: from ``-s`` and flags, every key checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import structs

from hiertopics.base.errors import ConfigError
from hiertopics.corpus.formats.trust import trust
from hiertopics.settings.config import DataConfig, data_layer
from hiertopics.settings.layers import Overrides, Reader, parse_set


class _Top(msgspec.Struct):
    """Settings outside any section: there are none."""


def data_section(
    data: Mapping[str, Any], overrides: Overrides, command: str, meaningless: Sequence[str]
) -> DataConfig:
    """Return the section; ``data`` wins over ``overrides``.

    command: the name of the command, for messages. meaningless: keys that it refuses in
    ``overrides``. A tokenizer that is named here may be imported. Raises ConfigError with every
    problem at once.
    """
    settings = parse_set(overrides)
    section = settings.get("data")
    if isinstance(section, Mapping):
        wrong = [key for key in meaningless if key in section]
        if wrong:
            raise ConfigError([f"data.{key} has no meaning for {command} (--set)" for key in wrong])
    layers: list[tuple[str, Mapping[str, object]]]
    layers = [("--set", settings), ("flag", data_layer(data))]
    reader = Reader(layers, {"": _Top, "data": DataConfig})
    reader.read("")
    config = reader.read("data")
    if reader.problems or not isinstance(config, DataConfig):
        raise ConfigError(reader.problems)
    trust(structs.asdict(config))
    return config
