"""Where an attack takes place: a folder of its own, and files elsewhere that must stay as they are.

A command must end with the exit code that is promised, by no signal and without a traceback; where
it refuses, with one line on stderr, and without a new file.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from altered import Arrays, altered_arrays, files_of, seal
from victims import Victim, forked, fresh

ERROR = "hiertopics: error: "
PATIENCE = 300.0
"""Seconds in which every command ends, most of them in one or two."""

SHOWN = 150


class Verdict(NamedTuple):
    """A command of an attack, and how it ended; wrong: what is not as it should be."""

    what: str
    code: int | None
    said: str
    wrong: list[str]

    @property
    def line(self) -> str:
        """The line to print."""
        found = f"WRONG ({'; '.join(self.wrong)})" if self.wrong else "ok"
        said = f": {self.said}" if self.said else ""
        return f"{found}  {self.what}: exit code {self.code}{said}"


class Scene:
    """The folder of one attack. here: what commands read and write; elsewhere: what they must not.

    give: runs a command and notes its verdict in ``verdicts``.
    """

    def __init__(self, folder: Path) -> None:
        self.here, self.elsewhere, self.said = (
            folder / name for name in ("here", "elsewhere", "said")
        )
        for path in (self.here, self.elsewhere / "kept"):
            path.mkdir(parents=True)
        self.victim = self.elsewhere / "victim"
        self.victim.write_text("what somebody else wrote\n")
        (self.elsewhere / "kept" / ".other.12345678.partial").write_text("half a file")
        self._sound = state_of(self.elsewhere)
        self.verdicts: list[Verdict] = []

    def give(
        self,
        what: str,
        *words: object,
        code: int | Collection[int] = 0,
        says: str = "",
        env: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        stdout: Path | None = None,
        within: AbstractContextManager[object] | None = None,
        leaves: Collection[str] = (),
    ) -> Verdict:
        """Run a command and judge it.

        what: the edit before it. code: the exit codes that are right. says: what the line must
        hold. env, limits (kinds of ``setrlimit``), stdout: where any of them is given a new
        interpreter runs the command, else a copy of this process. within: what a copy enters
        before. leaves: new names that a command may leave though it refuses.
        """
        told = [str(word) for word in words]
        before = names_below(self.here)
        if env is None and limits is None and stdout is None:
            victim = forked(told, self.said, self.here, within=within)
        else:
            options: dict[str, object] = {"env": {**os.environ, **(env or {})}}
            options["preexec_fn"] = limiting(limits or {})
            if stdout is not None:
                options["stdout"] = os.open(stdout, os.O_WRONLY)
            victim = fresh(told, self.said, **options)
        shown = f"{what}; {self._short(' '.join(told))}" if what else self._short(" ".join(told))
        return self.judge(shown, victim, before, code=code, says=says, leaves=leaves)

    def judge(
        self,
        what: str,
        victim: Victim,
        before: Collection[str],
        *,
        code: int | Collection[int] = 0,
        says: str = "",
        leaves: Collection[str] = (),
    ) -> Verdict:
        """Wait for a command to end, and judge it; before: names that were there before it."""
        found: int | None = None
        try:
            found = victim.wait(PATIENCE)
            wrong = ends(found, victim, {code} if isinstance(code, int) else set(code), says)
        except TimeoutError as error:
            wrong = [str(error)]
        if found:
            new = names_below(self.here) - set(before)
            new = {name for name in new if not name.startswith(tuple(leaves))}
            wrong += [f"leaves {name}" for name in sorted(new) if os.path.dirname(name) not in new]
        last = (victim.err or victim.out).splitlines()[-1:] if found else []
        return self.note(what, found, "".join(last), wrong)

    def note(self, what: str, code: int | None, said: str, wrong: Sequence[str]) -> Verdict:
        """Note a verdict, and with it whether files elsewhere are as they were."""
        now = state_of(self.elsewhere)
        foreign = [
            f"another file changed: {name}"
            for name in sorted(now.keys() | self._sound.keys())
            if now.get(name) != self._sound.get(name)
        ]
        verdict = Verdict(what, code, self._short(said)[:SHOWN], [*wrong, *foreign])
        self.verdicts.append(verdict)
        return verdict

    def require(self, what: str, wrong: Sequence[str]) -> None:
        """Note what is wrong after a command, if anything is."""
        self.note(what, 0, "", wrong)

    def _short(self, text: str) -> str:
        for folder in (self.here, self.elsewhere):
            text = text.replace(f"{folder}/", "")
        return text


def ends(code: int, victim: Victim, right: Collection[int], says: str) -> list[str]:
    """Return what is wrong with how a command ended."""
    wrong, err = [], victim.err
    lines = err.splitlines()
    last = " | ".join(lines[-3:])[-300:]
    if code < 0:
        wrong.append(f"ended by {signal.Signals(-code).name}")
    elif code not in right:
        wrong.append(f"exit code {code} for {' or '.join(map(str, sorted(right)))}")
    if "Traceback" in err + victim.out:
        wrong.append("a traceback")
    refusals = [line for line in lines if line.startswith(ERROR)]
    told_on_stdout = not lines and victim.out.strip()  # as check does
    if code > 0 and not told_on_stdout and (not refusals or refusals != lines[-1:]):
        wrong.append(f"{len(refusals)} lines of error, {len(lines)} on stderr: {last}")
    if says and says not in err + victim.out:
        wrong.append(f"nothing said of {says!r}: {last}")
    return wrong


def limiting(limits: Mapping[int, int]) -> Callable[[], None]:
    """Return what limits a process before it begins."""

    def limit() -> None:
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, most))

    return limit


def state_of(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return contents, times and rights of all that lies below a folder, by name."""
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        about = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_mtime_ns, content)
    return found


def names_below(folder: Path) -> set[str]:
    """Return the paths of all that lies below a folder, links not followed."""
    return {
        os.path.relpath(os.path.join(root, name), folder)
        for root, folders, names in os.walk(folder)
        for name in (*folders, *names)
    }


def resealed(folder: Path, name: str, edit: Callable[[Arrays], object]) -> None:
    """Change arrays of a file of shards or of a run in place, and write its seals anew.

    edit: is given the arrays by name (one named "" of an npy file) and changes them.
    """
    kind = "shards" if folder.suffix == ".shards" else "run"
    own = files_of(folder)
    own[name] = altered_arrays(name, own[name], edit)
    if not name.startswith("checkpoints/"):
        seal(kind, own)
    write_files(folder, own)


def resealed_bytes(folder: Path, name: str, data: bytes) -> None:
    """Replace a file of shards or of a run, and write its seals anew."""
    own = files_of(folder) | {name: data}
    seal("shards" if folder.suffix == ".shards" else "run", own)
    write_files(folder, own)


def write_files(folder: Path, own: Mapping[str, bytes]) -> None:
    """Write files below a folder, those that others were linked to anew."""
    for name, data in own.items():
        path = folder / name
        path.unlink(missing_ok=True)
        path.write_bytes(data)


def until(reached: Callable[[], bool], victim: Victim) -> bool:
    """Wait until something is reached or a command ends; return whether it is reached."""
    end = time.monotonic() + PATIENCE
    while not (found := reached()) and victim.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    return found
