"""``update``: a fit that goes on where a run ended, with further documents."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import structs

from hiertopics.base import files
from hiertopics.base.errors import HiertopicsError, RunError, UsageError
from hiertopics.base.room import Room
from hiertopics.contract import (
    AnyBackend,
    Arrays,
    Context,
    Settings,
    Workers,
    observed_by,
    registry,
)
from hiertopics.corpus.corpora import dataset, joining
from hiertopics.corpus.corpora.inmemory import on_disk, store
from hiertopics.corpus.data import MANY, Bags, Corpus, Shelf, default_vocab, language_of
from hiertopics.corpus.formats.trust import trusts
from hiertopics.corpus.holdouts.spec import WITHIN, extended
from hiertopics.fitting import driver
from hiertopics.fitting.editing import carry_edits, edits_to_carry
from hiertopics.fitting.job import FitResult
from hiertopics.runs import artifacts
from hiertopics.runs.checkpoints import StateOrigin, load_checkpoint, resume
from hiertopics.runs.manifest import CONTINUED, MADE_BY, PARENTS
from hiertopics.runs.origin import lineage, refuse_unfitted
from hiertopics.runs.original import OriginalCorpus, read_original
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.unseen import columns_in, described, phrases_of

NEW_WORDS = ("join", "drop")


@trusts
def update(
    run: Path | str | RunDir,
    corpus: Any,
    output: Path | str,
    *,
    new_words: str = "join",
    data: Mapping[str, Any] | None = None,
    iterations: int | None = None,
    time_limit: float | str | None = None,
    workers: int = 1,
    memory: int | str | None = None,
    quiet: bool = True,
    argv: Sequence[str] = (),
    trust_tokenizer: bool = False,
) -> FitResult:
    """Go on from a run with its documents and those of ``corpus``, and write a run.

    Given again, it continues. corpus: a file, or an object as for ``fit``. The new run's folder
    holds all documents, those of ``run`` first. What ``run`` put aside stays aside; of
    the new documents as much is put aside by the same rule. new_words: ``join``, words of the new
    documents that ``run`` has not get into the vocabulary where data.min_df, data.max_df,
    data.max_words and data.stop_words let them, those of ``run`` and, of shards, those that they
    were converted with, by the new documents alone; ``drop``, they are left out.
    data: entries that describe the file, as for ``infer``. iterations: in all; None: those of
    ``run``'s config. The others are as for ``fit``.

    Edits of ``run`` that have a meaning still stand in the new run's edits.yaml, and stderr says
    which have not (``fitting.editing.carry_edits``).

    Raises what ``fit`` raises, and UsageError for a run that cannot be updated, for documents that
    it has already, and where ``output`` is another run.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    if new_words not in NEW_WORDS:
        raise UsageError(f"new words {' or '.join(NEW_WORDS)}, not {new_words!r}")
    before, made = opened(run), RunDir(output)
    backend, edits = _updated_backend(before), edits_to_carry(before)
    with on_disk(corpus, before.vocab) as path:
        original, added = read_original(before), _read_added(before, path, data or {})
        if added.text_fingerprint == original.whole.text_fingerprint:
            raise UsageError(f"{path} holds the documents that {before.path} has already")
        told = f"{CONTINUED} {new_words} {added.fingerprint[:16]}"
        entries = lineage([before], told)
        if made.exists:
            _refuse_another(made, before, entries)
        words = _words_of(before, original, added, new_words)
        made.require_own_corpus()
        lay = _corpus_files(made)
        with _taken_out_if_refused(made, lay):
            put = (_put_shards if backend.out_of_core else _put)(made, original.whole, added, words)

    def begin(data: object, settings: Settings, context: Context) -> object:
        found = _state_of(before, original.train, Room(made.file("checkpoints")))
        assert backend.extend_state is not None
        return backend.extend_state(found, data, settings, context)

    with _taken_out_if_refused(made, lay):
        result = driver.fit(
            put.path,
            run=made.path,
            config=before.file("config.yaml"),
            iterations=iterations,
            holdout=extended(before.experiment.data.holdout, original.whole.n_docs),
            data={**dataset.PLAIN, "from_": put.format},
            time_limit=time_limit,
            workers=workers,
            memory=memory,
            quiet=quiet,
            argv=argv,
            lineage=entries,
            begin=begin,
        )
    if put.known is not None:
        artifacts.write_documents(RunDir(output), put.known)
    if result.status == "done":
        updated = RunDir(output)
        _, rows, docs = np.intersect1d(
            before.split.train_docs, updated.split.train_docs, return_indices=True
        )
        carry_edits(edits, before, updated, rows, docs)
    return result


@contextmanager
def _taken_out_if_refused(made: RunDir, before: Set[Path]) -> Iterator[None]:
    """Remove the new files of a new run's folder if no fit of it begins.

    before: the files that lay there, which stay.
    """
    try:
        yield
    except HiertopicsError:
        if not made.exists:
            for file in _corpus_files(made) - before:
                file.unlink()
            for folder in (*made.path.glob("corpus*"), made.path):
                with suppress(OSError):
                    folder.rmdir()
        raise


def _corpus_files(made: RunDir) -> set[Path]:
    return set(made.path.glob("corpus*/*"))


class CorpusFile(NamedTuple):
    """The file of all documents, and its format; known: facts that the file does not hold."""

    path: Path
    format: str
    known: Corpus | None


def _put_shards(
    made: RunDir, first: Bags, added: Bags, words: joining.JoinedVocabulary
) -> CorpusFile:
    """Write all documents as shards, some at a time, unless the run has begun with them."""
    path = made.path / "corpus.shards"
    if not made.exists:
        files.make_folder(made.path)
        joining.write_both(first, added, words, path)
    return CorpusFile(path, "shards", None)


def _put(made: RunDir, first: Bags, added: Bags, words: joining.JoinedVocabulary) -> CorpusFile:
    """Write all documents for a backend that holds them in memory."""
    both = joining.in_memory(first, added, words)
    return CorpusFile(store(both, made.path / "corpus"), "npz", both)


def _updated_backend(run: RunDir) -> AnyBackend:
    """Return the backend of a run; UsageError where it, or its settings, cannot be updated."""
    refuse_unfitted(run)
    if not run.has_model:
        raise UsageError(f"{run.path} has no model yet; give the fit's command again, to go on")
    experiment = run.experiment
    backend = registry.load_for(experiment)
    if backend.extend_state is None:
        able = " or ".join(registry.able(lambda one: one.extend_state is not None))
        what = f"{experiment.backend} cannot go on with further documents"
        raise UsageError(f"{what} under the settings of {run.path}; update is for {able}")
    if run.split.kind in WITHIN:
        raise UsageError(
            f"{run.path} put a part of each document aside ({experiment.data.holdout}); update is "
            "for runs that put whole documents aside, or none"
        )
    if experiment.data.vocabulary_from != "all":
        raise UsageError(
            f"the words of {run.path} were chosen by its training documents alone; update is for "
            "runs with data.vocabulary_from: all"
        )
    if experiment.data.discretise is not None:
        raise UsageError(f"{run.path} made its words of a table; update is for documents of words")
    return backend


def _read_added(run: RunDir, corpus: Path | str, data: Mapping[str, Any]) -> Bags:
    """Read further documents with all their words, as the run's own corpus was read."""
    config = described(run.experiment.data, corpus, data)
    config = structs.replace(config, holdout="none")
    found: Bags = observed_by(run.experiment).load(config, None, phrases_of(run)).corpus
    return found


def _words_of(
    run: RunDir, original: OriginalCorpus, added: Bags, new_words: str
) -> joining.JoinedVocabulary:
    """Return the words of both; UsageError where the further documents would have none."""
    own, choices = original.whole.vocab, dataset.choices_of(run.experiment.data)
    place = columns_in(added.vocab, own)
    unnamed = added.vocab == default_vocab(added.n_words) and own != default_vocab(len(own))
    if new_words == "drop" or unnamed:
        words = joining.JoinedVocabulary(own, place, (), choices)
    else:
        words = joining.with_new(own, place, added, choices)
        _warn_of_stop_words(words.joined)
    if not (added.word_counts[words.place >= 0] > 0).any():
        raise UsageError(
            f"no word of the new documents is known to {run.path}"
            + ("; --new-words join takes new ones in" if new_words == "drop" else "")
        )
    return words


def _warn_of_stop_words(joined: Sequence[str]) -> None:
    """Warn where stop words join: those of files other than shards may have been left out before
    the run, which then knows nothing of it.
    """
    language, stopped = language_of(joined)
    if len(stopped) >= MANY:
        print(
            f"warning: {len(stopped)} of the {len(joined)} words that join are stop words "
            f"({', '.join(stopped[:3])}, ...), which the run has not; convert the new documents "
            f"with data.stop_words={language} first, or --new-words drop",
            file=sys.stderr,
        )


def _refuse_another(made: RunDir, before: RunDir, entries: Mapping[str, Any]) -> None:
    """Raise UsageError where a run is not the one that these entries tell of."""
    wrong = [name for name in (PARENTS, MADE_BY) if made.manifest.get(name) != entries[name]]
    if wrong:
        raise UsageError(
            f"{made.path} is another run already, not {before.path} with these documents; choose "
            "another -o"
        )


def _state_of(before: RunDir, train: Bags, room: Room) -> Arrays:
    """Return the arrays of the last checkpoint; RunError where there is none that is sound.

    The corpus is laid out once more, for the counts of the state are compared with it.
    """
    stamp = f"{before.manifest['corpus']['fingerprint']} {before.split.hash}"
    own = Settings(before.experiment.model, before.experiment.inference)
    backend = registry.load_suited(before.experiment, train, own)
    fitted = StateOrigin(backend, own, stamp, train)
    data = backend.prepare(replace(train, room=room) if isinstance(train, Shelf) else train, own)
    found = load_checkpoint(before, fitted, room)
    if found is None:
        raise RunError(f"{before.path} has no checkpoint to go on from")
    context = Context(before.experiment.seed, found[0], Workers())
    return resume(before, fitted, found, data, context, room).arrays
