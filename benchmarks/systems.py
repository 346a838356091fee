"""Systems of the record, and what is measured of one on a corpus, stage by stage, in children.

The result of every system becomes a run directory: ours by ``hiertopics fit``; flat topics by the
same and the clustering of ``show-tree --arrange``; those of other programs by a command that is
given a corpus and writes files for ``hiertopics import``. From there on all are scored by the same
commands. This module starts processes and so stays free of numpy.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import process
from benchmarks.process import ROOT, CommandFailed, Finished, OutOfTime
from benchmarks.records import Record

TREES = (
    "nhdp-variational",
    "nhdp-gibbs",
    "hlda-variational",
    "hlda-gibbs",
    "tssb-mcmc",
    "hca-variational",
)
FLAT = (
    "hdp-cvb0",
    "hdp-pcvb0",
    "hdp-cvb",
    "hdp-pcvb",
    "hdp-gibbs",
    "chdp-variational",
    "chdp-gibbs",
    "lda-gibbs",
    "multinomial",
)
OURS = (*TREES, *FLAT)
AVERAGED = ("nhdp-gibbs", "hlda-gibbs", "tssb-mcmc", "hdp-gibbs", "chdp-gibbs", "lda-gibbs")
"""Samplers: they keep draws, over which their predictions are averaged."""

BURSTS = "-bursts"
"""Ends the name of a backend that is fitted with ``model.bursts: document``."""

STEADY = ("nhdp-variational", f"nhdp-variational{BURSTS}", "multinomial")
"""Systems that draw nothing: every seed gives the same bytes."""

OF_NUMBERS = ("hca-variational",)
"""Backends that observe rows of numbers; the corpora are counts of words."""

ARRANGED = "-arranged"
NULL = "-null"
"""Ends the name of a system that is given the corpus with its words shuffled over documents."""

MADE = (
    "tfidf-ward",
    "tfidf-average",
    "tomotopy-hlda",
    "tomotopy-pa",
    "tomotopy-hpa",
    "tomotopy-lda-100",
    "tomotopy-hdp",
    "sklearn-nmf-100",
    "sklearn-lda-100",
    "gensim-lda-100",
    "gensim-hdp",
)
"""Systems whose files ``make-tree`` writes, in this python."""

PROGRAMS = ("hsbm", "bertopic-counts", "bertopic-embedding", "hca", "traco")
"""Systems whose files a program of its own writes (``Programs``)."""

LINKAGES = {"tfidf-ward": "tfidf_ward", "tfidf-average": "tfidf_average"}
"""Baselines of ``eval --task hierarchy``, the whole linkage, whose truth is that of the system."""

DEFAULT = "nhdp-variational"

STANDARD = (
    DEFAULT,
    "tfidf-ward",
    "tfidf-average",
    "multinomial",
    "hdp-cvb0",
    f"hdp-cvb0{ARRANGED}",
    f"nhdp-variational{BURSTS}",
    f"hdp-cvb0{BURSTS}",
    "lda-gibbs",
    f"lda-gibbs{ARRANGED}",
    "tomotopy-hlda",
    "tomotopy-lda-100",
    "tomotopy-hdp",
    "tomotopy-pa",
    "tomotopy-hpa",
    "sklearn-nmf-100",
    "gensim-lda-100",
    "gensim-hdp",
    "sklearn-lda-100",
    "hsbm",
    "bertopic-counts",
    "bertopic-embedding",
    "hca",
    "traco",
    "hlda-variational",
    "hdp-pcvb0",
    "hdp-gibbs",
    f"hdp-gibbs{ARRANGED}",
    f"hdp-gibbs{BURSTS}",
    "chdp-variational",
    "hdp-cvb",
    "hdp-pcvb",
    "chdp-gibbs",
    "nhdp-gibbs",
    f"nhdp-gibbs{BURSTS}",
    "hlda-gibbs",
    "tssb-mcmc",
    "hca-variational",
    f"{DEFAULT}{NULL}",
    f"tfidf-ward{NULL}",
)
"""Rows of the record, in the order in which they are measured: what is cheap first."""

SUPPORT = ("covered_50", "covered_70", "bits", "by_depth", "resamples")
COMPARED = ("model.npz", "theta.npz", "tree.json")
"""Files of a run that say whether two fits have the same bytes."""

BY_TOPICS = "perplexity_of_new_words_by_topics"
"""The field of a bursty model. A plain model scores new words by its topics anyway."""

PREDICTED = (
    "perplexity",
    "standard_error",
    "perplexity_with_cache",
    "perplexity_of_new_words",
    "protocol",
    "coherence_npmi",
    "parent_child_npmi",
)


class Programs(NamedTuple):
    """Programs and files of the systems that this python cannot run.

    graph_tool, bertopic, topmost: a python that has the package. embeddings: a folder of
    ``CORPUS.npy``, a row of numbers per document. hca: the program. commands: by the names of
    further systems.
    """

    graph_tool: str = sys.executable
    bertopic: str = sys.executable
    topmost: str = sys.executable
    embeddings: str | None = None
    hca: str | None = None
    commands: Mapping[str, Sequence[str]] = {}

    def command(self, system: str, corpus: str) -> list[str]:
        """Return the words before CORPUS FOLDER SEED; CommandFailed for what is not there."""
        scripts = ROOT / "benchmarks" / "foreign"
        if system in self.commands:
            return list(self.commands[system])
        if system in MADE:
            return process.benchmarks("make-tree", system)
        if system == "hsbm":
            return [self.graph_tool, str(scripts / "hsbm.py")]
        if system == "traco":
            return [self.topmost, str(scripts / "traco.py")]
        if system == "hca":
            if self.hca is None:
                raise CommandFailed("not installed: --hca names the program")
            return [sys.executable, str(scripts / "hca.py"), self.hca]
        words = [self.bertopic, str(scripts / "bertopic_tree.py")]
        if system == "bertopic-counts":
            return words
        file = Path(self.embeddings or "") / f"{corpus}.npy"
        if self.embeddings is None or not file.exists():
            raise CommandFailed(f"not installed: --embeddings names a folder with {corpus}.npy")
        return [*words, "--embedding", str(file)]


class Limits(NamedTuple):
    """Limits of a cell. minutes: wall time. resamples: their number for the support."""

    minutes: float
    resamples: int


class Place(NamedTuple):
    """A corpus by name, and its file; a file of label paths may stand beside it."""

    name: str
    path: Path

    @property
    def labelled(self) -> bool:
        """Whether each document has a label path."""
        return paths_of(self.path).exists()


def paths_of(path: Path) -> Path:
    """Return the file of label paths that belongs to a corpus: X.paths for X.ldac.gz."""
    return path.with_name(path.name.removesuffix(".gz")).with_suffix(".paths")


class Cell:
    """One system on one corpus, within a limit of wall time.

    folder: where runs are made; it is empty.
    """

    def __init__(
        self,
        place: Place,
        split: str,
        system: str,
        seed: int,
        limits: Limits,
        programs: Programs,
        folder: Path,
    ) -> None:
        self.place, self.split, self.seed = place, split, seed
        self.system = system.removesuffix(NULL)
        self.limits, self._programs, self._folder = limits, programs, folder
        self._until = time.monotonic() + 60 * limits.minutes
        self._run = folder / "run"
        self._cost = {"command_seconds": 0.0, "command_cpu_seconds": 0.0, "peak_bytes": 0}

    def measured(self) -> Record:
        """Do all stages, and return what they found.

        ``stopped_at`` names the stage at which the time was over, ``failed`` says by stage why one
        could not be done. Without a result of the fit nothing else is tried. ``does_not_apply``
        says why a system cannot have any; nothing is run for such a system.
        """
        if self.system in OF_NUMBERS:
            why = "it observes rows of numbers, not counts of words"
            return {"stopped_at": None, "failed": {}, "does_not_apply": why}
        found: Record = {"stopped_at": None, "failed": {}, "labelled": self.place.labelled}
        for name, stage in self._stages().items():
            if name in ("truth", "support") and not found["tree"]:
                continue
            try:
                found |= stage()
            except OutOfTime as error:
                if name == "fit":
                    self._add(error.finished)
                    found |= self._cost
                return {**found, "stopped_at": name}
            except CommandFailed as error:
                found["failed"][name] = reason(error)
                if name == "fit":
                    break
        return found

    def _stages(self) -> dict[str, Callable[[], Record]]:
        return {
            "fit": self._fitted,
            "perplexity": self._heldout,
            **({"truth": self._truth} if self.place.labelled else {}),
            "support": self._supported,
            "bytes": self._again,
        }

    def _do(self, *command: object) -> Finished:
        left = max(self._until - time.monotonic(), 1e-3)
        try:
            return process.run([str(word) for word in command], limit=left)
        except OSError as error:
            raise CommandFailed(f"not installed: {command[0]}: {error.strerror}") from error

    def _hiertopics(self, *words: object) -> Finished:
        return self._do(*process.hiertopics(*words))

    def _benchmarks(self, *words: object) -> Finished:
        return self._do(*process.benchmarks(*words))

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
        if self.system.removesuffix(BURSTS) in OURS:
            return [self._fit(self.system, run, None)]
        if self.system.endswith(ARRANGED):
            return self._arrange(self.system.removesuffix(ARRANGED), run, docs)
        return self._foreign(run, docs)

    def _fit(self, backend: str, run: Path, part: Path | None) -> Finished:
        holdout = self.split if part is None else "none"
        options = ("--backend", variant(backend), "--holdout", holdout, "--seed", self.seed)
        return self._hiertopics("fit", part or self.place.path, *options, "--run", run, "-q")

    def _arrange(self, backend: str, run: Path, docs: Path | None) -> list[Finished]:
        flat, file = self._flat(run), run.with_suffix(".npz")
        part = None if docs is None else self._part(run, docs)
        fitted = self._fit(backend, flat, part)
        arranged = self._benchmarks("tree-arranged", flat, file)
        self._import(run, docs, file)
        return [fitted, arranged]

    def _flat(self, run: Path) -> Path:
        return run.with_name(f"{run.name}-flat")

    def _part(self, run: Path, docs: Path | None) -> Path:
        """Write the documents that a tree is made of; return the file."""
        part = run.with_suffix(".ldac")
        self._benchmarks("tree-part", self.place.path, part, *self._which("--split", docs))
        return part

    def _which(self, option: str, docs: Path | None) -> tuple[object, ...]:
        return (option, self.split) if docs is None else ("--docs", docs)

    def _foreign(self, run: Path, docs: Path | None) -> list[Finished]:
        command = self._programs.command(self.system, self.place.name)
        part, folder = self._part(run, docs), run.with_suffix(".files")
        folder.mkdir()
        made = self._do(*command, part, folder, self.seed)
        self._import(run, docs, *written(folder))
        return [made]

    def _import(self, run: Path, docs: Path | None, *files: object) -> None:
        which = self._which("--holdout", docs)
        self._hiertopics("import", *files, "--corpus", self.place.path, *which, "--run", run)

    def _heldout(self) -> Record:
        """Score by the program's own inference and by the one scorer of the benchmarks."""
        base = self.system.removesuffix(ARRANGED)
        run = self._flat(self._run) if self.system.endswith(ARRANGED) else self._run
        average = ("--average",) if base.removesuffix(BURSTS) in AVERAGED else ()
        said = json.loads(
            self._hiertopics("eval", run, "--heldout", "--cache", "--json", *average).stdout
        )
        scored: Record = json.loads(
            self._benchmarks("record-score", run, self.place.path, self.split).stdout
        )
        own: Record = {name: said.get(name) for name in PREDICTED}
        # A bursty predictive keeps chance for words that come again, which new words then lack.
        own["perplexity_of_new_words"] = said.get(BY_TOPICS, said.get("perplexity_of_new_words"))
        return {**own, "split_hash": said["split"], **scored}

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
        how = self._natively() if self.system.removesuffix(BURSTS) in OURS else self._against()
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

    def _again(self) -> Record:
        """Make the tree a second time, and tell whether it has the same bytes."""
        again = self._folder / "again"
        self._make(again, None)
        return {"same_bytes": all(digest(self._run / n) == digest(again / n) for n in COMPARED)}


def variant(name: str) -> str:
    """Return what ``fit --backend`` is given: BACKEND, or BACKEND:bursts of a name with BURSTS."""
    return f"{name.removesuffix(BURSTS)}:bursts" if name.endswith(BURSTS) else name


def written(folder: Path) -> list[object]:
    """Return what ``hiertopics import`` is given of the files that a command wrote.

    levels.txt, linkage.npy, and document_info.csv with hierarchical_topics.csv are of the forms
    ``levels``, ``linkage`` and ``bertopic``; all other files tell theirs by their suffixes.
    """
    tables = [folder / name for name in ("document_info.csv", "hierarchical_topics.csv")]
    for form, files in (
        ("levels", [folder / "levels.txt"]),
        ("linkage", [folder / "linkage.npy"]),
        ("bertopic", tables),
    ):
        if files[0].exists():
            return [*(file for file in files if file.exists()), "--form", form]
    found = sorted(folder.iterdir())
    if not found:
        raise CommandFailed("the command wrote no file of a tree")
    return [*found]


def digest(path: Path) -> str:
    """Return the sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def compile_kernels(system: str, sample: Path, folder: Path) -> None:
    """Fit our backend behind ``system`` to a small corpus: numba keeps what it compiles."""
    name = system.removesuffix(NULL).removesuffix(ARRANGED)
    if name.removesuffix(BURSTS) in OURS and name not in OF_NUMBERS:
        words = ("--backend", variant(name), "--iterations", 2, "--run", folder / name, "-q")
        process.run(process.hiertopics("fit", sample, *words))


def shape(nodes: Sequence[Mapping[str, int]]) -> Record:
    """Return the number of nodes, of children of the root, and of the largest family below it.

    nodes: those of tree.json. Of several roots each is a branch, and there is no tree.
    """
    depth = {node["id"]: node["depth"] for node in nodes}
    roots = [node for node in nodes if node["parent"] == -1]
    first = 1 if len(roots) == 1 else 0
    families: dict[int, int] = {}
    for node in nodes:
        if node["depth"] > first:
            families[node["parent"]] = families.get(node["parent"], 0) + 1
    return {
        "tree": len(roots) == 1 < len(nodes),
        "nodes": len(nodes),
        "branches": sum(level == first for level in depth.values()),
        "largest_family": max(families.values(), default=0),
    }


def reason(error: CommandFailed) -> str:
    """Return the last line of what a failed command said."""
    last = str(error).strip().splitlines()[-1].removeprefix("hiertopics: error: ")
    missing = last.removeprefix("ModuleNotFoundError: No module named ")
    return last if missing == last else f"not installed: {missing.strip(chr(39))}"
