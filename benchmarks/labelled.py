"""Two corpora with label paths that no choice of the program was made on, from what Debian ships.

The kernel's documentation, whose folders are a hierarchy of subjects, and Java's classes in their
packages. The packages have fixed versions and documents a fixed order, so that hashes tell
whether two people have the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from benchmarks import debian
from benchmarks.debian import Package, Page
from benchmarks.plain_words import LEAST_TOKENS, with_plain_words, write_labelled
from benchmarks.tour import Made
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.settings.config import DataConfig

MANUALS = PurePosixPath("usr/share/doc/linux-doc-6.1/Documentation")
CLASSES = PurePosixPath("usr/share/doc/openjdk-17-jre-headless/api")
NOT_SUBJECTS = {"ABI", "devicetree", "html", "output", "translations"}
"""Folders of the kernel's documentation that hold tables, copies or other languages."""

SUMMARIES = re.compile(r"(?:package|module|doc)-|index|allclasses|constant-values|serialized")
"""How names of pages begin that only list others."""

MOST_LETTERS = 20_000
"""Letters of a document that are read."""


class Labelled(NamedTuple):
    """A corpus with label paths.

    path_of: the label path of a page, None for one that is left out. every: one of so many
    documents is taken. sha256: of its three files, one after the other.
    """

    name: str
    package: Package
    path_of: Callable[[PurePosixPath], str | None]
    every: int
    sha256: str


def kernel_path(page: PurePosixPath) -> str | None:
    """Return the folder of a page of the kernel's documentation, and the one within it."""
    if not page.is_relative_to(MANUALS) or page.suffixes[:1] not in ([".rst"], [".txt"]):
        return None
    folders = page.relative_to(MANUALS).parent.parts[:2]
    return "/".join(folders) if folders and folders[0] not in NOT_SUBJECTS else None


def java_path(page: PurePosixPath) -> str | None:
    """Return the package of a class as two labels: ``java.util/concurrent``."""
    if not page.is_relative_to(CLASSES) or page.suffix != ".html":
        return None
    folders = page.relative_to(CLASSES).parent.parts[1:]  # the first one is a module
    if len(folders) < 2 or "class-use" in folders or SUMMARIES.match(page.name):
        return None
    return "/".join([".".join(folders[:2]), *folders[2:3]])


LABELLED = (
    Labelled(
        "kernel",
        Package("linux-doc-6.1", "6.1.176-1"),
        kernel_path,
        1,
        "63d6903059af5944bbbb322ba0777cd46c61121d34f2be51c84a286324875405",
    ),
    Labelled(
        "java",
        Package("openjdk-17-doc", "17.0.19+10-1~deb12u2"),
        java_path,
        2,
        "e470d6780ab066920df436e30bbd98621b3abb09048a2430053a39ce87470c15",
    ),
)


def build(folder: Path) -> Iterator[Made]:
    """Write the corpora to a folder: NAME.ldac, .vocab and .paths of each.

    Raises RuntimeError where apt has no version of a package.
    """
    packages = debian.at_hand([corpus.package for corpus in LABELLED])
    folder.mkdir(parents=True, exist_ok=True)
    for corpus, package in zip(LABELLED, packages, strict=True):
        ((_, pages),) = debian.pages([package])
        yield _write(corpus, pages, folder / f"{corpus.name}.ldac")


def _write(corpus: Labelled, pages: list[Page], file: Path) -> Made:
    documents = dict(_documents(corpus, pages))
    names = sorted(documents)[:: corpus.every]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as texts:
        texts.writelines(json.dumps({"text": documents[name][1]}) + "\n" for name in names)
        texts.flush()
        read = with_plain_words(load_corpus(DataConfig(corpus=texts.name)))
    full = np.flatnonzero(read.doc_lengths >= LEAST_TOKENS)
    write_labelled(read.select(full), [documents[names[doc]][0] for doc in full.tolist()], file)
    digest = hashlib.sha256()
    for suffix in (".ldac", ".vocab", ".paths"):
        digest.update(file.with_suffix(suffix).read_bytes())
    return Made(corpus.name, len(full), digest.hexdigest())


def _documents(corpus: Labelled, pages: list[Page]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the name of each document, its label path and its text."""
    for page in pages:
        name = PurePosixPath(page.name.removesuffix(".gz"))
        path = corpus.path_of(name)
        if path is not None:
            yield str(name), (path, "\n".join(page.sections)[:MOST_LETTERS])
