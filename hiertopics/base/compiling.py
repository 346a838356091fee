"""Listeners to the compilation of kernels; this module does not import numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[bool], None]] = []


@contextmanager
def told_of_compiling(tell: Callable[[bool], None]) -> Iterator[None]:
    """Have ``tell`` called with True when a kernel is to be compiled, with False when it has been.

    What is found in the cache is not told of. The call comes from the thread that compiles.
    """
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)


def tell_of_compiling(begins: bool) -> None:
    """Call all listeners."""
    for listener in tuple(_listeners):
        listener(begins)
