"""Splits: what is put aside is all that is put aside, and depends on nothing it should not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from stepping import corpus_of

from hiertopics.base.errors import ConfigError, DataError
from hiertopics.corpus.data.corpus import Corpus, Tags
from hiertopics.corpus.holdouts.partition import partition
from hiertopics.corpus.holdouts.spec import Holdout, parse_holdout
from hiertopics.corpus.holdouts.split import Split, make_split, split_hash

SPECS = ("docs:0.3@1", "tokens:0.25@1", "fold:2/3@1", "train:20@1")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Return 30 documents of 0 to 60 tokens; 7 is empty, 8 has one token."""
    rows = np.random.default_rng(2).poisson(np.linspace(0.5, 4, 30)[:, None] * np.ones(12))
    rows[7] = 0
    rows[8] = np.eye(12, dtype=int)[3]
    return corpus_of(rows)


def split_of(corpus: Corpus, spec: str) -> Split:
    return make_split(corpus, parse_holdout(spec))[1]


def same(first: Split, second: Split) -> bool:
    a, b = first.to_arrays(), second.to_arrays()
    return a.keys() == b.keys() and all(a[n].tobytes() == b[n].tobytes() for n in a)


@pytest.mark.parametrize("spec", SPECS)
def test_the_same_spec_gives_the_same_split(corpus: Corpus, spec: str) -> None:
    assert same(split_of(corpus, spec), split_of(corpus, spec))


@pytest.mark.parametrize("spec", SPECS)
def test_another_seed_gives_another_split(corpus: Corpus, spec: str) -> None:
    first, second = split_of(corpus, spec), split_of(corpus, spec.replace("@1", "@2"))
    assert first.hash != second.hash and not same(first, second)


@pytest.mark.parametrize("spec", SPECS)
def test_the_seed_is_zero_where_none_is_given(corpus: Corpus, spec: str) -> None:
    bare = spec.removesuffix("@1")
    assert same(split_of(corpus, bare), split_of(corpus, f"{bare}@0"))


@pytest.mark.parametrize("spec", ["docs:0.3@1", "fold:2/3@1", "train:20@1", "none"])
def test_training_and_held_out_documents_are_all_documents(corpus: Corpus, spec: str) -> None:
    train, split = make_split(corpus, parse_holdout(spec))
    together = np.concatenate([split.train_docs, split.heldout_docs])
    assert sorted(together) == list(range(corpus.n_docs))
    assert (train.counts != corpus.counts[split.train_docs]).nnz == 0
    assert (split.heldout != corpus.counts[split.heldout_docs]).nnz == 0
    assert train.vocab == corpus.vocab


def test_docs_takes_a_share_and_at_least_one(corpus: Corpus) -> None:
    assert len(split_of(corpus, "docs:0.3").heldout_docs) == 9
    assert len(split_of(corpus, "docs:0.001").heldout_docs) == 1


def test_train_takes_a_number(corpus: Corpus) -> None:
    assert len(split_of(corpus, "train:20").train_docs) == 20
    assert len(split_of(corpus, "train:29").heldout_docs) == 1


def test_none_puts_nothing_aside(corpus: Corpus) -> None:
    train, split = make_split(corpus, parse_holdout("none"))
    assert train.fingerprint == corpus.fingerprint
    assert split.kind == "none" and split.heldout.shape == (0, corpus.n_words)


@pytest.mark.parametrize("n_folds", [2, 5, 30])
def test_folds_part_the_documents(corpus: Corpus, n_folds: int) -> None:
    folds = [split_of(corpus, f"fold:{k}/{n_folds}@4").heldout_docs for k in range(1, n_folds + 1)]
    assert sorted(np.concatenate(folds)) == list(range(corpus.n_docs))
    assert max(map(len, folds)) - min(map(len, folds)) <= 1


@pytest.mark.parametrize("spec", ["docs:0.9@1", "fold:1/2@1", "train:1@1", "tokens:0.25@1"])
def test_observed_and_scored_are_what_was_held_out(corpus: Corpus, spec: str) -> None:
    split = split_of(corpus, spec)
    if split.kind == "tokens":
        assert (split.heldout != split.scored).nnz == 0
        assert (split.observed + split.scored != corpus.counts).nnz == 0
    else:
        assert (split.observed + split.scored != split.heldout).nnz == 0
    for matrix in (split.observed, split.scored, split.heldout):
        assert matrix.data.min() > 0 and matrix.dtype == np.int32


def test_a_fifth_of_each_document_is_scored_and_one_token_stays_observed(corpus: Corpus) -> None:
    observed, scored = partition(corpus.counts, np.arange(corpus.n_docs), 3)
    lengths = corpus.doc_lengths
    seen = observed.sum(axis=1)
    assert seen.tolist() == [int(0.8 * n + 0.5) if n > 1 else n for n in lengths.tolist()]
    assert (seen[lengths > 0] >= 1).all() and seen[7] == 0 and seen[8] == 1
    assert (scored.sum(axis=1) == lengths - seen).all()


def test_tokens_keeps_a_share_of_every_document_for_training(corpus: Corpus) -> None:
    train, split = make_split(corpus, parse_holdout("tokens:0.25@3"))
    kept = train.doc_lengths.tolist()
    assert kept == [max(int(0.75 * n + 0.5), min(n, 1)) for n in corpus.doc_lengths.tolist()]
    assert (train.counts != split.observed).nnz == 0
    assert train.n_docs == corpus.n_docs == len(split.train_docs) == len(split.heldout_docs)


def test_the_partition_of_a_document_does_not_depend_on_its_neighbours(corpus: Corpus) -> None:
    docs = np.arange(corpus.n_docs)
    together, _ = partition(corpus.counts, docs, 3)
    for doc in docs:
        alone, _ = partition(corpus.counts[[doc]], [int(doc)], 3)
        assert (alone != together[[doc]]).nnz == 0
    backwards, _ = partition(corpus.counts[docs[::-1]], docs[::-1], 3)
    assert (backwards != together[docs[::-1]]).nnz == 0


def test_the_partition_depends_on_the_number_of_the_document(corpus: Corpus) -> None:
    rows = corpus.counts[[20, 20]]
    observed, _ = partition(rows, [20, 21], 3)
    assert (observed[[0]] != observed[[1]]).nnz > 0


def test_a_document_is_cut_the_same_way_in_every_kind_of_split(corpus: Corpus) -> None:
    by_share, by_number = split_of(corpus, "docs:0.5@6"), split_of(corpus, "train:3@6")
    common = set(by_share.heldout_docs) & set(by_number.heldout_docs)
    assert len(common) > 5
    for doc in common:
        cuts = [
            split.observed[[split.heldout_docs.tolist().index(doc)]]
            for split in (by_share, by_number)
        ]
        assert (cuts[0] != cuts[1]).nnz == 0


def test_another_observed_share_draws_anew(corpus: Corpus) -> None:
    docs = np.arange(corpus.n_docs)
    half, _ = partition(corpus.counts, docs, 3, 0.5)
    most, _ = partition(corpus.counts, docs, 3)
    assert half.sum(axis=1).tolist() == [
        max(int(0.5 * n + 0.5), min(n, 1)) for n in corpus.doc_lengths.tolist()
    ]
    assert ((most - half).data < 0).any()  # not a subset: its own draw
    nothing, all_of_it = partition(corpus.counts, docs, 3, 0.0)
    assert nothing.nnz == 0 and (all_of_it != corpus.counts).nnz == 0


def test_every_token_is_as_likely_to_be_observed() -> None:
    """Of five equal words, over many documents, each is withheld about as often."""
    rows = np.full((2000, 5), 2)
    _, scored = partition(sparse.csr_array(rows), np.arange(2000), 0)
    shares = scored.sum(axis=0) / scored.sum()
    assert shares == pytest.approx(0.2, abs=0.02)


def test_the_hash_covers_documents_partition_and_vocabulary(corpus: Corpus) -> None:
    split = split_of(corpus, "docs:0.3@1")
    parts = (split.train_docs, split.heldout_docs, split.observed, split.scored, corpus.vocab)
    assert split_hash(*parts) == split.hash and len(split.hash) == 16
    more = split.observed.copy()
    more.data[0] += 1
    changed = [
        (split.train_docs[:-1], *parts[1:]),
        (parts[0], split.heldout_docs + 1, *parts[2:]),
        (*parts[:2], more, *parts[3:]),
        (*parts[:2], split.scored, split.observed, corpus.vocab),
        (*parts[:4], ("other", *corpus.vocab[1:])),
        (*parts[:4], corpus.vocab[::-1]),
    ]
    hashes = [split_hash(*version) for version in changed]
    assert split.hash not in hashes and len(set(hashes)) == len(hashes)


def test_the_hash_covers_nothing_else(corpus: Corpus) -> None:
    marks = Tags(sparse.csr_array(np.ones((corpus.n_docs, 1), dtype=bool)), ("everyone",))
    ids = tuple(f"id{doc}" for doc in range(corpus.n_docs))
    tagged = Corpus(corpus.counts, corpus.vocab, ids, marks, marks)
    split = split_of(corpus, "docs:0.3@1")
    assert split_of(tagged, "docs:0.3@1").hash == split.hash
    seen, scored = (part.astype(np.int64) for part in (split.observed, split.scored))
    docs: Any = (split.train_docs.astype(np.int32), split.heldout_docs.astype(np.int32))
    assert split_hash(docs[0], docs[1], seen, scored, corpus.vocab) == split.hash


def test_the_hash_sees_what_training_documents_hold_only_by_their_number(corpus: Corpus) -> None:
    """Documents are covered by index; their counts are in the corpus fingerprint."""
    split = split_of(corpus, "docs:0.3@1")
    rows = corpus.counts.toarray()
    rows[split.train_docs[0]] += 1
    assert split_of(corpus_of(rows), "docs:0.3@1").hash == split.hash
    rows[split.heldout_docs[0]] += 1
    assert split_of(corpus_of(rows), "docs:0.3@1").hash != split.hash


def test_word_counts_are_those_of_the_training_part(corpus: Corpus) -> None:
    for spec in (*SPECS, "none"):
        train, split = make_split(corpus, parse_holdout(spec))
        assert split.word_counts.tolist() == train.counts.sum(axis=0).tolist()


def test_a_split_survives_its_arrays(corpus: Corpus) -> None:
    for spec in (*SPECS, "none"):
        split = split_of(corpus, spec)
        again = Split.from_arrays(split.to_arrays())
        assert same(split, again) and (again.kind, again.hash) == (split.kind, split.hash)


@pytest.mark.parametrize(
    ("spec", "holdout"),
    [
        ("docs:0.1", Holdout("docs", 0.1, 0, 0)),
        ("docs:.5@7", Holdout("docs", 0.5, 0, 7)),
        ("tokens:0.2@12", Holdout("tokens", 0.2, 0, 12)),
        ("fold:2/5@3", Holdout("fold", 2, 5, 3)),
        ("train:1200", Holdout("train", 1200, 0, 0)),
        ("none", Holdout("none")),
    ],
)
def test_specs_are_parsed(spec: str, holdout: Holdout) -> None:
    assert parse_holdout(spec) == holdout


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "docs",
        "docs:",
        "docs:0",
        "docs:1",
        "docs:1.5",
        "docs:-0.1",
        "docs:x",
        "docs:0.1@",
        "docs:0.1@-1",
        "docs:0.1@x",
        "docs:0.1/3",
        "docs:0.1.2",
        "docs:.",
        "tokens:0",
        "tokens:1",
        "tokens:2/3",
        "fold:0/5",
        "fold:6/5",
        "fold:1/1",
        "fold:2",
        "fold:1.5/3",
        "train:0",
        "train:1.5",
        "train:-3",
        "train:5/6",
        "none@1",
        "None",
        "links",
        "documents:0.1",
        " docs:0.1",
        "docs:0.1 ",
        "docs:0.1@0@0",
    ],
)
def test_bad_specs_are_config_errors_that_name_the_forms(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.holdout must be one of docs:0\.1@0") as error:
        parse_holdout(spec)
    assert repr(spec) in str(error.value)


@pytest.mark.parametrize("spec", ["docs:0.5", "fold:1/2", "train:1", "train:2"])
def test_what_leaves_nothing_on_one_side_is_refused(spec: str) -> None:
    with pytest.raises(DataError, match="cannot be split"):
        make_split(corpus_of([[1, 2]]), parse_holdout(spec))


def test_a_fold_without_documents_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be split"):
        make_split(corpus_of([[1], [2]]), parse_holdout("fold:5/5"))


def test_withholding_from_documents_of_one_token_puts_nothing_aside_and_says_so() -> None:
    with pytest.raises(DataError):
        make_split(corpus_of(np.eye(3)), parse_holdout("tokens:0.2"))


def test_the_corpus_is_not_changed(corpus: Corpus) -> None:
    before = corpus.counts.data.tobytes(), corpus.counts.indices.tobytes()
    for spec in SPECS:
        make_split(corpus, parse_holdout(spec))
    assert (corpus.counts.data.tobytes(), corpus.counts.indices.tobytes()) == before


@pytest.mark.parametrize(
    "spec", ["train:" + "9" * 400, "links:0.2@" + "9" * 5001, "fold:2/" + "9" * 5001]
)
def test_numbers_beyond_all_bounds_are_refused(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"data\.holdout must"):
        parse_holdout(spec)


def test_zeros_in_front_of_a_seed_say_nothing() -> None:
    assert parse_holdout("docs:0.1@" + "0" * 5000 + "7") == parse_holdout("docs:0.1@7")
