"""Functions that kernels call: special functions, logarithm and exponential as vector code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from hiertopics.base.arrays import F64
from hiertopics.numeric.jit import kernel


@kernel()
def copy_row(source: NDArray[Any], target: NDArray[Any]) -> None:
    """Write ``source`` to ``target``, rows [n] of one type.

    Numba's own assignment to a slice brings the texts of its errors along, a second to compile.
    """
    for place in range(len(target)):
        target[place] = source[place]


@kernel()
def fill_row(row: NDArray[Any], length: int, value: float) -> None:
    """Write ``value`` to the first ``length`` places of a row [n]; compiles sooner than a slice."""
    for place in range(length):
        row[place] = value


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


@kernel(inline=True)
def log(x: float) -> float:
    """Return the natural logarithm of a normal float64 > 0, to 2e-15 relative or absolute.

    It calls nothing, so that loops over it become vector code: x = m 2^n with m around 1, and the
    series of 2 artanh((m - 1) / (m + 1)).
    """
    bits = np.float64(x).view(np.int64) - BITS_OF_SQRT_HALF
    n = bits >> np.int64(52)
    m = np.int64((bits & MANTISSA) + BITS_OF_SQRT_HALF).view(np.float64)
    s = (m - 1.0) / (m + 1.0)
    t = s * s
    series = 1.0 / 13 + t * (1.0 / 15 + t * (1.0 / 17 + t / 19))
    series = 1.0 / 5 + t * (1.0 / 7 + t * (1.0 / 9 + t * (1.0 / 11 + t * series)))
    return float(n) * LOG_2 + 2.0 * s * (1.0 + t * (1.0 / 3 + t * series))


LOG_2 = math.log(2.0)
BITS_OF_SQRT_HALF = np.float64(math.sqrt(0.5)).view(np.int64)
MANTISSA = np.int64((1 << 52) - 1)


@kernel(inline=True)
def digamma_and_tetragamma(x: float) -> tuple[float, float]:
    """Return psi(x) and psi''(x) for x >= 1/2: six steps up, then the asymptotic series.

    No branch and no call, so that loops over it become vector code (error < 1e-11).
    """
    a, b, c = 1.0 / x, 1.0 / (x + 1.0), 1.0 / (x + 2.0)
    d, e, f = 1.0 / (x + 3.0), 1.0 / (x + 4.0), 1.0 / (x + 5.0)
    first = a + b + c + d + e + f
    second = 2.0 * (a * a * a + b * b * b + c * c * c + d * d * d + e * e * e + f * f * f)
    x += 6.0
    inverse = 1.0 / x
    square = inverse * inverse
    series = 1.0 / 240 - square * (1.0 / 132 - square * 691.0 / 32760)
    series = square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * series)))
    curvature = square * (
        0.5 - square * (1.0 / 6 - square * (1.0 / 6 - square * (0.3 - square * 5.0 / 6)))
    )
    psi = log(x) - 0.5 * inverse - series - first
    return psi, -second - square - square * inverse - curvature * square


@kernel()
def log_of(numbers: F64) -> F64:
    """Return the natural logarithms of a row [n] of normal float64 > 0, float64 [n].

    By ``log``, which gives the same on all processors.
    Those of numpy and of C libraries differ in the last bit of some.
    """
    found = np.empty(len(numbers))
    for place in range(len(numbers)):
        found[place] = log(numbers[place])
    return found


@kernel()
def exp_of(numbers: F64) -> F64:
    """Return the exponentials of a row [n] of float64 up to 709, the same on all processors.

    To 2e-16 relative; 0 below -708. Cody and Waite's reduction x = n log 2 + r, and the Taylor
    series in r.
    """
    found = np.empty(len(numbers))
    for place in range(len(numbers)):
        x = max(numbers[place], LEAST_EXPONENT)
        n = np.floor(x / LOG_2 + 0.5)
        r = (x - n * LOG_2_FIRST) - n * LOG_2_REST
        series = 1.0
        for term in range(TERMS, 0, -1):
            series = 1.0 + series * r / term
        power_of_two = np.int64((np.int64(n) + 1023) << np.int64(52)).view(np.float64)
        found[place] = series * power_of_two if numbers[place] >= LEAST_EXPONENT else 0.0
    return found


LOG_2_FIRST, LOG_2_REST = 0.6931471803691238, 1.9082149292705877e-10
"""The first 32 bits of log 2, and what follows them."""

LEAST_EXPONENT = -708.0
TERMS = 14


def exp(x: float | np.float32) -> float:
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
