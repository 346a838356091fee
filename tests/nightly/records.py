"""What the nightly programs share: a ledger of what was done, options, and blocks of a page.

A ledger is a file of JSON lines, nightly/PART.jsonl at the root of the checkout. Lines are only
ever appended, each in one write, so that a program that is killed loses at most the line that it
was writing, and several processes can write to one ledger. Each line is stamped with a hash of the
sources that decide what it says: a program given again repeats what other sources said, nothing
else.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "nightly"
PASSED, FOUND, TIME_IS_UP = 0, 1, 75
"""Exit codes of the nightly programs."""

MINUTES = 40.0


def sources(*paths: str) -> str:
    """Return a hash of the files under ``paths`` as they are now, in 16 hexadecimal digits.

    paths: files and folders, relative to the checkout's root; without any, the package and the
    tests. Only files that git tracks count, by name and content, changes that are not committed
    among them.
    """
    chosen = paths or ("hiertopics", "tests")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *chosen], cwd=ROOT, capture_output=True, check=True
    )
    digest = hashlib.sha256()
    for name in sorted(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name):
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b""
        digest.update(os.fsencode(name) + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]


class Ledger:
    """What one part has done, line by line.

    part: the file's name, ``nightly/PART.jsonl``. paths: what decides (see ``sources``). folder:
    where the file lies.
    """

    def __init__(self, part: str, *paths: str, folder: Path = FOLDER) -> None:
        self.path = folder / f"{part}.jsonl"
        self.sources = sources(*paths)

    def rows(self, *, all_sources: bool = False) -> list[dict[str, Any]]:
        """Return the whole lines, oldest first: those of today's sources, or all of them."""
        if not self.path.exists():
            return []
        found = []
        for line in self.path.read_bytes().split(b"\n"):
            try:
                row = json.loads(line)
            except ValueError:  # cut by a kill, or empty
                continue
            if all_sources or row["sources"] == self.sources:
                found.append(row)
        return found

    def done(self, key: str) -> dict[str, Any] | None:
        """Return the newest line of ``key`` under today's sources, None where there is none."""
        return next((row for row in reversed(self.rows()) if row["key"] == key), None)

    def add(self, key: str, **values: Any) -> None:
        """Append one line, on its own even where the last one was cut."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        stamp = {"key": key, "sources": self.sources, "at": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
        line = json.dumps({**stamp, **values}, allow_nan=False).encode() + b"\n"
        whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, line if whole else b"\n" + line)
        finally:
            os.close(file)


class Deadline:
    """The end of a program's time, ``minutes`` from now."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes

    @property
    def seconds(self) -> float:
        """What is left, negative where the time is up."""
        return self.end - time.monotonic()

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return self.seconds <= 0


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser with the options that every nightly program has."""
    found = argparse.ArgumentParser(description=description)
    found.add_argument("--long", action="store_true", help="do more of it")
    found.add_argument(
        "--minutes", type=float, default=MINUTES, help="stop after so long, exit 75 (default 40)"
    )
    found.add_argument("--table", action="store_true", help="print the ledger as markdown, no more")
    found.add_argument(
        "--write", type=Path, metavar="PAGE", help="put the ledger as markdown into PAGE, no more"
    )
    return found


def published(part: str, table: str, given: argparse.Namespace) -> bool:
    """Print or write a part's markdown where --table or --write ask for it; return whether."""
    if given.table:
        print(table)
    if given.write is not None:
        rewrite(given.write, part, table)
    return bool(given.table or given.write is not None)


def rewrite(page: Path, part: str, text: str) -> None:
    """Replace what stands between a page's two marks of ``part``.

    Raises ValueError where the page does not have the two marks once.
    """
    begin, end = f"<!-- {part}:begin -->", f"<!-- {part}:end -->"
    whole = page.read_text(encoding="utf-8")
    block = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    if len(block.findall(whole)) != 1:
        raise ValueError(f"{page}: expected one block {begin} ... {end}")
    changed = block.sub(lambda match: f"{begin}\n{text.strip()}\n{end}", whole)
    part_file = page.with_suffix(".part")
    part_file.write_text(changed, encoding="utf-8")
    os.replace(part_file, page)
