"""Lines of new documents: the way to the main topic, and topics with their shares."""

from __future__ import annotations

import numpy as np
from small_trees import tree_of

from hiertopics.base.visible import plain
from hiertopics.corpus.data.naming import Names
from hiertopics.corpus.data.tree import Label
from hiertopics.runs.rows import NamedTree
from hiertopics.views.placed import _topics

TEXTS = [
    "tests names runs",
    "merge branch · plain english",
    "merge branch integ faults",
    "merge branch integ faults",
    "docs page",
]


def lines_of(labels: dict[int, Label]) -> list[str]:
    """Return the lines of a document whose main topic is node 3, below nodes 1 and 2."""
    tree = tree_of([-1, 0, 1, 2, 1])
    names = Names([np.empty(0, np.int64)] * 5, TEXTS, [None] * 5, {})
    record = {
        "topic": 3,
        "main_path": [(1, 0.89), (2, 0.55), (3, 0.53)],
        "topics": [(3, 0.38), (4, 0.11)],
    }
    named = NamedTree(tree, ("a", "b"), labels, names)
    return plain(list(_topics(named, record))).splitlines()


def test_each_node_of_the_way_has_a_name_of_its_own_and_one_share() -> None:
    assert lines_of({}) == [
        "   lies in [1] merge branch 0.89 > [2] integ faults 0.55 > [3] merge branch",
        "   0.38  [3] merge branch integ faults",
        "   0.11  [4] docs page",
    ]


def test_a_name_of_the_user_stands_as_it_is() -> None:
    way = lines_of({2: Label(name="merge conflicts")})[0]
    assert way == "   lies in [1] merge branch 0.89 > [2] merge conflicts 0.55 > [3] integ faults"
