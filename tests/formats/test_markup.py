"""The text of Markdown and reStructuredText: what a reader of the page sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from hiertopics.base.errors import UsageError
from hiertopics.corpus.corpora.checking import advised
from hiertopics.corpus.formats.markup import text_of_markdown, text_of_restructured
from hiertopics.corpus.formats.reading import read_corpus
from hiertopics.corpus.formats.source import Source
from hiertopics.settings.config import DataConfig


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("---\ntitle: hidden\ntags: [a]\n---\n# Oaks\n", "# Oaks"),
        ("one\n---\ntwo\n---\n", "one --- two ---"),
        ("An [oak](trees.md) or [ash][1].\n\n[1]: http://b.org 'hidden'\n", "An oak or ash."),
        ("![a leaf](leaf.png) [![built](b.svg)](ci)", "a leaf built"),
        ("```python\nprint(oak)\n```\n", "print(oak)"),
        ("<p align='center'>Oaks &amp; ashes</p><!-- hidden -->", "Oaks & ashes"),
        ("_very_ __old__ snake_case and __init__", "very old snake_case and init"),
        ("see <https://a.org/x> and https://b.org/y_z.", "see and"),
        ("a < b and c > d", "a < b and c > d"),
        ("", ""),
    ],
)
def test_markdown(page: str, words: str) -> None:
    assert " ".join(text_of_markdown(page).split()) == words


@pytest.mark.parametrize(
    ("page", "words"),
    [
        (".. note:: Oaks are old.\n\n   Very old.\n", "Oaks are old. Very old."),
        (".. toctree::\n   :maxdepth: 2\n\n   oaks\n   ashes\n\nTrees\n=====\n", "Trees ====="),
        (".. code-block:: python\n   :linenos:\n\n   print(oak)\n", "print(oak)"),
        (".. versionadded:: 3.1\n   The oak.\n", "3.1 The oak."),
        (".. image:: leaf.png\n   :alt: hidden\n\nOak\n", "Oak"),
        (".. figure:: leaf.png\n   :alt: hidden\n\n   A leaf\n", "A leaf"),
        (".. |oak| image:: leaf.png\n\nAn |oak| here\n", "An here"),
        (".. _the-target:\n\nOaks\n", "Oaks"),
        (".. a comment\n   of two lines\n\nOaks\n", "Oaks"),
        ("..\n   a comment\n\nOaks\n", "Oaks"),
        (".. [1] A note\n   goes on\n", "A note goes on"),
        (".. function:: grow(oak)\n   :async:\n\n   Lets it grow.\n", "grow(oak) Lets it grow."),
        (":py:func:`grow` and :ref:`all oaks <oaks>`", "`grow` and all oaks"),
        ("`Oaks <https://a.org>`_ and oaks_ and `old oaks`__", "Oaks and oaks and `old oaks`"),
        (":Author: Ann\n:Date: today\n", ":Author: Ann :Date: today"),
        ("- item\n\n  .. hint:: look\n\n  more\n", "- item look more"),
        ("", ""),
    ],
)
def test_restructured(page: str, words: str) -> None:
    assert " ".join(text_of_restructured(page).split()) == words


def test_a_folder_is_read_with_or_without_marks(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.rst").write_text(
            f".. toctree::\n   hidden\n\nOak{number} :ref:`tree`"
        )
    (tmp_path / "b.md").write_text("[ash](http://hidden.org)")
    (tmp_path / "c.html").write_text("<p>.. toctree::</p>")
    oaks = {f"oak{number}" for number in range(20)}
    assert {"toctree", "hidden", "ref", "http"} <= set(read_corpus(tmp_path).vocab)
    assert set(read_corpus(Source(tmp_path, markup="text")).vocab) == {
        *oaks,
        "tree",
        "ash",
        "toctree",
    }
    assert advised(DataConfig(corpus=str(tmp_path)))["markup"] == "text"
    assert "markup" not in advised(DataConfig(corpus=str(tmp_path), markup="text"))


def test_marks_of_other_files_are_refused(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("text\nan oak\n")
    told = r"markup is for folders of \.md and \.rst files, but .* is read as csv"
    with pytest.raises(UsageError, match=told):
        read_corpus(Source(table, markup="text"))
