"""Sheets of questions that people answer, and the keys to them: two CSV files.

A sheet has a row for each question and an empty cell for its answer. The key, a file of its own,
says what the right answers are; the column sheet tells which key belongs to which sheet.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, cast

from hiertopics.base import files
from hiertopics.base.errors import DataError, UsageError
from hiertopics.base.visible import as_typed, visible

Kind = Literal["intruder", "fit"]
KINDS: tuple[Kind, ...] = ("intruder", "fit")
"""Kinds of questions: the word that does not belong to a node; whether a document belongs."""

N_CHOICES = 6
"""Words of a question for an intruder, the intruder among them."""

N_EXAMPLES = 3
"""Documents that a question on another document shows."""

N_GRADES = 5
"""Answers to a question on a document go from 1, does not belong, to this, belongs."""

CHOICES = tuple(f"word{place}" for place in range(1, N_CHOICES + 1))
EXAMPLES = tuple(f"example{place}" for place in range(1, N_EXAMPLES + 1))
SHEET = ("sheet", "question", "kind", "ask", *CHOICES, "topic", *EXAMPLES, "document", "answer")
KEY = ("sheet", "question", "kind", "node", "name", "truth", "share", "doc")
ASK: Mapping[Kind, str] = {
    "intruder": f"Which word does not belong to the others? Answer 1 to {N_CHOICES}.",
    "fit": "Does the document belong to the same subject as the examples? Answer 1 (not at all) "
    f"to {N_GRADES} (fully).",
}


class Question(NamedTuple):
    """A question and its right answer.

    node: the id of the node that it is about, and name what that is called. truth: of an intruder
    its place among ``choices``, from 1; of a document 1 where it belongs to the node, 0 where not.
    choices: words. topic: words of the node that are shown with a document, maybe none. examples:
    documents of the node. document: the one in question; share: its share at or below the node;
    doc: its number in the corpus, from 1.
    """

    kind: Kind
    node: str
    name: str
    truth: int
    choices: tuple[str, ...] = ()
    topic: str = ""
    examples: tuple[str, ...] = ()
    document: str = ""
    share: float | None = None
    doc: int | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """The cells of the sheet, from ``kind`` to ``document``."""
        choices = (*self.choices, *[""] * (N_CHOICES - len(self.choices)))
        examples = (*self.examples, *[""] * (N_EXAMPLES - len(self.examples)))
        return (self.kind, ASK[self.kind], *choices, self.topic, *examples, self.document)


class SheetAnswer(NamedTuple):
    """The key's entry for a question, with its number, and the answer of a sheet, from 1."""

    kind: Kind
    node: str
    name: str
    truth: int
    question: int
    answer: int


def key_of(sheet: Path) -> Path:
    """Return the path of a sheet's key: sheet.key.csv beside sheet.csv."""
    return sheet.with_suffix(f".key{sheet.suffix}")


def write_sheet(sheet: Path, questions: Sequence[Question]) -> None:
    """Write a sheet and its key, both or none. Raises UsageError if one exists already.

    A key without a sheet, as a killed process leaves it, may stay if it is the key of this sheet.
    """
    key = key_of(sheet)
    shown = [question.shown for question in questions]
    told = hashlib.sha256("\x1f".join(cell for cells in shown for cell in cells).encode())
    name = f"s{told.hexdigest()[:10]}"
    rows = [(name, place, *cells, "") for place, cells in enumerate(shown, 1)]
    truths = [
        (name, place, one.kind, one.node, one.name, one.truth, _rounded(one.share), one.doc)
        for place, one in enumerate(questions, 1)
    ]
    answers = files.to_csv([KEY, *truths])
    for path, own in ((sheet, None), (key, answers)):
        if path.exists() and (own is None or path.read_bytes() != own.encode()):
            raise UsageError(f"{path} is there already; choose another -o")
    files.write_together(
        {key: files.as_text(answers), sheet: files.as_text(files.to_csv([SHEET, *rows]))}
    )


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 6)


def read_answers(sheet: Path, key: Path | None = None) -> list[SheetAnswer]:
    """Return the answers of a sheet in the order of its key; key: None takes that beside it.

    Raises DataError where a file is no sheet or no key, where they do not belong together, and
    where an answer is missing or is none of those that there are.
    """
    key = key_of(sheet) if key is None else key
    told = _rows(key, KEY, "the key of a sheet")
    given = _rows(sheet, ("sheet", "question", "answer"), "a sheet of questions")
    name, *others = {row["sheet"] for _, row in told} or {""}
    if others or not name:
        raise DataError(key, "expected the key of one sheet", 1)
    found: dict[str, tuple[int, str]] = {}
    for line, row in given:
        if row["sheet"] != name:
            what = (
                f"question of sheet {visible(row['sheet'])!r:.40}, but {key} is the key of {name}"
            )
            raise DataError(sheet, what, line)
        if row["question"] in found:
            first = found[row["question"]][0]
            what = f"question {visible(row['question'])!r:.40} stands on line {first} already"
            raise DataError(sheet, what, line)
        found[row["question"]] = (line, row["answer"])
    answers = [_answered(sheet, key, line, row, found) for line, row in told]
    known = {row["question"] for _, row in told}
    for question, (line, _) in found.items():
        if question not in known:
            what = f"there is no question {visible(question)!r:.40} in {key}"
            raise DataError(sheet, what, line)
    return answers


def _answered(
    sheet: Path,
    key: Path,
    line: int,
    row: Mapping[str, str],
    found: Mapping[str, tuple[int, str]],
) -> SheetAnswer:
    """Return the question of a row of the key, and the answer of the sheet."""
    kind, question = row["kind"], row["question"]
    truths = {"intruder": range(1, N_CHOICES + 1), "fit": range(2)}
    if kind not in truths or _number(row["truth"]) not in truths[kind]:
        raise DataError(key, "expected a kind, intruder or fit, and its right answer", line)
    if question not in found:
        raise DataError(sheet, f"question {question} of {key} is missing")
    where, answer = found[question]
    most = N_CHOICES if kind == "intruder" else N_GRADES
    if not answer:
        raise DataError(sheet, f"question {question} has no answer; write 1 to {most}", where)
    number = _number(answer)
    if number not in range(1, most + 1):
        got = f"expected an answer from 1 to {most}, got {visible(answer)!r:.40}"
        raise DataError(sheet, got, where)
    truth = _number(row["truth"])
    return SheetAnswer(cast(Kind, kind), row["node"], row["name"], truth, _number(question), number)


def _number(text: str) -> int:
    """Return a whole number, which a spreadsheet may have written as 3.0; -1 for another text."""
    whole = text.removesuffix(".0")
    return int(whole) if whole.isascii() and whole.isdigit() and len(whole) < 10 else -1


def _rows(path: Path, columns: Sequence[str], what: str) -> list[tuple[int, dict[str, str]]]:
    """Return line and cells, by column, of each row of a CSV file that has these columns."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(path, f"cannot read {what}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise DataError(path, "not UTF-8; save it as CSV in UTF-8", line) from error
    reader, found, line = csv.reader(io.StringIO(text, newline=""), strict=True), [], 1
    try:
        header = [cell.strip() for cell in next(reader, [])]
        if not set(columns) <= set(header):
            wanted = f"not {what}: expected the columns {', '.join(columns)}, separated by commas"
            raise DataError(path, wanted, 1)
        line = reader.line_num + 1
        for cells in reader:
            if any(cells):
                if len(cells) != len(header):
                    told = f"expected {len(header)} cells as on the first line, got {len(cells)}"
                    raise DataError(path, told, line)
                named = dict(zip(header, cells, strict=True))
                found.append((line, {name: as_typed(named[name]).strip() for name in columns}))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(path, f"broken CSV ({error})", line) from error
    if not found:
        raise DataError(path, f"not {what}: it has no rows")
    return found
