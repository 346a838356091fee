"""Fits whose bytes are compared between commits: every backend with every variant, made small.

Free of numpy and of the package: the command line reads this list, and fits it with the package
of any commit. So settings have the names that earlier commits know, as config files of users may.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from benchmarks.process import ROOT

ITERATIONS = 12
SEEDS = (0, 1)
SAMPLE, PLANTED = "docstrings", "planted"
TABLE, BITS, LINKS = "table", "bits", "links"
TEXT = (SAMPLE, PLANTED)

SEEDWORDS = "model.seeds={files: [file, path], time: [time, date]}"
FEW = "inference.responsibilities=few"
BURSTS = ("model.bursts=document", "inference.burst_start=2")
SHARDS = "inference.shards=3"
CHAINS = "inference.chains=2"
LABELS = "model.parents=labels"
MAXIMUM = "model.cooperation=maximization"
PARTIAL = "inference.collapse=partial"
DRAWS = ("inference.burn_in=4", "inference.keep_every=4")
LEARNING = "inference.hyper_start=3"
START = "inference.start_iterations=15"

Variants = Mapping[str, tuple[str, ...]]

DEFAULT = "default"
AA: Variants = {"AA": ("model.prior=AA",)}
UNORDERED: Variants = {"unordered": ("inference.reorder_sticks=false",)}
PRINTED: Variants = {"printed": ("inference.denominator=G",)}
ON_FIRST = ("few", "partial", "branches")
"""Variants that the planted corpus is too small for."""


class Family(NamedTuple):
    """Fits of one backend. settings: of all its variants.

    corpora: the default is fitted on all, variants in ``ON_FIRST`` on the first, others on the
    last.
    """

    backend: str
    settings: tuple[str, ...]
    variants: Variants
    corpora: tuple[str, ...] = TEXT


FLAT = ("model.truncation=12", LEARNING)
ZERO_ORDER: Variants = {
    DEFAULT: (),
    "few": (FEW,),
    "all": ("inference.responsibilities=all",),
    **AA,
    **UNORDERED,
    "shards": (SHARDS,),
    "few-shards": (FEW, SHARDS),
    "sampled": ("inference.start=sampled", "inference.start_sweeps=8"),
    "bursts": BURSTS,
    "bursts-few": (*BURSTS, FEW),
    "bursts-shards": (*BURSTS, SHARDS),
}
SECOND_ORDER: Variants = {DEFAULT: (), **AA, **UNORDERED, "shards": (SHARDS,)}
TREE = (*DRAWS, "model.depth=3")
NESTED = ("model.truncation=40", START)
NESTED_VARIANTS: Variants = {
    DEFAULT: (),
    "random": ("inference.start=random",),
    "branches": ("inference.start=branches", "model.truncation=220"),
    "cuts": ("model.branches=[4]",),
    "few": (FEW,),
    "all": ("inference.responsibilities=all",),
    "shards": (SHARDS,),
    "least": ("inference.least=0",),
}
COOPERATIVE: Variants = {
    DEFAULT: (),
    "labels": (LABELS,),
    "learned": ("model.weights=learned",),
    "maximization": (MAXIMUM,),
    "shards": (SHARDS,),
}

FAMILIES = (
    Family("hdp-pcvb0", FLAT, ZERO_ORDER),
    Family("hdp-pcvb0", FLAT, {"links": ()}, (LINKS,)),
    Family("hdp-pcvb0", FLAT, {"bins": ("data.from=vectors", "data.discretise.bins=3")}, (TABLE,)),
    Family("hdp-cvb0", FLAT, {**ZERO_ORDER, **PRINTED}),
    Family("hdp-pcvb", FLAT, SECOND_ORDER),
    Family("hdp-cvb", FLAT, {**SECOND_ORDER, **PRINTED}),
    Family(
        "hdp-gibbs",
        (*FLAT, *DRAWS),
        {
            DEFAULT: (),
            **AA,
            "dense": ("inference.sweep=dense",),
            **UNORDERED,
            "shards": (SHARDS,),
            "chains": (CHAINS, "inference.summarise=map"),
            "partial": (PARTIAL,),
            "partial-uniform": (PARTIAL, "inference.start=uniform"),
            "partial-shards": (PARTIAL, SHARDS),
            "partial-chains": (PARTIAL, CHAINS),
            "bursts": BURSTS,
            "bursts-dense": (*BURSTS, "inference.sweep=dense"),
            "bursts-shards": (*BURSTS, SHARDS),
            "bursts-partial": (*BURSTS, PARTIAL),
            "bursts-partial-shards": (*BURSTS, PARTIAL, SHARDS),
        },
    ),
    Family(
        "hlda-variational",
        ("inference.start_sweeps=8", LEARNING),
        {
            DEFAULT: (),
            "learned": (
                "inference.learn_gamma=true",
                "inference.learn_eta=true",
                "inference.learn_level_prior=true",
            ),
            "gibbs": ("inference.start=gibbs",),
            "root": ("inference.start=root",),
            "paper": ("inference.start=overcomplete", "inference.moves=paper"),
            "unmoved": ("inference.moves=none",),
            "unguarded": ("inference.guard_moves=false",),
            "meanfield": ("inference.mode=meanfield",),
            "batches": ("inference.batch_size=100",),
            "shards": (SHARDS,),
            "depth": ("model.depth=4",),
        },
    ),
    Family(
        "hlda-gibbs",
        TREE,
        {
            DEFAULT: (),
            "sequential": ("inference.start=sequential",),
            "drawn": (
                "inference.sample_gamma=true",
                "inference.sample_eta=true",
                "inference.sample_level_prior=true",
            ),
            "partial": (PARTIAL,),
            "partial-shards": (PARTIAL, SHARDS),
            "chains": (CHAINS,),
            "restarts": (
                "inference.restarts=2",
                "inference.restart_iterations=3",
                "inference.burn_in=6",
            ),
        },
    ),
    Family(
        "nhdp-variational",
        NESTED,
        {
            **NESTED_VARIANTS,
            "learned": ("model.stop=learned",),
            "trials": ("inference.trials=0",),
            "bursts": BURSTS,
            "bursts-few": (*BURSTS, FEW),
            "bursts-shards": (*BURSTS, SHARDS),
        },
    ),
    Family(
        "nhdp-gibbs",
        (*NESTED, *DRAWS, "inference.variational_sweeps=5"),
        {
            **NESTED_VARIANTS,
            "fixed": ("inference.sample_eta=false", "model.stop=fixed"),
            "chains": (CHAINS,),
            "dense": ("inference.sweep=dense",),
            "bursts": BURSTS,
            "bursts-drawn": (*BURSTS, "inference.burst_aside=0"),
            "bursts-dense": (*BURSTS, "inference.sweep=dense"),
            "bursts-shards": (*BURSTS, SHARDS),
        },
    ),
    Family(
        "chdp-gibbs",
        (*FLAT, *DRAWS),
        {
            **COOPERATIVE,
            **UNORDERED,
            "dense": ("inference.sweep=dense",),
            "irp": ("inference.sampler=irp",),
            "irp-maximization": ("inference.sampler=irp", MAXIMUM),
            "chains": (CHAINS,),
        },
        (SAMPLE,),
    ),
    Family("chdp-gibbs", (*FLAT, *DRAWS, LABELS), {"planted": ()}, (PLANTED,)),
    Family(
        "chdp-variational",
        FLAT,
        {
            **COOPERATIVE,
            "group-mass": ("inference.fit_alpha_group=true",),
            "normaliser": (MAXIMUM, "inference.fit_normaliser=true"),
            "sticks": ("inference.method=sticks", "inference.tables=3", "inference.options=4"),
        },
        (SAMPLE,),
    ),
    Family("chdp-variational", (*FLAT, LABELS), {"planted": ()}, (PLANTED,)),
    Family(
        "tssb-mcmc",
        (*DRAWS, "model.n_topics=8", "inference.start_sweeps=5"),
        {
            DEFAULT: (),
            "root": ("inference.start=root",),
            "prior": ("inference.start=prior",),
            "paper": ("inference.settle_every=0",),
            "chains": (CHAINS,),
        },
        (PLANTED,),
    ),
    Family(
        "tssb-mcmc",
        (*DRAWS, "model.likelihood=binary", "data.from=vectors"),
        {"binary": (), "binary-slices": ("inference.slice_every=1", "model.persistence=0.9")},
        (BITS,),
    ),
    Family(
        "lda-gibbs",
        (*DRAWS, "model.n_topics=10", LEARNING),
        {
            DEFAULT: (),
            "sparse": ("inference.sweep=sparse",),
            "asymmetric": ("model.prior=asymmetric",),
            "chains": (CHAINS,),
            "bursts": BURSTS,
        },
    ),
    Family("multinomial", (), {DEFAULT: ()}),
    Family(
        "hca-variational",
        ("data.from=vectors", "model.max_nodes=8", "inference.trial_sweeps=5"),
        {
            DEFAULT: (),
            "residuals": ("inference.start=residuals",),
            "axes": ("inference.start=axes",),
            "separate": ("inference.vectors=separate",),
            "meanfield": ("inference.mode=meanfield",),
        },
        (TABLE,),
    ),
)

SEEDED = ("hdp-pcvb0", "hdp-cvb", "hdp-gibbs", "hlda-gibbs", "nhdp-variational", "nhdp-gibbs")
"""Backends that are also fitted with seed words, which the sample corpus has."""


class Fit(NamedTuple):
    """One fit: its name, and the words of its command without the run's folder."""

    name: str
    words: list[str]


def fits(folder: Path, only: str = "*") -> list[Fit]:
    """Return the fits whose name matches a pattern, on the corpora of ``write_corpora(folder)``."""
    paths = {
        SAMPLE: ROOT / "data-samples" / "docstrings.ldac",
        PLANTED: ROOT / "data-samples" / "planted.ldac",
        TABLE: folder / "table.csv",
        BITS: folder / "bits.csv",
        LINKS: folder / "links.edges",
    }
    return [
        Fit(name, _words(family.backend, paths[corpus], seed, settings))
        for family, variant, corpus, settings in _variants()
        for seed in SEEDS
        if fnmatch(name := f"{family.backend}/{variant}/{corpus}/{seed}", only)
    ]


def _variants() -> Iterator[tuple[Family, str, str, tuple[str, ...]]]:
    for family in FAMILIES:
        for variant, settings in family.variants.items():
            corpora = family.corpora if variant == DEFAULT else family.corpora[-1:]
            for corpus in family.corpora[:1] if variant in ON_FIRST else corpora:
                yield family, variant, corpus, (*family.settings, *settings)
        if family.backend in SEEDED and SAMPLE in family.corpora:
            yield family, "seeds", SAMPLE, (*family.settings, SEEDWORDS)


def _words(backend: str, corpus: Path, seed: int, settings: tuple[str, ...]) -> list[str]:
    holdout = "links:0.1@0" if corpus.suffix == ".edges" else "docs:0.1@0"
    fixed = ["--iterations", str(ITERATIONS), "--seed", str(seed), "--holdout", holdout, "-q"]
    words = ["fit", str(corpus), "-b", backend, *fixed]
    return words + [word for setting in settings for word in ("-s", setting)]


def write_corpora(folder: Path) -> None:
    """Write rows of numbers, rows of 0 and 1 and a graph, all by whole-number arithmetic."""
    numbers = [
        [(10 * (row % 3) * (column + 1) + (37 * row + 11 * column) % 13) / 4 for column in range(6)]
        for row in range(90)
    ]
    bits = [
        [int((29 * row + 17 * column) % 11 < (8 if row % 3 == column % 3 else 2)) for column in _8]
        for row in range(90)
    ]
    _write_table(folder / "table.csv", numbers)
    _write_table(folder / "bits.csv", bits)
    edges = [
        f"n{one:02d} n{other:02d}\n"
        for one in range(60)
        for other in range(one)
        if (31 * one + 17 * other) % 23 < (20 if one % 3 == other % 3 else 8)
    ]
    (folder / "links.edges").write_text("".join(edges), encoding="utf-8")


_8 = range(8)


def _write_table(path: Path, rows: list[list[float]] | list[list[int]]) -> None:
    header = ",".join(f"c{column}" for column in range(len(rows[0])))
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
