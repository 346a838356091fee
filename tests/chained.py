"""Loops over kernels, compiled for tests that need very many sweeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba.core.caching import NullCache

from hiertopics.numeric.jit import kernel

F = TypeVar("F", bound=Callable[..., Any])


def chain(function: F) -> F:
    """Compile a function as kernels are compiled, in less time than numba takes; keep nothing.

    The cache would not see that a kernel which the function calls is another one by now.
    """
    made: Any = kernel()(function)
    for form in (made, getattr(made, "twin", made)):
        form._cache = NullCache()
    return made
