"""docs/backends.md shows the example package as it is."""

from __future__ import annotations

from guide import ROOT, fences

TEXT = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "examples" / "hiertopics-unigrams"


def lines(text: str) -> list[str]:
    """Return the lines that are not empty."""
    return [line for line in text.splitlines() if line.strip()]


def test_the_pieces_of_the_page_are_the_modules() -> None:
    shown = lines("\n".join(fences(TEXT, "python")))
    modules = [PACKAGE / "hiertopics_unigrams" / f"{name}.py" for name in ("__init__", "mixture")]
    source = [line for path in modules for line in lines(path.read_text(encoding="utf-8"))]
    assert shown == source, "docs/backends.md: copy it anew"


def test_the_entry_points_of_the_page_are_those_of_the_package() -> None:
    (points,) = fences(TEXT, "toml")
    assert points in (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
