"""The language of words, judged by its commonest words; scripts without spaces."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from typing import NamedTuple
from unicodedata import normalize

OWN_NAMES = {
    "arabic": ("العربية", "عربي"),
    "bulgarian": ("български",),
    "catalan": ("català", "catala"),
    "chinese": ("中文", "汉语", "漢語"),
    "czech": ("čeština", "cestina", "česky", "cesky"),
    "danish": ("dansk",),
    "dutch": ("nederlands", "vlaams"),
    "english": ("englisch", "anglais", "inglés", "ingles", "inglese"),
    "finnish": ("suomi",),
    "french": ("français", "francais", "französisch"),
    "german": ("deutsch", "allemand", "alemán", "aleman", "tedesco", "duits"),
    "greek": ("ελληνικά", "ελληνικα"),
    "hebrew": ("עברית",),
    "hindi": ("हिन्दी", "हिंदी"),
    "hungarian": ("magyar",),
    "indonesian": ("bahasa", "indonesia"),
    "italian": ("italiano", "italienisch", "italien"),
    "japanese": ("日本語",),
    "korean": ("한국어",),
    "norwegian": ("norsk", "bokmål", "bokmal"),
    "persian": ("فارسی", "farsi"),
    "polish": ("polski",),
    "portuguese": ("português", "portugues", "brasileiro"),
    "romanian": ("română", "romana", "romaneste"),
    "russian": ("русский", "russisch", "russe"),
    "slovak": ("slovenčina", "slovencina"),
    "spanish": ("español", "espanol", "castellano", "spanisch", "espagnol"),
    "swedish": ("svenska",),
    "turkish": ("türkçe", "turkce"),
    "ukrainian": ("українська",),
    "vietnamese": ("việt",),
}
"""Names of languages in the language itself and in some others, by the English name."""

COMMON: dict[str, tuple[str, ...]] = {
    "english": (
        *("a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "had", "has"),
        *("have", "he", "his", "i", "in", "is", "it", "not", "of", "on", "or", "she", "that"),
        *("the", "their", "they", "this", "to", "was", "we", "were", "which", "with", "you"),
    ),
    "french": (
        *("au", "aux", "avec", "ce", "dans", "de", "des", "du", "elle", "en", "est", "et", "il"),
        *("la", "le", "les", "mais", "ne", "nous", "on", "ou", "par", "pas", "pour", "que", "qui"),
        *("sa", "se", "ses", "son", "sont", "sur", "un", "une", "vous", "été", "être"),
    ),
    "german": (
        *("als", "am", "an", "auch", "auf", "aus", "bei", "das", "dass", "dem", "den", "der"),
        *("des", "die", "ein", "eine", "einen", "er", "es", "für", "hat", "ich", "im", "in", "ist"),
        *("mit", "nicht", "sich", "sie", "sind", "und", "von", "war", "werden", "wie", "zu", "zum"),
    ),
    "spanish": (
        *("al", "como", "con", "de", "del", "el", "en", "es", "esta", "este", "fue", "la", "las"),
        *("lo", "los", "más", "no", "para", "pero", "por", "que", "se", "su", "sus", "también"),
        *("un", "una", "uno", "y", "ya"),
    ),
    "italian": (
        *("al", "alla", "anche", "che", "come", "con", "da", "dal", "dei", "del", "della", "delle"),
        *("di", "gli", "ha", "il", "in", "la", "le", "lo", "ma", "nel", "nella", "non", "per"),
        *("più", "si", "sono", "su", "un", "una", "è"),
    ),
    "portuguese": (
        *("ao", "aos", "as", "com", "como", "da", "das", "de", "do", "dos", "em", "foi", "mais"),
        *("mas", "na", "nas", "no", "nos", "não", "os", "ou", "para", "pela", "pelo", "por"),
        *("que", "se", "seu", "sua", "são", "um", "uma", "é"),
    ),
    "dutch": (
        *("aan", "als", "bij", "dat", "de", "deze", "die", "door", "een", "en", "er", "het", "hij"),
        *("ik", "in", "is", "maar", "met", "naar", "niet", "om", "ook", "op", "te", "tot", "uit"),
        *("van", "voor", "was", "werd", "worden", "zijn"),
    ),
    "swedish": (
        *("att", "av", "de", "den", "det", "där", "eller", "en", "ett", "från", "för", "hade"),
        *("han", "har", "hon", "i", "inte", "jag", "kan", "med", "men", "och", "om", "på", "som"),
        *("så", "till", "var", "vid", "är"),
    ),
    "polish": (
        *("ale", "co", "czy", "dla", "do", "i", "ich", "jak", "jest", "jego", "już", "lub", "ma"),
        *("na", "nie", "o", "od", "oraz", "po", "przez", "przy", "się", "są", "tak", "to", "tym"),
        *("w", "z", "za", "ze", "że"),
    ),
    "russian": (
        *("а", "без", "был", "было", "в", "во", "вы", "да", "для", "до", "его", "ее", "если"),
        *("же", "за", "и", "из", "или", "их", "к", "как", "на", "не", "но", "о", "он", "она", "от"),
        *("по", "при", "с", "так", "то", "что", "это"),
    ),
}
"""Words of the first rank, which most texts of a language have; articles, pronouns and the like.

Languages are called as ``data.stop_words`` calls them.
"""


ENGLISH = "english"
INSTALL_WORDS = "pip install 'hiertopics[words]'"


def has_stop_list(language: str) -> bool:
    """Tell whether the list of stop words of a language is installed."""
    return language == ENGLISH or find_spec("stop_words") is not None


def in_english(name: str) -> str | None:
    """Return the English name for a name such as ``deutsch``; None if it is unknown."""
    small = normalize("NFC", name).lower()
    return next((english for english, own in OWN_NAMES.items() if small in own), None)


def stop_lists(given: str | None) -> list[str]:
    """Return the languages and files that ``data.stop_words`` names, separated by commas.

    A file whose own name has commas is one list.
    """
    if given is None:
        return []
    if os.path.exists(given):
        return [given]
    return [name for part in given.split(",") if (name := part.strip())] or [given]


def with_lists(given: str | None, more: Iterable[str]) -> str:
    """Return the value of ``data.stop_words`` with the lists that are set, and ``more``."""
    return ",".join(dict.fromkeys([*stop_lists(given), *more]))


class Script(NamedTuple):
    """A script that leaves no blanks between words.

    letters: a class of a regular expression. tokenizer: a public function that cuts texts into a
    list of words, for ``data.tokenizer``; None: of no package that is known here.
    """

    name: str
    letters: str
    tokenizer: str | None


SCRIPTS = (
    Script("Japanese", "\u3040-\u30ff", "nagisa:wakati"),
    Script("Chinese", "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff", "jieba:lcut"),
    Script("Thai", "\u0e00-\u0e7f", "pythainlp:word_tokenize"),
    Script("Lao", "\u0e80-\u0eff", None),
    Script("Burmese", "\u1000-\u109f", None),
    Script("Khmer", "\u1780-\u17ff", None),
)
"""Kana stand before Han, which Japanese texts have, too."""

KANA = 0.1
"""Words with kana, as a share of those with Han letters, from which on the texts are Japanese."""

UNPARTED = re.compile("[" + "".join(script.letters for script in SCRIPTS) + "]")
"""Letters of these scripts."""


class Language(NamedTuple):
    """A language, and those of the given words that are common in it."""

    name: str
    words: list[str]


def language_of(words: Collection[str]) -> Language:
    """Return the language whose ``COMMON`` words occur most; the first of equal ones.

    words: the most frequent ones of a text, in small letters.
    """
    found = (
        Language(language, [word for word in words if word in common])
        for language, common in COMMON.items()
    )
    return max(found, key=lambda one: len(one.words))


def unparted(words: Iterable[str]) -> list[str]:
    """Return the words that are written in a script without blanks between words."""
    return [word for word in words if UNPARTED.search(word)]


def script_of(words: Collection[str]) -> Script:
    """Return the script without blanks that most of the words have; kana decide against Han.

    words: at least one of them has letters of such a script.
    """
    counts = [sum(bool(re.search(f"[{one.letters}]", word)) for word in words) for one in SCRIPTS]
    kana, han = counts[:2]
    if kana >= KANA * max(han, 1):
        return SCRIPTS[0]
    return SCRIPTS[counts.index(max(counts))]
