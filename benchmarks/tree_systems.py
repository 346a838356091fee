"""Systems that make trees, and what is measured of a tree, stage by stage, in child processes.

Every tree becomes a run directory: ours by ``hiertopics fit``; flat topics by the same and the
clustering of ``show-tree --arrange``; those of other programs by ``hiertopics import``. From there
on all are scored by the same commands. This module starts processes and so stays free of numpy.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import process
from benchmarks.process import ROOT, CommandFailed, Finished, OutOfTime
from benchmarks.records import Record

OURS = (
    "nhdp-variational",
    "nhdp-gibbs",
    "hlda-variational",
    "hlda-gibbs",
    "tssb-mcmc",
    "hca-variational",
)
FLAT = ("hdp-cvb0", "hdp-gibbs", "lda-gibbs")
AVERAGED = ("nhdp-gibbs", "hdp-gibbs")
"""Samplers that keep draws, over which their predictions are averaged."""

OF_NUMBERS = ("hca-variational",)
"""Backends that observe rows of numbers; the corpora are counts of words."""

ARRANGED = "-arranged"
HSBM = "hsbm"
LINKAGES = {"tfidf-ward": "tfidf_ward", "tfidf-average": "tfidf_average"}
"""Baselines of ``eval --task hierarchy``, the whole linkage, whose truth is that of the system."""

SYSTEMS = (
    "nhdp-variational",
    *LINKAGES,
    *(f"{name}{ARRANGED}" for name in ("hdp-cvb0", "lda-gibbs")),
    "tomotopy-hlda",
    "hlda-variational",
    HSBM,
    f"hdp-gibbs{ARRANGED}",
    "nhdp-gibbs",
    "hlda-gibbs",
    "tssb-mcmc",
    "hca-variational",
)
"""In the order in which they are measured: what is cheap and much asked for first."""

SUPPORT = ("covered_50", "covered_70", "bits", "by_depth", "resamples")


class Limits(NamedTuple):
    """What a cell may take, and what it needs from outside.

    minutes: wall time. resamples: of the support. graph_tool: a python that has graph-tool.
    """

    minutes: float
    resamples: int
    graph_tool: str | None


class Cell:
    """One system on one corpus, within a limit of wall time.

    path: file of the corpus. folder: where runs are made; it is empty.
    """

    def __init__(
        self, path: Path, split: str, system: str, seed: int, limits: Limits, folder: Path
    ) -> None:
        self.path, self.split, self.system, self.seed = path, split, system, seed
        self.limits, self._folder = limits, folder
        self._until = time.monotonic() + 60 * limits.minutes
        self._run = folder / "run"
        self._cost = {"command_seconds": 0.0, "command_cpu_seconds": 0.0, "peak_bytes": 0}

    def measured(self, *, labelled: bool) -> Record:
        """Do all stages, and return what they found.

        ``stopped_at`` names the stage at which the time was over, ``failed`` says by stage why one
        could not be done. Without a tree nothing else is tried. ``does_not_apply`` says why a
        system cannot make a tree of counts of words; nothing is run for such a system.
        """
        if self.system in OF_NUMBERS:
            why = "it observes rows of numbers, not counts of words"
            return {"stopped_at": None, "failed": {}, "does_not_apply": why}
        stages: dict[str, Callable[[], Record]] = {
            "fit": self._fitted,
            "perplexity": self._heldout,
            **({"truth": self._truth} if labelled else {}),
            "support": self._supported,
        }
        found: Record = {"stopped_at": None, "failed": {}}
        for name, stage in stages.items():
            try:
                found |= stage()
            except OutOfTime as error:
                if name == "fit":
                    self._add(error.finished)
                    found |= self._cost
                return {**found, "stopped_at": name}
            except CommandFailed as error:
                found["failed"][name] = _reason(error)
                if name == "fit":
                    break
        return found

    def _do(self, *command: object) -> Finished:
        left = max(self._until - time.monotonic(), 1e-3)
        return process.run([str(word) for word in command], limit=left)

    def _hiertopics(self, *words: object) -> Finished:
        return self._do(*process.hiertopics(*words))

    def _add(self, finished: Finished) -> None:
        """Count what a fit took; the peak is that of its largest process."""
        for name, value in finished.record.items():
            before = self._cost[name]
            self._cost[name] = max(before, value) if name == "peak_bytes" else before + value

    def _fitted(self) -> Record:
        for finished in self._make(self._run, None):
            self._add(finished)
        nodes = json.loads((self._run / "tree.json").read_text(encoding="utf-8"))["nodes"]
        return {**shape(nodes), **self._cost}

    def _make(self, run: Path, docs: Path | None) -> list[Finished]:
        """Make the tree of all training documents, or of those in a file; return what was run."""
        base = self.system.removesuffix(ARRANGED)
        if self.system in OURS:
            return [self._fit(base, run, None)]
        if base in FLAT:
            return self._arrange(base, run, docs)
        return self._foreign(run, docs)

    def _fit(self, backend: str, run: Path, part: Path | None) -> Finished:
        holdout = self.split if part is None else "none"
        options = ("--backend", backend, "--holdout", holdout, "--seed", self.seed, "--run", run)
        return self._hiertopics("fit", part or self.path, *options, "-q")

    def _arrange(self, backend: str, run: Path, docs: Path | None) -> list[Finished]:
        flat, file, part = self._flat(run), run.with_suffix(".npz"), None
        if docs is not None:
            part = docs.with_suffix(".ldac")
            self._do(*process.benchmarks("tree-part", self.path, docs, part))
        fitted = self._fit(backend, flat, part)
        arranged = self._do(*process.benchmarks("tree-arranged", flat, file))
        self._import(run, docs, file)
        return [fitted, arranged]

    def _flat(self, run: Path) -> Path:
        return run.with_name(f"{run.name}-flat")

    def _foreign(self, run: Path, docs: Path | None) -> list[Finished]:
        file = run.with_suffix(".npz")
        which = ("--split", self.split) if docs is None else ("--docs", docs)
        words = ("tree-foreign", self.path, self.system, file, "--seed", self.seed, *which)
        made = [self._do(*process.benchmarks(*words))]
        form: tuple[object, ...] = ()
        if self.system == HSBM:
            if self.limits.graph_tool is None:
                raise CommandFailed("not installed: --graph-tool names a python that has it")
            levels, script = run.with_suffix(".levels"), ROOT / "benchmarks" / "hsbm.py"
            made.append(self._do(self.limits.graph_tool, script, file, levels, self.seed))
            file, form = levels, ("--form", "levels")
        self._import(run, docs, file, *form)
        return made

    def _import(self, run: Path, docs: Path | None, file: Path, *form: object) -> None:
        which = ("--holdout", self.split) if docs is None else ("--docs", docs)
        self._hiertopics("import", file, *form, "--corpus", self.path, *which, "--run", run)

    def _heldout(self) -> Record:
        base = self.system.removesuffix(ARRANGED)
        run = self._flat(self._run) if base in FLAT else self._run
        average = ("--average",) if base in AVERAGED else ()
        said = json.loads(self._hiertopics("eval", run, "--heldout", "--json", *average).stdout)
        names = ("perplexity", "standard_error", "protocol", "parent_child_npmi")
        return {name: said.get(name) for name in names} | {"split_hash": said["split"]}

    def _truth(self) -> Record:
        words = ("eval", self._run, "--task", "hierarchy", "--json")
        said = json.loads(self._hiertopics(*words).stdout)
        if self.system not in LINKAGES:
            return {"levels": said["levels"]}
        whole = said["baselines"].get(LINKAGES[self.system])
        if whole is None:
            raise CommandFailed("no linkage: it needs scikit-learn")
        return {"levels": whole["levels"], "cut_levels": said["levels"]}

    def _supported(self) -> Record:
        how = self._natively() if self.system in OURS else self._against()
        said = json.loads(self._hiertopics("support", self._run, *how, "--json").stdout)
        changed = {key: value for key, value in said["settings"].items() if key != "against"}
        return {"support": {**{name: said[name] for name in SUPPORT}, "settings": changed}}

    def _natively(self) -> list[object]:
        return ["--resamples", self.limits.resamples]

    def _against(self) -> list[object]:
        """Make a tree of each resample's documents."""
        count = ("--resamples", self.limits.resamples)
        parts = ("--resample", "-o", self._folder / "parts")
        files = self._hiertopics("support", self._run, *count, *parts).stdout.splitlines()
        words: list[object] = []
        for number, file in enumerate(files):
            run = self._folder / f"part-{number}"
            self._make(run, Path(file))
            words += ["--against", run]
        return words


def compile_kernels(system: str, sample: Path, folder: Path) -> None:
    """Fit our backend behind ``system`` to a small corpus: numba keeps what it compiles."""
    backend = system.removesuffix(ARRANGED)
    if backend in (*OURS, *FLAT) and backend not in OF_NUMBERS:
        words = ("--backend", backend, "--iterations", 2, "--run", folder / backend, "-q")
        process.run(process.hiertopics("fit", sample, *words))


def shape(nodes: Sequence[Mapping[str, int]]) -> Record:
    """Return the number of nodes, of children of the root, and of the largest family below it.

    nodes: those of tree.json. Of several roots each is a branch.
    """
    depth = {node["id"]: node["depth"] for node in nodes}
    roots = [node for node in nodes if node["parent"] == -1]
    first = 1 if len(roots) == 1 else 0
    families: dict[int, int] = {}
    for node in nodes:
        if node["depth"] > first:
            families[node["parent"]] = families.get(node["parent"], 0) + 1
    return {
        "nodes": len(nodes),
        "branches": sum(level == first for level in depth.values()),
        "largest_family": max(families.values(), default=0),
    }


def _reason(error: CommandFailed) -> str:
    """Return the last line of what a failed command said."""
    return str(error).strip().splitlines()[-1].removeprefix("hiertopics: error: ")
