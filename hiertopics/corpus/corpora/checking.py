"""``check``: every mistake in a corpus and in the files beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import structs

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.corpora import dataset, inmemory
from hiertopics.corpus.corpora.advising import (
    Advice,
    advise,
    advise_on_lines,
    advise_on_marks,
    advise_on_script,
    advise_on_unread,
    settings_of,
)
from hiertopics.corpus.corpora.section import data_section
from hiertopics.corpus.data import Corpus, Vectors
from hiertopics.corpus.data.languages import stop_lists, with_lists
from hiertopics.corpus.data.pruning import Limits, prune
from hiertopics.corpus.data.shape import marks_of, shape_of
from hiertopics.corpus.formats.guesses import settings_found, text_field_left
from hiertopics.corpus.formats.markup import MARKED
from hiertopics.corpus.formats.plaintexts import HTML, holds, left_aside_note
from hiertopics.corpus.formats.reading import read_counts, read_resolved, resolve
from hiertopics.corpus.formats.records import records
from hiertopics.corpus.formats.sidefiles import read_tags, read_vocabulary
from hiertopics.corpus.formats.source import FOLDER, Source, names_columns, refuse
from hiertopics.corpus.formats.table import FORMATS
from hiertopics.corpus.formats.trust import trust, trusts
from hiertopics.settings.config import DataConfig
from hiertopics.settings.layers import Overrides

MOST = 100
MEANINGLESS = ("corpus", "holdout", "vocabulary_from")


@dataclass(frozen=True)
class CheckResult:
    """The files that were read and their problems.

    more: there are more problems than were asked for. shape: what a sound corpus holds, by name
    (n_docs, n_words, ...); empty where there are problems. notes: what its reader has to say.
    advice: what spoils the tree of a sound corpus. auto: the entries of the ``data`` section that
    ``fit --auto`` would take. to_name: entries beside these without which it would refuse the
    corpus.
    """

    source: Source
    problems: tuple[DataError, ...]
    more: bool
    shape: dict[str, Any]
    notes: tuple[str, ...]
    advice: tuple[Advice, ...] = ()
    auto: tuple[str, ...] = ()
    to_name: Mapping[str, Any] = field(default_factory=dict)


class _EnoughProblemsError(Exception):
    """The requested number of problems has been found."""


class _Problems:
    """Collects problems instead of raising the first one."""

    def __init__(self, most: int) -> None:
        self.found: list[DataError] = []
        self.more = False
        self._most = most

    def add(self, problem: DataError) -> None:
        if len(self.found) == self._most:
            self.more = True
            raise _EnoughProblemsError
        self.found.append(problem)

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note a mistake that ends the reading of one file, and go on after it."""
        try:
            yield
        except DataError as problem:
            self.add(problem)


@trusts
def check(
    corpus: Path | str,
    *,
    data: Mapping[str, Any] | None = None,
    overrides: Overrides = (),
    most: int = MOST,
    trust_tokenizer: bool = False,
) -> CheckResult:
    """Read a corpus with its side files and note every line that cannot be read.

    A line with several mistakes is told by its first. A binary or a raw text file is read up to
    its first mistake. data: entries of the ``data`` section that describe the file (vocab, from_,
    text_field, ...). overrides: ``data.key=value`` strings. most: the number of problems after
    which reading ends.

    Raises DataError for a missing file, UsageError for what cannot be asked.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    if most < 1:
        raise UsageError(f"the number of problems must be >= 1, got {most}")
    config = data_section({**(data or {}), "corpus": str(corpus)}, overrides, "check", MEANINGLESS)
    problems = _Problems(most)
    with _named(config) as named:
        source = replace(resolve(dataset.source_of(named)), report=problems.add)
        limits = dataset.limits_of(named)  # refuses lists of stop words that there are not
        read = None
        with suppress(_EnoughProblemsError):
            read = _read(source, problems)
        advice = () if read is None else _not_followed(all_advice(read, source), config)
        auto, to_name = settings_of(advice), dict[str, Any]()
        if problems.found:
            auto, to_name = _remedies(source)
    found = [
        problem.renamed(str(config.corpus)) if problem.path == str(source.path) else problem
        for problem in problems.found
    ]
    source = replace(source, path=Path(str(config.corpus)))
    shape = {} if read is None else shape_of(read) | marks_of(read)
    notes = () if read is None else (*read.notes, *_choice_note(read, limits))
    return CheckResult(
        source, tuple(found), problems.more, shape, notes, advice, tuple(auto), to_name
    )


def _remedies(source: Source) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the settings that ``fit --auto`` finds for a corpus, and those that it needs besides.

    There are none where the corpus cannot be read with them.
    """
    auto, to_name = settings_found(source), dict[str, Any]()
    if (text_field := text_field_left(source, auto)) is not None:
        to_name["text_field"] = text_field
        if text_field.isdigit() and "delimiter" in auto:  # a column alone may hold any character
            to_name["delimiter"] = auto.pop("delimiter")
    if auto or to_name:
        try:
            read_resolved(replace(source, report=refuse, **auto, **to_name))
        except (DataError, UsageError):
            return {}, {}
    return auto, to_name


def _choice_note(read: Corpus | Vectors, limits: Limits) -> tuple[str, ...]:
    """Return a note on the words that the settings leave; none where they leave all."""
    if not isinstance(read, Corpus) or limits.keep_all:
        return ()
    left = prune(read, limits)
    return (f"the settings leave {left.n_words} words, {left.n_tokens} tokens",)


def _not_followed(advice: tuple[Advice, ...], config: DataConfig) -> tuple[Advice, ...]:
    """Return the advice that the settings do not follow yet; lists of stop words are added."""
    found = (_added(one, config) if one.key == "stop_words" else one for one in advice)
    return tuple(one for one in found if one.key is None or not _follows(one, config))


def _added(advice: Advice, config: DataConfig) -> Advice:
    """Return advice on stop words with the lists that are set."""
    more = stop_lists(str(advice.value))
    return advice._replace(value=with_lists(config.stop_words, more))


def _follows(advice: Advice, config: DataConfig) -> bool:
    given = getattr(config, str(advice.key))
    if isinstance(given, int | float) and isinstance(advice.value, int | float):
        return given <= advice.value if advice.key == "max_df" else given >= advice.value
    if advice.key == "stop_words":
        return set(stop_lists(given)) == set(stop_lists(str(advice.value)))
    return bool(given == advice.value)


def with_unread(error: DataError, data: DataConfig) -> DataError:
    """Return the error of a corpus of too few documents with the texts that were not read."""
    left = left_aside_note(dataset.source_of(data)) if data.from_ == FOLDER else ()
    return DataError(error.path, "; ".join([error.what, *left]), error.line)


def advised(
    data: DataConfig, tell: Callable[[Advice], None] = lambda one: None
) -> dict[str, object]:
    """Return the entries of the section that advice on its corpus sets and that it leaves out.

    The first ones are the delimiter and the encoding that a table needs to be read. An entry with
    the value of its default counts as left out. tell: is given the advice that no setting follows;
    of that on scripts ``script_warnings`` tells. Raises as ``read_corpus`` does.
    """
    source = resolve(dataset.source_of(data))
    source = replace(source, **(wider := settings_of(advise_on_unread(source))))
    form, corpus = _readable(source)
    advice = all_advice(corpus, replace(source, **form))
    for one in advice:
        if one.key is None and not one.on_script:
            tell(one)
    taken = wider | form | settings_of(advice)
    plain = DataConfig()
    return {key: taken[key] for key in taken if getattr(data, key) == getattr(plain, key)}


def _readable(source: Source) -> tuple[dict[str, Any], Corpus | Vectors]:
    """Return the settings that a corpus needs to be read, and the corpus.

    A folder is read before its encoding is looked for: the search would read every file again.
    """
    if source.format != FOLDER:
        form = settings_found(source)
        return form, read_resolved(replace(source, **form))
    try:
        return {}, read_resolved(source)
    except DataError:
        form = settings_found(source)
        if not form:
            raise
    return form, read_resolved(replace(source, **form))


def all_advice(corpus: Corpus | Vectors, source: Source) -> tuple[Advice, ...]:
    """Return the advice on a corpus: on how it is read first, then on what is read so."""
    first = advise_on_unread(source)
    if not first:
        return _advice_on_words(corpus, source)
    wider = replace(source, report=refuse, **settings_of(first))
    try:
        form, whole = _readable(wider)
    except DataError:  # fit says what is wrong with the other files
        return first
    coded = [Advice("some of these texts are not UTF-8", key, form[key]) for key in form]
    return (*first, *coded, *_advice_on_words(whole, replace(wider, **form)))


def _advice_on_words(corpus: Corpus | Vectors, source: Source) -> tuple[Advice, ...]:
    """Return the advice on a corpus; texts in a script without blanks are cut before more advice.

    They are cut by an installed package that ``data.languages`` names. A pipe is read once.
    """
    found = advice_for(corpus, source)
    script = tuple(one for one in found if one.key == "tokenizer")
    if not script or not _is_there_again(source):
        return found
    trust(settings_of(script))
    cut = replace(source, report=refuse, **settings_of(script))
    try:
        words = read_resolved(cut)
    except UsageError as error:  # the package is there, but lacks another one
        others = (one for one in found if one.key != "tokenizer")
        return (*others, *(Advice(f"{one} ({error})", on_script=True) for one in script))
    return (*script, *advice_for(words, cut))


def script_warnings(vocab: Sequence[str], data: DataConfig) -> tuple[str, ...]:
    """Return a warning on raw texts that are fitted though whole sentences are their words.

    data: with its format found.
    """
    if data.tokenizer is not None or not FORMATS[str(data.from_)].text:
        return ()
    return tuple(str(one) for one in advise_on_script(vocab))


def _is_there_again(source: Source) -> bool:
    """Tell whether a corpus can be read once more."""
    return source.path.is_file() or source.path.is_dir()


def advice_for(corpus: Corpus | Vectors, source: Source) -> tuple[Advice, ...]:
    """Return the advice on a corpus that was read; there is none on shards and vectors.

    Raw text is read once more, for its lines; a pipe cannot be, and gets no advice on them.
    """
    if not isinstance(corpus, Corpus):
        return ()
    raw = FORMATS[str(source.format)].text
    text = raw and source.tokenizer is None
    folder = source.format == FOLDER
    whole_pages = folder and source.html == "all" and holds(source, HTML)
    marks = folder and source.markup == "all" and holds(source, MARKED)
    again = raw and _is_there_again(source)
    lines = advise_on_lines((one.text for one in records(source)), corpus.n_docs) if again else ()
    found = advise(corpus, text=text, whole_pages=whole_pages)
    return (*advise_on_marks(marks), *lines, *found)


@contextmanager
def _named(config: DataConfig) -> Iterator[DataConfig]:
    """Give the section a file to name where standard input is read."""
    if config.corpus != inmemory.STDIN:
        yield config
        return
    inmemory.require_format(config.from_)
    with TemporaryDirectory(prefix="hiertopics-") as folder:
        yield structs.replace(config, corpus=str(inmemory.spooled(Path(folder))))


def _read(source: Source, problems: _Problems) -> Corpus | Vectors | None:
    """Read every file; None where anything is wrong."""
    vocab, data = None, None
    if source.vocab is not None:
        with problems.noted():
            vocab = read_vocabulary(source.vocab, source.report)
    with problems.noted():
        data = read_counts(source, vocab)
    n_docs = None if data is None else data.n_docs
    tags: dict[str, Any] = {}
    for name, path in (("groups", source.groups), ("labels", source.labels)):
        if path is not None and not names_columns(path):
            with problems.noted():
                tags[name] = read_tags(path, n_docs, source.path, source.report)
    if data is None or problems.found:
        return None
    notes = [note for one in tags.values() for note in one.notes]
    return replace(data, **tags, notes=(*data.notes, *notes))
