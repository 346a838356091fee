"""Do to the program what has broken it before, and what others could do; print how it ends.

Each attack edits files, takes memory, disk or workers away, and runs commands in processes of
their own. A command must end with the exit code that is promised, by no signal, without a
traceback, with one line where it refuses, and files that are not its own must stay as they are.
Run ``.ci/nightly attacks``; an attack that is in the ledger is not made again.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import alone  # noqa: F401  # before all that imports the package
from attacks_by_files import BY_FILES
from attacks_by_limits import BY_LIMITS
from records import FOUND, PASSED, TIME_IS_UP, Deadline, Ledger, parser, published
from scene import Scene
from tinyfits import in_memory

PARTS = (
    "hiertopics",
    *(f"tests/nightly/{name}.py" for name in ("alone", "altered", "attacks", "scene", "victims")),
    *(f"tests/nightly/attacks_by_{name}.py" for name in ("files", "limits")),
    *("tests/faults.py", "tests/task_corpora.py", "tests/tiny.py"),
)
ATTACKS = {**BY_FILES, **BY_LIMITS}


def attack(name: str, ledger: Ledger) -> None:
    """Make an attack, print its verdicts, and put them into the ledger."""
    print(f"-- {name}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="attacks-", dir=in_memory()) as folder:
        scene = Scene(Path(folder))
        ATTACKS[name](scene)
    for verdict in scene.verdicts:
        print(verdict.line, flush=True)
    seconds = round(time.monotonic() - began, 1)
    verdicts = [verdict._asdict() for verdict in scene.verdicts]
    ledger.add(name, seconds=seconds, verdicts=verdicts)


def wrong(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line for each command that did not end as it should."""
    return [
        f"{row['key']}: {verdict['what']}: {'; '.join(verdict['wrong'])}"
        for row in rows
        for verdict in row["verdicts"]
        if verdict["wrong"]
    ]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the newest verdicts of each attack as markdown."""
    head = "| attack | commands | exit code 0 | 1 | 2 | wrong |"
    lines = [head, "| --- |" + " --: |" * 5]
    for row in rows:
        codes = [verdict["code"] for verdict in row["verdicts"]]
        cells = [len(codes), *(codes.count(code) for code in (0, 1, 2)), len(wrong([row]))]
        lines.append("| " + " | ".join([row["key"], *map(str, cells)]) + " |")
    return "\n".join(lines)


def newest(ledger: Ledger) -> list[dict[str, Any]]:
    """Return the newest row of each attack that was made under today's sources."""
    found = (ledger.done(name) for name in ATTACKS)
    return [row for row in found if row is not None]


def main() -> int:
    """Make the attacks that the ledger does not have; return the exit code."""
    options = parser(str(__doc__).partition("\n")[0])
    options.add_argument("--only", default="", help="attacks whose name contains this text, again")
    given = options.parse_args()
    ledger = Ledger("attacks", *PARTS)
    if published("attacks", table(newest(ledger)), given):
        return PASSED
    deadline = Deadline(given.minutes)
    for name in ATTACKS:
        if given.only in name and (given.only or ledger.done(name) is None):
            if deadline.over:
                return TIME_IS_UP
            attack(name, ledger)
    rows = newest(ledger)
    print(table(rows))
    for line in wrong(rows):
        print(f"FOUND {line}")
    return FOUND if wrong(rows) else PASSED


if __name__ == "__main__":
    sys.exit(main())
