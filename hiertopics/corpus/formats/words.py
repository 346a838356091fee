"""How raw text becomes words: cut, stop words taken out, stemmed, joined into phrases, n-grams.

With nothing asked for, scikit-learn's CountVectorizer cuts with its defaults.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any
from unicodedata import category

from hiertopics.base.errors import DataError, UsageError, optional
from hiertopics.corpus.data.languages import (
    COMMON,
    ENGLISH,
    INSTALL_WORDS,
    in_english,
    stop_lists,
)
from hiertopics.corpus.formats.source import Source
from hiertopics.corpus.formats.trust import require_trusted

JOINED = "_"

LEMMATISED = {
    **{"sq": "albanian", "ast": "asturian", "bg": "bulgarian", "ca": "catalan", "cs": "czech"},
    **{"da": "danish", "nl": "dutch", "en": "english", "et": "estonian", "fi": "finnish"},
    **{"fr": "french", "gl": "galician", "ka": "georgian", "de": "german", "el": "greek"},
    **{"hi": "hindi", "hu": "hungarian", "is": "icelandic", "id": "indonesian", "ga": "irish"},
    **{"it": "italian", "la": "latin", "lv": "latvian", "lt": "lithuanian", "mk": "macedonian"},
    **{"lb": "luxembourgish", "ms": "malay", "gv": "manx", "enm": "middle-english"},
    **{"nb": "norwegian", "nn": "nynorsk", "fa": "persian", "pl": "polish", "pt": "portuguese"},
    **{"ro": "romanian", "ru": "russian", "se": "sami", "gd": "scottish-gaelic"},
    **{"hbs": "serbo-croatian", "sk": "slovak", "sl": "slovenian", "es": "spanish"},
    **{"sw": "swahili", "sv": "swedish", "tl": "tagalog", "tr": "turkish", "uk": "ukrainian"},
    **{"cy": "welsh", "hy": "armenian", "ar": "arabic", "he": "hebrew", "eo": "esperanto"},
    **{"grc": "ancient-greek", "ml": "malayalam"},
}
"""Languages of ``data.lemmas`` by the codes that simplemma gives them."""

PATTERN = r"(?u)\b\w\w+\b"
"""scikit-learn's pattern of a word."""

LETTER = re.compile(r"\w")
"""A letter or digit: text without any, such as a comma, does not part two words."""

Cut = Callable[[str], list[str]]
CutApart = Callable[[str], list[list[str]]]
"""From a text to its words, in lists of words that stand side by side."""

Pair = tuple[str, str]


def cutter(source: Source) -> Cut:
    """Return a function that cuts a text into words before any are joined: without stop words, with
    the rest cut to their stems or replaced by their lemmas.

    Raises UsageError for a package that is not installed, a pattern, language or tokenizer that
    there is not, and for a tokenizer that may not be imported; DataError for a broken stop list.
    """
    cut = _by_tokenizer(source) if source.tokenizer else _by_pattern(source)
    stopped = _stopped(source) if drops_stop_words(source) else frozenset[str]()
    if not stopped and source.stemmer is None and source.lemmas is None:
        return cut
    reduced, stopped_after = _reducer(source), _stopped_after(source, stopped)

    def cut_reduced(text: str) -> list[str]:
        words = reduced([word for word in cut(text) if word not in stopped])
        return [word for word in words if word not in stopped_after]

    return cut_reduced


def _stopped(source: Source) -> frozenset[str]:
    return stop_words(source.stop_words, rests=source.stop_rests)


def _stopped_after(source: Source, stopped: frozenset[str]) -> frozenset[str]:
    """Return the lemmas that are dropped."""
    return stopped if source.lemmas is not None and source.stop_lemmas else frozenset()


def stretches(source: Source) -> CutApart:
    """Return a function that cuts a text as ``cutter`` does, into stretches that phrases lie in.

    A word that is left out, such as a stop word or one letter, ends a stretch, unless
    ``phrases.over_stop_words`` joins words over it. Raises as ``cutter`` does.
    """
    cut = cutter(source)
    if source.phrases is None or source.phrases.over_stop_words:
        return lambda text: [cut(text)]
    words_in = (_gapped_by_tokenizer if source.tokenizer else _gapped_by_pattern)(source)
    stopped, reduced = _stopped(source), _reducer(source)
    stopped_after = _stopped_after(source, stopped)

    def cut_apart(text: str) -> list[list[str]]:
        found: list[list[str]] = []
        for stretch in _parted(words_in(text), stopped):
            found += _parted(reduced(stretch), stopped_after)
        return found

    return cut_apart


def _parted(words: Sequence[str | None], stopped: frozenset[str]) -> list[list[str]]:
    """Return the stretches between gaps and ``stopped`` words; none is empty."""
    found: list[list[str]] = [[]]
    for word in words:
        if word is None or word in stopped:
            found.append([])
        else:
            found[-1].append(word)
    return [stretch for stretch in found if stretch]


def _gapped_by_pattern(source: Source) -> Callable[[str], Sequence[str | None]]:
    """Return a function from a text to its words, with None for letters that are in no word."""
    pattern = re.compile(PATTERN if source.token_pattern is None else source.token_pattern)

    def cut(text: str) -> list[str | None]:
        letters = text.lower() if source.lowercase else text
        found: list[str | None] = []
        end = 0
        for match in pattern.finditer(letters):
            if LETTER.search(letters, end, match.start()):
                found.append(None)
            found.append(match[pattern.groups] or "")
            end = match.end()
        return found

    return cut


def drops_stop_words(source: Source) -> bool:
    """Tell whether stop words leave a text before its words are stemmed or joined.

    Otherwise they are dropped from the vocabulary, as those of any other corpus.
    """
    joins = source.phrases is not None or list(source.ngram_range) != [1, 1]
    return joins or source.stemmer is not None or source.lemmas is not None


def analyser(source: Source, phrases: Container[Pair]) -> Cut:
    """Return a function from a text to its counted words: joined, and in all n-grams."""
    low, high = source.ngram_range
    if not phrases and high == 1:
        return cutter(source)
    cut = stretches(source)

    def joined(text: str) -> list[str]:
        return [word for stretch in cut(text) for word in join(stretch, phrases)]

    return lambda text: ngrams(joined(text), low, high)


def join(words: list[str], phrases: Container[Pair]) -> list[str]:
    """Join pairs of neighbours from left to right; no word is in two of them."""
    if not phrases:
        return words
    joined: list[str] = []
    place = 0
    while place < len(words):
        both = tuple(words[place : place + 2])
        found = len(both) == 2 and both in phrases
        joined.append(JOINED.join(both) if found else words[place])
        place += 2 if found else 1
    return joined


def ngrams(words: list[str], low: int, high: int) -> list[str]:
    """Return all n-grams of ``low`` to ``high`` words, joined by one blank."""
    return [
        " ".join(words[start : start + size])
        for size in range(low, high + 1)
        for start in range(len(words) - size + 1)
    ]


def find_phrases(
    stretches: Callable[[], Iterable[list[str]]], least_npmi: float, least_count: int
) -> frozenset[Pair]:
    """Return the pairs of neighbours that belong together.

    A pair does where it occurs at least ``least_count`` times and its normalised pointwise mutual
    information, ln(p(ab) / (p(a) p(b))) / -ln p(ab) with p the share of all tokens (Bouma, 2009),
    is at least ``least_npmi``. stretches: all words, in lists of neighbours; they are gone through
    twice, so that only pairs of words that are frequent enough themselves are counted.
    """
    counts: Counter[str] = Counter()
    for words in stretches():
        counts.update(words)
    frequent = {word for word, count in counts.items() if count >= least_count}
    pairs: Counter[Pair] = Counter()
    for words in stretches():
        pairs.update(
            pair for pair in pairwise(words) if pair[0] in frequent and pair[1] in frequent
        )
    n_tokens = counts.total()
    return frozenset(
        pair
        for pair, count in pairs.items()
        if count >= least_count
        and npmi(count, counts[pair[0]], counts[pair[1]], n_tokens) >= least_npmi
    )


def npmi(n_both: int, n_first: int, n_second: int, n_tokens: int) -> float:
    """Return the normalised pointwise mutual information of a pair that occurs, at most 1."""
    if n_both == n_tokens:
        return 1.0
    return log(n_both * n_tokens / (n_first * n_second)) / log(n_tokens / n_both)


class JoinedWords(Container[Pair]):
    """The pairs of words that make a word of a vocabulary when they are joined.

    words: the vocabulary. Pairs are joined when they are asked for: a word of n joints would
    have n pairs of n letters.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._joined = frozenset(word for word in words if JOINED in word[1:-1])

    def __bool__(self) -> bool:
        return bool(self._joined)

    def __contains__(self, pair: object) -> bool:
        return isinstance(pair, tuple) and all(pair) and JOINED.join(pair) in self._joined


RESTS: dict[str, tuple[str, ...]] = {
    "english": (
        *("ain", "aren", "couldn", "daren", "didn", "doesn", "don", "hadn", "hasn", "haven"),
        *("isn", "mayn", "mightn", "mustn", "needn", "oughtn", "shan", "shouldn", "wasn", "weren"),
        *("wouldn", "ll", "re", "ve", "d", "m", "s", "t"),
    ),
    "french": (
        *("aujourd", "hui", "jusqu", "lorsqu", "presqu", "puisqu", "qu", "quelqu", "quoiqu"),
        *("c", "d", "j", "l", "m", "n", "s", "t"),
    ),
    "italian": (
        *("all", "anch", "ch", "coll", "com", "cos", "dall", "dell", "dov", "nell", "ogn"),
        *("quell", "quest", "senz", "sull", "un", "c", "d", "l", "m", "n", "s", "t", "v"),
    ),
}
"""What cutting at apostrophes leaves of the contractions of a language, in small letters.

``won`` of won't is not among them: it is a word of its own.
"""


def stop_words(names: str | None, *, rests: bool) -> frozenset[str]:
    """Return the words of ``data.stop_words``, of all its lists; those of languages with ``RESTS``.

    rests: see ``data.stop_rests``. Raises UsageError or DataError for a list that there is not.
    """
    lists = (_words_of_list(name, rests) for name in stop_lists(names))
    return frozenset[str]().union(*lists)


def _words_of_list(name: str, rests: bool) -> frozenset[str]:
    more = RESTS.get(name, ()) if rests else ()
    if name == ENGLISH:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import

        return frozenset({*ENGLISH_STOP_WORDS, *more})
    try:
        return frozenset(Path(name).read_text(encoding="utf-8").split())
    except FileNotFoundError:
        return _of_language(name).union(more)
    except OSError as error:
        raise DataError(name, f"cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # other text than UTF-8, or a name that no file can have
        raise DataError(name, "cannot be read as a list of stop words in UTF-8") from error


def language_called(code: str) -> str | None:
    """Return the language that a code, or its own name, means, as ``de``; None where it means none.

    A code means none where stop-words is not installed.
    """
    if (meant := in_english(code)) is not None:
        return meant
    try:
        lists = optional("stop_words", "codes of languages")
    except UsageError:
        return None
    found: str | None = lists.LANGUAGE_MAPPING.get(code.lower())
    return found


def _of_language(name: str) -> frozenset[str]:
    if not name.isalpha() and in_english(name) is None:
        raise DataError(name, "cannot be read (No such file or directory)")
    told = f"data.stop_words: {name} is no file; lists by language need stop-words: {INSTALL_WORDS}"
    lists = optional("stop_words", told)
    known = sorted({ENGLISH, *lists.AVAILABLE_LANGUAGES})
    meant = language_called(name) or name.lower()
    if meant in known and meant != name:
        raise UsageError(f"data.stop_words: {name} is no language; did you mean {meant}?")
    if name not in known:
        if near := get_close_matches(name.lower(), known, n=1):
            raise UsageError(f"data.stop_words: {name} is no language; did you mean {near[0]}?")
        raise UsageError(
            f"data.stop_words: {name} is neither a file nor one of {len(known)} languages, such as "
            f"{', '.join(COMMON)}"
        )
    return frozenset(lists.get_stop_words(name))


def _by_pattern(source: Source) -> Cut:
    pattern = {} if source.token_pattern is None else {"token_pattern": source.token_pattern}
    cut: Cut = count_vectorizer(lowercase=source.lowercase, **pattern).build_analyzer()
    return cut


def count_vectorizer(**options: Any) -> Any:
    """Return scikit-learn's CountVectorizer."""
    from sklearn.feature_extraction.text import CountVectorizer  # slow to import

    return CountVectorizer(**options)


def _reducer(source: Source) -> Callable[[list[str]], list[str]]:
    return _stemmer(source.stemmer) if source.lemmas is None else _lemmatiser(source)


def _stemmer(language: str | None) -> Callable[[list[str]], list[str]]:
    if language is None:
        return lambda words: words
    snowballstemmer = optional(
        "snowballstemmer", f"data.stemmer needs snowballstemmer: {INSTALL_WORDS}"
    )
    if language not in snowballstemmer.algorithms():
        known, meant = sorted(snowballstemmer.algorithms()), language_called(language)
        told = f"did you mean {meant}?" if meant in known else f"there are {', '.join(known)}"
        raise UsageError(f"data.stemmer: {language} is no language; {told}")
    stem: Callable[[list[str]], list[str]] = snowballstemmer.stemmer(language).stemWords
    return stem


def _lemmatiser(source: Source) -> Callable[[list[str]], list[str]]:
    """Return what replaces words by their lemmas, in small letters where the words are."""
    simplemma = optional("simplemma", f"data.lemmas needs simplemma: {INSTALL_WORDS}")
    codes = {name: code for code, name in LEMMATISED.items()}
    code = codes.get(str(source.lemmas))
    if code is None:
        name = str(source.lemmas)
        meant = LEMMATISED.get(name.lower()) or in_english(name)
        told = f"did you mean {meant}?" if meant else f"there are {', '.join(sorted(codes))}"
        raise UsageError(f"data.lemmas: {source.lemmas} is no language; {told}")
    lemmatise: Callable[[str, str], str] = simplemma.lemmatize

    def lemma(word: str) -> str:
        found = lemmatise(word, code)
        return found.lower() if source.lowercase else found

    return lambda words: [lemma(word) for word in words]


def _by_tokenizer(source: Source) -> Cut:
    cut = _tokenizer(str(source.tokenizer))
    return cut if source.letterless else lambda text: [word for word in cut(text) if lettered(word)]


def _gapped_by_tokenizer(source: Source) -> Callable[[str], Sequence[str | None]]:
    """Return a function from a text to its words, with None for numbers that are left out."""
    cut = _tokenizer(str(source.tokenizer))
    if source.letterless:
        return cut

    def cut_lettered(text: str) -> list[str | None]:
        marked = [(word, lettered(word)) for word in cut(text)]
        return [word if kept else None for word, kept in marked if kept or LETTER.search(word)]

    return cut_lettered


def lettered(word: str) -> bool:
    """Tell whether a word holds a letter or a mark of one, of any script."""
    return any(category(letter)[0] in "LM" for letter in word)


def _tokenizer(name: str) -> Cut:
    """Import ``module:function``, which returns the list of words of a text."""
    function = _function(name)

    def cut(text: str) -> list[str]:
        words = function(text)
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UsageError(f"data.tokenizer: {name} must return a list of words for a text")
        # Some return line ends as words, or within them, which no word of a vocabulary may hold.
        if not any("\n" in word for word in words):
            return words
        return [part for word in words for part in (word.split() if "\n" in word else [word])]

    return cut


def _function(name: str) -> Callable[[str], Any]:
    require_trusted(name)
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise UsageError(f"data.tokenizer must be module:function, got {name}")
    try:
        function = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        how = ""
        if Path(f"{module.partition('.')[0]}.py").is_file():
            how = "; with PYTHONPATH=. Python finds modules of the current folder"
        raise UsageError(f"data.tokenizer: {name} cannot be imported ({error}){how}") from error
    if not callable(function):
        raise UsageError(f"data.tokenizer: {name} is no function")
    found: Callable[[str], Any] = function
    return found


def tokenizer_hash(name: str) -> str:
    """Return a SHA-256 of the source of a tokenizer's module, or of its name where there is none.

    Raises as ``cutter`` does.
    """
    function = _function(name)
    module = inspect.getmodule(function)
    try:
        text = inspect.getsource(module or function)
    except (OSError, TypeError):
        text = name
    return hashlib.sha256(text.encode()).hexdigest()
