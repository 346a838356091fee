"""Result records as Markdown tables: what docs/benchmarks.md holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median, stdev

from benchmarks.figures import figures, latest, split_kind
from benchmarks.records import Record

MIB = 2**20
LEAST_CORE_SHARE = 0.97


def render(records: Sequence[Record]) -> str:
    """Return a table per command found in ``records``, the figures aimed at, the machines."""
    parts = []
    for command, make in TABLES.items():
        mine = [record for record in records if record["command"] == command]
        if mine:
            parts.append(f"### {command}\n\n{make(mine)}")
    aims = [
        (figure.name, figure.shown, figure.limit_shown, "yes" if figure.met else "**no**")
        for figure in figures(records)
    ]
    if aims:
        parts.append("### Figures aimed at\n\n" + markdown("figure|measured|limit|met", aims))
    parts.append("### Machine\n\n" + _machines(records))
    if any(record.get("core_share", 1.0) < LEAST_CORE_SHARE for record in records):
        parts.append("**Some timings shared their core with other processes: run them again.**")
    return "\n\n".join(parts)


def markdown(heads: str, rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; ``heads`` are separated by bars."""
    names = heads.split("|")
    lines = [names, ["---"] * len(names), *([str(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _speed(records: Sequence[Record]) -> str:
    kept = latest(records, "corpus", "split", "system", "truncation")
    peers = [record["system"] for record in kept if record["truncation"] is None]
    rows = [
        (
            record["system"],
            record["truncation"] or "",
            record["live_topics"],
            f"{1000 * median(record['seconds_per_sweep']):.1f}",
            f"{record['tokens_per_second']:,.0f}",
            *(_times(record["speed_ratio"].get(peer)) for peer in peers),
        )
        for record in kept
    ]
    heads = "system|T|topics|ms per sweep|tokens/s"
    return markdown("|".join([heads, *(f"against {peer}" for peer in peers)]), rows)


def _floor(records: Sequence[Record]) -> str:
    rows = [
        (
            record["backend"],
            record["truncation"],
            *(f"{1000 * median(values):.1f}" for values in record["seconds"].values()),
            f"{record['ratio']:.2f}",
            f"{record['responsibilities_gb_per_second']:.0f}",
            f"{record['word_rows_gb_per_second']:.0f}",
        )
        for record in latest(records, "corpus", "split", "backend", "truncation")
    ]
    return markdown(
        "backend|T|sweep, ms|responsibilities, ms|word rows, ms|sweep / floor"
        "|responsibilities, GB/s|word rows, GB/s",
        rows,
    )


def _estep(records: Sequence[Record]) -> str:
    rows = [
        (
            record["corpus"],
            f"{record['share']:g}",
            record["nodes"],
            f"{1000 * median(record['seconds']):.1f}",
            f"{1000 * median(record['product_seconds']):.1f}",
            _times(record["ratio"]),
            f"{record['relative_cost']:.2f}",
        )
        for record in latest(records, "corpus", "split", "share", "size")
    ]
    return markdown(
        "corpus|documents|nodes|E-step, ms|product, ms|E-step / product"
        "|cost per pair and node, first size = 1",
        rows,
    )


def _scaling(records: Sequence[Record]) -> str:
    sizes = latest(
        [record for record in records if record["kind"] == "size"],
        "corpus",
        "split",
        "backend",
        "share",
        "truncation",
    )
    workers = latest(
        [record for record in records if record["kind"] == "workers"], "corpus", "split", "backend"
    )
    parts = []
    if sizes:
        rows = [
            (
                record["backend"],
                f"{record['share']:g}",
                record["truncation"],
                f"{record['n_tokens']:,}",
                f"{1000 * median(record['seconds_per_sweep']):.1f}",
                f"{record['relative_cost']:.2f}",
            )
            for record in sizes
        ]
        heads = "backend|documents|T|tokens|ms per sweep|cost per pair and topic, all at T=100 = 1"
        parts.append(markdown(heads, rows))
    if workers:
        rows = [
            (
                record["backend"],
                *(f"{value:.1f}" for value in record["milliseconds"].values()),
                _times(record["speed_up"]),
                _times(record["speed_up_equal_shards"]),
            )
            for record in workers
        ]
        heads = "backend|1 worker, ms|1 worker, 2 shards, ms|2 workers, 2 shards, ms"
        parts.append(markdown(f"{heads}|speed-up|at equal shards", rows))
    return "\n\n".join(parts)


def _quality(records: Sequence[Record]) -> str:
    groups: dict[tuple[str, str, str], list[Record]] = {}
    kept = latest(records, "corpus", "split", "model", "seed", "iterations")
    for record in sorted(kept, key=lambda record: (record["corpus"], record["split"])):
        key = (record["corpus"], record["split"], record["model"])
        groups.setdefault(key, []).append(record)
    rows = []
    for (corpus, split, model), group in groups.items():
        scores = [record["perplexity"] for record in group]
        command = [r["command_seconds"] for r in group if "command_seconds" in r]
        rows.append(
            (
                corpus,
                split_kind(split),
                model,
                _range(record["sweeps"] for record in group),
                _range(record["topics"] for record in group),
                f"{mean(scores):.0f}",
                f"{stdev(scores):.0f}" if len(scores) > 1 else "",
                len(scores),
                _range(f"{record['prior_strength']:.3g}" for record in group),
                f"{mean(record['train_seconds'] for record in group):.1f}",
                f"{mean(command):.1f}" if command else "",
                f"{max(record['peak_bytes'] for record in group) / MIB:.0f}",
            )
        )
    return markdown(
        "corpus|split|model|sweeps|topics|perplexity|sd|seeds|prior strength"
        "|training, s|whole command, s|peak, MiB",
        rows,
    )


def _authors(records: Sequence[Record]) -> str:
    rows = [
        (
            record["model"],
            record["topics"],
            f"{record['before']:.0f}",
            f"{record['half']:.0f}",
            f"{record['mrr']:.3f}" if "mrr" in record else "",
            f"{record['precision_at_1']:.3f}" if "mrr" in record else "",
            f"{record['seconds']:.0f}",
        )
        for record in latest(records, "corpus", "split", "model")
    ]
    return markdown(
        "model|topics|before a word|half observed|reciprocal rank|precision at 1|training, s", rows
    )


def _author_speed(records: Sequence[Record]) -> str:
    rows = [
        (
            record["backend"],
            record["truncation"],
            f"{record['share']:g}",
            f"{record['n_tokens']:,}",
            f"{1000 * median(record['seconds_per_sweep']):.0f}",
            f"{record['tokens_per_second'] / 1e6:.2f}",
        )
        for record in latest(records, "corpus", "split", "backend", "share", "truncation")
    ]
    return markdown("backend|T|documents|tokens|ms per sweep|million tokens/s", rows)


def _trees(records: Sequence[Record]) -> str:
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in latest(records, "corpus", "split", "model", "seed", "hyperparameters"):
        key = (record["corpus"], record["hyperparameters"], record["model"])
        groups.setdefault(key, []).append(record)
    rows = [
        (
            corpus,
            model,
            hyperparameters,
            _range(record["sweeps"] for record in group),
            _range(record["nodes"] for record in group),
            _spread([record["perplexity"] for record in group]),
            _spread([record["path_perplexity"] for record in group]),
            f"{mean(record['standard_error'] for record in group):.4f}",
            len(group),
            f"{mean(record['train_seconds'] for record in group):.0f}",
        )
        for (corpus, hyperparameters, model), group in sorted(groups.items())
    ]
    return markdown(
        "corpus|model|hyperparameters|sweeps|nodes|perplexity|path perplexity"
        "|standard error (nats)|seeds|training, s",
        rows,
    )


def _tree_speed(records: Sequence[Record]) -> str:
    rows = [
        (
            record["corpus"],
            record["system"],
            record["nodes"],
            f"{1000 * median(record['seconds_per_sweep']):.1f}",
            f"{record['tokens_per_second']:,.0f}",
            _times(record["time_ratio"]),
        )
        for record in latest(records, "corpus", "split", "system")
    ]
    return markdown("corpus|system|nodes|ms per sweep|tokens/s|time against tomotopy-hlda", rows)


def _tssb_assign(records: Sequence[Record]) -> str:
    rows = [
        (
            f"{record['rows']:,} x {record['columns']}",
            record["nodes"],
            record["system"],
            f"{1000 * median(record['seconds_per_sweep']):.1f}",
            f"{record['rows_per_second']:,.0f}",
            _times(record["time_ratio"]),
        )
        for record in latest(records, "rows", "columns", "system")
    ]
    return markdown("rows x bits|nodes|system|ms|rows/s|time against the product", rows)


def _tree_distance(records: Sequence[Record]) -> str:
    rows = [
        (
            record["run"],
            record["rows"],
            record["nodes"],
            f"{record['spearman']:.3f}",
            record["draws"],
            f"{record['spearman_of_draws']:.3f}",
        )
        for record in latest(records, "run")
    ]
    return markdown("run|rows|nodes|Spearman|draws|Spearman of the mean over draws", rows)


def _time_to_quality(records: Sequence[Record]) -> str:
    rows = [
        (
            record["model"],
            record["corpus"],
            f"{record['peer']['perplexity']:.0f}",
            f"{record['peer']['train_seconds']:.1f}",
            f"{record['tried'][-1]['perplexity']:.0f}",
            record["tried"][-1]["iterations"],
            "never" if record["seconds"] is None else f"{record['seconds']:.2f}",
            "" if record["ratio"] is None else f"{record['ratio']:.3f}",
        )
        for record in latest(records, "corpus", "split", "model", "seed")
    ]
    return markdown(
        "model|corpus|LDA's perplexity|LDA's training, s|perplexity|iterations"
        "|whole command, s|ratio",
        rows,
    )


def _memory(records: Sequence[Record]) -> str:
    rows = [
        (record["corpus"], record["model"], f"{record['peak_bytes'] / MIB:.0f}")
        for record in latest(records, "corpus", "split", "model")
    ]
    return markdown("corpus|model|peak of the whole fit, MiB", rows)


def _startup(records: Sequence[Record]) -> str:
    rows = [
        (
            "--help" if record["kind"] == "help" else f"second fit, {record['backend']}",
            f"{record['median_seconds']:.3f}",
            ", ".join(record.get("heavy", [])),
        )
        for record in latest(records, "kind", "backend")
    ]
    return markdown("command|median, s|heavy packages imported", rows)


def _machines(records: Sequence[Record]) -> str:
    lines = []
    for record in records:
        machine = record["machine"]
        versions = ", ".join(f"{name} {value}" for name, value in machine["versions"].items())
        lines.append(
            f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
            f"{machine['system']}; {versions}"
        )
    return "\n\n".join(dict.fromkeys(lines))


def _spread(values: Sequence[float]) -> str:
    return f"{mean(values):.0f}" + (f" ± {stdev(values):.0f}" if len(values) > 1 else "")


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}x"


def _range(values: Iterable[object]) -> str:
    found = list(dict.fromkeys(values))
    return str(found[0]) if len(found) == 1 else ", ".join(str(value) for value in found)


TABLES: dict[str, Callable[[Sequence[Record]], str]] = {
    "speed": _speed,
    "floor": _floor,
    "scaling": _scaling,
    "estep": _estep,
    "quality": _quality,
    "authors": _authors,
    "author-speed": _author_speed,
    "trees": _trees,
    "tree-speed": _tree_speed,
    "tssb-assign": _tssb_assign,
    "tree-distance": _tree_distance,
    "time-to-quality": _time_to_quality,
    "memory": _memory,
    "startup": _startup,
}
