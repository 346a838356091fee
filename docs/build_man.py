"""Write the man pages of the program, one for each command, from its help.

``python docs/build_man.py FOLDER``, such as ~/.local/share/man/man1; needs click-man.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import click

from hiertopics import __version__
from hiertopics.cli import COMMANDS, group

DATED = 1580601600
"""The date of pages unless SOURCE_DATE_EPOCH tells another: that of files in a wheel."""


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    outer = click.Context(group, info_name="hiertopics")
    commands = {name: group.get_command(outer, name) for name in COMMANDS}
    whole = click.Group(
        "hiertopics",
        {name: command for name, command in commands.items() if command is not None},
        help=group.help,
        params=group.params,
        short_help="topic hierarchies in bag-of-words corpora",
    )
    for name, command in whole.commands.items():
        command.short_help = COMMANDS[name]
    found = {"hiertopics.1": _page(click.Context(whole, info_name="hiertopics"))}
    for name, command in whole.commands.items():
        found[f"hiertopics-{name}.1"] = _page(click.Context(command, outer, info_name=name))
    return found


def _page(context: click.Context) -> str:
    from click_man.core import generate_man_page  # type: ignore[import-untyped]

    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", DATED))
    date = datetime.fromtimestamp(seconds, UTC).date().isoformat()
    return str(generate_man_page(context, version=__version__, date=date)) + "\n"


def main() -> None:
    """Write all pages to the folder of the first argument."""
    if len(sys.argv) != 2:
        sys.exit("usage: python docs/build_man.py FOLDER")
    if find_spec("click_man") is None:
        print("docs/build_man.py needs click-man: pip install click-man", file=sys.stderr)
        sys.exit(2)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
