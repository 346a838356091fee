"""Nested block model of documents and words (hSBM), by a python that has graph-tool.

Run as a file by that python, which need not have anything of ours: ``hsbm.py CORPUS FOLDER SEED``.
``levels.txt`` in the folder gets a line per document with its group on each level, the coarsest
first, as ``hiertopics import --form levels`` reads it.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(corpus: Path, folder: Path, seed: int) -> None:
    """Fit one start of the degree-corrected model with overlap off; documents and words apart."""
    import graph_tool.all as gt
    import numpy as np

    lines = corpus.read_text(encoding="utf-8").splitlines()
    cells = [[pair.split(":") for pair in line.split()[1:]] for line in lines]
    n_docs = len(lines)
    n_words = len(corpus.with_suffix(".vocab").read_text(encoding="utf-8").splitlines())
    links = [(d, n_docs + int(w), int(n)) for d, row in enumerate(cells) for w, n in row]
    np.random.seed(seed)
    gt.seed_rng(seed + 1)  # 0 would be a seed from the system
    graph = gt.Graph(directed=False)
    graph.add_vertex(n_docs + n_words)
    count = graph.new_edge_property("int")
    graph.add_edge_list(np.array(links, dtype=np.int64), eprops=[count])
    side = graph.new_vertex_property("int")
    side.a[n_docs:] = 1
    arguments = {"clabel": side, "pclabel": side, "eweight": count}
    state = gt.minimize_nested_blockmodel_dl(graph, state_args=arguments)
    group, groups = np.arange(n_docs + n_words), []
    for level in state.get_levels():
        group = level.b.a[group]
        groups.append(group[:n_docs])
        if len(np.unique(groups[-1])) == 1:
            break
    kept = [level for level in groups[::-1] if len(np.unique(level)) > 1] or groups[:1]
    np.savetxt(folder / "levels.txt", np.column_stack(kept), fmt="%d")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
