"""Short YAML that stands for very much ends at once."""

from __future__ import annotations

from pathlib import Path

from hiertopics.settings.yamlfile import load_yaml


def test_lines_that_merge_each_other_are_merged_once(tmp_path: Path) -> None:
    """Nine times each line would be 9^24 keys."""
    names = "abcdefghijklmnopqrstuvwxy"
    lines = ["a: &a {x: 1, y: 2}"]
    lines += [
        f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}], y: 3}}"
        for before, name in zip(names, names[1:], strict=False)
    ]
    path = tmp_path / "merged.yaml"
    path.write_text("\n".join(lines) + "\n")
    assert load_yaml(path)["y"] == {"x": 1, "y": 3}


def test_what_stands_first_wins_among_merged_mappings(tmp_path: Path) -> None:
    path = tmp_path / "merged.yaml"
    path.write_text("a: &a {x: 1, z: 1}\nb: &b {x: 2, y: 2}\nc: {z: 3, <<: [*a, *b]}\n")
    assert load_yaml(path)["c"] == {"x": 1, "y": 2, "z": 3}
