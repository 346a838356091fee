"""The corpora of ``python -m benchmarks labelled``: which pages, which label paths."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import pytest

from benchmarks import debian, labelled, plain_words
from benchmarks.debian import Package, Page
from hiertopics.corpus.corpora.dataset import load_corpus
from hiertopics.settings.config import DataConfig

KERNEL = "usr/share/doc/linux-doc-6.1/Documentation"
JAVA = "usr/share/doc/openjdk-17-jre-headless/api"


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("mm/damon/design.rst", "mm/damon"),
        ("mm/damon/deeper/one.txt", "mm/damon"),
        ("mm/balance.rst", "mm"),
        ("index.rst", None),
        ("translations/it_IT/mm/balance.rst", None),
        ("mm/picture.svg", None),
    ],
)
def test_a_page_of_the_kernel_has_its_folders(page: str, path: str | None) -> None:
    assert labelled.kernel_path(PurePosixPath(KERNEL, page)) == path


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("java.base/java/util/List.html", "java.util"),
        ("java.base/java/util/concurrent/locks/Lock.html", "java.util/concurrent"),
        ("java.base/java/util/package-summary.html", None),
        ("java.base/java/util/class-use/List.html", None),
        ("java.base/module-summary.html", None),
        ("index.html", None),
    ],
)
def test_a_class_has_its_package(page: str, path: str | None) -> None:
    assert labelled.java_path(PurePosixPath(JAVA, page)) == path


def test_documents_keep_their_label_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page with too few words goes, with its path; every second class of Java is taken."""
    text = "memory pages reclaim " * 5

    def shipped(
        packages: Sequence[Package], manual: re.Pattern[str] = debian.MAN
    ) -> Iterator[tuple[Package, list[Page]]]:
        for package in packages:
            yield (
                package,
                [
                    Page(f"{KERNEL}/mm/b.rst.gz", [text]),
                    Page(f"{KERNEL}/mm/a.rst.gz", ["memory"]),
                    Page(f"{KERNEL}/arm/c.rst", [text, "memory"]),
                    *(Page(f"{JAVA}/java.base/java/util/{n}.html", [text]) for n in range(5)),
                ],
            )

    monkeypatch.setattr(debian, "pages", shipped)
    monkeypatch.setattr(debian, "at_hand", list)
    monkeypatch.setattr(plain_words, "LEAST_DOCS", 1)
    monkeypatch.setattr(plain_words, "MOST_DOCS", 1.0)
    made = list(labelled.build(tmp_path))
    assert [(one.name, one.n_docs) for one in made] == [("kernel", 2), ("java", 3)]
    corpus = load_corpus(DataConfig(corpus=str(tmp_path / "kernel.ldac")))
    assert sorted(corpus.vocab) == ["memory", "pages", "reclaim"]
    assert corpus.counts.sum(axis=1).tolist() == [16, 15]
    assert (tmp_path / "kernel.paths").read_text() == "arm\nmm\n"
    assert (tmp_path / "java.paths").read_text() == "java.util\n" * 3
    assert [one.sha256 for one in labelled.build(tmp_path)] == [one.sha256 for one in made]


def test_a_package_that_is_not_to_be_had_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "_known", lambda packages: packages[1:])
    with pytest.raises(RuntimeError, match=r"no version of linux-doc-6\.1;"):
        next(labelled.build(tmp_path / "new"))
    assert not (tmp_path / "new").exists()
