"""``label --with``: a command of the user's names the nodes."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from hiertopics.base.errors import UsageError
from hiertopics.base.files import to_json
from hiertopics.corpus.data.naming import in_order, names_of
from hiertopics.corpus.data.tree import Tree
from hiertopics.runs.labels import labels_of
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.views.documents import top_documents
from hiertopics.views.labelling import label
from hiertopics.views.render import View

N_WORDS = 20
"""Words of a node that a command is given."""

N_SNIPPETS = 3
"""Documents of a node whose beginnings a command gets."""


class AskOutcome(NamedTuple):
    """The answers of a command: nodes asked for, named nodes, and its exit code."""

    asked: int
    named: tuple[int, ...]
    code: int


def label_with(
    run: Path | str | RunDir, command: str, *, depth: int | None = None, overwrite: bool = False
) -> AskOutcome:
    """Give nodes of a run the names that a command answers; each is saved as soon as it is read.

    The command is run once, by the shell. It reads a line of JSON per node (``questions``) and
    writes a line per node in the same order: the name, or nothing for no name. Nothing else is sent
    anywhere. Nodes that have a name already are not asked for, unless ``overwrite``; so the same
    call goes on where a command broke off. depth: most levels that are named, the root's
    among them; None: all.

    Raises UsageError, DataError or RunError.
    """
    target = opened(run)
    tree, labels = target.supported_tree, labels_of(target)
    if not command.strip():
        raise UsageError("--with needs a command")
    nodes = [
        node
        for node in View(depth=depth, labels=labels).nodes(tree)
        if overwrite or not (node in labels and labels[node].name)
    ]
    if not nodes:
        return AskOutcome(0, (), 0)
    named: list[int] = []
    lines = [f"{to_json(record)}\n" for record in questions(target, tree, nodes)]
    with _started(command) as process:
        assert process.stdin is not None and process.stdout is not None
        feeder = threading.Thread(target=_feed, args=(process.stdin, lines), daemon=True)
        feeder.start()
        for node, answer in zip(nodes, process.stdout, strict=False):
            if name := " ".join(answer.split()):
                label(target, node, name)
                named.append(node)
        process.stdout.close()
        process.wait()
        feeder.join()
    return AskOutcome(len(nodes), tuple(named), int(process.returncode))


def questions(run: RunDir, tree: Tree, nodes: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield the command's input about each node.

    Keys: node (its id), depth, name (the automatic one), words, parents (automatic names or those
    that people gave, the root's first), siblings (the same), children (the same), snippets (how its
    top documents begin; none where the run has kept none), branch_docs and branch_share (documents
    and share of tokens at or below it).
    """
    names, labels = names_of(tree, run.vocab), labels_of(run, quiet=True)
    ranked = in_order(tree, run.vocab)
    snippets = _snippets(run, tree)

    def called(node: int) -> str:
        return (node in labels and labels[node].name) or names.texts[node]

    for node in nodes:
        siblings = tree.children(int(tree.parent[node])).tolist()
        yield {
            "node": tree.id_of(node),
            "depth": int(tree.depth[node]),
            "name": names.texts[node],
            "words": [run.vocab[word] for word in ranked.top_words(node, N_WORDS)],
            "parents": [called(above) for above in tree.path(node)[:-1]],
            "siblings": [called(other) for other in siblings if other != node],
            "children": [called(other) for other in tree.children(node).tolist()],
            "snippets": snippets.get(node, []),
            "branch_docs": int(tree.branch_docs[node]),
            "branch_share": float(tree.subtree_weight[node]),
        }


def _snippets(run: RunDir, tree: Tree) -> dict[int, list[str]]:
    """Return how the top documents of each node begin."""
    kept = run.documents
    if kept is None or kept.snippets is None:
        return {}
    texts = kept.snippets
    best = top_documents(tree, run.theta, range(run.theta.shape[0]), N_SNIPPETS)
    return {node: [texts[int(doc)] for doc, _ in documents] for node, documents in best.items()}


@contextlib.contextmanager
def _started(command: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command by the shell; it is stopped where its answers are not read to the end.

    Its input belongs to whoever writes to it and closes it.
    """
    process = subprocess.Popen(
        command,
        shell=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    try:
        yield process
    except BaseException:
        process.terminate()
        raise
    finally:
        assert process.stdout is not None
        process.stdout.close()
        process.wait()


def _feed(into: IO[str], lines: Iterable[str]) -> None:
    """Write lines and close; a command that has read enough may be gone."""
    with contextlib.suppress(OSError, ValueError):
        for line in lines:
            into.write(line)
            into.flush()
    with contextlib.suppress(OSError, ValueError):
        into.close()
