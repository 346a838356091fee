"""Folders that somebody may send: shards, runs and checkpoints, altered, sealed again and used.

An input is the number that the alterations and the uses are drawn from. Whatever it makes, a
command must end with a code of its own and a line, in little memory.
"""

from __future__ import annotations

import json
import shutil
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from readers import Reader
from tiny import counts_in, hand_made, small_settings

from hiertopics.base import archives, files
from hiertopics.cli import main
from hiertopics.contract import registry
from hiertopics.contract.observed import kind_of
from hiertopics.corpus.formats.shards import write_bags
from hiertopics.corpus.formats.writing import write_corpus

Arrays = dict[str, NDArray[Any]]

ALTERED = "altered"
"""How the names of readers of whole folders begin; by itself all of them."""

MOST_BYTES = 1 << 30
SLOW_SECONDS = 10.0
"""Of CPU time: a use is a whole command."""

RUNS = (
    *("hdp-pcvb0", "hdp-cvb", "hdp-gibbs", "hdp-gibbs inference.collapse=partial"),
    *("hdp-cvb0 inference.responsibilities=few", "nhdp-variational", "nhdp-gibbs"),
    *("hlda-variational", "hlda-variational inference.mode=meanfield", "hlda-gibbs"),
    *("hlda-gibbs inference.collapse=partial", "chdp-gibbs", "chdp-gibbs inference.sampler=irp"),
    *("chdp-variational", "chdp-variational inference.method=sticks", "tssb-mcmc", "lda-gibbs"),
    *("multinomial", "hca-variational", "hca-variational inference.mode=meanfield"),
)
FITS = (
    *("hdp-gibbs inference.collapse=partial", "hdp-cvb0", "hlda-gibbs", "hlda-variational"),
    "nhdp-variational",
)
"""What shards are given to."""

VALUES: tuple[float, ...] = (
    *(0, 1, -1, 2, 3, 5, 20, 255, 10**6, -(10**6), 10**9, 2**30, 2**31 - 1, -(2**31), 2**62),
    *(0.5, 1e300, -1e300, 5e-324, float("nan"), float("inf"), -float("inf")),
)
DTYPES = ("?", "i1", "i4", "i8", ">i4", "u2", "u4", "f4", "f8", ">f8", "c16", "U3", "S2", "M8[s]")
JSONS: tuple[Any, ...] = (None, 0, -1, 2**62, 1.5, "", "x", [], [1], {}, True, float("nan"))
ENOUGH = 0.6
"""The chance that an input is altered at one place alone."""


class Bench(NamedTuple):
    """A backend under attack: its setting, its corpus, further documents, and a fitted run."""

    words: tuple[str, ...]
    corpus: Path
    further: Path
    run: Path


def names_of(runs: Sequence[str] = RUNS) -> list[str]:
    """Return the names of the readers of altered folders."""
    kinds = [f"{ALTERED} {kind}: {what}" for what in runs for kind in ("run", "checkpoint")]
    return [*kinds, f"{ALTERED} shards"]


def altered(
    folder: Path, wanted: str = ALTERED, runs: Sequence[str] = RUNS, fits: Sequence[str] = FITS
) -> dict[str, Any]:
    """Return the readers of altered folders by name; folder: where sound ones are made.

    wanted: how the names of readers begin that are made. runs: backends whose runs are altered;
    fits: those that altered shards are given to.
    """
    found = {}
    for what in runs:
        makers = {"run": _looks, "checkpoint": _continuations}
        own = {f"{ALTERED} {kind}: {what}": kind for kind in makers}
        if not any(name.startswith(wanted) for name in own):
            continue
        bench = _bench(what, folder / what.replace(" ", "-").replace(".", "-"))
        sound = files_of(bench.run)
        for name, kind in own.items():
            if name.startswith(wanted):
                found[name] = _warm(_reader(kind, sound, makers[kind](bench)), folder)
    if f"{ALTERED} shards".startswith(wanted):
        found[f"{ALTERED} shards"] = _warm(_reader("shards", *_shards(folder, fits)), folder)
    return found


def _shards(folder: Path, fits: Sequence[str]) -> tuple[dict[str, bytes], list[list[str]]]:
    """Return the files of sound shards, and commands that read them."""
    corpus, shards = _counts(folder, "counts"), folder / "sound.shards"
    bags = replace(counts_in(corpus), doc_ids=tuple(f"d\u00e9{doc}" for doc in range(30)))
    write_bags(bags, shards)
    uses = [
        ["fit", "IN", *_fit_words(what), "-o", "OUT", "--holdout", "none", "--iterations", "2"]
        for what in fits
    ]
    uses += [["check", "IN"], ["convert", "IN", "OUT.ldac"], ["convert", "IN", "OUT.shards"]]
    return files_of(shards), uses


def _reader(kind: str, sound: Mapping[str, bytes], uses: Sequence[Sequence[str]]) -> Reader:
    judge = partial(_judge, kind, sound, uses)
    every = tuple(json.dumps({"sound": number}).encode() for number in range(len(uses)))
    return Reader(every, judge, made=_drawn, limits=(MOST_BYTES, SLOW_SECONDS))


def _warm(reader: Reader, folder: Path) -> Reader:
    """Give a reader its sound inputs, so that all is compiled and loaded before any fork."""
    for content in reader.sound:
        reader.judge(content, folder)
    return reader


def _drawn(chance: Random) -> bytes:
    return json.dumps({"drawn": f"{chance.getrandbits(64):016x}"}).encode()


def _fit_words(what: str) -> list[str]:
    name, *settings = what.split()
    settings = [*small_settings(name), *settings, "output.checkpoint_seconds=0"]
    return ["-b", name, "-q", *(word for setting in settings for word in ("-s", setting))]


def _counts(folder: Path, name: str) -> Path:
    """Write the tiny corpus with authors."""
    path, corpus = folder / f"{name}.ldac", hand_made()
    write_corpus(corpus, path)
    authors = [f"{'ann' if doc % 2 else 'bo'}\t{'cy' if doc % 3 else 'di'}" for doc in range(30)]
    path.with_suffix(".authors").write_text("\n".join(authors) + "\n", encoding="utf-8")
    return path


def _bench(what: str, folder: Path) -> Bench:
    folder.mkdir()
    name = what.split()[0]
    if kind_of(name, registry.load(name).Model()) == "vectors":
        corpus = further = folder / "tiny.npy"
        np.save(corpus, hand_made().counts.toarray())
    else:
        corpus, further = _counts(folder, "tiny"), folder / "more.ldac"
        write_corpus(hand_made().select(range(6)), further)
    run, words = folder / "run", tuple(_fit_words(what))
    asked = ["--holdout", "docs:0.2@0", "--iterations", "4"]
    code, said = _give(["fit", str(corpus), *words, "-o", str(run), *asked])
    assert code == 0, f"{what}: {said}"
    return Bench(words, corpus, further, run)


def _looks(bench: Bench) -> list[list[str]]:
    """Return commands that read a run."""
    infer = ["infer", "IN", str(bench.further), "-o", "OUT.npz"]
    return [
        *(["show-tree", "IN"], ["show-tree", "IN", "--docs", "2"], ["docs", "IN", "0"]),
        *(["show-tree", "IN", "--arrange"], ["topics", "IN"], ["report", "IN", "-o", "OUT.html"]),
        *(infer, ["eval", "IN", "--heldout"], ["export", "IN", "-o", "OUT.graphml"]),
        ["update", "IN", str(bench.further), "-o", "OUT", "-q", "--iterations", "6"],
    ]


def _continuations(bench: Bench) -> list[list[str]]:
    """Return commands that read a checkpoint."""
    asked = ["--holdout", "docs:0.2@0", "--iterations", "6"]
    return [
        ["fit", str(bench.corpus), *bench.words, "-o", "IN", *asked],
        ["update", "IN", str(bench.further), "-o", "OUT", "-q", "--iterations", "6"],
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their paths there."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def _judge(
    kind: str,
    sound: Mapping[str, bytes],
    uses: Sequence[Sequence[str]],
    content: bytes,
    folder: Path,
) -> bool:
    told = json.loads(content)
    chance = Random(told.get("drawn", ""))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the alterations
        own = dict(sound) if "sound" in told else made(kind, sound, chance)
    given, out = folder / ("in.shards" if kind == "shards" else "in"), folder / "out"
    for path in (given, *folder.glob("out*")):
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    for name, data in own.items():
        (given / name).parent.mkdir(parents=True, exist_ok=True)
        (given / name).write_bytes(data)
    words = uses[told["sound"] % len(uses)] if "sound" in told else chance.choice(uses)
    code, said = _give([str(given) if w == "IN" else w.replace("OUT", str(out)) for w in words])
    assert code in (0, 1, 2), f"{' '.join(words)}: exit code {code}\n{said}"
    assert code == 0 or "error: " in said or words[0] == "check", f"{words[0]}: nothing said"
    assert "not enough memory" not in said, f"{' '.join(words)}: {said}"
    assert "sound" not in told or code in (0, 2), said
    return code == 0


def _give(words: Sequence[str]) -> tuple[int, str]:
    said = StringIO()
    with redirect_stdout(StringIO()), redirect_stderr(said):
        try:
            main(list(words))
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()
    raise AssertionError("no exit code")


def made(kind: str, sound: Mapping[str, bytes], chance: Random) -> dict[str, bytes]:
    """Return the files of a folder with one or two of them altered, and sealed again."""
    own = dict(sound)
    names = sorted(name for name in own if _is_attacked(kind, name))
    if kind == "checkpoint":  # all of them alike, or the one before the newest goes on
        seed = chance.getrandbits(64)
        for name in names:
            own[name] = _altered_file(name, own[name], Random(seed))
        return own
    for name in chance.sample(names, 1 if chance.random() < ENOUGH else 2):
        own[name] = _altered_file(name, own[name], chance)
    seal(kind, own)
    return own


def _is_attacked(kind: str, name: str) -> bool:
    if kind == "checkpoint":
        return name.startswith("checkpoints/")
    return not name.startswith(("checkpoints/", "log.txt", "config.yaml", ".lock"))


def seal(kind: str, own: dict[str, bytes]) -> None:
    """Write the seals of the files as they are now, where the manifest still has a place."""
    manifest = "shards.json" if kind == "shards" else "manifest.json"
    try:
        told = json.loads(own[manifest])
        sealed = told["files"]
        for name in sealed:
            if name in own:
                sealed[name] = _seal_of(kind, name, own[name])
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    own[manifest] = json.dumps(told).encode()


def _seal_of(kind: str, name: str, data: bytes) -> str:
    if kind == "shards":
        return f"{len(data)}-{zlib.crc32(data):08x}"
    if not name.endswith(".npz"):
        return files.seal_of(data)
    with ZipFile(BytesIO(data)) as archive:
        parts = [(part.filename, part.file_size, part.CRC) for part in archive.infolist()]
    return files.seal_of(repr(parts).encode())


def _altered_file(name: str, data: bytes, chance: Random) -> bytes:
    if name.endswith(".npz"):
        return _altered_npz(name, data, chance)
    if name.endswith(".npy"):
        if chance.random() < 0.15:
            return _altered_header(data, chance)
        return altered_arrays(name, data, partial(_alter, chance=chance))
    if name.endswith(".json"):
        told = json.loads(data)
        _alter_json(told, chance)
        return json.dumps(told).encode()
    lines = data.split(b"\n")
    place = chance.randrange(len(lines))
    how = chance.randrange(4)
    if how == 0:
        del lines[place]
    elif how == 1:
        lines.insert(place, lines[place])
    else:
        lines[place] = chance.choice([b"", b"\xff", b"a\x00b", b"\r", b"{}", b"x" * 5000])
    return b"\n".join(lines)


def _altered_npz(name: str, data: bytes, chance: Random) -> bytes:
    def alter(arrays: Arrays) -> None:
        for _ in range(1 if chance.random() < ENOUGH else chance.randint(2, 3)):
            _alter(arrays, chance)

    return altered_arrays(name, data, alter)


def altered_arrays(name: str, data: bytes, edit: Callable[[Arrays], object]) -> bytes:
    """Return a file of arrays after an edit; a checkpoint's seal is made anew.

    edit: changes the arrays by their names; the one of an npy file is called "".
    """
    stream = BytesIO()
    if name.endswith(".npy"):
        arrays = {"": np.load(BytesIO(data))}
        edit(arrays)
        np.save(stream, arrays.get("", np.zeros(0)))
        return stream.getvalue()
    with np.load(BytesIO(data)) as archive:
        arrays = {key: archive[key] for key in archive.files if key != archives.SEAL}
    edit(arrays)
    sealed = Path(name).name if name.startswith("checkpoints/") else None
    archives.as_npz(arrays, sealed=sealed)(stream)
    return stream.getvalue()


def _altered_header(data: bytes, chance: Random) -> bytes:
    """Change a byte of the header of an array, or cut the file."""
    if chance.random() < 0.2:
        return data[: chance.randrange(len(data))]
    place = chance.randrange(min(128, len(data)))
    return (
        data[:place] + bytes([chance.choice(b"(),0123456789'<>|fiuO{} \x00")]) + data[place + 1 :]
    )


def _alter(arrays: Arrays, chance: Random) -> None:
    """Change an array: values, order, pointers, type, shape; or take it away."""
    if not arrays:
        return
    name = chance.choice(sorted(arrays))
    array = arrays[name].copy()
    kind = chance.random()
    with np.errstate(all="ignore"):
        if kind < 0.55 and array.size:
            arrays[name] = _other_values(array, chance)
        elif kind < 0.7:
            arrays[name] = _other_shape(array, chance)
        elif kind < 0.82:
            arrays[name] = _other_type(array, chance)
        elif kind < 0.9:
            other = chance.choice(sorted(arrays))
            arrays[name], arrays[other] = arrays[other], array
        elif kind < 0.95:
            del arrays[name]
        else:
            arrays[f"{name}x"] = array


def _other_values(array: NDArray[Any], chance: Random) -> NDArray[Any]:
    flat = array.reshape(-1)
    how = chance.randrange(8)
    place = chance.randrange(len(flat))
    if array.dtype.kind in "US":
        flat[place] = chance.choice(["", "x", "0", "\x00"])
    elif how == 0 and len(flat) > 2:  # pointers that lead nowhere and end in 0
        flat[1:-1], flat[-1] = _as(array, chance.choice(VALUES)), _as(array, 0)
    elif how == 1:
        flat[:] = flat[::-1].copy()
    elif how == 2:
        flat[:] = _as(array, chance.choice(VALUES))
    elif how == 3 and array.dtype.kind in "iuf":
        flat[place] += _as(array, chance.choice([1, -1, 10, 10**6]))
    elif how == 4 and len(flat) > 1:
        other = chance.randrange(len(flat))
        flat[[place, other]] = flat[[other, place]]
    else:
        flat[place] = _as(array, chance.choice(VALUES))
    return array


def _as(array: NDArray[Any], value: float) -> Any:
    if array.dtype.kind in "iu" and not np.isfinite(value):
        value = -1
    return np.array(value).astype(array.dtype)


def _other_shape(array: NDArray[Any], chance: Random) -> NDArray[Any]:
    how = chance.randrange(6)
    if how == 0:
        return array.reshape(-1)
    if how == 1 and array.ndim:
        return array[:-1]
    if how == 2 and array.ndim and len(array):
        return np.concatenate([array, array[-1:]])
    if how == 3:
        return np.ascontiguousarray(array.T)
    if how == 4:
        return array[None]
    return array[:0] if array.ndim else np.zeros(3)


def _other_type(array: NDArray[Any], chance: Random) -> NDArray[Any]:
    try:
        return array.astype(chance.choice(DTYPES))
    except (ValueError, TypeError, RuntimeError, OverflowError):
        return np.zeros(array.shape, "S2")


def _alter_json(told: Any, chance: Random) -> None:
    """Change an entry somewhere within, or take it away."""
    keys = sorted(told) if isinstance(told, dict) else list(range(len(told)))
    if not keys:
        return
    key = chance.choice(keys)
    if isinstance(told[key], dict | list) and told[key] and chance.random() < 0.7:
        _alter_json(told[key], chance)
    elif chance.random() < 0.3:
        del told[key]
    else:
        told[key] = chance.choice(JSONS)
