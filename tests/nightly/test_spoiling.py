"""A change finds its place whatever variables are called and wherever the function stands."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from spoiling import Change, Unfit

SOURCE = """
RATE = 0.5

class State:
    def bound(self, counts):
        return counts.sum() + RATE

def sweep(counts, total):
    for word in range(len(counts)):
        counts[word] -= 1
        total[word] -= 1
        if counts[word] > 0:
            total[0] += counts[word] * counts.share - RATE
    return total
"""


def written(folder: Path, text: str, file: str = "one.py") -> Path:
    path = folder / "package" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return folder


def spoilt(change: Change, root: Path) -> str:
    return change.apply(root, "package")[1]


def as_written(text: str) -> str:
    return ast.unparse(ast.parse(text)) + "\n"


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (Change("sweep", "$a[$w] * $a.share", "$a.share"), "counts[word] * counts", "counts"),
        (Change("sweep", "$a[$w] -= 1", "", "2/2"), "        total[word] -= 1\n", ""),
        (Change("sweep", "$t[0] += ... - RATE", "$t[0] += ..."), " - RATE", ""),
        (Change("sweep", "$a[$w] > 0", "$a[$w] > 0.5"), "] > 0", "] > 0.5"),
        (Change("sweep", "$x[0]", "$n[0]", given=("len($n)",)), "total[0]", "counts[0]"),
        (Change("State.bound", "... + RATE", "..."), " + RATE", ""),
        (Change("RATE", "0.5", "1.5"), "0.5", "1.5"),
    ],
)
def test_a_change_is_made_at_its_place(
    tmp_path: Path, change: Change, before: str, after: str
) -> None:
    assert SOURCE.count(before) == 1
    expected = as_written(SOURCE.replace(before, after))
    assert spoilt(change, written(tmp_path, SOURCE)) == expected


STEP = """
def step(a):
    a = one(a)
    b = two(a)
    if b:
        a = b
    return last(a)
"""


@pytest.mark.parametrize(
    ("change", "after"),
    [
        (
            Change("step", "$a = one($a)\n...\nreturn ...", "...\n$a = one($a)\nreturn ..."),
            "b = two(a)\n    if b:\n        a = b\n    a = one(a)",
        ),
        (Change("step", "if $b:\n    ...", "..."), "a = one(a)\n    b = two(a)\n    a = b"),
        (
            Change("step", "$a = $b", ""),
            "a = one(a)\n    b = two(a)\n    if b:\n        pass",
        ),
    ],
)
def test_statements_move_and_what_stands_between_stays(
    tmp_path: Path, change: Change, after: str
) -> None:
    expected = f"def step(a):\n    {after}\n    return last(a)\n"
    assert spoilt(change, written(tmp_path, STEP)) == expected


CHANGES = [
    Change("sweep", "$counts[$word] -= 1", "", "1/2"),
    Change("sweep", "$counts[$word] * $counts.share", "$counts.share"),
    Change("sweep", "if $counts[$word] > 0:\n    ...", "if $counts[$word] > 1:\n    ..."),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.find)
def test_renaming_a_variable_leaves_a_mistake_working(tmp_path: Path, change: Change) -> None:
    other = SOURCE.replace("counts", "n_k").replace("word", "v").replace("total", "sums")
    before = spoilt(change, written(tmp_path / "before", SOURCE))
    after = spoilt(change, written(tmp_path / "after", other))
    assert before != as_written(SOURCE)
    assert after == before.replace("counts", "n_k").replace("word", "v").replace("total", "sums")


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.find)
def test_moving_a_function_leaves_a_mistake_working(tmp_path: Path, change: Change) -> None:
    before = spoilt(change, written(tmp_path / "before", SOURCE))
    first, _, last = SOURCE.partition("def sweep")
    root = written(tmp_path / "after", first)
    written(root, "from package.one import RATE\n\ndef sweep" + last, "folder/two.py")
    file, text = change.apply(root, "package")
    assert file == "package/folder/two.py"
    assert text.partition("def sweep")[2] == before.partition("def sweep")[2]


def test_functions_of_one_name_are_told_apart_by_their_text_then_by_the_path(
    tmp_path: Path,
) -> None:
    root = written(tmp_path, "def step(a):\n    return a + 1\n", "first/step.py")
    written(root, "def step(a):\n    return a + 2\n", "second/step.py")
    assert Change("step", "$a + 2", "$a").apply(root, "package")[0] == "package/second/step.py"
    with pytest.raises(Unfit, match="must stand 1 times, and stands 1 times in"):
        Change("step", "$a + ...", "$a").apply(root, "package")
    near = Change("step", "$a + ...", "$a", near="first/")
    assert near.apply(root, "package")[0] == "package/first/step.py"


@pytest.mark.parametrize(
    "change",
    [
        Change("nobody", "$a[$w] -= 1", ""),
        Change("sweep", "$a[$w] -= 1", ""),
        Change("sweep", "$a[$w] -= 1", "", "1/3"),
        Change("sweep", "$a[$w] -= 2", ""),
        Change("sweep", "RATE[$a]", ""),
        Change("sweep", "$a.share", "$other"),
        Change("sweep", "$a.share", "$other", given=("nothing($other)",)),
    ],
)
def test_a_change_without_its_place_is_unfit(tmp_path: Path, change: Change) -> None:
    with pytest.raises(Unfit):
        change.apply(written(tmp_path, SOURCE), "package")


def test_blanks_are_variables_and_different_ones(tmp_path: Path) -> None:
    root = written(tmp_path, "def f(a, b):\n    return g(a, a) + g(a, len) + g(a, b)\n")
    assert "g(a, a) + g(a, len) + h(b, a)" in spoilt(Change("f", "g($x, $y)", "h($y, $x)"), root)
    assert "h(a) + g(a, len) + g(a, b)" in spoilt(Change("f", "g($x, $x)", "h($x)"), root)
