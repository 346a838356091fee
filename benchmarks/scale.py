"""How far one machine goes: tokens/s, bytes and scores at 1, 10 and 100 million tokens.

The parts of a corpus are random documents of it over the same words. Ours is the whole command
``hiertopics fit`` on shards, within a limit of memory that the system holds it to; what was fitted
already goes on, so that a run that was killed, or that had too little time, is not lost. The peers
train on the same documents within the same memory and some processor time. All are scored by the
benchmark's rules. This module starts processes and so stays free of numpy.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click

from benchmarks import options, process
from benchmarks.benchmark import benchmark
from benchmarks.process import CommandFailed
from benchmarks.records import Record
from benchmarks.table import MIB, Table, markdown

PEERS = ("tomotopy-lda-500", "gensim-lda-500", "gensim-hdp")
HELD_OUT = 2000
"""Documents that are put aside, at most a tenth of all."""

OUT_OF_TIME = ("exit code -24", "exit code -9:")
OUT_OF_MEMORY = ("MemoryError", "bad_alloc", "exit code -6:", "exit code -11:", "std::length_error")
FITS = Table(
    ("kind", "n_tokens", "model", "truncation"),
    {
        "model": "{model}",
        "tokens": "{n_tokens:,}",
        "words": "{n_words:,}",
        "iterations": "{sweeps}",
        "tokens/s of a core": lambda record: _or_reason(record, "tokens_per_second", "{:,.0f}"),
        "peak, MiB": lambda record: (
            f"{record['peak_bytes'] / MIB:,.0f}" if "peak_bytes" in record else ""
        ),
        "bytes per token": lambda record: (
            f"{record['peak_bytes'] / record['n_tokens']:.1f}" if "peak_bytes" in record else ""
        ),
        "perplexity": lambda record: _or_reason(record, "perplexity", "{:.0f}"),
    },
)
ON_CLUSTER = Table(
    ("n_tokens", "cluster"),
    {
        "tokens": "{n_tokens:,}",
        "processes": "{cluster}",
        "iterations": "{sweeps}",
        "worker killed": lambda record: (
            f"back to {record['went_back_to'][0]}" if "went_back_to" in record else "no"
        ),
        "seconds": "{command_seconds:.0f}",
        "CPU s": "{command_cpu_seconds:.0f}",
        "largest process, MiB": lambda record: f"{record['peak_bytes'] / MIB:,.0f}",
        "same bytes": lambda record: "yes" if record["same_bytes"] else "**no**",
    },
)
COSTS = Table(
    ("n_tokens", "truncation"),
    {
        "tokens": "{n_tokens:,}",
        "T": "{truncation}",
        "iterations before": "{burn_in}",
        "ns per token": "{nanoseconds:.0f}",
        "of it drawing topics": "{drawing_nanoseconds:.1f}",
        "cost per token, the second largest = 1": "{ratio:.3f}",
    },
)

SIZES = (1e9, 28e9)
MACHINES = (1, 16, 50)
CORES = 16
SETTINGS = ("inference.collapse=partial", "inference.shards=4")
PRODUCTS = ("model.npz", "theta.npz", "tree.json", "topics.csv")
"""Files of a run that must have the same bytes wherever it was fitted."""

BANDWIDTH = 1e9
"""Bytes per second of the network between machines."""

CHANGE_BYTES = 6
CROSSING = 0.05, 0.004
"""Seconds of an iteration on a cluster, and of each machine in it."""

ITERATIONS = 500
PUBLISHED = (
    ("HDP, Terenin et al. 2020", "768 million", "20 threads of one machine", "82 h, 25,000 it."),
    ("hLDA, Chen et al. 2018", "28 billion", "50 machines", "7 h"),
)


def table(results: Sequence[Record]) -> str:
    """Return the fits, the costs per token, and what follows for larger corpora."""
    fits = [record for record in results if record["kind"] in ("ours", "peer")]
    clusters = [record for record in results if record["kind"] == "cluster"]
    costs = [record for record in results if record["kind"] == "cost"]
    parts = [FITS(fits)] if fits else []
    parts += [ON_CLUSTER(clusters)] if clusters else []
    if costs:
        parts += [COSTS(costs), projection(max(costs, key=lambda record: record["n_tokens"]))]
    return "\n\n".join(parts)


def projection(cost: Record) -> str:
    """Return what ITERATIONS would take at other sizes, if all went as at the largest measured.

    theory: tokens and topics are shared by all cores of a machine, each machine draws all topics,
    changed cells go from and to every machine one after the other.
    """
    rows: list[Sequence[object]] = []
    cells = cost["n_words"] * cost["truncation"]
    for tokens in SIZES:
        for machines in MACHINES:
            sweep = tokens * (cost["nanoseconds"] - cost["drawing_nanoseconds"]) / 1e9
            drawn = cost["drawing_nanoseconds"] * cost["n_tokens"] / 1e9
            changed = min(cells, cost["changed_share"] * tokens)
            wire = CHANGE_BYTES * changed * (1 + machines) / BANDWIDTH
            crossing = CROSSING[0] + CROSSING[1] * machines + wire if machines > 1 else 0.0
            seconds = sweep / (machines * CORES) + drawn / CORES + crossing
            hours = f"{ITERATIONS * seconds / 3600:.1f} h"
            place = f"{machines} x {CORES} cores"
            rows.append((f"hdp-gibbs, T={cost['truncation']}", f"{tokens / 1e9:g} billion", place))
            rows[-1] = (*rows[-1], f"{hours}, {ITERATIONS} it., projected")
    heads = ("model", "tokens", "machines", "time")
    return markdown(heads, [*rows, *PUBLISHED])


@benchmark("scale", table)
@click.argument("shards", type=options.FOLDER)
@click.option("--work", type=options.NEW_FOLDER, required=True, help="Folder of parts and runs.")
@click.option("--tokens", type=options.NUMBER, multiple=True, default=("1M", "10M", "100M"))
@click.option("--truncation", default=500, show_default=True)
@click.option("--iterations", default=100, show_default=True)
@click.option("--memory", default=6.0, show_default=True, help="GB that a model may take.")
@click.option("--workers", default=2, show_default=True, help="Threads of our fit.")
@click.option("--cluster", metavar="local:N", help="Fit there, too, and compare the bytes.")
@click.option("--kill", is_flag=True, help="Kill a process of the cluster amid a sweep.")
@click.option("--checkpoint-seconds", default=60.0, show_default=True, help="Of our fits.")
@click.option("--time-limit", help="Of each of our fits, as 40m; what was fitted is scored.")
@click.option("--peer", type=click.Choice(PEERS), multiple=True, default=PEERS, show_default=True)
@click.option("--peers/--no-peers", default=True, help="Any of them.")
@click.option("--seconds", default=600, show_default=True, help="Processor time of a peer.")
@click.option(
    "--burn-in",
    type=click.IntRange(min=5),
    default=10,
    show_default=True,
    help="Iterations before costs are taken.",
)
@click.option("--rounds", default=3, show_default=True, help="Measurements of the cost; 0: none.")
@click.option("--fits/--no-fits", default=True, help="Our fits.")
def measure(
    shards: Path,
    work: Path,
    tokens: tuple[int, ...],
    truncation: int,
    iterations: int,
    memory: float,
    workers: int,
    cluster: str | None,
    kill: bool,
    checkpoint_seconds: float,
    time_limit: str | None,
    peer: tuple[str, ...],
    peers: bool,
    seconds: int,
    burn_in: int,
    rounds: int,
    fits: bool,
) -> Iterator[Record]:
    """One machine at 1, 10 and 100 million tokens: speed, memory and score; SHARDS holds the text.

    A peer that does not end a sweep in its time, or that takes more memory, gives up.
    """
    work.mkdir(parents=True, exist_ok=True)
    limit = round(memory * 1e9)
    parts = {size: _part(shards, work, size) for size in tokens}
    for size, path in parts.items():
        about = _sizes(path)
        split = f"docs:{min(0.1, HELD_OUT / about['n_docs']):.6f}@0"
        shared = {**about, "split": split, "truncation": truncation, "memory": limit}
        settings = [*SETTINGS, f"model.truncation={truncation}"]
        settings.append(f"output.checkpoint_seconds={checkpoint_seconds}")
        chosen = [word for pair in settings for word in ("--set", pair)]
        command = ["fit", path, "--backend", "hdp-gibbs", "--holdout", split, *chosen, "-q"]
        command += ["--iterations", iterations, "--memory", limit]
        here = work / f"run-{size}"
        if fits:
            found = _ours(command, here, path, split, limit, workers, time_limit)
            yield {"kind": "ours", "model": f"hdp-gibbs-{truncation}", **shared, **found}
        if cluster is not None:
            there = work / f"run-{size}-cluster"
            yield {
                "kind": "cluster",
                "cluster": cluster,
                **shared,
                **_on_cluster(command, there, cluster, limit, kill=kill),
                "same_bytes": _digest(there) == _digest(here),
            }
        for name in peer if peers else ():
            yield {
                "kind": "peer",
                "model": name,
                **shared,
                **_peer(path, split, name, limit, seconds),
            }
    if rounds:
        arguments = [
            work,
            *parts.values(),
            "--truncation",
            truncation,
            "--burn-in",
            burn_in,
            "--rounds",
            rounds,
        ]
        for line in process.run(process.benchmarks("scale-cost", *arguments)).stdout.splitlines():
            yield {"kind": "cost", **json.loads(line)}


def _part(shards: Path, work: Path, size: int) -> Path:
    """Return shards of about so many tokens, made where they are not there yet."""
    path = work / f"part-{size}.shards"
    if not path.exists():
        process.run(process.benchmarks("scale-part", shards, path, size))
    return path


def _sizes(path: Path) -> Record:
    manifest = json.loads((path / "shards.json").read_text(encoding="utf-8"))
    return {name: manifest[name] for name in ("n_docs", "n_words", "n_tokens", "n_pairs")}


def _ours(
    command: Sequence[object],
    run: Path,
    path: Path,
    split: str,
    limit: int,
    workers: int,
    time_limit: str | None,
) -> Record:
    """Fit, or go on; the speed is that of the iterations of this command, its start included."""
    before = _manifest(run).get("iterations", 0)
    arguments = [*command, "--run", run, "--workers", workers]
    arguments += ["--time-limit", time_limit] if time_limit else []
    done = process.run(_within(limit, process.hiertopics(*arguments)), (0, 75))
    manifest = _manifest(run)
    score = json.loads(process.run(process.benchmarks("scale-score", path, split, run)).stdout)
    n_new = manifest["iterations"] - before
    tokens = _sizes(path)["n_tokens"] * n_new
    return {
        **done.record,
        "peak_bytes": manifest["peak_memory_bytes"],
        "sweeps": manifest["iterations"],
        "status": manifest["status"],
        "tokens_per_second": tokens / done.cpu_seconds if n_new else math.nan,
        **score,
    }


def _on_cluster(
    command: Sequence[object], run: Path, cluster: str, limit: int, *, kill: bool
) -> Record:
    """Fit in processes of a cluster, each within the limit; maybe kill one of them."""
    if run.exists():
        raise click.UsageError(f"{run} is there already: what is killed begins anew")
    killer = Killer(run) if kill else None
    arguments = [*command, "--run", run, "--cluster", cluster]
    done = process.run(_within(limit, process.hiertopics(*arguments)), meanwhile=killer)
    found = {**done.record, "sweeps": _manifest(run)["iterations"]}
    if killer is not None:
        log = (run / "log.txt").read_text(encoding="utf-8")
        back = re.findall(r"continuing from iteration (\d+)", log)
        if not killer.killed or not back:
            raise click.ClickException(f"{run}: no worker was killed; choose more iterations")
        found |= {**killer.killed, "went_back_to": [int(number) for number in back]}
    return found


def _digest(run: Path) -> str:
    """Return what is the same for runs whose products have the same bytes."""
    digest = hashlib.sha256()
    for name in PRODUCTS:
        digest.update((run / name).read_bytes())
    return digest.hexdigest()


def _manifest(run: Path) -> Record:
    path = run / "manifest.json"
    found: Record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _peer(path: Path, split: str, name: str, limit: int, seconds: int) -> Record:
    command = process.benchmarks("scale-peer", path, split, name, "--seconds", seconds)
    try:
        done = process.run(_within(limit, command, seconds))
    except CommandFailed as error:
        return {"sweeps": 0, "gave_up": _why(str(error), limit, seconds)}
    found: Record = json.loads(done.stdout)
    return {"peak_bytes": done.peak_bytes, **found}


def _why(complaint: str, limit: int, seconds: int) -> str:
    """Return why a peer gave up; raises CommandFailed where it was for another reason."""
    if any(code in complaint for code in OUT_OF_TIME):
        return f"no sweep in {seconds} s"
    if any(word in complaint for word in OUT_OF_MEMORY):
        return f"more than {limit / 1e9:g} GB"
    raise CommandFailed(complaint)


def _within(limit: int, command: Sequence[str], seconds: int | None = None) -> list[str]:
    """Return the command with the system holding it to so many bytes of data and seconds.

    Twice the seconds: a peer that is done with a sweep has to be scored, too.
    """
    # Code of the libraries is mapped privately; so it counts for the system, but not for --memory.
    bounds = [f"--data={limit + 96 * MIB}"]
    bounds += [f"--cpu={2 * seconds}"] if seconds else []
    return ["prlimit", *bounds, "--", *command]


def _or_reason(record: Record, name: str, template: str) -> str:
    return template.format(record[name]) if name in record else str(record.get("gave_up", ""))


LOOK_EVERY = 0.05
WORKED = 0.3
"""Seconds of processor time that a worker takes before it is killed: that long it sweeps."""


class Killer:
    """Waits for a checkpoint of ``run``, then kills the first worker that works again.

    killed: what was done, empty as long as nothing was.
    """

    def __init__(self, run: Path) -> None:
        self._run = run
        self.killed: Record = {}

    def __call__(self, pid: int) -> None:
        """Look after the fit with this process number until it ends or a worker is dead."""
        began, ticks = time.monotonic(), os.sysconf("SC_CLK_TCK")
        with suppress(OSError):  # the fit has ended
            while not self._iterations():
                os.kill(pid, 0)
                time.sleep(LOOK_EVERY)
            before = {worker: _ticks(worker) for worker in _workers(pid)}
            while not self.killed:
                for worker, at_first in before.items():
                    if _ticks(worker) - at_first >= WORKED * ticks:
                        os.kill(worker, signal.SIGKILL)
                        self.killed = {
                            "killed_after_seconds": time.monotonic() - began,
                            "checkpoint": max(self._iterations()),
                        }
                        break
                time.sleep(LOOK_EVERY)

    def _iterations(self) -> list[int]:
        return [int(path.stem) for path in self._run.glob("checkpoints/[0-9]*.npz")]


def _workers(pid: int) -> Iterator[int]:
    """Yield the processes that Dask began for a fit."""
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            command = (path / "cmdline").read_bytes()
            if _stat(int(path.name))[1] == str(pid) and b"spawn_main" in command:
                yield int(path.name)


def _ticks(pid: int) -> int:
    """Return the processor time of a process so far."""
    return sum(int(field) for field in _stat(pid)[11:13])


def _stat(pid: int) -> list[str]:
    """Return what the system tells of a process, from its state on."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return text.rpartition(")")[2].split()
