"""The command line: parse, call one function, append its records, print their table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from benchmarks import averages, records, table
from benchmarks import quality as held_out
from benchmarks.corpora import FILES
from benchmarks.quality import OUR_BACKENDS, OUR_MODELS, PEER_MODELS, Task
from benchmarks.records import Record

Command = Callable[..., Any]

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)
CORPUS = click.Choice(tuple(FILES))
OUR_SPEED = ("hdp-cvb0", "hdp-pcvb0")
PEER_SPEED = ("tomotopy-hdp", "tomotopy-lda-100", "gensim-hdp", "sklearn-lda-100")
AUTHOR_PEERS = ("unigram", "tomotopy-lda-100", "gensim-authors-50")
TREES = ("tomotopy-hlda", "hlda-variational", "hlda-gibbs")
DOCS, TOKENS = "docs:0.1@0", "tokens:0.2@0"

data = click.argument("data", type=FOLDER)
output = click.option("-o", "--output", type=FILE, help="Append the results to this file.")
corpus = click.option("--corpus", type=CORPUS, default="kos", show_default=True)
split = click.option("--split", default=DOCS, show_default=True)
rounds = click.option("--rounds", default=7, show_default=True, help="Measurements per system.")
gamma = click.option("--gamma", default=1.0, show_default=True, help="Of all trees.")
eta = click.option("--eta", default=0.1, show_default=True, help="Of all trees.")
seed = click.option("--seed", default=0, show_default=True)
iterations = click.option("--iterations", type=int, help="Instead of each model's own number.")


def backends(*default: str) -> Callable[[Command], Command]:
    """Return the repeatable option ``--backend``."""
    return click.option("-b", "--backend", multiple=True, default=default, show_default=True)


def truncations(*default: int) -> Callable[[Command], Command]:
    """Return the repeatable option ``--truncation``."""
    return click.option("--truncation", type=int, multiple=True, default=default)


def finish(command: str, results: Iterable[Record], output: Path | None) -> None:
    """Record results one by one, as they come, then print their table."""
    done = [record for result in results for record in records.append(output, command, [result])]
    click.echo(table.render(done))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Measure hiertopics beside its peers; results as JSON Lines, tables on stdout."""


@cli.command()
@click.option("--data", type=FOLDER, help="Check the unigram perplexity of KOS too.")
def selfcheck(data: Path | None) -> None:
    """Check the scorer against a plain one, and what each peer says of its topics."""
    from benchmarks import selfcheck as checks

    for line in checks.run(data):
        click.echo(line)


@cli.command()
@data
@output
@corpus
@split
@rounds
@backends(*OUR_SPEED)
@click.option("--peer", multiple=True, default=PEER_SPEED, show_default=True)
@truncations(100)
def speed(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    rounds: int,
    backend: tuple[str, ...],
    peer: tuple[str, ...],
    truncation: tuple[int, ...],
) -> None:
    """Tokens per second per sweep: one core, all systems in turn."""
    from benchmarks import speed as bench

    results = (
        result
        for size in truncation
        for result in bench.measure(data, corpus, split, backend, peer, size, rounds)
    )
    finish("speed", results, output)


@cli.command()
@data
@output
@corpus
@split
@rounds
@backends(*OUR_SPEED)
@truncations(100, 300)
def floor(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    rounds: int,
    backend: tuple[str, ...],
    truncation: tuple[int, ...],
) -> None:
    """Our sweep in units of the memory floor."""
    from benchmarks import floor as bench

    results = (
        bench.measure(data, corpus, split, name, size, rounds)
        for name in backend
        for size in truncation
    )
    finish("floor", results, output)


@cli.command()
@data
@output
@corpus
@split
@rounds
@click.option("--nodes", type=int, multiple=True, default=(384, 192, 768), show_default=True)
def estep(
    data: Path, output: Path | None, corpus: str, split: str, rounds: int, nodes: tuple[int, ...]
) -> None:
    """The variational tree's E-step in units of one sparse-dense product; parts and sizes."""
    from benchmarks import estep as bench

    finish("estep", bench.measure(data, corpus, split, nodes, rounds), output)


@cli.command()
@data
@output
@corpus
@split
@rounds
@backends(*OUR_SPEED)
@click.option("--only", type=click.Choice(["size", "workers"]), help="One half of it.")
def scaling(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    rounds: int,
    backend: tuple[str, ...],
    only: str | None,
) -> None:
    """Cost against documents and topics; one worker against two."""
    from benchmarks import scaling as bench

    def results() -> Iterable[Record]:
        for name in backend:
            if only != "workers":
                yield from bench.measure_size(data, corpus, split, name, rounds)
            if only != "size":
                yield bench.measure_workers(data, corpus, split, name, rounds)

    finish("scaling", results(), output)


@cli.command()
@data
@output
@click.option("--corpus", type=CORPUS, multiple=True, default=("kos", "ap"), show_default=True)
@click.option("--split", multiple=True, default=(DOCS, TOKENS), show_default=True)
@click.option(
    "--model",
    type=click.Choice((*PEER_MODELS, *OUR_MODELS)),
    multiple=True,
    default=(*PEER_MODELS, *OUR_MODELS),
)
@click.option("--seed", type=int, multiple=True, default=(0, 1, 2), show_default=True)
@iterations
def quality(
    data: Path,
    output: Path | None,
    corpus: tuple[str, ...],
    split: tuple[str, ...],
    model: tuple[str, ...],
    seed: tuple[int, ...],
    iterations: int | None,
) -> None:
    """Held-out perplexity; what the output file already holds is not done again."""
    known = [] if output is None else records.read([output], "quality")
    tasks = held_out.remaining(corpus, split, model, seed, iterations, known)
    click.echo(f"{len(tasks)} models to train", err=True)
    finish("quality", held_out.run(data, tasks), output)


@cli.command()
@data
@output
@click.option("--corpus", type=CORPUS, default="nips", show_default=True)
@split
@click.option("--run", "runs", type=FOLDER, multiple=True, help="A run on this split.")
@click.option("--peer", multiple=True, default=AUTHOR_PEERS, show_default=True)
def authors(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    runs: tuple[Path, ...],
    peer: tuple[str, ...],
) -> None:
    """Documents by authors: before a word, after half of the words, who wrote it."""
    from benchmarks import authors as bench

    finish("authors", bench.measure(data, corpus, split, runs, peer), output)


@cli.command("author-speed")
@data
@output
@click.option("--corpus", type=CORPUS, default="nips", show_default=True)
@split
@backends("chdp-gibbs", "hdp-gibbs", "chdp-variational")
@click.option("--truncation", default=100, show_default=True)
@rounds
def author_speed(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    backend: tuple[str, ...],
    truncation: int,
    rounds: int,
) -> None:
    """Processor time of a sweep at a quarter, a half and all of the documents."""
    from benchmarks import author_speed as bench

    found = bench.measure(data, corpus, split, backend, truncation, rounds)
    finish("author-speed", found, output)


@cli.command("time-to-quality")
@data
@output
@corpus
@split
@click.option("--model", type=click.Choice(OUR_MODELS), multiple=True, default=("hdp-pcvb0-100",))
@seed
@click.option("--peer-sweeps", default=500, show_default=True)
def time_to_quality(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    model: tuple[str, ...],
    seed: int,
    peer_sweeps: int,
) -> None:
    """Wall time of our whole command until it scores like tomotopy's LDA."""
    from benchmarks import time_to_quality as bench

    results = (bench.measure(data, corpus, split, name, seed, peer_sweeps) for name in model)
    finish("time-to-quality", results, output)


@cli.command()
@data
@output
@click.option("--large/--no-large", default=True, help="With 20newsgroups at T=300.")
@iterations
def memory(data: Path, output: Path | None, large: bool, iterations: int | None) -> None:
    """Peak memory of whole fits: KOS at T=100 and 20newsgroups at T=300."""
    from benchmarks import memory as bench

    tasks = [Task("kos", DOCS, f"{name}-100", 0, iterations) for name in OUR_BACKENDS]
    if large:  # 20 iterations reach the peak: all tables exist from the first on
        tasks.append(Task("20newsgroups", DOCS, "hdp-pcvb0-300", 0, iterations or 20))
    finish("memory", (bench.measure(data, task) for task in tasks), output)


@cli.command()
@output
@backends(*OUR_BACKENDS)
def startup(output: Path | None, backend: tuple[str, ...]) -> None:
    """Time of ``hiertopics --help`` and of a second, tiny fit."""
    from benchmarks import startup as bench

    def results() -> Iterable[Record]:
        yield bench.measure_help()
        yield from bench.measure_fits(backend)

    finish("startup", results(), output)


@cli.command()
@data
@output
@click.option("--corpus", type=CORPUS, multiple=True, default=("kos", "ap"), show_default=True)
@split
@click.option("--model", type=click.Choice(TREES), multiple=True, default=TREES)
@click.option("--seed", type=int, multiple=True, default=(0, 1, 2), show_default=True)
@gamma
@eta
def trees(
    data: Path,
    output: Path | None,
    corpus: tuple[str, ...],
    split: str,
    model: tuple[str, ...],
    seed: tuple[int, ...],
    gamma: float,
    eta: float,
) -> None:
    """Held-out perplexity of topic trees of depth 3 beside tomotopy's."""
    from benchmarks import trees as bench
    from benchmarks.tree_models import Prior

    prior = Prior(gamma=gamma, eta=eta)
    finish("trees", bench.quality(data, corpus, split, model, seed, prior), output)


@cli.command("tree-speed")
@data
@output
@corpus
@split
@rounds
@backends("hlda-gibbs-plain", "hlda-gibbs", "hlda-variational")
@gamma
@eta
def tree_speed(
    data: Path,
    output: Path | None,
    corpus: str,
    split: str,
    rounds: int,
    backend: tuple[str, ...],
    gamma: float,
    eta: float,
) -> None:
    """Time of one iteration on a tree of depth 3 beside tomotopy's, in turn."""
    from benchmarks import trees as bench
    from benchmarks.tree_models import Prior

    prior = Prior(gamma=gamma, eta=eta)
    finish("tree-speed", bench.speed(data, corpus, split, backend, rounds, prior), output)


@cli.command("tssb-assign")
@output
@rounds
@click.option("--rows", default=50_000, show_default=True)
@click.option("--columns", default=256, show_default=True, help="Bits per row.")
@click.option("--nodes", default=200, show_default=True)
def tssb_assign(output: Path | None, rounds: int, rows: int, columns: int, nodes: int) -> None:
    """Time of one pass of rows of bits through a tree beside a matrix product, in turn."""
    from benchmarks import tssb as bench

    finish("tssb-assign", bench.measure(rows, columns, nodes, rounds), output)


@cli.command("tree-distance")
@output
@click.argument("runs", type=FOLDER, nargs=-1, required=True)
def tree_distance(runs: tuple[Path, ...], output: Path | None) -> None:
    """Whether rows that differ more stand further apart in the trees of RUNS (Spearman)."""
    from benchmarks import distances

    finish("tree-distance", (distances.measure(run) for run in runs), output)


@cli.command("images")
@click.argument("images", type=FILE)
@click.argument("bits", type=FILE)
@click.option("--labels", type=FILE, help="IDX file of classes; they go to a file beside BITS.")
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
@click.argument("files", type=FILE, nargs=-1, required=True)
def print_tables(files: tuple[Path, ...]) -> None:
    """Print result files as Markdown tables, with the machine and the limits met."""
    click.echo(table.render(records.read(files)))


@cli.command("average")
@click.argument("files", type=FILE, nargs=-1, required=True)
def print_averages(files: tuple[Path, ...]) -> None:
    """Average what ``hiertopics eval --json`` printed for many runs over their seeds."""
    click.echo(averages.render([scored for file in files for scored in averages.read(file)]))


@cli.command("train-peer", hidden=True)
@data
@click.argument("corpus")
@click.argument("split")
@click.argument("name")
@seed
@iterations
def train_peer(
    data: Path, corpus: str, split: str, name: str, seed: int, iterations: int | None
) -> None:
    """Train a peer and print its score as JSON (``quality`` starts this)."""
    from benchmarks import scoring

    click.echo(json.dumps(scoring.train_peer(data, corpus, split, name, seed, iterations)))


@cli.command("score-run")
@data
@click.argument("corpus")
@click.argument("split")
@click.argument("run", type=FOLDER)
@click.option("--by-paths", is_flag=True, help="As `trees` scores trees, not as flat topics.")
def score_run(data: Path, corpus: str, split: str, run: Path, by_paths: bool) -> None:
    """Print the score of a RUN directory by the benchmark's rules as JSON."""
    from benchmarks import scoring

    click.echo(json.dumps(scoring.score_run(data, corpus, split, run, by_paths=by_paths)))
