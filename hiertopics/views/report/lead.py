"""The paragraph above the map: the results of a run, made from its numbers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hiertopics.base.arrays import F64, I64, Bools
from hiertopics.base.units import many
from hiertopics.corpus.data import Tags, support_lacks, support_told
from hiertopics.corpus.data.columns import binned, drawn_part, is_time, moments
from hiertopics.corpus.data.tree import NONE, ROOT, Labels, Tree, hidden_nodes
from hiertopics.corpus.holdouts.spec import WITHIN
from hiertopics.views.render import FEW_DOCUMENTS, FITTING, comes_back, share_told
from hiertopics.views.report.documents import Shares
from hiertopics.views.report.topics import Layout

Piece = str | int
"""A piece of the paragraph: text, or the place of a topic, which is called by its name."""

N_NAMED = 3

STANDARD_ERRORS = 4.0
"""How far two means must be apart for a sentence to speak of them."""

FEWEST, MOST_GROUPS = 10, 30
"""Documents of each side of a comparison, and values of a column that is read as groups."""


DROPPED = {
    "data.stop_words": "stop words",
    "data.min_df": "rare words",
    "data.max_df": "frequent words",
    "data.max_words": "words beyond the vocabulary",
}
"""Settings that drop words of the texts, and what these are called."""


class LeadInput(NamedTuple):
    """Input of the paragraph.

    tags: columns of metadata by name. card: the model card. nouns: of what a tree counts, "words"
    or, of vectors, "rows". labels: of the user; hidden nodes are counted and not spoken of.
    """

    tree: Tree
    layout: Layout
    shares: Shares
    tags: Mapping[str, Tags]
    card: Mapping[str, Any]
    nouns: str
    labels: Labels = NONE

    @property
    def hidden(self) -> Bools:
        """Whether each row of the tree is hidden, bool [n_nodes]."""
        return hidden_nodes(self.tree, self.labels)


def lead_part(lead_input: LeadInput) -> list[Piece]:
    """Return the paragraph: sentences on size, branches, change, documents that fit nowhere."""
    every = branches_of(lead_input.layout)
    is_shown = ~lead_input.hidden[lead_input.layout.rows[every]]
    branches = every[is_shown]
    below = np.asarray(lead_input.shares.below(every).toarray())
    inside = _inside(lead_input, branches)
    sentences = [
        _size(lead_input, branches),
        _largest(lead_input, branches),
        _support(lead_input),
        _change(lead_input, branches, inside),
        _nowhere(lead_input, below[np.diff(lead_input.shares.own.indptr) > 0]),
        _prediction(lead_input.card),
    ]
    pieces: list[Piece] = []
    for sentence in filter(None, sentences):
        pieces += [" ", *sentence] if pieces else sentence
    return _joined(pieces)


def lead_text(pieces: Sequence[Piece], called: Sequence[str]) -> str:
    """Return the paragraph as text; called: the name of each place."""
    return "".join(piece if isinstance(piece, str) else called[piece] for piece in pieces)


def branches_of(layout: Layout) -> I64:
    """Return the places of the branches: below a single root, or the roots of a forest.

    int64 [n], ascending.
    """
    roots = np.flatnonzero(layout.parent == ROOT)
    below = np.flatnonzero(layout.parent == roots[0]) if len(roots) == 1 else roots
    return below if len(below) else roots


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces with neighbouring texts put together."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and found and isinstance(found[-1], str):
            found[-1] += piece
        else:
            found.append(piece)
    return found


def _size(lead_input: LeadInput, branches: I64) -> list[Piece]:
    corpus, rows = lead_input.card["corpus"], lead_input.layout.rows
    n_hidden = int(np.count_nonzero(lead_input.hidden[rows]))
    n = len(rows) - n_hidden
    n_docs = corpus["n_docs"]
    told = "The documents are" if n_docs is None else many(n_docs, "document", ",")
    if lead_input.nouns == "words" and None not in (n_docs, corpus["n_tokens"]):
        told += f" with {many(corpus['n_tokens'], 'word', ',')}"
    n_more = n - len(branches) - int((lead_input.layout.parent == ROOT).sum() == 1 and n > 1)
    one, several = ("topic", "topics") if n_more <= 0 else ("branch", "branches")
    noun = one if len(branches) == 1 else several
    below = "it" if len(branches) == 1 else "them"
    more = f" and {many(n_more, 'topic', ',')} below {below}" if n_more > 0 else ""
    aside = f" ({n_hidden:,} hidden)" if n_hidden else ""
    size = f"{told} in {len(branches):,} {noun}{more}{aside}"
    return ["; ".join([size, *_held_out(lead_input.card), *_dropped(lead_input)]) + "."]


def _held_out(card: Mapping[str, Any]) -> list[str]:
    """Return what the fit did not see, in words; nothing where it saw all."""
    split = card["split"]
    within = str(split["spec"]).partition(":")[0] in WITHIN
    n, noun = (split["n_heldout_tokens"], "word") if within else (split["n_heldout"], "document")
    return [f"{many(n, f'more {noun}', ',')} {'is' if n == 1 else 'are'} held out"] if n else []


def _dropped(lead_input: LeadInput) -> list[str]:
    """Return which words of the texts are not counted, by the settings of the run."""
    keys = {key for key, *_ in lead_input.card["settings"]}
    kinds = [what for key, what in DROPPED.items() if key in keys]
    if not kinds or lead_input.nouns != "words":
        return []
    return [" and ".join([", ".join(kinds[:-1]), kinds[-1]][len(kinds) < 2 :]) + " are not counted"]


def _largest(lead_input: LeadInput, branches: I64) -> list[Piece]:
    tree, rows = lead_input.tree, lead_input.layout.rows[branches]
    sizes = tree.subtree_weight[rows]
    order = np.argsort(-sizes, kind="stable")[:N_NAMED]
    if len(branches) < 2:
        return []
    pieces: list[Piece] = ["The largest are "]
    for place, at in enumerate(order.tolist()):
        node = int(branches[at])
        pieces += [", " if 0 < place < len(order) - 1 else " and " if place else "", node]
        support = comes_back(tree, int(rows[at]))
        told = f" ({share_told(float(sizes[at]))} of the {lead_input.nouns}"
        pieces.append(told + (")" if support is None else f", support {support:.2f})"))
    return [*pieces, "."]


def _support(lead_input: LeadInput) -> list[Piece]:
    told = support_told(lead_input.tree, hidden=lead_input.hidden)
    if not told and (lacks := support_lacks(lead_input.tree)):
        told = f"{lacks}; hiertopics support RUN measures it"
    return [f"{told}."] if told else []


def _nowhere(lead_input: LeadInput, below: F64) -> list[Piece]:
    """Return how many documents have no branch with a third of their tokens.

    below: of documents with words, float64 [n_docs, n_branches].
    """
    if lead_input.nouns != "words" or below.shape[1] < 2 or not len(below):
        return []
    n = int((below.max(axis=1) < FITTING).sum())
    if not n:
        return ["Each document has a branch with a third of its words or more."]
    fits, their = ("fits", "its") if n == 1 else ("fit", "their")
    told = f"{many(n, 'document', ',')} ({share_told(n / len(below))}) {fits} no branch"
    return [f"{told}: none has a third of {their} words."]


def _prediction(card: Mapping[str, Any]) -> list[Piece]:
    for score in card["scores"]:
        perplexity, error = score.get("perplexity"), score.get("standard_error")
        if isinstance(perplexity, int | float):
            spread = f" ± {perplexity * error:,.0f}" if isinstance(error, int | float) else ""
            what = f"Perplexity of held-out words: {perplexity:,.0f}{spread}"
            return [f"{what}, the uncertainty of a choice among so many words."]
    return []


def _inside(lead_input: LeadInput, branches: I64) -> Bools:
    """Return which documents have their main topic in which branch, bool [n_docs, n_branches].

    The bars of the page count documents in the same way.
    """
    home = lead_input.shares.home[:, None]
    return (home >= branches) & (home < lead_input.layout.end[branches])


def _change(lead_input: LeadInput, branches: I64, inside: Bools) -> list[Piece]:
    """Return what grows over the first column of dates or years, or stands out in a group."""
    if not len(branches):
        return []
    for name, tags in lead_input.tags.items():
        bins = _bins_of(tags)
        if bins is not None and (found := _over(name, bins, branches, inside)):
            return found
    for name, tags in lead_input.tags.items():
        members = sparse.csr_array(tags.members)
        used = np.flatnonzero(np.asarray(members.sum(axis=0)).ravel())
        if is_time(tags) or not 1 < len(used) <= MOST_GROUPS:
            continue
        if found := _between(name, tags, members, used, branches, inside):
            return found
    return []


class _Bins(NamedTuple):
    """The years or dates of a column, ascending: the name of each, and its documents."""

    names: list[str]
    docs: list[I64]

    def joined(self, first: int, end: int) -> I64:
        """Return the documents of the bins from ``first`` to before ``end``."""
        return np.concatenate(self.docs[first:end])

    def period(self, first: int, end: int) -> str:
        """Return when the bins from ``first`` to before ``end`` are, in words."""
        ends = self.names[first], self.names[end - 1]
        return f"from {ends[0]} to {ends[1]}" if end - first > 1 else _when(ends[0])


def _bins_of(tags: Tags) -> _Bins | None:
    """Return the drawn bins of a column of dates or years, one of each document; else None."""
    if not is_time(tags):
        return None
    tags = binned(tags)
    members = sparse.csc_array(tags.members)
    used = np.flatnonzero(np.diff(members.indptr))
    when = moments([tags.names[value] for value in used])
    if when is None:
        return None
    names, docs = [], []
    for moment in np.unique(when):
        values = used[when == moment]
        names.append(tags.names[values[0]].strip())
        cells = [members.indices[slice(*members.indptr[value : value + 2])] for value in values]
        docs.append(np.concatenate(cells).astype(np.int64))
    drawn = drawn_part(names, [len(own) for own in docs])
    return _Bins(drawn.of(names), docs[drawn.first : drawn.end])


def _over(name: str, bins: _Bins, branches: I64, inside: Bools) -> list[Piece]:
    """Return the branches that grew and shrank most from the earlier to the later half.

    Where the share of a branch turned, the bin where it turned is named in place of the halves.
    """
    n_until = np.cumsum([len(docs) for docs in bins.docs])
    n, middle = len(bins.docs), int(np.minimum(n_until, n_until[-1] - n_until).argmax()) + 1
    if middle == n:
        return []
    early, late = bins.joined(0, middle), bins.joined(middle, n)
    if min(len(early), len(late)) < FEWEST:
        return []
    gap, score = _apart(inside, early, late)
    pieces: list[Piece] = []
    has_periods = False
    for sign, at in ((1, int(score.argmax())), (-1, int(score.argmin()))):
        if abs(score[at]) < STANDARD_ERRORS or gap[at] * sign <= 0:
            continue
        told = _turn(bins, inside[:, [at]], sign)
        if told is None:
            before, after = (share_told(float(inside[docs, at].mean())) for docs in (early, late))
            before += "" if pieces else " of the documents"
            if not has_periods:
                before += f" {bins.period(0, middle)}"
                after += f" {bins.period(middle, n)}"
            has_periods = True
            told = f"has {before} and {after}"
        elif not pieces:
            told = told.replace("%", "% of the documents", 1)
        pieces += [", and " if pieces else f"By {name}: ", int(branches[at]), f" {told}"]
    return [*pieces, "; a document counts at its main topic."] if pieces else []


def _turn(bins: _Bins, inside: Bools, sign: int) -> str | None:
    """Return where a share turned that had grown (sign 1) or shrunk (-1), and its last value.

    inside: of one branch, bool [n_docs, 1]. None where the highest or lowest share is the first or
    the last one, or not apart from the last one. Bins of less than ``FEW_DOCUMENTS`` documents do
    not count.
    """
    counted = [at for at, docs in enumerate(bins.docs) if len(docs) >= FEW_DOCUMENTS]
    means = np.array([inside[bins.docs[at]].mean() for at in counted])
    best = int((sign * means).argmax()) if len(counted) else 0
    if not 0 < best < len(counted) - 1:
        return None
    turn, last = counted[best], counted[-1]
    if abs(_apart(inside, bins.docs[turn], bins.docs[last])[1][0]) < STANDARD_ERRORS:
        return None
    first, then = ("rises", "falls") if sign > 0 else ("falls", "rises")
    top = f"{first} to {share_told(float(means[best]))} {_when(bins.names[turn])}"
    return f"{top} and {then} to {share_told(float(means[-1]))} {_when(bins.names[last])}"


def _when(name: str) -> str:
    """Return when a year, a month or a day is, in words."""
    return f"{'on' if name.count('-') == 2 else 'in'} {name}"


def _between(
    name: str, tags: Tags, members: sparse.csr_array, used: I64, branches: I64, inside: Bools
) -> list[Piece]:
    """Return the group that exceeds others most in its share of a branch, and the branch."""
    best: tuple[float, list[Piece]] = (STANDARD_ERRORS, [])
    columns = sparse.csc_array(members)
    for value in used.tolist():
        is_here = np.zeros(len(inside), dtype=bool)
        is_here[columns.indices[columns.indptr[value] : columns.indptr[value + 1]]] = True
        here, others = np.flatnonzero(is_here), np.flatnonzero(~is_here)
        if min(len(here), len(others)) < FEWEST:
            continue
        _, score = _apart(inside, others, here)
        at = int(score.argmax())
        if score[at] > best[0]:
            own, other = (share_told(float(inside[docs, at].mean())) for docs in (here, others))
            told = f"{own} of the documents with {name}: {tags.names[value]} have their main topic "
            pieces: list[Piece] = [f"{told}in ", int(branches[at]), f", and {other} of the others."]
            best = (float(score[at]), pieces)
    return best[1]


def _apart(inside: Bools, first: I64, second: I64) -> tuple[F64, F64]:
    """Return by how much the share of the second documents is larger, and in errors of that.

    The error is that of two parts of one population, so that few documents of one kind are not
    taken for a sure share.
    """
    n, m = len(first), len(second)
    one, other = inside[first].mean(axis=0), inside[second].mean(axis=0)
    share = (n * one + m * other) / (n + m)
    spread = share * (1 - share) * (1 / n + 1 / m)
    return other - one, (other - one) / np.sqrt(np.maximum(spread, 1e-12))
