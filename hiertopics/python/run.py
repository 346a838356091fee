"""A fitted run for Python users: its files, and functions of them.

And ``fit`` as they call it: the corpus may be an object, and a ``Run`` comes back.
"""

from __future__ import annotations

import re
import shutil
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Never

from msgspec import structs

from hiertopics.base import files
from hiertopics.base.arrays import I64
from hiertopics.base.errors import DataError, RunError, UsageError
from hiertopics.contract.model import Summary
from hiertopics.corpus.corpora.inmemory import (
    as_corpus,
    holds_texts,
    is_file,
    kept_in,
    store,
    store_texts,
)
from hiertopics.corpus.formats.trust import trusts
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Callback
from hiertopics.python import exchange, notebook
from hiertopics.python.mistakes import unknown_argument
from hiertopics.runs import newdocs, soundness
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring import evaluation
from hiertopics.settings.config import dump
from hiertopics.settings.layers import Overrides
from hiertopics.views.documents import top_documents
from hiertopics.views.topictree import TopicTree

OFFERED = (
    *("path", "manifest", "experiment", "exists", "has_model", "open", "newest", "file"),
    *("vocab", "theta", "paths", "split", "documents", "metrics", "draws"),
)
"""Attributes of every folder of a run that users need, too."""


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
        """Forget cached files, because a fit has gone on."""
        self.__dict__ = {"path": self.path}

    @cached_property
    def tree(self) -> TopicTree:
        """The tree with its words."""
        plain = RunDir(self.path)
        summary = Summary(plain.supported_tree, self.theta, self.paths)
        return TopicTree.of(summary.tree, plain.vocab, soundness.notes(summary))

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
        """The last objective of the fit; ``manifest["objective_name"]`` names it."""
        value = self.manifest["objective"]
        return None if value is None else float(value)

    @property
    def train_docs(self) -> I64:
        """The rows of training documents in the corpus, from 0, ascending, int64 [n_train]."""
        return self.split.train_docs

    @property
    def heldout_docs(self) -> I64:
        """The rows of held-out documents in the corpus, from 0, ascending, int64 [n_heldout]."""
        return self.split.heldout_docs

    def top_documents(self, n_docs: int = 10) -> dict[int, list[tuple[int, float]]]:
        """Return of each node the documents with the largest share of tokens at or below it.

        Each is (row of the corpus from 0, share), best first.
        """
        names = self.train_docs.tolist()
        found = top_documents(self.tree, self.theta, names, n_docs)
        return {node: [(int(doc), share) for doc, share in top] for node, top in found.items()}

    infer = newdocs.infer
    show = notebook.show
    evaluate = evaluation.evaluate

    @trusts
    def resume(
        self,
        iterations: int | None = None,
        *,
        time_limit: float | None = None,
        workers: int = 1,
        quiet: bool = False,
        callbacks: Sequence[Callback] = (),
        trust_tokenizer: bool = False,
    ) -> Run:
        """Continue the fit; return this run, which then has the new results.

        iterations: in all; None takes the run's own, which a finished run has done already.
        time_limit: seconds. Raises DataError where the corpus is gone, ConfigError where it has
        changed.

        trust_tokenizer: import the data.tokenizer that a config file or the run names.
        """
        driver.fit(
            run=self.path,
            config=self.file("config.yaml"),
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

        Raises RunError where the folder is there already, or cannot be written, or where anything
        in the run is a symbolic link.
        """
        target = Path(path)
        if target.exists():
            raise RunError(f"{target} is there already; choose another folder")
        files.refuse_links(self.path)
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

    to_frame = exchange.to_frame
    to_pyldavis = exchange.to_pyldavis
    to_inference_data = exchange.to_inference_data
    to_anndata = exchange.to_anndata

    def __dir__(self) -> list[str]:
        """Return what users need: not what a fit writes with."""
        hidden = (name for name in super().__dir__() if name.startswith("_"))
        own = (name for name in vars(Run) if not name.startswith("_"))
        return sorted({*hidden, *own, *OFFERED})

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError; for the name of a function it says how that is called."""
        from hiertopics import __all__ as offered

        is_function = name in offered and name.islower() and not name.startswith("_")
        told = f"; hiertopics.{name}(run) does it" if is_function else ""
        raise AttributeError(f"a Run has no attribute {name!r}{told}")

    def __repr__(self) -> str:
        if not self.exists:
            return f"Run({str(self.path)!r}): not fitted"
        size = "" if "tree" not in self.__dict__ else f", {len(self.tree.shown)} nodes"
        what = f"{self.manifest['backend']}, {self.status} at iteration {self.iterations}{size}"
        return f"Run({str(self.path)!r}): {what}"

    def _repr_html_(self) -> str | None:
        return self.tree._repr_html_() if self.has_model else None


SIDES = ("vocab", "groups", "labels")


@trusts
def fit(
    corpus: Any = None,
    *,
    backend: str | None = None,
    run: Path | str | RunDir | None = None,
    config: Path | str | None = None,
    overrides: Overrides = (),
    seed: int | None = None,
    iterations: int | None = None,
    holdout: str | None = None,
    vocab: Any = None,
    groups: Any = None,
    labels: Any = None,
    data: Mapping[str, Any] | None = None,
    time_limit: float | str | None = None,
    workers: int = 1,
    memory: int | str | None = None,
    cluster: str | None = None,
    quiet: bool = False,
    callbacks: Sequence[Callback] = (),
    trust_tokenizer: bool = False,
    **unknown: Never,
) -> Run:
    """Fit a backend to a corpus; where ``run`` names an existing run, continue it.

    corpus: a file or folder; a Corpus; a table of documents x words (array, scipy.sparse, data
    frame, AnnData); texts, one string or list of words per document; or a data frame with a column
    of texts, as a table of them in a file. An object is written into the
    run's folder ``corpus``, so that the run can be continued. None: ``config`` names the file.
    vocab, groups, labels: of a file, names of files; of an object, the words by column and a list
    of names per document.
    run: the run's folder. None: a temporary one, which lasts as long as the Run; ``Run.save``
    copies it.
    backend, seed, iterations, holdout: the settings of those names, which win over ``overrides``
    (``{"model.eta": 0.1}`` or ``["model.eta=0.1"]``), which win over ``config``, a YAML file.
    data: more entries of its ``data`` section, such as ``{"text_field": "body"}``.
    time_limit: seconds, or a text like "3h50m". memory: bytes, or a text like "4GB", which the fit
    may take. cluster: where else to work: "local:4", the address of a Dask scheduler, or
    "scheduler-file:PATH". quiet: no progress on stderr. An interrupt,
    SIGTERM or SIGUSR1 lets the running iteration end, but not the program: the status of the Run
    is then ``stopped``, which a loop of fits should look at, and ``Run.resume`` goes on.

    Raises UsageError, also for unknown arguments, ConfigError, DataError, RunError or
    NumericalError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    if unknown:
        raise UsageError(unknown_argument(fit, unknown))
    target = _target(run)
    sides = dict(zip(SIDES, (vocab, groups, labels), strict=True))
    files = _files(sides) if corpus is None or is_file(corpus) else {}
    with _kept(corpus, sides, target) as path:
        driver.fit(
            path,
            run=target.path,
            config=config,
            overrides=overrides,
            backend=backend,
            seed=seed,
            iterations=iterations,
            holdout=holdout,
            data={**(data or {}), **files},
            time_limit=time_limit,
            workers=workers,
            memory=memory,
            cluster=cluster,
            quiet=quiet,
            callbacks=callbacks,
        )
    target.reread()
    return target


def _target(run: Path | str | RunDir | None) -> Run:
    if isinstance(run, Run):
        return run
    return Run.temporary() if run is None else Run(run.path if isinstance(run, RunDir) else run)


@contextmanager
def _kept(corpus: Any, sides: Mapping[str, Any], run: Run) -> Iterator[Any]:
    """Put an object into the run's folder ``corpus``; take it out where no fit of it begins."""
    if corpus is None or is_file(corpus):
        yield corpus
        return
    if holds_texts(corpus):
        if any(side is not None for side in sides.values()):
            raise UsageError("a frame of texts has groups and labels in columns: data.group_field")
        put: Callable[[Path], Path] = partial(store_texts, corpus)
    else:
        put = partial(store, as_corpus(corpus, **sides))
    with kept_in(run.path, put) as path:
        try:
            yield path
        except DataError as error:
            if error.path != str(path):
                raise
            hint = re.sub(r"--text-field (\S+)", r'data={"text_field": "\1"}', error.what)
            where = "the corpus" if error.line is None else f"row {error.line} of the corpus"
            raise DataError(where, hint) from error


def _files(sides: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the files beside a corpus that is a file."""
    given = {name: side for name, side in sides.items() if side is not None}
    for name, side in given.items():
        if not is_file(side):
            raise UsageError(f"{name} of a corpus in a file must be the name of a file, too")
    return {name: str(side) for name, side in given.items()}
