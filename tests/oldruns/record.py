"""Writes the runs that are kept, and what they are asked, with the program as it stands.

    python tests/oldruns/record.py NAME

NAME names the program, by its commit; ``tests/oldruns/NAME`` must not be there yet. A folder that
was recorded is never written again: it shows what a run of that time was. The corpora lie in
``corpora``; each case has an archive with its finished run, its stopped run and ``answers.json``.
``defaults.json`` holds every setting of every backend with its default, ``machine.json`` what the
bytes depend on besides.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import msgspec
import numpy as np
from oldanswers import answer, give, machine
from oldcases import CASES, DONE, HERE, STOPPED, STOPPED_AT, Case, questions

from hiertopics.contract import registry
from hiertopics.fitting import driver
from hiertopics.fitting.loop import Event, Stop
from hiertopics.settings.config import build
from hiertopics.settings.fields import nested

WORDS = ("bread", "butter", "cheese", "wine", "goal", "match", "team", "coach", "never")


def write_corpora(folder: Path) -> None:
    """Write small corpora on food and sport, by two authors and more, and tables of numbers."""
    rng = np.random.default_rng(7)
    food, sport = np.array([4, 3, 2, 1, 0, 0, 0, 0]) / 10, np.array([0, 0, 0, 1, 4, 3, 2, 1]) / 11
    shares = [food, sport, (food + sport) / 2] * 12
    rows = [rng.multinomial(8 + doc % 7, share) for doc, share in enumerate(shares)]
    rows[4][:] = 0
    authors = [("ann", "bob", "ann\tbob")[doc % 3] for doc in range(36)]
    authors[7] = "cat"
    _write_text(folder / "tiny", rows[:30], WORDS, authors[:30])
    _write_text(folder / "new", rows[30:], (*WORDS[:7], "tea", "referee"), authors[30:])
    links = np.triu(rng.random((30, 30)) < 0.85, 1)
    lines = [f"n{a:02d} n{b:02d}" for a, b in zip(*np.nonzero(links), strict=True)]
    _write(folder / "net.edges", lines)
    centres = rng.normal(0, 3, (3, 4))
    for name, n_rows in (("table", 30), ("newtable", 6)):
        values = np.round(centres[np.arange(n_rows) % 3] + rng.normal(0, 0.5, (n_rows, 4)), 3)
        table = [",".join(map(str, row)) for row in values.tolist()]
        kinds = [("x", "y", "z")[row % 3] for row in range(n_rows)]
        header = "width,height,depth,age,kind"
        _write(folder / f"{name}.csv", [header, *map(",".join, zip(table, kinds, strict=True))])
    bits = (rng.random((30, 5)) < np.array([[0.9, 0.8, 0.1, 0.2, 0.5]])) ^ (
        np.arange(30)[:, None] % 2 == 1
    )
    _write(folder / "bits.csv", ["a,b,c,d,e", *(",".join(map(str, map(int, row))) for row in bits)])


def _write_text(path: Path, rows: list[Any], words: tuple[str, ...], authors: list[str]) -> None:
    counted = [[f"{word}:{n}" for word, n in enumerate(row) if n] for row in rows]
    _write(path.with_suffix(".ldac"), [" ".join([str(len(row)), *row]) for row in counted])
    _write(path.with_suffix(".vocab"), list(words))
    _write(path.with_suffix(".authors"), authors)
    _write(
        path.with_suffix(".labels"),
        [("food", "sport", "food\tsport")[d % 3] for d in range(len(rows))],
    )


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def fit(case: Case) -> None:
    """Fit a case into the folders ``done`` and ``stopped`` of the current one."""

    def stop(event: Event) -> Stop | None:
        return Stop("a time limit", False) if event.iteration == STOPPED_AT else None

    for run, callbacks, expected in ((DONE, (), 0), (STOPPED, (stop,), 75)):
        with patch.object(driver, "fit", partial(driver.fit, callbacks=callbacks)):
            code, _, err = give(case.words(run))
        assert code == expected, err
        _relative(Path(run))


def _relative(run: Path) -> None:
    """Take the folder out of the paths that a run has written down."""
    for name in ("config.yaml", "log.txt"):
        text = (run / name).read_text(encoding="utf-8")
        (run / name).write_text(text.replace(f"{Path.cwd()}{os.sep}", ""), encoding="utf-8")
    (run / ".lock").unlink()


def defaults() -> dict[str, dict[str, Any]]:
    """Return every default of every backend, by dotted keys; of nested settings theirs, too."""
    found = {}
    for name in registry.BACKENDS:
        module = registry.load(name)
        layers = [("the backend", {"backend": name})]
        experiment = build(layers, model_type=module.Model, inference_type=module.Inference)
        values = {"seed": experiment.seed}
        for section in ("data", "model", "inference", "output"):
            record = getattr(experiment, section)
            plain = msgspec.to_builtins(record)
            values |= {f"{section}.{key}": value for key, value in plain.items()}
            for field in msgspec.structs.fields(type(record)):
                if (inner := nested(field.type)) is not None:
                    above = f"{section}.{field.encode_name}"
                    inside = msgspec.to_builtins(inner())
                    values |= {f"{above}.{key}": value for key, value in inside.items()}
        found[name] = values
    return found


def pack(archive: Path, names: list[str]) -> None:
    """Put runs and files of the current folder into an archive; equal contents, equal bytes."""
    found = [path for name in names for path in (Path(name), *Path(name).rglob("*"))]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as stream:
        for path in sorted(path for path in found if path.is_file()):
            entry = zipfile.ZipInfo(path.as_posix())
            entry.compress_type = zipfile.ZIP_DEFLATED
            stream.writestr(entry, path.read_bytes())


def main() -> None:
    """Record every case into the folder that the command names."""
    (name,) = sys.argv[1:]
    target = HERE / name
    (target / "corpora").mkdir(parents=True)
    write_corpora(target / "corpora")
    _write_json(target / "defaults.json", defaults())
    _write_json(target / "machine.json", machine())
    for key, case in CASES.items():
        with TemporaryDirectory() as folder:
            shutil.copytree(target / "corpora", folder, dirs_exist_ok=True)
            os.chdir(folder)
            fit(case)
            for run in (DONE, STOPPED):
                shutil.copytree(run, Path("before", run))
            lines = [line for run in (DONE, STOPPED) for line in questions(case, run)]
            answers = {line: found for line in lines if (found := answer(line)) is not None}
            _write_json(Path("answers.json"), answers)
            for run in (DONE, STOPPED):  # as it was before any score was written into it
                shutil.rmtree(run)
                shutil.copytree(Path("before", run), run)
            pack(target / f"{key}.zip", [DONE, STOPPED, "answers.json"])
            print(key, len(lines), "asked,", len(answers), "answered", flush=True)
        os.chdir(HERE)


if __name__ == "__main__":
    main()
