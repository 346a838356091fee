"""The runs that are kept as they were written, and what is asked of them.

A case is a fit of a few iterations to a small corpus beside the runs; all paths are relative to
the folder that holds both. ``record.py`` makes the runs and the answers, and ``test_oldruns.py``
asks again.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
PROGRAMS = tuple(sorted(path.parent.name for path in HERE.glob("*/machine.json")))
"""The programs that runs were kept of, by their commits."""

ITERATIONS, STOPPED_AT = 6, 4
DONE, STOPPED = "done", "stopped"

TEXT, GRAPH, TABLE, BITS = "tiny.ldac", "net.edges", "table.csv", "bits.csv"
NEW = {TEXT: "new.ldac", GRAPH: "net.edges", TABLE: "newtable.csv", BITS: "bits.csv"}
"""What is placed under the runs of each corpus."""

DRAWS = ("inference.burn_in=2", "inference.keep_every=2")
HYPER = "inference.hyper_start=2"
NUMBERS = ("data.from=vectors",)
KINDS = (*NUMBERS, "data.label_column=kind")
FIVE = "model.truncation=5"
HDP = (FIVE, HYPER)
CHDP = (*HDP, *DRAWS)
TSSB = ("model.n_topics=4", "inference.start_sweeps=5", *DRAWS)
TRIES = ("inference.restarts=2", "inference.restart_iterations=3", "inference.burn_in=6")
"""Stopped in the second try."""
HLDA = ("inference.start_sweeps=5", "inference.moves_every=2", HYPER)


class Case(NamedTuple):
    """One fit: a backend, its settings as ``key=value``, a corpus and what is put aside."""

    backend: str
    settings: tuple[str, ...] = ()
    corpus: str = TEXT
    holdout: str = "docs:0.2@0"

    def words(self, run: str) -> list[str]:
        """Return the command that fits the case into a folder."""
        settings = ("output.record_every=2", "output.checkpoint_seconds=0", *self.settings)
        options = [word for setting in settings for word in ("-s", setting)]
        fixed = ["-q", "--iterations", str(ITERATIONS), "--holdout", self.holdout]
        return ["fit", self.corpus, "-b", self.backend, "-o", run, *fixed, *options]


CASES = {
    "hlda-variational": Case("hlda-variational", HLDA),
    "hlda-variational-batches": Case(
        "hlda-variational",
        (*HLDA, "inference.batch_size=10", "inference.mode=meanfield", "inference.learn_eta=true"),
    ),
    "hlda-gibbs": Case("hlda-gibbs", DRAWS),
    "hlda-gibbs-chains": Case(
        "hlda-gibbs",
        (*DRAWS, "inference.chains=2", "inference.sample_gamma=true", "inference.sample_eta=true"),
    ),
    "hlda-gibbs-partial": Case(
        "hlda-gibbs", (*DRAWS, "inference.collapse=partial", "inference.shards=2")
    ),
    "hlda-gibbs-restarts": Case("hlda-gibbs", (*TRIES, "inference.sample_gamma=true")),
    "hca-variational": Case("hca-variational", ("model.max_nodes=8", *KINDS), TABLE),
    "hca-variational-meanfield": Case(
        "hca-variational",
        ("model.max_nodes=8", "inference.mode=meanfield", "inference.vectors=separate", *KINDS),
        TABLE,
    ),
    "hdp-pcvb0": Case("hdp-pcvb0", HDP),
    "hdp-pcvb0-AA": Case("hdp-pcvb0", (*HDP, "model.prior=AA", "inference.shards=2")),
    "hdp-pcvb0-links": Case("hdp-pcvb0", (*HDP, "data.from=edges"), GRAPH, "links:0.2@0"),
    "hdp-cvb0": Case("hdp-cvb0", HDP),
    "hdp-cvb0-tokens": Case("hdp-cvb0", (*HDP, "data.min_df=2"), TEXT, "tokens:0.2@0"),
    "hdp-cvb0-bins": Case("hdp-cvb0", (*HDP, "data.discretise.bins=3", *KINDS), TABLE),
    "hdp-pcvb": Case("hdp-pcvb", HDP),
    "hdp-cvb": Case("hdp-cvb", HDP),
    "hdp-gibbs": Case("hdp-gibbs", CHDP),
    "tssb-mcmc": Case("tssb-mcmc", TSSB),
    "tssb-mcmc-chains": Case("tssb-mcmc", (*TSSB, "inference.chains=2")),
    "tssb-mcmc-binary": Case("tssb-mcmc", ("model.likelihood=binary", *DRAWS, *NUMBERS), BITS),
    "chdp-gibbs": Case("chdp-gibbs", CHDP),
    "chdp-gibbs-maximization": Case("chdp-gibbs", (*CHDP, "model.cooperation=maximization")),
    "chdp-gibbs-irp": Case("chdp-gibbs", (*CHDP, "inference.sampler=irp")),
    "chdp-gibbs-labels": Case(
        "chdp-gibbs", (*CHDP, "model.parents=labels", "model.weights=learned")
    ),
    "chdp-variational": Case("chdp-variational", HDP),
    "chdp-variational-maximization": Case(
        "chdp-variational", (*HDP, "model.cooperation=maximization")
    ),
    "chdp-variational-sticks": Case(
        "chdp-variational",
        (*HDP, "inference.method=sticks", "inference.tables=3", "inference.options=4"),
    ),
    "lda-gibbs": Case("lda-gibbs", ("model.n_topics=4", HYPER, *DRAWS)),
    "lda-gibbs-asymmetric": Case(
        "lda-gibbs", ("model.n_topics=4", "model.prior=asymmetric", HYPER, *DRAWS)
    ),
    "multinomial": Case("multinomial"),
}

OUT = "out"
"""The file that commands write, where they write one."""

VIEWS = (
    "show-tree {run}",
    "show-tree {run} --format json --docs 2",
    "show-tree {run} --format dot --depth 2 --words 3 --min-docs 2",
    "show-tree {run} --format newick",
    "show-tree {run} --arrange",
    "topics {run}",
    "topics {run} --format csv",
    "topics {run} --format json --docs 2",
    "topics {run} --by group --similar 1",
    "export {run} --to json -o out",
    "export {run} --to graphml -o out",
    "infer {run} {new} -o out --json",
    "eval {run} --heldout --json",
)
"""What is asked of every run."""

SCORES = (
    "eval {run} --heldout",
    "eval {run} --heldout --observed 0 --json",
    "eval {run} --heldout --average --json",
    "eval {run} --heldout --hide-groups --json",
    "eval {run} --corpus {new} --json",
    "eval {run} --heldout --protocol path --json",
    "eval {run} --heldout --protocol full --json",
    "eval {run} --heldout --protocol empirical --samples 300 --json",
    "eval {run} --task neighbours --k 3 --json",
    "eval {run} --task links --json",
    "eval {run} --task labels --json",
    "eval {run} --task groups --json",
    "eval {run} --task reconstruction --json",
    "compare {run} --json",
)
"""What is asked of finished runs besides; each backend refuses some."""


def questions(case: Case, run: str) -> list[str]:
    """Return the commands, as one types them, that are asked of a run of a case."""
    asked = VIEWS + (SCORES if run == DONE else ())
    return [line.format(run=run, new=NEW[case.corpus]) for line in asked]
