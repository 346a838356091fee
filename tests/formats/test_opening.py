"""Streams of whole lines: compression, line ends, marks, damage."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from spoilt import Put

from hiertopics.base.errors import DataError
from hiertopics.corpus.formats.opening import blocks, lines, rows, without_blank_end

TEXT = "first\n\nthird é\nfourth\n\n\n"


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.xz"])
def test_compressed_equals_plain(put: Put, name: str) -> None:
    path = put(name, TEXT)
    assert list(lines(path)) == ["first", "", "third é", "fourth", "", ""]
    assert list(rows(path)) == ["first", "", "third é", "fourth"]


@pytest.mark.parametrize("name", ["a.gz", "a.xz", "plain.txt"])
def test_the_bytes_decide_not_the_name(put: Put, tmp_path: Path, name: str) -> None:
    packed = put(name, TEXT).rename(tmp_path / "misnamed.ldac")
    assert next(lines(packed)) == "first"


def test_several_gzip_members_are_one_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))
    assert list(lines(path)) == ["one", "two"]


def test_windows_line_ends_byte_order_mark_and_missing_last_newline(put: Put) -> None:
    assert list(lines(put("a", b"\xef\xbb\xbfone\r\n\r\nthree"))) == ["one", "", "three"]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_an_archive_cut_short_or_damaged_names_the_file(tmp_path: Path, pack: Any) -> None:
    whole = pack(bytes(range(256)) * 400)
    spoilt = bytearray(whole)
    spoilt[len(whole) // 2] ^= 0xFF
    for data in (whole[:-5], whole[: len(whole) // 2], bytes(spoilt)):
        path = tmp_path / "a"
        path.write_bytes(data)
        with pytest.raises(DataError, match="archive is damaged or cut short") as caught:
            list(blocks(path))
        assert caught.value.path == str(path)


def test_a_folder_or_a_missing_file_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(DataError, match="cannot be read"):
            list(lines(path))


def test_bytes_that_are_not_utf8_name_their_line(put: Put) -> None:
    path = put("a", b"good\n" * 70_000 + b"caf\xe9\n")
    with pytest.raises(DataError, match=r"a:70001: not UTF-8 text \(byte 0xe9\)"):
        list(lines(path))


@settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.text("ab\n", max_size=40), size=st.integers(1, 12))
def test_blocks_are_whole_lines_at_their_numbers(put: Put, data: Any, size: Any) -> None:
    path = put("a", data)
    parts = list(blocks(path, size))
    whole = data if data.endswith("\n") or not data else data + "\n"
    assert b"".join(block for _, block in parts).decode() == whole
    assert all(block.endswith(b"\n") for _, block in parts)
    numbered = [
        (number + offset, line)
        for number, block in parts
        for offset, line in enumerate(block.decode()[:-1].split("\n"))
    ]
    assert numbered == list(enumerate(whole[:-1].split("\n"), 1)) or not whole
    kept = list(without_blank_end(parts))
    assert b"".join(block for _, block in kept).decode().rstrip("\n") == whole.rstrip("\n")
    for number, block in kept:
        assert block.decode() == "".join(
            line + "\n" for at, line in numbered if number <= at < number + block.count(b"\n")
        )
