"""A tree as indented lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hiertopics.render import View
from hiertopics.tree import ROOT, Tree


def to_text(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> str:
    """Return one line per node: id, share of tokens, documents, top words.

    limit: most lines; the rest is counted in a last one.
    """
    lines = list(_lines(tree, vocab, view, ROOT, ""))
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], f"... and {len(lines) - limit} more"]
    return "".join(f"{line}\n" for line in lines)


def _lines(tree: Tree, vocab: Sequence[str], view: View, parent: int, indent: str) -> Iterator[str]:
    children = view.children(tree, parent)
    for place, node in enumerate(children):
        last = place == len(children) - 1
        branch = "" if parent == ROOT else "└─ " if last else "├─ "
        yield (
            f"{indent}{branch}[{node}] {tree.weight[node]:6.2%} "
            f"{tree.n_docs[node]:6d} docs  {view.words(tree, int(node), vocab)}"
        )
        deeper = "" if parent == ROOT else "   " if last else "│  "
        yield from _lines(tree, vocab, view, int(node), indent + deeper)
