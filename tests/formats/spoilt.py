"""Sound files, and pieces of which broken ones are made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Put = Callable[[str, "str | bytes"], Path]
"""Writes a file of that name and content, and returns its path."""

SOUND = {
    "a.ldac": b"2 0:1 2:3\n0\n1 1:2\n",
    "docword.a.txt": b"3\n4\n3\n1 1 2\n3 2 1\n3 4 5\n",
    "a.mtx": b"%%MatrixMarket matrix coordinate real general\n%\n3 4 3\n1 1 2\n3 2 1.0\n3 4 5\n",
    "a.svm": b"# made\n1,2 1:1 3:3\n\n2:2.0 # c\n3\n",
    "a.edges": b"# made\n1 2\n3 1\n2 x\n",
    "a.jsonl": b'{"text": "the cat", "who": ["a", "b"]}\n{"text": "", "who": null}\n',
    "a.csv": b'text,who\n"the, cat",a;b\nthe dog,\n',
    "a.tsv": b"text\twho\nthe cat\ta;b\nthe dog\t\n",
}
PIECES = {
    "a.ldac": ["0", "1", "2", ":", " ", "\n", "1:1", " 0:1", "1 1:1\n", "0\n", "-", ".", "x", "\t"],
    "docword.a.txt": ["2\n3\n1\n", "1 1 1\n", "1", "2", " ", "\n", "0", "-", "1.5", "\t", "x"],
    "a.mtx": [
        "%%MatrixMarket matrix coordinate integer general\n",
        "%%MatrixMarket matrix coordinate ",
        "real",
        " symmetric\n",
        "2 2 1\n",
        "1 1 1\n",
        "1 2 2.0\n",
        "%\n",
        "0",
        " ",
        "\n",
        "-",
        ".",
        "e",
    ],
    "a.svm": [
        "0",
        "1",
        "2",
        ":",
        " ",
        "\n",
        "1:1",
        " 2:1",
        "3 1:1\n",
        ",",
        "#",
        "-",
        ".0",
        "e",
        "x",
        "\t",
    ],
    "a.edges": ["1", "2", "07", "x", " ", "\n", "1 2\n", "#", "%", "\t", "9" * 19, "\u00a0"],
    "a.jsonl": ['{"text": "a dog"}\n', '{"text": ', '"x"', "[", "]", "{", "}", "\n", "null", ","],
    "a.csv": ["text", ",", '"', "\n", "word", ";", " ", "\r", "\x00"],
    "a.tsv": ["text", "\t", '"', "\n", "word", ";", " ", "\r", "\x00"],
}
