"""The run directory: its readers, its lock, and the two files that grow.

Layout and guarantees: docs/runs.md. Everything in it opens with numpy, json and a text editor.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import archives, files
from hiertopics.base.arrays import F64, I32, I64, Bools
from hiertopics.base.axes import (
    Axes,
    require_below,
    require_declared,
    require_numbers,
    require_whole,
)
from hiertopics.base.errors import HiertopicsError, NoRunError, RunError, UsageError
from hiertopics.contract.model import Paths
from hiertopics.corpus.data import NodeSupport, Support, Tree, how_found
from hiertopics.corpus.data.membership import (
    BLOCK,
    ENTRIES,
    blocks_of,
    branch_members,
    counts_of_blocks,
)
from hiertopics.corpus.holdouts.split import Split
from hiertopics.runs.documents import DOCUMENTS, DocumentRecords, read_documents
from hiertopics.runs.experiment import CONFIG, fitted_experiment
from hiertopics.runs.manifest import (
    FILES,
    MANIFEST,
    has_manifest,
    is_number,
    read_manifest,
    settings_version,
)
from hiertopics.settings.config import Experiment, dump

RUNS = Path("runs")
VALUES = Annotated[F64, Axes("n_entries", least=0)]
"""Entries of theta: shares of documents."""

OFF_ONE = 1e-6
"""How far above 1 a share may be."""

LOCK = ".lock"
NAMES = (
    LOCK,
    MANIFEST,
    CONFIG,
    DOCUMENTS,
    "edits.yaml",
    "groups.txt",
    "labels.csv",
    "log.txt",
    "metrics.jsonl",
    "model.npz",
    "paths.npz",
    "split.npz",
    "support.json",
    "theta.npz",
    "theta_groups.npz",
    "topics.csv",
    "tree.json",
    "vocab.txt",
)
"""Files of a run that stand in its own folder."""

CORPORA = ("corpus", "corpus.shards")
"""Folders of a run that keeps its corpus."""

FOLDERS = ("checkpoints", "draws", "eval", "support", *CORPORA)

DRAWS = "draws/"
"""How the names of sealed draws begin."""

SUPPORT = "support.json"
"""The file with the support of nodes by resamples (``fitting.support``)."""

OUTLINES = "outlines"
"""Its key that says that resamples were outlined (``fitting.branches``): too rough for a node."""

CHAIN_PATHS = "chain_paths"
"""The array of a draw that holds the paths of all chains, [n_chains, n_docs, L]."""


class _DocumentLengths(NamedTuple):
    """Numbers by which documents are counted: lengths int64 [n_docs], and paths, if any."""

    lengths: I64
    path: I32 | None


class RunDir:
    """A run on disk. Reading methods raise RunError where a file is missing or damaged."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Return the run at ``path``; raises NoRunError if there is none."""
        run = cls(path)
        if run.exists:
            return run
        if os.path.isfile(run.path / CONFIG):
            what = "came to no manifest.json; give the command again that was to make it"
            raise RunError(f"{path} is no run yet: it {what}")
        from hiertopics.runs.meant import meant_by  # only a mistake needs it

        raise NoRunError(f"{path} is not a run: {meant_by(run.path, RUNS)}")

    @classmethod
    def newest(cls, root: Path = RUNS) -> Self:
        """Return the run below ``root`` whose manifest changed last, of those with a model if any.

        Raises NoRunError if there is no run.
        """
        found = cls.newest_first(root)
        if not found:
            raise NoRunError(f"there is no run under {root}{os.sep}; make one with 'fit'")
        return next((run for run in found if not run.lacks_model), found[0])

    @classmethod
    def newest_first(cls, root: Path = RUNS) -> list[Self]:
        """Return the runs below ``root``; the one whose manifest changed last is the first."""
        manifests = root.glob("*/manifest.json")
        by_age = sorted(manifests, key=lambda path: path.stat().st_mtime_ns, reverse=True)
        return [cls(path.parent) for path in by_age]

    @property
    def exists(self) -> bool:
        """Whether a fit has begun here."""
        return has_manifest(self.path)

    def file(self, name: str) -> Path:
        """Return the path of a file or folder of the run, whose name may begin with a folder's.

        Raises RunError where it, or the folder that it lies in, is a symbolic link: a run that
        somebody sends must not lead to other files. The run's own folder may be reached over one.
        """
        return files.inside(self.path, name)

    def numbered(self, folder: str) -> list[Path]:
        """Return the npz files of a folder that are named by an iteration, in order; no others.

        Raises RunError as ``file`` does.
        """
        found = (path for path in self.file(folder).glob("*.npz"))
        names = (path.name for path in found if re.fullmatch("[0-9]{8,}", path.stem))
        return [self.file(f"{folder}/{name}") for name in sorted(names)]

    def require_own_corpus(self) -> None:
        """Raise RunError where a corpus that the run keeps lies behind a symbolic link."""
        for name in CORPORA:
            files.refuse_links(self.file(name))

    def create(self) -> None:
        """Make the folder; raises RunError where that cannot be done."""
        files.make_folder(self.file("checkpoints"))

    @contextmanager
    def made(self) -> Iterator[None]:
        """Make the folder and hold it as ``locked``; remove it again if no run comes of it.

        After an error, files are removed that were not there before, as long as there is no
        manifest. Raises what ``create`` and ``locked`` raise.
        """
        before = self._present()
        try:
            self.create()
            with self.locked():
                try:
                    yield
                except BaseException:
                    if not self.exists:
                        self._withdraw(before)
                    raise
        except HiertopicsError:
            if not os.path.lexists(self.path / LOCK):  # nobody else is at work there
                for folder in sorted({self.path / "checkpoints", self.path} - before, reverse=True):
                    with suppress(OSError):
                        folder.rmdir()
            raise

    def _present(self) -> set[Path]:
        """Return what there is of the run: its folder, its files, its folders and those in them."""
        folders = [self.path / name for name in FOLDERS]
        found = {self.path, *folders, *(self.path / name for name in NAMES)}
        within = (folder for folder in folders if os.path.isdir(folder) and not folder.is_symlink())
        found |= {path for folder in within for path in folder.rglob("*")}
        return {path for path in found if os.path.lexists(path)}

    def _withdraw(self, before: Set[Path]) -> None:
        """Remove files of the run that were not there before, and folders that are empty then."""
        for path in sorted(self._present() - before, reverse=True):  # a folder after what is in it
            with suppress(OSError):
                if path.is_dir():
                    path.rmdir()
                else:
                    path.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the run for one writer; the lock ends with the process, even if that is killed.

        Raises RunError where another process holds it, or where a file of it is a symbolic link.
        """
        for name in NAMES:
            self.file(name)
        for name in FOLDERS:
            files.refuse_links(self.file(name))
        try:
            stream = files.open_inside(self.file(LOCK), "a")
        except OSError as error:
            raise RunError(f"cannot write in {self.path}: {error.strerror or error}") from error
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not os.fstat(stream.fileno()).st_nlink:
                    raise BlockingIOError  # its holder has just taken the folder away
            except OSError:
                raise RunError(
                    f"{self.path} is being written by another process; wait for it, "
                    "or choose another directory with -o"
                ) from None
            for folder in (".", *FOLDERS[:4]):
                files.remove_partial(self.file(folder))
            yield

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The manifest on disk."""
        return read_manifest(self.path)

    @property
    def settings_version(self) -> int:
        """Number of the defaults that the run was made under (``settings.history``)."""
        return settings_version(self.path, self.manifest)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        files.write_json(self.file(MANIFEST), dict(manifest))
        self.__dict__["manifest"] = dict(manifest)

    @cached_property
    def experiment(self) -> Experiment:
        """The run's config; missing keys have the meaning of the time of the fit."""
        return fitted_experiment(self.path, self.manifest)

    def write_config(self, experiment: Experiment) -> None:
        """Replace the config."""
        files.write_text(self.file(CONFIG), dump(experiment))
        self.__dict__["experiment"] = experiment

    @cached_property
    def tree(self) -> Tree:
        """The summarised tree; RunError if the fit has none yet."""
        if self._is_unfinished:
            raise RunError(f"{self.path} has no model yet; give the fit's command again, to go on")
        path = self.sealed("model.npz")
        return _tree(path, archives.read_npz(path))

    def require_node(self, node: int) -> int:
        """Return a node; UsageError if the tree shows no such node."""
        shown = self.tree.shown
        if node not in shown:
            known = f"; they go from {shown[0]} to {shown[-1]}" if len(shown) else ""
            raise UsageError(f"{self.path} has no node {node}{known}")
        return node

    @property
    def has_model(self) -> bool:
        """Whether a fit of the run has written a summary, the last fit or an earlier one."""
        name = "model.npz"
        if not (self.exists and self.file(name).exists()):
            return False
        return name in self.manifest.get(FILES, (name,))

    @property
    def _is_unfinished(self) -> bool:
        return not self.has_model and bool(self.manifest["status"] != "done")

    @property
    def lacks_model(self) -> bool:
        """Whether no fit of the run has come to a model yet; False for a damaged run."""
        try:
            return self._is_unfinished
        except RunError:
            return False

    def sealed(self, name: str) -> Path:
        """Return the path of a file of the run, once it is known to belong to the others.

        The manifest holds the seal of each, and is written after them. Raises RunError where a
        file is missing, or is not the one that was sealed: a fit was killed while it replaced
        them, or a file of another run was put there. A run of before there were seals has none.
        """
        path = self.file(name)
        if FILES not in self.manifest:
            return path
        if name not in self.manifest[FILES]:
            raise RunError(f"{self.path} has no {name} yet; give the fit's command again, to go on")
        # Two seals stand there while one file takes the place of the other.
        if archives.seal(path) not in self.manifest[FILES][name].split():
            remedy = (
                "only a fit begun anew, under another -o, draws it again"
                if name.startswith(DRAWS)
                else "give the fit's command again, which writes it anew"
            )
            what = "it is not the file that was written with manifest.json"
            raise RunError(f"{path} is damaged: {what}; {remedy}")
        return path

    def seals(self, names: Iterable[str]) -> dict[str, str]:
        """Return the seals of files of the run on disk."""
        return {name: archives.seal(self.file(name)) for name in names}

    def broken_seal(self) -> str | None:
        """Return a sealed file that is missing or changed, if any; draws are not checked."""
        for name in self.manifest.get(FILES, ()):
            if name.startswith(DRAWS):
                continue
            try:
                self.sealed(name)
            except RunError:
                return str(name)
        return None

    @cached_property
    def supported_tree(self) -> Tree:
        """The summarised tree as views show it.

        With the documents of each branch, and what tree.json says of several chains and other runs.
        """
        if not self.has_model:
            return self.tree
        path, transfer = self.sealed("tree.json"), self._node_support()
        flaws = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
        with files.readable(path, *flaws):
            written = json.loads(path.read_text(encoding="utf-8"))
            splits = self._told(written["nodes"], "split_probability")
            found, n_others = self._told(written["nodes"], "support"), written.get("others")
            support = None
            if found is not None and n_others is not None:
                support = Support(found.astype(np.int64), int(n_others))
        return replace(
            self.tree,
            split_probability=splits,
            support=support,
            transfer=transfer,
            counted=self._counted(),
        )

    def _counted(self) -> I64 | None:
        """Return the documents of each branch; None for mixtures without lengths of documents."""
        known = self._lengths_and_path
        if known is None or (self.tree.is_flat and known.path is None):
            return self.tree.n_docs if self.tree.is_flat else None
        return counts_of_blocks(self.tree, self.theta_in_blocks(), *known)

    @property
    def _lengths_and_path(self) -> _DocumentLengths | None:
        """Lengths and paths of documents; None for mixtures without lengths of documents."""
        lengths = self.split.train_lengths
        if self.paths is None:
            return None if lengths is None else _DocumentLengths(lengths, None)
        return _DocumentLengths(np.ones(len(self.paths.node), np.int64), self.paths.node)

    def belong_to(self, node: int) -> Bools | None:
        """Return which training documents belong to a node, bool [n_docs], as they are counted.

        None for mixtures without lengths of documents.
        """
        known = self._lengths_and_path
        if known is None:
            return None
        members = branch_members(self.tree, self.theta, *known, np.array([node]))
        return np.asarray(members.toarray().ravel())

    def _node_support(self) -> NodeSupport | None:
        """Return what support.json says of the nodes; None where it speaks of an earlier model."""
        path = self.path / SUPPORT
        if not path.exists() and SUPPORT not in self.manifest.get(FILES, ()):
            return None
        if FILES in self.manifest and SUPPORT not in self.manifest[FILES]:
            return None  # a kill came before the manifest knew it
        flaws = (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError)
        with files.readable(self.sealed(SUPPORT), *flaws):
            written = json.loads(path.read_text(encoding="utf-8"))
            if written["model"] != self.seals(["model.npz"])["model.npz"]:
                return None
            if written.get(OUTLINES):
                nothing = np.full(self.tree.n_nodes, np.nan)
                return NodeSupport(nothing, None, note=str(written["note"]))
            by: dict[str, F64 | None] = {}
            for name in ("documents", "words"):
                values = np.full(self.tree.n_nodes, np.nan)
                told = [(node["id"], node[name]) for node in written["nodes"]]
                known = [(node, value) for node, value in told if value is not None]
                for node, value in known:
                    values[node] = value
                by[name] = values if known else None
            if by["documents"] is None:
                return None
            return NodeSupport(by["documents"], by["words"], how_found(written))

    def _told(self, nodes: list[dict[str, Any]], name: str) -> F64 | None:
        """Return what tree.json says of each node under a name, if it says so of all of them."""
        told = {node["id"]: node.get(name) for node in nodes}
        if None in told.values() or not told:
            return None
        values = np.zeros(self.tree.n_nodes)
        values[list(told)] = list(told.values())
        return values

    @cached_property
    def theta(self) -> sparse.csr_array:
        """Theta of the training documents, float64 CSR [n_docs, n_nodes]."""
        path = self.sealed("theta.npz")
        theta = archives.read_csr(path)
        self._require_shape(path, theta.shape)
        return _shares(path, theta)

    def theta_in_blocks(self, entries: int | None = None) -> Iterator[sparse.csr_array]:
        """Yield ``theta``, some documents after the other, for one pass: nobody keeps it.

        Each block is float64 CSR [some documents, n_nodes]. Raises RunError for a damaged file.
        entries: how many come together, at most; None: few.
        """
        if "theta" in self.__dict__:
            yield from blocks_of(self.theta, entries)
            return
        path = self.sealed("theta.npz")
        require = partial(self._require_shape, path)
        for block in archives.read_csr_blocks(path, require, entries or ENTRIES, BLOCK):
            yield _shares(path, block)

    def _require_shape(self, path: Path, shape: tuple[int, int]) -> None:
        """Raise RunError unless theta has that shape."""
        wanted = (len(self.split.train_docs), self._n_nodes)
        if shape != wanted:
            found = "documents and nodes, but the run has"
            raise RunError(f"{path} is damaged: {_by(shape)} {found} {_by(wanted)}")

    @cached_property
    def paths(self) -> Paths | None:
        """The training documents' best paths, for backends that have them.

        Raises RunError for a damaged file.
        """
        name = "paths.npz"
        if not self.file(name).exists() and name not in self.manifest.get(FILES, ()):
            return None
        path = self.sealed(name)
        arrays = archives.read_npz(path)
        with files.readable(path, KeyError, what="it has no array "):
            found = Paths(arrays["node"], arrays["log_prob"])
        n_docs = len(self.split.train_docs)
        with files.readable(path, ValueError, what="its paths are not those of the run: "):
            require_whole("node", found.node, axes=2)
            if len(found.node) != n_docs:
                raise ValueError(f"{len(found.node)} for {n_docs} documents")
            require_below("node", found.node, self._n_nodes, least=-1)
            require_numbers("log_prob", found.log_prob, n_docs)
        return found

    @cached_property
    def documents(self) -> DocumentRecords | None:
        """Names, marks and first letters of the training documents, where the run kept some."""
        if not self.file(DOCUMENTS).exists() and DOCUMENTS not in self.manifest.get(FILES, ()):
            return None
        return read_documents(self.sealed(DOCUMENTS), len(self.split.train_docs))

    @cached_property
    def _n_nodes(self) -> int:
        """The number of nodes of the model, whose large arrays are not read for it."""
        path = self.sealed("model.npz")
        parent = archives.read_npz(path, ("parent",)).get("parent")
        if parent is None:
            raise RunError(f"{path} is damaged: it has no array 'parent'")
        return int(parent.size)

    @cached_property
    def vocab(self) -> tuple[str, ...]:
        """The words, by id. Raises RunError for a damaged file."""
        words = _lines(self.sealed("vocab.txt"))
        if len(words) != self.tree.n_columns:
            raise RunError(
                f"{self.path / 'vocab.txt'} is damaged: {len(words)} words, "
                f"but {self.tree.n_columns} in model.npz"
            )
        return words

    @cached_property
    def split(self) -> Split:
        """The held-out split. Raises RunError for a damaged file."""
        path = self.sealed("split.npz")
        with files.readable(path, KeyError, ValueError, TypeError, IndexError):
            split = Split.from_arrays(archives.read_npz(path))
        if split.hash != self.manifest["split"]:
            raise RunError(f"{path} is damaged: it is not the split of manifest.json")
        return split

    @property
    def n_draws(self) -> int:
        """Number of kept draws; none where they are not in the run's own folder."""
        try:
            return len(self.numbered("draws"))
        except RunError:
            return 0

    def _drawn(self) -> list[Path]:
        """Return the files of the kept draws in order, known to be those of the run.

        Raises RunError as ``sealed`` does. Draws since a fit last came to an end have no seal yet,
        nor has any draw of a run of before they were sealed.
        """
        found = self.numbered("draws")
        sealed = {name for name in self.manifest.get(FILES, ()) if name.startswith(DRAWS)}
        for name in sorted(sealed):
            self.sealed(name)
        for path in found:
            ended = self.manifest["status"] in ("done", "stopped")
            if sealed and ended and f"{DRAWS}{path.name}" not in sealed:
                raise RunError(f"{path} is damaged: it is no draw of this run; take it out")
        return found

    def draws(self) -> Iterator[tuple[Tree, sparse.csr_array]]:
        """Yield the kept draws in order: each one's tree and theta of the training documents.

        theta: float64 CSR [n_docs, n_nodes], the nodes those of the draw. Raises RunError for a
        damaged file.
        """
        for path in self._drawn():
            yield self._draw_in(path)

    def draw(self, number: int) -> tuple[Tree, sparse.csr_array]:
        """Return one of ``draws``, by its number from 0. Raises RunError for a damaged file."""
        return self._draw_in(self._drawn()[number])

    def _draw_in(self, path: Path) -> tuple[Tree, sparse.csr_array]:
        arrays = archives.read_npz(path)
        arrays.pop(CHAIN_PATHS, None)
        own = {name: a for name, a in arrays.items() if not name.startswith("theta_")}
        tree = _tree(path, own)
        with files.readable(path, KeyError, ValueError, TypeError, what="it holds no theta: "):
            theta = archives.unpack_csr("theta", arrays)
        wanted = (len(self.split.train_docs), tree.n_nodes)
        if theta.shape != wanted or tree.n_columns != self.tree.n_columns:
            raise RunError(f"{path} is damaged: it is no draw of this run")
        return tree, theta

    def drawn_paths(self, iteration: int) -> Iterator[I32]:
        """Yield the paths [n_docs, L] of each chain in each draw kept up to ``iteration``.

        There are none where one chain ran alone. Raises RunError for a damaged file.
        """
        for path in self._drawn():
            if int(path.stem) <= iteration:
                paths = archives.read_npz(path, (CHAIN_PATHS,)).get(
                    CHAIN_PATHS, np.empty((0, 0, 0))
                )
                n_docs = len(self.split.train_docs)
                whole = paths.dtype.kind in "iu" or not paths.size
                if len(paths) and (paths.ndim != 3 or paths.shape[1] != n_docs or not whole):
                    raise RunError(f"{path} is damaged: it is no draw of this run")
                yield from paths

    def metrics(self) -> list[dict[str, Any]]:
        """Return the lines of metrics.jsonl; a half-written last line is skipped.

        An objective that was no finite number is null there, or in older files NaN. Raises RunError
        for a damaged file.
        """
        path = self.file("metrics.jsonl")
        if not path.exists():
            return []
        *lines, rest = path.read_bytes().split(b"\n")
        rows = list(map(_metrics_row, lines))
        if None in rows:
            what = "is no record of an iteration; take it out, or choose another -o"
            raise RunError(f"{path} is damaged: line {rows.index(None) + 1} {what}")
        last = _metrics_row(rest)
        return [row for row in (*rows, last) if row is not None]

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Add one line to metrics.jsonl; raises RunError if the disk refuses."""
        self._append("metrics.jsonl", files.to_json(row))

    def cut_metrics(self, iteration: int) -> None:
        """Drop the lines of metrics.jsonl after ``iteration``, and a half-written line."""
        path = self.file("metrics.jsonl")
        if path.exists():
            kept = [row for row in self.metrics() if row["iteration"] <= iteration]
            text = "".join(files.to_json(row) + "\n" for row in kept)
            files.write_text(path, text)

    def log(self, message: str) -> None:
        """Add a line to log.txt, after the time."""
        self._append("log.txt", f"{datetime.now(UTC).isoformat(timespec='seconds')} {message}")

    def _append(self, name: str, line: str) -> None:
        path, how = self.file(name), {"encoding": "utf-8", "errors": "backslashreplace"}
        try:
            with files.open_inside(path, "a", **how) as stream:
                stream.write(line + "\n")
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror or error}") from error


def opened(run: Path | str | RunDir) -> RunDir:
    """Return a run that is given as such or by its folder; RunError if there is none."""
    return run if isinstance(run, RunDir) else RunDir.open(run)


def _tree(path: Path, arrays: Mapping[str, NDArray[Any]]) -> Tree:
    with (
        files.readable(path, ValueError, TypeError),
        files.readable(path, KeyError, what="it has no array "),
    ):
        return Tree.from_arrays(arrays)


def _shares(path: Path, theta: sparse.csr_array) -> sparse.csr_array:
    """Return theta, or some of its rows, in float64; RunError unless its entries are shares."""
    if theta.dtype == np.float32:
        data = theta.data.astype(np.float64)
        theta = sparse.csr_array((data, theta.indices, theta.indptr), shape=theta.shape)
    with files.readable(path, ValueError, what="its values are no shares: "):
        require_declared("data", theta.data, VALUES, {})
        if theta.nnz and theta.data.max() > 1 + OFF_ONE:
            raise ValueError("one is above 1")
    return theta


def _metrics_row(line: bytes) -> dict[str, Any] | None:
    """Return a line of metrics.jsonl, or None where it is no record of an iteration."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict) or type(row.get("iteration")) is not int:
        return None
    objective = row.get("objective", "absent")
    return row if objective is None or is_number(objective) else None


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _lines(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_bytes().decode()  # a word may hold a carriage return
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is damaged: it is not UTF-8") from error
    return tuple(text.removesuffix("\n").split("\n")) if text else ()
