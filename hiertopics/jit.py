"""The one way to compile a kernel, and the special functions that kernels need.

Options are fixed here: cached on disk, no GIL, numpy's error model (numba's default
zero-division check makes a sweep three times slower). Fast-math is off; a kernel whose inner
sum must be vectorised asks for ``REASSOCIATE``, which keeps NaN and infinity meaningful.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types
from numba.extending import overload

F = TypeVar("F", bound=Callable[..., Any])

REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp"})


def kernel(*, fastmath: Set[str] = frozenset()) -> Callable[[F], F]:
    """Return a decorator that compiles a plain function over arrays.

    Where no cache folder is writable numba refuses to cache; the kernel is then compiled
    afresh in each process instead of failing.
    """

    def compile_lazily(function: F) -> F:
        options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
        if fastmath:
            options["fastmath"] = set(fastmath)
        try:
            return numba.njit(cache=True, **options)(function)
        except RuntimeError:
            return numba.njit(**options)(function)

    return compile_lazily


@kernel()
def digamma(x: float) -> float:
    """Return psi(x) for x > 0: recurrence up to 10, then the asymptotic series (error < 1e-12)."""
    shift = 0.0
    while x < 10.0:
        shift -= 1.0 / x
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        1.0 / 12
        - inverse * (1.0 / 120 - inverse * (1.0 / 252 - inverse * (1.0 / 240 - inverse / 132)))
    )
    return shift + math.log(x) - 0.5 / x - series


@kernel()
def tetragamma(x: float) -> float:
    """Return psi''(x) for x > 0: recurrence up to 10, then the asymptotic series."""
    shift = 0.0
    while x < 10.0:
        shift -= 2.0 / (x * x * x)
        x += 1.0
    inverse = 1.0 / (x * x)
    series = inverse * (
        0.5 - inverse * (1.0 / 6 - inverse * (1.0 / 6 - inverse * (0.3 - inverse * 5.0 / 6)))
    )
    return shift - inverse - inverse / x - series * inverse


@kernel()
def digamma_and_tetragamma(x: float) -> tuple[float, float]:
    """Return psi(x) and psi''(x) for x > 0; as the two functions above, sharing the divisions."""
    first = 0.0
    second = 0.0
    while x < 10.0:
        inverse = 1.0 / x
        first -= inverse
        second -= 2.0 * inverse * inverse * inverse
        x += 1.0
    return first + digamma(x), second + tetragamma(x)


def exp(x: float) -> float:
    """Return e^x; compiled for a float32 from -80 to 80 to 2 units in its last place.

    The compiled float32 form calls nothing, so that loops over it become vector code: Cody and
    Waite's reduction x = n log 2 + r, the Taylor series in r, and n put into the exponent.
    """
    return math.exp(x)


LOG_2_HIGH = np.float32(0.693359375)
LOG_2_LOW = np.float32(-2.12194440e-4)
INVERSE_LOG_2 = np.float32(1.4426950408889634)


def _exp_float32(x: Any) -> Any:
    one, half = np.float32(1), np.float32(0.5)
    n = np.floor(x * INVERSE_LOG_2 + half)
    r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW
    series = np.float32(1 / 5040) * r + np.float32(1 / 720)
    series = series * r + np.float32(1 / 120)
    series = series * r + np.float32(1 / 24)
    series = series * r + np.float32(1 / 6)
    series = series * r + half
    power_of_two = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (series * r * r + r + one) * power_of_two


def _exp_float64(x: Any) -> Any:
    return math.exp(x)


@overload(exp)
def _exp_compiled(x: Any) -> Any:
    return _exp_float32 if x == types.float32 else _exp_float64
