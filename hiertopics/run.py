"""A fitted run as Python users hold it: its files, and what can be asked of them."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from hiertopics import files
from hiertopics.errors import RunError
from hiertopics.fitting import degenerate, driver
from hiertopics.fitting.loop import Callback
from hiertopics.model import Summary
from hiertopics.runs.newdocs import Inferred, infer
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate
from hiertopics.settings.config import dump
from hiertopics.views.documents import top_documents
from hiertopics.views.topictree import TopicTree


class Run(RunDir):
    """A run on disk. Row i of ``theta`` and ``paths`` is document ``train_docs[i]``.

    What is read from disk is kept until ``reread``.
    """

    @classmethod
    def temporary(cls) -> Run:
        """Return a run that is yet to be fitted, in a folder that lasts as long as the object."""
        run = cls(mkdtemp(prefix="hiertopics-"))
        weakref.finalize(run, shutil.rmtree, run.path, ignore_errors=True)
        return run

    def reread(self) -> None:
        """Forget what was read, because a fit has gone on."""
        self.__dict__ = {"path": self.path}

    @cached_property
    def tree(self) -> TopicTree:
        """The tree with its words."""
        plain = RunDir(self.path)
        summary = Summary(plain.supported_tree, self.theta, self.paths)
        return TopicTree.of(summary.tree, plain.vocab, degenerate.notes(summary))

    @property
    def status(self) -> str:
        """done, or stopped: then ``resume`` goes on."""
        return str(self.manifest["status"])

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return int(self.manifest["iterations"])

    @property
    def objective(self) -> float | None:
        """What the fit has reached; ``manifest["objective_name"]`` says what it is."""
        value = self.manifest["objective"]
        return None if value is None else float(value)

    @property
    def train_docs(self) -> NDArray[np.int64]:
        """Which rows of the corpus were trained on, from 0, ascending, int64 [n_train]."""
        return self.split.train_docs

    @property
    def heldout_docs(self) -> NDArray[np.int64]:
        """Which rows of the corpus were put aside, from 0, ascending, int64 [n_heldout]."""
        return self.split.heldout_docs

    def top_documents(self, n_docs: int = 10) -> dict[int, list[tuple[int, float]]]:
        """Return of each node the documents with the largest share of tokens at or below it.

        Each is (row of the corpus from 0, share), best first.
        """
        names = self.train_docs.tolist()
        found = top_documents(self.tree, self.theta, names, n_docs)
        return {node: [(int(doc), share) for doc, share in top] for node, top in found.items()}

    def infer(self, corpus: Any, output: Path | str | None = None, **options: Any) -> Inferred:
        """Return theta of new documents; see ``hiertopics.infer``."""
        return infer(self, corpus, output, **options)

    def evaluate(self, corpus: Any = None, **options: Any) -> dict[str, Any]:
        """Return the score on what was put aside, or on a corpus; see ``hiertopics.evaluate``."""
        return evaluate(self, corpus, **options)

    def resume(
        self,
        iterations: int | None = None,
        *,
        time_limit: float | None = None,
        workers: int = 1,
        quiet: bool = True,
        callbacks: Sequence[Callback] = (),
    ) -> Run:
        """Go on with the fit; return this run, which is then what the fit has come to.

        iterations: in all; None takes the run's own, which a finished run has done already.
        time_limit: seconds. Raises DataError where the corpus is gone, ConfigError where it has
        changed.
        """
        driver.fit(
            run=self.path,
            config=self.path / "config.yaml",
            iterations=iterations,
            time_limit=time_limit,
            workers=workers,
            quiet=quiet,
            callbacks=callbacks,
        )
        self.reread()
        return self

    def save(self, path: Path | str) -> Run:
        """Copy the run, and the corpus that was kept with it, to a new folder; return that run.

        Raises RunError where the folder is there already, or cannot be written.
        """
        target = Path(path)
        if target.exists():
            raise RunError(f"{target} is there already; choose another folder")
        experiment = self.experiment
        corpus = Path(str(experiment.data.corpus))
        try:
            shutil.copytree(self.path, target, ignore=shutil.ignore_patterns(".lock"))
        except OSError as error:
            shutil.rmtree(target, ignore_errors=True)
            raise RunError(f"cannot write {target}: {error.strerror or error}") from error
        if corpus.is_relative_to(self.path.absolute()):
            moved = {
                name: str(target.absolute() / Path(old).relative_to(self.path.absolute()))
                for name in ("corpus", "vocab", "groups", "labels")
                if (old := getattr(experiment.data, name)) is not None
            }
            data = structs.replace(experiment.data, **moved)
            files.write_text(target / "config.yaml", dump(structs.replace(experiment, data=data)))
        return Run(target)

    def __repr__(self) -> str:
        if not self.exists:
            return f"Run({str(self.path)!r}): not fitted"
        size = "" if "tree" not in self.__dict__ else f", {len(self.tree.shown)} nodes"
        what = f"{self.manifest['backend']}, {self.status} at iteration {self.iterations}{size}"
        return f"Run({str(self.path)!r}): {what}"

    def _repr_html_(self) -> str | None:
        return self.tree._repr_html_() if self.has_model else None
