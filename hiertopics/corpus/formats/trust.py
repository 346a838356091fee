"""Code that settings may import: functions that the user names, or that a call allows.

A config file and a run may come from somebody else, whatever they are called and wherever they
lie. What they name (``data.tokenizer``) is imported only within a call that was told to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from hiertopics.base.errors import UsageError

FLAG = "--trust-tokenizer"
ARGUMENT = "trust_tokenizer"

P = ParamSpec("P")
R = TypeVar("R")

_named: set[str] = set()
_all: ContextVar[bool] = ContextVar("_all", default=False)
_remedy: ContextVar[str] = ContextVar("_remedy", default=f"{ARGUMENT}=True")


def trust(settings: Mapping[str, Any]) -> None:
    """Let the tokenizer be imported that the user names; settings: of the ``data`` section."""
    name = settings.get("tokenizer")
    if isinstance(name, str):
        _named.add(name)


def require_trusted(name: str | None) -> None:
    """Raise UsageError for a tokenizer, ``module:function``, that may not be imported."""
    if name is not None and name not in _named and not _all.get():
        raise UsageError(
            f"data.tokenizer: {name} is code that a config file or a run names; "
            f"{_remedy.get()} runs it"
        )


def all_trusted() -> bool:
    """Tell whether this is within a call that lets all be imported."""
    return _all.get()


@contextmanager
def trusting(everything: bool, remedy: str | None = None) -> Iterator[None]:
    """Let all be imported meanwhile, if ``everything``; within a call that lets it, all is.

    remedy: what a refusal names as the way to let it.
    """
    before = _all.set(_all.get() or everything)
    told = _remedy.set(remedy or _remedy.get())
    try:
        yield
    finally:
        _remedy.reset(told)
        _all.reset(before)


def trusts(function: Callable[P, R]) -> Callable[P, R]:
    """Give its meaning to the argument ``trust_tokenizer`` of a function, which is by keyword."""

    @wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        with trusting(bool(kwargs.get(ARGUMENT))):
            return function(*args, **kwargs)

    return within
