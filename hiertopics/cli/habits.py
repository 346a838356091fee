"""Options that people know from other programs: the option or the setting that does the same."""

from __future__ import annotations

from collections.abc import Sequence

import click

OPTIONS = {
    "iterations": ("epochs", "n_epochs", "num_epochs", "passes", "n_iter", "max_iter", "iters"),
    "seed": ("random_state", "random_seed"),
    "workers": ("threads", "n_jobs", "jobs", "num_workers", "processes"),
}
"""Options by what other programs call them."""

KEYS = {
    "data.stop_words": ("stopwords", "stop_list", "language"),
    "data.max_words": ("max_features", "vocab_size", "max_vocab"),
    "data.ngram_range": ("ngram", "ngrams"),
}
"""Settings by what other programs call them; those for the number of topics are ``SIZES``."""


class HintingCommand(click.Command):
    """A command whose error for an unknown option names the option or setting that is meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raise UsageError with the option or the setting that does what an unknown option says."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if (instead := _instead(self, error.option_name, given)) is None:
                raise
            raise click.UsageError(
                f"no such option {error.option_name!r}; it is {instead}", ctx
            ) from None


def _instead(command: click.Command, option: str, args: Sequence[str]) -> str | None:
    """Return what stands for an unknown option, with its value; None where nothing is known."""
    import shlex  # only a mistake needs it

    name, value = option.lstrip("-").lower().replace("-", "_"), _value(option, args)
    for known, habits in OPTIONS.items():
        if name in habits:
            return f"--{known} {value or 'N'}"
    if not any(isinstance(one, click.Option) and "-s" in one.opts for one in command.params):
        return None
    key = _key(name, _after(args, "-b", "--backend"))
    return None if key is None else f"-s {shlex.quote(f'{key}={value}') if value else f'{key}=...'}"


def _key(name: str, backend: str | None) -> str | None:
    """Return the dotted key that a name means for a backend; None where there is none."""
    from hiertopics.base.errors import HiertopicsError
    from hiertopics.contract.registry import DEFAULT, load, named
    from hiertopics.settings.config import section_types
    from hiertopics.settings.fields import fields_of
    from hiertopics.settings.layers import SIZED, SIZES

    try:
        loaded = load(named(backend or DEFAULT))
    except HiertopicsError:
        return None
    kinds = section_types(loaded.Model, loaded.Inference)
    keys = [f"{section}.{key}" for section, kind in kinds.items() for key in fields_of(kind)]
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
