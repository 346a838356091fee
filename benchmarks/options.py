"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from benchmarks.corpora import DOCS, FILES, Source

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
CORPUS = click.Choice(tuple(FILES))


class Number(click.ParamType[int]):
    """A whole number, which may be written as 100M (million), 5k or 1G (thousand million)."""

    name = "number"
    letters = {"k": 10**3, "M": 10**6, "G": 10**9}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number."""
        text = str(value)
        factor = self.letters.get(text[-1:], 1)
        try:
            return round(float(text[:-1] if factor > 1 else text) * factor)
        except ValueError:
            self.fail(f"{text!r} is no number; write one as 100M", param, ctx)


NUMBER = Number()

data = click.argument("data", type=FOLDER)
split = click.option("--split", default=DOCS, show_default=True)
rounds = click.option("--rounds", default=7, show_default=True, help="Measurements per system.")
gamma = click.option("--gamma", default=1.0, show_default=True, help="Of all trees.")
eta = click.option("--eta", default=0.1, show_default=True, help="Of all trees.")
seed = click.option("--seed", default=0, show_default=True)
seeds = click.option("--seed", type=int, multiple=True, default=(0, 1, 2), show_default=True)
corpora = click.option(
    "--corpus", type=CORPUS, multiple=True, default=("kos", "ap"), show_default=True
)
iterations = click.option("--iterations", type=int, help="Instead of each model's own number.")


def backends(*default: str) -> Decorator:
    """Return the repeatable option ``--backend``."""
    return click.option("-b", "--backend", multiple=True, default=default, show_default=True)


def truncations(*default: int) -> Decorator:
    """Return the repeatable option ``--truncation``."""
    return click.option("--truncation", type=int, multiple=True, default=default)


def peers(*default: str) -> Decorator:
    """Return the repeatable option ``--peer``."""
    return click.option("--peer", multiple=True, default=default, show_default=True)


def source(corpus: str) -> Decorator:
    """Return DATA, ``--corpus`` and ``--split``; the function takes them as one ``source``."""

    def decorate(function: Function) -> Function:
        @data
        @click.option("--corpus", type=CORPUS, default=corpus, show_default=True)
        @split
        @wraps(function)
        def called(*args: Any, data: Path, corpus: str, split: str, **others: Any) -> Any:
            return function(*args, source=Source(data, corpus, split), **others)

        return called

    return decorate
