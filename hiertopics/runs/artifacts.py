"""Output files of a fit: its inputs, the summarised state, a sampler's draws."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from scipy import sparse

from hiertopics.base import archives, files
from hiertopics.base.arrays import I32
from hiertopics.base.errors import RunError
from hiertopics.base.made import MadeRows
from hiertopics.contract import Settings, Summary, registry
from hiertopics.corpus.data import Bags, Corpus, Vectors, groups_of
from hiertopics.corpus.data.tree import Support, Tree, require_tree
from hiertopics.corpus.holdouts.split import Split
from hiertopics.runs.documents import DOCUMENTS, documents_lines
from hiertopics.runs.manifest import FILES
from hiertopics.runs.rows import node_rows, topics_csv, tree_json
from hiertopics.runs.rundir import CHAIN_PATHS, DRAWS, SUPPORT, RunDir
from hiertopics.runs.soundness import check_extra, check_summary
from hiertopics.settings.config import Experiment

N_WORDS = 20

INPUTS = ("vocab.txt", "groups.txt", "split.npz")
SUMMARY = ("model.npz", "theta.npz", "tree.json", "topics.csv", "paths.npz", "theta_groups.npz")

LARGE = 1 << 25
"""Bytes of word probabilities above which a model is compressed: trees of thousands of nodes."""


MANY = 1 << 22
"""Entries of theta above which theta.npz holds float32, compressed: 50 MB where it is not."""


def write_inputs(
    run: RunDir, experiment: Experiment, train: Bags | Vectors, split: Split
) -> dict[str, str]:
    """Write the inputs of a fit as known before the first iteration; return the seals."""
    groups = train.groups.names if train.groups else ()
    run.write_config(experiment)
    files.write_text(run.file("vocab.txt"), _lines(train.vocab))
    files.write_text(run.file("groups.txt"), _lines(groups))
    archives.write_npz(run.file("split.npz"), split.to_arrays())
    lines = documents_lines(train, split.train_docs)
    if lines is None:
        return run.seals(INPUTS)
    files.write_whole(run.file(DOCUMENTS), lambda out: out.writelines(lines))
    return run.seals((*INPUTS, DOCUMENTS))


def write_documents(run: RunDir, corpus: Corpus) -> None:
    """Write documents.jsonl again with facts that the file of the run's corpus does not hold."""
    rows = run.split.train_docs
    lines = documents_lines(corpus.select(rows), rows)
    if lines is not None:
        files.write_whole(run.file(DOCUMENTS), lambda out: out.writelines(lines))
        seals = {**run.manifest.get(FILES, {}), **run.seals([DOCUMENTS])}
        run.write_manifest({**run.manifest, FILES: seals})


def write_summary(
    run: RunDir, summary: Summary, vocab: Sequence[str], experiment: Experiment
) -> dict[str, str]:
    """Write the summarised state of a run, ids equal in all of its files; return their seals.

    All of them are written or none, but for a kill between two renames: that the seals tell,
    which the manifest holds afterwards. Raises NumericalError for what is no distribution,
    RunError for arrays that are not those of one tree, which no view could read, and where
    ``Tree.extra`` is not what the backend declares, which no function of it could use.
    """
    check_summary(summary)
    backend, settings = experiment.backend, Settings(experiment.model, experiment.inference)
    said = "returned a node table that is no tree"
    try:
        require_tree(summary.tree)
        said = "returned other arrays in Tree.extra than it declares"
        check_extra(summary.tree, registry.load_for(experiment), settings)
    except ValueError as error:
        raise RunError(
            f"{registry.described(backend)} {said}: {error}; "
            f"python -m hiertopics.testing {backend} tests the backend"
        ) from error
    rows = node_rows(summary.tree, vocab, N_WORDS)
    others = None if summary.tree.support is None else summary.tree.support.n_others
    writers = {
        "model.npz": archives.as_npz(summary.tree.to_arrays(), compressed=_large(summary.tree)),
        "theta.npz": archives.as_csr(summary.rows, slim=_n_entries(summary.rows) > MANY),
        "tree.json": files.as_json(tree_json(rows, backend, others=others)),
        "topics.csv": files.as_text(topics_csv(rows)),
    }
    if summary.paths is not None:
        writers["paths.npz"] = archives.as_npz(summary.paths._asdict())
    groups = groups_of(summary.tree)
    if groups is not None:
        writers["theta_groups.npz"] = archives.as_csr(sparse.csr_array(groups.theta))
        writers["groups.txt"] = files.as_text(_lines(groups.names))
    files.write_together({run.file(name): write for name, write in writers.items()})
    return run.seals(writers)


def write_support(run: RunDir, support: Support) -> None:
    """Write to tree.json how many other runs found each node again, and renew its seal.

    Raises RunError as ``write_beside`` does.
    """

    def text(held: RunDir) -> str:
        tree = replace(held.supported_tree, support=support, transfer=None, counted=None)
        rows = node_rows(tree, held.vocab, N_WORDS)
        backend = str(held.manifest["backend"])
        return files.to_json(tree_json(rows, backend, others=support.n_others), indent=1) + "\n"

    write_beside(run, "tree.json", text)


def write_beside(run: RunDir, name: str, text: Callable[[RunDir], str]) -> None:
    """Replace a text file of a finished run, and renew its seal.

    The manifest first says that the file may be the old one or the new one, then the file is
    replaced, then the manifest knows the new one alone: wherever a kill comes, the run is whole.
    Raises RunError where another process writes to the run, or has written since it was read.
    """
    with run.locked():
        held = RunDir(run.path)
        if held.manifest.get(FILES) != run.manifest.get(FILES):
            raise RunError(f"{run.path} has been written by another process since; try again")
        contents, sealed = text(held), held.manifest.get(FILES)
        if sealed is None:
            files.write_text(run.file(name), contents)
            return
        new = files.seal_of(contents.encode())
        if name in sealed:
            held.write_manifest({**held.manifest, FILES: {**sealed, name: f"{sealed[name]} {new}"}})
        files.write_text(run.file(name), contents)
        held.write_manifest({**held.manifest, FILES: {**sealed, name: new}})
    for known in ("manifest", "supported_tree"):
        run.__dict__.pop(known, None)


def has_support_of(run: RunDir, seals: Mapping[str, str], model: str) -> bool:
    """Tell whether a sound support.json speaks of the model of this seal. seals: of the files."""
    path = run.file(SUPPORT)
    if SUPPORT not in seals or not path.exists():
        return False
    contents = path.read_bytes()
    if files.seal_of(contents) not in seals[SUPPORT].split():
        return False
    return bool(json.loads(contents)["model"] == model)


def present_seals(run: RunDir) -> dict[str, str]:
    """Return the seals of the present files of a run's inputs and summary."""
    return run.seals(name for name in (*INPUTS, DOCUMENTS, *SUMMARY) if run.file(name).exists())


def write_draw(run: RunDir, iteration: int, summary: Summary, paths: I32 | None = None) -> None:
    """Write one draw of a sampler: the arrays of model.npz and theta of the training documents.

    paths: of several chains, those of all of them, int32 [n_chains, n_docs, L] (``PerChain``).
    Raises NumericalError for what is no distribution.
    """
    check_summary(summary)
    files.make_folder(run.file("draws"))
    arrays = summary.tree.to_arrays() | archives.pack_csr("theta", summary.theta)
    if paths is not None:
        arrays[CHAIN_PATHS] = paths
    write = archives.as_npz(arrays, compressed=_large(summary.tree))
    files.write_whole(run.file(f"{DRAWS}{iteration:08d}.npz"), write)


def _lines(names: Sequence[str]) -> str:
    return "".join(f"{name}\n" for name in names)


def _large(tree: Tree) -> bool:
    return tree.phi.nbytes > LARGE


def _n_entries(rows: sparse.csr_array | MadeRows) -> int:
    """Return how many entries of theta there are as a file."""
    return rows.shape[0] * rows.shape[1] if isinstance(rows, MadeRows) else int(rows.nnz)
