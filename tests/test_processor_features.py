"""Numpy held to AVX2 has no wider code, and is told no name that it does not know."""

from __future__ import annotations

import pytest
from processors import simd_of, wider, without_avx512


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("2.2", "SSSE3 SSE41 AVX F16C FMA3 AVX2 AVX512F AVX512CD AVX512_KNL AVX512_SKX"),
        ("2.4", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"),
    ],
)
def test_of_each_version_all_that_is_wider_is_left_out(version: str, known: str) -> None:
    left_out = {
        "2.2": "AVX512F AVX512CD AVX512_KNL AVX512_SKX",
        "2.4": "X86_V4 AVX512_ICL AVX512_SPR",
    }
    assert wider(known.split()) == left_out[version].split()


def test_numpy_held_to_avx2_has_no_wider_code() -> None:
    """A name that the installed version does not know would be an error here."""
    held = simd_of(more={"NPY_DISABLE_CPU_FEATURES": without_avx512()})
    assert not wider(held.get("found", []))
    assert wider(held.get("not found", [])) == wider(
        [name for names in simd_of().values() for name in names]
    )
