"""The command line: similar commands share a file, which is imported when one is called.

A command turns options into arguments of one Python function and its result into lines.

``hiertopics -h`` and ``hiertopics COMMAND -h`` import neither numpy nor scipy nor numba.
"""

from __future__ import annotations

import importlib
import os
import resource
import sys
from contextlib import redirect_stderr, suppress
from typing import Any, TextIO, cast

import click

from hiertopics import __version__
from hiertopics.base.errors import HiertopicsError
from hiertopics.base.visible import steady
from hiertopics.cli.examples import EXAMPLES

COMMANDS = {
    "fit": "Fit a backend to a corpus; on an existing run, continue it.",
    "eval": "Score a run on held-out text.",
    "show-tree": "Show a run's tree with its top words.",
    "topics": "Show a run's topics as a table.",
    "docs": "Show the documents of a run or of one of its nodes.",
    "report": "Write a run as one page for a browser, without a network.",
    "label": "Name a node of a run, hide it, or note something.",
    "merge": "Make a run in which nodes of a run are one.",
    "drop": "Make a run without a node of a run.",
    "edit": "Make a run in which nodes are merged, moved or split, as a file says.",
    "shape": "Cut a run's tree into other numbers of nodes by level.",
    "refit": "Fit the documents of a node alone.",
    "update": "Go on from a run with further documents.",
    "import": "Make a run of a tree that another program made.",
    "infer": "Place new documents under a run's topics.",
    "compare": "Compare runs scored on the same split, best first.",
    "agree": "Say which nodes of a tree other runs found again.",
    "support": "Say how far nodes come back in fits to parts of the documents.",
    "judge": "Make a sheet by which people judge a run's topics, or score one.",
    "consensus": "Write the tree of the branches that most of several runs have.",
    "export": "Write a run's tree for other tools.",
    "convert": "Write a corpus in another format.",
    "check": "Check a corpus and the files beside it.",
    "config": "Print a complete commented config of a backend.",
    "simulate": "Draw a corpus from a backend's own model, the truth beside it.",
    "sweep": "Print one fit command per setting and seed, for batch jobs.",
    "backends": "List the backends.",
    "completion": "Print or install the script by which a shell completes values.",
}

SECTIONS = {
    "Fit": ("fit", "refit", "update", "sweep"),
    "Look": ("show-tree", "topics", "docs", "report", "export"),
    "Score": ("eval", "compare", "agree", "support", "judge"),
    "Change": ("label", "merge", "drop", "edit", "shape", "consensus", "import"),
    "New documents": ("infer",),
    "Corpora and settings": ("check", "convert", "simulate", "config", "backends", "completion"),
}

MODULES = {
    "changing": ("label", "merge", "drop", "edit", "shape", "consensus"),
    "completing": ("completion",),
    "corpora": ("check", "convert", "simulate", "backends", "config", "sweep"),
    "fit": ("fit", "refit", "update"),
    "importing": ("import",),
    "infer": ("infer",),
    "judging": ("judge",),
    "scores": ("eval", "compare", "agree"),
    "supporting": ("support",),
    "topics": ("topics", "docs"),
    "trees": ("show-tree", "export", "report"),
}
MODULE_OF = {command: module for module, commands in MODULES.items() for command in commands}


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which a user meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command; None where there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"hiertopics.cli.{MODULE_OF[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        command.epilog = EXAMPLES[cmd_name].epilog
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write tables of the commands, grouped by purpose, from their one-line descriptions."""
        width = max(map(len, COMMANDS))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", COMMANDS[name]) for name in names])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``help COMMAND`` for ``COMMAND --help``."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the nearest command if the given one does not exist."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from hiertopics.cli.habits import command_meant  # a mistake alone needs it

            raise click.UsageError(
                f"no such command {args[0]!r}; {command_meant(args[0], COMMANDS)}", ctx
            )
        if not {"-h", "--help"} & set(args):
            _require_memory()
        return super().resolve_command(ctx, args)


LEAST = {"-d": (resource.RLIMIT_DATA, 320 << 20), "-v": (resource.RLIMIT_AS, 640 << 20)}
"""Memory that libraries and kernels take, in bytes, by the option of ulimit that limits it."""


def _require_memory() -> None:
    """Raise HiertopicsError where the system leaves the process too little memory to begin.

    numpy's and scipy's library of linear algebra then waits for memory for ever, deaf to signals.
    """
    for option, (kind, least) in LEAST.items():
        limit, _ = resource.getrlimit(kind)
        if limit != resource.RLIM_INFINITY and limit < least:
            raise HiertopicsError(
                f"too little memory: ulimit {option} leaves this process {limit >> 20} MiB, and "
                f"hiertopics takes {least >> 20} MiB before it reads anything"
            )


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def group() -> None:
    """Topic hierarchies in bag-of-words corpora.

    hiertopics fit CORPUS, then hiertopics eval --heldout, then hiertopics show-tree.
    """


class _LenientStream:
    """A text stream whose failures to write, as on a full disk, are passed over.

    Messages that nobody can take end no command. All else is that of ``stream``.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError):
            self._stream.flush()

    def finish(self) -> None:
        """Flush; if that fails, redirect to the null device, as the interpreter flushes again."""
        try:
            self._stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def main(argv: list[str] | None = None) -> Any:
    """Run the command line; an error ends in one message and the exit code of its class."""
    _ready_streams()
    import warnings

    stderr = _LenientStream(sys.stderr)
    with redirect_stderr(cast(TextIO, stderr)), warnings.catch_warnings():
        # Results are checked: what is not finite ends in a sentence, not in a line of numpy's.
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            _run(argv)
        finally:
            stderr.finish()


def _run(argv: list[str] | None) -> None:
    try:
        sys.exit(group.main(argv, prog_name="hiertopics", standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _complain(_in_one_line(error))
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except HiertopicsError as error:
        _complain(str(error))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # Whoever read stdout has gone; the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _complain("not enough memory; a smaller model.truncation or corpus needs less")
        sys.exit(1)
    except OSError as error:
        _complain(f"{error.filename or 'input or output'}: {error.strerror or error}")
        sys.exit(1)


def _ready_streams() -> None:
    """Give closed streams a place to go, and let no character in a name stop an answer."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    # Names of files may hold bytes that are no UTF-8: they go out as they came in.
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        utf8 = sys.stdout.encoding.lower().replace("-", "") == "utf8"
        reconfigure(errors="surrogateescape" if utf8 else "backslashreplace")


def _in_one_line(error: click.ClickException) -> str:
    """Return a message of click in the form of other messages: one line that names the command."""
    said = " ".join(error.format_message().split()).removesuffix(".")
    said = said.replace(". Did you mean", "; did you mean")
    said = said.replace("is not a valid integer range", "is no whole number")
    said = said.replace("is not a valid integer", "is no whole number")
    said = said.replace("is not a valid float", "is no number")
    context = getattr(error, "ctx", None)
    if context is None or context.parent is None:
        return said[:1].lower() + said[1:]
    said = f"{context.info_name}: {said[:1].lower()}{said[1:]}"
    says_what_to_do = type(error) is click.UsageError  # a message of our own
    if isinstance(error, click.NoSuchOption):
        says_what_to_do = bool(error.possibilities)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        given = [name for name in error.param.opts if name == "-o"]
        example = "tree.graphml" if context.info_name == "export" else "runs/new"
        said += "".join(f"; give one, such as -o {example}" for _ in given)
        says_what_to_do = bool(given)
    return said if says_what_to_do else f"{said}; see {context.command_path} -h"


def _complain(message: str) -> None:
    first, *others = map(steady, message.split("\n"))
    print(f"hiertopics: error: {first}", file=sys.stderr)
    for line in others:
        print(f"  {line}", file=sys.stderr)
