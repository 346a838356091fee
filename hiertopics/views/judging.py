"""``judge``: questions on the nodes of a run that people answer without knowing the model.

Word intrusion is that of J. Chang et al., Reading tea leaves: how humans interpret topic models
(2009): five of a node's most probable words, and one that is improbable there and probable at
another node. A question on a document is made like the fit step of A. Hoyle et al., ProxAnn:
use-oriented evaluations of topic models and document clustering (2025): examples of a node's
documents, and another document that is graded from 1 to 5; here half of these have none of the
node, so that a guess is right in half of all answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64
from hiertopics.base.errors import UsageError
from hiertopics.base.seeds import derive
from hiertopics.base.visible import steady
from hiertopics.corpus.data.naming import in_order, names_of
from hiertopics.corpus.data.tree import FEW_TOKENS, ROOT, Label, Tree, by_branch
from hiertopics.corpus.formats.judgements import (
    N_CHOICES,
    N_EXAMPLES,
    Question,
    key_of,
    write_sheet,
)
from hiertopics.runs.labels import labels_of
from hiertopics.runs.nodenames import node_meant
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.levels import in_levels, levels_shown, parse_cut
from hiertopics.views.render import View

N_OWN = N_CHOICES - 1
"""Words of the node in a question for an intruder."""

AMONG = 10
"""Best words of the other nodes among which intruders are looked for."""

MEMBER, STRANGER = 0.2, 0.02
"""A document belongs to a node from the one share on, and does not below the other one."""

N_TOPIC_WORDS = 10
MOST_NAMED = 5
"""Nodes that a note names."""


class TooFewWords(UsageError):
    """A node has too few words for the questions that were asked for."""


def judge(
    run: Path | str | RunDir,
    output: Path | str,
    *,
    nodes: Sequence[int | str] | None = None,
    depth: int | None = None,
    cut: str | None = None,
    most: int = 20,
    intruders: int = 2,
    documents: int = 4,
    words_by: str = "prob",
    seed: int = 0,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
) -> dict[str, Any]:
    """Write a sheet of questions on nodes of a run, and its key beside it (``sheet.key.csv``).

    nodes: which ones; None: at most ``most`` nodes, drawn by ``seed`` from those that views show,
    without a single root. depth, cut: as of ``show_tree``. intruders: questions of each node with
    an intruder among its words; documents: with a document that belongs to it or not, an even
    number. words_by: the order whose first words are the node's. say: is told what was left out.

    Questions with words come first, then those with documents, each in an order drawn by the seed.
    Only a sheet without intruders shows words beside documents: they would tell the intruders.

    Returns sheet, key, nodes and questions (how many of each kind). Raises UsageError.
    """
    target, path = opened(run), Path(output)
    _require(target.tree, intruders, documents, most)
    asker = _Asker.of(target, intruders, documents, words_by, seed)
    named = nodes is not None
    chosen = _chosen(target, nodes, depth, cut, seed)
    questions, skipped, alone = list[Question](), list[int](), list[int]()
    kept, flaw = list[int](), ""
    for node in chosen:
        if len(kept) == most and not named:
            break
        try:
            own = asker.with_intruders(node)
        except TooFewWords as error:
            if named:
                raise
            skipped.append(node)
            flaw = str(error)
            continue
        told = asker.with_documents(node)
        if documents and asker.texts is not None and not told:
            alone.append(node)
        if own or told:
            kept.append(node)
        questions += [*own, *told]
    notes = list(_notes(asker, documents, skipped, alone))
    if not questions:
        why = "".join(f"; {note}" for note in notes[:1])
        raise UsageError(flaw or f"{target.path} has no node that questions can be made of{why}")
    for note in notes:
        say(f"note: {note}")
    order = derive(seed, "judge order").permutation(len(questions))
    shuffled = [questions[place] for place in order]
    write_sheet(path, sorted(shuffled, key=lambda question: question.kind != "intruder"))
    counts = {kind: sum(one.kind == kind for one in questions) for kind in ("intruder", "fit")}
    return {"sheet": str(path), "key": str(key_of(path)), "nodes": len(kept), **counts}


def _require(tree: Tree, intruders: int, documents: int, most: int) -> None:
    if tree.vectors is not None:
        raise UsageError("judge is for topics of words; this run is of vectors")
    if min(intruders, documents, most - 1) < 0 or not intruders + documents:
        raise UsageError("ask for one question or more of one node or more")
    if documents % 2:
        told = f"half of the questions with documents have one that belongs: {documents} is odd"
        raise UsageError(told)


def _chosen(
    run: RunDir, nodes: Sequence[int | str] | None, depth: int | None, cut: str | None, seed: int
) -> list[int]:
    """Return the nodes that were named; else all that views show, in an order drawn by the seed."""
    if nodes is not None:
        if depth is not None or cut is not None:
            raise UsageError("--nodes excludes --depth and --cut")
        return [int(node_meant(run, node)) for node in dict.fromkeys(nodes)]
    tree = run.tree
    if cut is not None:
        tree = in_levels(tree, parse_cut(cut))
        depth = levels_shown(tree, depth)
    shown = list(View(depth=depth, labels=labels_of(run)).nodes(tree))
    roots = tree.children(ROOT).tolist()
    if len(roots) == 1:
        shown = [node for node in shown if node != roots[0]]
    return [shown[place] for place in derive(seed, "judge nodes").permutation(len(shown))]


class _Asker(NamedTuple):
    """The data from which questions on a run's nodes are made.

    ranked: the tree, its words in the order that is asked for. branches: float64 [n_nodes,
    n_words], p(w | branch); tokens: [n_nodes], at and below each node. texts: of training
    documents, None without any.
    """

    ranked: Tree
    branches: F64
    tokens: F64
    theta: sparse.csr_array
    vocab: Sequence[str]
    called: Sequence[str]
    texts: Sequence[str] | None
    docs: I64
    only_names: bool
    intruders: int
    documents: int
    seed: int

    @classmethod
    def of(cls, run: RunDir, intruders: int, documents: int, words_by: str, seed: int) -> _Asker:
        """Read these data from a run."""
        tree, kept, labels = run.tree, run.documents, labels_of(run, quiet=True)
        texts = None if kept is None else kept.snippets if kept.snippets else kept.names
        auto = names_of(tree, run.vocab).texts
        return cls(
            in_order(tree, run.vocab, words_by),
            by_branch(tree).phi,
            tree.below(tree.n_tokens),
            run.theta,
            run.vocab,
            [labels.get(node, Label()).name or auto[node] for node in range(tree.n_nodes)],
            texts,
            run.split.train_docs,
            kept is not None and not kept.snippets,
            intruders,
            documents,
            seed,
        )

    def with_intruders(self, node: int) -> list[Question]:
        """Return the questions with an intruder among words; raises TooFewWords."""
        if not self.intruders:
            return []
        rng = derive(self.seed, "judge words", node)
        own = self.words(node, N_OWN * self.intruders)
        others = self.strangers(node, own)
        if len(own) < N_OWN * self.intruders or len(others) < self.intruders:
            what, n = ("words of its own", len(own)), N_OWN * self.intruders
            if len(own) == n:
                what, n = ("words elsewhere that could intrude", len(others)), self.intruders
            raise TooFewWords(
                f"node {node} has too few words: {what[1]} {what[0]}, and --intruders "
                f"{self.intruders} takes {n}"
            )
        dealt = rng.permutation(own).reshape(self.intruders, N_OWN)
        drawn = rng.choice(others, size=self.intruders, replace=False)
        return [self._question(rng, node, *pair) for pair in zip(dealt, drawn, strict=True)]

    def _question(self, rng: np.random.Generator, node: int, own: I64, intruder: int) -> Question:
        order = rng.permutation(N_CHOICES)
        words = np.append(own, intruder)[order]
        choices = tuple(steady(self.vocab[word]) for word in words.tolist())
        truth = 1 + int(np.flatnonzero(order == N_OWN)[0])
        return Question("intruder", str(node), self.called[node], truth, choices)

    def words(self, node: int, n_words: int) -> I64:
        """Return the first words of a node, but for those that smoothing alone put there."""
        best = self.ranked.top_words(node, n_words)
        return np.asarray(best[self.branches[node, best] * self.tokens[node] >= FEW_TOKENS])

    def strangers(self, node: int, own: I64) -> I64:
        """Return words that are among the best ones elsewhere and improbable in a node's branch.

        Elsewhere: neither above nor below the node. Of all these words the half that is less
        probable in the branch.
        """
        tree = self.ranked
        line = {*tree.path(node)}
        found: set[int] = set()
        for other in tree.shown.tolist():
            if other not in line and node not in tree.path(other):
                found.update(self.words(other, AMONG).tolist())
        words = np.array(sorted(found - {*own.tolist()}), dtype=np.int64)
        order = np.argsort(self.branches[node, words], kind="stable")
        return words[order[: (len(words) + 1) // 2]]

    def with_documents(self, node: int) -> list[Question]:
        """Return the questions with documents; none where the node has too few."""
        if not self.documents or self.texts is None:
            return []
        rng, half = derive(self.seed, "judge documents", node), self.documents // 2
        above = self.ranked.above[:, [node]].toarray().ravel()
        shares = np.asarray(self.theta @ above)
        inside, outside = self._told_apart(shares)
        examples, inside = inside[:N_EXAMPLES], inside[N_EXAMPLES:]
        if len(inside) < half or len(outside) < half:
            return []
        drawn = [rng.choice(docs, size=half, replace=False) for docs in (inside, outside)]
        topic = ""
        if not self.intruders:
            words = self.words(node, N_TOPIC_WORDS).tolist()
            topic = " ".join(steady(self.vocab[word]) for word in words)
        texts = {
            doc: steady(self.texts[doc]) for doc in np.concatenate([examples, *drawn]).tolist()
        }
        return [
            Question(
                "fit",
                str(node),
                self.called[node],
                truth,
                topic=topic,
                examples=tuple(texts[one] for one in examples.tolist()),
                document=texts[doc],
                share=float(min(shares[doc], 1.0)),
                doc=int(self.docs[doc]) + 1,
            )
            for truth, docs in zip((1, 0), drawn, strict=True)
            for doc in docs.tolist()
        ]

    def _told_apart(self, shares: F64) -> tuple[I64, I64]:
        """Return the documents that belong, best first, and those that do not; no text twice."""
        assert self.texts is not None
        order = np.argsort(-shares.round(9), kind="stable").tolist()
        seen: dict[str, int] = {}
        for doc in order:
            text = self.texts[doc].strip()
            if text:
                seen.setdefault(text, doc)
        docs = np.array(list(seen.values()), dtype=np.int64)
        return docs[shares[docs] >= MEMBER], docs[shares[docs] < STRANGER]


def _notes(
    asker: _Asker, documents: int, skipped: Sequence[int], alone: Sequence[int]
) -> Iterator[str]:
    """Yield notes on nodes and questions that were left out."""
    if documents and asker.texts is None:
        yield "the run keeps neither texts nor names of documents: none are asked for"
    elif documents and asker.only_names:
        yield "the run keeps no texts of documents: their names stand in the sheet"
    if skipped:
        verb = "is" if len(skipped) == 1 else "are"
        yield f"{_nodes(skipped)} too few words and {verb} left out"
    if alone:
        yield (
            f"{_nodes(alone)} too few documents (of a share of {MEMBER:g} or more): no questions "
            "with documents"
        )


def _nodes(nodes: Sequence[int]) -> str:
    told = ", ".join(map(str, nodes[:MOST_NAMED])) + ", ..." * (len(nodes) > MOST_NAMED)
    return f"node {told} has" if len(nodes) == 1 else f"{len(nodes)} nodes ({told}) have"
