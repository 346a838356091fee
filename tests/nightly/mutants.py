"""Feared mistakes: each is put into a copy of the sources, and the smallest tests must see it.

The lists stand in ``mutants/<family>.yaml``. A list has rows of the table by their name: a sampler,
a family of variational methods, a score. A row has

    least       the least number of mistakes that it must have
    backends    optional: the backends that it is about
    mistakes    lists of mistakes by the tests that must see them, the smallest: node ids or files,
                with a blank between two

and a mistake has

    fear        the mistake, in one sentence; no other of its row has the same
    in          the name of the function that is spoilt, of a class or of a constant
    change      pattern => replacement (spoiling.py says what a pattern is); or instead
    drop        the pattern of statements that are left out
    nth         optional: which of how many places where the pattern stands, as 2/3
    given       optional: patterns that say what further blanks of the replacement are
    near        optional: part of the path of the file, where functions of several files fit
    equivalent  optional: why nobody can tell the mistake from the truth; listed, not counted
    timeout     optional: true where tests that no longer end are what shows the mistake
    interpreted optional: true to run the tests without the compiler

A mistake is killed when its tests pass on the sources as they are and fail on the spoilt ones, by
an assertion or an exception. Tests that cannot be imported or compiled have judged nothing: the
mistake is broken, and so is the list. A pattern that has no place, or several, and a test that is
not there are broken too.

numba keeps a compiled kernel by its own file's time and size alone, so a kernel that calls one of a
spoilt file would come from the cache as it was. Before each run the kernels of the spoilt file, and
of all that import it, at however many removes, are taken out of the copy's caches; the rest stay.
"""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from queue import Empty, Queue, SimpleQueue
from threading import Lock
from typing import Any, ClassVar, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("nightly", "structure")]

import records  # noqa: E402
from source_tree import imported  # noqa: E402
from spoiling import Change, Unfit  # noqa: E402

from hiertopics.contract.registry import BACKENDS  # noqa: E402
from hiertopics.scoring.protocols import PROTOCOLS  # noqa: E402
from hiertopics.scoring.tasks import TASKS  # noqa: E402

LISTS = Path(__file__).with_suffix("")
PLACE = records.FOLDER / "mutants"
PACKAGE = "hiertopics"
COPIED = (PACKAGE, "tests", "docs", "configs", "data-samples", "benchmarks")
ALONE = ("pyproject.toml", "README.md")
CPU_SECONDS = 180
PATIENCE = 10  # seconds on the wall for each second of the processor's: other work may run here
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGKILL)
BLIND = (
    "ImportError|ModuleNotFoundError|SyntaxError|IndentationError|NameError|UnboundLocalError|"
    r"numba\.\S*(?:TypingError|LoweringError|UnsupportedError|NumbaError|CompilerError)"
)
KILLED, SURVIVED, BROKEN = "killed", "survived", "broken"


class Row(NamedTuple):
    """A row of the table: its family, how many mistakes it must have, the backends it is about."""

    family: str
    least: int
    backends: tuple[str, ...]


@dataclass(frozen=True)
class Mutant:
    """A feared mistake; the fields are those of the lists."""

    row: str
    fear: str
    change: Change
    tests: tuple[str, ...]
    equivalent: str = ""
    timeout: bool = False
    interpreted: bool = False

    @property
    def name(self) -> str:
        """What no other mistake is called."""
        return f"{self.row}: {self.fear}"

    def spoil(self, root: Path = ROOT) -> tuple[str, str]:
        """Return the file that is spoilt and its text; Unfit if the change has no place there."""
        return _spoilt(self.change, root)

    def fault(self, root: Path = ROOT) -> str:
        """Return why the mistake does not fit the sources and tests as they are, or ""."""
        for node in self.tests:
            file, *parts = node.split("::")
            if not (root / file).is_file():
                return f"there is no {file}"
            if not {part.partition("[")[0] for part in parts} <= _tests_of(root / file):
                return f"there is no {node}"
        try:
            self.spoil(root)
        except Unfit as error:
            return str(error)
        return ""


@cache
def _spoilt(change: Change, root: Path) -> tuple[str, str]:
    return change.apply(root, PACKAGE)


@cache
def _tests_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


class Verdict(NamedTuple):
    """What the tests said of a mistake: killed, survived or broken; which test, in what words."""

    outcome: str
    by: str = ""
    words: str = ""
    cpu: float = 0.0


@dataclass
class Lists:
    """All lists: rows by their name, mutants in order."""

    rows: dict[str, Row] = field(default_factory=dict)
    mutants: list[Mutant] = field(default_factory=list)


def read_lists(folder: Path = LISTS) -> Lists:
    """Return the lists of a folder."""
    found = Lists()
    for path in sorted(folder.glob("*.yaml")):
        for name, row in yaml.safe_load(path.read_text(encoding="utf-8")).items():
            assert name not in found.rows, f"row {name} stands in two lists"
            found.rows[name] = Row(path.stem, row["least"], tuple(row.get("backends", ())))
            for tests, mistakes in row["mistakes"].items():
                found.mutants += [_mutant(name, tests, entry) for entry in mistakes]
    return found


def _mutant(row: str, tests: str, entry: dict[str, Any]) -> Mutant:
    find, _, put = entry.pop("change", entry.pop("drop", "")).partition("=>")
    change = Change(
        entry.pop("in"),
        find.strip(),
        put.strip(),
        entry.pop("nth", "1/1"),
        tuple(entry.pop("given", ())),
        entry.pop("near", ""),
    )
    nodes = re.split(r"\s+(?=tests/)", tests)
    return Mutant(row, entry.pop("fear"), change, tuple(nodes), **entry)


def faults_of(lists: Lists) -> list[str]:
    """Return what is wrong with the lists as a whole."""
    found = []
    counts = Counter(mutant.name for mutant in lists.mutants)
    found += [f"{name} stands in the lists twice" for name, number in counts.items() if number > 1]
    for name, row in lists.rows.items():
        number = sum(m.row == name and not m.equivalent for m in lists.mutants)
        if number < max(row.least, 3):
            found.append(f"{name} has {number} mistakes")
    backends = {name for row in lists.rows.values() for name in row.backends}
    missing = [*(set(BACKENDS) ^ backends), *({*PROTOCOLS, *TASKS} - lists.rows.keys())]
    return found + [f"{name} has no row, or a row is about nothing" for name in sorted(missing)]


# --- copies of the checkout


@cache
def graph_of(root: Path) -> dict[str, set[str]]:
    """Return the imports of every module of the package that lies in a folder."""
    trees = {}
    for path in (root / PACKAGE).rglob("*.py"):
        trees[_dotted(str(path.relative_to(root)))] = ast.parse(path.read_text(encoding="utf-8"))
    names = frozenset(trees)
    return {name: imported(tree, names, top_only=False) for name, tree in trees.items()}


def _dotted(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def _declaring(root: Path) -> frozenset[str]:
    """Return the modules that declare functions which are chosen by type."""
    sources = (root / PACKAGE).rglob("*.py")
    found = [path for path in sources if "\n@by_type(" in path.read_text(encoding="utf-8")]
    return frozenset(_dotted(str(path.relative_to(root))) for path in found)


def importers(file: str, root: Path = ROOT) -> set[str]:
    """Return the modules whose kernels may hold code of a file: its own, and all that import it.

    A file that gives a variant to a function chosen by type is in the kernels of all who call that
    function, though they import the module that declares it and not the file.
    """
    graph, declaring = graph_of(root), _declaring(root)
    found: set[str] = set()
    new = {_dotted(file)}
    while new:
        found |= new
        new = {name for name, targets in graph.items() if targets & found}
        new |= {target for name in found for target in graph.get(name, set()) & declaring}
        new -= found
    return found


def drop_kernels(copy: Path, modules: Iterable[str], before: float = math.inf) -> None:
    """Take the kernels of modules that were compiled before a time out of a copy's caches."""
    for name in modules:
        path = copy.joinpath(*name.split("."))
        folder = path if path.is_dir() else path.parent
        stem = "__init__" if path.is_dir() else path.name
        for kept in (folder / "__pycache__").glob(f"{stem}.*.nb[ci]"):
            if kept.stat().st_mtime < before:
                kept.unlink()


def lay_out(source: Path, target: Path) -> None:
    """Copy what tests need, with the times that caches go by; kernels that are compiled, too."""
    for name in COPIED:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
    for name in ALONE:
        if (source / name).is_file():
            shutil.copy2(source / name, target / name)
    drop_stale(target, source)


def drop_stale(copy: Path, source: Path) -> None:
    """Take kernels that are older than a file whose code they hold out of a copy of ``source``."""
    for name in graph_of(source):
        file = _file_of(copy, name)
        reached = importers(str(file.relative_to(copy)), source)
        drop_kernels(copy, reached, before=file.stat().st_mtime)


def _file_of(root: Path, module: str) -> Path:
    path = root.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _cached(folder: Path) -> Iterator[Path]:
    return (path.relative_to(folder) for path in (folder / PACKAGE).rglob("*.nb[ci]"))


class Copies:
    """A clean copy, whose caches grow warm, and one for each worker, spoilt and mended.

    They stand in ``PLACE``, a folder for each state of the sources; older ones are removed.
    """

    def __init__(self, n_workers: int, place: Path = PLACE, root: Path = ROOT) -> None:
        place.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(place / "lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(f"{place}: another run is at work there; wait for its end") from None
        self.folder = place / _digest_of(_decisive(root, COPIED))
        for other in place.glob("*/clean"):
            if other.parent != self.folder:
                shutil.rmtree(other.parent)
        self.clean = self.folder / "clean"
        if not self.clean.exists():
            half = self.folder / "half"
            shutil.rmtree(half, ignore_errors=True)
            half.mkdir(parents=True)
            lay_out(root, half)
            half.rename(self.clean)
        self.workers = [self.folder / f"worker-{number}" for number in range(n_workers)]
        for worker in self.workers:
            shutil.rmtree(worker, ignore_errors=True)
            shutil.copytree(self.clean, worker)

    def spoil(self, worker: Path, mutant: Mutant) -> str:
        """Make a worker's copy as the clean one is, but for one mistake; return its file.

        Kernels that the mistake reaches are taken out of the copy's caches.
        """
        file, text = mutant.spoil(self.clean)
        kept = set(_cached(self.clean))
        for path in set(_cached(worker)) - kept:
            (worker / path).unlink()
        for path in kept:
            _link(self.clean / path, worker / path)
        (worker / file).write_text(text, encoding="utf-8")
        drop_kernels(worker, importers(file, self.clean))
        return file

    def mend(self, worker: Path, file: str) -> None:
        """Put a file back as it was, with its time."""
        shutil.copy2(self.clean / file, worker / file)


def _link(source: Path, target: Path) -> None:
    """Give a worker the clean copy's file: numba replaces files, it never writes into them."""
    if target.exists() and target.samefile(source):
        return
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    os.link(source, target)


def _digest_of(paths: Iterable[Path]) -> str:
    made = hashlib.sha256()
    for path in paths:
        made.update(str(path.name).encode() + b"\0" + path.read_bytes())
    return made.hexdigest()[:16]


def _decisive(root: Path, folders: Sequence[str]) -> list[Path]:
    return sorted(path for name in folders for path in (root / name).rglob("*.py"))


# --- running tests


class Ran(NamedTuple):
    """A run of tests: its exit code (None: out of time), what it printed, seconds of processor."""

    code: int | None
    out: str
    cpu: float


class Warm:
    """A process whose copies run tests (warm.py); one for each run that is at work."""

    free: ClassVar[SimpleQueue[Warm]] = SimpleQueue()

    def __init__(self) -> None:
        env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        env |= {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("warm.py"))],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )

    def ask(self, **asked: Any) -> tuple[int, float]:
        """Run tests; return the exit code and seconds of processor time."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        code, cpu = json.loads(self._process.stdout.readline())
        return code, cpu


@contextmanager
def _warm() -> Iterator[Warm]:
    try:
        chosen = Warm.free.get_nowait()
    except Empty:
        chosen = Warm()
    yield chosen
    Warm.free.put(chosen)


def run_tests(
    copy: Path, tests: Sequence[str], *, interpreted: bool, seconds: float, first_only: bool = True
) -> Ran:
    """Run tests in a copy of the checkout, stopped after so many seconds of the processor."""
    options = ["-n", "0", "-q", "-m", "", "-p", "no:cacheprovider", "--tb=short", "-rfE"]
    options += ["-x"] if first_only else []
    run = _run_anew if interpreted else _run_warm
    with (
        tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as file,
        tempfile.TemporaryDirectory(prefix="mutants-") as folder,
    ):
        options += [f"--basetemp={folder}/tests", *tests]
        code, cpu = run(copy, options, file.name, int(seconds))
        return Ran(None if code in OUT_OF_TIME else code, file.read(), cpu)


def _run_warm(copy: Path, options: list[str], out: str, seconds: int) -> tuple[int, float]:
    wall = seconds * PATIENCE
    with _warm() as process:
        return process.ask(copy=str(copy), options=options, out=out, seconds=seconds, wall=wall)


def _run_anew(copy: Path, options: list[str], out: str, seconds: int) -> tuple[int, float]:
    """Run tests without the compiler, which only a new interpreter does without."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    env |= {"PYTHONPATH": str(copy), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    env["NUMBA_DISABLE_JIT"] = "1"
    with open(out, "w", encoding="utf-8") as stream:
        child = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options],
            cwd=copy,
            env=env,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        resource.prlimit(child.pid, resource.RLIMIT_CPU, (seconds, seconds + 5))
        return _wait(child, seconds * PATIENCE)


def _wait(child: subprocess.Popen[Any], seconds: float) -> tuple[int, float]:
    """Return the exit code of a child, killed after so many seconds, and what it took."""
    ends = time.monotonic() + seconds
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, round(usage.ru_utime + usage.ru_stime, 1)
        if time.monotonic() > ends:
            child.kill()
        time.sleep(0.05)


def judge(ran: Ran, *, timeout: bool = False) -> Verdict:
    """Return what a run of tests over a mistake says."""
    if ran.code is None:
        return Verdict(KILLED if timeout else BROKEN, "", "out of time", ran.cpu)
    if ran.code == 0:
        return Verdict(SURVIVED, cpu=ran.cpu)
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", ran.out, re.MULTILINE)
    words = re.findall(r"^E +(\S.*)", ran.out, re.MULTILINE)
    said = words[0][:200] if words else ran.out.strip().splitlines()[-1][:200]
    blind = any(re.match(rf"(?:{BLIND})\b", line) for line in words)
    if ran.code != 1 or not failed or blind:
        return Verdict(BROKEN, failed[0] if failed else "", said, ran.cpu)
    return Verdict(KILLED, failed[0], said, ran.cpu)


# --- what stands in the ledger


class Book:
    """The ledger, asked by what decides a verdict: the package, the tests, the entry."""

    def __init__(self) -> None:
        self.ledger = records.Ledger("mutants")
        whole = self.ledger.rows(all_sources=True)
        self.rows = {(row["key"], row["decides"]): row for row in whole}

    def find(self, key: str, decides: str) -> dict[str, Any] | None:
        """Return what stands of a key under the same sources."""
        return self.rows.get((key, decides))

    def add(self, key: str, decides: str, **values: Any) -> None:
        """Write a line."""
        self.ledger.add(key, decides=decides, **values)
        self.rows[key, decides] = {"key": key, "decides": decides, **values}


def _files_of(tests: Iterable[str]) -> list[str]:
    return sorted({node.partition("::")[0] for node in tests})


@cache
def _fixtures() -> set[str]:
    tree = ast.parse((ROOT / "tests/conftest.py").read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@cache
def reads(file: str) -> frozenset[Path]:
    """Return the files whose code a test file may run: all that it imports, at any remove.

    The whole package where it asks for a backend by its name, or for a fixture that all share.
    """
    graph, found, modules, whole = graph_of(ROOT), {ROOT / file}, set(), False
    todo = [ROOT / file]
    while todo:
        tree = ast.parse(todo.pop().read_text(encoding="utf-8"))
        whole |= any(isinstance(n, ast.arg) and n.arg in _fixtures() for n in ast.walk(tree))
        for name in imported(tree, frozenset(graph), top_only=False):
            modules |= {name} & graph.keys()
            for folder in ((ROOT / file).parent, ROOT / "tests"):
                path = folder / f"{name}.py"
                if path.is_file() and path not in found:
                    found.add(path)
                    todo.append(path)
    new = set(modules)
    while new:
        new = {target for name in new for target in graph[name] & graph.keys()} - modules
        modules |= new
    if whole or f"{PACKAGE}.registry" in modules:
        return frozenset(found | set(_decisive(ROOT, (PACKAGE,))))
    return frozenset(found | {_file_of(ROOT, name) for name in modules})


def decides(tests: Iterable[str], *others: object) -> str:
    """Return a hash of all that decides what tests say."""
    own = _digest_of(sorted(path for file in _files_of(tests) for path in reads(file)))
    return hashlib.sha256(repr((own, others)).encode()).hexdigest()[:16]


def decides_of(mutant: Mutant) -> str:
    """Return a hash of all that decides the verdict on a mistake."""
    file, _ = mutant.spoil()
    told = (mutant.change, sorted(mutant.tests), mutant.interpreted)
    return decides(mutant.tests, _digest_of([ROOT / file]), told)


class Bench:
    """Runs tests over clean and spoilt copies, and writes down what they said."""

    def __init__(self, book: Book, copies: Copies, factor: float) -> None:
        self.book, self.copies, self.seconds = book, copies, CPU_SECONDS * factor

    def baseline(self, tests: Sequence[str], interpreted: bool) -> str:
        """Return what is wrong with tests on the sources as they are; they warm the caches too."""
        key = f"baseline {'interpreted ' if interpreted else ''}{' '.join(sorted(tests))}"
        warm = self.copies.folder / "warm" / hashlib.sha256(key.encode()).hexdigest()[:16]
        known = self.book.find(key, decides(tests))
        if known is None or (not warm.exists() and not interpreted):
            ran = run_tests(
                self.copies.clean,
                sorted(tests),
                interpreted=interpreted,
                seconds=10 * self.seconds,
                first_only=False,
            )
            warm.parent.mkdir(exist_ok=True)
            warm.touch()
            fault = "" if ran.code == 0 else judge(ran).words or f"exit {ran.code}"
            self.book.add(key, decides(tests), fault=fault, cpu=ran.cpu)
            return fault
        return str(known["fault"])

    def try_mutant(self, worker: Path, mutant: Mutant, decided: str) -> Verdict:
        """Spoil a worker's copy, run the tests that must see it, write down what they said."""
        file = self.copies.spoil(worker, mutant)
        try:
            ran = run_tests(
                worker, mutant.tests, interpreted=mutant.interpreted, seconds=self.seconds
            )
        finally:
            self.copies.mend(worker, file)
        verdict = judge(ran, timeout=mutant.timeout)
        if verdict.outcome == BROKEN:
            log = hashlib.sha256(mutant.name.encode()).hexdigest()[:16]
            (self.copies.folder / f"{log}.log").write_text(ran.out, encoding="utf-8")
        self.book.add(mutant.name, decided, **verdict._asdict())
        return verdict


def run(
    mutants: Sequence[Mutant], until: records.Deadline, *, jobs: int, factor: float, anew: bool
) -> list[str]:
    """Try what has no verdict yet, until time is up; return the test files that are unfit."""
    book = Book()
    # As the sources are now, when they are copied: they may change before the last is tried.
    decided = {mutant: decides_of(mutant) for mutant in mutants}
    due = [m for m in mutants if anew or book.find(m.name, decided[m]) is None]
    if not due:
        return []
    bench = Bench(book, Copies(jobs), factor)
    groups: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for mutant in due:
        for node in mutant.tests:
            groups[node.partition("::")[0], mutant.interpreted].add(node)
    free: Queue[Path] = Queue()
    for worker in bench.copies.workers:
        free.put(worker)
    faults: dict[tuple[str, bool], str] = {}

    locks = defaultdict[tuple[str, bool], Lock](Lock)

    def fault_of(group: tuple[str, bool]) -> str:
        with locks[group]:
            if group not in faults:
                faults[group] = bench.baseline(sorted(groups[group]), group[1])
                if faults[group]:
                    print(f"unfit     {group[0]}: fails on the sources: {faults[group]}")
            return faults[group]

    def attack(mutant: Mutant) -> None:
        for file in _files_of(mutant.tests):
            if until.over or fault_of((file, mutant.interpreted)):
                return
        worker = free.get()
        try:
            verdict = bench.try_mutant(worker, mutant, decided[mutant])
        finally:
            free.put(worker)
        seen = f"{verdict.by} {verdict.words}".strip()
        print(f"{verdict.outcome:9} {mutant.name}  [{verdict.cpu:.0f} s] {seen}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(attack, due))
    return [file for (file, _), fault in faults.items() if fault]


# --- what is shown


def verdicts(mutants: Iterable[Mutant]) -> dict[str, dict[str, Any]]:
    """Return what the ledger holds of mutants under today's sources, by their name."""
    book = Book()
    fitting = (mutant for mutant in mutants if not mutant.fault())
    found = {mutant.name: book.find(mutant.name, decides_of(mutant)) for mutant in fitting}
    return {name: row for name, row in found.items() if row is not None}


def table(lists: Lists) -> str:
    """Return the table in markdown: verdicts by row, then survivors and equivalents."""
    known = verdicts(lists.mutants)
    lines = [
        "| what | mistakes | killed | survived | without a verdict | equivalent |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name in [*lists.rows, "all"]:
        own = [mutant for mutant in lists.mutants if name in (mutant.row, "all")]
        counted = [known.get(mutant.name) for mutant in own if not mutant.equivalent]
        outcomes = [row["outcome"] for row in counted if row is not None]
        n_killed, n_survived = outcomes.count(KILLED), outcomes.count(SURVIVED)
        same = sum(bool(mutant.equivalent) for mutant in own)
        cells = (len(counted), n_killed, n_survived, len(counted) - n_killed - n_survived, same)
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    lines += _listed("Survived:", [m for m in lists.mutants if _survived(m, known)], reason=False)
    lines += _listed("Equivalent:", [m for m in lists.mutants if m.equivalent], reason=True)
    return "\n".join(lines)


def _survived(mutant: Mutant, known: Mapping[str, Mapping[str, Any]]) -> bool:
    row = known.get(mutant.name)
    return row is not None and row["outcome"] == SURVIVED and not mutant.equivalent


def _listed(title: str, mutants: Sequence[Mutant], *, reason: bool) -> list[str]:
    if not mutants:
        return []
    told = [f"- {m.row}: {m.fear}{f' {m.equivalent}' if reason else ''}" for m in mutants]
    return ["", title, "", *told]


def _is_chosen(mutant: Mutant, family: str, words: Sequence[str]) -> bool:
    return not words or any(word in (family, mutant.row) or word in mutant.fear for word in words)


def main() -> int:
    """Run the lists; exit 1 if a mistake survived, a list or a test is unfit, 75 if time is up."""
    parser = records.parser((__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", default=[], nargs="+", metavar="WORD", help="families, rows or parts of fears"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, by lot")
    parser.add_argument("--jobs", type=int, default=2, help="copies that work side by side")
    parser.add_argument("--factor", type=float, default=1.0, help="times the limit of each run")
    parser.add_argument("--anew", action="store_true", help="try again what has a verdict")
    asked = parser.parse_args()
    lists = read_lists()
    if records.published("mutants", table(lists), asked):
        return records.PASSED
    chosen = [m for m in lists.mutants if _is_chosen(m, lists.rows[m.row].family, asked.only)]
    if not chosen:
        parser.error(f"no family, row or fear has {' or '.join(asked.only)}")
    if asked.sample:
        chosen = sorted(chosen, key=lambda m: hashlib.sha256(m.name.encode()).digest())
        chosen = chosen[: asked.sample]
    until = records.Deadline(asked.minutes)
    broken = {mutant: fault for mutant in chosen if (fault := mutant.fault())}
    unfit = faults_of(lists) + [f"{mutant.name} {fault}" for mutant, fault in broken.items()]
    for fault in unfit:
        print(f"unfit     {fault}")
    fitting = [mutant for mutant in chosen if mutant not in broken]
    unfit += run(fitting, until, jobs=asked.jobs, factor=asked.factor, anew=asked.anew)
    known = verdicts(chosen)
    counted = [m for m in chosen if m.name in known and not m.equivalent]
    outcomes = [known[m.name]["outcome"] for m in counted]
    counts = {name: outcomes.count(name) for name in (KILLED, SURVIVED, BROKEN)}
    seen = [m for m in chosen if m.equivalent and known.get(m.name, {}).get("outcome") == KILLED]
    told = ", ".join(f"{number} {name}" for name, number in counts.items())
    print(f"{told}, {len(chosen) - len(known)} without a verdict, {len(chosen)} in all")
    for mutant in counted:
        row = known[mutant.name]
        if row["outcome"] != KILLED:
            print(f"{row['outcome']:9} {mutant.name} {row['words']}")
    for mutant in seen:
        print(f"told apart {mutant.name}: {known[mutant.name]['by']}; it is not equivalent")
    if until.over and len(known) < len(chosen):
        return records.TIME_IS_UP
    return records.FOUND if unfit or seen or counts[SURVIVED] or counts[BROKEN] else records.PASSED


if __name__ == "__main__":
    sys.exit(main())
