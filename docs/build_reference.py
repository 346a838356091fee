"""Write docs/cli.md and docs/keys.md from the program: its commands, options and config keys.

``python docs/build_reference.py [FOLDER]`` replaces both pages here, or writes them to FOLDER.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
from msgspec import structs

from hiertopics.cli import COMMANDS, group
from hiertopics.cli.examples import EXAMPLES
from hiertopics.contract import registry
from hiertopics.settings.config import DataConfig, Header, OutputConfig
from hiertopics.settings.fields import description, expectation, nested
from hiertopics.settings.yamlfile import dump_yaml

WIDTH = 96
HERE = Path(__file__).resolve().parent
Kinds = dict[str, type[msgspec.Struct]]
"""Sections of a config and what they hold."""

OF_ALL: Kinds = {"": Header, "data": DataConfig, "output": OutputConfig}
"""Those that are the same for every backend."""


def cli_page() -> str:
    """Return the page of the commands: what ``-h`` says, one section per command."""
    lines = [
        "# Commands",
        "",
        "`python docs/build_reference.py` writes this page; `hiertopics COMMAND -h` says",
        "the same. `-h` and `--help` belong to every command, `-V` and `--version` to `hiertopics`",
        "itself. [The guide](README.md) shows the commands at work.",
        "",
        *(_item(f"[`{name}`](#{name}): {summary}") for name, summary in COMMANDS.items()),
    ]
    context = click.Context(group, info_name="hiertopics")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        lines += ["", f"## {name}", "", *_command(name, command)]
    return "\n".join(lines) + "\n"


def keys_page() -> str:
    """Return the page of the config keys: one section per backend, those of all first."""
    lines = [
        "# Config keys",
        "",
        "`python docs/build_reference.py` writes this page; `hiertopics config BACKEND` prints",
        "the keys of one backend as a file to edit. `-s key=value` sets one, `-c FILE` reads a",
        "file; flags win over `-s`, `-s` over the file, the file over the defaults.",
        "",
        "## Every backend",
        "",
        *_keys(OF_ALL),
    ]
    for names, kinds in _alike():
        lines += ["", f"## {', '.join(names)}", "", *_keys(kinds)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command) -> Iterator[str]:
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    options = [param for param in command.params if isinstance(param, click.Option)]
    words = ["hiertopics", name, *(["[OPTIONS]"] if options else []), *map(_argument, arguments)]
    yield from ("```", " ".join(words), "```", "", _escaped(inspect.cleandoc(command.help or "")))
    if options:
        yield from ("", *map(_option, options))
    shown = EXAMPLES[name]
    commands = [f"$ {line}" for line in shown.lines]
    yield from ("", "```console", *commands, "```", "", f"More: [{shown.guide}]({shown.guide})")


def _argument(argument: click.Argument) -> str:
    word = argument.metavar or str(argument.name).upper()
    dots = "..." if argument.nargs == -1 else ""
    return f"{word}{dots}" if argument.required else f"[{word}]{dots}"


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or _value(option.type)}"
    all_names = [*option.opts, *option.secondary_opts]
    names = ", ".join(f"`{name}`" for name in all_names[:-1])
    last = f"`{all_names[-1]}{value}`"
    return _item(f"{names}, {last}: {_meaning(option)}" if names else f"{last}: {_meaning(option)}")


def _value(kind: click.ParamType) -> str:
    if isinstance(kind, click.Choice):
        return "WORD"
    return {"integer range": "N", "integer": "N", "float": "X"}.get(kind.name, kind.name.upper())


def _meaning(option: click.Option) -> str:
    parts = [_escaped(option.help or "")]
    if isinstance(option.type, click.Choice):
        parts.append(f"WORD: {' or '.join(map(str, option.type.choices))}.")
    if option.required:
        parts.append("Required.")
    if option.multiple and "repeatable" not in parts[0]:
        parts.append("Repeatable.")
    if option.show_default:
        parts.append(f"[default: {option.default}]")
    return " ".join(part for part in parts if part)


def _alike() -> Iterator[tuple[list[str], Kinds]]:
    """Yield backends with their own sections; those whose keys are equal together."""
    found: dict[tuple[str, ...], tuple[list[str], Kinds]] = {}
    for name in registry.BACKENDS:
        module = registry.load(name)
        kinds = {"model": module.Model, "inference": module.Inference}
        names, _ = found.setdefault(tuple(_keys(kinds)), ([], kinds))
        names.append(name)
    yield from found.values()


def _keys(kinds: Kinds) -> Iterator[str]:
    for section, kind in kinds.items():
        for field in structs.fields(kind):
            yield from _key(section, field)


def _key(section: str, field: structs.FieldInfo) -> Iterator[str]:
    """Yield a key's item, and one for each key of a mapping that it holds."""
    key = ".".join(filter(None, (section, field.encode_name)))
    inner = nested(field.type)
    takes = "a mapping or null" if inner else expectation(field.type)
    default = "" if field.required else f"; default `{_plain(field.default)}`"
    yield _item(f"`{key}` ({_escaped(takes)}{default}): {_escaped(description(field.type))}")
    for deeper in () if inner is None else structs.fields(inner):
        yield from _key(key, deeper)


def _plain(value: object) -> str:
    return dump_yaml({"value": value}).removeprefix("value:").strip()


def _item(text: str) -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def _escaped(text: str) -> str:
    """Return text in which no sign stands that Markdown would take for its own."""
    return re.sub(r"(<(?=[a-z/!])|\*)", r"\\\1", text)


PAGES = {"cli.md": cli_page, "keys.md": keys_page}


def main(folder: Path = HERE) -> None:
    """Write both pages."""
    for name, page in PAGES.items():
        (folder / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
