"""``export``: a run's tree for other tools; and the one table of the forms a tree is shown in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from hiertopics import files
from hiertopics.artifacts import node_rows, topics_csv, tree_json
from hiertopics.errors import RunError, UsageError
from hiertopics.render import View
from hiertopics.render.dot import to_dot
from hiertopics.render.graphml import to_graphml
from hiertopics.render.newick import to_newick
from hiertopics.render.text import to_text
from hiertopics.rundir import RunDir
from hiertopics.tree import Tree

N_WORDS = 10

Write = Callable[[Tree, Sequence[str], View, str], str]


class Form(NamedTuple):
    """A form: its writer (tree, words, view and the backend's name to text) and its suffixes."""

    write: Write
    suffixes: tuple[str, ...]


def _json(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    """Return the object of tree.json; the nodes that clustering made have strings as ids."""
    note = None if tree.arrangement is None else tree.arrangement.note
    rows = node_rows(tree, vocab, view.n_words, sorted(view.nodes(tree)))
    return files.to_json(tree_json(rows, backend, note), indent=1) + "\n"


def _csv(tree: Tree, vocab: Sequence[str], view: View, backend: str) -> str:
    return topics_csv(node_rows(tree, vocab, view.n_words, sorted(view.nodes(tree))))


def _drawn(write: Callable[[Tree, Sequence[str], View], str]) -> Write:
    return lambda tree, vocab, view, backend: write(tree, vocab, view)


FORMS: dict[str, Form] = {
    "text": Form(_drawn(to_text), (".txt",)),
    "json": Form(_json, (".json",)),
    "csv": Form(_csv, (".csv",)),
    "newick": Form(_drawn(to_newick), (".nwk", ".newick")),
    "dot": Form(_drawn(to_dot), (".dot", ".gv")),
    "graphml": Form(_drawn(to_graphml), (".graphml",)),
}


def show(run: RunDir, view: View, form: str = "text", *, arrange: bool = False) -> str:
    """Return a run's tree in one of ``FORMS``.

    arrange: flat topics are clustered first (``hiertopics.arrange``). Raises UsageError for an
    unknown form and for arranging what is a tree already, RunError where the run is damaged.
    """
    if form not in FORMS:
        near = get_close_matches(form, FORMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMS)}"
        raise UsageError(f"unknown format {form!r}; {hint}")
    tree = _arranged(run) if arrange else run.tree
    return FORMS[form].write(tree, run.vocab, view, str(run.manifest["backend"]))


def export(
    run: Path | str | RunDir,
    output: Path | str,
    *,
    to: str | None = None,
    words: int = N_WORDS,
    arrange: bool = False,
) -> Path:
    """Write a run's tree to a file, whole or not at all; return the file's path.

    to: one of ``FORMS``; None takes the one that the suffix of ``output`` tells. words: top words
    per node. arrange: flat topics are clustered first. Raises UsageError or RunError.
    """
    path = Path(output)
    form = form_of(path) if to is None else to
    target = run if isinstance(run, RunDir) else RunDir.open(run)
    files.write_text(path, show(target, View(n_words=words), form, arrange=arrange))
    return path


def form_of(path: Path) -> str:
    """Return the form that a file's suffix tells; raises UsageError where it tells none."""
    for name, form in FORMS.items():
        if path.suffix.lower() in form.suffixes:
            return name
    known = " ".join(suffix for form in FORMS.values() for suffix in form.suffixes)
    raise UsageError(
        f"{path}: no format goes by that suffix (known: {known}); "
        f"name one with --to: {', '.join(FORMS)}"
    )


def _arranged(run: RunDir) -> Tree:
    from hiertopics.arrange import arrange, documents_with  # scipy's clustering is slow to import

    lengths = run.split.train_lengths
    if lengths is None:
        raise RunError(
            f"{run.path / 'split.npz'} has no train_lengths, which the documents of arranged "
            "topics are counted by; fit the run again in another directory"
        )
    return arrange(run.tree, documents_with(run.theta, lengths))
