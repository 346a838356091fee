"""Links put aside: what is withheld, what mirrors it, and what is drawn beside it."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse
from task_corpora import communities, graph_of, random_graph

from hiertopics.base.errors import ConfigError, DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.holdouts.links import Links
from hiertopics.corpus.holdouts.spec import Holdout, parse_holdout
from hiertopics.corpus.holdouts.split import Split, make_split, split_hash

KEEP, DROP = "links:0.2@1", "links:0.2@1,drop"
Pairs = set[tuple[int, int]]
graphs = st.builds(
    random_graph, st.integers(24, 45), st.floats(0.5, 0.97), st.integers(0, 2**32 - 1)
).filter(lambda links: (np.diff(links.indptr) > 20).any())


def split_of(links: sparse.csr_array, spec: str = KEEP) -> tuple[Corpus, Split, Links]:
    train, split = make_split(graph_of(links), parse_holdout(spec))
    assert split.links is not None
    return train, split, split.links


def pairs(matrix: sparse.csr_array, rows: object = None) -> Pairs:
    """Return the entries as (node, node); row r stands for node rows[r]."""
    cells = matrix.tocoo()
    first = cells.coords[0] if rows is None else np.asarray(rows)[cells.coords[0]]
    return set(zip(first.tolist(), cells.coords[1].tolist(), strict=True))


def swapped(links: Pairs) -> Pairs:
    return {(second, first) for first, second in links}


@settings(max_examples=30, deadline=None)
@given(graphs, st.sampled_from([KEEP, DROP]))
def test_no_withheld_link_is_in_the_training_bag_of_its_query(
    graph: sparse.csr_array, spec: str
) -> None:
    train, split, links = split_of(graph, spec)
    positives = pairs(links.positives, links.query)
    assert positives and not positives & pairs(train.counts)
    assert positives <= pairs(graph)
    assert pairs(split.scored) == pairs(split.heldout) == positives
    assert (split.observed != train.counts).nnz == 0


@settings(max_examples=30, deadline=None)
@given(graphs)
def test_kept_mirrors_stay_and_everything_but_the_withheld_links(graph: sparse.csr_array) -> None:
    train, _, links = split_of(graph, KEEP)
    positives = pairs(links.positives, links.query)
    assert pairs(train.counts) == pairs(graph) - positives
    assert (swapped(positives) & pairs(train.counts)) == swapped(positives) - positives
    assert links.mirror == "keep"


@settings(max_examples=30, deadline=None)
@given(graphs)
def test_dropped_mirrors_leave_training_and_nothing_else_does(graph: sparse.csr_array) -> None:
    train, _, links = split_of(graph, DROP)
    positives = pairs(links.positives, links.query)
    assert pairs(train.counts) == pairs(graph) - positives - swapped(positives)
    assert (train.counts != train.counts.T).nnz == 0
    assert links.mirror == "drop"


@settings(max_examples=30, deadline=None)
@given(graphs)
def test_positives_and_negatives_are_the_same_for_keep_and_drop(graph: sparse.csr_array) -> None:
    (_, kept, first), (_, dropped, second) = split_of(graph, KEEP), split_of(graph, DROP)
    assert (first.query == second.query).all()
    for name in ("positives", "negatives"):
        assert (getattr(first, name) != getattr(second, name)).nnz == 0
    assert kept.hash != dropped.hash


@settings(max_examples=30, deadline=None)
@given(graphs, st.sampled_from([KEEP, DROP]))
def test_negatives_are_other_nodes_without_a_link_as_many_as_training_links_or_all(
    graph: sparse.csr_array, spec: str
) -> None:
    _, _, links = split_of(graph, spec)
    n_nodes = graph.shape[0]
    for row, node in enumerate(links.query.tolist()):
        drawn = links.negatives[[row]].indices
        others = set(range(n_nodes)) - set(graph[[node]].indices.tolist()) - {node}
        n_kept = graph[[node]].nnz - links.positives[[row]].nnz
        assert set(drawn.tolist()) <= others
        assert len(set(drawn.tolist())) == len(drawn) == min(n_kept, len(others))


@settings(max_examples=30, deadline=None)
@given(graphs, st.data())
def test_the_draw_of_a_query_does_not_depend_on_links_between_others(
    graph: sparse.csr_array, data: st.DataObject
) -> None:
    _, _, links = split_of(graph)
    row = data.draw(st.integers(0, len(links.query) - 1))
    node = int(links.query[row])
    rest = graph.toarray()
    others = np.arange(graph.shape[0]) != node
    rest[np.ix_(others, others)] = random_graph(int(others.sum()), 0.4, 5).toarray()
    _, _, changed = split_of(sparse.csr_array(rest))
    place = changed.query.tolist().index(node)
    for name in ("positives", "negatives"):
        before, after = getattr(links, name)[[row]], getattr(changed, name)[[place]]
        assert before.indices.tolist() == after.indices.tolist()


def test_the_draw_depends_on_the_number_of_the_node_and_on_the_seed() -> None:
    """Thirty nodes that are linked to the same thirty others."""
    graph = np.kron([[0, 1], [1, 0]], np.ones((30, 30), dtype=np.int32))
    links = split_of(sparse.csr_array(graph))[2]
    other = split_of(sparse.csr_array(graph), "links:0.2@2")[2]
    for name in ("positives", "negatives"):
        drawn = [tuple(getattr(links, name)[[row]].indices) for row in range(30)]
        again = [tuple(getattr(other, name)[[row]].indices) for row in range(30)]
        assert len(set(drawn)) > 25
        assert sum(a == b for a, b in zip(drawn, again, strict=True)) < 3


@pytest.mark.slow
def test_every_link_and_every_other_node_is_as_likely_to_be_drawn() -> None:
    graph = np.zeros((60, 60), dtype=np.int32)
    graph[7, 10:35] = graph[10:35, 7] = 1
    seen = {"positives": np.zeros(60), "negatives": np.zeros(60)}
    for seed in range(1500):
        links = split_of(sparse.csr_array(graph), f"links:0.2@{seed}")[2]
        assert links.query.tolist() == [7]
        for name, total in seen.items():
            total[getattr(links, name).indices] += 1
    withheld = seen["positives"][10:35] / 1500
    assert withheld == pytest.approx(5 / 25, abs=0.05)
    free = np.setdiff1d(np.arange(60), [7, *range(10, 35)])
    assert seen["negatives"][free] / 1500 == pytest.approx(20 / 34, abs=0.06)


def star(n_links: int) -> sparse.csr_array:
    """Return 80 nodes, the first one linked to ``n_links`` others."""
    graph = np.zeros((80, 80), dtype=np.int32)
    graph[0, 1 : n_links + 1] = graph[1 : n_links + 1, 0] = 1
    return sparse.csr_array(graph)


def test_a_query_has_more_than_twenty_links() -> None:
    with pytest.raises(DataError, match="no node has more than 20 links"):
        split_of(star(20))
    assert split_of(star(21))[2].query.tolist() == [0]
    train, _, links = split_of(communities())
    assert 0 not in links.query and 30 not in links.query and len(links.query) > 40
    for quiet in (0, 30):
        assert (train.counts[[quiet]] != communities()[[quiet]]).nnz == 0


@pytest.mark.parametrize(
    ("spec", "n_links", "n_withheld"),
    [
        ("links:0.2", 21, 4),
        ("links:0.2", 22, 4),
        ("links:0.2", 23, 5),
        ("links:0.5", 21, 11),
        ("links:0.01", 21, 1),
        ("links:0.99", 21, 20),
    ],
)
def test_a_rounded_share_is_withheld_at_least_one_and_never_all(
    spec: str, n_links: int, n_withheld: int
) -> None:
    train, _, links = split_of(star(n_links), spec)
    assert links.positives.nnz == n_withheld
    assert train.counts[[0]].nnz == links.negatives.nnz == n_links - n_withheld


def test_a_withheld_link_is_withheld_with_its_whole_count() -> None:
    graph = star(25) * 3
    train, split, links = split_of(graph)
    assert set(links.positives.data.tolist()) == {3} and set(train.counts.data.tolist()) == {3}
    assert (split.observed + split.scored != graph).nnz == 0


def test_all_documents_are_trained_on_and_word_counts_are_those_of_training() -> None:
    train, split, _ = split_of(communities(), DROP)
    everybody = list(range(60))
    assert split.train_docs.tolist() == split.heldout_docs.tolist() == everybody
    assert split.word_counts.tolist() == train.counts.sum(axis=0).tolist()
    assert (split.kind, split.seed, split.within_documents) == ("links", 1, True)


def test_the_hash_covers_queries_positives_negatives_and_mirror() -> None:
    _, split, links = split_of(communities())
    plain = (split.train_docs, split.heldout_docs, split.observed, split.scored)
    vocab = graph_of(communities()).vocab
    assert split_hash(*plain, vocab, links) == split.hash
    fewer = links.negatives.copy()
    fewer.data[0] = 2
    changed = [
        replace(links, query=links.query + 1),
        replace(links, positives=links.negatives),
        replace(links, negatives=fewer),
        replace(links, mirror="drop"),
        None,
    ]
    hashes = {split_hash(*plain, vocab, version) for version in changed}
    assert split.hash not in hashes and len(hashes) == len(changed)


@pytest.mark.parametrize("spec", [KEEP, DROP])
def test_a_links_split_survives_its_arrays(spec: str) -> None:
    _, split, links = split_of(communities(), spec)
    arrays = split.to_arrays()
    again = Split.from_arrays(arrays)
    assert {name: array.tobytes() for name, array in again.to_arrays().items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }
    assert again.links is not None and again.links.mirror == links.mirror
    assert (again.links.query == links.query).all()
    assert arrays["query"].dtype == np.int64
    assert arrays["positives_shape"].tolist() == [len(links.query), 60]


def test_a_split_without_links_has_no_arrays_of_them() -> None:
    _, split = make_split(graph_of(communities()), parse_holdout("docs:0.1"))
    assert not {"query", "mirror", "positives_data"} & set(split.to_arrays())
    assert Split.from_arrays(split.to_arrays()).links is None


def test_a_symmetric_matrix_without_ids_is_a_graph() -> None:
    names = tuple(f"w{word}" for word in range(60))
    _, split = make_split(Corpus(communities(), names), parse_holdout(KEEP))
    assert split.links is not None
    assert (split.links.positives != split_of(communities())[2].positives).nnz == 0


def test_of_a_directed_graph_neither_end_of_a_link_is_a_negative() -> None:
    graph = np.zeros((50, 50), dtype=np.int32)
    graph[0, 1:26] = 1
    graph[26:40, 0] = 1
    _, _, links = split_of(sparse.csr_array(graph))
    assert links.query.tolist() == [0]
    assert sorted(links.negatives.indices.tolist()) == list(range(40, 50))


OTHERS = {
    "not square": (
        Corpus(communities()[:, :59], tuple(f"n{node}" for node in range(59))),
        "60 documents and 59 words",
    ),
    "other ids": (
        replace(graph_of(communities()), doc_ids=tuple("abcdef" * 10)),
        "its document ids are not its words",
    ),
    "no ids and no mirrors": (
        Corpus(sparse.csr_array(np.triu(np.ones((60, 60)))), graph_of(communities()).vocab),
        "no ids and its links no mirrors",
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_corpus_that_is_no_graph_is_refused(name: str) -> None:
    corpus, words = OTHERS[name]
    with pytest.raises(DataError, match="documents are its words") as error:
        make_split(corpus, parse_holdout(KEEP))
    assert words in str(error.value) and "--from edges" in str(error.value)


def test_a_large_graph_is_split_without_a_matrix_of_all_pairs() -> None:
    n_nodes = 30_000
    hub, leaf = np.repeat(np.arange(300), 60), np.arange(300, 300 + 300 * 60)
    above = sparse.csr_array((np.ones(len(hub)), (hub, leaf)), shape=(n_nodes, n_nodes))
    corpus = graph_of(sparse.csr_array(above + above.T))
    tracemalloc.start()
    try:
        _, split = make_split(corpus, parse_holdout(DROP))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert split.links is not None and len(split.links.query) == 300
    assert peak < 40_000_000 < n_nodes**2 / 20


def test_the_corpus_is_not_changed() -> None:
    corpus = graph_of(communities())
    before = corpus.counts.data.tobytes(), corpus.counts.indices.tobytes()
    make_split(corpus, parse_holdout(DROP))
    assert (corpus.counts.data.tobytes(), corpus.counts.indices.tobytes()) == before


@pytest.mark.parametrize(
    ("spec", "holdout"),
    [
        ("links:0.2", Holdout("links", 0.2)),
        ("links:0.2@3", Holdout("links", 0.2, 0, 3)),
        ("links:0.2,drop", Holdout("links", 0.2, drop_mirrors=True)),
        ("links:.5@7,drop", Holdout("links", 0.5, 0, 7, True)),
    ],
)
def test_links_specs_are_parsed(spec: str, holdout: Holdout) -> None:
    assert parse_holdout(spec) == holdout


@pytest.mark.parametrize(
    "spec",
    [
        "links:0",
        "links:1",
        "links:1/5",
        "links:0.2,",
        "links:0.2,keep",
        "links:0.2,drop@3",
        "links:0.2, drop",
        "links:0.2@,drop",
        "tokens:0.2,drop",
        "docs:0.1@1,drop",
        "fold:1/5,drop",
        "train:5,drop",
        "none,drop",
    ],
)
def test_bad_links_specs_are_config_errors_that_name_the_form(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"links:0\.2@0\[,drop\]") as error:
        parse_holdout(spec)
    assert repr(spec) in str(error.value)
