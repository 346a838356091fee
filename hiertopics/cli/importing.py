"""``hiertopics import``."""

from __future__ import annotations

import sys
from typing import Any

import click

from hiertopics.cli.options import (
    SectionedCommand,
    corpus_options,
    corpus_settings,
    json_option,
    put,
    tell,
)


@click.command("import", cls=SectionedCommand)
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option("-o", "--run", metavar="RUN", required=True, help="Run directory.")
@click.option(
    "--corpus", metavar="FILE", required=True, help="The corpus that the tree was made of."
)
@click.option(
    "--form",
    metavar="NAME",
    help="linkage (of documents), levels (groups of documents by level), bertopic (its tables), "
    "tomotopy-hlda or tomotopy-lda (saved models). [default: json, npz or csv, by suffix]",
)
@click.option(
    "--holdout",
    metavar="SPEC",
    default="none",
    show_default=True,
    help="Documents that the tree has not seen: the rows of theta are the other documents.",
)
@click.option(
    "--docs",
    metavar="FILE",
    help="Instead: a file with the numbers (from 0) of the documents that the tree was made of.",
)
@corpus_options
@json_option
def import_command(files: tuple[str, ...], **options: Any) -> int:
    """Make a run of a tree that another program made: parents, shares of documents, words.

    It is scored, compared and shown like any other. Each of FILES contributes a part of the tree.
    """
    from hiertopics.base.files import to_json
    from hiertopics.fitting.importing import import_tree

    as_json, data = options.pop("as_json"), corpus_settings(options)
    made = import_tree(files, data=data, argv=sys.argv, say=tell, **options)
    path = str(made.path)
    put(to_json({"run": path, "nodes": len(made.tree.shown)}) if as_json else path)
    return 0
