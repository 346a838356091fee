"""``fit`` as Python users call it: the corpus may be an object, and a ``Run`` comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hiertopics.corpora.inmemory import as_corpus, is_file, store
from hiertopics.errors import HiertopicsError, UsageError
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Callback
from hiertopics.run import Run
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.layers import Overrides

SIDES = ("vocab", "groups", "labels")


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
    quiet: bool = True,
    callbacks: Sequence[Callback] = (),
) -> Run:
    """Fit a backend to a corpus; where ``run`` names an existing run, continue it.

    corpus: a file or folder; a Corpus; a table of documents x words (array, scipy.sparse, data
    frame); or texts, one string or list of words per document. An object is written into the
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

    Raises UsageError, ConfigError, DataError, RunError or NumericalError.
    """
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
    folder = run.path / "corpus"
    before = set(folder.glob("*"))
    path = store(as_corpus(corpus, **sides), folder)
    try:
        yield path
    except HiertopicsError:
        settings = run.path / "config.yaml"
        if not (settings.exists() and path.name in settings.read_text(encoding="utf-8")):
            for file in set(folder.glob("*")) - before:
                file.unlink()
            for empty in (folder, run.path):
                with suppress(OSError):
                    empty.rmdir()
        raise


def _files(sides: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the files beside a corpus that is a file."""
    given = {name: side for name, side in sides.items() if side is not None}
    for name, side in given.items():
        if not is_file(side):
            raise UsageError(f"{name} of a corpus in a file must be the name of a file, too")
    return {name: str(side) for name, side in given.items()}
