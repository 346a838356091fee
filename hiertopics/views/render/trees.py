"""A tree for eyes: indented lines, and nested lists of HTML that open and close.

The lists stand in a notebook, in a file, or on a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from hiertopics.base.visible import SENTENCE, Line, Span, plain, visible
from hiertopics.corpus.data import ROOT, Tree, hidden_nodes, support_told
from hiertopics.views.render import View, comes_back, is_weak, share


def to_text(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> str:
    """Return one line per node: id, share of tokens and documents at or below it, top words.

    Of several chains also the probability of the node's split, and of a tree that was held against
    others how many of them found the node again; a root has neither to speak of.

    Top documents of a node and remarks, where the view has them, follow on lines of their own. The
    last line is the sentence on support, where support was measured.

    limit: most lines; the rest is counted in a last one.
    """
    return plain(to_lines(tree, vocab, view, limit))


def to_lines(tree: Tree, vocab: Sequence[str], view: View, limit: int | None = None) -> list[Line]:
    """Return the lines of ``to_text``, split into parts by kind."""
    lines: list[Line] = list(_lines(tree, vocab, view))
    if limit is not None and len(lines) > limit:
        lines = [*lines[:limit], [Span(f"... and {len(lines) - limit} more", "aside")]]
    if tree.arrangement is not None:
        lines.insert(0, [Span(tree.arrangement.note, "aside")])
    is_whole = view.root == ROOT
    if is_whole and (told := support_told(tree, view.depth, hidden_nodes(tree, view.labels))):
        lines.append([Span(told, SENTENCE)])
    return lines


def _lines(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[Line]:
    """Yield the lines; a stack holds nodes, and prefixes of their lines and of lines below."""
    waiting = [(root, "", "") for root in view.roots(tree)[::-1]]
    while waiting:
        node, branch, deeper = waiting.pop()
        name, words = view.label(node).name, visible(view.words(tree, node, vocab))
        yield (
            Span(branch, "frame"),
            Span(f"[{tree.id_of(node)}]", "number"),
            Span(_numbers(tree, node, view.is_narrow)),
            Span(visible(name), "name"),
            Span(f": {words}" if name else words, "aside" if is_weak(tree, node) else ""),
        )
        children = view.children(tree, node)[::-1].tolist()
        under = Span(deeper + ("│  " if children else "   "), "frame")
        if view.documents is not None:
            yield under, Span(f"documents: {visible(view.document_names(node))}", "aside")
        for remark in () if view.remarks is None else view.remarks.get(node, ()):
            yield under, Span(visible(f"{remark.name}: {remark.line}"), "aside")
        marks = ("└─ ", "   ")  # of the last child, which comes off the stack after the others
        for child in children:
            waiting.append((child, deeper + marks[0], deeper + marks[1]))
            marks = ("├─ ", "│  ")


def _numbers(tree: Tree, node: int, is_narrow: bool) -> str:
    """Return share, documents and support of a node; short ones have no share of its own."""
    if not is_narrow:
        size = f" {share(tree, node):>6} {_docs(tree, node, 6)}"
        return f"{size}{_found_again(tree, node)}"
    support = comes_back(tree, node)
    told = _found_again(tree, node) if support is None else f"{support:.0%} back  "
    return f" {tree.subtree_weight[node]:.1%} {_docs(tree, node, 5)}{told}"


def _docs(tree: Tree, node: int, width: int) -> str:
    """Return the number of documents of a node with its noun, as wide for one as for several."""
    n_docs = int(tree.branch_docs[node])
    return f"{n_docs:{width}d} {'doc ' if n_docs == 1 else 'docs'}  "


def _found_again(tree: Tree, node: int) -> str:
    support = comes_back(tree, node)
    told = "" if support is None else f"support {support:.2f}  "
    if tree.parent[node] == ROOT:
        return told
    if tree.split_probability is not None:
        told += f"split {tree.split_probability[node]:.2f}  "
    if tree.support is not None:
        told += (
            f"found {tree.support.found[node]}/{tree.support.n_others}  "
            if told
            else (f"support {tree.support.found[node]}/{tree.support.n_others}  ")
        )
    return told


OPEN_LEVELS = 2
STYLE = (
    ".hiertopics ul{list-style:none;margin:0;padding-left:1.2em}"
    ".hiertopics summary{cursor:pointer}"
    ".hiertopics small{opacity:.7}"
    ".hiertopics .weak{opacity:.55}"
)


def to_html(tree: Tree, vocab: Sequence[str], view: View, notes: Sequence[str] = ()) -> str:
    """Return one element without scripts; nodes with children are closed below ``OPEN_LEVELS``.

    Whatever comes from the corpus is escaped, and the text is ASCII, so that it reads the same
    wherever it is put. notes: said above the tree.
    """
    head = f'<div class="hiertopics"><style>{STYLE}</style>\n'
    return f"{head}{to_lists(tree, vocab, view, notes)}</div>\n"


def to_lists(tree: Tree, vocab: Sequence[str], view: View, notes: Sequence[str] = ()) -> str:
    """Return the notes and the lists of ``to_html`` alone, for a page with its own style."""
    above = ([] if tree.arrangement is None else [tree.arrangement.note]) + [*notes]
    above += filter(None, [support_told(tree, view.depth, hidden_nodes(tree, view.labels))])
    return "".join([*(f"<p>{_safe(note)}</p>\n" for note in above), *_pieces(tree, vocab, view)])


def _pieces(tree: Tree, vocab: Sequence[str], view: View) -> Iterator[str]:
    """Yield the lists; a stack holds nodes and closing tags."""
    yield "<ul>\n"
    waiting: list[int | str] = ["</ul>\n", *view.roots(tree)[::-1]]
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
    size = _safe(f"[{tree.id_of(node)}] {share(tree, node)}, {tree.branch_docs[node]} docs")
    support = comes_back(tree, node)
    size += "" if support is None else f", support {support:.2f}"
    line = f"{f'<b>{name}</b> ' * bool(name)}{words} <small>{size}</small>"
    return f'<span class="weak">{line}</span>' if is_weak(tree, node) else line


def _more(view: View, node: int) -> str:
    said = [] if view.documents is None else [("documents", view.document_names(node))]
    remarks = () if view.remarks is None else view.remarks.get(node, ())
    said += [(remark.name, remark.line) for remark in remarks]
    return "".join(f"<br><small>{_safe(f'{name}: {line}')}</small>" for name, line in said)


def _safe(text: str) -> str:
    return escape(visible(text)).encode("ascii", "xmlcharrefreplace").decode()
