"""``hiertopics convert``."""

from __future__ import annotations

from typing import Any

import click

from hiertopics.cli.options import corpus_options, corpus_settings, json_option, put, tell


@click.command("convert")
@click.argument("corpus", metavar="IN", type=click.Path())
@click.argument("output", metavar="OUT", type=click.Path())
@click.option("--to", metavar="FORMAT", help="Format of OUT, where no suffix tells.")
@click.option(
    "-s",
    "--set",
    "overrides",
    metavar="KEY=VALUE",
    multiple=True,
    help="One setting, such as data.min_df=5; repeatable.",
)
@corpus_options
@json_option
def command(**options: Any) -> int:
    """Write the corpus IN to OUT in another format, its side files too.

    Vocabulary, groups and labels go beside OUT; no file of IN is replaced. The path of OUT is
    the last line of stdout.
    """
    from hiertopics.corpora.conversion import convert
    from hiertopics.data.shape import in_words, shape_of
    from hiertopics.files import to_json

    as_json, data = options.pop("as_json"), corpus_settings(options)
    done = convert(**options, data=data)
    shape = shape_of(done.corpus)
    sides = (done.source.vocab, done.source.groups, done.source.labels)
    read = [f"{done.source.path} ({done.source.format})", *(str(s) for s in sides if s is not None)]
    files = [str(file) for file in done.files]
    tell(f"read: {', '.join(read)}")
    tell(f"wrote: {', '.join(files)}: {in_words(shape)}")
    for note in done.notes:
        tell(f"note: {note}")
    if as_json:
        record = {"path": str(done.path), "format": done.format, **shape, "files": files}
        put(to_json(record))
    else:
        put(str(done.path))
    return 0
