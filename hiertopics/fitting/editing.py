"""``edit``: a run whose tree was changed as edits.yaml says, and edits carried to another run.

Where no node is split, nothing is fitted. Nodes that become one are put together as by ``merge``. A
node that is moved takes all below it along, topics and documents' shares of them. Where documents
take one path, what they have of the nodes above it goes along, too, from each level to the same
level of the new path.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, Ints
from hiertopics.base.errors import DataError, RunError, UsageError
from hiertopics.base.visible import visible
from hiertopics.contract.model import Paths, Summary
from hiertopics.corpus.data.matching import LABEL_WORDS, OVERLAP, SHARED_WORDS, marks_of
from hiertopics.corpus.data.regrouping import joined, moved
from hiertopics.corpus.data.tree import ROOT, by_branch
from hiertopics.corpus.formats.trust import trusts
from hiertopics.fitting.reshaping import ReshapedRun, Reshaping, after, fitted, ready, written
from hiertopics.fitting.splitting import require_splittable, split
from hiertopics.runs.edits import (
    EDITS,
    MERGE,
    MOVE,
    SPLIT,
    Edit,
    as_line,
    edits_of,
    named,
    read_edits,
    require_fitting,
    write_edits,
)
from hiertopics.runs.rundir import RunDir


@trusts
def edit(
    run: Path | str | RunDir,
    output: Path | str,
    *,
    edits: Path | str | None = None,
    workers: int = 1,
    argv: Sequence[str] = (),
    trust_tokenizer: bool = False,
) -> ReshapedRun:
    """Write a run with the tree of another run after edits; return it.

    edits: a file as ``runs.edits`` describes it; None: edits.yaml of the run. All its nodes are
    those of ``run``. Nodes are moved first, in the order of the file; then nodes are merged, and
    those that lie elsewhere go below the parent of the first one before. Last, leaves are split,
    and all topics are fitted anew to the corpus of the run (``fitting.splitting``). workers:
    threads of that fit. argv: for the manifest.

    Raises UsageError, DataError or ConfigError for edits that cannot be made, RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target, began = ready(run, output), time.perf_counter()
    path = target.file(EDITS) if edits is None else Path(edits)
    if edits is None and not path.exists():
        what = f"{target.path} has no {EDITS}; write one, or name it with --edits"
        raise UsageError(what + _example(target))
    found = read_edits(path)
    if not found:
        raise UsageError(f"{path}: there is no edit in it")
    found = require_fitting(target, found, path)
    _refuse_twice(found, path)
    state = _State(fitted(target), {node: node for node in target.tree.shown.tolist()})
    in_order = sorted(found, key=lambda one: (MOVE, MERGE, SPLIT).index(one.kind))
    splits = [one for one in in_order if one.kind == SPLIT]
    for one in in_order[: len(in_order) - len(splits)]:
        try:
            state = (_moved if one.kind == MOVE else _merged)(target, state, one)
        except UsageError as error:
            raise DataError(path, str(error), one.line) from error
    if splits:
        state = _split(target, state, splits, path, workers)
    made_by = f"edit {', '.join(map(str, in_order))}"
    change = Reshaping(state.summary, state.numbers, made_by, began)
    return written(target, change, Path(output), argv)


def _example(run: RunDir) -> str:
    """Return a line of the file with nodes of the run, as the end of a message."""
    below = [run.tree.children(node) for node in (ROOT, *run.tree.shown.tolist())]
    pair = next((nodes[:2].tolist() for nodes in below if len(nodes) > 1), None)
    return "" if pair is None else f"; such as the line {as_line(MERGE, run, pair)}"


class _State(NamedTuple):
    """A tree on its way. numbers: what each node of the run is now."""

    summary: Summary
    numbers: dict[int, int]

    def of(self, number: int) -> str:
        """Return the number in the run of a node now."""
        return str(next(old for old, new in self.numbers.items() if new == number))


def _refuse_twice(edits: Sequence[Edit], path: Path) -> None:
    """Raise DataError where a node is moved or merged twice."""
    seen: dict[tuple[str, int], int] = {}
    for one in edits:
        for node in one.nodes if one.kind == MERGE else one.nodes[:1]:
            if (one.kind, node.number) in seen:
                first = seen[one.kind, node.number]
                again = "twice here" if first == one.line else f"on line {first} already"
                what = {MERGE: "merged", MOVE: "moved", SPLIT: "split"}[one.kind]
                raise DataError(path, f"node {node.number} is {what} {again}", one.line)
            seen[one.kind, node.number] = one.line


def _moved(run: RunDir, state: _State, one: Edit) -> _State:
    node, below = (state.numbers[entry.number] for entry in one.nodes)
    return _below(run, state, node, below, one)


def _below(run: RunDir, state: _State, node: int, below: int, one: Edit) -> _State:
    """Return the tree with a node below another one."""
    tree = state.summary.tree
    if tree.is_flat:
        raise UsageError(f"{one}: these topics are flat, and only nodes of a tree can be moved")
    if flaw := _flaw(state, node, below):
        raise UsageError(f"{one}: {flaw}")
    grouping = moved(tree, node, below)
    before = state.summary
    if before.paths is not None:
        if tree.depth[node] != tree.depth[below] + 1:
            levels = f"{int(tree.depth[node])} to {int(tree.depth[below]) + 1}"
            raise UsageError(
                f"{one}: the depth would go from {levels}, and documents of this backend have "
                "one topic on each level of their path"
            )
        before = _taken_along(run, before, before.paths, node, below)
    found = after(run, before, grouping)
    numbers = {old: int(grouping.into[new]) for old, new in state.numbers.items()}
    return _State(found, numbers)


def _flaw(state: _State, node: int, below: int) -> str:
    """Return why a node cannot be moved, with the numbers of the run, or an empty text."""
    tree = state.summary.tree
    if node == below:
        return "a node cannot lie below itself"
    if tree.parent[node] == ROOT:
        return f"{state.of(node)} lies at the top, and only what lies below a node can be moved"
    if node in tree.path(below):
        return f"{state.of(below)} lies below {state.of(node)}"
    if tree.parent[node] == below:
        return f"{state.of(node)} lies below {state.of(below)} already"
    return ""


def _merged(run: RunDir, state: _State, one: Edit) -> _State:
    """Return the tree with nodes as one, where the first of them lies."""
    first, *others = (entry.number for entry in one.nodes)
    for number in others:
        tree, numbers = state.summary.tree, state.numbers
        pair = {first: numbers[first], number: numbers[number]}
        for lower, upper in ((first, number), (number, first)):
            if pair[upper] in tree.path(pair[lower]):
                raise UsageError(
                    f"{one}: {lower} lies below {upper}, and a node cannot be merged with what "
                    "lies above it"
                )
        above = int(tree.parent[pair[first]])
        if tree.parent[pair[number]] != above:
            state = _below(run, state, pair[number], above, one)
    grouping = joined(state.summary.tree, [state.numbers[number] for number in (first, *others)])
    numbers = {old: int(grouping.into[new]) for old, new in state.numbers.items()}
    return _State(after(run, state.summary, grouping), numbers)


def _split(run: RunDir, state: _State, splits: Sequence[Edit], path: Path, workers: int) -> _State:
    """Return the tree with leaves split, its topics fitted anew."""
    tree, parts = state.summary.tree, dict[int, Edit]()
    for one in splits:
        node = state.numbers[one.nodes[0].number]
        try:
            require_splittable(run)
            if len(tree.children(node)):
                raise UsageError(f"{one}: nodes lie below it, and only a leaf can be split")
            if node in parts:
                raise UsageError(f"{one}: it was merged with a node that is split")
        except UsageError as error:
            raise DataError(path, str(error), one.line) from error
        parts[node] = one
    try:
        summary, numbers = split(run, state.summary, parts, workers)
    except UsageError as error:
        raise DataError(path, str(error)) from error
    found = {old: numbers[new] for old, new in state.numbers.items() if new in numbers}
    return _State(summary, found)


def _taken_along(run: RunDir, before: Summary, paths: Paths, node: int, below: int) -> Summary:
    """Return what documents have of the levels above a node at those above its new place.

    Of a document's share of a level, the part goes along that paths through the node have among
    those through the level's node: its share at and below the node, of that of all siblings. So it
    is exact where a document's levels weigh the same on all its paths, or it takes a single one.
    Tokens that go along have the words of the node that they leave.
    """
    tree, theta = before.tree, sparse.csc_array(before.theta)
    depth, old, new = int(tree.depth[node]), tree.path(node), tree.path(below)
    lengths = run.split.train_lengths
    if lengths is None:
        raise RunError(
            f"{run.path / 'split.npz'} has no train_lengths, which tokens are counted by; fit the "
            "run again in another directory"
        )
    share = sparse.csc_array(theta @ tree.above)
    takes = (paths.node == node).any(axis=1)
    part = np.ones(theta.shape[0])
    phi, n_tokens, weight = tree.phi.copy(), tree.n_tokens.copy(), tree.weight.copy()
    dense: dict[int, F64] = {}
    for level in range(depth - 1, 0, -1):
        leaves, enters = old[level], new[level]
        if leaves == enters:
            break
        siblings = tree.shown[tree.parent[tree.shown] == leaves]
        whole = np.asarray(share[:, siblings].sum(axis=1)).ravel()
        own = _column(share, old[level + 1])
        part = part * np.where(whole > 0, own / np.where(whole > 0, whole, 1.0), takes)
        had = _column(theta, leaves)
        goes = part * had
        dense[leaves] = had - goes
        dense[enters] = dense.get(enters, _column(theta, enters)) + goes
        amount = float(lengths @ had)
        ratio = float(lengths @ goes) / amount if amount > 0 else 0.0
        tokens = ratio * n_tokens[leaves]
        if n_tokens[enters] + tokens > 0:
            mixed = n_tokens[enters] * phi[enters] + tokens * phi[leaves]
            phi[enters] = mixed / mixed.sum()
        for amounts in (n_tokens, weight):
            gone = ratio * amounts[leaves]
            amounts[leaves] -= gone
            amounts[enters] += gone
    changed = replace(tree, phi=phi, n_tokens=n_tokens, weight=weight)
    led = paths.node.copy()
    led[np.ix_(np.flatnonzero(takes), np.arange(depth))] = new
    return Summary(changed, _with_columns(theta, dense), Paths(led, paths.log_prob))


def _column(matrix: sparse.csc_array, column: int) -> F64:
    return np.asarray(matrix[:, [column]].toarray()).ravel()


def _with_columns(theta: sparse.csc_array, columns: dict[int, F64]) -> sparse.csr_array:
    """Return theta with other columns in place of some."""
    if not columns:
        return sparse.csr_array(theta)
    kept = np.ones(theta.shape[1])
    kept[list(columns)] = 0.0
    places = np.array(list(columns), dtype=np.int64)
    values = sparse.csr_array(np.column_stack([columns[place] for place in columns]))
    cells = (np.ones(len(places)), (np.arange(len(places)), places))
    into = sparse.csr_array(cells, shape=(len(places), theta.shape[1]))
    found = sparse.csr_array(theta @ sparse.diags_array(kept) + values @ into)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def edits_to_carry(run: RunDir) -> list[Edit]:
    """Return the edits of a run that a run made of it may take over; none where there are none.

    Raises DataError for edits that cannot be read or are not of this run, RunError for a link.
    """
    edits = edits_of(run)
    return require_fitting(run, edits, run.file(EDITS)) if edits else edits


def carry_edits(
    edits: Sequence[Edit],
    run: RunDir,
    made: RunDir,
    rows: Ints,
    docs: Ints,
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr),
) -> None:
    """Write those edits of a run that apply to a run made of it, with the new run's nodes.

    edits: as of ``edits_to_carry``. rows, docs: int [n_both], training documents that both have, by
    their places in the theta of ``run`` and of ``made``. A node is found again where a node shares
    five of its branch's ten words and half of its documents (Jaccard), the one that shares most of
    them; one that another node fits better is not. say: is told which edits fit, and of the others
    why not. Nothing is written where ``made`` has edits already.
    """
    if not edits or made.file(EDITS).exists():
        return
    found = _found_again(run, made, rows, docs)
    kept: list[Edit] = []
    for one in edits:
        places = [found.get(node.number) for node in one.nodes]
        if None in places:
            lost = one.nodes[places.index(None)]
            say(f"note: {one} ({EDITS}, line {one.line}) has no meaning in {made.path}: "
                f"no node has the words and documents of {visible(str(lost))}")  # fmt: skip
            continue
        now = tuple(named(made.tree, made.vocab, place) for place in places if place is not None)
        kept.append(Edit(one.kind, now, into=one.into))
    if kept:
        with made.locked():
            write_edits(made, kept)
        told = "1 edit" if len(kept) == 1 else f"{len(kept)} edits"
        say(f"note: {told} of {run.path} stand in {made.file(EDITS)}; hiertopics edit makes the "
            "run with them")  # fmt: skip


def _found_again(run: RunDir, made: RunDir, rows: Ints, docs: Ints) -> dict[int, int]:
    """Return which node of a run is which one of another, one to one."""
    old, new = _branch_words(run), _branch_words(made)
    nodes, others = list(old), list(new)
    shared = np.array([[len(old[a] & new[b]) for b in others] for a in nodes])
    both = [
        marks_of(one.tree, one.theta[at].toarray()).docs[ids]
        for one, at, ids in ((run, rows, nodes), (made, docs, others))
    ]
    together = both[0].astype(np.float64) @ both[1].T.astype(np.float64)
    sizes = both[0].sum(axis=1)[:, None] + both[1].sum(axis=1)
    overlap = together / np.maximum(sizes - together, 1.0)
    fits = (shared >= SHARED_WORDS) & (overlap >= OVERLAP)
    from scipy.optimize import linear_sum_assignment  # slow to import

    mine, theirs = linear_sum_assignment(-np.where(fits, 1.0 + overlap + shared, 0.0))
    return {
        nodes[a]: others[b]
        for a, b in zip(mine.tolist(), theirs.tolist(), strict=True)
        if fits[a, b]
    }


def _branch_words(run: RunDir) -> dict[int, frozenset[str]]:
    """Return the first words of each node's branch."""
    branches = by_branch(run.tree)
    return {
        node: frozenset(run.vocab[word] for word in branches.top_words(node, LABEL_WORDS))
        for node in run.tree.shown.tolist()
    }
