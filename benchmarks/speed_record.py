"""A small file of speeds by commit: ratios paired with peers of fixed versions, and what moved.

Seconds of two days do not compare; ratios to a peer of one version on one processor do. A row
holds the ratios of all rounds of a system and a peer: the processor time of the peer's sweep in
units of ours, so that more is faster. Other work on the machine takes its part of the caches, so
that rows made beside it are marked.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import machine
from benchmarks.process import ROOT
from benchmarks.records import Record
from benchmarks.table import markdown

PACKAGE_OF = {"tomotopy": "tomotopy", "gensim": "gensim", "sklearn": "scikit-learn"}
"""The package of a peer, by the first part of its name."""

TIMES_NOISE, LEAST = 3.0, 0.01
"""A ratio has moved that differs by so many standard errors, and by this share at least."""

LOADED = {
    (False, False): "",
    (True, False): "earlier",
    (False, True): "now",
    (True, True): "both",
}
"""Which of two rows, the earlier one and that of now, were made beside other work."""

OF_NORMAL = 1.4826 * 1.2533
"""Standard error of a median of n normal values: so many median deviations over sqrt(n)."""


class Row(NamedTuple):
    """Ratios of one system and one peer on one commit; cpu: the processor.

    loaded: whether other work took a part of the process's core meanwhile.
    """

    commit: str
    cpu: str
    corpus: str
    split: str
    system: str
    truncation: int
    peer: str
    version: str
    ratios: list[float]
    loaded: bool = False

    @property
    def what(self) -> tuple[object, ...]:
        """What two rows have in common that compare."""
        return self[1:-2]


def commit() -> str:
    """Return the short name of the commit, with a + where files differ from it."""

    def git(*words: str) -> str:
        call = ["git", "-C", str(ROOT), *words]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", "--short=12", "HEAD") + "+" * bool(git("status", "--porcelain"))


def rows(results: Iterable[Record], *, loaded: bool = False) -> Iterator[Row]:
    """Yield the rows of records of ``speed``; loaded: as in ``Row``."""
    at, about = commit(), machine.describe()
    versions: Any = about["versions"]
    for record in results:
        for peer, ratios in record["round_ratios"].items():
            version = versions[PACKAGE_OF[peer.partition("-")[0]]]
            own = (record["corpus"], record["split"], record["system"], record["truncation"])
            kept = [round(ratio, 4) for ratio in ratios]
            yield Row(at, str(about["cpu"]), *own, peer, version, kept, loaded)


def append(file: Path, new: Sequence[Row]) -> None:
    """Write rows to the end of a file of JSON Lines."""
    with file.open("a", encoding="utf-8") as out:
        for row in new:
            out.write(json.dumps(row._asdict()) + "\n")


def read(file: Path) -> list[Row]:
    """Return the rows of a file; none where there is none."""
    if not file.exists():
        return []
    lines = file.read_text(encoding="utf-8").splitlines()
    return [Row(**json.loads(line)) for line in lines if line]


class Move(NamedTuple):
    """How a ratio differs from that of an earlier commit. change: of its logarithm; noise: the
    standard error of that.
    """

    earlier: Row
    now: Row
    change: float
    noise: float

    @property
    def moved(self) -> bool:
        """Whether it differs by more than noise."""
        return abs(self.change) > max(TIMES_NOISE * self.noise, math.log1p(LEAST))


def compare(known: Sequence[Row], new: Iterable[Row]) -> Iterator[Move]:
    """Yield how each new row differs from the last one of another commit that it compares to."""
    for row in new:
        before = [each for each in known if each.what == row.what and each.commit != row.commit]
        if before:
            noise = math.hypot(_noise(before[-1].ratios), _noise(row.ratios))
            change = math.log(median(row.ratios) / median(before[-1].ratios))
            yield Move(before[-1], row, change, noise)


def _noise(ratios: Sequence[float]) -> float:
    """Return the standard error of the logarithm of the median."""
    middle = median(ratios)
    spread = median(abs(math.log(ratio / middle)) for ratio in ratios)
    return OF_NORMAL * spread / math.sqrt(len(ratios))


def table(moves: Sequence[Move], n_new: int) -> str:
    """Return what moved as Markdown, and a line on all rows."""
    n_moved = sum(move.moved for move in moves)
    lines = [
        f"{n_moved} of {len(moves)} ratios moved by more than {TIMES_NOISE:g} standard errors",
        f"{n_new - len(moves)} of {n_new} ratios have no earlier row of this processor and version",
    ]
    heads = ("system", "T", "peer", "earlier commit", "earlier", "now", "change", "moved", "loaded")
    cells = [
        (
            move.now.system,
            move.now.truncation,
            f"{move.now.peer} {move.now.version}",
            move.earlier.commit,
            f"{median(move.earlier.ratios):.2f}x",
            f"{median(move.now.ratios):.2f}x",
            f"{math.expm1(move.change):+.1%} ± {move.noise:.1%}",
            "yes" if move.moved else "",
            LOADED[move.earlier.loaded, move.now.loaded],
        )
        for move in sorted(moves, key=lambda move: move.change)
    ]
    return "\n".join([*lines, "", markdown(heads, cells)] if cells else lines)
