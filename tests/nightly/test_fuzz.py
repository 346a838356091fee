"""The program that gives readers bad inputs: it makes them again, and sees what goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import time
import zlib
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import records
from altered import altered, made, names_of
from fuzz import Chunk, input_of, judged, table, tasks
from readers import Reader, readers


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    """Return all readers."""
    return readers(tmp_path_factory.mktemp("fuzzed"))


def test_what_is_sound_is_accepted_by_every_reader(
    every: dict[str, Reader], tmp_path: Path
) -> None:
    strange = {"npz arrays", "--set", "config"}  # seeds that are refused stand there too
    for number, (name, reader) in enumerate(every.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        # Not `judged`: its limit on seconds also counts a garbage collection of this process.
        accepted = [reader.judge(sound, folder) for sound in reader.sound]
        assert name in strange or all(accepted), name


def test_an_input_is_made_again_from_its_number(every: dict[str, Reader]) -> None:
    for name in ("ldac-0", "npz arrays", "run: model.npz", "--holdout"):
        first = [input_of(every[name], "0", name, number) for number in range(40)]
        assert first == [input_of(every[name], "0", name, number) for number in range(40)]
        assert len(set(first)) > 20
        assert first != [input_of(every[name], "1", name, number) for number in range(40)]


@pytest.mark.slow
def test_altered_folders_are_met_as_they_should_be(tmp_path: Path) -> None:
    found = altered(tmp_path, runs=("lda-gibbs",), fits=("hdp-cvb0",))
    assert list(found) == [
        "altered run: lda-gibbs",
        "altered checkpoint: lda-gibbs",
        "altered shards",
    ]
    assert names_of(("lda-gibbs",)) == list(found)
    folder = tmp_path / "judged"
    folder.mkdir()
    for name, reader in found.items():
        assert judged(reader, b'{"sound": 0}', folder) == (True, "")
        contents = [input_of(reader, "0", name, number) for number in range(12)]
        assert contents == [input_of(reader, "0", name, number) for number in range(12)]
        told = [judged(reader, content, folder) for content in contents]
        assert not any(wrong for _, wrong in told)
        assert not all(accepted for accepted, _ in told)


def test_only_the_readers_that_are_asked_for_are_made(tmp_path: Path) -> None:
    """Each takes fits of its own before the first input."""
    assert list(altered(tmp_path, "altered shards", fits=())) == ["altered shards"]
    assert not (tmp_path / "hdp-gibbs").exists()


def test_an_altered_folder_is_sealed_again() -> None:
    name, n_altered = "00000.counts.npy", 0
    sound = {name: npy([1, 2, 3]), "shards.json": json.dumps({"files": {name: ""}}).encode()}
    for seed in range(50):
        own = made("shards", sound, Random(seed))
        files = json.loads(own["shards.json"]).get("files")
        if own[name] != sound[name] and isinstance(files, dict) and name in files:
            n_altered += 1
            assert files[name] == f"{len(own[name])}-{zlib.crc32(own[name]):08x}"
    assert n_altered > 10


def npy(values: list[int]) -> bytes:
    stream = BytesIO()
    np.save(stream, np.array(values))
    return stream.getvalue()


def test_every_input_belongs_to_one_chunk() -> None:
    found = [(name, n) for name, first, k in tasks("ab", 9000) for n in range(first, first + k)]
    assert sorted(found) == [(name, number) for name in "ab" for number in range(4500)]


def spoilt_judge(content: bytes, folder: Path) -> bool:
    """Meet one input in 50 as no reader should."""
    number = int(content)
    if number == 50:
        raise KeyError("no key")
    if number == 100:
        os._exit(3)
    if number == 150:
        time.sleep(1000)
    return number % 2 == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # a fork beside threads of xdist
def test_what_breaks_a_reader_is_found_and_the_rest_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fuzz.HANG_SECONDS", 0.02)
    monkeypatch.setattr("fuzz.FOLDER", tmp_path)
    monkeypatch.setattr("fuzz.input_of", lambda reader, seed, name, number: b"%d" % number)
    chunk = Chunk("reader", Reader((b"",), spoilt_judge), "0", 10, 190)
    while not chunk.over():
        time.sleep(0.01)
    row = chunk.row()
    found = {find["number"]: find["what"] for find in row["found"]}
    assert sorted(found) == [50, 100, 150]
    assert "KeyError" in found[50] and "it died: 3" in found[100] and "busy" in found[150]
    assert row["inputs"] == 190 and row["accepted"] == 95 - 3
    assert (tmp_path / "fuzz" / "reader-0-100" / "input").read_bytes() == b"100"


def test_the_table_adds_up() -> None:
    row: dict[str, Any] = {"reader": "a", "inputs": 7, "accepted": 3, "refused": 4}
    row |= {"found": [{}], "peak_mib": 9}
    shown = table([row, row | {"reader": "b"}, {"reader": "b", "guided": 1000, "found": []}])
    assert "| a | 7 | 3 | 4 | 1 | 0 | 0 | 9 |" in shown
    assert "| all | 14 | 6 | 8 | 2 | 1,000 | 0 | 9 |" in shown


def test_nightly_takes_no_part_of_another_name(tmp_path: Path) -> None:
    done = subprocess.run(
        [records.ROOT / ".ci" / "nightly", "kils"], capture_output=True, text=True, cwd=tmp_path
    )
    assert (
        done.returncode == 2
        and "there are attacks kills clusterkills fuzz calibration mutants" in done.stderr
    )
