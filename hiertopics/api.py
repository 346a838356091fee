"""The commands ``fit``, ``show-tree`` and ``topics`` as functions.

The other commands are functions of the modules that serve them; ``hiertopics.__init__`` lists all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hiertopics.corpora.inmemory import as_corpus, is_file, store
from hiertopics.data.groups import group_rows, groups_of
from hiertopics.errors import HiertopicsError, UsageError
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Callback
from hiertopics.run import Run
from hiertopics.runs.artifacts import node_rows
from hiertopics.runs.rundir import RunDir
from hiertopics.settings.layers import Overrides
from hiertopics.units import parse_duration
from hiertopics.views.exporting import few_documents, show
from hiertopics.views.render import View
from hiertopics.views.topdocs import documents_of

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
    time_limit: seconds, or a text like "3h50m". quiet: no progress on stderr. An interrupt lets
    the running iteration end; the Run is then ``stopped``, and ``Run.resume`` goes on.

    Raises UsageError, ConfigError, DataError, RunError or NumericalError.
    """
    target = _target(run)
    named = {"from" if key == "from_" else key: value for key, value in (data or {}).items()}
    sides = dict(zip(SIDES, (vocab, groups, labels), strict=True))
    if corpus is None or is_file(corpus):
        named |= _files(sides)
    named |= {} if holdout is None else {"holdout": holdout}
    flags: dict[str, Any] = {"data": named} if named else {}
    flags |= {} if backend is None else {"backend": backend}
    flags |= {} if seed is None else {"seed": seed}
    flags |= {} if iterations is None else {"inference": {"iterations": iterations}}
    with _kept(corpus, sides, target) as path:
        driver.fit(
            path,
            run=target.path,
            config=config,
            overrides=overrides,
            flags=flags,
            time_limit=parse_duration(time_limit) if isinstance(time_limit, str) else time_limit,
            workers=workers,
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


def show_tree(
    run: Path | str | RunDir,
    *,
    depth: int | None = None,
    words: int = 8,
    min_docs: int | None = None,
    format: str = "text",
    docs: int | None = None,
    sides: Sequence[str] = (),
    arrange: bool = False,
) -> str:
    """Return a run's tree as text.

    depth: most levels. words: top words per node. min_docs: fewest documents of a node; None: 0,
    in text 1% of them for large trees. format: text, json, csv, newick, dot, graphml or html.
    docs: top documents per node. sides: ``NAME=FILE``, counted per node. arrange: flat topics are
    clustered first. Raises UsageError, DataError or RunError.
    """
    target = _opened(run)
    hidden = few_documents(target.tree) if format == "text" and min_docs is None else 0
    view = View(depth, words, hidden if min_docs is None else min_docs)
    return show(target, view, format, arrange=arrange, n_docs=docs, sides=sides)


def topics(
    run: Path | str | RunDir,
    *,
    words: int = 10,
    docs: int | None = None,
    by: str | None = None,
    similar: int = 0,
) -> list[dict[str, Any]]:
    """Return one record per topic, parents first; or, by group, one per group of documents.

    words: top words, pairs of word and probability. docs: also as many top documents. by: None or
    "group", for backends with weights of groups; similar: then also the most similar groups.
    Raises UsageError or RunError.
    """
    target = _opened(run)
    if by is None:
        documents = None if docs is None else documents_of(target, target.tree, docs)
        return node_rows(target.tree, target.vocab, words, documents=documents)
    if by != "group":
        raise UsageError(f"topics are told by group, not by {by!r}")
    groups = groups_of(target.tree)
    if groups is None:
        raise UsageError(
            f"{target.path} has no weights of groups; fit a chdp backend to a corpus with groups"
        )
    return group_rows(groups, target.tree, target.vocab, n_words=words, n_similar=similar)


def _opened(run: Path | str | RunDir) -> RunDir:
    return run if isinstance(run, RunDir) else RunDir.open(run)
