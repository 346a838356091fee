"""Every reader that a user's file or word can reach, with sound inputs and a judge of others."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "formats")]

import numpy as np  # noqa: E402
import test_fuzz_arrays as arrays  # noqa: E402
from fuzzing import (  # noqa: E402
    CHANGES,
    DAMAGES,
    NASTY,
    PACKINGS,
    SEEDS,
    SIDES,
    Seed,
    changed,
)
from judging import INTERNALS, examine  # noqa: E402
from spoilt import PIECES  # noqa: E402
from test_fuzz_readers import LINE_BASED  # noqa: E402
from test_fuzz_settings import BOMB, YAML  # noqa: E402
from tiny import hand_made, small_settings  # noqa: E402

from hiertopics.base.errors import ConfigError, DataError, HiertopicsError, UsageError  # noqa: E402
from hiertopics.base.units import parse_duration  # noqa: E402
from hiertopics.contract import registry  # noqa: E402
from hiertopics.contract.model import Settings  # noqa: E402
from hiertopics.corpus.corpora import dataset  # noqa: E402
from hiertopics.corpus.formats.writing import write_corpus  # noqa: E402
from hiertopics.corpus.holdouts.spec import parse_holdout  # noqa: E402
from hiertopics.fitting.driver import fit  # noqa: E402
from hiertopics.runs.checkpoints import StateOrigin, load_checkpoint  # noqa: E402
from hiertopics.runs.experiment import read_experiment  # noqa: E402
from hiertopics.runs.rundir import RunDir  # noqa: E402
from hiertopics.settings.config import DataConfig, dump  # noqa: E402

RUN_BACKEND = "hlda-gibbs"
Look = Callable[[RunDir], object]


class Reader(NamedTuple):
    """A reader under attack.

    sound: inputs that it takes. judge: given an input and a folder of its own, returns whether the
    input was accepted; raises whatever no user should meet. made: draws an input, where it is not a
    sound one that was changed. pieces: what inputs may also be put together from. limits: bytes and
    seconds of CPU that an input may take, where they are others than those of a small file.
    """

    sound: tuple[bytes, ...]
    judge: Callable[[bytes, Path], bool]
    made: Callable[[random.Random], bytes] | None = None
    pieces: tuple[bytes, ...] = ()
    limits: tuple[int, float] | None = None


def readers(folder: Path) -> dict[str, Reader]:
    """Return all readers by name; folder: where a run is fitted whose files are attacked."""
    return {**_corpora(), **_words(), **_run_files(folder)}


def draw(reader: Reader, chance: random.Random) -> bytes:
    """Draw an input: a sound one with some changes, pieces in a row, or any bytes at all."""
    if reader.made is not None:
        return reader.made(chance)
    kind = chance.random()
    if kind < 0.05:
        return chance.randbytes(chance.randint(0, 60))
    if kind < 0.2 and reader.pieces:
        return b"".join(chance.choices(reader.pieces, k=chance.randint(0, 12)))
    data = chance.choice(reader.sound)
    if kind < 0.3:  # the head of one, the tail of another
        other = chance.choice(reader.sound)
        data = data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]
    data = changed(data, _moves(chance, list(CHANGES), chance.randint(1, 4)))
    if kind > 0.8:
        data = PACKINGS[chance.choice(["gzip", "xz"])](data) if kind > 0.95 else data
        data = changed(data, _moves(chance, DAMAGES, chance.randint(0, 1)))
    return data


def _moves(
    chance: random.Random, names: list[str] | tuple[str, ...], count: int
) -> list[tuple[str, int, int, bytes]]:
    return [
        (chance.choice(names), chance.randrange(2**16), chance.randrange(2**16), _token(chance))
        for _ in range(count)
    ]


def _token(chance: random.Random) -> bytes:
    if chance.random() < 0.6:
        return chance.choice(NASTY)
    digits = chance.choice([0, 1, 2, 3, 4, 5, 9, 10, 11, 12])  # in between is large, and allowed
    return str(int(chance.uniform(1, 10) * 10**digits)).encode()


def _corpora() -> dict[str, Reader]:
    found = {}
    for name, seeds in SEEDS.items():
        for seed in seeds:
            judge = partial(_corpus, seed, name in LINE_BASED)
            pieces = tuple(piece.encode() for piece in PIECES.get(seed.corpus, ()))
            sound = (seed.files[seed.spoilt],)
            found[f"{name}-{seeds.index(seed)}"] = Reader(sound, judge, pieces=pieces)
    for name, seed in SIDES.items():
        found[name] = Reader((seed.files[seed.spoilt],), partial(_corpus, seed, False))
    archives = Seed("a.npz", "a.npz", {"a.npz": b""}, {})
    found["npz arrays"] = Reader((), partial(_corpus, archives, False), made=_archive)
    return found


def _corpus(seed: Seed, line: bool, content: bytes, folder: Path) -> bool:
    return examine(seed, content, folder, line)


def _archive(chance: random.Random) -> bytes:
    layout = chance.choice(list(arrays.MATRICES))
    names = ["shape", "format", *arrays.MATRICES[layout]]
    changes: dict[str, Any] = {}
    for name in chance.sample(names, chance.randint(1, 2)):
        changes[name] = _array(chance, name)
    return arrays.saved(layout, changes)


def _array(chance: random.Random, name: str) -> Any:
    if name == "shape" and chance.random() < 0.7:
        return chance.choice(arrays.SHAPES)
    if name == "format" and chance.random() < 0.7:
        return chance.choice(arrays.LAYOUTS)
    if chance.random() < 0.05:
        return None
    values = [0, 1, 2, 3, -1, 2**31 - 1, 2**31, 2**40]
    found = np.array(chance.choices(values, k=chance.randint(0, 5)))
    with np.errstate(all="ignore"):
        return found.astype(chance.choice(arrays.DTYPES))


def _words() -> dict[str, Reader]:
    sets: tuple[str, ...] = (
        "model.truncation=10",
        "inference.iterations=20",
        "seed=3",
        "data.min_df=0.1",
    )
    sets += ("data.discretise={method: quantile, bins: 5}", "model={alpha: 1.5}", "data.holdout=")
    holdouts = ("docs:0.1@0", "tokens:0.2@3", "fold:2/5@0", "train:1200@0", "links:0.2@0,drop")
    durations = ("3h50m", "45m", "90s", "3600")
    return {
        "config": Reader((YAML, BOMB), _config),
        "--set": Reader(tuple(map(str.encode, sets)), _set),
        "--holdout": Reader(tuple(map(str.encode, holdouts)), partial(_word, parse_holdout)),
        "--time-limit": Reader(tuple(map(str.encode, durations)), partial(_word, parse_duration)),
        "stop words": Reader((b"ant\nthe of\n",), _stop_words),
    }


def _config(content: bytes, folder: Path) -> bool:
    path = folder / "my.yaml"
    path.write_bytes(content)
    try:
        experiment = read_experiment({}, path)
    except (ConfigError, UsageError) as error:
        return _refused(error)
    (folder / "again.yaml").write_text(dump(experiment), encoding="utf-8")
    assert read_experiment({}, folder / "again.yaml") == experiment, "not equal when read again"
    return True


def _set(content: bytes, folder: Path) -> bool:
    text = content.decode(errors="surrogateescape")
    try:
        read_experiment({}, None, [text])
    except (ConfigError, UsageError) as error:
        return _refused(error)
    return True


def _word(parse: Callable[[str], object], content: bytes, folder: Path) -> bool:
    try:
        parse(content.decode(errors="surrogateescape"))
    except (ConfigError, UsageError) as error:
        return _refused(error)
    return True


def _stop_words(content: bytes, folder: Path) -> bool:
    (folder / "a.ldac").write_bytes(b"1 0:1\n2 0:1 1:2\n")
    (folder / "a.vocab").write_bytes(b"ant\nbee\n")
    (folder / "stop").write_bytes(content)
    config = DataConfig(corpus=str(folder / "a.ldac"), stop_words=str(folder / "stop"))
    try:
        dataset.load_corpus(config)
    except DataError as error:
        return _refused(error)
    return True


def _refused(error: HiertopicsError) -> bool:
    """Return False, what a refusal is; raises AssertionError where it speaks of Python."""
    problems = error.problems if isinstance(error, ConfigError) else [str(error)]
    for problem in problems:
        assert "Traceback" not in problem and not INTERNALS.search(problem), problem
    return False


def _run_files(folder: Path) -> dict[str, Reader]:
    files = dict(_run(folder))
    return {
        f"run: {pattern}": Reader((files[name],), partial(_run_file, files, name, looks))
        for pattern, looks in LOOKS.items()
        for name in sorted(files)[::-1]
        if fnmatchcase(name, pattern)
    }


def _run(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a small run of two chains, without seals, as old runs are."""
    corpus, run = folder / "tiny.ldac", folder / "run"
    write_corpus(hand_made(), corpus)
    settings = [*small_settings(RUN_BACKEND), "inference.chains=2", "output.record_every=2"]
    settings += ["inference.keep_every=4", "output.checkpoint_seconds=1000"]
    asked: dict[str, Any] = {"backend": RUN_BACKEND, "iterations": 8, "holdout": "docs:0.2@0"}
    fit(corpus, run=run, overrides=settings, **asked)
    for path in sorted(run.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if path.name == "manifest.json":
                manifest = json.loads(data)
                manifest.pop("files", None)
                data = json.dumps(manifest).encode()
            yield path.relative_to(run).as_posix(), data


def _run_file(
    files: Mapping[str, bytes], name: str, looks: Sequence[Look], content: bytes, folder: Path
) -> bool:
    if not (folder / "manifest.json").exists():
        for other, data in files.items():
            (folder / other).parent.mkdir(exist_ok=True)
            (folder / other).write_bytes(data)
    (folder / name).write_bytes(content)
    return all([_answers(look, folder) for look in looks])


def _answers(look: Look, folder: Path) -> bool:
    try:
        look(RunDir.open(folder))
    except HiertopicsError as error:
        assert "Traceback" not in str(error), str(error)
        return False
    return True


def _checkpoint(run: RunDir) -> object:
    corpus = run.manifest["corpus"]["fingerprint"]
    stamp = f"{corpus} {run.manifest['split']}"
    experiment = run.experiment
    settings = Settings(experiment.model, experiment.inference)
    train = hand_made().select(run.split.train_docs)
    fitted = StateOrigin(registry.load(RUN_BACKEND), settings, stamp, train)
    return load_checkpoint(run, fitted)


LOOKS: dict[str, tuple[Look, ...]] = {
    "manifest.json": (lambda run: (run.tree, run.vocab), lambda run: run.experiment),
    "config.yaml": (lambda run: run.experiment,),
    "model.npz": (lambda run: (run.tree, run.vocab),),
    "tree.json": (lambda run: run.supported_tree,),
    "theta.npz": (lambda run: run.theta,),
    "paths.npz": (lambda run: run.paths,),
    "vocab.txt": (lambda run: run.vocab,),
    "split.npz": (lambda run: run.split,),
    "metrics.jsonl": (lambda run: run.metrics(),),
    "draws/*.npz": (lambda run: list(run.draws()), lambda run: list(run.drawn_paths(8))),
    "checkpoints/*.npz": (_checkpoint,),
}
"""What reads each file of a run."""
