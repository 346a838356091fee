"""The table of backends, and names that installed packages add to it."""

from __future__ import annotations

from hiertopics.contract import registry


def test_the_default_is_a_backend() -> None:
    assert registry.DEFAULT in registry.OWN


def test_every_backend_but_one_says_how_long_its_kernels_take_to_compile() -> None:
    without = [name for name, entry in registry.OWN.items() if entry.compiling is None]
    assert without == ["multinomial"]
