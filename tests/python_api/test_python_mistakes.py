"""What Python users get wrong, and the line that says what was meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hiertopics as ht
from hiertopics.base.errors import HiertopicsError, UsageError


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ({"text_field": "text"}, "fit takes no 'text_field': data={'text_field': 'text'} sets it"),
        ({"stop_words": "english"}, "data={'stop_words': 'english'} sets it"),
        ({"n_topics": 20}, "overrides={'model.truncation': 20} sets the largest number"),
        ({"depth": 3}, "overrides={'model.branches': [8, 30]} sets the nodes"),
        ({"random_state": 1}, "it is seed"),
        ({"iteration": 1}, "did you mean 'iterations'?"),
    ],
)
def test_an_argument_of_another_package_is_met(argument: dict[str, Any], told: str) -> None:
    fit: Any = ht.fit
    with pytest.raises(UsageError) as stop:
        fit(["a b", "b c"], **argument)
    assert told in str(stop.value) and "\n" not in str(stop.value)


class Dataset:
    """As of another package."""

    def to_pandas(self) -> None:
        """Return a frame."""


@pytest.mark.parametrize(
    ("corpus", "told"),
    [
        ([], "the list is empty"),
        ([b"a b"], "[text.decode('utf-8') for text in texts]"),
        (Dataset(), "got Dataset, whose to_pandas() is one"),
    ],
)
def test_what_is_no_corpus_is_met(corpus: Any, told: str) -> None:
    with pytest.raises(UsageError) as stop:
        ht.fit(corpus)
    assert told in str(stop.value)


def test_mistakes_with_a_run(finished: Callable[..., Path]) -> None:
    run = ht.Run(finished("nhdp-variational"))
    with pytest.raises(HiertopicsError, match=r"no such file; a text itself .* run\.infer"):
        run.infer("bread and wine")
    with pytest.raises(UsageError, match=r"compare\(\[run, other\]\)"):
        ht.compare(run)
    for node in (9999, "4"):
        with pytest.raises(IndexError, match=f"there is no node {node!r}; nodes are 0 to"):
            run.tree.words(node)
    with pytest.raises(AttributeError, match="it is evaluate"):
        _ = ht.eval
    with pytest.raises(AttributeError, match=r"hiertopics\.topics\(run\) does it"):
        _ = run.topics
    with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
        _ = run.nonsense


def test_what_is_printed_of_itself_is_short(finished: Callable[..., Path]) -> None:
    run = ht.Run(finished("nhdp-variational"))
    found = run.infer([["bread", "yak"], ["wine"]])
    size = f"2 documents, 2 tokens, 1 unknown token, {found.theta.shape[1]} nodes"
    assert repr(found) == f"PlacedDocuments({size})"
    shown = repr(run.tree[1]).partition(": ")[2].rstrip(")")
    assert shown and str(run.tree[1]).splitlines()[0].split("docs")[1].strip().startswith(shown)


def test_the_estimator_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    counts = np.random.default_rng(0).poisson(1.0, (20, 8))
    ht.HierarchicalTopics("hdp-pcvb0", iterations=2).fit(counts)
    assert capsys.readouterr() == ("", "")
