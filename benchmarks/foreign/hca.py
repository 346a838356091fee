"""Buntine's program hca: nonparametric topics with Pitman-Yor priors, plain words.

``hca.py PROGRAM CORPUS FOLDER SEED`` runs 500 cycles with 100 topics at most and the program's own
priors. ``tree.npz`` in the folder gets the means over the cycles from 300 on.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

TOPICS, CYCLES, FIRST, EVERY = 100, 500, 300, 10


def main(program: str, corpus: Path, folder: Path, seed: int) -> None:
    """Run the program beside the corpus; its stem may not hold a dot."""
    result = corpus.with_suffix("")
    result = result.with_name(f"{result.name}-hca")
    means = [f"-lphi,{EVERY},{FIRST}", f"-ltheta,{EVERY},{FIRST},0.0001"]
    size = [f"-K{TOPICS}", f"-C{CYCLES}", f"-s{seed + 1}"]  # 0 would be a seed from the clock
    command = [program, *size, "-fldac", *means, str(corpus.with_suffix("")), str(result)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    vocab = corpus.with_suffix(".vocab").read_text(encoding="utf-8").splitlines()
    theta = read_theta(result.with_suffix(".theta"))
    phi = read_phi(result.with_suffix(".phi"))
    phi = np.pad(phi, [(0, 0), (0, len(vocab) - phi.shape[1])])
    parent = np.full(TOPICS, -1)
    np.savez(folder / "tree.npz", parent=parent, theta=theta, phi=phi, vocab=vocab)


def read_theta(path: Path) -> np.ndarray:
    """Return the shares of documents, ``0: 0:0.25 1:0.75 = 1.0`` a line, scaled to sum to 1."""
    lines = path.read_text(encoding="utf-8").splitlines()
    theta = np.full((len(lines), TOPICS), 1e-9)
    for doc, line in enumerate(lines):
        for pair in line.partition(":")[2].partition("=")[0].split():
            topic, share = pair.split(":")
            theta[doc, int(topic)] += float(share)
    return np.asarray(theta / theta.sum(axis=1, keepdims=True))


def read_phi(path: Path) -> np.ndarray:
    """Return the words of topics, [T, W]: three numbers, W, T and cycles, stand before them."""
    data = path.read_bytes()
    n_words, n_topics, _ = np.frombuffer(data[:12], np.int32).tolist()
    cells = np.frombuffer(data[12 : 12 + 4 * n_words * n_topics], np.float32)
    return cells.reshape(n_topics, n_words).astype(np.float64)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
