"""Attacks by what a machine takes away: memory, disk, kernels on disk, stdout, workers."""

from __future__ import annotations

import asyncio
import resource
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from attacks_by_files import copied, fit_words, labelled
from distributed.core import rpc
from faults import failing
from run_files import artefacts, contents, newest_checkpoint
from scene import Scene, names_below, until
from tiny import hand_made
from victims import Calls, Victim, forked, fresh

from hiertopics.corpus.formats.writing import write_corpus

KILOBYTE = 1024
LIMITS = {"-d": resource.RLIMIT_DATA, "-v": resource.RLIMIT_AS}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
ASCII = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


def kernels_on_disk(scene: Scene) -> None:
    """Compiled kernels that are empty, cut, garbage, gone; no room for them."""
    corpus, run, cache = labelled(scene), scene.here / "run", scene.here / "kernels"
    env = {"NUMBA_CACHE_DIR": str(cache)}
    scene.give("nothing", *fit_words(corpus, run, "hdp-cvb0"))
    words = ["infer", run, corpus, "-o", scene.here / "theta.npz"]
    scene.give("no kernel on disk", *words, env=env)
    sound = (scene.here / "theta.npz").read_bytes()
    files = [path for path in cache.rglob("*") if path.is_file()]
    scene.require(f"{len(files)} files of kernels", [] if files else ["none"])
    edits: dict[str, Callable[[bytes], bytes]] = {
        "empty": lambda data: b"",
        "50 bytes": lambda data: data[:50],
        "garbage": lambda data: b"\x80\x04garbage" * 20,
        "one bit turned": lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:],
    }
    for what, edit in edits.items():
        for kind in ("*", "*.nbi", "*.nbc"):
            for path in cache.rglob(kind):
                if path.is_file():
                    path.write_bytes(edit(path.read_bytes()))
            scene.give(f"kernels ({kind}): {what}", *words, env=env)
            same = (scene.here / "theta.npz").read_bytes() == sound
            scene.require("", [] if same else ["other bytes of theta"])
    shutil.rmtree(cache)
    full = {resource.RLIMIT_FSIZE: 12 * KILOBYTE}
    scene.give("no room for kernels", *words, env=env, limits=full)


def fit_on_cluster(scene: Scene, backend: str, *settings: str) -> tuple[Path, Path, list[str]]:
    """Fit in one process; return that run, one for a cluster, and the words of its fit."""
    corpus, alone, there = labelled(scene), scene.here / "alone", scene.here / "there"
    words = fit_words(corpus, alone, backend, *settings)
    words[words.index("--iterations") + 1] = "30"
    scene.give("in one process", *words)
    words[words.index(str(alone))] = str(there)
    return alone, there, [*words, "--cluster", "local:2"]


def workers_of(victim: Victim) -> list[psutil.Process]:
    """Return the processes that a command has for its workers."""
    with suppress(psutil.NoSuchProcess):
        below = psutil.Process(victim.pid).children(recursive=True)
        return [one for one in below if "spawn_main" in " ".join(one.cmdline())]
    return []


def same_files(scene: Scene, alone: Path, there: Path) -> None:
    """Note whether two fits made the same files."""
    wanted, found = artefacts(alone), artefacts(there)
    names = sorted(name for name in wanted | found if wanted.get(name) != found.get(name))
    scene.require("the same files as in one process", [f"other bytes: {name}" for name in names])


def silent_workers(scene: Scene) -> None:
    """A worker that stops answering, and answers again once it is named."""
    alone, there, words = fit_on_cluster(scene, "hdp-cvb0", "inference.shards=3")
    victim = fresh(words, scene.said)
    until(lambda: newest_checkpoint(there) >= 2, victim)
    stopped = max(workers_of(victim), key=lambda worker: worker.pid)
    stopped.suspend()
    try:
        named = until(lambda: "waiting for the worker" in victim.err, victim)
    finally:
        with suppress(psutil.NoSuchProcess):
            stopped.resume()
    scene.judge("a worker is stopped, then goes on", victim, names_below(scene.here))
    scene.require("who does not answer is named", [] if named else ["nothing said"])
    same_files(scene, alone, there)


def start_on_a_cluster(scene: Scene) -> None:
    """A worker is killed right after the start of the default backend."""
    alone, there, words = fit_on_cluster(scene, "nhdp-variational", "inference.shards=4")
    victim = fresh(words, scene.said)
    until(lambda: newest_checkpoint(there) >= 0, victim)
    first = newest_checkpoint(there)
    for worker in workers_of(victim)[:1]:
        worker.kill()
    scene.judge("a worker is killed at the first checkpoint", victim, names_below(scene.here))
    same_files(scene, alone, there)
    scene.require("a checkpoint after the start", [f"the first is {first}"] * (first > 1))


def others_at_the_scheduler(scene: Scene) -> None:
    """Somebody else on the machine speaks to the ports of a fit's processes."""
    alone, there, words = fit_on_cluster(scene, "hdp-cvb0", "inference.shards=2")
    words[words.index("--iterations") + 1] = "60"
    victim = fresh(words, scene.said)
    until(lambda: newest_checkpoint(there) >= 1, victim)
    victim.send(signal.SIGSTOP)
    victim.send(signal.SIGCONT)
    processes = [psutil.Process(victim.pid), *workers_of(victim)]
    ports = sorted(
        {
            one.laddr.port
            for process in processes
            for one in process.net_connections("tcp")
            if one.status == psutil.CONN_LISTEN
        }
    )
    reached = [port for port in ports if asyncio.run(_answers(port))]
    scene.judge(f"{len(ports)} ports are spoken to", victim, names_below(scene.here))
    scene.require("nobody answers", [f"port {port} answers" for port in reached])
    scene.require("there are ports", [] if ports else ["none"])
    del alone


async def _answers(port: int) -> bool:
    """Tell whether a port takes orders in Dask's own protocol without a certificate."""
    try:
        async with rpc(f"tcp://127.0.0.1:{port}", timeout=5) as there:
            await there.identity()
    except OSError:
        return False
    return True


def shards_over_old_ones(scene: Scene) -> None:
    """Convert over an old folder of shards, killed before each change of the file system."""
    old, new = scene.here / "old.ldac", scene.here / "new.ldac"
    write_corpus(hand_made(), old)
    write_corpus(hand_made().select(range(6, 20)), new)
    before, after = scene.here / "before.shards", scene.here / "after.shards"
    scene.give("the old folder", "convert", old, before)
    scene.give("the new folder", "convert", new, after)
    out = copied(before, "out.shards")
    counted = forked(["convert", str(new), str(out)], scene.said, scene.here, last=0)
    scene.judge("whole", counted, names_below(scene.here))
    names = names_below(scene.here)
    for last in range(1, len(Calls.of(scene.said).kinds) + 1):
        copied(before, "out.shards")
        victim = forked(["convert", str(new), str(out)], scene.said, scene.here, last=last)
        code, wrong = victim.wait(), []
        left = contents(out)
        if left not in (contents(before), contents(after)):
            wrong.append("neither the old nor the new folder")
        scene.note(f"killed before change {last}", code, "", wrong)
        scene.give("given again", "convert", new, out)
        wrong = [] if contents(out) == contents(after) else ["other bytes"]
        wrong += [f"left over: {name}" for name in names_below(scene.here) - names]
        scene.require("the new folder, nothing beside it", wrong)


def little_memory(scene: Scene) -> None:
    """Limits of a shell below what libraries need, at what they need, and above."""
    corpus, run = labelled(scene), scene.here / "run"
    for option, kilobytes in (("-d", 100_000), ("-d", 200_000), ("-v", 300_000), ("-v", 500_000)):
        for env in ({}, ONE_THREAD):
            limits = {LIMITS[option]: kilobytes * KILOBYTE}
            words = fit_words(corpus, run, "hdp-gibbs")
            what = f"ulimit {option} {kilobytes}{' with one thread' if env else ''}"
            scene.give(what, *words, code=1, says="memory", env=env, limits=limits)
    for option, kilobytes in (("-d", 700_000), ("-v", 1_500_000)):
        limits = {LIMITS[option]: kilobytes * KILOBYTE}
        words = fit_words(corpus, run, "hdp-gibbs")
        scene.give(f"ulimit {option} {kilobytes}", *words, env=ONE_THREAD, limits=limits)
        shutil.rmtree(run, ignore_errors=True)


def names_where_all_is_ascii(scene: Scene) -> None:
    """A corpus whose name an ASCII file system cannot hold."""
    path = scene.here / "cörpus ☃.ldac"
    write_corpus(hand_made(), path)
    run, page = scene.here / "run", scene.here / "page.html"
    scene.give("", *fit_words(path, run, "multinomial"))
    for words in (["report", run, "-o", page], ["show-tree", run], ["topics", run], ["docs", run]):
        scene.give("an ASCII file system", *words, env=ASCII)


def full_stdout(scene: Scene) -> None:
    """Stdout takes nothing: files are written, and it is said."""
    corpus, run = labelled(scene), scene.here / "run"
    write_corpus(hand_made().select(range(6, 20)), scene.here / "more.ldac")
    scene.give("nothing", *fit_words(corpus, run, "hdp-cvb0"))
    made = [
        (["infer", run, corpus, "-o", scene.here / "theta.npz"], "theta.npz"),
        (["report", run, "-o", scene.here / "page.html"], "page.html"),
        (["export", run, "-o", scene.here / "tree.json"], "tree.json"),
        (["update", run, scene.here / "more.ldac", "-o", scene.here / "updated"], "updated"),
    ]
    for words, name in made:
        scene.give("stdout is full", *words, code={0, 1}, stdout=Path("/dev/full"), leaves=(name,))
        there = (scene.here / name).exists()
        told = scene.verdicts[-1].code == 0 or "written" in scene.said.joinpath("err").read_text()
        wrong = [] if there else [f"no {name}"]
        scene.require("it is there and said", wrong + ([] if told else ["nothing is said of it"]))


def full_disks(scene: Scene) -> None:
    """Each write of merge and of a fit's beginning is refused for want of room."""
    corpus, run, made = labelled(scene), scene.here / "run", scene.here / "made"
    scene.give("nothing", *fit_words(corpus, run, "hdp-gibbs"))
    for words in (
        ["merge", str(run), "0", "1", "-o", str(made)],
        fit_words(corpus, made, "hdp-cvb0"),
    ):
        for first in range(1, 400, 1 if words[0] == "merge" else 25):
            victim = forked(
                words, scene.said, scene.here, within=failing("write", first, scene.here)
            )
            what = f"no room from write {first} on; {words[0]}"
            before = names_below(scene.here)
            code = scene.judge(what, victim, before, code={0, 1}, leaves=("made",)).code
            if code and made.exists():
                if words[0] == "merge":
                    scene.require("nothing is left of it", ["half a folder"])
                scene.give("after it", "show-tree", made, code={0, 1})
                scene.give("again, with room", *words)
            shutil.rmtree(made, ignore_errors=True)
            if code == 0:
                break


BY_LIMITS = {
    "kernels on disk": kernels_on_disk,
    "silent workers": silent_workers,
    "the start on a cluster": start_on_a_cluster,
    "others at the scheduler": others_at_the_scheduler,
    "shards over old ones": shards_over_old_ones,
    "little memory": little_memory,
    "names where all is ASCII": names_where_all_is_ascii,
    "a full stdout": full_stdout,
    "full disks": full_disks,
}
