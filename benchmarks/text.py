"""Real text of any size up to that of ``packages.txt``: a document per line, JSON.

A section of a file (a page, a man page, an entry of a changelog) is a document; one of more than
``LONGEST`` words is cut between its lines. What was there already is left out, and so is what
holds hardly a word of prose: tables of numbers, lists of names.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from benchmarks import debian

NAME, MANIFEST = "text.jsonl", "text.json"
WORD = re.compile(r"(?u)\b\w\w+\b")
"""A word as our reader of raw text cuts it."""

LONGEST = 400
FEWEST = 10
"""Tokens of a document, fewer make none: words that ``data.stop_words=english`` keeps."""

LEAST_PROSE = 0.05
"""Share of stop words below which a text is none."""


def build(folder: Path, n_tokens: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Write documents of about ``n_tokens`` to a folder; return what its manifest says.

    say: told of packages that cannot be had in the version that is listed, and of those done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    packages = debian.listed()
    gone = debian.missing(packages)
    for package in gone:
        say(f"{package.name} {package.version} is not to be had: left out")
    taken: list[dict[str, Any]] = []
    digest, seen = hashlib.sha256(), set[bytes]()
    total = n_docs = 0
    with open(folder / NAME, "wb") as file:
        for package, pages in debian.pages([one for one in packages if one not in gone]):
            before = total
            for name, words, text in _documents(pages, seen):
                line = json.dumps({"id": f"{package.name}/{name}", "text": text}).encode() + b"\n"
                file.write(line)
                digest.update(line)
                total, n_docs = total + words, n_docs + 1
                if total >= n_tokens:
                    break
            taken.append({**package._asdict(), "tokens": total - before})
            say(f"{package.name}: {total - before:,} tokens, {total:,} in all")
            if total >= n_tokens:
                break
    found = {
        "asked": n_tokens,
        "tokens": total,
        "documents": n_docs,
        "sha256": digest.hexdigest(),
        "packages": taken,
        "left_out": [package._asdict() for package in gone],
    }
    (folder / MANIFEST).write_text(json.dumps(found, indent=1))
    return found


def _documents(pages: Iterable[debian.Page], seen: set[bytes]) -> Iterator[tuple[str, int, str]]:
    """Yield name, tokens and text of documents that were not seen before."""
    for page in pages:
        number = 0
        for section in page.sections:
            for text in _cut(section):
                words = WORD.findall(text.lower())
                n_tokens = sum(word not in ENGLISH_STOP_WORDS for word in words)
                mark = hashlib.blake2b(text.encode(errors="replace"), digest_size=12).digest()
                prose = len(words) - n_tokens >= LEAST_PROSE * len(words)
                if n_tokens < FEWEST or not prose or mark in seen:
                    continue
                seen.add(mark)
                number += 1
                yield f"{page.name}#{number}", n_tokens, text


def _cut(section: str) -> Iterator[str]:
    """Yield a section in texts of about ``LONGEST`` words, blanks made one."""
    held: list[str] = []
    for line in section.splitlines():
        held += line.split()
        if len(held) >= LONGEST:
            yield " ".join(held)
            held = []
    yield " ".join(held)
