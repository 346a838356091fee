"""An example of a system that joins the record: TF-IDF and two levels of k-means, numpy only.

``python benchmarks/example_system.py CORPUS.ldac FOLDER SEED`` writes FOLDER/levels.txt: a line per
document with its group, and its group within the group.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np


def read(path: Path) -> Any:
    """Return the counts of an LDA-C file, [documents, words]."""
    lines = path.read_text().splitlines()
    counts = np.zeros((len(lines), len(path.with_suffix(".vocab").read_text().splitlines())))
    for doc, line in enumerate(lines):
        for pair in line.split()[1:]:
            word, count = pair.split(":")
            counts[doc, int(word)] = float(count)
    return counts


def k_means(rows: Any, n_groups: int, rng: np.random.Generator, n_steps: int = 20) -> Any:
    """Return the group of each row, by the cosine."""
    centres = rows[rng.choice(len(rows), min(n_groups, len(rows)), replace=False)]
    for _ in range(n_steps):
        group = (rows @ centres.T).argmax(axis=1)
        for number in np.unique(group):
            centre = rows[group == number].sum(axis=0)
            centres[number] = centre / max(np.linalg.norm(centre), 1e-12)
    return group


def main(corpus: str, folder: str, seed: str) -> None:
    """Write the levels."""
    counts, rng = read(Path(corpus)), np.random.default_rng(int(seed))
    rows = np.log1p(counts) * np.log((1 + len(counts)) / (1 + (counts > 0).sum(axis=0)))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    group = k_means(rows, 8, rng)
    within = np.zeros_like(group)
    for number in np.unique(group):
        within[group == number] = k_means(rows[group == number], 6, rng)
    np.savetxt(Path(folder) / "levels.txt", np.column_stack([group, within]), fmt="%d")


if __name__ == "__main__":
    main(*sys.argv[1:])
