"""docs/backends.md shows a backend of the package as it is, and its entry in the registry."""

from __future__ import annotations

from guide import ROOT, fences

TEXT = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
MODULE = ROOT / "hiertopics" / "families" / "multinomial.py"


def lines(text: str) -> list[str]:
    """Return the lines that are not empty."""
    return [line for line in text.splitlines() if line.strip()]


def test_the_pieces_of_the_page_are_the_module() -> None:
    shown = lines("\n".join(fences(TEXT, "python")))
    assert shown == lines(MODULE.read_text(encoding="utf-8")), "docs/backends.md: copy it anew"


def test_the_entry_of_the_page_stands_in_the_registry() -> None:
    (entry,) = fences(TEXT, "")
    assert entry in (ROOT / "hiertopics" / "registry.py").read_text(encoding="utf-8")
