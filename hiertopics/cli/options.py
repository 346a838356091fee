"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from hiertopics.base.errors import OutputError
from hiertopics.base.visible import SENTENCE, Line, Span, plain, steady
from hiertopics.cli.completing import COLUMN, RUN, SETTING
from hiertopics.cli.habits import HintingCommand

if TYPE_CHECKING:
    from hiertopics.fitting.reshaping import ReshapedRun
    from hiertopics.runs.rundir import RunDir
    from hiertopics.views.render.records import Grid

WIDE = 100
"""Columns of a terminal from which on lines of a tree have all their numbers."""

MOST_CHANGES = 3
"""Nodes with another number that a message lists."""
F = TypeVar("F", bound=Callable[..., Any])

READING = {
    "vocab": ("FILE", "Vocabulary file."),
    "groups": ("FILE", "Groups file."),
    "labels": ("FILE", "Labels file."),
    "from_": ("FORMAT", "Format, if the suffix of the file does not tell it."),
    "text_field": ("TEXT", "Raw text: field with the text, or the number of its column."),
    "id_field": ("TEXT", "Raw text: field with the document's name. [default: found by a rule]"),
    "group_field": ("TEXT", "Raw text: field with the groups."),
    "label_field": ("TEXT", "Raw text: field with the labels."),
    "label_column": (
        "COLUMN",
        "Dense tables: column of classes, by name or number (-1: the last); or none.",
    ),
    "layer": ("NAME", "h5ad: layer with the counts; X: the matrix itself."),
}
"""Entries of the ``data`` section that say how a corpus file is to be read."""


def trust_option(command: F) -> F:
    """Add ``--trust-tokenizer``; the trust begins and ends with the call of ``command``."""

    @click.option(
        "--trust-tokenizer",
        "trusted",
        is_flag=True,
        help="Allow the import of the data.tokenizer that a config file or a run names.",
    )
    @wraps(command)
    def within(*args: Any, trusted: bool, **options: Any) -> Any:
        from hiertopics.corpus.formats.trust import FLAG, trusting

        with trusting(trusted, FLAG):
            return command(*args, **options)

    return cast(F, within)


OPTION_SECTIONS = {
    "Reading the corpus": (*READING, "as_lines"),
    "Time and machines": ("time_limit", "workers", "memory", "cluster"),
    "Output": ("run", "output", "report", "form", "as_json", "quiet"),
}
"""Sections of the help and their options; other options come before these sections."""


class SectionedCommand(HintingCommand):
    """A command of many options, which its help shows in sections."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those of each section."""
        known = {name: title for title, names in OPTION_SECTIONS.items() for name in names}
        rows: dict[str, list[tuple[str, str]]] = {
            title: [] for title in ("Options", *OPTION_SECTIONS)
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                rows[known.get(str(param.name), "Options")].append(record)
        for title, records in rows.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def corpus_options(command: F) -> F:
    """Add an option for each entry of ``READING``, ``--lines`` and ``--trust-tokenizer``."""
    command = trust_option(command)
    told = "A text file: each line is a document. Short for --from lines."
    command = click.option("--lines", "as_lines", is_flag=True, help=told)(command)
    for key, (metavar, text) in reversed(READING.items()):
        flag = f"--{key.rstrip('_').replace('_', '-')}"
        command = click.option(flag, key, metavar=metavar, help=text)(command)
    return command


def corpus_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of ``corpus_options`` out of ``options``; return those that were given."""
    as_lines = options.pop("as_lines")
    taken = {key: options.pop(key) for key in READING}
    if as_lines and taken["from_"] not in (None, "lines"):
        raise click.UsageError(f"--lines and --from {taken['from_']} exclude each other")
    taken["from_"] = "lines" if as_lines else taken["from_"]
    given = {key: value for key, value in taken.items() if value is not None}
    if given.get("label_column") == "none":
        given["label_column"] = None
    return given


def count_option(*names: str, default: int, help: str) -> Callable[[F], F]:
    """Return an option that takes a number from 1; its default is shown."""
    at_least_1 = click.IntRange(min=1)
    return click.option(*names, type=at_least_1, default=default, show_default=True, help=help)


LINES = ("jsonl", "json")
"""Forms of a record per line; json is the older name."""


def forms(*others: str) -> Callable[[F], F]:
    """Add --format, of ``text``, ``others`` and ``LINES``, and --json, which is short for jsonl.

    The command gets ``form``. Stands next to the function.
    """
    choices = ("text", *others, *LINES)

    def add(command: F) -> F:
        @wraps(command)
        def with_one_form(form: str | None, as_json: bool, **options: Any) -> Any:
            if as_json and form not in (None, *LINES):
                raise click.UsageError(f"--json and --format {form} exclude each other")
            return command(form="jsonl" if as_json else form or "text", **options)

        flagged = click.option("--json", "as_json", is_flag=True, help="Short for --format jsonl.")
        told = f"{', '.join(choices[:-1])} or {choices[-1]}. [default: text]"
        chosen = click.option("--format", "form", type=click.Choice(choices), help=told)
        return cast(F, chosen(flagged(with_one_form)))

    return add


json_option = click.option("--json", "as_json", is_flag=True, help="JSON Lines on stdout.")
"""The option --json of commands that print a path; commands that show records have ``forms``."""

config_option = click.option("-c", "--config", metavar="FILE", help="YAML config.")


def setting_option(example: str) -> Callable[[F], F]:
    """Return the option that sets one key of the config; its help names an example."""
    return click.option(
        "-s",
        "--set",
        "overrides",
        type=SETTING,
        metavar="KEY=VALUE",
        multiple=True,
        help=f"One setting, such as {example}; repeatable.",
    )


set_option = setting_option("model.gamma=0.5")

protocol_option = click.option(
    "--protocol",
    metavar="NAME",
    help="completion, tokens, path, full, empirical or density. [default: by the split]",
)

average_option = click.option(
    "--average", is_flag=True, help="Average probabilities over a sampler's kept draws."
)


def cache_options(command: F) -> F:
    """Add the options of scores with a cache."""
    command = click.option(
        "--cache-from",
        type=click.Choice(["seen", "training"]),
        help="Source of the two numbers of the cache: seen parts of the held-out documents, or"
        " training documents. [default: seen]",
    )(command)
    return click.option(
        "--cache",
        is_flag=True,
        help="Also score with a cache model: a word that a document has used comes again.",
    )(command)


PATHS = ("paths", "separator", "path_field", "path_from_folder")
"""Options that say where label paths come from."""


def paths_options(command: F) -> F:
    """Add an option for each of ``PATHS``."""
    command = click.option(
        "--path-from-folder", is_flag=True, help="hierarchy: label paths are the folders of texts."
    )(command)
    command = click.option(
        "--path-field",
        type=COLUMN,
        metavar="TEXT",
        help="hierarchy: field of the table with the label path.",
    )(command)
    command = click.option(
        "--separator",
        metavar="TEXT",
        help="hierarchy: separator of the parts of a path. [default: /]",
    )(command)
    told = "hierarchy: a label path for each line of the fitted file. [default: X.paths]"
    return click.option("--paths", metavar="FILE", help=told)(command)


workers_option = click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Threads; the result does not depend on them.",
)

time_option = click.option(
    "--time-limit", metavar="TIME", help="Stop after a time like 3h50m; the same command continues."
)

cluster_option = click.option(
    "--cluster",
    metavar="WHERE",
    help="Processes of a Dask cluster: local:N, the address of a scheduler, or "
    "scheduler-file:PATH; the result does not depend on them.",
)

memory_option = click.option(
    "--memory",
    metavar="SIZE",
    help="Memory limit, like 4GB; a fit that needs more is refused.",
)

arrange_option = click.option(
    "--arrange", is_flag=True, help="Flat topics: cluster them into a tree after the fit."
)

docs_option = click.option(
    "--docs",
    "n_docs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also show the N documents with the largest share of their tokens at or below each node.",
)


side_option = click.option(
    "--side",
    "sides",
    type=COLUMN,
    multiple=True,
    metavar="NAME[=FILE]",
    help="Also show a column of metadata (authors, years): from the run or, with FILE, "
    "from a table or a file with a line per document. 'authors;' splits cells at ; (or , or |).",
)

WORDS_BY = ("name", "prob", "branch", "relevance", "frex")
"""Orders of words: those of ``naming.ORDERS``, which take long to import."""

words_by_option = click.option(
    "--words-by",
    type=click.Choice(WORDS_BY),
    help="Order of words. name: the words of automatic names, which distinguish a node "
    "from the corpus and its siblings; prob: a node's own words by probability; "
    "branch: words that are more frequent in its branch than in the corpus; relevance"
    " (with lift); frex (with exclusivity). Default: name; in files and --json words "
    "are by probability, and the name has a field of its own.",
)

naming_option = click.option(
    "--words-by",
    type=click.Choice(WORDS_BY),
    help="Order of the words in automatic names (see show-tree). Default: name.",
)

supported_option = click.option(
    "--supported",
    type=float,
    metavar="LEAST",
    help="Merge nodes with a support below LEAST, like 0.5, into the nodes above them "
    "(see support).",
)

cut_option = click.option(
    "--cut",
    metavar="N,N",
    help="Show levels of about N nodes each, like 20,80; the largest nodes open first.",
)


def put(text: str, *, nl: bool = True) -> None:
    """Write a result on stdout as it is: click drops escapes where that is no terminal.

    Raises OutputError where stdout refuses it.
    """
    with _answering():
        click.echo(text, nl=nl, color=True)


@contextmanager
def _answering() -> Iterator[None]:
    """Raise OutputError where writing to stdout fails, unless the reader has gone."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"stdout: {error.strerror or error}; files that the command was to write are written, "
            "and only what it had to say is lost"
        ) from error


def put_records(records: Iterable[object]) -> None:
    """Write records on stdout, a line of JSON each."""
    from hiertopics.base.files import to_json

    for record in records:
        put(to_json(record))


def put_lines(lines: Iterable[Line], *, err: bool = False) -> None:
    """Write lines on stdout or stderr: on a terminal with their looks, cut at its edge."""
    if (sys.stderr if err else sys.stdout).isatty():
        from hiertopics.views.render.screen import show_lines

        show_lines(lines, err=err)
    elif err:
        click.echo(plain(lines), nl=False, err=True, color=True)
    else:
        put(plain(lines), nl=False)


def is_narrow(*, err: bool = False) -> bool:
    """Tell whether stdout or stderr is a terminal on which long numbers leave names no room."""
    import shutil

    return (sys.stderr if err else sys.stdout).isatty() and shutil.get_terminal_size()[0] < WIDE


@contextmanager
def going_on(name: str) -> Iterator[None]:
    """Show that a view goes on: that of a large run takes seconds."""
    from hiertopics.base.progress import watched

    with watched(name):
        yield


def tell_sentence(text: str) -> None:
    """Write a sentence on stderr; a terminal wraps it between words."""
    put_lines([[Span(text, SENTENCE)]], err=True)


def put_text(text: str) -> None:
    """Write lines without looks on stdout; on a terminal they are cut at its edge."""
    put_lines([Span(line)] for line in text.splitlines())


def put_table(grid: Grid) -> None:
    """Write a table on stdout; on a terminal a wide table is split into pieces."""
    if grid.cells and sys.stdout.isatty():
        from hiertopics.views.render.screen import show_table

        show_table(grid)
    else:
        put(str(grid), nl=False)


def tell(message: str) -> None:
    """Write a message of one or more lines on stderr, with control characters escaped."""
    click.echo("\n".join(map(steady, message.split("\n"))), err=True)


run_argument = click.argument("run", required=False, type=RUN)


def needed_run_argument(command: F) -> F:
    """Add RUN, which must be a run. Raises NoRunError before ``command`` imports anything."""

    @click.argument("run", type=RUN)
    @wraps(command)
    def with_run(*args: Any, run: str, **options: Any) -> Any:
        _refuse_no_run(run)
        return command(*args, run=run, **options)

    return cast(F, with_run)


def runs_argument(*, required: bool, one_is_enough: bool = False) -> Callable[[F], F]:
    """Return a decorator that adds RUNS; the first path must be a run.

    one_is_enough: any of the paths may be the run. Raises NoRunError as ``needed_run_argument``.
    """

    def add(command: F) -> F:
        @click.argument("runs", nargs=-1, required=required, type=RUN)
        @wraps(command)
        def with_runs(*args: Any, runs: tuple[str, ...], **options: Any) -> Any:
            _refuse_no_run(*runs[: None if one_is_enough else 1])
            return command(*args, runs=runs, **options)

        return cast(F, with_runs)

    return add


def _refuse_no_run(*paths: str) -> None:
    """Raise NoRunError where none of the paths that a command got is a run."""
    from hiertopics.runs.rundir import RunDir

    if paths and not any(RunDir(path).exists for path in paths):
        RunDir.open(paths[0])


def chosen_run(path: str | None) -> RunDir:
    """Return the run at ``path``, or the newest under runs/, which stderr then names."""
    from hiertopics.runs.rundir import RunDir

    if path is not None:
        return RunDir.open(path)
    run = RunDir.newest()
    for other in RunDir.newest_first():
        if other.path == run.path:
            break
        tell(f"note: {other.path} is newer, but has no model yet: {_why_no_model(other)}")
    tell(f"run: {run.path}")
    return run


def _why_no_model(run: RunDir) -> str:
    """Return what became of a fit that has no model."""
    if run.manifest["status"] == "running":
        return "it is being fitted, or its fit was killed"
    return f"its fit is {run.manifest['status']}"


def newest_node(run: str | None, node: int | None) -> tuple[str | None, int | None]:
    """Return RUN and NODE as they were meant: a node alone is one of the newest run."""
    if run is None or node is not None:
        return run, node
    found = node_of_newest(run)
    return (run, None) if found is None else (None, found)


def node_of_newest(text: str) -> int | None:
    """Return the node of the newest run that the value for RUN means; None where it is a path.

    Raises UsageError for several words that are neither a run nor the name of a node.
    """
    from pathlib import Path

    from hiertopics.runs.nodenames import NodesByName
    from hiertopics.runs.rundir import RUNS, RunDir

    if is_node(text):
        return int(text)
    if "/" in text or Path(text).exists() or (RUNS / text).exists() or not RunDir.newest_first():
        return None
    newest = RunDir.newest()
    is_name = " " in text or bool(NodesByName(newest).fitting(text))
    return named_node(newest, text) if is_name else None


def named_node(run: RunDir, name: str) -> int:
    """Return the node of a name, or of words of it, and tell on stderr which one it is.

    Raises UsageError where there is none, and where there are several.
    """
    from hiertopics.runs.nodenames import NodesByName

    names = NodesByName(run)
    node = names.find(name)
    tell(f"node: {names.told(node)}")
    return node


def is_node(run: str) -> bool:
    """Return whether the value for RUN is the number of a node: a number that is no path."""
    from pathlib import Path

    return run.isascii() and run.isdigit() and not Path(run).exists()


def note_hidden(run: RunDir) -> None:
    """Say on stderr how many nodes are not shown because somebody hid them."""
    from hiertopics.base.units import many
    from hiertopics.corpus.data.tree import n_hidden
    from hiertopics.runs.labels import LABELS, labels_of

    labels = labels_of(run, quiet=True)
    hidden = n_hidden(run.tree, labels)
    if hidden:
        own = sum(label.hidden for label in labels.values())
        below = f" and {hidden - own} below" if hidden > own else ""
        told = f"{many(own, 'node')}{below} {'is' if hidden == 1 else 'are'} hidden by {LABELS}"
        tell(f"{told}; label RUN NODE --show brings one back")


def put_made(made: ReshapedRun, as_json: bool) -> None:
    """Write where a run that was made of another lies; which nodes have other numbers now."""
    from hiertopics.base.files import to_json

    changed = {old: new for old, new in made.numbers.items() if old != new}
    if as_json:
        put(to_json({"run": str(made.run.path), "nodes": len(made.run.tree.shown), "now": changed}))
        return
    if changed:
        told = ", ".join(f"{old} is {new}" for old, new in list(changed.items())[:MOST_CHANGES])
        more = len(changed) - MOST_CHANGES
        tell(f"numbers of nodes now: {told}" + (f" and {more} more (--json)" if more > 0 else ""))
    put(str(made.run.path))


def note_single_draws(scored: Iterable[tuple[RunDir, str]]) -> None:
    """Say on stderr which of these runs, scored by these protocols, could predict by more draws."""
    from hiertopics.scoring.protocols import averages

    for run, protocol in scored:
        if run.n_draws and averages(protocol):
            kept = f"{run.n_draws} kept draws"
            tell(f"{run.path}: one draw is scored; --average: the mean of {kept}")
