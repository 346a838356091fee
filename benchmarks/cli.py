"""The command line: every benchmark, and what goes with them."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

import click

from benchmarks import averages, options, records, report
from benchmarks.benchmark import Benchmark
from benchmarks.corpora import Source
from benchmarks.process import CommandFailed

BENCHMARKS = (
    "speed",
    "floor",
    "sparse",
    "scaling",
    "estep",
    "quality",
    "bursts",
    "authors",
    "author-speed",
    "trees",
    "paired",
    "treepages",
    "planted",
    "tree-speed",
    "tssb-assign",
    "tree-distance",
    "umass",
    "time-to-quality",
    "memory",
    "scale",
    "startup",
    "page",
)
"""In the order of their tables; each is ``measure`` in the module of its name."""

OTHERS = {
    "record": "record",
    "record-page": "record_pages",
    "record-quote": "record_quotes",
    "splits": "split_lists",
}
"""Commands without tables of records, by the module that has them as ``measure``."""


def load(name: str) -> Benchmark:
    """Return a benchmark."""
    found: Benchmark = import_module(f"benchmarks.{name.replace('-', '_')}").measure
    return found


class Commands(click.Group):
    """Commands of which benchmarks are imported when asked for: some measure memory."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all names."""
        return sorted([*super().list_commands(ctx), *BENCHMARKS, *OTHERS])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None if there is none of this name."""
        if cmd_name in OTHERS:
            found: click.Command = import_module(f"benchmarks.{OTHERS[cmd_name]}").measure
            return found
        return load(cmd_name) if cmd_name in BENCHMARKS else super().get_command(ctx, cmd_name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure hiertopics beside its peers; results as JSON Lines, tables on stdout."""


@cli.command()
@click.option("--data", type=options.FOLDER, help="Check the unigram perplexity of KOS too.")
def selfcheck(data: Path | None) -> None:
    """Check the scorer against a plain one, and what each peer says of its topics."""
    from benchmarks import selfcheck as checks

    for line in checks.run(data):
        click.echo(line)


@cli.command("text")
@click.option("-o", "--output", type=options.NEW_FOLDER, required=True, help="Folder of the text.")
@click.option("--tokens", type=options.NUMBER, default="100M", show_default=True, help="How many.")
def text(output: Path, tokens: int) -> None:
    """Build real text from Debian packages: a document per line, for `hiertopics convert`."""
    from benchmarks import text as texts

    found = texts.build(output, tokens, lambda line: click.echo(line, err=True))
    reached = "" if found["tokens"] >= tokens else f", of {tokens:,} asked: there are no more"
    click.echo(
        f"{found['documents']:,} documents, {found['tokens']:,} tokens{reached}; "
        f"sha256 {found['sha256']}"
    )


@cli.command("tour")
@click.option("-o", "--output", type=options.NEW_FOLDER, required=True, help="Folder of the texts.")
def tour(output: Path) -> None:
    """Make three corpora to try everything on: short texts with years, long ones, German ones."""
    from benchmarks import tour as corpora

    try:
        for told in corpora.replaced():
            click.echo(f"apt has {told}: its texts and hashes differ", err=True)
    except RuntimeError as error:
        raise click.UsageError(str(error)) from error
    for made in corpora.build(output):
        same = "as it was" if made.sha256 == corpora.EXPECTED[made.name] else "another one"
        click.echo(f"{output / made.name}: {made.n_docs:,} documents, sha256 {made.sha256}, {same}")


@cli.command("labelled")
@click.option("-o", "--output", type=options.NEW_FOLDER, required=True, help="Folder of the files.")
def labelled(output: Path) -> None:
    """Make two corpora with label paths: the kernel's documentation, and Java's classes."""
    from benchmarks import labelled as corpora

    expected = {corpus.name: corpus.sha256 for corpus in corpora.LABELLED}
    try:
        for made in corpora.build(output):
            same = "as it was" if made.sha256 == expected[made.name] else "another one"
            file = output / f"{made.name}.ldac"
            click.echo(f"{file}: {made.n_docs:,} documents, sha256 {made.sha256}, {same}")
    except RuntimeError as error:
        raise click.UsageError(str(error)) from error


@cli.command("images")
@click.argument("images", type=options.FILE)
@click.argument("bits", type=options.FILE)
@click.option(
    "--labels", type=options.FILE, help="IDX file of classes; they go to a file beside BITS."
)
@click.option("--side", default=16, show_default=True, help="Pixels per side after pooling.")
@click.option("--threshold", default=0.25, show_default=True, help="Share of the brightest.")
def images(images: Path, bits: Path, labels: Path | None, side: int, threshold: float) -> None:
    """Turn grey IMAGES (IDX, .gz too) into rows of 0 and 1 in BITS (.npy)."""
    from benchmarks import images as pictures

    n_images, share = pictures.convert(images, bits, side, threshold)
    if labels is not None:
        pictures.convert_labels(labels, bits.with_suffix(".labels"))
    click.echo(f"{n_images} images of {side * side} bits, {share:.1%} of them 1")


@cli.command("table")
@click.argument("files", type=options.FILE, nargs=-1, required=True)
def print_tables(files: tuple[Path, ...]) -> None:
    """Print result files as Markdown tables, with the machine and the limits met."""
    found = records.read(files)
    commands = {record["command"] for record in found}
    tables = {name: load(name).table for name in BENCHMARKS if name in commands}
    click.echo(report.render(found, tables))


@cli.command("average")
@click.argument("files", type=options.FILE, nargs=-1, required=True)
def print_averages(files: tuple[Path, ...]) -> None:
    """Average what ``hiertopics eval --json`` printed for many runs over their seeds."""
    click.echo(averages.render([scored for file in files for scored in averages.read(file)]))


@cli.command("golden")
@click.option("--against", help="A commit to compare with, fitted on this machine, too.")
@click.option("--only", default="*", show_default=True, help="Pattern of names, as 'hdp-*'.")
@click.option(
    "--work",
    type=options.NEW_FOLDER,
    help="With --against: where the commit, its kernels and its hashes stay for the next time.",
)
@click.option("-o", "--output", type=options.FILE, help="Write the hashes to this file.")
@click.pass_context
def golden(
    ctx: click.Context, against: str | None, only: str, work: Path | None, output: Path | None
) -> None:
    """Hash small fits of every backend; with --against COMMIT compare: 0 equal, 1 not."""
    from benchmarks import golden as hashes

    def tell(line: str) -> None:
        click.echo(line, err=True)

    try:
        if against is None:
            compared, record = None, hashes.record(only, tell)
        else:
            compared, record = hashes.against(against, only, work, tell)
    except CommandFailed as error:
        raise click.UsageError(str(error)) from error
    if output is not None:
        output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if compared is None:
        if output is None:
            click.echo(json.dumps(record, indent=1))
        ctx.exit(any(result["code"] for result in record["fits"].values()))
    for line in hashes.lines(compared, against or ""):
        click.echo(line)
    ctx.exit(not compared.all_equal)


@cli.command("train-peer", hidden=True)
@options.data
@click.argument("corpus")
@click.argument("split")
@click.argument("name")
@options.seed
@options.iterations
def train_peer(
    data: Path, corpus: str, split: str, name: str, seed: int, iterations: int | None
) -> None:
    """Train a peer and print its score as JSON (``quality`` starts this)."""
    from benchmarks import scoring

    score = scoring.train_peer(Source(data, corpus, split), name, seed, iterations)
    click.echo(json.dumps(score))


@cli.command("tree-corpus", hidden=True)
@options.data
@click.argument("name")
@click.argument("output", type=options.FILE)
def tree_corpus(data: Path, name: str, output: Path) -> None:
    """Write a half of 20 Newsgroups with label paths (``record`` starts this and what follows)."""
    from benchmarks import tree_makers

    click.echo(tree_makers.write_half(data, name, output))


@cli.command("tree-shuffled", hidden=True)
@click.argument("corpus", type=options.FILE)
@click.argument("output", type=options.FILE)
def tree_shuffled(corpus: Path, output: Path) -> None:
    """Write a corpus with its words shuffled over documents."""
    from benchmarks import tree_makers

    tree_makers.write_shuffled(corpus, output)


@cli.command("tree-part", hidden=True)
@click.argument("corpus", type=options.FILE)
@click.argument("output", type=options.FILE)
@click.option("--split")
@click.option("--docs", type=options.FILE)
def tree_part(corpus: Path, output: Path, split: str | None, docs: Path | None) -> None:
    """Write the documents that SPLIT leaves to train on, or whose rows DOCS lists."""
    from benchmarks import tree_makers

    tree_makers.write_part(corpus, output, split, docs)


@cli.command("tree-arranged", hidden=True)
@click.argument("run", type=options.FOLDER)
@click.argument("output", type=options.FILE)
def tree_arranged(run: Path, output: Path) -> None:
    """Write the tree that clustering makes of the topics of a flat run."""
    from benchmarks import tree_makers

    tree_makers.write_arranged(run, output)


@cli.command("make-tree")
@click.argument("system")
@click.argument("corpus", type=options.FILE)
@click.argument("folder", type=options.FOLDER)
@click.argument("seed", type=int)
def make_tree(system: str, corpus: Path, folder: Path, seed: int) -> None:
    """Write the tree of a peer for `hiertopics import`, as a command of `record --system` does."""
    from benchmarks import tree_makers

    tree_makers.make(system, corpus, folder, seed)


@cli.command("record-score", hidden=True)
@click.argument("run", type=options.FOLDER)
@click.argument("corpus", type=options.FILE)
@click.argument("split")
def record_score(run: Path, corpus: Path, split: str) -> None:
    """Print the score of a RUN by the one scorer, and each document's log-likelihoods, as JSON."""
    from benchmarks import record_scores

    click.echo(json.dumps(record_scores.score(run, corpus, split)))


@cli.command("scale-part", hidden=True)
@click.argument("shards", type=options.FOLDER)
@click.argument("output", type=options.NEW_FOLDER)
@click.argument("tokens", type=options.NUMBER)
def scale_part(shards: Path, output: Path, tokens: int) -> None:
    """Write a part of a corpus (``scale`` starts this and what follows)."""
    from benchmarks import scale_parts

    click.echo(scale_parts.take(shards, output, tokens))


@cli.command("scale-score", hidden=True)
@click.argument("shards", type=options.FOLDER)
@click.argument("split")
@click.argument("run", type=options.FOLDER)
def scale_score(shards: Path, split: str, run: Path) -> None:
    """Print the score of a run as JSON."""
    from benchmarks import scale_parts

    click.echo(json.dumps(scale_parts.score(shards, split, run)))


@cli.command("scale-peer", hidden=True)
@click.argument("shards", type=options.FOLDER)
@click.argument("split")
@click.argument("name")
@click.option("--seconds", type=float, required=True)
def scale_peer(shards: Path, split: str, name: str, seconds: float) -> None:
    """Train a peer and print its score as JSON."""
    from benchmarks import scale_parts

    click.echo(json.dumps(scale_parts.train(shards, split, name, seconds)))


@cli.command("scale-cost", hidden=True)
@click.argument("work", type=options.NEW_FOLDER)
@click.argument("shards", type=options.FOLDER, nargs=-1, required=True)
@click.option("--truncation", type=int, required=True)
@click.option("--burn-in", type=int, required=True)
@click.option("--rounds", type=int, required=True)
def scale_cost(
    work: Path, shards: tuple[Path, ...], truncation: int, burn_in: int, rounds: int
) -> None:
    """Print what a token costs at each size, a line of JSON each."""
    from benchmarks import scale_parts

    for record in scale_parts.costs(work, shards, truncation, burn_in, rounds):
        click.echo(json.dumps(record))


@cli.command("score-run")
@options.data
@click.argument("corpus")
@click.argument("split")
@click.argument("run", type=options.FOLDER)
@click.option("--by-paths", is_flag=True, help="As `trees` scores trees, not as flat topics.")
def score_run(data: Path, corpus: str, split: str, run: Path, by_paths: bool) -> None:
    """Print the score of a RUN directory by the benchmark's rules as JSON."""
    from benchmarks import scoring

    score = scoring.score_run(Source(data, corpus, split), run, by_paths=by_paths)
    click.echo(json.dumps(score))
