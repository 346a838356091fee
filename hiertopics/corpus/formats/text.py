"""Raw text: its words counted by scikit-learn's CountVectorizer."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from hiertopics.base.errors import DataError, UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.counting import CountedPairs
from hiertopics.corpus.formats.drafts import CorpusDraft, CorpusFacts
from hiertopics.corpus.formats.guesses import sample
from hiertopics.corpus.formats.metadata import Metadata, names_in, naming_column
from hiertopics.corpus.formats.plaintexts import left_aside_note
from hiertopics.corpus.formats.records import is_missing, records
from hiertopics.corpus.formats.sidefiles import TagTable, encodes
from hiertopics.corpus.formats.source import FOLDER, Source
from hiertopics.corpus.formats.tablerows import DEFAULT_TEXT_FIELD, TABLES
from hiertopics.corpus.formats.words import (
    Cut,
    analyser,
    count_vectorizer,
    drops_stop_words,
    find_phrases,
    stretches,
)

HELD_PAIRS = 1 << 16
LETTER = re.compile(r"\w")
MANY_SINGLE = 20
"""Least number of documents with words for a note on the number of their words."""


def read(source: Source, vocab: tuple[str, ...] | None) -> Corpus:
    """Read and tokenise the documents; ``vocab`` fixes the words, other words are left out.

    Raises DataError for a broken file and for one without any word; UsageError as
    ``formats.words.cutter`` does.
    """
    vectorizer = count_vectorizer(vocabulary=vocab, analyzer=_analyser(source))
    doc_ids: list[str] = []
    snippets: list[str] = []
    groups, labels, metadata = TagTable(), TagTable(), Metadata()
    named_by: str | None = None
    n_missing, has_letters = 0, False

    def texts() -> Iterator[str]:
        nonlocal named_by, n_missing, has_letters
        for record in records(source):
            has_letters = has_letters or LETTER.search(record.text) is not None
            named_by = record.named_by
            n_missing += record.missing
            if record.doc_id is not None:
                doc_ids.append(record.doc_id)
            groups.add(record.groups or ())
            labels.add(record.labels or ())
            snippets.append(snippet(record.text, source.snippets))
            metadata.add(record.others)
            yield record.text

    try:
        counts = vectorizer.fit_transform(texts())
    except ValueError as error:  # what the vectorizer says of an empty vocabulary
        what = _without_words(source, len(groups), has_letters) if groups else "holds no documents"
        raise DataError(source.path, what) from error
    columns = metadata.tags()
    names = tuple(doc_ids) if doc_ids else None
    if names is None and (named_by := naming_column(columns, len(groups))) is not None:
        names = names_in(columns[named_by])
    told = _notes(source, named_by, n_missing, len(groups))
    return Corpus(
        counts,
        tuple(vectorizer.get_feature_names_out().tolist()),
        names,
        None if source.group_field is None else groups.tags(),
        None if source.label_field is None else labels.tags(),
        notes=(*told, *_field_note(source, vocab, counts)),
        snippets=tuple(snippets) if source.snippets else None,
        metadata=columns,
    )


def draft(source: Source, vocab: tuple[str, ...] | None, into: CorpusDraft) -> CorpusFacts:
    """Read as ``read`` does, one document at a time; snippets and metadata are not kept.

    Raises DataError for a text that cannot be read, and where no document has a word.
    """
    analyse = _analyser(source)
    numbers = {} if vocab is None else {word: number for number, word in enumerate(vocab)}
    groups, labels = TagTable(), TagTable()
    held = _DocumentBuffer(into)
    named_by: str | None = None
    n_missing, has_letters = 0, False
    for record in records(source):
        has_letters = has_letters or LETTER.search(record.text) is not None
        named_by = record.named_by
        n_missing += record.missing
        if record.doc_id is not None:
            into.add_name(record.doc_id)
        groups.add(record.groups or ())
        labels.add(record.labels or ())
        words = Counter(analyse(record.text))
        if vocab is None:
            held.add({numbers.setdefault(word, len(numbers)): n for word, n in words.items()})
        else:
            held.add({numbers[word]: n for word, n in words.items() if word in numbers})
    held.flush()
    if into.n_docs and not numbers:
        raise DataError(source.path, _without_words(source, into.n_docs, has_letters))
    order = sorted(numbers) if vocab is None else vocab
    place = np.empty(len(numbers), np.int64)
    place[[numbers[word] for word in order]] = np.arange(len(numbers))
    return CorpusFacts(
        tuple(order),
        place,
        into.names(),
        None if source.group_field is None else groups.tags(),
        None if source.label_field is None else labels.tags(),
        _notes(source, named_by, n_missing, into.n_docs),
    )


def _without_words(source: Source, n_docs: int, has_letters: bool) -> str:
    """Return the fault of texts without a word, and the pattern where it drops their letters."""
    what = f"no words in {n_docs} documents"
    if not has_letters or source.tokenizer is not None or drops_stop_words(source):
        return what
    if source.token_pattern is None:
        return f"{what}: a word has two letters or digits; -s 'data.token_pattern=\\w+' takes one"
    return f"{what}: data.token_pattern {source.token_pattern!r} matches nothing in them"


def _notes(
    source: Source | None, named_by: str | None, n_missing: int, n_docs: int
) -> tuple[str, ...]:
    """Return a reader's notes on texts. source: None where they come from no file."""
    notes = []
    is_lines = source is not None and source.format == "lines"
    if named_by is not None:
        other = "(data.id_field takes another)"
        notes.append(f"documents are called by the field {named_by!r} {other}")
    if n_missing:
        why = "(a blank line)" if is_lines else "(an empty cell, NaN or null)"
        notes.append(f"{n_missing} of {n_docs} documents have no text {why}")
    if source is not None and source.format == FOLDER:
        notes = [*left_aside_note(source), *notes]
    return tuple(notes)


def _field_note(
    source: Source, vocab: tuple[str, ...] | None, counts: sparse.csr_matrix
) -> tuple[str, ...]:
    """Return a note on a column of single words, which may be another one than that of the text.

    counts: int64 [n_docs, n_words]. A vocabulary that is given leaves words out, and tells nothing.
    """
    if source.format not in TABLES or vocab is not None:
        return ()
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    lengths = lengths[lengths > 0]
    if len(lengths) < MANY_SINGLE or np.median(lengths) > 1:
        return ()
    field = source.text_field or DEFAULT_TEXT_FIELD
    guess = sample(source).guess
    other = "" if guess is None or guess.field == field else f" {guess.field!r} has more words"
    return (f"documents have one word (median); is {field!r} the text?{other}",)


class _DocumentBuffer:
    """Documents on their way into a draft, many at a time."""

    def __init__(self, into: CorpusDraft) -> None:
        self._into = into
        self._lengths, self._ids, self._counts = array("q"), array("i"), array("i")

    def add(self, document: dict[int, int]) -> None:
        self._lengths.append(len(document))
        self._ids.extend(document)
        self._counts.extend(document.values())
        if len(self._ids) > HELD_PAIRS:
            self.flush()

    def flush(self) -> None:
        self._into.add(
            CountedPairs(
                np.array(self._lengths, np.int64),
                np.array(self._ids, np.int32),
                np.array(self._counts, np.int32),
            )
        )
        self._lengths, self._ids, self._counts = array("q"), array("i"), array("i")


def snippet(text: str, n_letters: int) -> str:
    """Return the beginning of a text in a line of at most ``n_letters``, with single blanks.

    Half a surrogate pair, which no file can hold, becomes U+FFFD.
    """
    start = " ".join(text[: 4 * n_letters].split())
    cut = start if len(start) <= n_letters else f"{start[: max(n_letters - 1, 0)]}…"
    return cut.encode(errors="replace").decode() if not encodes(cut) else cut


def count_words(
    documents: Sequence[str] | Sequence[Sequence[str]], vocab: tuple[str, ...] | None
) -> Corpus:
    """Return the corpus of documents in memory: texts, or lists of words that are cut already.

    A document of None or NaN has no text, and a note says how many there are. Raises DataError
    where there is no word.
    """
    missing = [is_missing(document) for document in documents]
    known = ["" if lacks else document for document, lacks in zip(documents, missing, strict=True)]
    whole = all(isinstance(document, str) for document in known)
    vectorizer = count_vectorizer(vocabulary=vocab, **({} if whole else {"analyzer": list}))
    try:
        counts = vectorizer.fit_transform(known)
    except ValueError as error:  # what the vectorizer says of an empty vocabulary
        raise DataError("corpus", f"no words in {len(known)} documents") from error
    words = tuple(vectorizer.get_feature_names_out().tolist())
    return Corpus(counts, words, notes=_notes(None, None, sum(missing), len(known)))


def _analyser(source: Source) -> Cut:
    """Return what turns a text into words; phrases are those of ``source`` or found in its texts.

    Raises UsageError where phrases were to be found in a pipe, which can be read only once.
    """
    if source.phrases is None:
        return analyser(source, frozenset())
    if source.known_phrases is not None:
        return analyser(source, source.known_phrases)
    if source.format != FOLDER and not source.path.is_file():
        what = "data.phrases read the texts several times, but a pipe can be read once"
        raise UsageError(f"{source.path}: {what}; put them into a file")

    cut = stretches(source)

    def all_stretches() -> Iterator[list[str]]:
        counted = source.phrases_from
        for number, record in enumerate(records(source)):
            if counted is None or number in counted:
                yield from cut(record.text)

    least = source.phrases
    found = find_phrases(all_stretches, least.npmi, least.min_count)
    return analyser(source, found)
