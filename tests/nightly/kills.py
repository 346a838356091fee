"""Kill fits and other commands at any moment, go on, and compare the files byte by byte.

Every backend is fitted to a tiny corpus and killed: in its start, while it iterates, or while
files are written; chosen by the clock, by the files that are seen to come, or by the n-th call that
changes a file, so that the gaps between two renames are met too. The same command then goes on to
the end, and every file must have the bytes of a fit that was never killed. Signals and kills of
all other commands that write come after. Run ``.ci/nightly kills``.
"""

from __future__ import annotations

import functools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import alone  # noqa: F401  # before all that imports the package
from records import (
    FOLDER,
    FOUND,
    PASSED,
    TIME_IS_UP,
    Deadline,
    Ledger,
    parser,
    published,
)
from run_files import contents, newest_checkpoint
from tinyfits import ITERATING_SECONDS, SHARDS, UNTIMED, Bench, in_memory
from victims import Calls, Victim, forked, fresh

from hiertopics.base.errors import RunError
from hiertopics.contract import registry
from hiertopics.runs.rundir import RunDir

PARTS = (
    "hiertopics",
    "tests/nightly/alone.py",
    "tests/nightly/kills.py",
    "tests/nightly/tinyfits.py",
    "tests/nightly/victims.py",
    "tests/faults.py",
    "tests/runs/run_files.py",
    "tests/tiny.py",
)
WORKERS = (1, 2, 3, 7)
PHASES = ("start", "iterating", "writing")
COMMANDS = (
    "eval",
    "infer",
    "export",
    "convert",
    "shards",
    "report",
    "label",
    "agree",
    "merge",
    "drop",
    "edit",
    "shape",
    "refit",
    "update",
    "consensus",
    "judge",
    "import",
    "support",
)
"""Commands that write; of a backend those that it can do."""

MAKING = {
    "merge": "there already",
    "drop": "there already",
    "edit": "there already",
    "judge": "sheet.csv is there already",
    "import": "a run already",
    "shape": "there already",
    "consensus": "a run already",
}
"""Commands that refuse a run that they have made, and the words with which they do."""

UNABLE = 2
"""The exit code of a command that is not for a backend."""

KILLS, KILLS_LONG = 20, 100
OF_A_COMMAND, OF_A_COMMAND_LONG = 1, 10
SIGNALS = ("SIGTERM", "SIGINT", "SIGUSR1", "SIGINT SIGINT", "SIGHUP", "SIGQUIT")
EARLY = ("SIGTERM early", "SIGINT early", "SIGUSR1 early")
PROMISED = {"SIGTERM": {75}, "SIGINT": {75}, "SIGUSR1": {75}, "SIGINT SIGINT": {75, 130}}
"""Exit codes of a fit that iterates; of two interrupts the second may come too late."""

OF_SOME = (
    *("agree", "merge", "drop", "edit", "shape", "refit", "update", "consensus", "judge", "import"),
    "support",
)
"""Commands that are not for every backend."""

GROWING = ("metrics.jsonl", "config.yaml", "documents.jsonl")
"""Files that a fit of a run's documents writes more than once."""

CHECKPOINT = re.compile("checkpoints/[0-9]+[.]npz$")
HOLDOUT = "docs:0.2@0"
"""Of the fits."""

ATTEMPTS = 4
OFTEN = 0.02
"""Seconds between the checkpoints of a fit that is killed between them, not in them."""


class Plan(NamedTuple):
    """One kill of a fit. fresh: by a new interpreter; extended: of a run that was done before."""

    backend: str
    number: int
    workers: int
    shards: int
    phase: str
    fresh: bool
    extended: bool

    @property
    def key(self) -> str:
        """The name in the ledger."""
        return f"fit/{self.backend}/{self.number}"


def plans(backend: str, kills: int) -> Iterator[Plan]:
    """Yield the kills of a backend's fit: every mix of workers, shards and phases in turn."""
    for number in range(kills):
        workers, shards = WORKERS[number % 4], SHARDS[number // 4 % 2]
        phase = PHASES[number % 3]
        yield Plan(backend, number, workers, shards, phase, number % 5 == 4, number % 7 in (2, 5))


def attempted(plan: Plan, attempt: int) -> Plan:
    """Return how a kill is tried: at last by a counted call, which no loaded machine misses."""
    return plan if attempt + 1 < ATTEMPTS else plan._replace(phase="writing", fresh=False)


def partial(run: Path) -> list[str]:
    """Return the names of files that are half-written, or were."""
    found = []
    for folder in (run, run / "checkpoints", run / "draws", run / "eval"):
        with suppress(OSError):
            found += [entry.name for entry in os.scandir(folder) if entry.name[-8:] == ".partial"]
    return found


class Killing:
    """One kill of a fit, and what came of it."""

    def __init__(self, bench: Bench, plan: Plan, folder: Path, seed: str) -> None:
        self.bench, self.plan, self.folder = bench, plan, folder
        self.run = folder / "run"
        self.chance = random.Random(seed)
        self.told = bench.whole[plan.shards][plan.extended]
        self.base = bench.half if plan.extended else -1
        self.how, self.between = "", False

    def killed(self) -> str | None:
        """Kill a fit; return the phase that it was in, None where it ended before."""
        shutil.rmtree(self.run, ignore_errors=True)
        if self.plan.extended:
            shutil.copytree(self.bench.of("base", self.plan.shards), self.run)
        victim = self._condemned()
        code = victim.wait()
        if code != -signal.SIGKILL or self._was_done():
            return None
        return self._phase()

    def _was_done(self) -> bool:
        """Whether it died with everything done, before it could exit."""
        path = self.run / "manifest.json"
        manifest = json.loads(path.read_text()) if path.exists() else {}
        return manifest.get("status") == "done" and manifest["iterations"] > self.base

    def _condemned(self) -> Victim:
        seconds = 0.0 if self.plan.phase == "writing" else OFTEN
        words = self.bench.fit_words(
            self.run, self.plan.shards, self.plan.workers, checkpoint_seconds=seconds
        )
        if self.plan.phase == "writing" and not self.plan.fresh:
            last = self.told.calls.choose(self.chance)
            self.how = f"call {last} of {len(self.told.calls.kinds)}"
            self.between = self.told.calls.between_renames(last)
            return forked(words, self.folder, self.run, last)
        victim = self._started(words)
        getattr(self, f"_{self.plan.phase}")(victim)
        victim.send(signal.SIGKILL)
        return victim

    def _started(self, words: Sequence[str]) -> Victim:
        if self.plan.fresh:
            return fresh(words, self.folder)
        return forked(words, self.folder, self.run)

    def _start(self, victim: Victim) -> None:
        usual = self.bench.fresh_seconds if self.plan.fresh else self.told.first_seconds
        wait = self.chance.random() * usual
        self.how = f"after {wait:.3f} s"
        victim.until(lambda: victim.seconds >= wait)

    def _iterating(self, victim: Victim) -> None:
        seen = self.chance.randint(max(self.base, 0) + 1, self.bench.iterations - 2)
        late = self.chance.random() * 2 * max(OFTEN, ITERATING_SECONDS / self.bench.iterations)
        self.how = f"{late:.4f} s after checkpoint {seen}"
        victim.until(lambda: newest_checkpoint(self.run) >= seen)
        reached = victim.seconds + late
        victim.until(lambda: victim.seconds >= reached)

    def _writing(self, victim: Victim) -> None:
        last = self.bench.iterations
        seen = last if self.chance.random() < 0.5 else self.chance.randint(1, last - 1)
        self.how = f"at a half-written file from checkpoint {seen} on"
        victim.until(lambda: newest_checkpoint(self.run) >= seen)
        victim.until(lambda: bool(partial(self.run)))

    def _phase(self) -> str:
        """Return the phase that it died in, by what it left."""
        if self.how.startswith("call") or partial(self.run):
            return "writing"
        newest = newest_checkpoint(self.run)
        if newest <= self.base:
            return "start"
        return "writing" if newest == self.bench.iterations else "iterating"

    def problems(self) -> list[str]:
        """Look at what was left, go on to the end, compare; return all that is not as it should."""
        found = self._seen_before()
        words = self.bench.fit_words(self.run, self.plan.shards, self.plan.workers)
        victim = forked(words, self.folder, self.run)
        code = victim.wait()
        if code:
            return [*found, f"going on ended in {code}: {victim.err[-600:]}"]
        found += [f"leftover {name}" for name in partial(self.run)]
        differing = self.bench.differing(self.run, self.plan.shards)
        return [*found, *(f"other bytes: {name}" for name in differing)]

    def _seen_before(self) -> list[str]:
        """Return what is wrong with what readers see before the fit goes on."""
        if not (self.run / "manifest.json").exists():
            return []
        victim = forked(["show-tree", str(self.run), "--format", "json"], self.folder, self.run)
        code, said = victim.wait(), victim.err
        if code not in (0, 1) or "Traceback" in said or said.count("\n") > 1:
            return [f"show-tree after the kill ended in {code}: {said[-600:]}"]
        return [] if code else self._mixed()

    def _mixed(self) -> list[str]:
        seen = read_pair(self.run)
        names = ("base", "whole") if self.plan.extended else ("whole",)
        sound = [read_pair(self.bench.of(name, self.plan.shards)) for name in names]
        if seen is None or seen in sound:
            return []
        return ["readers are shown a model and a theta of different fits"]


def read_pair(run: Path) -> tuple[bytes, bytes] | None:
    """Return phi and theta as readers get them, None where they are refused."""
    try:
        opened = RunDir.open(run)
        return opened.tree.phi.tobytes(), opened.theta.toarray().tobytes()
    except RunError:
        return None


class Session:
    """What a process does for one backend: kills, signals, other commands, each into the ledger."""

    def __init__(self, backend: str, given: Any, ledger: Ledger, folder: Path) -> None:
        self.backend, self.given, self.ledger, self.folder = backend, given, ledger, folder
        self.deadline = Deadline(given.minutes)
        self.found = 0

    def work(self) -> int:
        """Do what is not in the ledger yet; return the exit code."""
        tasks = [task for task in self._tasks() if self.ledger.done(task[0]) is None]
        bench = Bench(self.backend, self.folder) if tasks else None
        for key, task in tasks:
            if self.deadline.over:
                return TIME_IS_UP
            assert bench is not None
            self._do(key, task, bench)
        return FOUND if self.found else PASSED

    def _tasks(self) -> list[tuple[str, Callable[[Bench, str, Path], dict[str, Any]]]]:
        long = self.given.long
        kills = self.given.kills or (KILLS_LONG if long else KILLS)
        fits = [
            (plan.key, lambda bench, seed, folder, plan=plan: kill_fit(bench, plan, seed, folder))
            for plan in plans(self.backend, kills)
        ]
        signalled = [
            (
                f"signal/{self.backend}/{names.replace(' ', '-')}/{number}",
                lambda bench, seed, folder, names=names: signal_fit(bench, names, seed, folder),
            )
            for names in (*SIGNALS, EARLY[list(registry.BACKENDS).index(self.backend) % 3])
            for number in range(4 if long else 1)
        ]
        commands = [
            (
                f"command/{self.backend}/{command}/{number}",
                lambda bench, seed, folder, command=command: kill_command(
                    bench, command, seed, folder
                ),
            )
            for command in COMMANDS
            for number in range(OF_A_COMMAND_LONG if long else OF_A_COMMAND)
        ]
        return [*fits, *signalled, *commands]

    def _do(self, key: str, task: Any, bench: Bench) -> None:
        folder = self.folder / "now"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        seed = f"{self.given.seed}/{key}"
        began = time.monotonic()
        try:
            values = task(bench, seed, folder)
        except TimeoutError as error:
            values = {"found": [str(error)]}
        values.setdefault("found", [])
        if values["found"]:
            self.found += 1
            kept = FOLDER / "kills" / key.replace("/", "-")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            print(f"FOUND {key}: {'; '.join(values['found'])}\n  kept: {kept}", flush=True)
        seconds = round(time.monotonic() - began, 2)
        self.ledger.add(
            key, **{"backend": self.backend, "seed": seed, "seconds": seconds, **values}
        )


def kill_fit(bench: Bench, plan: Plan, seed: str, folder: Path) -> dict[str, Any]:
    """Kill a fit and go on; return what stands in the ledger."""
    for attempt in range(ATTEMPTS):
        trial = attempted(plan, attempt)
        killing = Killing(bench, trial, folder, f"{seed}/{attempt}")
        phase = killing.killed()
        if phase is not None:
            told = {**trial._asdict(), "asked": plan.phase, "phase": phase, "how": killing.how}
            told["between"] = killing.between
            return {**told, "killed": True, "found": killing.problems()}
    return {**plan._asdict(), "killed": False}


def signal_fit(bench: Bench, names: str, seed: str, folder: Path) -> dict[str, Any]:
    """Send signals to a fit that iterates, and go on."""
    chance = random.Random(seed)
    shards, workers = chance.choice(SHARDS), chance.choice(WORKERS)
    run, told = folder / "run", {"signals": names, "shards": shards, "workers": workers}
    words = bench.fit_words(run, shards, workers)
    for _ in range(ATTEMPTS):
        shutil.rmtree(run, ignore_errors=True)
        victim = _signalled(bench, names, words, folder, chance)
        code = victim.wait()
        if code:
            break
    else:
        return {**told, "code": 0}
    found = []
    if code not in PROMISED.get(names, {code}):
        found.append(f"exit code {code}: {victim.err[-600:]}")
    if "Traceback" in victim.err:
        found.append(f"a traceback: {victim.err[-600:]}")
    begun = (run / "manifest.json").exists()
    status = json.loads((run / "manifest.json").read_text())["status"] if begun else "none"
    again = forked(words, folder, run)
    if again.wait():
        found.append(f"going on ended in {again.poll()}: {again.err[-600:]}")
    else:
        found += [f"leftover {name}" for name in partial(run)]
        found += [f"other bytes: {name}" for name in bench.differing(run, shards)]
    return {**told, "code": code, "status": status, "found": found}


def _signalled(
    bench: Bench, names: str, words: Sequence[str], folder: Path, chance: random.Random
) -> Victim:
    """Start a fit and send it signals: while it iterates, or early, in a new interpreter."""
    *sent, when = names.split() if names.endswith("early") else [*names.split(), ""]
    run = folder / "run"
    if when:
        wait = chance.random() * bench.fresh_seconds
        victim = fresh(words, folder)
        victim.until(lambda: victim.seconds >= wait)
    else:
        seen = chance.randint(1, bench.iterations // 2)
        victim = forked(words, folder, run)
        victim.until(lambda: newest_checkpoint(run) >= seen)
    for name in sent:
        victim.send(signal.Signals[name])
        time.sleep(0.002)  # two of a kind at once would be one
    return victim


def command_words(command: str, bench: Bench, run: Path, out: Path) -> list[str]:
    """Return the words of a command that writes into ``out``, or into the run."""
    corpus, made = str(bench.corpus), str(out / "made")
    beside, of_fit = str(bench.beside(1)), ("--corpus", corpus, "--holdout", HOLDOUT)
    suffix = ".arff" if bench.corpus.suffix == ".npy" else ".mtx"
    return {
        "eval": ["eval", str(run), "--heldout"],
        "infer": ["infer", str(run), corpus, "-o", str(out / "theta.npz")],
        "export": ["export", str(run), "-o", str(out / "tree.graphml")],
        "convert": ["convert", corpus, str(out / f"other{suffix}")],
        "shards": ["convert", corpus, str(out / "other.shards")],
        "report": ["report", str(run), "-o", str(out / "page.html")],
        "label": ["label", str(run), bench.nodes[-1], "a name", "--note", "a note"],
        "agree": ["agree", str(run), beside, "--write"],
        "merge": ["merge", str(run), *bench.nodes, "-o", made],
        "drop": ["drop", str(run), bench.nodes[-1], "-o", made],
        "edit": ["edit", str(run), "-o", made, "--edits", str(bench.edits)],
        "judge": ["judge", str(run), "-o", str(out / "sheet.csv"), "--intruders", "1"],
        "import": ["import", str(bench.foreign), *of_fit, "-o", made],
        "support": ["support", str(run), "--resamples", "2", "--iterations", "2"],
        "shape": ["shape", str(run), "--branches", "2", "-o", made],
        "refit": ["refit", str(run), bench.nodes[0], "-o", made, "--iterations", "4"],
        "update": ["update", str(run), str(bench.more), "-o", made, "-q"],
        "consensus": ["consensus", str(run), beside, "-o", made],
    }[command]


def settled(*places: Path) -> dict[str, bytes]:
    """Return the files below folders, without what tells times and how often a fit was begun."""
    found: dict[str, bytes] = {}
    for place in places:
        everything = contents(place)
        checkpoints = sorted(name for name in everything if CHECKPOINT.search(name))
        for name, data in everything.items():
            base = name.rpartition("/")[2]
            if base in (".lock", "log.txt") or name in checkpoints[:-1]:
                continue
            found[name] = _untimed(base, data)
    return found


def _untimed(name: str, data: bytes) -> bytes:
    if name == "manifest.json":
        manifest = json.loads(data)
        return json.dumps({key: manifest[key] for key in manifest if key not in UNTIMED}).encode()
    if name == "metrics.jsonl":
        rows = [json.loads(line) for line in data.splitlines()]
        return json.dumps([row | {"seconds": 0} for row in rows]).encode()
    return data


def kill_command(bench: Bench, command: str, seed: str, folder: Path) -> dict[str, Any]:
    """Kill a command that writes files; each must be as it was before, or as it is to be."""
    chance = random.Random(seed)
    run, out = folder / "run", folder / "out"
    shutil.copytree(bench.of("whole", 1), run)
    out.mkdir()
    words = command_words(command, bench, run, out)
    before = settled(run, out)
    whole = forked(words, folder / "said", folder, last=0)
    if code := whole.wait():
        refused = f"refused with {code}: {whole.err[-600:]}"
        unable = code == UNABLE and command in OF_SOME
        return {"command": command, "killed": False, "found": [] if unable else [refused]}
    after = settled(run, out)
    calls = Calls.of(folder / "said")
    for attempt in range(ATTEMPTS):
        for place in (run, out):
            shutil.rmtree(place)
        shutil.copytree(bench.of("whole", 1), run)
        out.mkdir()
        counted = chance.random() < 0.7 or attempt + 1 == ATTEMPTS
        last = calls.choose(chance) if counted else None
        victim = forked(words, folder / "said", folder, last)
        if last is None:
            wait = chance.random() * whole.seconds
            victim.until(functools.partial(_has_run, victim, wait))
            victim.send(signal.SIGKILL)
        if victim.wait() == -signal.SIGKILL:
            break
    else:
        return {"command": command, "killed": False}
    how = f"call {last}" if last else wait
    told: dict[str, Any] = {"command": command, "killed": True, "how": how}
    return told | _after_command(command, words, folder, (run, out), before, after)


def _after_command(
    command: str,
    words: Sequence[str],
    folder: Path,
    places: tuple[Path, Path],
    before: dict[str, bytes],
    after: dict[str, bytes],
) -> dict[str, Any]:
    """Compare the files that a killed command left, then give it again and compare anew."""
    left = settled(*places)
    whole = {name: data for name, data in left.items() if not name.endswith(".partial")}
    found = _seen_between(places[1] / "made", folder)
    found += [
        f"neither old nor new: {name}"
        for name in whole | before
        if whole.get(name) not in (before.get(name), after.get(name)) and not _moving(name, command)
    ]
    changed = [name for name in after if before.get(name) != after[name]]
    new = [name for name in changed if left.get(name) == after[name]]
    again = forked(words, folder / "said", folder)
    if (code := again.wait()) and not (code == UNABLE and MAKING.get(command, "?") in again.err):
        found.append(f"given again it ended in {code}: {again.err[-600:]}")
    now = settled(*places)
    found += [f"given again, other bytes: {name}" for name in after if now.get(name) != after[name]]
    found += [f"given again, left over: {name}" for name in now if name.endswith(".partial")]
    return {
        "found": found,
        "between": 0 < len(new) < len(changed),
        "leftover": sum(name.endswith(".partial") for name in left),
    }


def _moving(name: str, command: str) -> bool:
    """Tell whether a file has other contents on the way of a command than at its end.

    A manifest tells how far a fit is, or that tree.json may be the old or the new one; what a fit
    goes on with comes and goes.
    """
    fits = command in ("refit", "update")
    growing = CHECKPOINT.search(name) or name.endswith(GROWING)
    moving = fits or command == "agree"
    return bool(fits and growing) or moving and name.endswith("manifest.json") or "/." in f"/{name}"


def _seen_between(made: Path, folder: Path) -> list[str]:
    """Return what is wrong with what readers see of a run that is half made."""
    if not made.exists():
        return []
    victim = forked(["show-tree", str(made)], folder / "seen", folder)
    code, said = victim.wait(), victim.err
    if code not in (0, 1) or "Traceback" in said or (code and said.count("\n") != 1):
        return [f"show-tree after the kill ended in {code}: {said[-600:]}"]
    return []


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the ledger as markdown."""
    newest = {row["key"]: row for row in rows}.values()
    fits = [row for row in newest if row["key"].startswith("fit/") and row["killed"]]
    head = "| backend | kills | start | iterating | writing | new process | extending | found |"
    lines = [head, "| --- " * head.count(" | ") + "| --- |"]
    for backend in [*registry.BACKENDS, "all"]:
        own = [row for row in fits if backend in (row["backend"], "all")]
        phases = Counter(row["phase"] for row in own)
        cells = [len(own), *(phases[phase] for phase in PHASES), sum(row["fresh"] for row in own)]
        cells += [sum(row["extended"] for row in own), sum(bool(row["found"]) for row in own)]
        lines.append("| " + " | ".join([backend, *(f"{cell:,}" for cell in cells)]) + " |")
    return "\n".join([*lines, "", *_signal_lines(newest), "", *_command_lines(newest)])


def _signal_lines(rows: Any) -> list[str]:
    lines = ["| signals | sent | exit codes | found |", "| --- | --- | --- | --- |"]
    for names in (*SIGNALS, *EARLY):
        own = [row for row in rows if row.get("signals") == names]
        codes = Counter(row["code"] for row in own)
        shown = ", ".join(f"{code} ({count})" for code, count in sorted(codes.items()))
        found = sum(bool(row["found"]) for row in own)
        lines.append(f"| {names} | {len(own)} | {shown} | {found} |")
    return lines


def _command_lines(rows: Any) -> list[str]:
    head = "| killed command | kills | between two renames | left a half-written file | found |"
    lines = [head, "| --- " * head.count(" | ") + "| --- |"]
    for command in COMMANDS:
        own = [row for row in rows if row.get("command") == command and row.get("killed")]
        cells = [len(own), sum(row["between"] for row in own)]
        cells += [sum(bool(row["leftover"]) for row in own), sum(bool(row["found"]) for row in own)]
        lines.append("| " + " | ".join([command, *map(str, cells)]) + " |")
    return lines


def _has_run(victim: Victim, seconds: float) -> bool:
    return victim.seconds >= seconds


def all_backends(given: Any) -> int:
    """Work through the backends, a process each, as many at a time as there are cores."""
    deadline = Deadline(given.minutes)
    waiting, codes = list(registry.BACKENDS), []
    running: list[Any] = []
    while waiting or running:
        if waiting and len(running) < given.jobs and not deadline.over:
            running.append(_of_backend(waiting.pop(0), given, deadline))
        elif not running:
            return FOUND if FOUND in codes else TIME_IS_UP
        time.sleep(0.05)
        codes += [process.returncode for process in running if process.poll() is not None]
        running = [process for process in running if process.returncode is None]
    if set(codes) <= {PASSED, TIME_IS_UP}:
        return max(codes)
    return FOUND


def _of_backend(backend: str, given: Any, deadline: Deadline) -> subprocess.Popen[bytes]:
    words = ["--backend", backend, "--minutes", str(deadline.seconds / 60), "--seed", given.seed]
    words += ["--long"] * given.long
    words += ["--kills", str(given.kills)] if given.kills else []
    return subprocess.Popen([sys.executable, __file__, *words])


def main() -> int:
    """Do what was asked for; return the exit code."""
    options = parser(str(__doc__).partition("\n")[0])
    options.add_argument("--backend", choices=list(registry.BACKENDS), help="this one alone")
    options.add_argument("--kills", type=int, default=0, help="kills of each backend's fit")
    options.add_argument("--seed", default="0", help="of all choices (default 0)")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    given = options.parse_args()
    ledger = Ledger("kills", *PARTS)
    if published("kills", table(ledger.rows()), given):
        return PASSED
    if given.backend is None:
        code = all_backends(given)
        print(table(ledger.rows()))
        return FOUND if any(row["found"] for row in ledger.rows()) else code
    with tempfile.TemporaryDirectory(prefix="kills-", dir=in_memory()) as folder:
        return Session(given.backend, given, ledger, Path(folder)).work()


if __name__ == "__main__":
    sys.exit(main())
