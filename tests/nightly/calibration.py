"""Calibration: do simulated truths rank evenly among the draws of a fit, and does the law stay?

For every sampler: ``simulate`` with hyperparameters from the fit's own priors, ``fit`` from its own
start, and the rank of the truth among thinned draws, for hyperparameters, the objective and what
metrics.jsonl says of the structure (S. Talts and others: Validating Bayesian inference algorithms
with simulation-based calibration, 2018). Ranks are uniform if story and sampler are right and the
chain is long enough. The second part needs no burn-in: tests/truth.py, with more replicates.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any, NamedTuple

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # each of the processes has one core

import numpy as np  # noqa: E402
import records  # noqa: E402
from joint import Outcome  # noqa: E402
from scipy import stats  # noqa: E402
from truth import CASES, NIGHTLY, Case, judged, replicate  # noqa: E402

import hiertopics  # noqa: E402
from hiertopics.base import archives  # noqa: E402
from hiertopics.base.arrays import I64  # noqa: E402
from hiertopics.base.errors import HiertopicsError  # noqa: E402
from hiertopics.contract.model import Settings, Sizes  # noqa: E402
from hiertopics.runs.experiment import read_experiment  # noqa: E402

DECIDE = (
    "hiertopics/families",
    "hiertopics/numeric",
    "hiertopics/contract/model.py",
    "hiertopics/base/seeds.py",
    "tests/truth.py",
    "tests/nightly/calibration.py",
)
STAYS = {**CASES, **NIGHTLY}
N_DRAWS, N_BINS = 31, 8
LARGEST_Z, SMALLEST_P = 4.2, 1e-4
FAILED = "failed"
AT_ONCE = 50
"""Replicates of a line of the ledger, of the second part."""


class Plan(NamedTuple):
    """How long the chains of a case are: iterations before the first draw, and between two.

    metrics.jsonl has a line for each multiple of ``thin``, and one for the last iteration: burn_in
    is a multiple, so that draws are as many as ranks are judged by.
    """

    burn_in: int
    thin: int
    sizes: Sizes

    @property
    def iterations(self) -> int:
        """The length of a fit."""
        return self.burn_in + N_DRAWS * self.thin


DOCS, GROUPED = Sizes(n_docs=12, n_words=8, doc_length=10), Sizes(24, 8, 8)
PLANS = {
    "hdp-gibbs": Plan(520, 40, DOCS),
    "lda-gibbs": Plan(520, 40, DOCS),
    "hlda-gibbs": Plan(300, 20, DOCS),
    "chdp-gibbs": Plan(1980, 60, GROUPED),
    "tssb-mcmc": Plan(300, 20, DOCS),
}
"""Not nhdp-gibbs: a fit finds the shape of its tree in the corpus, the truth's has no rank."""


def rank(name: str, seed: int) -> dict[str, int]:
    """Return the rank of each statistic of a truth among the draws of a fit, ties by chance."""
    case, plan = CASES[name], PLANS[CASES[name].backend]
    with tempfile.TemporaryDirectory() as folder:
        true, corpus = simulated(case, plan.sizes, seed, Path(folder))
        draws = fitted(case, plan, corpus, seed, Path(folder) / "run")
    rng = np.random.default_rng((seed, 2))
    ranks = {}
    for column in sorted(set(true) & set(draws[0])):
        values = np.array([draw[column] for draw in draws])
        # The objective is summed in another order for the truth: equal up to its last digits.
        gap = 1e-9 * max(1.0, abs(true[column]))
        below = int((values < true[column] - gap).sum())
        ties = int((np.abs(values - true[column]) <= gap).sum())
        ranks[column] = below + int(rng.integers(ties + 1))
    return ranks


def simulated(case: Case, sizes: Sizes, seed: int, folder: Path) -> tuple[dict[str, float], Any]:
    """Return the statistics of a simulated truth, and its corpus."""
    suffix = ".npy" if "model.likelihood=binary" in case.overrides else ".npz"
    drawn = hiertopics.simulate(
        case.backend,
        folder / f"drawn{suffix}",
        **sizes._asdict(),
        seed=seed,
        overrides=case.overrides,
        draw_hyperparameters=True,
    )
    experiment = read_experiment({"backend": case.backend}, None, case.overrides)
    settings = Settings(experiment.model, experiment.inference)
    data = case.module.prepare(drawn.corpus, settings)
    truth = archives.read_npz(drawn.truth)
    state = case.start(data, truth, settings, np.random.default_rng((seed, 1)))
    return case.statistics(state, data, settings), drawn.corpus


def fitted(case: Case, plan: Plan, corpus: Any, seed: int, run: Path) -> list[dict[str, float]]:
    """Return the lines of metrics.jsonl that are draws."""
    keys = {
        "output.record_every": plan.thin,
        "inference.burn_in": plan.burn_in,
        "inference.keep_every": plan.iterations,
    }
    made = hiertopics.fit(
        corpus,
        backend=case.backend,
        run=run,
        seed=seed,
        iterations=plan.iterations,
        holdout="none",
        overrides=(*case.overrides, *(f"{key}={value}" for key, value in keys.items())),
    )
    return [line for line in made.metrics() if line["iteration"] > plan.burn_in]


def stay(name: str, first: int, n_steps: int) -> dict[str, list[list[float]]]:
    """Return each statistic of some replicates, at the truth and after the steps."""
    runs = [replicate(STAYS[name], first + n, n_steps) for n in range(AT_ONCE)]
    names = runs[0][0]
    return {key: [[float(f"{side[key]:.9g}") for side in pair] for pair in runs] for key in names}


class Work(NamedTuple):
    """A line of the ledger to come: rank or stay, of which case, from which seed."""

    part: str
    name: str
    seed: int
    n_steps: int

    @property
    def key(self) -> str:
        """Its key."""
        return f"{self.part} {self.name} {self.seed} {self.n_steps}"

    def do(self) -> Any:
        """Return what the line says; a fit that fails says why."""
        try:
            if self.part == "rank":
                return rank(self.name, self.seed)
            return stay(self.name, self.seed, self.n_steps)
        except HiertopicsError as error:
            return {FAILED: str(error)}


def works(given: argparse.Namespace) -> Iterator[Work]:
    """Yield all lines, a little of every case at a time."""
    n_ranks, n_stays = given.ranks * (1 + given.long), given.stays * (1 + given.long)
    for start in range(0, max(n_ranks, n_stays), AT_ONCE):
        for name in given.only or STAYS:
            if start < n_stays:
                yield Work("stay", name, start, given.steps)
            ranked = name in CASES and CASES[name].backend in PLANS
            last = min(start + AT_ONCE, n_ranks) if ranked else start
            for seed in range(start, last):
                yield Work("rank", name, seed, 0)


def run(given: argparse.Namespace, ledger: records.Ledger) -> bool:
    """Fill the ledger; return whether all was done in time."""
    deadline, known = records.Deadline(given.minutes), {row["key"] for row in ledger.rows()}
    waiting = iter([work for work in works(given) if work.key not in known])
    running: dict[Future[Any], Work] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.processes, mp_context=context) as pool:
        while True:
            while len(running) < 2 * given.processes and not deadline.over:
                work = next(waiting, None)
                if work is None:
                    break
                running[pool.submit(work.do)] = work
            if not running:
                return next(waiting, None) is None
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                work = running.pop(future)
                ledger.add(work.key, part=work.part, name=work.name, said=future.result())


def p_values(ranks: I64) -> tuple[float, float]:
    """Return p of the chi-square over bins and of Kolmogorov and Smirnov, for uniform ranks."""
    counts = np.bincount(ranks * N_BINS // (N_DRAWS + 1), minlength=N_BINS)
    spread = (ranks + np.random.default_rng(0).random(len(ranks))) / (N_DRAWS + 1)
    return float(stats.chisquare(counts).pvalue), float(stats.kstest(spread, "uniform").pvalue)


def said(ledger: records.Ledger, part: str) -> dict[str, list[Any]]:
    """Return what the ledger has of a part, by case, in the order of cases."""
    found: dict[str, dict[str, Any]] = {name: {} for name in STAYS}
    for row in ledger.rows():
        if row["part"] == part and FAILED not in row["said"]:
            found[row["name"]][row["key"]] = row["said"]
    return {name: list(lines.values()) for name, lines in found.items() if lines}


def calibrated(ledger: records.Ledger) -> dict[str, tuple[int, dict[str, tuple[float, float]]]]:
    """Return for each case its replicates and the p values of its statistics."""
    found = {}
    for name, lines in said(ledger, "rank").items():
        ranks = {key: np.array([line[key] for line in lines]) for key in lines[0]}
        found[name] = (len(lines), {key: p_values(each) for key, each in ranks.items()})
    return found


def stayed(ledger: records.Ledger) -> dict[str, tuple[int, Outcome]]:
    """Return for each case its replicates and what they say."""
    found = {}
    for name, lines in said(ledger, "stay").items():
        runs: Any = [
            tuple({key: line[key][n][side] for key in line} for side in (0, 1))
            for line in lines
            for n in range(AT_ONCE)
        ]
        found[name] = (len(runs), judged(STAYS[name], runs))
    return found


def table_of_ranks(ledger: records.Ledger) -> str:
    """Return the table of calibration."""
    lines = [
        "| sampler | fits | p of each statistic: chi-square, Kolmogorov-Smirnov |",
        "| --- | --- | --- |",
    ]
    for name, (n, found) in calibrated(ledger).items():
        cells = (f"{key} {chi:.2g}, {ks:.2g}" for key, (chi, ks) in found.items())
        lines.append(f"| {name} | {n} | {'; '.join(cells)} |")
    return "\n".join(lines)


def table_of_stays(ledger: records.Ledger) -> str:
    """Return the table of starts at the truth."""
    lines = [
        "| sampler | replicates | largest z of how many statistics | p of hyperparameters |",
        "| --- | --- | --- | --- |",
    ]
    for name, (n, outcome) in stayed(ledger).items():
        worst = max(outcome.z_scores, key=lambda key: abs(outcome.z_scores[key]))
        p = ", ".join(f"{key} {value:.2g}" for key, value in outcome.p_values.items())
        z = f"{outcome.z_scores[worst]:+.1f} ({worst}) of {len(outcome.z_scores)}"
        lines.append(f"| {name} | {n} | {z} | {p} |")
    return "\n".join(lines)


def faults(ledger: records.Ledger) -> list[str]:
    """Return what is too unlikely of samplers that are right."""
    found = [
        f"{row['key']} failed: {row['said'][FAILED]}"
        for row in ledger.rows()
        if FAILED in row["said"]
    ]
    found += [
        f"{name}: rank of {key}, p {min(both):.2g}"
        for name, (_, by_key) in calibrated(ledger).items()
        for key, both in by_key.items()
        if min(both) < SMALLEST_P
    ]
    for name, (_, outcome) in stayed(ledger).items():
        for key, z in outcome.z_scores.items():
            if abs(z) > LARGEST_Z:
                found.append(f"{name}: {key} moves away from the truth, z {z:+.1f}")
        for key, p in outcome.p_values.items():
            if p < SMALLEST_P:
                found.append(f"{name}: {key} leaves its prior, p {p:.2g}")
    return found


def main(words: list[str] | None = None) -> int:
    """Run, or print the ledger; return the exit code."""
    parser = records.parser(str(__doc__).partition("\n")[0])
    parser.add_argument("--ranks", type=int, default=200, help="fits of each case (default 200)")
    parser.add_argument(
        "--stays", type=int, default=2000, help="replicates from the truth on (default 2000)"
    )
    parser.add_argument("--steps", type=int, default=6, help="their steps (default 6)")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", action="append", choices=[*STAYS], help="this case alone")
    given = parser.parse_args(words)
    ledger = records.Ledger("calibration", *DECIDE)
    ranks, stays = table_of_ranks(ledger), table_of_stays(ledger)
    if given.table:
        print(ranks, stays, sep="\n\n")
    if given.write is not None:
        records.rewrite(given.write, "calibration", ranks)
        records.rewrite(given.write, "truth", stays)
    if given.table or given.write is not None:
        return records.PASSED
    whole = run(given, ledger)
    print(table_of_ranks(ledger), table_of_stays(ledger), *faults(ledger), sep="\n\n")
    if faults(ledger):
        return records.FOUND
    return records.PASSED if whole else records.TIME_IS_UP


if __name__ == "__main__":
    sys.exit(main())
