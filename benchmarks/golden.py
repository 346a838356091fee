"""Hashes of small fits of every backend, and whether an earlier commit has the same ones.

Bytes are compared between commits on one machine, by one interpreter: processors and versions of
libraries may change last bits (docs/runs.md, "The same bytes"), so no stored hash is ever compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks import golden_fits
from benchmarks.golden_fits import Fit
from benchmarks.process import ROOT, CommandFailed

CHILD = ROOT / "benchmarks" / "golden_child.py"
REFUSED = 2
"""Exit code of a command whose backend or setting a commit does not know."""

Result = dict[str, Any]
Tell = Callable[[str], object]


class Recorded(NamedTuple):
    """Results of fits by name, and the machine that they were made on."""

    machine: dict[str, Any]
    fits: dict[str, Result]


class Compared(NamedTuple):
    """How the fits of two commits compare, by name.

    differ: files, and arrays in them, whose bytes are not the same; failed: what this commit says
    of a fit that ends with an exit code; unknown: what the earlier one says of a fit that it
    refuses or fails.
    """

    equal: list[str]
    differ: dict[str, str]
    failed: dict[str, str]
    unknown: dict[str, str]

    @property
    def all_equal(self) -> bool:
        """Whether nothing differs and nothing failed that this commit should fit."""
        return not self.differ and not self.failed


def compare(earlier: Mapping[str, Result], now: Mapping[str, Result]) -> Compared:
    """Compare what an earlier commit and this one made of the same fits."""
    found = Compared([], {}, {}, {})
    for name, ours in now.items():
        theirs = earlier[name]
        if ours["code"]:
            found.failed[name] = f"exit code {ours['code']}: {ours['said']}"
        elif theirs["code"] == REFUSED:
            found.unknown[name] = theirs["said"]
        elif theirs["code"]:
            found.differ[name] = f"exit code {theirs['code']} before: {theirs['said']}"
        elif ours["files"] != theirs["files"]:
            found.differ[name] = _differences(theirs, ours)
        else:
            found.equal.append(name)
    return found


def _differences(theirs: Result, ours: Result) -> str:
    """Return the files that differ, each with those of its arrays that do."""
    told = []
    for name in sorted({*theirs["files"], *ours["files"]}):
        if theirs["files"].get(name) == ours["files"].get(name):
            continue
        before, after = (side["arrays"].get(name, {}) for side in (theirs, ours))
        arrays = [key for key in {**before, **after} if before.get(key) != after.get(key)]
        told.append(f"{name} ({', '.join(arrays)})" if arrays else name)
    return ", ".join(told)


def fit(
    fits: Sequence[Fit],
    root: Path,
    tell: Tell,
    kept: Path | None = None,
    python: str = sys.executable,
    switches: Mapping[str, str] | None = None,
) -> Recorded:
    """Fit with the package in ``root``, in a process of its own.

    kept: results of before that are not made again where the machine is the same; new ones are
    added, one by one. switches: further environment variables.
    """
    environment = {**os.environ, "PYTHONPATH": str(root), **(switches or {})}
    with (
        TemporaryDirectory() as runs,
        subprocess.Popen(
            [python, "-P", str(CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        ) as child,
    ):
        assert child.stdin is not None and child.stdout is not None
        begun = _answer(child.stdout.readline())
        if Path(begun["package"]) != root.resolve():
            raise CommandFailed(f"{begun['package']} is imported where {root} was meant")
        recorded = _read(kept, begun["machine"])
        for number, one in enumerate(fits, 1):
            if one.name not in recorded.fits:
                tell(f"{number}/{len(fits)} {one.name}")
                asked = {"name": one.name, "words": one.words, "run": str(Path(runs, "run"))}
                child.stdin.write(json.dumps(asked) + "\n")
                child.stdin.flush()
                result = _answer(child.stdout.readline())
                recorded.fits[result.pop("name")] = result
                _write(kept, recorded)
        child.stdin.close()
    return Recorded(recorded.machine, {one.name: recorded.fits[one.name] for one in fits})


def _answer(line: str) -> dict[str, Any]:
    if not line:
        raise CommandFailed("the process that fits has ended; its last words stand above")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _read(kept: Path | None, machine: dict[str, Any]) -> Recorded:
    if kept is not None and kept.exists():
        found = Recorded(**json.loads(kept.read_text(encoding="utf-8")))
        if found.machine == machine:
            return found
    return Recorded(machine, {})


def _write(kept: Path | None, recorded: Recorded) -> None:
    if kept is not None:
        beside = kept.with_suffix(".new")
        beside.write_text(json.dumps(recorded._asdict()), encoding="utf-8")
        beside.replace(kept)


def commit_of(name: str) -> str:
    """Return the full hash of a commit; raises CommandFailed where there is none of that name."""
    return _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        raise CommandFailed(f"git {' '.join(words)}: {done.stderr.strip() or 'found nothing'}")
    return done.stdout.strip()


def state_of_checkout() -> dict[str, Any]:
    """Return the commit of this checkout and whether files differ from it."""
    return {"commit": _git("rev-parse", "HEAD"), "changed": bool(_git("status", "--porcelain"))}


@contextmanager
def checked_out(commit: str, work: Path | None) -> Iterator[Path]:
    """Yield a worktree of a commit: below ``work``, where it stays, or in a temporary folder."""
    if work is not None:
        tree = work.resolve() / commit
        if not tree.exists():
            _git("worktree", "prune")
            _git("worktree", "add", "--detach", str(tree), commit)
        yield tree
        return
    with TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / commit
        _git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def record(only: str, tell: Tell) -> dict[str, Any]:
    """Return the hashes of this checkout's fits, and what they were made with."""
    with TemporaryDirectory() as folder:
        recorded = fit(_fits(Path(folder), only), ROOT, tell)
    return {**state_of_checkout(), **recorded._asdict()}


def against(name: str, only: str, work: Path | None, tell: Tell) -> tuple[Compared, dict[str, Any]]:
    """Compare this checkout with a commit; return with it the record of this checkout."""
    commit = commit_of(name)
    with TemporaryDirectory() as folder:
        fits = _fits(Path(folder), only)
        with checked_out(commit, work) as tree:
            kept = None if work is None else work / f"{commit}.json"
            tell(f"commit {commit[:12]}")
            earlier = fit(fits, tree, tell, kept)
        tell("this checkout")
        now = fit(fits, ROOT, tell)
    return compare(earlier.fits, now.fits), {**state_of_checkout(), **now._asdict()}


def _fits(folder: Path, only: str) -> list[Fit]:
    golden_fits.write_corpora(folder)
    found = golden_fits.fits(folder, only)
    if not found:
        raise CommandFailed(f"no fit has a name like {only!r}")
    return found


def lines(compared: Compared, commit: str) -> Iterator[str]:
    """Yield what a comparison says: a line for each fit that is not equal, and the sum."""
    for kind, told in (("differs", compared.differ), ("fails", compared.failed)):
        yield from (f"{kind} {name}: {what}" for name, what in told.items())
    yield from (f"unknown to {commit} {name}: {what}" for name, what in compared.unknown.items())
    counts = f"{len(compared.equal)} fits equal"
    for count, what in (
        (len(compared.differ), "differ"),
        (len(compared.failed), "fail"),
        (len(compared.unknown), f"unknown to {commit}"),
    ):
        counts += f", {count} {what}" if count else ""
    yield f"{'equal' if compared.all_equal else 'not equal'}: {counts}"
