"""Options that people know from other programs: the option or the setting that does the same."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import click

from hiertopics.base.errors import HiertopicsError, UsageError
from hiertopics.base.visible import typed

OPTIONS = {
    "iterations": ("epochs", "n_epochs", "num_epochs", "passes", "n_iter", "max_iter", "iters"),
    "seed": ("random_state", "random_seed"),
    "workers": ("threads", "n_jobs", "jobs", "num_workers", "processes"),
    "top": ("limit", "n", "k", "first", "head", "max", "n_docs", "num"),
    "run": ("output", "out", "output_dir", "outdir", "save", "name"),
}
"""Options by what other programs call them."""

COMMANDS = {
    "fit": ("train", "run", "model", "learn", "resume", "continue"),
    "show-tree": ("tree", "show", "view", "print", "hierarchy"),
    "topics": ("words", "list", "top-words"),
    "docs": ("documents", "texts"),
    "report": ("plot", "visualize", "visualise", "browse", "serve", "open", "html", "search"),
    "export": ("figure", "svg", "draw", "save", "json"),
    "label": ("rename", "name", "hide", "note"),
    "drop": ("delete", "remove", "rm"),
    "merge": ("join", "combine"),
    "edit": ("move", "split", "reorder"),
    "eval": ("evaluate", "score", "coherence", "perplexity", "test"),
    "support": ("stability", "bootstrap"),
    "infer": ("predict", "transform", "assign", "place", "classify"),
    "check": ("validate", "inspect", "stats", "describe", "lint"),
    "convert": ("preprocess", "tokenize", "vectorize"),
    "backends": ("models", "algorithms", "methods"),
    "config": ("settings", "params", "options", "init"),
}
"""Commands by what other programs call them."""

MEASURES = ("coherence", "npmi", "diversity", "perplexity")
"""Measures that ``eval`` prints unasked."""

KEYS = {
    "data.stop_words": ("stopwords", "stop_list", "language"),
    "data.max_words": ("max_features", "vocab_size", "max_vocab"),
    "data.ngram_range": ("ngram", "ngrams"),
    "data.lemmas": ("lemma", "lemmatize", "lemmatise"),
}
"""Settings by what other programs call them; those for the number of topics are ``SIZES``."""


APART_BY_COMMAS = ("data.stop_words", "data.encoding")
"""Settings whose value is one text with commas, and no list."""

EXAMPLE = ("6", "30", "100")
"""Numbers of nodes by level, as an example."""

TEXTS = (".txt", ".md", ".rst", ".html", ".htm")
"""Ends of names of files that a folder may hold as documents."""

LONGEST = 60
"""Letters of an argument that a message shows, its end."""

VIEWS = ("show-tree", "report", "topics")
"""Commands whose options people also give to other commands."""


def command_meant(name: str, commands: Mapping[str, str]) -> str:
    """Return a hint on the command that an unknown one stands for.

    commands: what each command does, by its name.
    """
    from difflib import get_close_matches  # only a mistake needs it

    small = name.lower().replace("_", "-")
    for known, habits in COMMANDS.items():
        if small in habits:
            return f"it is {known!r}: {commands[known]}"
    near = get_close_matches(small, commands, n=1)
    return f"did you mean {near[0]!r}?" if near else "hiertopics -h lists those that there are"


class HintingCommand(click.Command):
    """A command whose errors for unknown options and for extra arguments say what to do instead."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raise UsageError that names the option that is meant, or the folder of extra files."""
        given = list(args)
        ctx.allow_extra_args = True  # click would name all of them: a shell may expand to thousands
        try:
            left = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if (instead := _instead(self, error.option_name, given)) is None:
                raise
            raise UsageError(
                f"{ctx.info_name}: no such option {error.option_name!r}; {instead}"
            ) from None
        if left and not ctx.resilient_parsing:
            raise UsageError(_too_many(ctx, left))
        return left


def _too_many(ctx: click.Context, left: Sequence[str]) -> str:
    """Return a line on extra arguments; for files of one folder it names the folder."""
    names = [param.name for param in ctx.command.params if isinstance(param, click.Argument)]
    if "corpus" not in names:
        return f"{ctx.info_name}: an argument too many, {_shown(left[0])}"
    own = [ctx.params[str(name)] for name in names[names.index("corpus") :]]
    found = [path for path in (*own, *left) if path is not None]
    told = f"{ctx.info_name} takes one corpus, not {len(found)}"
    folders = {os.path.dirname(path) or "." for path in found}
    if len(folders) == 1 and all(path.endswith(TEXTS) for path in found):
        return f"{told}: give the folder, {_shown(folders.pop())}, whose texts are the documents"
    few = ", ".join(map(_shown, found[:2])) + ", ..." * (len(found) > 2)
    return f"{told} ({few}): make one file, or one folder of texts, of them"


def _shown(argument: str) -> str:
    return argument if len(argument) <= LONGEST else f"...{argument[-LONGEST:]}"


def _instead(command: click.Command, option: str, args: Sequence[str]) -> str | None:
    """Return the option or setting for an unknown option, with its value; None if none is known."""
    name, value = option.lstrip("-").lower().replace("-", "_"), _value(option, args)
    for known, habits in OPTIONS.items():
        if name in habits and _has(command, f"--{known}"):
            return f"it is --{known} {value or 'N'}"
    if command.name == "check" and name == "auto":
        corpus = next((arg for arg in args if not arg.startswith("-")), "FILE")
        return f"fit takes it: hiertopics fit {typed(corpus)} --auto"
    if command.name == "eval" and name in MEASURES:
        return "eval prints perplexity, coherence (npmi) and diversity without an option"
    if _has(command, "-s"):
        from hiertopics.settings.layers import LEVELS

        keys = _keys(_after(args, "-b", "--backend"))
        if name in LEVELS:
            return _levels(keys, value)
        if (key := _key(name, keys)) is not None:
            return f"it is {_setting(key, value)}"
    return _view(option, value)


def _has(command: click.Command, option: str) -> bool:
    return any(isinstance(one, click.Option) and option in one.opts for one in command.params)


def _setting(key: str, value: str | None) -> str:
    """Return the option that sets a key, as one types it in a shell."""
    import shlex  # only a mistake needs it

    if value is None:
        return f"-s {key}=..."
    value = _translated(key, value)
    is_bare = "," in value and not value.startswith("[") and key not in APART_BY_COMMAS
    listed = f"[{value}]" if is_bare else value
    return f"-s {shlex.quote(f'{key}={listed}')}"


def _translated(key: str, value: str) -> str:
    """Return the value of another program's option as the key takes it."""
    if key == "data.ngram_range" and value.isdigit():
        return f"1,{value}"
    if key == "data.stop_words":
        from hiertopics.corpus.formats.words import language_called  # slow to import

        return ",".join(language_called(one) or one for one in value.strip("[]").split(","))
    return value


def _levels(keys: Sequence[str], value: str | None) -> str:
    """Return the setting of a tree's levels under these keys, and the option that shows some."""
    n_levels = int(value) if value is not None and value.isdigit() else None
    shown = f"hiertopics show-tree --depth {n_levels or 'N'}"
    first = f"{shown} shows the first levels of a tree"
    for key in ("model.depth", "model.max_depth"):
        if key in keys:
            return f"it is {_setting(key, value)}; {first}"
    if "model.branches" not in keys:
        return f"these topics are flat; {shown} --arrange makes a tree of them"
    between = 2 if n_levels is None else min(max(n_levels - 2, 1), len(EXAMPLE))
    example = _setting("model.branches", f"[{','.join(EXAMPLE[:between])}]")
    return f"{example} sets the nodes of each level between root and leaves; {first}"


def _view(option: str, value: str | None) -> str | None:
    """Return the command that shows a run with this option; None where none has it."""
    from hiertopics.cli import group  # commands import this module

    context = click.Context(group)
    for name in VIEWS:
        command = group.get_command(context, name)
        if command is not None and _has(command, option):
            told = f" {value}" if value is not None else ""
            return f"a fitted run takes it: hiertopics {name} {option}{told}"
    return None


def _keys(backend: str | None) -> Sequence[str]:
    """Return the dotted keys of a backend; none where there is no such backend."""
    from hiertopics.contract.registry import DEFAULT, load, named
    from hiertopics.settings.config import section_types
    from hiertopics.settings.fields import fields_of

    try:
        loaded = load(named(backend or DEFAULT))
    except HiertopicsError:
        return ()
    kinds = section_types(loaded.Model, loaded.Inference)
    return [f"{section}.{key}" for section, kind in kinds.items() for key in fields_of(kind)]


def _key(name: str, keys: Sequence[str]) -> str | None:
    """Return the dotted key that a name means, one of ``keys``; None where there is none."""
    from hiertopics.settings.layers import SIZED, SIZES

    names = (*SIZED, *SIZES) if name in SIZES else (name,)
    wanted = [key for one in names for key in keys if key.partition(".")[2] == one]
    wanted += [key for key, habits in KEYS.items() if name in habits and key in keys]
    return wanted[0] if wanted else None


def _value(option: str, args: Sequence[str]) -> str | None:
    """Return the value that an option has among arguments, as ``--x 3`` or ``--x=3``."""
    for arg in args:
        if arg.startswith(f"{option}="):
            return arg.partition("=")[2]
    return _after(args, option)


def _after(args: Sequence[str], *options: str) -> str | None:
    """Return the argument behind the first of these options; None if it is an option, too."""
    for place, arg in enumerate(args[:-1]):
        if arg in options and not args[place + 1].startswith("-"):
            return args[place + 1]
    return None
