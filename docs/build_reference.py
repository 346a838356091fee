"""Write docs/cli.md and docs/keys.md from the program: its commands, options and config keys.

``python docs/build_reference.py [FOLDER]`` replaces both pages here, or writes them to FOLDER.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec
from msgspec import structs

from hiertopics.cli import COMMANDS, group
from hiertopics.cli.examples import EXAMPLES
from hiertopics.contract import registry
from hiertopics.settings.config import STARTS, DataConfig, OutputConfig, TopLevelKeys
from hiertopics.settings.fields import description, expectation, nested, offered
from hiertopics.settings.former import Constant, Former, ListEntry, Switch, show_plain
from hiertopics.settings.yamlfile import dump_yaml

WIDTH = 96
HERE = Path(__file__).resolve().parent
Kinds = dict[str, type[msgspec.Struct]]
"""Sections of a config and what they hold."""

BY_BACKEND = {"model": "Model", "inference": "Inference"}
"""Sections that each backend has its own keys of, and the records of these."""

VARIANTS = (
    "A name with a colon, as `-b hdp-gibbs:partial`, is short for a setting that chooses another "
    "model or algorithm. Several may follow each other. Configs of runs hold the setting."
)
FORMER = (
    "Configs, `-s` and runs with these names mean what they meant; a note on stderr gives the "
    "present name. A former `true` or `learned` takes the hyperparameter out of the list. Other "
    "values of a key that was removed are refused."
)
UNOFFERED = (
    "These keys are read, so that runs and configs that have them keep their meaning. New configs "
    "need none: no result of the backend depends on the key."
)

OF_ALL: Kinds = {"": TopLevelKeys, "data": DataConfig, "output": OutputConfig}
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
    """Return the page of the config keys: one row per key, with the backends that have it."""
    lines = [
        "# Config keys",
        "",
        "`python docs/build_reference.py` writes this page; `hiertopics config BACKEND` prints the",
        "keys of one backend as a file to edit. `-s key=value` sets one, `-c FILE` reads a file;",
        "flags win over `-s`, `-s` over the file, the file over the defaults. Where no backend is",
        "named, every backend has the key or the default.",
        "",
        "## Every backend",
        "",
        *_table(("key", "takes", "default", "meaning"), _shared_rows()),
    ]
    for section in BY_BACKEND:
        heads = ("key", "takes", "default", "backends", "meaning")
        lines += ["", f"## {section}", "", *_table(heads, _rows(section))]
    lines += ["", "## start", "", "The words of `inference.start` mean the same in every backend."]
    lines += ["", *_table(("start", "first topics, tree or paths"), STARTS.items())]
    lines += ["", "## Variants", "", *textwrap.wrap(VARIANTS, WIDTH), ""]
    lines += _table(("name", "stands for", "meaning"), _variant_rows())
    lines += ["", "## Former names", "", *textwrap.wrap(FORMER, WIDTH), ""]
    lines += _table(("former", "now", "backends"), _former_rows())
    lines += ["", "## Keys that are not offered", "", *textwrap.wrap(UNOFFERED, WIDTH), ""]
    lines += _table(("key", "backends", "default"), _unoffered_rows())
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


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _shared_rows() -> Iterator[tuple[str, ...]]:
    for section, kind in OF_ALL.items():
        for key, field in _fields(section, kind):
            default = "" if field.required else f"`{_plain(field.default)}`"
            yield f"`{key}`", _takes(field), default, _escaped(description(field.type))


def _fields(section: str, kind: type[msgspec.Struct]) -> Iterator[tuple[str, structs.FieldInfo]]:
    """Yield the fields of a section by their dotted keys, those inside a mapping after it."""
    for field in structs.fields(kind):
        key = ".".join(filter(None, (section, field.encode_name)))
        yield key, field
        inner = nested(field.type)
        yield from () if inner is None else _fields(key, inner)


def _takes(field: structs.FieldInfo) -> str:
    return "a mapping or null" if nested(field.type) else _escaped(expectation(field.type))


def _by_key(section: str, *, shown: bool) -> dict[str, dict[str, structs.FieldInfo]]:
    """Return the fields of a section by keys and then by backends, offered ones or the others."""
    found: dict[str, dict[str, structs.FieldInfo]] = {}
    for name in registry.BACKENDS:
        for field in structs.fields(getattr(registry.load(name), BY_BACKEND[section])):
            if offered(field) == shown:
                found.setdefault(f"{section}.{field.encode_name}", {})[name] = field
    return found


def _rows(section: str) -> Iterator[tuple[str, ...]]:
    for key, fields in _by_key(section, shown=True).items():
        about = (_takes, _default, lambda field: _escaped(description(field.type)))
        takes, default, meaning = (_told(fields, each) for each in about)
        yield f"`{key}`", takes, default, _named(fields), meaning


def _default(field: structs.FieldInfo) -> str:
    return f"`{_plain(field.default)}`"


def _told(
    fields: Mapping[str, structs.FieldInfo], about: Callable[[structs.FieldInfo], str]
) -> str:
    """Return what fields have in common; where they differ, the commonest first, by backends."""
    found: dict[str, list[str]] = {}
    for name, field in fields.items():
        found.setdefault(about(field), []).append(name)
    first, *others = sorted(found, key=lambda text: -len(found[text]))
    return "<br>".join([first, *(f"{', '.join(found[text])}: {text}" for text in others)])


def _named(names: Collection[str]) -> str:
    return "" if len(names) == len(registry.BACKENDS) else ", ".join(names)


def _variant_rows() -> Iterator[tuple[str, ...]]:
    for name, entry in registry.BACKENDS.items():
        for word, one in entry.variants.items():
            yield f"`{name}:{word}`", f"`{one.setting.replace('=', ': ')}`", one.summary


def _former_rows() -> Iterator[tuple[str, ...]]:
    rows: dict[tuple[str, str], list[str]] = {}
    for name in registry.BACKENDS:
        former: Former = getattr(registry.load(name).Inference, "former", {})
        for key, now in former.items():
            if isinstance(now, Switch):
                pairs = [(f"`{key}: {show_plain(now.held)}`", f"`{now.name}` in `inference.hold`")]
            elif isinstance(now, ListEntry):
                nth = ("first", "second")[now.place]
                pairs = [(f"`{key}`", f"the {nth} number of `{now.key}`")]
            elif isinstance(now, Constant):
                pairs = [(f"`{key}: {show_plain(now.value)}`", "removed; this is the only value")]
            else:
                pairs = [(f"`{key}: {old}`", f"`{key}: {new}`") for old, new in now.items()]
            for pair in pairs:
                rows.setdefault(pair, []).append(name)
    for pair, names in rows.items():
        yield *pair, _named(names)


def _unoffered_rows() -> Iterator[tuple[str, ...]]:
    named = {one.key for entry in registry.BACKENDS.values() for one in entry.variants.values()}
    for section in BY_BACKEND:
        for key, fields in _by_key(section, shown=False).items():
            if key not in named:
                yield f"`{key}`", _named(fields), _told(fields, _default)


def _plain(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_plain, value))}]"
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
