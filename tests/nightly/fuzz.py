"""Give every reader inputs that were made worse; each must be refused clearly, or be sound.

An input is drawn from its seed, its reader and its number alone, so that any can be made again:
``--seed S --reader R --number N``. Inputs are judged in forked processes with a limit on memory; a
process that stops answering or dies is a find too, and the next one goes on behind that input. With
atheris (``pip install atheris``) readers are then searched by coverage. Run ``.ci/nightly fuzz``.
"""

from __future__ import annotations

import json
import lzma
import mmap
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import Any

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # a process that is forked must have no threads

from altered import ALTERED, altered, names_of  # noqa: E402
from readers import Reader, draw, readers  # noqa: E402
from records import (  # noqa: E402
    FOLDER,
    FOUND,
    PASSED,
    TIME_IS_UP,
    Deadline,
    Ledger,
    parser,
    published,
)

PARTS = (
    "hiertopics",
    "tests/formats",
    "tests/nightly/altered.py",
    "tests/nightly/fuzz.py",
    "tests/nightly/guided.py",
    "tests/nightly/readers.py",
    "tests/tiny.py",
)
INPUTS, INPUTS_LONG = 1_000_000, 10_000_000
CHUNK = 2000
ALTERED_INPUTS, ALTERED_CHUNK = 200_000, 250
"""Of whole folders, each of which is given to a command: some 30 ms of CPU."""

SLOW_SECONDS, HANG_SECONDS = 1.0, 30.0
"""Of CPU time, for inputs of a few kilobytes; who announces 100,000 words and more may be slow."""
LARGE = re.compile(rb"(?<!\d)\d{6,9}(?!\d)")
MOST_BYTES = 4 << 30
GUIDED_SECONDS, GUIDED_SECONDS_LONG = 15, 180


def judged(reader: Reader, content: bytes, folder: Path) -> tuple[bool, str]:
    """Return whether an input was accepted, and what is wrong with how it was met ("": nothing)."""
    began = time.process_time()
    try:
        accepted = reader.judge(content, folder)
    except MemoryError:
        return False, f"more memory than {MOST_BYTES >> 20} MiB\n{traceback.format_exc()}"
    except Exception:
        return False, traceback.format_exc()
    spent = time.process_time() - began
    most_seconds = SLOW_SECONDS if reader.limits is None else reader.limits[1]
    if spent <= most_seconds or LARGE.search(unpacked(content)):
        return accepted, ""
    return accepted, f"slow: {spent:.1f} s of CPU"


def unpacked(content: bytes) -> bytes:
    """Return what an input holds, as far as it can be unpacked."""
    for unpack in (zlib.decompressobj(31).decompress, lzma.LZMADecompressor().decompress):
        with suppress(zlib.error, lzma.LZMAError):
            return unpack(content)
    return content


def input_of(reader: Reader, seed: str, name: str, number: int) -> bytes:
    """Return an input, which its reader's name, the seed and its number make."""
    return draw(reader, Random(f"{seed}/{name}/{number}"))


class Chunk:
    """A row of inputs of one reader, judged in a process of its own."""

    def __init__(self, name: str, reader: Reader, seed: str, first: int, count: int) -> None:
        self.name, self.reader, self.seed = name, reader, seed
        self.first, self.end = first, first + count
        self.folder = Path(tempfile.mkdtemp(prefix="fuzz-", dir=in_memory()))
        self.shared = mmap.mmap(-1, 24)
        self.found: list[dict[str, Any]] = []
        self.peak, self.cpu = 0, 0.0
        self._start(first)

    def _tell(self, number: int, accepted: int, refused: int) -> None:
        self.shared[:] = struct.pack("qqq", number, accepted, refused)

    @property
    def told(self) -> tuple[int, int, int]:
        """The number of the input that is being judged; how many were accepted, and refused."""
        number, accepted, refused = struct.unpack("qqq", self.shared[:])
        return number, accepted, refused

    def _start(self, first: int) -> None:
        self._tell(first, *self.told[1:])
        self.seen, self.seen_at, self.seen_cpu = first, time.monotonic(), 0.0
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                self._judge_all(first)
                code = 0
            finally:
                os._exit(code)

    def _judge_all(self, first: int) -> None:
        warnings.simplefilter("error")
        size = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
        most = size + (MOST_BYTES if self.reader.limits is None else self.reader.limits[0])
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        _, accepted, refused = self.told
        for number in range(first, self.end):
            self._tell(number, accepted, refused)
            content = input_of(self.reader, self.seed, self.name, number)
            taken, wrong = judged(self.reader, content, self.folder)
            if wrong:
                with open(self.folder / "found.jsonl", "a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"number": number, "what": wrong}) + "\n")
            accepted, refused = accepted + taken, refused + (not taken)
        self._tell(self.end, accepted, refused)

    def over(self) -> bool:
        """Look after the process; return whether all of its inputs were judged."""
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if not pid:
            self._watch()
            return False
        self.peak = max(self.peak, usage.ru_maxrss >> 10)
        self.cpu += usage.ru_utime + usage.ru_stime
        number = self.told[0]
        if number < self.end:
            code = os.waitstatus_to_exitcode(status)
            hung = code == -signal.SIGKILL
            what = f"still busy after {HANG_SECONDS:.0f} s of CPU" if hung else f"it died: {code}"
            self.found.append({"number": number, "what": what})
            self._start(number + 1)
            return False
        self._collect()
        return True

    def _watch(self) -> None:
        """Kill the process where it has been at one input for too long."""
        number = self.told[0]
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if number != self.seen:
            self.seen, self.seen_at, self.seen_cpu = number, time.monotonic(), cpu
        waited = time.monotonic() - self.seen_at
        if cpu - self.seen_cpu > HANG_SECONDS or waited > 30 * HANG_SECONDS:
            os.kill(self.pid, signal.SIGKILL)

    def _collect(self) -> None:
        path = self.folder / "found.jsonl"
        if path.exists():
            self.found += map(json.loads, path.read_text(encoding="utf-8").splitlines())
        shutil.rmtree(self.folder)
        for find in self.found:
            content = input_of(self.reader, self.seed, self.name, find["number"])
            keep(f"{self.name}-{self.seed}-{find['number']}", content, find["what"])

    def row(self) -> dict[str, Any]:
        """Return what stands in the ledger."""
        _, accepted, refused = self.told
        found = [{**find, "what": find["what"].strip()[-300:]} for find in self.found]
        told = {"reader": self.name, "inputs": self.end - self.first, "accepted": accepted}
        told |= {"refused": refused, "found": found, "peak_mib": self.peak}
        return told | {"cpu_seconds": round(self.cpu, 1)}


def in_memory() -> Path | None:
    """Return a folder that is no disk, where there is one."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else None


def keep(name: str, content: bytes, what: str) -> None:
    """Save an input and what came of it under nightly/fuzz, and say so."""
    folder = FOLDER / "fuzz" / "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "input").write_bytes(content)
    (folder / "what.txt").write_text(what, encoding="utf-8")
    print(f"FOUND {name}: {what.strip().splitlines()[-1][:300]}\n  kept: {folder}", flush=True)


def tasks(names: Sequence[str], inputs: int, chunk: int = CHUNK) -> Iterator[tuple[str, int, int]]:
    """Yield reader, first number and count of all chunks, readers in turn."""
    each = -(-inputs // max(len(names), 1))
    for first in range(0, each, chunk):
        for name in names:
            yield name, first, min(chunk, each - first)


def search(given: Any, table_of: dict[str, Reader], ledger: Ledger, deadline: Deadline) -> bool:
    """Judge what is not in the ledger yet; return whether the time sufficed."""
    done = {row["key"] for row in ledger.rows()}
    folders = [name for name in table_of if name.startswith(ALTERED)]
    plain = [name for name in table_of if name not in folders]
    if given.reader not in (None, ALTERED):
        folders, plain = ([given.reader] if given.reader in own else [] for own in (folders, plain))
    turns = zip_longest(
        tasks(plain, given.inputs),
        tasks(folders, min(given.inputs, ALTERED_INPUTS), ALTERED_CHUNK),
    )
    waiting = [
        (f"{given.seed}/{name}/{first}+{count}", name, first, count)
        for name, first, count in filter(None, chain.from_iterable(turns))
    ]
    waiting = [task for task in waiting if task[0] not in done]
    running: list[tuple[str, Chunk]] = []
    while running or (waiting and not deadline.over):
        while waiting and len(running) < given.jobs and not deadline.over:
            key, name, first, count = waiting.pop(0)
            running.append((key, Chunk(name, table_of[name], given.seed, first, count)))
        for key, chunk in list(running):
            if chunk.over():
                ledger.add(key, **chunk.row())
                running.remove((key, chunk))
        time.sleep(0.02)
    return not waiting


def guided(given: Any, names: Sequence[str], ledger: Ledger, deadline: Deadline) -> bool:
    """Search the readers by coverage, where atheris is there; return whether the time sufficed."""
    if find_spec("atheris") is None or not given.guided:
        print("no coverage-guided search: " + ("atheris is missing" if given.guided else "0 s"))
        return True
    keys = {f"guided/{name}/{given.guided}": name for name in names}
    waiting = {key: name for key, name in keys.items() if ledger.done(key) is None}

    def one(name: str) -> dict[str, Any] | None:
        return None if deadline.seconds < given.guided else _guided_one(name, given.guided)

    with ThreadPoolExecutor(given.jobs) as pool:
        rows = pool.map(one, waiting.values())
        for key, row in zip(waiting, rows, strict=True):
            if row is None:
                return False
            ledger.add(key, **row)
    return True


def _guided_one(name: str, seconds: int) -> dict[str, Any]:
    program = Path(__file__).with_name("guided.py")
    with tempfile.TemporaryDirectory(prefix="guided-", dir=in_memory()) as folder:
        words = [sys.executable, str(program), name, str(seconds), folder]
        done = subprocess.run(words, capture_output=True, encoding="utf-8", errors="replace")
        counts = [line.split()[1] for line in done.stderr.splitlines() if line.startswith("Done ")]
        found: list[dict[str, Any]] = []
        for path in sorted(Path(folder).glob("find-*")):
            what = done.stdout[-3000:] + done.stderr[-3000:]
            keep(f"guided-{name}-{path.name}", path.read_bytes(), what)
            found.append({"number": path.name, "what": what.strip()[-300:]})
        if done.returncode and not found:
            found.append({"number": None, "what": done.stderr.strip()[-300:]})
    return {"reader": name, "guided": int(counts[0]) if counts else 0, "found": found}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the ledger as markdown."""
    lines = ["| reader | inputs | accepted | refused | found | by coverage | found | peak, MiB |"]
    lines.append("| --- " * 8 + "|")
    names = list(dict.fromkeys(row["reader"] for row in rows))
    for name in [*names, "all"]:
        own = [row for row in rows if name in (row["reader"], "all")]
        drawn = [row for row in own if "guided" not in row]
        by_coverage = [row for row in own if "guided" in row]
        cells = [sum(row[key] for row in drawn) for key in ("inputs", "accepted", "refused")]
        cells += [sum(len(row["found"]) for row in drawn)]
        cells += [sum(row["guided"] for row in by_coverage)]
        cells += [sum(len(row["found"]) for row in by_coverage)]
        cells += [max((row["peak_mib"] for row in drawn), default=0)]
        lines.append("| " + " | ".join([name, *(f"{cell:,}" for cell in cells)]) + " |")
    return "\n".join(lines)


def again(reader: Reader, given: Any) -> int:
    """Judge one input, given by its number or in a file; print it and what comes of it."""
    if given.input is not None:
        content = given.input.read_bytes()
    else:
        content = input_of(reader, given.seed, given.reader, given.number)
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        warnings.simplefilter("error")
        accepted, wrong = judged(reader, content, Path(folder))
    print(content)
    print(wrong or ("accepted" if accepted else "refused"))
    return FOUND if wrong else PASSED


def main() -> int:
    """Do what was asked for; return the exit code."""
    options = parser(str(__doc__).partition("\n")[0])
    options.add_argument("--reader", help="this one alone; altered: those of altered folders")
    options.add_argument("--seed", default="0", help="of all inputs (default 0)")
    options.add_argument("--number", type=int, help="with --reader: judge this input again")
    options.add_argument(
        "--input", type=Path, metavar="FILE", help="with --reader: judge this file"
    )
    options.add_argument("--inputs", type=int, default=0, help="of all readers together")
    options.add_argument("--guided", type=int, metavar="SECONDS", help="of coverage, per reader")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    given = options.parse_args()
    given.inputs = given.inputs or (INPUTS_LONG if given.long else INPUTS)
    if given.guided is None:
        given.guided = GUIDED_SECONDS_LONG if given.long else GUIDED_SECONDS
    ledger, deadline = Ledger("fuzz", *PARTS), Deadline(given.minutes)
    if published("fuzz", table(ledger.rows()), given):
        return PASSED
    with tempfile.TemporaryDirectory(prefix="fuzzed-", dir=in_memory()) as folder:
        wanted = given.reader or ""
        table_of = {} if wanted.startswith(ALTERED) else readers(Path(folder))
        plain = list(table_of)
        if not wanted or wanted.startswith(ALTERED):
            table_of |= altered(Path(folder), wanted or ALTERED)
        if given.reader and given.reader not in (*table_of, ALTERED):
            there = ", ".join(dict.fromkeys([*table_of, *names_of()]))
            options.error(f"there is no reader {given.reader!r}; there are {there}")
        if given.number is not None or given.input is not None:
            return again(table_of[given.reader], given)
        in_time = search(given, table_of, ledger, deadline)
    names = [name for name in plain if wanted in ("", name)]
    in_time = guided(given, names, ledger, deadline) and in_time
    print(table(ledger.rows()))
    if any(row["found"] for row in ledger.rows()):
        return FOUND
    return PASSED if in_time else TIME_IS_UP


if __name__ == "__main__":
    sys.exit(main())
