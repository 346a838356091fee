"""Trees of other programs as runs: forms, converters, and what is refused."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from sklearn.decomposition import NMF, LatentDirichletAllocation

from hiertopics.base import archives
from hiertopics.base.errors import UsageError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.formats.othermodels import (
    parts_of_levels,
    parts_of_scikit_learn,
    parts_of_tomotopy,
)
from hiertopics.fitting.importing import import_tree
from hiertopics.fitting.support import against, write_resamples
from hiertopics.runs.newdocs import infer
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.evaluation import evaluate

Call = Callable[..., Any]
N = 30
PARENT = [-1, 0, 0, 1]
VOCAB = ["bread", "butter", "goal", "team", "nowhere"]


def shares() -> Any:
    return np.random.default_rng(0).dirichlet(np.ones(4), N)


def phi() -> Any:
    return np.random.default_rng(1).dirichlet(np.ones(5), 4)


def parts(**others: Any) -> dict[str, Any]:
    return {"parent": PARENT, "theta": shares(), "phi": phi(), "vocab": VOCAB} | others


def as_json(path: Path, **others: Any) -> Path:
    lists = {
        n: getattr(value, "tolist", lambda v=value: v)() for n, value in parts(**others).items()
    }
    path.write_text(json.dumps({n: value for n, value in lists.items() if value is not None}))
    return path


@pytest.fixture
def imported(tiny_file: Path, tmp_path: Path) -> Callable[..., RunDir]:
    """Return a function that imports files or parts of a tree of the tiny corpus."""

    def make(source: Any, name: str = "run", **options: Any) -> RunDir:
        return import_tree(source, tmp_path / name, tiny_file, say=lambda line: None, **options)

    return make


def same(first: RunDir, second: RunDir) -> None:
    """Assert that two runs are of one tree."""
    for name in ("model.npz", "theta.npz", "tree.json"):
        assert (first.path / name).read_bytes() == (second.path / name).read_bytes(), name


def test_a_tree_is_the_same_in_every_form(imported: Call, tmp_path: Path) -> None:
    one = imported([as_json(tmp_path / "t.json")])
    archives.write_npz(tmp_path / "t.npz", {n: np.asarray(v) for n, v in parts().items()})
    same(one, imported([tmp_path / "t.npz"], "two"))
    packed = {n: np.asarray(v) for n, v in parts().items() if n != "theta"}
    packed |= archives.pack_csr("theta", sparse.csr_array(shares()))
    archives.write_npz(tmp_path / "sparse.npz", packed)
    same(one, imported([tmp_path / "sparse.npz"], "three"))
    write_table(tmp_path / "nodes.csv", ["node", "parent"], enumerate(PARENT))
    rows = [(d, v, repr(x)) for d, row in enumerate(shares().tolist()) for v, x in enumerate(row)]
    write_table(tmp_path / "theta.csv", ["doc", "node", "share"], rows)
    words = [
        (v, VOCAB[w], repr(x)) for v, row in enumerate(phi().tolist()) for w, x in enumerate(row)
    ]
    write_table(tmp_path / "phi.csv", ["node", "word", "probability"], words)
    table = imported([tmp_path / name for name in ("nodes.csv", "theta.csv", "phi.csv")], "four")
    assert table.tree.phi == pytest.approx(one.tree.phi)
    assert table.theta.toarray() == pytest.approx(one.theta.toarray())


def write_table(path: Path, head: Sequence[str], rows: Any) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([head, *rows])


def test_words_are_matched_by_string_and_nodes_counted(imported: Call, tiny_corpus: Corpus) -> None:
    run = imported(parts())
    known = [run.vocab.index(word) for word in VOCAB[:4]]
    wanted = phi()[:, :4] / phi()[:, :4].sum(axis=1, keepdims=True)
    assert run.tree.phi[:, known] == pytest.approx(wanted, abs=1e-5)
    assert run.tree.n_tokens == pytest.approx(shares().T @ tiny_corpus.doc_lengths)
    assert run.tree.phi.sum(axis=1) == pytest.approx(np.ones(4))


def test_parents_may_come_after_their_children(imported: Call) -> None:
    run = imported(parts(parent=[2, 2, -1, 0]))
    assert run.tree.parent.tolist() == [-1, 0, 0, 1]
    assert run.theta.toarray()[:, 0] == pytest.approx(shares()[:, 2])


def test_without_words_a_node_has_those_of_its_documents(
    imported: Call, tiny_corpus: Corpus
) -> None:
    theta = np.eye(4)[np.arange(N) % 4]
    run = imported(parts(theta=theta, phi=None, vocab=None))
    mine = np.isin(np.arange(N) % 4, (1, 3))
    counts = tiny_corpus.counts.toarray()[mine].sum(axis=0)
    assert run.tree.phi[1] == pytest.approx(counts / counts.sum(), abs=1e-5)


def test_an_imported_run_predicts_and_is_scored(imported: Call, tiny_file: Path) -> None:
    theta = np.random.default_rng(0).dirichlet(np.ones(4), 24)
    run = imported(parts(theta=theta), holdout="docs:0.2@0")
    record = evaluate(RunDir.open(run.path))  # nothing known of it but its files
    assert record["perplexity"] > 1 and record["n_docs"] > 0
    placed = infer(run, tiny_file).theta
    assert np.asarray(placed.sum(axis=1)).ravel() == pytest.approx(np.ones(N))


def test_runs_of_listed_documents_support_the_first(imported: Call, tmp_path: Path) -> None:
    theta = np.random.default_rng(2).dirichlet(np.full(4, 0.2), N)
    first = imported(parts(theta=theta))
    others = []
    for number, path in enumerate(write_resamples(first, tmp_path / "lists", 3)):
        rows = [int(line) for line in path.read_text().split()]
        run = imported(parts(theta=theta[rows]), f"other{number}", docs=path)
        assert run.split.train_docs.tolist() == rows
        others.append(run)
    record = against(first, others)
    values = [node["documents"] for node in record["nodes"][1:]]
    assert values == pytest.approx([1, 1, 1])
    random = imported(parts(theta=np.random.default_rng(9).dirichlet(np.ones(4), N)), "random")
    far = against(first, [random])
    assert max(node["documents"] for node in far["nodes"][1:]) < 0.7


TREES: dict[str, tuple[dict[str, Any], str]] = {
    "a cycle": ({"parent": [-1, 2, 3, 1]}, "is below itself"),
    "no root": ({"parent": [1, 2, 3, 0]}, "is below itself"),
    "two roots": ({"parent": [-1, -1, 0, 0]}, "nodes 0 and 1 are both roots"),
    "another parent": ({"parent": [-1, 0, 9, 0]}, "node 2 has the parent 9"),
    "no numbers": ({"parent": ["a", 0, 0, 0]}, "parent is no list of numbers"),
    "theta": ({"theta": 0.9 * shares()}, "theta of document 0 (from 0) sums to 0.9, not to 1"),
    "columns": ({"theta": np.eye(3)[np.arange(N) % 3]}, "theta has 3 columns, but there are 4"),
    "rows": ({"theta": shares()[:20]}, "theta has 20 rows, but 30 of 30 documents"),
    "empty words": ({"phi": np.diag([1, 1, 0, 1, 1])[:4]}, "node 2 has no words"),
    "unknown words": ({"phi": np.eye(5)[[0, 1, 2, 4]]}, "node 3 has no words that the corpus"),
    "no vocab": ({"vocab": None}, "phi without vocab"),
    "listed": ({"phi": None, "words": [[["bread", 1]], [], [], []]}, "node 1 has no words"),
    "nothing": ({"parent": None}, "no parent"),
}


@pytest.mark.parametrize("what", TREES)
def test_what_is_no_tree_ends_in_one_line(
    what: str, call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    others, told = TREES[what]
    path = as_json(tmp_path / "t.json", **others)
    done = call("import", path, "-o", "run", "--corpus", tiny_file)
    assert done.code == 2 and done.out == ""
    (line,) = [line for line in done.err.splitlines() if not line.startswith("note")]
    assert told in line and "t.json" in line
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("text", "told"), [("{", "no JSON"), ("[]", "expected an object"), ("{}", "no parent")]
)
def test_a_file_that_is_none_of_these(
    text: str, told: str, call: Call, tiny_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_text(text)
    done = call("import", "t.json", "-o", "run", "--corpus", tiny_file)
    assert done.code == 2 and told in done.err and len(done.err.splitlines()) == 1


def test_an_imported_run_is_neither_fitted_nor_gone_on_with(
    imported: Call, call: Call, tiny_file: Path
) -> None:
    run = imported(parts())
    assert call("fit", tiny_file, "-b", "imported", "-o", "new").code == 2
    assert not Path("new").exists()
    done = call("support", run.path)
    assert done.code == 2 and "--against" in done.err
    with pytest.raises(UsageError, match="is a run already"):
        imported(parts())


def test_a_linkage_of_documents(imported: Call, tiny_corpus: Corpus, tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", linkage(np.random.default_rng(0).random((N, 3)), "ward"))
    run = imported([tmp_path / "z.npy"], form="linkage")
    assert run.tree.n_nodes == 2 * N - 1 and run.tree.parent[0] == -1
    whole = tiny_corpus.counts.sum(axis=0)
    assert run.tree.phi[0] == pytest.approx(whole / whole.sum(), abs=1e-5)


def test_levels_of_groups(imported: Call, tmp_path: Path) -> None:
    groups = [np.arange(N) // 15, np.arange(N) // 5]
    np.savetxt(tmp_path / "levels.csv", np.column_stack(groups), delimiter=",", fmt="%d")
    run = imported([tmp_path / "levels.csv"], form="levels")
    assert run.tree.depth.tolist() == [0, *[1] * 2, *[2] * 6]
    same(run, imported(parts_of_levels(groups), "two"))


def test_tables_of_bertopic(imported: Call, tmp_path: Path) -> None:
    topics = [(doc, (doc % 4) - 1) for doc in range(N)]
    write_table(tmp_path / "docs.csv", ["Document", "Topic"], topics)
    merges = [(3, "a", 0, "x", 1, "y"), (4, "b", 3, "a", 2, "z")]
    head = ["Parent_ID", "Parent_Name", "Child_Left_ID", "L", "Child_Right_ID", "R"]
    write_table(tmp_path / "tree.csv", head, merges)
    run = imported([tmp_path / "docs.csv", tmp_path / "tree.csv"], form="bertopic")
    assert sorted(run.tree.depth.tolist()) == [0, 1, 2, 2, 3, 3]
    assert run.theta.toarray()[0, 0] == 1
    flat = imported([tmp_path / "docs.csv"], "flat", form="bertopic")
    assert flat.tree.parent.tolist() == [-1, 0, 0, 0]


@pytest.mark.slow
def test_models_of_scikit_learn(imported: Call, tiny_corpus: Corpus) -> None:
    rows = sparse.csr_matrix(tiny_corpus.counts.toarray()[np.arange(N)])
    for name, model in (
        ("nmf", NMF(2, max_iter=500)),
        ("lda", LatentDirichletAllocation(2, random_state=0)),
    ):
        model.fit(rows)
        run = imported(parts_of_scikit_learn(model, rows, tiny_corpus.vocab), name)
        assert run.tree.is_flat and run.tree.n_nodes == 2


class Topics(SimpleNamespace):
    """What is needed of a tomotopy model."""

    def get_topic_word_dist(self, topic: int) -> list[float]:
        return [0.5, 0.3, 0.1 + topic / 100, 0.1 - topic / 100]


class Nested(Topics):
    """The same of a tree: topic 2 is dead, 3 lies below 1."""

    def is_live_topic(self, topic: int) -> bool:
        return topic != 2

    def level(self, topic: int) -> int:
        return [0, 1, 1, 2][topic]

    def parent_topic(self, topic: int) -> int:
        return [0, 0, 0, 1][topic]


def test_models_of_tomotopy(imported: Call) -> None:
    words = ["bread", "butter", "goal", "team"]
    mixed = [SimpleNamespace(get_topic_dist=lambda: [0.2, 0.3, 0.4, 0.1]) for _ in range(N)]
    flat = imported(parts_of_tomotopy(Topics(k=4, docs=mixed, used_vocabs=words)))
    assert flat.tree.is_flat and flat.theta.toarray()[3] == pytest.approx([0.2, 0.3, 0.4, 0.1])
    on_paths = [SimpleNamespace(topics=[0, 1, 3, 3, 1, 3, 3, 3, 3, 0]) for _ in range(N)]
    tree = imported(parts_of_tomotopy(Nested(k=4, docs=on_paths, used_vocabs=words)), "tree")
    assert tree.tree.parent.tolist() == [-1, 0, 1]
    assert tree.theta.toarray()[0] == pytest.approx([0.2, 0.2, 0.6])
