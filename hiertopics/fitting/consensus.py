"""``consensus``: the tree of the branches that come back in several fits of the same corpus."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hiertopics.base.arrays import F64
from hiertopics.base.errors import UsageError
from hiertopics.base.made import all_entries
from hiertopics.contract import Context, Settings, Summary, Workers, registry
from hiertopics.corpus.data import NODE, ROOT, Bins, Tree
from hiertopics.corpus.data.matching import Marks, marks_of, partners, supported_by
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs import artifacts, soundness
from hiertopics.runs.manifest import FILES
from hiertopics.runs.meant import another_output
from hiertopics.runs.origin import Origin, lineage, peak_memory, refuse_unlike
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir, opened

Member = tuple[int, int]
"""A node of one of the trees: number of the tree, number of the node."""


class Fit(NamedTuple):
    """A tree, theta of the training documents [n_docs, n_nodes], and the marks of its nodes."""

    tree: Tree
    theta: F64
    marks: Marks

    @staticmethod
    def of(run: RunDir) -> Fit:
        """Return the fit of a run."""
        theta = run.theta.toarray()
        return Fit(run.tree, theta, marks_of(run.tree, theta))


class ConsensusNode(NamedTuple):
    """A node of the consensus. members: the nodes it stands for; parent: number of one before."""

    members: list[Member]
    parent: int


@trusts
def consensus(
    runs: Sequence[Path | str | RunDir],
    output: Path | str,
    *,
    workers: int = 1,
    quiet: bool = True,
    argv: Sequence[str] = (),
    trust_tokenizer: bool = False,
) -> RunDir:
    """Write the run of the branches that most of ``runs`` have; return it.

    A branch is a node with its partners in the other runs (``agree``), and is kept where more than
    half of the runs have it; its parent is what most of them say. Leaves of the first run that have
    no partners hang below the next node above them that is kept. Topics begin as the mean of those
    they stand for, weighted by tokens, and are fitted anew to the same documents, the shape held.
    The order of the runs after the first changes nothing.

    The support of a node in tree.json is the number of runs that have it, the first among them.
    Raises UsageError where backends, corpora or splits differ, where the backend cannot hold a
    shape, or where ``output`` is a run already; DataError where the corpus is gone.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    began = time.perf_counter()
    parents, target = [opened(run) for run in runs], RunDir(output)
    refuse_unlike(parents, "consensus")
    first = parents[0]
    backend = registry.load_for(first.experiment)
    if backend.refit_on_tree is None:
        able = ", ".join(registry.which(lambda backend: backend.refit_on_tree is not None))
        name = first.manifest["backend"]
        raise UsageError(f"consensus is for {able}: {name} cannot hold the shape of a tree")
    twice = [path for path, n in Counter(run.path.resolve() for run in parents).items() if n > 1]
    if twice:
        raise UsageError(f"{twice[0]} is given twice; what one run has would count double")
    if target.exists:
        raise UsageError(f"{target.path} is a run already; {another_output(target.path)}")
    original = read_original(first)
    others = sorted(parents[1:], key=lambda run: run.seals(["model.npz"])["model.npz"])
    fits = [Fit.of(run) for run in (first, *others)]
    tree, theta = joined(fits, [name for name in backend.extra if name in first.tree.extra])
    settings = Settings(first.experiment.model, first.experiment.inference)
    with Workers(workers) as pool:
        context = Context(first.experiment.seed, 0, pool)
        summary = backend.refit_on_tree(tree, all_entries(theta), original.train, settings, context)
    summary = _with_support(with_bins(summary, first), fits)
    origin = Origin(
        first.experiment,
        original.whole,
        original.train,
        first.split.hash,
        tuple(argv),
        lineage(parents, "consensus"),
    )
    with target.made():
        seals = artifacts.write_inputs(target, first.experiment, original.train, first.split)
        words = original.train.vocab
        seals |= artifacts.write_summary(target, summary, words, first.experiment)
        target.write_manifest(
            {
                **origin.described(),
                "status": "done",
                "iterations": 0,
                "objective": None,
                "objective_name": backend.objective_name,
                "wall_seconds": time.perf_counter() - began,
                "peak_memory_bytes": peak_memory(),
                FILES: seals,
            }
        )
        _tell(target, summary, quiet)
    return target


def with_bins(summary: Summary, run: RunDir) -> Summary:
    """Return the summary with the bins of a dense table, which belong to the model."""
    if run.experiment.data.discretise is None:
        return summary
    bins = Bins.from_arrays(run.tree.extra).to_arrays()
    return replace(summary, tree=replace(summary.tree, extra={**summary.tree.extra, **bins}))


def _with_support(summary: Summary, fits: Sequence[Fit]) -> Summary:
    """Return the summary whose nodes know how many of the trees have them."""
    own = marks_of(summary.tree, summary.theta.toarray())
    support = supported_by(own, [fit.marks for fit in fits])
    return replace(summary, tree=replace(summary.tree, support=support))


def _tell(run: RunDir, summary: Summary, quiet: bool) -> None:
    support = summary.tree.support
    assert support is not None
    below = summary.tree.parent != ROOT
    back = int((support.found[below] * 2 > support.n_others).sum())
    told = [f"{back} of {int(below.sum())} nodes below the root are in most of the runs"]
    if not back:
        told.append("note: no branch is in most of the runs; all leaves are the first run's")
    told += [f"note: {note}" for note in (*summary.notes, *soundness.notes(summary))]
    for line in told:
        run.log(line)
        if not quiet:
            print(line, file=sys.stderr)


def joined(fits: Sequence[Fit], names: Sequence[str] = ()) -> tuple[Tree, F64]:
    """Return the tree of most fits, with the first fit's leaves below it, and its theta.

    theta: float64 [n_docs, n_nodes].
    Of the tree only parent, phi, tokens and these arrays of ``extra``, a row for each node, mean
    something; nodes stand breadth first.
    """
    nodes = breadth_first(with_leaves(kept_nodes(fits), fits[0]))
    phi = np.empty((len(nodes), fits[0].tree.n_columns))
    n_tokens, theta = np.empty(len(nodes)), np.empty((len(fits[0].theta), len(nodes)))
    for node, (members, _) in enumerate(nodes):
        tokens = np.array([fits[one].tree.n_tokens[which] for one, which in members])
        shares = (
            tokens / tokens.sum() if tokens.sum() > 0 else np.full(len(tokens), 1 / len(tokens))
        )
        phi[node] = sum(
            share * fits[one].tree.phi[which]
            for share, (one, which) in zip(shares, members, strict=True)
        )
        n_tokens[node] = tokens.mean()
        theta[:, node] = np.mean([fits[one].theta[:, which] for one, which in members], axis=0)
    zeros = np.zeros(len(nodes))
    tree = Tree(
        phi=phi / phi.sum(axis=1, keepdims=True),
        parent=np.array([node.parent for node in nodes], np.int32),
        kind=np.full(len(nodes), NODE, np.int8),
        weight=n_tokens / n_tokens.sum() if n_tokens.sum() > 0 else zeros,
        n_docs=zeros.astype(np.int64),
        n_tokens=n_tokens,
        extra={name: _means(fits, nodes, name) for name in names},
    )
    return tree, theta / theta.sum(axis=1, keepdims=True)


def _means(fits: Sequence[Fit], nodes: Sequence[ConsensusNode], name: str) -> F64:
    """Return rows of ``extra``: means, by tokens, over what each node stands for.

    Of an inner node those with children alone count; where there are none, the roots.
    """
    inner = {node.parent for node in nodes}
    rows = []
    for number, node in enumerate(nodes):
        members = node.members
        if number in inner:
            members = [at for at in members if at[1] in fits[at[0]].tree.parent]
        members = members or nodes[0].members
        tokens = np.array([fits[one].tree.n_tokens[which] for one, which in members])
        own = np.array([fits[one].tree.extra[name][which] for one, which in members])
        weights = tokens if tokens.sum() > 0 else np.ones(len(tokens))
        rows.append(np.average(own, axis=0, weights=weights))
    return np.array(rows)


def kept_nodes(fits: Sequence[Fit]) -> list[ConsensusNode]:
    """Return the root and the nodes that more than half of the fits have, parents first."""
    groups = [group for group in _groups(fits) if 2 * len(group) > len(fits)]
    groups.sort(key=lambda group: (_depth(fits, group[0]), group))
    groups.insert(0, [(one, 0) for one in range(len(fits))])
    place = {member: number for number, group in enumerate(groups) for member in group}
    nodes = [ConsensusNode(groups[0], ROOT)]
    for group in groups[1:]:
        votes = Counter(_above(fits[one].tree, one, node, place) for one, node in group)
        # Of equally many votes the deepest one, then the first, whatever the order of runs.
        parent = min(votes, key=lambda up: (-votes[up], -_depth(fits, groups[up][0]), up))
        nodes.append(ConsensusNode(group, parent))
    return nodes


def _groups(fits: Sequence[Fit]) -> list[list[Member]]:
    """Return nodes that are partners, at most one of each fit; the surest pairs come first."""
    edges: list[tuple[float, Member, Member]] = []
    for one, other in combinations(range(len(fits)), 2):
        pairs = partners(fits[one].marks, fits[other].marks)
        edges += [
            (-overlap, (one, mine), (other, theirs))
            for mine, theirs, overlap in zip(*(part.tolist() for part in pairs), strict=True)
        ]
    group: dict[Member, list[Member]] = {}
    for _, mine, theirs in sorted(edges):
        left, right = group.get(mine, [mine]), group.get(theirs, [theirs])
        if left is right or {one for one, _ in left} & {one for one, _ in right}:
            continue
        both = sorted([*left, *right])
        group |= dict.fromkeys(both, both)
    return list({id(members): members for members in group.values()}.values())


def _depth(fits: Sequence[Fit], member: Member) -> int:
    return int(fits[member[0]].tree.depth[member[1]])


def _above(tree: Tree, one: int, node: int, place: dict[Member, int]) -> int:
    """Return the number of the next node above one that is kept; that of the root is 0."""
    up = int(tree.parent[node])
    while up > 0:
        if (one, up) in place:
            return place[one, up]
        up = int(tree.parent[up])
    return 0


def with_leaves(nodes: list[ConsensusNode], first: Fit) -> list[ConsensusNode]:
    """Return the nodes with the first fit's other leaves below the next ones above them."""
    place = {member: number for number, node in enumerate(nodes) for member in node.members}
    tree = first.tree
    leaves = np.setdiff1d(tree.shown, tree.parent)
    rest = [leaf for leaf in leaves.tolist() if (0, leaf) not in place]
    return nodes + [ConsensusNode([(0, leaf)], _above(tree, 0, leaf, place)) for leaf in rest]


def breadth_first(nodes: Sequence[ConsensusNode]) -> list[ConsensusNode]:
    """Return the nodes numbered breadth first, siblings in their order."""
    children: list[list[int]] = [[] for _ in nodes]
    for number, node in enumerate(nodes):
        if node.parent != ROOT:
            children[node.parent].append(number)
    order = [0]
    for number in order:
        order += children[number]
    new = {number: place for place, number in enumerate(order)}
    return [nodes[number]._replace(parent=new.get(nodes[number].parent, ROOT)) for number in order]
