"""Protocol ``density``: the log density of held-out rows before they are seen (vectors)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import sparse

from hiertopics import files, registry
from hiertopics.data.vectors import Vectors
from hiertopics.errors import UsageError
from hiertopics.holdouts.split import hash_of_file
from hiertopics.model import Settings
from hiertopics.runs import newdocs
from hiertopics.scoring.protocols.job import documents_aside
from hiertopics.scoring.request import HeldoutResult, Request


class DensityOptions(NamedTuple):
    """corpus: score the rows of this file."""

    corpus: Path | str | None = None


def score(request: Request, options: DensityOptions) -> HeldoutResult:
    """Return the mean log density per row (natural logs) and its standard error over rows.

    The backend's ``log_density`` gives that of each row. Perplexity has no meaning here.
    """
    run = request.run
    if options.corpus is None:
        split = documents_aside(run, "density")
        rows, code = Vectors(split.heldout.toarray(), run.vocab), split.hash
    else:
        rows = newdocs.read_unseen(run, options.corpus, request.data).corpus
        code = hash_of_file(rows)
    if rows.n_docs == 0:
        raise UsageError("there is no row to score")
    experiment = run.experiment
    settings = Settings(experiment.model, experiment.inference)
    density_of = registry.load_for(experiment).log_density
    assert density_of is not None, "the protocol is for backends that observe rows of numbers"
    log_density = density_of(run.tree, rows, settings)
    spread = np.sqrt(((log_density - log_density.mean()) ** 2).sum())
    metrics = {
        "log_likelihood_per_row": float(log_density.mean()),
        "perplexity": None,
        "standard_error": float(spread / rows.n_docs),
        "n_docs": rows.n_docs,
    }
    arrays = files.pack_csr("scored", sparse.csr_array(rows.rows))
    return HeldoutResult(metrics, code, arrays | {"log_density": log_density}, of_words=False)
