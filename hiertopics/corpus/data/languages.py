"""The language of words, judged by its commonest words; scripts without spaces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

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

UNPARTED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
)
"""Letters of scripts that leave no blanks between words: Thai, Lao, Burmese, Khmer, kana, Han."""


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
