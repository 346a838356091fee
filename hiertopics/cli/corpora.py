"""``hiertopics check``, ``convert`` and ``simulate``; ``backends``, ``config`` and ``sweep``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from hiertopics.base.visible import steady
from hiertopics.cli.completing import BACKEND
from hiertopics.cli.habits import HintingCommand
from hiertopics.cli.options import (
    LINES,
    SectionedCommand,
    config_option,
    corpus_options,
    corpus_settings,
    count_option,
    forms,
    json_option,
    put,
    put_text,
    set_option,
    setting_option,
    tell,
    trust_option,
)

if TYPE_CHECKING:
    from hiertopics.corpus.corpora.checking import CheckResult


@click.command("check", cls=SectionedCommand)
@click.argument("corpus", metavar="FILE", type=click.Path())
@click.option(
    "--max",
    "most",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Largest number of problems to show.",
)
@setting_option("data.encoding=cp1252")
@corpus_options
@forms()
def check_command(**options: Any) -> int:
    """Check the corpus FILE and the files beside it.

    Every problem is a line file:line: message on stdout. The exit code is then 2, or 1 if a folder
    of shards is damaged. For a sound corpus stderr has a summary, and advice on words to leave out
    and settings to use; fit --auto applies the advice.
    """
    from hiertopics.corpus.corpora.checking import check

    as_json, data = options.pop("form") in LINES, corpus_settings(options)
    checked = check(**options, data=data)
    if checked.problems:
        _print_problems(checked, as_json)
    else:
        _print_summary(checked, as_json)
    if checked.auto or checked.to_name:
        kept = _kept(options["overrides"], checked)
        named = {**data, **checked.to_name}
        if "delimiter" in named:
            kept.append(f"data.delimiter={named.pop('delimiter')}")
        told = _fit_command(options["corpus"], named, kept)
        again = " with the same input" if options["corpus"] == "-" else ""
        tell(f"to take this advice{again}: {told} --auto")
    return min((problem.exit_code for problem in checked.problems), default=0)


def _kept(overrides: Sequence[str], checked: CheckResult) -> list[str]:
    """Return the settings that the advised command keeps.

    What was set otherwise would win over the advice. Stop words that were set stay, with those of
    the advice.
    """
    lists = {one.value for one in checked.advice if one.key == "stop_words"}
    kept = []
    for entry in overrides:
        key = entry.partition("=")[0].strip().removeprefix("data.")
        if key not in checked.auto:
            kept.append(entry)
        elif key == "stop_words":
            kept += [f"data.stop_words={value}" for value in lists]
    return kept


def _fit_command(corpus: str, data: dict[str, Any], overrides: Sequence[str]) -> str:
    """Return the command that fits a corpus with the options of ``check``."""
    from hiertopics.base.visible import typed

    is_option = corpus.startswith("-") and corpus != "-"
    words = ["hiertopics", "fit", f"./{corpus}" if is_option else corpus]
    for key, value in data.items():
        words += [f"--{key.rstrip('_').replace('_', '-')}", "none" if value is None else str(value)]
    for entry in overrides:
        words += ["-s", entry]
    return " ".join(map(typed, words))


def _print_problems(checked: CheckResult, as_json: bool) -> None:
    from hiertopics.base.files import to_json

    for problem in checked.problems:
        record = {"file": problem.path, "line": problem.line, "what": problem.what}
        put(to_json(record) if as_json else steady(str(problem)))
    if checked.more:
        (tell if as_json else put)("... and more")


def _print_summary(checked: CheckResult, as_json: bool) -> None:
    from hiertopics.base.files import to_json
    from hiertopics.corpus.data.shape import in_words

    source, shape = checked.source, checked.shape
    sides = [str(side) for side in (source.vocab, source.groups, source.labels) if side is not None]
    beside = f" with {', '.join(sides)}" if sides else ""
    tell(f"{source.path} ({source.format}){beside}: {in_words(shape)}")
    for note in checked.notes:
        tell(f"note: {note}")
    for one in checked.advice:
        tell(f"advice: {one}")
    if as_json:
        record = {"path": str(source.path), "format": source.format, **shape}
        advice = [one._asdict() for one in checked.advice]
        put(to_json(record | {"notes": checked.notes, "advice": advice}))


@click.command("convert", cls=SectionedCommand)
@click.argument("corpus", metavar="IN", type=click.Path())
@click.argument("output", metavar="[OUT]", required=False, type=click.Path())
@click.option("-o", "--output", "named", metavar="FILE", help="The same as OUT.")
@click.option("--to", metavar="FORMAT", help="Format of OUT, if its suffix does not tell.")
@setting_option("data.min_df=5")
@corpus_options
@json_option
def convert_command(**options: Any) -> int:
    """Write the corpus IN to OUT in another format, including its side files.

    Vocabulary, groups and labels go beside OUT; no file of IN is replaced. The path of OUT is the
    last line of stdout.
    """
    from hiertopics.base.files import to_json
    from hiertopics.corpus.corpora.conversion import convert
    from hiertopics.corpus.data.shape import in_words, shape_of

    as_json, data = options.pop("as_json"), corpus_settings(options)
    named = options.pop("named")
    if (named is None) == (options["output"] is None):
        raise click.UsageError("say where to write: OUT, or -o FILE")
    options["output"] = options["output"] if named is None else named
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


@click.command("simulate", cls=SectionedCommand)
@click.argument("backend")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="File for the corpus; its suffix sets the format.",
)
@count_option("--docs", "n_docs", default=500, help="Documents.")
@count_option("--words", "n_words", default=1000, help="Words in the vocabulary.")
@count_option("--length", "doc_length", default=100, help="Tokens per document.")
@click.option(
    "--draw-hyperparameters",
    is_flag=True,
    help="Also draw the hyperparameters that a fit would draw, from the fit's priors; "
    "otherwise they have the config's values.",
)
@click.option("--seed", type=int, help="Seed of every draw. [default: 0]")
@config_option
@set_option
@json_option
def simulate_command(**options: Any) -> int:
    """Draw a corpus from BACKEND's own generative model.

    The true parameters go to <stem>.truth.npz beside FILE, the words to <stem>.vocab.
    """
    from hiertopics.base.files import to_json
    from hiertopics.fitting.simulation import simulate

    as_json, asked = options.pop("as_json"), options["draw_hyperparameters"]
    drawn = simulate(**options)
    path, truth = str(drawn.path), str(drawn.truth)
    if as_json:
        sizes = {name: getattr(drawn.corpus, name) for name in ("n_docs", "n_words", "n_tokens")}
        extra = {"hyperparameters": list(drawn.hyperparameters)} if asked else {}
        put(to_json({"output": path, "truth": truth, **sizes, **extra}))
        return 0
    tell(f"{drawn.corpus.n_tokens} tokens; drawn from {truth}")
    if asked:
        names = ", ".join(drawn.hyperparameters) or "none, the settings fix them all"
        tell(f"hyperparameters drawn: {names}")
    put(path)
    return 0


@click.command("backends", cls=HintingCommand)
@forms("csv")
def backends_command(form: str) -> int:
    """List the backends and their variants, one line each; the default is marked."""
    from hiertopics.contract.registry import backends

    rows = backends()
    if form in LINES:
        import json

        for row in rows:
            put(json.dumps(row))
    elif form == "csv":
        from hiertopics.base.files import to_csv

        cells = [{**row, "variants": " ".join(_variants(row))} for row in rows]
        put(to_csv([(*rows[0],), *((*row.values(),) for row in cells)]), nl=False)
    else:
        put_text("\n".join(line for row in rows for line in _lines(row)))
    return 0


def _variants(row: dict[str, Any]) -> dict[str, str]:
    """Return the summaries of a backend's variants by their names."""
    return {one["variant"]: one["summary"] for one in row["variants"]}


def _lines(row: dict[str, Any]) -> list[str]:
    """Return the line of a backend, and one for each of its variants."""
    mark = " (default)" if row["default"] else ""
    package = f" [package {row['package']}]" if row["package"] else ""
    named = (
        f"  :{name.partition(':')[2]:<13} {summary}" for name, summary in _variants(row).items()
    )
    return [f"{row['backend']:<16} {row['summary']}{mark}{package}", *named]


@click.command("config", cls=HintingCommand)
@click.argument("backend", type=BACKEND)
@click.option("--schema", is_flag=True, help="Print a JSON Schema of its configs, for editors.")
def config_command(backend: str, schema: bool) -> int:
    """Print a complete commented YAML config of BACKEND with every default."""
    from hiertopics.contract import registry

    put(registry.schema(backend) if schema else registry.config(backend), nl=False)
    return 0


@click.command("sweep", cls=HintingCommand)
@click.argument("config", type=click.Path())
@click.argument("corpus", required=False, type=click.Path())
@click.option(
    "--grid",
    metavar="KEY=A,B",
    multiple=True,
    help="A key and its values, such as model.eta=0.01,0.1; repeatable. backend and "
    'data.holdout are keys too. A value that holds a comma: data.holdout="links:0.2,drop",none.',
)
@click.option(
    "--seeds", metavar="SEEDS", default="0", show_default=True, help="0:10 (0 to 9), 3, or 1,5,9."
)
@trust_option
@forms()
def sweep_command(
    config: str, corpus: str | None, grid: tuple[str, ...], seeds: str, form: str
) -> int:
    """Print one fit command per line for every combination of values and every seed.

    Each command has its own run directory; all are checked before the first is printed. A shell
    can run the lines: hiertopics sweep ... | sh
    """
    from hiertopics.base.files import to_json
    from hiertopics.fitting.sweeping import sweep, to_line

    for job in sweep(config, corpus, grid=grid, seeds=seeds):
        put(to_json(job._asdict()) if form in LINES else to_line(job))
    return 0
