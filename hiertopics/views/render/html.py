"""A tree as a piece of HTML: nested lists that open and close, in a notebook or a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from hiertopics.data.tree import ROOT, Tree
from hiertopics.views.render import View, share
from hiertopics.visible import visible

OPEN_LEVELS = 2
STYLE = (
    ".hiertopics ul{list-style:none;margin:0;padding-left:1.2em}"
    ".hiertopics summary{cursor:pointer}"
    ".hiertopics small{opacity:.7}"
)


def to_html(tree: Tree, vocab: Sequence[str], view: View, notes: Sequence[str] = ()) -> str:
    """Return one element without scripts; nodes with children are closed below ``OPEN_LEVELS``.

    Whatever comes from the corpus is escaped, and the text is ASCII, so that it reads the same
    wherever it is put. notes: said above the tree.
    """
    head = f'<div class="hiertopics"><style>{STYLE}</style>\n'
    return f"{head}{to_lists(tree, vocab, view, notes)}</div>\n"


def to_lists(tree: Tree, vocab: Sequence[str], view: View, notes: Sequence[str] = ()) -> str:
    """Return the notes and the lists of ``to_html`` alone, for a page with a style of its own."""
    above = ([] if tree.arrangement is None else [tree.arrangement.note]) + [*notes]
    return "".join([*(f"<p>{_safe(note)}</p>\n" for note in above), *_pieces(tree, vocab, view)])


def _pieces(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    """Yield the lists; what waits is a node, or the end of what was opened."""
    yield "<ul>\n"
    waiting: list[int | str] = ["</ul>\n", *_reversed(view, tree, ROOT)]
    while waiting:
        piece = waiting.pop()
        if isinstance(piece, str):
            yield piece
            continue
        line = f"{_line(tree, vocab, view, piece)}{_more(view, piece)}"
        children = _reversed(view, tree, piece)
        if not children:
            yield f"<li>{line}</li>\n"
            continue
        opened = " open" if tree.depth[piece] < OPEN_LEVELS - 1 else ""
        yield f"<li><details{opened}><summary>{line}</summary>\n<ul>\n"
        waiting += ["</ul></details></li>\n", *children]


def _reversed(view: View, tree: Tree, node: int) -> list[int]:
    children: list[int] = view.children(tree, node)[::-1].tolist()
    return children


def _line(tree: Tree, vocab: Sequence[str], view: View, node: int) -> str:
    words, name = _safe(view.words(tree, node, vocab)), _safe(view.label(node).name)
    size = _safe(f"[{tree.id_of(node)}] {share(tree, node)}, {tree.n_docs[node]} docs")
    return f"{f'<b>{name}</b> ' * bool(name)}{words} <small>{size}</small>"


def _more(view: View, node: int) -> str:
    said = [] if view.documents is None else [("documents", view.document_names(node))]
    remarks = () if view.remarks is None else view.remarks.get(node, ())
    said += [(remark.name, remark.line) for remark in remarks]
    return "".join(f"<br><small>{_safe(f'{name}: {line}')}</small>" for name, line in said)


def _safe(text: str) -> str:
    return escape(visible(text)).encode("ascii", "xmlcharrefreplace").decode()
