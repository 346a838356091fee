"""``eval --heldout``: a run's score on its held-out part, or on another corpus.

The protocols are explained in docs/evaluation.md and live in ``hiertopics.scoring.protocols``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hiertopics.base.errors import HiertopicsError, NumericalError, UsageError
from hiertopics.base.progress import said
from hiertopics.base.visible import steady
from hiertopics.contract import engine_of, observed_by
from hiertopics.corpus.corpora.inmemory import on_disk
from hiertopics.corpus.data.quality import Hierarchy, hierarchy_quality, topic_quality
from hiertopics.corpus.formats.trust import trusts
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir, opened
from hiertopics.runs.scorefiles import keep_score
from hiertopics.runs.soundness import blamed, check_scores
from hiertopics.runs.unseen import columns_of
from hiertopics.scoring.protocols import PROTOCOLS
from hiertopics.scoring.request import Request, answer, not_default
from hiertopics.scoring.tasks import evaluate_task

WITHOUT_CACHE = {
    "tokens": "scores documents that the topics were trained on",
    "full": "scores the tokens that it has seen",
    "path": "scores a document's tokens together, by one path",
    "empirical": "sees nothing of a document",
}
"""Protocols that know no cache, and why."""


@trusts
def evaluate(
    run: Path | str | RunDir,
    corpus: Any = None,
    *,
    protocol: str | None = None,
    task: str | None = None,
    data: Mapping[str, Any] | None = None,
    workers: int = 1,
    cluster: str | None = None,
    trust_tokenizer: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Score a run on held-out data; the result is also written to its ``eval`` folder.

    corpus: score this file, or object as for ``fit``, instead of what was put aside; ``data``
    entries describe a file, and the option ``seed`` is for its token partition. protocol: None
    for the split's own default. task: score a task instead (``hiertopics.scoring.tasks``).
    options: those of the protocol or task; None and False are defaults. ``observed``: share of a
    document that is seen before the rest is scored. ``average``: score the mean of p(w | d) over
    the kept draws. ``cache``: score completion with a cache, too, whose numbers come from what
    ``cache_from`` says, "seen" or "training" (docs/bursts.md). cluster: where else documents are
    placed (see ``hiertopics.contract.cluster.joining.cluster``). Raises UsageError, DataError or
    RunError.

    trust_tokenizer: import the data.tokenizer that a config file or the run names.
    """
    target = opened(run)
    if task is not None and protocol is not None:
        raise UsageError("protocol and task exclude each other")
    with on_disk(corpus, None if corpus is None else columns_of(target)) as path:
        options |= {"corpus": path}
        if task is not None:
            return evaluate_task(
                target, task, data=data, workers=workers, cluster=cluster, **options
            )
        with engine_of(cluster, workers, said) as engine:
            return _evaluate(Request(target, data or {}, engine), protocol, options)


def _evaluate(request: Request, protocol: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Score a run by a protocol; raises NumericalError where the score is not finite."""
    target = request.run
    name = protocol or _default_protocol(target, options.get("corpus"))
    if options.get("cache") and name in WITHOUT_CACHE:
        raise UsageError(f"--cache is for protocol completion: {name} {WITHOUT_CACHE[name]}")
    chosen, result = _answered(request, name, options)
    record: dict[str, Any] = {
        "run": str(target.path),
        "backend": target.manifest["backend"],
        "protocol": name,
        **result.metrics,
        "split": result.split,
        **(_quality(target) if result.of_words else {}),
    }
    keep_score(target, name, not_default(chosen), record, result.arrays)
    return record


def _answered(request: Request, name: str, options: Mapping[str, Any]) -> tuple[Any, Any]:
    chosen, result = answer(request, "protocol", name, PROTOCOLS, options)
    try:
        check_scores(result.metrics)
    except NumericalError as error:
        raise NumericalError(f"{error}{blamed(request.run.experiment)}") from error
    return chosen, result


def held_out_arrays(run: RunDir, workers: int = 1) -> Mapping[str, Any]:
    """Return the arrays of a run's score on its split, which is not kept; see ``evaluate``."""
    with engine_of(None, workers, said) as engine:
        request = Request(run, {}, engine)
        arrays: Mapping[str, Any] = _answered(request, _default_protocol(run, None), {})[1].arrays
        return arrays


def _default_protocol(run: RunDir, corpus: Path | str | None) -> str:
    own = observed_by(run.experiment).protocol
    if own is not None:
        return own
    return "tokens" if corpus is None and run.split.within_documents else "completion"


def _quality(run: RunDir) -> dict[str, Any]:
    """Score the topics against the training corpus, where its file still stands unchanged."""
    try:
        train = read_original(run).train
    except HiertopicsError as error:
        print(f"warning: no topic quality: {steady(str(error))}", file=sys.stderr)
        lost = {"n_topics": len(run.tree.shown), "coherence_npmi": None, "diversity": None}
        return lost | Hierarchy()._asdict()
    return topic_quality(run.tree, train)._asdict() | hierarchy_quality(run.tree, train)._asdict()
