"""Values that the shell completes, and ``hiertopics completion``.

A type of parameter offers what begins as the word so far. What cannot be found out completes
nothing and says nothing: the shell has no place for a message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from hiertopics.base.errors import HiertopicsError
from hiertopics.cli.habits import HintingCommand

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from msgspec.structs import FieldInfo

MOST_NODES = 200
PROGRAM, VARIABLE = "hiertopics", "_HIERTOPICS_COMPLETE"
PLACES = {
    "bash": "~/.local/share/bash-completion/completions/hiertopics",
    "zsh": "~/.zfunc/_hiertopics",
    "fish": "~/.config/fish/completions/hiertopics.fish",
}
"""Where each shell looks for the completions of a program; zsh where ``fpath`` names the folder."""

BASH = r"""%(complete_func)s() {
    local IFS=$'\n' line="${COMP_LINE:0:COMP_POINT}" last="${COMP_WORDS[COMP_CWORD]}"
    local words=() n=-1 i word response completion type value cut
    # bash takes : and = for words; without a blank before them they belong to the word there.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ $n == -1 || $line == [[:blank:]]* ]]; then
            line="${line#"${line%%%%[![:blank:]]*}"}"
            ((n += 1))
            words[n]=""
        fi
        words[n]+="$word"
        line="${line#"$word"}"
    done
    # It keeps what stands before the last of them, so that an answer leaves this out.
    cut="${words[n]}"
    [[ $last == *[!:=]* ]] && cut="${cut%%"$last"}"
    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$n %(complete_var)s=bash_complete $1)
    COMPREPLY=()
    for completion in $response; do
        IFS=',' read -r type value <<< "$completion"
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$cut"}") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
"""The script for bash. That of click takes the part of a name behind a colon for a word."""


def _items(values: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(value, help=told or None)
        for value, told in values
        if value.startswith(incomplete)
    ]


class BackendName(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.5
    """The name of a backend, with or without variants."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the backends and their variants, each with its line."""
        from hiertopics.contract.registry import backends

        with suppress(HiertopicsError):
            offered = []
            for row in backends():
                offered.append((row["backend"], row["summary"]))
                offered += [(one["variant"], one["summary"]) for one in row["variants"]]
            return _items(offered, incomplete)
        return []


class Setting(click.ParamType):  # type: ignore[type-arg]
    """A setting as ``section.key=value``."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the keys of the backend that ``-b`` names, otherwise of the default backend.

        Behind a key and its = the values of it that are words, or its default.
        """
        from hiertopics.contract.registry import DEFAULT, load, named
        from hiertopics.settings.config import section_types
        from hiertopics.settings.fields import description, fields_of, offered

        with suppress(HiertopicsError):
            backend = load(named(ctx.params.get("backend") or DEFAULT))
            kinds = section_types(backend.Model, backend.Inference)
            fields = {
                f"{section}.{key}" if section else key: field
                for section, kind in kinds.items()
                for key, field in fields_of(kind).items()
            }
            key, has_value, _ = incomplete.partition("=")
            if has_value and key in fields:
                return _items(_values(key, fields[key]), incomplete)
            keys = (
                (f"{name}=", description(field.type))
                for name, field in fields.items()
                if offered(field)
            )
            return _items(keys, incomplete)
        return []


def _values(key: str, field: FieldInfo) -> Iterator[tuple[str, str]]:
    """Yield ``key=value`` for the values of a setting that are words, and its default."""
    from hiertopics.corpus.data.languages import COMMON
    from hiertopics.settings.fields import show, words_of

    words = words_of(field.type)
    if key == "data.stop_words":
        words += COMMON
    default: Any = field.default
    if isinstance(default, int | float) and show(default) not in words:
        words.append(show(default))
    for word in words:
        yield f"{key}={word}", "the default" if word in (default, show(default)) else ""


class ColumnName(click.ParamType):  # type: ignore[type-arg]
    """The name of a column of metadata of the run that precedes it on the command line."""

    name = "text"

    def __init__(self, *more: str) -> None:
        self._more = more

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the columns that the run keeps, and ``more``."""
        from hiertopics.runs.documents import DOCUMENTS, first_columns
        from hiertopics.runs.rundir import RunDir

        found: list[str] = []
        with suppress(HiertopicsError, OSError, ValueError):
            # click parses no argument before an option that lacks its value: they are left over.
            path = ctx.params.get("run") or next(iter(ctx.args), None)
            run = RunDir.newest() if path is None else RunDir.open(path)
            found = first_columns(run.file(DOCUMENTS))
        return _items(((name, "") for name in dict.fromkeys([*found, *self._more])), incomplete)


class RunFolder(click.Path):
    """The folder of a run."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the runs under ``runs`` and in the folder typed so far; otherwise all folders."""
        from pathlib import Path

        from click.shell_completion import CompletionItem

        typed = Path(incomplete).parent if "/" in incomplete else Path()
        folders = sorted({Path("runs"), typed, Path(incomplete or ".")})
        found = sorted(
            {
                manifest.parent.as_posix()
                for folder in folders
                if folder.is_dir()
                for manifest in folder.glob("*/manifest.json")
            }
        )
        offered = _items(((run, "") for run in found), incomplete)
        return offered or [CompletionItem(incomplete, type="dir")]


class NodeNumber(click.IntRange):
    """A node of the run that precedes it on the command line, as its number."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number of a node that is given by it, by its name or by words of its name."""
        path = None if ctx is None else ctx.params.get("run")
        is_text = isinstance(value, str) and not value.removeprefix("-").isdigit()
        if path is not None and is_text:
            from hiertopics.cli.options import named_node
            from hiertopics.runs.rundir import RunDir

            run = RunDir(path)
            return named_node(run, value) if run.exists else value  # the command refuses the path
        return super().convert(value, param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Offer the nodes of the run, each with its words."""
        from hiertopics.runs.labels import words_told
        from hiertopics.runs.rundir import RunDir

        with suppress(HiertopicsError, OSError):
            path = ctx.params.get("run")
            run = RunDir.newest() if path is None else RunDir.open(path)
            tree = run.tree
            nodes = (
                (str(tree.id_of(row)), words_told(tree, run.vocab, row, 4))
                for row in tree.shown.tolist()
            )
            return _items(nodes, incomplete)[:MOST_NODES]
        return []


BACKEND, SETTING, RUN, NODE = BackendName(), Setting(), RunFolder(), NodeNumber()
COLUMN, BY = ColumnName(), ColumnName("group")


@click.command("completion", cls=HintingCommand)
@click.argument("shell", type=click.Choice([*PLACES]), required=False)
@click.option("--install", is_flag=True, help="Put the script where the shell looks for it.")
def completion_command(shell: str | None, install: bool) -> int:
    """Print the script by which SHELL (default: that of $SHELL) completes commands, options and
    values.

    --install writes it to the shell's folder for such scripts; the last line of stdout is then its
    path.
    """
    from pathlib import Path

    from click.shell_completion import get_completion_class

    from hiertopics.cli import group
    from hiertopics.cli.options import put, tell

    shell = shell or _own_shell()
    kind: Any = get_completion_class(shell)
    completion = kind(group, {}, PROGRAM, VARIABLE)
    if shell == "bash":
        completion.source_template = BASH
    script = completion.source()
    if not install:
        put(script)
        return 0
    from hiertopics.base import files

    place = Path(PLACES[shell]).expanduser()
    files.make_folder(place.parent)
    files.write_text(place, script + "\n")
    if shell == "zsh":
        tell(f"zsh finds it once ~/.zshrc has, before compinit: fpath+=({place.parent})")
    tell("a new shell completes hiertopics")
    put(str(place))
    return 0


def _own_shell() -> str:
    """Return the shell of the environment; raises UsageError where its completion is not known."""
    import os

    shell = os.path.basename(os.environ.get("SHELL", ""))
    if shell not in PLACES:
        told = f"{shell!r} of $SHELL is not one of them" if shell else "$SHELL names none"
        raise click.UsageError(f"name a shell, {', '.join(PLACES)}: {told}")
    return shell
