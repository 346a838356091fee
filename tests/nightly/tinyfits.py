"""Fits of a tiny corpus that nobody kills, to compare with those that are killed."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from contextlib import redirect_stdout, suppress
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from run_files import artefacts, contents, newest_checkpoint
from tiny import hand_made, small_settings
from victims import Calls, forked, fresh

from hiertopics.cli import main
from hiertopics.contract import registry
from hiertopics.contract.observed import kind_of
from hiertopics.corpus.data.tree import ROOT
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.edits import named
from hiertopics.runs.rundir import RunDir

SHARDS = (1, 3)
RECORD_EVERY = 2
ITERATING_SECONDS, FEWEST, MOST = 0.4, 20, 200
UNTIMED = ("wall_seconds", "peak_memory_bytes", "argv")


class Outcome(NamedTuple):
    """A fit that was never killed: how it changes files, and seconds to its first checkpoint."""

    calls: Calls
    first_seconds: float


class Bench:
    """A backend, its tiny corpus, and fits that were never killed to compare with."""

    def __init__(self, backend: str, folder: Path) -> None:
        self.backend, self.folder = backend, folder
        self.corpus = self._write_corpus()
        self.iterations = FEWEST
        self._wanted: dict[int, dict[str, bytes]] = {}
        self._warm()
        self.whole = {shards: self._reference(shards) for shards in SHARDS}

    def _write_corpus(self) -> Path:
        made = hand_made()
        if kind_of(self.backend, registry.load(self.backend).Model()) == "vectors":
            path = self.folder / "tiny.npy"
            np.save(path, made.counts.toarray())
            return path
        path = self.folder / "tiny.ldac"
        write_corpus(made, path)
        authors = [
            f"{'ann' if doc % 2 else 'bo'}\t{'cy' if doc % 3 else 'di'}" for doc in range(30)
        ]
        path.with_suffix(".authors").write_text("\n".join(authors) + "\n", encoding="utf-8")
        return path

    def fit_words(
        self,
        run: Path,
        shards: int,
        workers: int = 1,
        iterations: int | None = None,
        checkpoint_seconds: float = 0.0,
    ) -> list[str]:
        """Return the words of the fit's command."""
        settings = (*small_settings(self.backend), f"output.record_every={RECORD_EVERY}")
        settings += (f"output.checkpoint_seconds={checkpoint_seconds}",)
        settings += (f"inference.shards={shards}",)
        words = ["fit", str(self.corpus), "-b", self.backend, "-o", str(run), "-q"]
        words += ["--holdout", "docs:0.2@0", "--workers", str(workers)]
        words += ["--iterations", str(self.iterations if iterations is None else iterations)]
        return words + [word for setting in settings for word in ("-s", setting)]

    def _warm(self) -> None:
        """Compile all that a fit needs in this process; choose the number of iterations."""
        for name, iterations in (("cold", 2), ("warm", FEWEST)):
            began = time.monotonic()
            with redirect_stdout(StringIO()), suppress(SystemExit):
                main(self.fit_words(self.folder / name, 1, 1, iterations))
        spent = (time.monotonic() - began) / FEWEST
        self.iterations = int(np.clip(ITERATING_SECONDS / spent, FEWEST, MOST))

    def _reference(self, shards: int) -> dict[bool, Outcome]:
        """Fit in one go, and again in two: the times and the number of calls of both."""
        whole, base, extended = (self.of(name, shards) for name in ("whole", "base", "extended"))
        outcome = {False: self._timed(whole, shards)}
        self._timed(base, shards, self.half)
        shutil.copytree(base, extended)
        outcome[True] = self._timed(extended, shards, seen=self.half)
        differing = self.differing(extended, shards)
        assert not differing, f"{self.backend}: extended, but other {differing}"
        return outcome

    @property
    def half(self) -> int:
        """The iterations of a run that is then extended; even: a line of metrics stands there."""
        return self.iterations // 4 * 2

    def of(self, name: str, shards: int) -> Path:
        """Return the folder of a run to compare with: whole, base or extended."""
        return self.folder / f"{name}-{shards}"

    def beside(self, shards: int) -> Path:
        """Return a run of the same fit under another seed, made when it is first asked for."""
        run = self.folder / f"beside-{shards}"
        if not run.exists():
            words = [*self.fit_words(run, shards, iterations=FEWEST), "--seed", "1"]
            with redirect_stdout(StringIO()), suppress(SystemExit):
                main(words)
        return run

    @cached_property
    def nodes(self) -> tuple[str, str]:
        """Two nodes with one parent, else the first one twice; of the whole fit."""
        tree = RunDir(self.of("whole", 1)).tree
        for parent in (ROOT, *tree.shown.tolist()):
            if len(children := tree.children(parent)) > 1:
                return str(children[0]), str(children[1])
        return str(tree.shown[0]), str(tree.shown[0])

    @cached_property
    def edits(self) -> Path:
        """A file with an edit: the two nodes are one."""
        path, run = self.folder / "edits.yaml", RunDir(self.of("whole", 1))
        words = [named(run.tree, run.vocab, int(node)) for node in self.nodes]
        path.write_text(f"merge:\n- [{', '.join(json.dumps(str(each)) for each in words)}]\n")
        return path

    @cached_property
    def foreign(self) -> Path:
        """A file with the tree of the whole fit, as another program may write it."""
        path, run = self.folder / "tree.json", RunDir(self.of("whole", 1))
        shown = run.tree.shown
        theta = run.theta.toarray()[:, shown]
        parts = {
            "parent": run.tree.parent[shown].tolist(),
            "theta": (theta / theta.sum(axis=1, keepdims=True)).tolist(),
            "phi": run.tree.phi[shown].tolist(),
            "vocab": list(run.vocab),
        }
        path.write_text(json.dumps(parts))
        return path

    @cached_property
    def more(self) -> Path:
        """A file with further documents."""
        path = self.corpus.with_name(f"more{self.corpus.suffix}")
        made = hand_made()
        if path.suffix == ".npy":
            np.save(path, made.counts.toarray()[::2])
        else:
            write_corpus(made.select(range(1, 30, 3)), path)
            shutil.copy(self.corpus.with_suffix(".vocab"), path.with_suffix(".vocab"))
            lines = self.corpus.with_suffix(".authors").read_text().splitlines()[1::3]
            path.with_suffix(".authors").write_text("\n".join(lines) + "\n")
        return path

    def _timed(
        self, run: Path, shards: int, iterations: int | None = None, seen: int = -1
    ) -> Outcome:
        said = self.folder / "said"
        words = self.fit_words(run, shards, iterations=iterations)
        victim = forked(words, said, run, last=0)
        victim.until(lambda: newest_checkpoint(run) > seen)
        first = victim.seconds
        code = victim.wait()
        assert code == 0, f"{self.backend}: {victim.err}"
        return Outcome(Calls.of(said), first)

    @cached_property
    def fresh_seconds(self) -> float:
        """Seconds until a new interpreter has made the first checkpoint."""
        run = self.folder / "timed"
        victim = fresh(self.fit_words(run, 1), self.folder / "said")
        victim.until(lambda: newest_checkpoint(run) >= 0)
        seconds = victim.seconds
        victim.wait()
        return seconds

    def differing(self, run: Path, shards: int) -> list[str]:
        """Return the names of files that are not as after a fit that was never killed."""
        if shards not in self._wanted:
            self._wanted[shards] = comparable(self.of("whole", shards))
        found, wanted = comparable(run), self._wanted[shards]
        return sorted(name for name in found | wanted if found.get(name) != wanted.get(name))


def comparable(run: Path) -> dict[str, bytes]:
    """Return what must be equal however a fit came about: all but times, paths, old checkpoints.

    Metrics count where an uninterrupted fit writes them: a stop adds a line of its own.
    """
    everything = contents(run)
    found = artefacts(run)
    found["newest checkpoint"] = everything[f"checkpoints/{newest_checkpoint(run):08d}.npz"]
    found["config.yaml"] = re.sub(rb"checkpoint_seconds: .*", b"", everything["config.yaml"])
    rows = [json.loads(line) for line in everything["metrics.jsonl"].splitlines()]
    regular = [row for row in rows if row["iteration"] % RECORD_EVERY == 0 or row is rows[-1]]
    untimed = [{key: row[key] for key in row if key != "seconds"} for row in regular]
    found["metrics.jsonl"] = json.dumps(untimed).encode()
    manifest = json.loads(everything["manifest.json"])
    kept = {key: value for key, value in manifest.items() if key not in UNTIMED}
    found["manifest.json"] = json.dumps(kept).encode()
    return found


def in_memory() -> Path | None:
    """Return a folder that is no disk, where there is one: a kill loses nothing that is in it."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else None
