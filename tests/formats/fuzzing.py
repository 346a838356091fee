"""Sound files of every format, and ways to spoil them."""

from __future__ import annotations

import datetime
import gzip
import io
import lzma
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st
from scipy import sparse

common = settings(
    deadline=None, derandomize=True, max_examples=60, suppress_health_check=list(HealthCheck)
)


class Seed(NamedTuple):
    """A sound corpus: the file or folder that is read, and the one file that is made worse.

    files: contents by name. options: fields of ``Source``.
    """

    corpus: str
    spoilt: str
    files: Mapping[str, bytes]
    options: Mapping[str, str]


def _saved(save: Callable[[io.BytesIO], object]) -> bytes:
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def _alone(name: str, data: bytes, **options: str) -> Seed:
    return Seed(name, name, {name: data}, options)


def _put_parquet(file: io.BytesIO) -> None:
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.table(
        {
            "text": ["the cat", ""],
            "who": [["a", "b"], None],
            "id": ["1", "2"],
            "art": ["x", None],
            "day": [datetime.date(2001, 2, 3), None],
        }
    )
    parquet.write_table(table, file)


COUNTS = sparse.csr_array(np.array([[2, 0, 3], [0, 0, 0], [0, 1, 0]], dtype=np.int32))
FIELDS = {"id_field": "id", "group_field": "who", "label_field": "art"}
XML = b'<labels xmlns="http://x"><label name="y"/><label name="z"></label></labels>\n'
SPARSE_ARFF = (
    b"% made\n@relation r\n@attribute a numeric\n@attribute 'b c' integer\n"
    b"@attribute y {0,1}\n@data\n{0 3,2 1}\n{}\n{1 2}\n"
)
DENSE_ARFF = (
    b"@relation r\n@attribute a real\n@attribute \"b\" {0, 1}\n@attribute k {red,'dark blue'}\n"
    b"@data\n1.5,0,red\n-2e3,1,'dark blue'\n?,0,?\n0,1,red\n"
)
MTX = b"%%MatrixMarket matrix coordinate "
SEEDS: dict[str, tuple[Seed, ...]] = {
    "ldac": (_alone("a.ldac", b"2 0:1 2:3\n0\n1 1:2\n"),),
    "uci": (_alone("docword.a.txt", b"3\n4\n3\n1 1 2\n3 2 1\n3 4 5\n"),),
    "mtx": (
        _alone("a.mtx", MTX + b"real general\n%\n3 4 3\n1 1 2\n3 2 1.0\n3 4 5\n"),
        _alone("a.mtx", MTX + b"pattern symmetric\n3 3 2\n2 1\n3 3\n"),
        _alone("a.mtx", MTX + b"integer general\n2 2 2\n1 1 0\n2 2 7\n"),
    ),
    "svmlight": (_alone("a.svm", b"# made\n1,2 1:1 3:3\n\n2:2.0 # c\n3\n"),),
    "edges": (_alone("a.edges", b"# made\n1 2\n3 1\n2 10\n"), _alone("a.edges", b"x y\ny 1\n")),
    "npz": (
        _alone("a.npz", _saved(lambda file: sparse.save_npz(file, COUNTS))),
        _alone("a.npz", _saved(lambda file: sparse.save_npz(file, COUNTS.tocoo(), False))),
    ),
    "vectors": (
        _alone("a.npy", _saved(lambda file: np.save(file, np.array([[1.5, -2.0], [0.0, 3.0]])))),
        _alone("a.csv", b'a,"b c",k\n1,2.5,red\n-3e2,0,blue\n', format="vectors",
               label_column="k"),
        _alone("a.tra", b"1 0 2\n0 1 1\n", format="vectors", label_column="-1"),
        _alone("a.txt", b"1\t0.5\n0\t1\n", format="vectors"),
    ),
    "arff": (
        Seed("a.arff", "a.arff", {"a.arff": SPARSE_ARFF, "a.xml": b"<l><label name='y'/></l>"}, {}),
        _alone("a.arff", DENSE_ARFF.replace(b"?,0,?\n", b""), label_column="k"),
    ),
    "jsonl": (
        _alone("a.jsonl", b'{"text": "the cat", "who": ["a", "b"], "id": 1, "art": "x"}\n'
               b'{"text": "", "who": null, "id": "2", "art": []}\n', **FIELDS),
    ),
    "json": (
        _alone("a.json", b'[{"text": "the cat", "who": ["a", "b"], "id": 1, "art": "x"},\n'
               b'{"text": "", "who": null, "id": "2", "art": []}]\n', **FIELDS),
    ),
    "lines": (_alone("a.txt", b"the cat\n\nthe dog\n", format="lines"),),
    "paragraphs": (_alone("a.txt", b"the cat\nsat\n\nthe dog\n", format="paragraphs"),),
    "csv": (
        _alone("a.csv", b'text,who,id,art\n"the, cat",a;b,1,x\nthe dog,,2,\n', **FIELDS),
        _alone("a.csv", b"0,the cat\n1,the dog\n", text_field="1"),
    ),
    "tsv": (
        _alone("a.tsv", b"text\twho\tid\tart\nthe cat\ta;b\t1\tx\nthe dog\t\t2\t\n", **FIELDS),
    ),
    "parquet": (_alone("a.parquet", _saved(_put_parquet), **FIELDS),),
    "folder": (
        Seed("a", "a/x.txt", {"a/x.txt": b"the cat\nsat\n", "a/b/y.txt": b"the dog\n"}, {}),
    ),
}  # fmt: skip

LDAC = SEEDS["ldac"][0].files
TABLE = SPARSE_ARFF.replace(b"@data", b"@attribute z {0,1}\n@data")


def _beside(spoilt: str, data: bytes, **others: bytes) -> Seed:
    files = {name.replace("_", "."): other for name, other in others.items()}
    return Seed("a.ldac", spoilt, {**LDAC, **files, spoilt: data}, {})


SIDES: dict[str, Seed] = {
    "vocabulary": _beside("a.vocab", b"ant = 3\nbee\ncat\n"),
    "numbered vocabulary": _beside("a.vocab", b"0\tant\n1\tbee\n2\tcat\n"),
    "names of columns": Seed(
        "a.npy", "a.vocab", {**SEEDS["vectors"][0].files, "a.vocab": b"p\nq\n"}, {}
    ),
    "groups": _beside("a.authors", b"ann\tbo li\n\nann\n"),
    "labels": _beside("a.labels", b"0\n\n1 0\n", a_labels_key=b"x\ny\n"),
    "keys": _beside("a.labels.key", b"x\ny\n", a_labels=b"0\n\n1 0\n"),
    "names of label columns": Seed("a.arff", "a.xml", {"a.arff": TABLE, "a.xml": XML}, {}),
}

NASTY = [
    b"-1", b"0", b"1", b"2", b"1000000000", b"99999999999999999999", b"9" * 5000, b"nan", b"inf",
    b"1.5", b"1e400", b"1e-400", b"1_0", b"0x1", b"+1", b"007", b"", b"x" * 5000, "٣".encode(),
    "１".encode(), "é".encode(), b"\0", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b" ", b"\t",
    b"\x0b", b"\x1c", "\x85".encode(), "\u2028".encode(), "\u00a0".encode(), b"\xff", b"\xc3",
    b":", b"::", b",", b";", b"#", b"%", b"?", b"@", b"@data", b"{", b"}", b"[", b"]" , b"\\", b'"',
    b"'", b'"""', b"null", b"{}", b'{"text": 1}', b'"\\ud800"', b"[" * 5000,
    b"<", b"&", b"<!DOCTYPE x>", b"symmetric", b"pattern", b"qid:1", b" = ",
]  # fmt: skip
TOKEN = re.compile(rb"[^\s:,;{}<>\"'=]+")


def _line_ends(end: bytes) -> Callable[[bytes, int, int, bytes], bytes]:
    return lambda data, i, j, token: data.replace(b"\n", end)


def _flip(data: bytes, i: int, j: int, token: bytes) -> bytes:
    place = i % max(len(data), 1)
    return (
        data[:place]
        + bytes(byte ^ (1 << j % 8) for byte in data[place : place + 1])
        + data[place + 1 :]
    )


def _insert(data: bytes, i: int, j: int, token: bytes) -> bytes:
    place = i % (len(data) + 1)
    return data[:place] + token + data[place:]


def _delete(data: bytes, i: int, j: int, token: bytes) -> bytes:
    place = i % max(len(data), 1)
    return data[:place] + data[place + 1 + j % 8 :]


def _replace(data: bytes, i: int, j: int, token: bytes) -> bytes:
    """Replace a token, or one piece of it."""
    found = list(TOKEN.finditer(data))
    if not found:
        return data + token
    start, end = found[i % len(found)].span()
    return data[:start] + token + data[end:]


def _on_lines(change: Callable[[list[bytes], int, int], object]) -> Callable[..., bytes]:
    def spoil(data: bytes, i: int, j: int, token: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        if lines:
            change(lines, i % len(lines), j % len(lines))
        return b"".join(lines)

    return spoil


def _swap(lines: list[bytes], i: int, j: int) -> None:
    lines[i], lines[j] = lines[j], lines[i]


CHANGES: dict[str, Callable[[bytes, int, int, bytes], bytes]] = {
    "replace": _replace,
    "insert": _insert,
    "flip": _flip,
    "delete": _delete,
    "cut": lambda data, i, j, token: data[: i % (len(data) + 1)],
    "double": lambda data, i, j, token: data + data,
    "drop line": _on_lines(lambda lines, i, j: lines.pop(i)),
    "repeat line": _on_lines(lambda lines, i, j: lines.insert(j, lines[i])),
    "swap lines": _on_lines(_swap),
    "carriage returns": _line_ends(b"\r"),
    "windows": _line_ends(b"\r\n"),
    "mark": lambda data, i, j, token: b"\xef\xbb\xbf" + data,
}
PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": lambda data: gzip.compress(data, 1, mtime=0),
    "xz": lambda data: lzma.compress(data, preset=0),
}
DAMAGES = ("flip", "delete", "cut", "double")

numbers = st.integers(0, 2**16)
moves = st.tuples(st.sampled_from(list(CHANGES)), numbers, numbers, st.sampled_from(NASTY))
damage = st.tuples(st.sampled_from(DAMAGES), numbers, numbers, st.just(b""))


@st.composite
def spoilt(draw: st.DrawFn, sound: bytes) -> bytes:
    """Draw a file that is a sound one with a few changes, or has nothing to do with it."""
    if draw(st.integers(0, 9)) == 9:
        return draw(st.binary(max_size=60))
    data = changed(sound, draw(st.lists(moves, min_size=1, max_size=3)))
    packing = draw(st.sampled_from(["plain"] * 6 + ["gzip", "xz"]))
    data = PACKINGS[packing](data)
    return changed(data, draw(st.lists(damage, max_size=1))) if packing != "plain" else data


def changed(data: bytes, drawn: list[tuple[str, int, int, bytes]]) -> bytes:
    """Return a file after changes, each a name in ``CHANGES``, two numbers and a token."""
    for name, *arguments in drawn:
        change: Any = CHANGES[name]
        data = change(data, *arguments)
    return data
