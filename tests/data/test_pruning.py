"""Choosing the vocabulary, against counting documents one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from hiertopics.base.errors import DataError
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.pruning import Limits, notes, prune

VOCAB = tuple("abcdefgh")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    """Return ten documents; word number n is in about n of them, the first one in none."""
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 4, (10, 8)) * (np.arange(10)[:, None] < [0, 1, 2, 3, 5, 8, 9, 10])
    return Corpus(sparse.csr_array(rows), VOCAB)


def brute_force(corpus: Corpus, min_df: float, max_df: float, stop: frozenset[str]) -> list[str]:
    kept = []
    rows = corpus.counts.toarray()
    for column, word in enumerate(corpus.vocab):
        n_docs = sum(1 for row in rows if row[column] > 0)
        low = min_df if isinstance(min_df, int) else min_df * len(rows)
        high = max_df if isinstance(max_df, int) else max_df * len(rows)
        unlimited = low <= 1  # the default keeps words of the vocabulary file that no document has
        if (n_docs >= low or unlimited) and n_docs <= high and word not in stop:
            kept.append(word)
    return kept


@pytest.mark.parametrize("min_df", [1, 2, 3, 8, 0.0, 0.1, 0.2, 0.25, 0.5])
@pytest.mark.parametrize("max_df", [10, 9, 5, 1.0, 0.9, 0.85, 0.5])
@pytest.mark.parametrize("stop", ["", "ceg"])
def test_limits_agree_with_a_brute_force(
    corpus: Corpus, min_df: float, max_df: float, stop: str
) -> None:
    expected = brute_force(corpus, min_df, max_df, frozenset(stop))
    if not expected:
        with pytest.raises(DataError, match="no word is left"):
            prune(corpus, Limits(min_df, max_df, stop))
        return
    kept = prune(corpus, Limits(min_df, max_df, stop))
    assert list(kept.vocab) == expected
    columns = [VOCAB.index(word) for word in expected]
    assert (kept.counts.toarray() == corpus.counts.toarray()[:, columns]).all()


def test_one_as_a_number_of_documents_is_not_one_as_a_share(corpus: Corpus) -> None:
    assert prune(corpus, Limits(1, 1)).vocab == ("a", "b")
    assert prune(corpus, Limits(1, 1.0)).vocab == VOCAB
    assert prune(corpus, Limits(1.0, 1.0)).vocab == ("h",)


def test_the_defaults_return_the_corpus_itself(corpus: Corpus) -> None:
    assert prune(corpus, Limits()) is corpus


def test_documents_stay_where_they_lose_every_token(corpus: Corpus) -> None:
    kept = prune(replace(corpus, doc_ids=tuple("0123456789")), Limits(max_df=3))
    assert (kept.n_docs, kept.n_empty, kept.doc_ids) == (10, 7, tuple("0123456789"))


def test_what_the_reader_remarked_stays(corpus: Corpus) -> None:
    assert prune(replace(corpus, notes=("a remark",)), Limits(max_df=3)).notes == ("a remark",)


def test_no_word_left_is_refused(corpus: Corpus) -> None:
    with pytest.raises(DataError, match="no word is left"):
        prune(corpus, Limits(stop_words=VOCAB))


def words_by_count(*words: str) -> Corpus:
    """Return one document in which earlier words are more frequent."""
    return Corpus(sparse.csr_array(np.arange(len(words), 0, -1)[None]), words)


def test_raw_text_led_by_stop_words_is_told_how_to_drop_them() -> None:
    led = words_by_count("the", "of", "tree", "and", "to", "leaf", "in", "root", "node", "path")
    assert notes(led) == (
        "5 of the 10 most frequent words are stop words (the, of, and, ...) and will lead "
        "topics; -s data.stop_words=english drops them",
    )


def test_the_lists_that_are_set_stay_in_the_note() -> None:
    led = words_by_count("the", "of", "tree", "and", "to", "leaf", "in", "root", "node", "path")
    (told,) = notes(led, "polish")
    assert told.endswith("; -s data.stop_words=polish,english drops them")
    assert notes(led, "polish, english") == ()  # the list is set: it can do no more


def test_rare_stop_words_are_not_worth_a_note() -> None:
    content = [f"w{number}" for number in range(6)]
    assert notes(words_by_count(*content, "the", "of", "and", "to", "in", "for", "is")) == ()


def test_the_words_in_most_documents_stay(corpus: Corpus) -> None:
    n_docs_with = np.bincount(corpus.counts.indices, minlength=corpus.n_words)
    for most in (1, 3, corpus.n_words, 100):
        kept = prune(corpus, Limits(max_words=most)).vocab
        order = np.lexsort((np.arange(corpus.n_words), -n_docs_with))
        assert kept == tuple(corpus.vocab[word] for word in sorted(order[:most]))
    few = prune(corpus, Limits(max_df=3, max_words=2)).vocab
    assert len(few) == 2
    assert all(n_docs_with[corpus.vocab.index(word)] <= 3 for word in few)
