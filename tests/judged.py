"""A run whose topics are as plain as can be, of texts, and judges that fill in sheets."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hiertopics import import_tree
from hiertopics.base.files import to_csv, to_json
from hiertopics.runs.rundir import RunDir

PARENT = (-1, 0, 0, 1, 1, 2, 2)
LEAVES = (3, 4, 5, 6)
DOCS_OF_A_LEAF = 12
Row = dict[str, str]
Judge = Callable[[Row, Row], object]
"""Answers a question: its row in the sheet, and its row in the key."""


def words_of(node: int, n_words: int = 12) -> list[str]:
    """Return the words that one node alone has: letters, for tokens hold no digits at their end."""
    return [f"{'abcdefg'[node]}{chr(97 + place)}{'xyz'[place % 3]}" for place in range(n_words)]


def plain_run(folder: Path, *, texts: bool = True, names: bool = True, flat: bool = False) -> Path:
    """Make a run of texts in a tree of two branches with two leaves, or of the leaves alone."""
    rng = np.random.default_rng(0)
    lines: list[Row] = []
    theta = np.zeros((len(LEAVES) * DOCS_OF_A_LEAF, len(PARENT)))
    for doc in range(len(theta)):
        leaf = LEAVES[doc % len(LEAVES)]
        theta[doc, [leaf, PARENT[leaf], 0]] = (0.8, 0.15, 0.05)
        own = [(leaf, 24), (PARENT[leaf], 6), (0, 3)]
        text = [word for node, n in own for word in rng.choice(words_of(node), n)]
        lines.append({"id": f"doc {doc}", "text": " ".join(text)})
    source = folder / "plain.jsonl"
    source.write_text("".join(f"{to_json(line)}\n" for line in lines), encoding="utf-8")
    tree = {"parent": list(PARENT), "theta": theta}
    if flat:
        tree = {"parent": [-1] * len(LEAVES), "theta": theta[:, LEAVES] / 0.8}
    data: dict[str, object] = {"text_field": "text"}
    data |= {"id_field": "id"} if names else {}
    data |= {} if texts else {"snippets": 0}
    name = f"run-{texts:d}{names:d}{flat:d}"
    run = import_tree(tree, folder / name, source, data=data, say=lambda line: None)
    return RunDir(run.path).path


def read(path: Path) -> list[Row]:
    """Return the rows of a sheet or key."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def filled(sheet: Path, judge: Judge, target: Path | None = None) -> Path:
    """Answer all questions of a sheet, as a file of its own or in its place."""
    rows, key = read(sheet), read(sheet.with_suffix(".key.csv"))
    for row, told in zip(rows, key, strict=True):
        row["answer"] = str(judge(row, told))
    path = sheet if target is None else target
    path.write_text(to_csv([tuple(rows[0]), *(row.values() for row in rows)]), encoding="utf-8")
    return path


def knows(row: Row, told: Row) -> int:
    """Answer everything right."""
    if row["kind"] == "intruder":
        return int(told["truth"])
    return 5 if told["truth"] == "1" else 1
