"""Advice on a corpus before it is fitted: problems for its tree, and settings against them.

An advice is a sentence and, where a setting mends the fault, that setting. Each threshold is the
share of documents or tokens from which on the advice is given. No threshold changes a fit, unless
its user asks for the advice (``fit --auto``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from hiertopics.base.arrays import I64
from hiertopics.base.units import many
from hiertopics.base.visible import typed, visible
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.languages import (
    COMMON,
    INSTALL_WORDS,
    has_stop_list,
    language_of,
    script_of,
    unparted,
    with_lists,
)
from hiertopics.corpus.formats.html import INSTALL_HTML
from hiertopics.corpus.formats.plaintexts import unread
from hiertopics.corpus.formats.source import FOLDER, Source
from hiertopics.corpus.formats.words import lettered

FIRST_WORDS = ((20, 6), (100, 12))
"""Of so many words in most documents, or with most tokens, so many must be common ones of a
language. The terms of a technical corpus may fill the first 20 places; keywords of a programming
language are fewer than 12 common words."""

EVERYWHERE, FEW_DOCS = 0.8, 20
"""A word in this share of the documents is boilerplate; a smaller corpus tells no such shares."""

LIMIT = 0.5
"""The advised ``data.max_df``. A line in more documents is boilerplate: this leaves all its words
out."""

GIANTS, THEIR_SHARE = 0.01, 0.2
"""The longest documents, as a share of all, and the share of the words from which on it is said."""

SHORT, MANY_SHORT = 5, 0.1
"""Tokens that a document needs; the share of shorter documents from which on it is said."""

REPEATED = 0.02
"""The share of documents that repeat an earlier one from which on it is said."""

RARE = 0.4
"""The share of words in one document from which on they are said."""

NUMBERS = 0.05
"""Least share of numbers among the tokens of a text for advice on them; 0.01 is usual."""

WITH_LETTER = r"\b(?=\w*[^\W\d_])\w\w+\b"
"""The default ``data.token_pattern``, but each word has a letter."""

UNPARTED_SHARE = 0.3
"""The share of words in a script without blanks from which on it is said."""

EXAMPLES, LONGEST_EXAMPLE = 3, 40
"""Words or lines that an advice quotes, and the characters of a line that it quotes."""


UNREAD = 0.5
"""Least share of unread texts in a folder for the advice to read all."""

EFFECTS = {"suffixes": "reads all of them", "encoding": "reads them", "tokenizer": "cuts them"}
"""What a setting does to the fault, by key. Other settings leave the fault out."""


class Advice(NamedTuple):
    """An observation, and the entry of the ``data`` section against it; None: there is none.

    on_script: it is on texts that are not cut into words.
    """

    what: str
    key: str | None = None
    value: str | int | float | None = None
    on_script: bool = False

    def __str__(self) -> str:
        """Return both in a line."""
        if self.key is None:
            return self.what
        does = EFFECTS.get(self.key, "leaves them out")
        return f"{self.what}; -s {typed(f'data.{self.key}={self.value}')} {does}"


def advise(corpus: Corpus, *, text: bool, whole_pages: bool = False) -> tuple[Advice, ...]:
    """Return advice on a corpus as it was read, before any word was chosen.

    text: whether it was raw text, so that it can be cut in another way. whole_pages: whether it was
    read from HTML pages with their navigation.
    """
    if corpus.n_docs == 0 or corpus.n_tokens == 0:
        return ()
    if text and (script := advise_on_script(corpus.vocab)):
        return script  # words that are no words tell nothing else
    spread = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    order = np.argsort(-spread, kind="stable")
    common = _common_words(corpus, order)
    repeats = any(one.key == "max_df" for one in common)
    found = [*_pages(whole_pages and repeats), *common, *(_numbers(corpus) if text else ())]
    if corpus.n_docs < FEW_DOCS:
        return tuple(found)
    found += [
        *_rare_words(spread),
        *_giants(corpus),
        *_short(corpus),
        *_repeated(corpus),
    ]
    return tuple(found)


def advise_on_lines(texts: Iterable[str], n_docs: int) -> tuple[Advice, ...]:
    """Return advice on lines that stand in more than ``LIMIT`` of ``n_docs`` raw texts.

    Each word of such a line is in as many documents, so that ``data.max_df`` leaves all of them
    out. A text of one line has no line beside others, and counts as a text without any.
    """
    if n_docs < FEW_DOCS:
        return ()
    repeated = _repeated_lines(texts, n_docs)
    if not repeated:
        return ()
    quoted = [
        repr(line if len(line) <= LONGEST_EXAMPLE else line[:LONGEST_EXAMPLE] + "...")
        for line in repeated[:EXAMPLES]
    ]
    told = ", ".join(quoted) + ", ..." * (len(repeated) > EXAMPLES)
    what = f"{many(len(repeated), 'line')} in more than {LIMIT:.0%} of the documents ({told})"
    return (Advice(what, "max_df", LIMIT),)


def _repeated_lines(texts: Iterable[str], n_docs: int) -> list[str]:
    """Return the lines with a letter in more than ``LIMIT`` of the texts, the commonest first."""
    needed = int(LIMIT * n_docs) + 1
    n_texts: dict[str, int] = {}
    for place, text in enumerate(texts):
        lines = dict.fromkeys(line.strip() for line in text.splitlines())
        # A line that was not seen until now and is in all texts from here on.
        new_suffice = n_docs - place >= needed
        for line in lines if len(lines) > 1 else ():
            if line in n_texts:
                n_texts[line] += 1
            elif new_suffice and any(letter.isalpha() for letter in line):
                n_texts[line] = 1
        if n_docs - place - 1 < needed <= n_docs - place:
            # No line is added after this text, and most of those before it are in one text alone.
            left = n_docs - place - 1
            n_texts = {line: seen for line, seen in n_texts.items() if seen + left >= needed}
    enough = [line for line, seen in n_texts.items() if seen >= needed]
    return sorted(enough, key=lambda line: -n_texts[line])


def settings_of(advice: tuple[Advice, ...]) -> dict[str, Any]:
    """Return the entries of the ``data`` section that follow the advice."""
    return {one.key: one.value for one in advice if one.key is not None}


def advise_on_unread(source: Source) -> tuple[Advice, ...]:
    """Return advice on a folder if most of its texts are not read. Raises as ``texts_in``."""
    if source.format != FOLDER or source.suffixes is not None:
        return ()
    found = unread(source)
    n_unread, n_read = sum(found.texts.values()), sum(found.read.values())
    if n_unread <= UNREAD * (n_unread + n_read):
        return ()
    what = f"{n_unread} of {n_unread + n_read} texts of the folder are not read"
    return (Advice(what, "suffixes", found.suffixes),)


def advise_on_marks(read: bool) -> tuple[Advice, ...]:
    """Return advice on files of Markdown and reStructuredText that are read with their marks."""
    if not read:
        return ()
    what = "names of directives and roles, and addresses of links, are read as words"
    return (Advice(what, "markup", "text"),)


def advise_on_script(vocab: Sequence[str]) -> tuple[Advice, ...]:
    """Return the advice on raw texts that are not cut into words, by their words.

    The setting is a function of a package that is installed; without it the advice names both.
    """
    uncut = unparted(vocab)
    if not uncut or len(uncut) < UNPARTED_SHARE * len(vocab):
        return ()
    script = script_of(vocab)
    what = (
        f"the texts are in a script without blanks between words ({script.name}), so that whole "
        "sentences become words"
    )
    if script.tokenizer is None:
        told = "-s data.tokenizer=MODULE:FUNCTION cuts them (a function that returns the words of a"
        return (Advice(f"{what}; {told} text)", on_script=True),)
    package = script.tokenizer.partition(":")[0]
    if find_spec(package) is not None:
        return (Advice(what, "tokenizer", script.tokenizer, on_script=True),)
    told = f"-s data.tokenizer={script.tokenizer} cuts them (pip install {package}; any function"
    return (Advice(f"{what}; {told} that returns words does)", on_script=True),)


def _pages(whole: bool) -> list[Advice]:
    """Return the advice on pages whose menus stand in all documents."""
    if not whole:
        return []
    what = "pages of HTML are read with their menus and footers"
    if find_spec("resiliparse") is None:
        return [Advice(f"{what}; -s data.html=main leaves them out ({INSTALL_HTML})")]
    return [Advice(what, "html", "main")]


def _common_words(corpus: Corpus, order: I64) -> list[Advice]:
    """Return the advice on stop words, and on words that nearly all documents have."""
    advice: list[Advice] = []
    stopped: frozenset[str] = frozenset()
    if found := _stop_words(corpus, order):
        there = [one for one in found if has_stop_list(one.language)]
        advice += _lists_there(there)
        advice += [_list_to_install(one) for one in found if one not in there]
        stopped = _common_of(there)
    if corpus.n_docs < FEW_DOCS:
        return advice
    spread = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    everywhere = [
        word
        for word in order[spread[order] >= EVERYWHERE * corpus.n_docs].tolist()
        if corpus.vocab[word].lower() not in stopped
    ]
    if everywhere:
        words = [corpus.vocab[word] for word in everywhere]
        share = corpus.word_counts[everywhere].sum() / corpus.n_tokens
        what = (
            f"{many(len(words), 'word')} in at least {EVERYWHERE:.0%} of the documents "
            f"({_listed(words)}), {share:.0%} of all tokens"
        )
        advice.append(Advice(what, "max_df", LIMIT))
    return advice


class _Leading(NamedTuple):
    """A language whose stop words lead a corpus, and a sentence on it."""

    language: str
    what: str


def _common_of(found: Sequence[_Leading]) -> frozenset[str]:
    return frozenset(word for one in found for word in COMMON[one.language])


def _lists_there(found: Sequence[_Leading]) -> list[Advice]:
    """Return the advice on languages whose lists of stop words can be read."""
    if not found:
        return []
    what = "; without these, ".join(one.what for one in found)
    return [Advice(what, "stop_words", with_lists(None, (one.language for one in found)))]


def _list_to_install(one: _Leading) -> Advice:
    """Return the advice on a language whose list of stop words is not installed."""
    told = f"-s data.stop_words={one.language} leaves them out ({INSTALL_WORDS})"
    return Advice(f"{one.what}; {told}")


def _stop_words(corpus: Corpus, order: I64) -> list[_Leading]:
    """Return the languages whose stop words lead the corpus, each without those before it.

    order: the words, those in most documents first.
    """
    # Boilerplate may fill the first places by documents, long documents those by tokens.
    by_tokens = np.argsort(-corpus.word_counts, kind="stable")
    ranks = {"words in most documents": order, "words with most tokens": by_tokens}
    found: list[_Leading] = []
    while (one := _leading(corpus.vocab, ranks, _common_of(found))) is not None:
        found.append(one)
    return found


def _leading(
    vocab: Sequence[str], ranks: Mapping[str, I64], without: Collection[str]
) -> _Leading | None:
    """Return the language whose stop words lead the ranks; None: there is none.

    ranks: words by number, the first ones first, by what a rank is called. without: words that
    have no place in it.
    """
    for n_first, needed in FIRST_WORDS:
        firsts = {}
        for rank, order in ranks.items():
            words = (vocab[word].lower() for word in order)
            firsts[rank] = list(islice((word for word in words if word not in without), n_first))
        found = {rank: language_of(words) for rank, words in firsts.items()}
        rank = max(found, key=lambda rank: len(found[rank].words))
        language, common = found[rank]
        if len(common) >= needed:
            what = f"{len(common)} of the {len(firsts[rank])} {rank} are {language} stop words"
            return _Leading(language, f"{what} ({_listed(common)})")
    return None


def _numbers(corpus: Corpus) -> list[Advice]:
    """Return the advice on numbers, which are words. They may be years: no setting is taken."""
    found = np.array([not lettered(word) for word in corpus.vocab])
    share = corpus.word_counts[found].sum() / corpus.n_tokens
    if share < NUMBERS:
        return []
    most = np.argsort(-corpus.word_counts, kind="stable")
    words = [corpus.vocab[word] for word in most if found[word]]
    pattern = typed(f"data.token_pattern={WITH_LETTER}")
    what = f"{share:.0%} of the tokens are numbers ({_listed(words)}), which may lead topics"
    return [Advice(f"{what}; -s {pattern} leaves out words without a letter")]


def _rare_words(spread: I64) -> list[Advice]:
    used = spread[spread > 0]
    once = int((used == 1).sum())
    if once < RARE * len(used):
        return []
    what = f"{once / len(used):.0%} of the words are in one document alone"
    return [Advice(what, "min_df", 2)]


def _giants(corpus: Corpus) -> list[Advice]:
    """Return the advice on a few documents that hold much of the corpus."""
    n_longest = int(GIANTS * corpus.n_docs)
    if n_longest == 0:
        return []
    longest = np.argsort(-corpus.doc_lengths, kind="stable")[:n_longest]
    share = corpus.doc_lengths[longest].sum() / corpus.n_tokens
    if share < THEIR_SHARE:
        return []
    ids = corpus.doc_ids
    names = [f"document {doc + 1}" if ids is None else visible(ids[doc]) for doc in longest]
    return [
        Advice(
            f"{many(n_longest, 'document')} of {corpus.n_docs} with {share:.0%} of the tokens "
            f"({_listed(names)}), which will rule the tree; split them, move them away, or set "
            "data.repeat_cap=3"
        )
    ]


def _short(corpus: Corpus) -> list[Advice]:
    """Return the advice on short documents; empty ones are counted elsewhere."""
    lengths = corpus.doc_lengths[corpus.doc_lengths > 0]
    n_short = int((lengths < SHORT).sum())
    if n_short < MANY_SHORT * len(lengths):
        return []
    noun = "documents" if len(lengths) == corpus.n_docs else "documents with words"
    what = f"{n_short} of {len(lengths)} {noun} have fewer than {SHORT} tokens"
    return [Advice(f"{what}, too few to place them surely")]


def _repeated(corpus: Corpus) -> list[Advice]:
    """Return the advice on documents that have the words of an earlier one, all of them."""
    counts = corpus.counts
    bags = Counter(
        (counts.indices[start:end].tobytes(), counts.data[start:end].tobytes())
        for start, end in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
        if end - start >= SHORT
    )
    n_repeated = bags.total() - len(bags)
    if n_repeated < max(REPEATED * corpus.n_docs, 2):
        return []
    what = f"{n_repeated} of {corpus.n_docs} documents have exactly the words of an earlier one"
    return [Advice(f"{what}; take the copies out, or they count as often as they stand there")]


def _listed(words: list[str]) -> str:
    return ", ".join(words[:EXAMPLES]) + ", ..." * (len(words) > EXAMPLES)
