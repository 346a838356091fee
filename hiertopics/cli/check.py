"""``hiertopics check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hiertopics.cli.options import corpus_options, corpus_settings, json_option, put, tell
from hiertopics.visible import visible

if TYPE_CHECKING:
    from hiertopics.corpora.checking import Checked

PROBLEMS = 2


@click.command("check")
@click.argument("corpus", metavar="FILE", type=click.Path())
@click.option(
    "--max",
    "most",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Problems shown.",
)
@corpus_options
@json_option
def command(**options: Any) -> int:
    """Check the corpus FILE and the files beside it.

    Every problem is a line file:line: what on stdout, and the exit code is 2. A sound corpus is
    summed up on stderr.
    """
    from hiertopics.corpora.checking import check

    as_json, data = options.pop("as_json"), corpus_settings(options)
    checked = check(**options, data=data)
    if checked.problems:
        _print_problems(checked, as_json)
        return PROBLEMS
    _print_summary(checked, as_json)
    return 0


def _print_problems(checked: Checked, as_json: bool) -> None:
    from hiertopics.files import to_json

    for problem in checked.problems:
        record = {"file": problem.path, "line": problem.line, "what": problem.what}
        put(to_json(record) if as_json else visible(str(problem)))
    if checked.more:
        (tell if as_json else put)("... and more")


def _print_summary(checked: Checked, as_json: bool) -> None:
    from hiertopics.data.shape import in_words
    from hiertopics.files import to_json

    source, shape = checked.source, checked.shape
    sides = [str(side) for side in (source.vocab, source.groups, source.labels) if side is not None]
    beside = f" with {', '.join(sides)}" if sides else ""
    tell(f"{source.path} ({source.format}){beside}: {in_words(shape)}")
    for note in checked.notes:
        tell(f"note: {note}")
    if as_json:
        record = {"path": str(source.path), "format": source.format, **shape}
        put(to_json(record | {"notes": checked.notes}))
