"""A run in the forms of other packages: data frames, pyLDAvis, ArviZ, AnnData.

Each package is imported when it is asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hiertopics.base.errors import UsageError, optional
from hiertopics.corpus.formats.trust import trusts
from hiertopics.fitting.diagnostics import traces
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.views.documents import docs
from hiertopics.views.topics import topics

FRAMES = ("topics", "documents")
TOPIC_WORDS = 10


@trusts
def to_frame(
    run: RunDir, what: str = "topics", backend: Any = "pandas", *, trust_tokenizer: bool = False
) -> Any:
    """Return a data frame of a run: a row per topic, or per training document.

    what: ``topics`` or ``documents``, with the columns of the commands ``topics`` and ``docs``;
    what is a list there, such as top words, is one text, its parts apart by a blank, values of
    metadata by a semicolon. backend: pandas, polars or pyarrow. Raises UsageError for another one,
    and where narwhals or it is not installed.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    if what not in FRAMES:
        raise UsageError(f"a frame of {' or '.join(FRAMES)}, not of {what!r}")
    rows = topics(run, words=TOPIC_WORDS) if what == "topics" else docs(run)
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [_cell(row.get(name)) for row in rows] for name in names}
    try:
        import narwhals.stable.v1 as nw

        return nw.from_dict(columns, backend=backend).to_native()
    except (ImportError, ValueError) as error:
        hint = "pip install 'hiertopics[frames]', and pandas, polars or pyarrow"
        raise UsageError(f"no data frame by {backend!r} ({error}): {hint}") from error


def _cell(value: Any) -> Any:
    """Return a value as a frame holds it: of a list the first of each pair, in one text.

    Values of metadata are no pairs, and have blanks: they stand apart by semicolons.
    """
    if not isinstance(value, list | tuple):
        return value
    if value and all(isinstance(part, str) for part in value):
        return "; ".join(value)
    firsts = (part[0] if isinstance(part, list | tuple) else part for part in value)
    return " ".join(map(str, firsts))


@trusts
def to_pyldavis(run: RunDir, *, trust_tokenizer: bool = False) -> dict[str, Any]:
    """Return the arguments of pyLDAvis: ``pyLDAvis.prepare(**run.to_pyldavis())``.

    topic_term_dists [n_topics, n_words] and doc_topic_dists [n_docs, n_topics], float64, rows sum
    to 1; doc_lengths [n_docs]; vocab; term_frequency [n_words]. Documents without words, and words
    without tokens, are left out: pyLDAvis divides by them. Raises UsageError for a tree of
    vectors, and what reading the corpus again raises.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    tree = run.tree
    if tree.vectors is not None:
        raise UsageError("pyLDAvis shows topics of words; this run has vectors")
    corpus = read_original(run).train
    kept, known = np.flatnonzero(corpus.doc_lengths), np.flatnonzero(corpus.word_counts)
    used = np.flatnonzero(np.asarray(run.theta[kept].sum(axis=0)).ravel() > 0)
    phi, theta = tree.phi[np.ix_(used, known)], run.theta[kept][:, used].toarray()
    return {
        "topic_term_dists": phi / phi.sum(axis=1, keepdims=True),
        "doc_topic_dists": theta / theta.sum(axis=1, keepdims=True),
        "doc_lengths": corpus.doc_lengths[kept],
        "vocab": [run.vocab[word] for word in known],
        "term_frequency": corpus.word_counts[known],
    }


def to_inference_data(run: RunDir) -> Any:
    """Return the traces of a sampler after its burn-in, for ArviZ: an xarray DataTree.

    Its group ``posterior`` holds what ``hiertopics eval --diagnose`` looks at, by chain and draw.
    Raises UsageError for a run of no sampler, and where arviz-base is not installed.
    """
    experiment = run.experiment
    burn_in = getattr(experiment.inference, "burn_in", None)
    if burn_in is None:
        raise UsageError(f"{experiment.backend} draws no samples")
    told = "data for ArviZ need arviz-base: pip install 'hiertopics[diagnostics]'"
    arviz_base = optional("arviz_base", told)
    found = traces(run.metrics(), burn_in, experiment.output.record_every)
    if not found:
        raise UsageError(f"{run.path} has recorded no draw after burn_in ({burn_in})")
    return arviz_base.from_dict({"posterior": found})


@trusts
def to_anndata(run: RunDir, *, trust_tokenizer: bool = False) -> Any:
    """Return the training documents with their topics, as single-cell packages hold them.

    X: the counts. obsm["topics"]: theta, float64 [n_docs, n_nodes]. varm["topics"]: the words of
    each node, float64 [n_words, n_nodes]. uns["topics"]: parent, depth and weight of the nodes.
    Raises UsageError where anndata is not installed, and for rows of numbers.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    told = "AnnData needs anndata: pip install 'hiertopics[anndata]'"
    anndata, pandas = (optional(name, told) for name in ("anndata", "pandas"))
    tree = run.tree
    if tree.vectors is not None:
        raise UsageError("AnnData holds counts of words; this run has vectors")
    corpus = read_original(run).train
    names = corpus.doc_ids or run.split.train_docs.tolist()
    columns = {name: list(map("; ".join, tags.by_row)) for name, tags in corpus.metadata.items()}
    found = anndata.AnnData(
        corpus.counts.copy(),
        obs=pandas.DataFrame(columns, index=list(map(str, names))),
        var=pandas.DataFrame(index=list(run.vocab)),
    )
    found.obsm["topics"] = run.theta.toarray()
    found.varm["topics"] = tree.phi.T.copy()
    nodes = {"parent": tree.parent, "depth": tree.depth, "weight": tree.weight}
    found.uns["topics"] = {name: np.asarray(values) for name, values in nodes.items()}
    return found
