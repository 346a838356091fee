"""The data of a report: the parts of the page, as many as fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics import __version__
from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.base.stretches import ends_of
from hiertopics.contract import registry
from hiertopics.corpus.corpora.dataset import corpus_name
from hiertopics.corpus.data import ROOT, Tags, Tree, groups_of, hidden_nodes, in_order, support_told
from hiertopics.corpus.data.columns import Kind, binned, kind_of
from hiertopics.runs.edits import MERGE, MOVE, SPLIT
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir
from hiertopics.views.arrange import arranged
from hiertopics.views.levels import in_levels, parse_cut, supported_part
from hiertopics.views.remarks import column_called, parse_sides, tags_of, tell_what_is_not_shown
from hiertopics.views.report.agreement import agreement_part
from hiertopics.views.report.card import card_of, key_of
from hiertopics.views.report.documents import (
    Shares,
    TrainingDocuments,
    columns_part,
    contents_of,
    entries_of,
    known_documents,
    leading,
    rest_of,
    shares_of,
)
from hiertopics.views.report.lead import LeadInput, lead_part
from hiertopics.views.report.matching import (
    comparison_part,
    named,
    refuse_other_kind,
    same_documents,
)
from hiertopics.views.report.nodes import facts_part, rounded, shortened
from hiertopics.views.report.packing import PackingBox, size_told
from hiertopics.views.report.topics import (
    Layout,
    branch_words_of,
    label_columns,
    lay_out,
    node_part,
    words_of,
)

SCHEMA = "hiertopics.report/1"
ENTRIES = (12, 4)
"""Most topics of a document whose shares are kept: at first, and where space is short."""

MAIN, FEWER = 200, 50
"""First documents of each topic that stay where not all of them fit."""

MOST_WORDS, SOME_WORDS = 60, 20
"""Most words of a document that are kept."""

N_CALLED = 10
"""Words that a topic is called by; places show as many of the first ones as they have room for."""

N_GROUP_TOPICS, N_SIMILAR = 10, 5
NAMES = "name"
"""The column of metadata that holds what documents are called."""

SPARE = 1000
"""Bytes for the sentences on parts that are left out."""


class ReportRequest(NamedTuple):
    """The requested report. words: per node and weight of relevance. limit: bytes in all.

    text: whether words of single documents may be shown. sides: ``NAME=FILE`` of metadata. cut:
    about how many nodes each level has, as ``20,80``. supported: least support of a node. words_by:
    the order of the words that topics are called by, of ``naming.ORDERS``. title: of the page;
    None: the corpus's name.
    """

    words: int
    limit: int
    text: bool = True
    sides: Sequence[str] = ()
    cut: str | None = None
    supported: float | None = None
    words_by: str | None = None
    title: str | None = None


class ReportTree(NamedTuple):
    """A run's tree in the form of a report, and its documents' places there."""

    tree: Tree
    layout: Layout
    shares: Shares


def gather(run: RunDir, other: RunDir | None, request: ReportRequest, overhead: int) -> PackingBox:
    """Return the parts of a run's report, with those of a comparison where there is another run.

    overhead: bytes of the page without its data. Raises UsageError where not even the tree fits,
    DataError or RunError where a file is wrong.
    """
    if other is not None:
        refuse_other_kind(run, other)
    gathering = _Gathering(run, other, request)
    for min_docs, n_words in gathering.sizes():
        box = PackingBox(request.limit - overhead - SPARE)
        gathering.put_tree(box, min_docs, n_words)
        if box.left >= 0:
            break
    else:
        least = size_told(int(request.limit - box.left))
        raise UsageError(
            f"--limit {size_told(request.limit)} is too small for the report of {run.path}: "
            f"its tree alone takes {least}"
        )
    gathering.put_documents(box)
    box.put("left_out", gathering.left_out)
    return box


class _Gathering:
    """The parts of one report while they are made, and the sentences on parts that are left out."""

    def __init__(self, run: RunDir, other: RunDir | None, request: ReportRequest) -> None:
        self.run, self.other, self.request = run, other, request
        self.left_out: list[str] = []
        self._firsts: dict[int, I64] = {}
        self.tags: dict[str, Tags] = {
            column_called(name): tags_of(run, name, path)
            for name, path in parse_sides(request.sides).items()
        }
        for name, tags in self.tags.items():
            if name != NAMES:
                tell_what_is_not_shown(name, tags, binned(tags))
        whole = _arranged(run)
        self.tree = self._part(run, whole)
        self.ranked = in_order(whole, run.vocab, request.words_by)
        self.labels = labels_of(run, self.tree)
        self.number = np.empty(0, dtype=np.int64)
        self.n_listed = 0

    @cached_property
    def known(self) -> TrainingDocuments:
        """Training documents as the run's corpus has them; --side name gives them other names."""
        known = known_documents(self.run)
        if (given := self.tags.pop(NAMES, None)) is not None:
            known = known._replace(names=list(map(" ".join, given.by_row)))
        if known.problem is not None:
            kept = self.run.documents is not None
            what = "words" if kept else "names, words and marks"
            self.left_out.append(f"{what} of documents are not known: {known.problem}")
        return known

    @property
    def limit(self) -> str:
        return f"the page would be larger than {size_told(self.request.limit)} (--limit)"

    def sizes(self) -> list[tuple[int, int]]:
        """Return (fewest documents of a node, words per node), the most that is shown first."""
        words = self.request.words
        most = int(self.tree.branch_docs[self.tree.shown].max(initial=0))
        fewest = [0, 0, 0, *(max(int(most * share), 2) for share in (0.001, 0.003, 0.01, 0.03))]
        return list(zip(fewest, [words, words // 2, 8, 8, 8, 8, 8], strict=True))

    def put_tree(self, box: PackingBox, min_docs: int, n_words: int) -> None:
        """Add the parts that every report needs."""
        run, tree = self.run, self.tree
        self.left_out.clear()
        layout = lay_out(tree, min_docs)
        if not len(layout.rows):
            layout = lay_out(tree)
        self.placed = ReportTree(tree, layout, shares_of(run, tree, layout))
        hidden = len(tree.shown) - len(layout.rows)
        if hidden:
            small = f"{hidden} node{'s' * (hidden != 1)} with fewer than {min_docs} documents"
            verb = "is" if hidden == 1 else "are"
            self.left_out.append(f"{small} {verb} left out: {self.limit}")
        if n_words < self.request.words:
            fewer = f"topics have {n_words} words by each order instead of {self.request.words}"
            self.left_out.append(f"{fewer}: {self.limit}")
        background = self._background()
        words = words_of(tree, layout, background, max(n_words, 1))
        branches = branch_words_of(tree, layout, background, max(n_words, 1))
        called, parts = self._called(tree, layout), self._parts(layout)
        some = [*words.ids, *branches.ids, *branches.telling, *called, *chain.from_iterable(parts)]
        every = [*some, np.empty(0, np.int64)]
        listed = np.unique(np.concatenate(every).astype(np.int64))
        frequency = np.zeros(len(run.vocab)) if background is None else background
        listed = listed[np.argsort(-frequency[listed], kind="stable")]
        self.number = np.full(len(run.vocab), -1, dtype=np.int64)
        self.number[listed] = np.arange(len(listed))
        self.n_listed = len(listed)
        nodes = node_part(tree, layout, words, [self.number[ids] for ids in words.ids])
        nodes |= label_columns(self.labels, layout)
        if any(map(len, branches.ids)):
            nodes["branch_words"] = [self.number[ids].tolist() for ids in branches.ids]
            nodes["branch_values"] = [shortened(values) for values in branches.values]
        nodes["telling"] = [self.number[ids].tolist() for ids in branches.telling]
        nodes["called"] = [self.number[ids].tolist() for ids in called]
        if any(parts):
            nodes["parts"] = [[self.number[ids].tolist() for ids in name] for name in parts]
        flat = bool((layout.parent == ROOT).all())
        box.put("schema", SCHEMA)
        box.put("program", f"hiertopics {__version__}")
        box.put("key", key_of(run, self.labels))
        box.put("run", named(run))
        box.put("title", self.request.title or corpus_name(str(run.experiment.data.corpus)))
        box.put("card", card_of(run))
        box.put(
            "tree",
            {
                "kind": "flat" if flat else "tree" if tree.arrangement is None else "arranged",
                "note": None if tree.arrangement is None else tree.arrangement.note,
                "values": words.kind,
                "paths": run.paths is not None and tree.arrangement is None,
                "others": None if tree.support is None else tree.support.n_others,
                "edits": _edits_of(run),
                "come_back": support_told(tree, hidden=hidden_nodes(tree, self.labels)) or None,
            },
        )
        box.put("words", [run.vocab[word] for word in listed.tolist()])
        if background is not None:
            box.put("word_shares", shortened(background[listed], 3))
        box.put("nodes", nodes)
        box.put("facts", facts_part(nodes, "rows" if words.kind == "loading" else "words"))
        if (agreement := agreement_part(run)) is not None:
            box.put("agreement", agreement)
        if (groups := self._groups(layout)) is not None:
            box.put("groups", groups)

    def put_documents(self, box: PackingBox) -> None:
        """Add as many parts of documents as there is space for, the most important first."""
        n_docs = len(self.placed.shares.home)
        every = np.arange(n_docs)
        plans: list[tuple[str, Callable[[], Any]]] = []
        for docs, most in ((every, ENTRIES[0]), (every, ENTRIES[1])):
            what = "" if most == ENTRIES[0] else f"documents show their {most} main topics"
            plans.append((what, partial(self._documents, docs, most)))
        for first in (MAIN, FEWER, 10, 2):
            what = f"only the {first} first documents of each topic are listed"
            plans.append((what, partial(self._documents, first, ENTRIES[1])))
        if self._put(box, "documents", plans, "documents are left out") is None:
            return
        self._put_columns(box)
        self._put_lead(box)
        self._put_comparison(box)
        if not self.request.text:
            self.left_out.append("words and texts of single documents are left out (--no-text)")
            return
        self._put_texts(box)
        self._put_contents(box)

    def _called(self, tree: Tree, layout: Layout) -> list[I64]:
        """Return the words that each topic is called by."""
        if not tree.has_words:
            return [np.empty(0, dtype=np.int64)] * len(layout.rows)
        return [self.ranked.top_words(row, N_CALLED) for row in layout.rows.tolist()]

    def _parts(self, layout: Layout) -> list[tuple[I64, ...]]:
        """Return the words of the parts of each name, none of names without parts."""
        return [self.ranked.parts.get(row, ()) for row in layout.rows.tolist()]

    def _part(self, run: RunDir, tree: Tree) -> Tree:
        """Return the part of a run's tree that the report shows."""
        if self.request.supported is not None and run is self.run:
            tree = supported_part(run, tree, self.request.supported)
        return tree if self.request.cut is None else in_levels(tree, parse_cut(self.request.cut))

    def _put(
        self,
        box: PackingBox,
        name: str,
        plans: Iterable[tuple[str, Callable[[], Any]]],
        nothing: str,
    ) -> str | None:
        """Add a part by the first plan that fits, and note the parts that are left out."""
        said = box.put_first(name, plans)
        if said != "":
            self.left_out.append(f"{said or nothing}: {self.limit}")
        return said

    def _documents(self, docs: I64 | int, most: int) -> dict[str, Any]:
        """Return the part ``documents`` of these documents, or of the first ones of each node."""
        shares = self.placed.shares
        chosen = self._first(docs) if isinstance(docs, int) else docs
        rows_of_chosen = shares if len(chosen) == len(shares.home) else shares.of(chosen)
        self.kept, self.entries = chosen, entries_of(rows_of_chosen, most)
        rest = rest_of(rows_of_chosen, self.entries, self.placed.layout)
        rows = self.run.split.train_docs[chosen]
        names = self.known.names
        part = {
            "total": len(shares.home),
            "row_steps": np.diff(rows, prepend=0).tolist(),
            "home": shares.home[chosen].tolist(),
            "n": self.entries.n.tolist(),
            "place": self.entries.place.tolist(),
            "share": self.entries.share.tolist(),
        }
        if len(rest.place):
            part["rest_n"] = rest.n.tolist()
            part["rest_place"] = rest.place.tolist()
            part["rest"] = rest.share.tolist()
        if names is not None:
            part["name"] = [names[doc] for doc in chosen.tolist()]
        lengths = self.run.split.train_lengths
        if lengths is not None and self.tree.vectors is None:
            part["tokens"] = lengths[chosen].tolist()
        return part

    def _put_columns(self, box: PackingBox) -> None:
        kept = {n: tags for n, tags in self.known.tags.items() if kind_of(tags) is not Kind.NAMES}
        tags = {**kept, **self.tags}
        if not tags:
            return
        part = partial(columns_part, tags, self._counted.home, self.placed.layout)
        plans = [
            ("", partial(part, self.kept)),
            ("metadata of single documents are left out", partial(part, self.kept[:0])),
        ]
        self._put(box, "columns", plans, "metadata are left out")

    @cached_property
    def _counted(self) -> Shares:
        """Shares of the documents that count somewhere: those with words."""
        lengths = None if self.tree.vectors is not None else self.run.split.train_lengths
        return self.placed.shares.of_words(lengths)

    def _put_lead(self, box: PackingBox) -> None:
        """Add the paragraph above the map."""
        tags = {**self.known.tags, **self.tags}
        tree, layout, _ = self.placed
        nouns = "words" if tree.vectors is None else "rows"
        known = LeadInput(tree, layout, self._counted, tags, box.parts["card"], nouns, self.labels)
        self._put(box, "lead", [("", partial(lead_part, known))], "the paragraph is left out")

    def _put_comparison(self, box: PackingBox) -> None:
        if self.other is None:
            return
        whole = _arranged(self.other)
        tree = self._part(self.other, whole)
        layout = lay_out(tree)
        shared = same_documents(self.run, self.other)
        shares = shares_of(self.other, tree, layout) if shared else None
        args = (self.run, *self.placed, self.other, tree, layout, shares)
        ranked = in_order(whole, self.other.vocab, self.request.words_by)
        part = partial(comparison_part, *args, ranked)
        plans = [
            ("", partial(part, self.kept)),
            ("moves of single documents are left out", partial(part, self.kept[:0])),
        ]
        self._put(box, "comparison", plans, "the comparison is left out")

    def _first(self, n_docs: int) -> I64:
        """Return the documents that are among the first ``n_docs`` of any node; they are cached."""
        if n_docs not in self._firsts:
            self._firsts[n_docs] = leading(self.placed.shares, n_docs)
        return self._firsts[n_docs]

    def _put_texts(self, box: PackingBox) -> None:
        """Add the beginnings of texts of all documents, or of the first ones."""
        if self.known.snippets is None:
            return
        plans: list[tuple[str, Callable[[], Any]]] = [("", partial(self._texts, None))]
        for first in (FEWER, 10):
            what = f"only the {first} first documents of each topic show how they begin"
            plans.append((what, partial(self._texts, first)))
        self._put(box, "texts", plans, "texts are left out")

    def _texts(self, first: int | None) -> list[str]:
        """Return the part ``texts``: how each document begins; empty for those left out."""
        snippets = self.known.snippets
        assert snippets is not None
        chosen = self.kept if first is None else self._first(first)
        shown = np.isin(self.kept, chosen)
        return [
            snippets[doc] if is_shown else ""
            for doc, is_shown in zip(self.kept, shown, strict=True)
        ]

    def _put_contents(self, box: PackingBox) -> None:
        """Add the words of documents: all words, fewer, or only those of the first documents."""
        if self.known.counts is None or self.tree.vectors is not None:
            return
        plans: list[tuple[str, Callable[[], Any]]] = [
            ("", partial(self._contents, None, MOST_WORDS)),
            (
                f"documents show their {SOME_WORDS} most frequent words",
                partial(self._contents, None, SOME_WORDS),
            ),
        ]
        for first in (FEWER, 10):
            what = f"only the {first} first documents of each topic show words, {SOME_WORDS} each"
            plans.append((what, partial(self._contents, first, SOME_WORDS)))
        self._put(box, "contents", plans, "words of documents are left out")

    def _contents(self, first: int | None, most: int) -> dict[str, Any]:
        """Return the part ``contents``: words by document, as differences of their numbers."""
        counts = self.known.counts
        assert counts is not None
        tree, layout, _ = self.placed
        rows = sparse.csr_array(counts[self.kept])
        docs = np.arange(len(self.kept))
        if first is not None:
            docs = np.flatnonzero(np.isin(self.kept, self._first(first)))
        found = contents_of(rows, self.entries, tree, layout, docs, most)
        used = np.unique(found.word)
        more = used[self.number[used] < 0]
        frequency = self.run.split.word_counts
        more = more[np.argsort(-frequency[more], kind="stable")]
        number = self.number.copy()
        number[more] = self.n_listed + np.arange(len(more))
        doc = np.repeat(np.arange(len(docs)), found.n)
        word = number[found.word]
        order = np.lexsort((word, doc))
        word = word[order]
        begins = ends_of(found.n)[:-1]
        steps = np.diff(word, prepend=0)
        starts = begins[found.n > 0]
        steps[starts] = word[starts]
        n_words = np.zeros(len(self.kept), dtype=np.int64)
        n_words[docs] = found.n
        return {
            "words": [self.run.vocab[word] for word in more.tolist()],
            "n": n_words.tolist(),
            "word_steps": steps.tolist(),
            "times": found.times[order].tolist(),
            "topic": found.topic[order].tolist(),
        }

    def _background(self) -> F64 | None:
        """Return the share of each word among the training tokens."""
        counts = self.run.split.word_counts
        if self.tree.vectors is not None or len(counts) != len(self.run.vocab) or not counts.sum():
            return None
        return np.asarray(counts / counts.sum())

    def _groups(self, layout: Layout) -> dict[str, Any] | None:
        """Return the part ``groups``: each group's main topics, and the groups most like it."""
        groups = groups_of(self.run.tree)
        if groups is None:
            return None
        at = _places_of_ids(self.tree, layout)
        by_size = groups.by_size
        n, place, share, similar = [], [], [], []
        for group in by_size.tolist():
            weight = groups.theta[group]
            main = np.argsort(-weight, kind="stable")[:N_GROUP_TOPICS]
            main = main[(at[main] >= 0) & (weight[main] >= 0.5 / 1000)]
            n.append(len(main))
            place += at[main].tolist()
            share += rounded(weight[main], 3)
            near = groups.most_similar(group, N_SIMILAR)
            similar.append([[groups.names[other], round(value, 3)] for other, value in near])
        return {
            "name": [groups.names[group] for group in by_size.tolist()],
            "n_docs": groups.n_docs[by_size].tolist(),
            "n": n,
            "place": place,
            "share": share,
            "similar": similar,
        }


def _edits_of(run: RunDir) -> list[str]:
    """Return the kinds of edits that ``hiertopics edit`` can make of a run."""
    backend = registry.load_for(run.experiment)
    if backend.merge_extra is None:
        return []
    return [MERGE, MOVE, SPLIT] if backend.refit_on_tree is not None else [MERGE, MOVE]


def _arranged(run: RunDir) -> Tree:
    """Return a run's tree, flat topics arranged where that can be done."""
    tree = run.supported_tree
    lengths = run.split.train_lengths
    if not tree.is_flat or len(tree.shown) < 3 or lengths is None or tree.vectors is not None:
        return tree
    return arranged(run)


def _places_of_ids(tree: Tree, layout: Layout) -> I64:
    """Return the place of each of the run's own nodes, -1 where it is not shown."""
    names = [tree.id_of(row) for row in layout.rows.tolist()]
    own = [(name, place) for place, name in enumerate(names) if isinstance(name, int)]
    at = np.full(max((name for name, _ in own), default=-1) + 2, -1, dtype=np.int64)
    for name, place in own:
        at[name] = place
    return at
