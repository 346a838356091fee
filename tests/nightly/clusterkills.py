"""Kill processes of a cluster at any moment, and compare the files byte by byte.

Fits, ``infer`` and ``eval`` of a tiny corpus work in processes of ``local:2``, or of a scheduler
with two nannies, over tcp or TLS. A worker, both workers, a nanny, the scheduler or the command
itself is killed; the command goes on by itself, or the same command is given again; and every file
must have the bytes of one that was never on a cluster. Run ``.ci/nightly clusterkills``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

import alone  # noqa: F401  # before all that imports the package
import psutil  # type: ignore[import-untyped]
import tinyfits
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
from tinyfits import Bench, in_memory
from victims import Victim, forked, fresh

PARTS = (
    "hiertopics",
    "tests/nightly/alone.py",
    "tests/nightly/clusterkills.py",
    "tests/nightly/tinyfits.py",
    "tests/nightly/victims.py",
    "tests/runs/run_files.py",
    "tests/tiny.py",
)
BACKENDS = ("hdp-cvb0", "hdp-gibbs", "nhdp-variational")
SHARDS, WORKERS, ITERATIONS = 3, 2, 40
LOCAL, TCP, TLS = PLACES = ("local:2", "tcp", "tls")
TARGETS = ("worker", "workers", "nanny", "scheduler", "command")
COMMANDS = ("fit", "infer", "eval")
ROUNDS, ROUNDS_LONG = 1, 5
PATIENCE = 300.0
"""Seconds in which a command ends, though nobody may be there who works for it."""

RESUMABLE = 75
LATE = 1.0
"""Seconds after a checkpoint is seen within which the kill comes."""

EARLY = 8.0
"""Seconds from its beginning within which a command is killed that is killed at no checkpoint."""


class Plan(NamedTuple):
    """One kill. early: by the clock, from the command's beginning, and not after a checkpoint."""

    backend: str
    command: str
    place: str
    target: str
    number: int

    @property
    def early(self) -> bool:
        """Every third fit, and each command that has no checkpoints."""
        return self.command != "fit" or self.number % 3 == 2

    @property
    def key(self) -> str:
        """The name in the ledger."""
        return "/".join([*self[:4], str(self.number)])


def plans(backend: str, rounds: int) -> Iterator[Plan]:
    """Yield the kills of a backend: a fit with every target at every place, commands at one."""
    cases = [("fit", place, target) for place in PLACES for target in targets_of(place)]
    cases += [
        (command, place, target)
        for command in COMMANDS[1:]
        for place in (LOCAL, TCP)
        for target in ("worker", "command")
    ]
    for number in range(rounds):
        for place, case in enumerate(cases):
            yield Plan(backend, *case, number + place % 3)


def targets_of(place: str) -> tuple[str, ...]:
    """Return what can be killed; of ``local:2`` scheduler and nannies live in the command."""
    return ("worker", "workers", "command") if place == LOCAL else TARGETS


class Crew:
    """A scheduler and two nannies with a worker each, in processes of their own."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._options = options
        self._file = folder / "scheduler.json"
        self.scheduler = self._begun("scheduler", "--port", "0", "--host", "127.0.0.1", *options)
        self.nannies = [self._nanny() for _ in range(WORKERS)]
        end = time.monotonic() + PATIENCE
        while len(self.workers()) < WORKERS:  # they find the scheduler by its file
            if time.monotonic() > end or self.scheduler.poll() is not None:
                self.end()
                raise TimeoutError("the scheduler and its workers did not begin")
            time.sleep(0.1)

    @property
    def where(self) -> str:
        """What ``--cluster`` takes."""
        return f"scheduler-file:{self._file}"

    def workers(self) -> list[psutil.Process]:
        """Return the workers that are there."""
        return [worker for nanny in self.nannies for worker in workers_below(nanny.pid)]

    def replace(self) -> None:
        """Kill a nanny; begin another one in its place."""
        self.nannies[0].kill()
        self.nannies[0].wait()
        self.nannies[0] = self._nanny()

    def end(self) -> None:
        """Kill all of them."""
        for worker in self.workers():
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        for process in (*self.nannies, self.scheduler):
            process.kill()
            process.wait()

    def _nanny(self) -> subprocess.Popen[bytes]:
        options = ("--nworkers", "1", "--nthreads", "1", "--memory-limit", "0")
        return self._begun("worker", *options)

    def _begun(self, kind: str, *options: str) -> subprocess.Popen[bytes]:
        words = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *options]
        words += ["--no-dashboard", "--scheduler-file", str(self._file)]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def workers_below(pid: int) -> list[psutil.Process]:
    """Return the workers among the processes that a process has begun."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                if "spawn_main" in " ".join(process.cmdline()):
                    found.append(process)
    return found


@contextmanager
def certificates(folder: Path) -> Iterator[None]:
    """Let processes that are begun meanwhile speak TLS, by Dask's own configuration."""
    from distributed import Security

    made = Security.temporary()
    key, certificate = folder / "dask.key", folder / "dask.pem"
    key.write_text(made.tls_worker_key)
    certificate.write_text(made.tls_worker_cert)
    both = {"cert": str(certificate), "key": str(key)}
    roles = dict.fromkeys(("scheduler", "worker", "client"), both)
    tls = {"ca-file": str(certificate), **roles}
    config = folder / "config"
    config.mkdir()
    told = {"distributed": {"comm": {"require-encryption": True, "tls": tls}}}
    (config / "tls.yaml").write_text(json.dumps(told))
    before = os.environ.get("DASK_CONFIG")
    os.environ["DASK_CONFIG"] = str(config)
    try:
        yield
    finally:
        os.environ.pop("DASK_CONFIG")
        if before is not None:
            os.environ["DASK_CONFIG"] = before


class Killing:
    """One kill, and what came of it."""

    def __init__(self, bench: Bench, plan: Plan, folder: Path, seed: str) -> None:
        self.bench, self.plan, self.folder = bench, plan, folder
        self.run, self.out = folder / "run", folder / "out"
        self.chance = random.Random(seed)
        self.how = ""
        self.out.mkdir()
        if plan.command != "fit":
            shutil.copytree(bench.of("whole", SHARDS), self.run)

    def done(self) -> dict[str, Any]:
        """Kill and go on; return what stands in the ledger."""
        plan = self.plan
        with certificates(self.folder) if plan.place == TLS else nullcontext():
            options = ("--protocol", "tls") if plan.place == TLS else ()
            crew = None if plan.place == LOCAL else Crew(self.folder, *options)
            try:
                where = LOCAL if crew is None else crew.where
                victim = self._begun(where)
                killed = self._kill(victim, crew)
                found = self._end_of(victim, where)
            finally:
                if crew is not None:
                    crew.end()
        found = found or self._differing()  # who did not end has no files to compare
        return {**plan._asdict(), "killed": killed, "how": self.how, "found": found}

    def _words(self) -> list[str]:
        if self.plan.command == "fit":
            return self.bench.fit_words(self.run, SHARDS)
        if self.plan.command == "eval":
            return ["eval", str(self.run), "--heldout"]
        return ["infer", str(self.run), str(self.bench.corpus), "-o", str(self.out / "theta.npz")]

    def _begun(self, where: str) -> Victim:
        return fresh([*self._words(), "--cluster", where], self.folder / "said")

    def _kill(self, victim: Victim, crew: Crew | None) -> bool:
        """Wait for the moment; return whether the command still ran then."""

        def workers() -> list[psutil.Process]:
            return workers_below(victim.pid) if crew is None else crew.workers()

        if self.plan.target in ("worker", "workers"):
            victim.until(lambda: len(workers()) == WORKERS)
        if self.plan.early:
            seconds = victim.seconds + EARLY * self.chance.random()
            self.how = f"after {seconds:.2f} s"
        else:
            seen = self.chance.randint(0, ITERATIONS - 2)
            victim.until(lambda: newest_checkpoint(self.run) >= seen, PATIENCE)
            late = LATE * self.chance.random()
            self.how = f"{late:.2f} s after checkpoint {seen}"
            seconds = victim.seconds + late
        victim.until(lambda: victim.seconds >= seconds)
        if victim.poll() is not None:
            return False
        if self.plan.target == "command":
            below = workers()
            victim.send(signal.SIGKILL)
            if crew is None:
                _require_gone(below)
        elif crew is not None and self.plan.target == "nanny":
            crew.replace()
        elif crew is not None and self.plan.target == "scheduler":
            crew.scheduler.kill()
        else:
            chosen = workers()
            self.chance.shuffle(chosen)
            for worker in chosen[: 1 if self.plan.target == "worker" else WORKERS]:
                with suppress(psutil.NoSuchProcess):
                    worker.kill()
        return True

    def _end_of(self, victim: Victim, where: str) -> list[str]:
        """Wait for the end; give the command again where that is due. Return what is wrong."""
        code, said, command = victim.wait(PATIENCE), victim.err, self.plan.command
        found = [f"a traceback: {said[-900:]}"] if "Traceback" in said else []
        allowed = {0, -signal.SIGKILL} if self.plan.target == "command" else {0, RESUMABLE}
        if self.plan.target != "command" and (command != "fit" or self.plan.early):
            # Before it has begun it is wrong usage to name a cluster that is not there.
            allowed |= {1, 2}
        if code not in allowed or (code in (1, 2) and said.count("\n") != 1):
            return [*found, f"exit code {code}: {said[-900:]}"]
        if code == 0:
            return found
        if self.plan.target == "command":
            again = self._begun(where)
        else:
            again = fresh(self._words(), self.folder / "said")
        code = again.wait(PATIENCE)
        return [*found, *([f"given again it ended in {code}: {again.err[-900:]}"] if code else [])]

    def _differing(self) -> list[str]:
        if self.plan.command == "fit":
            return [f"other bytes: {n}" for n in self.bench.differing(self.run, SHARDS)]
        wanted, found = self._wanted(), contents(self.run) | contents(self.out)
        names = sorted(wanted.keys() | found.keys())
        return [f"other bytes: {name}" for name in names if wanted.get(name) != found.get(name)]

    def _wanted(self) -> dict[str, bytes]:
        """Return the files after the same command in one process."""
        other = self.folder / "other"
        shutil.copytree(self.bench.of("whole", SHARDS), other / "run")
        (other / "out").mkdir()
        shutil.rmtree(self.folder / "kept", ignore_errors=True)
        kept = self.folder / "kept"
        kept.mkdir()
        for place in (self.run, self.out):  # words name these folders, and the run's records do
            place.rename(kept / place.name)
            (other / place.name).rename(place)
        victim = forked(self._words(), self.folder / "said", self.folder)
        assert victim.wait() == 0, victim.err
        wanted = contents(self.run) | contents(self.out)
        for place in (self.run, self.out):
            shutil.rmtree(place)
            (kept / place.name).rename(place)
        return wanted


def _require_gone(processes: Sequence[psutil.Process]) -> None:
    """Raise TimeoutError where workers outlive the command that began them by a minute."""
    _, left = psutil.wait_procs(processes, 60)
    for process in left:
        process.kill()
    if left:
        raise TimeoutError("workers of a killed command are still there after a minute")


class Session:
    """What is done for one backend, each kill into the ledger."""

    def __init__(self, backend: str, given: Any, ledger: Ledger, folder: Path) -> None:
        self.backend, self.given, self.ledger, self.folder = backend, given, ledger, folder
        self.found = 0

    def work(self, deadline: Deadline) -> int:
        """Do what is not in the ledger yet; return the exit code."""
        rounds = ROUNDS_LONG if self.given.long else ROUNDS
        tasks = [plan for plan in plans(self.backend, rounds) if self._wants(plan)]
        bench: Bench | None = None
        for plan in tasks:
            if deadline.over:
                return TIME_IS_UP
            bench = bench or Bench(self.backend, self.folder)
            self._do(plan, bench)
        return FOUND if self.found else PASSED

    def _wants(self, plan: Plan) -> bool:
        chosen = self.given.only in plan.key
        return chosen and self.ledger.done(plan.key) is None

    def _do(self, plan: Plan, bench: Bench) -> None:
        folder = self.folder / "now"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        seed = f"{self.given.seed}/{plan.key}"
        began = time.monotonic()
        try:
            values = Killing(bench, plan, folder, seed).done()
        except TimeoutError as error:
            values = {**plan._asdict(), "killed": True, "found": [str(error)]}
        if values["found"]:
            self.found += 1
            kept = FOLDER / "clusterkills" / plan.key.replace("/", "-").replace(":", "")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept)
            print(f"FOUND {plan.key}: {'; '.join(values['found'])}\n  kept: {kept}", flush=True)
        seconds = round(time.monotonic() - began, 2)
        self.ledger.add(plan.key, **{"seed": seed, "seconds": seconds, **values})


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the ledger as markdown."""
    newest = [row for row in {row["key"]: row for row in rows}.values() if row["killed"]]
    head = "| command | cluster | kills | " + " | ".join(TARGETS) + " | found |"
    lines = [head, "| --- " * (head.count(" | ") + 1) + "|"]
    for command in COMMANDS:
        for place in PLACES:
            own = [row for row in newest if (row["command"], row["place"]) == (command, place)]
            if own:
                targets = Counter(row["target"] for row in own)
                cells = [len(own), *(targets[target] for target in TARGETS)]
                cells.append(sum(bool(row["found"]) for row in own))
                lines.append("| " + " | ".join([command, place, *map(str, cells)]) + " |")
    return "\n".join(lines)


def main() -> int:
    """Do what was asked for; return the exit code."""
    options = parser(str(__doc__).partition("\n")[0])
    options.add_argument("--backend", choices=BACKENDS, help="this one alone")
    options.add_argument("--only", default="", help="kills whose key contains this text")
    options.add_argument("--seed", default="0", help="of all choices (default 0)")
    given = options.parse_args()
    ledger = Ledger("clusterkills", *PARTS)
    if published("clusterkills", table(ledger.rows()), given):
        return PASSED
    tinyfits.FEWEST = tinyfits.MOST = ITERATIONS
    deadline, codes = Deadline(given.minutes), [PASSED]
    for backend in BACKENDS if given.backend is None else (given.backend,):
        with tempfile.TemporaryDirectory(prefix="clusterkills-", dir=in_memory()) as folder:
            codes.append(Session(backend, given, ledger, Path(folder)).work(deadline))
    print(table(ledger.rows()))
    return FOUND if any(row["found"] for row in ledger.rows()) else max(codes)


if __name__ == "__main__":
    sys.exit(main())
