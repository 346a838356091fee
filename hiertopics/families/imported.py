"""imported: a tree that another program made. It predicts, and is never fitted.

New documents are folded in with the words of the nodes held fixed, under the mean of the training
documents' shares as pseudo-counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, NoReturn

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from hiertopics.base.errors import UsageError
from hiertopics.contract.model import Backend, Context, Posterior, Settings as SettingsOf
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.tree import MEAN_SHARES, Tree
from hiertopics.families.flat.prediction import fold_in
from hiertopics.settings.config import InferenceConfig


class Model(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How new documents are placed."""

    alpha: Annotated[
        float,
        Meta(gt=0, description="Pseudo-counts of a new document, over all nodes together."),
    ] = 1.0


class Inference(InferenceConfig, frozen=True, kw_only=True):
    """No schedule."""


Settings = SettingsOf[Model, Inference]


@dataclass
class State:
    """Nothing."""


class Info(NamedTuple):
    """No columns."""


def infer(tree: Tree, corpus: Corpus, settings: Settings, context: Context) -> Posterior:
    """Return theta of new documents, the words of the nodes held fixed."""
    # A node that no training document has a share of keeps a little, or it could never be found.
    prior = np.maximum(tree.extra[MEAN_SHARES], 1e-6) * settings.model.alpha
    rows = np.tile(prior, (corpus.n_docs, 1))
    return fold_in(tree, corpus, rows, rows, context)


def _refuse(*_: Any) -> NoReturn:
    raise UsageError("an imported tree is not fitted; hiertopics import makes such a run of files")


def _memory(corpus: Corpus, settings: Settings) -> int:
    return 0


def _simulate(*_: Any) -> tuple[Corpus, Mapping[str, NDArray[Any]]]:
    _refuse()


backend: Backend[Corpus, None, State, Settings] = Backend(
    Model=Model,
    Inference=Inference,
    State=State,
    Info=Info,
    objective_name="none",
    prepare=_refuse,
    init=_refuse,
    step=_refuse,
    summarise=_refuse,
    infer=infer,
    objective=_refuse,
    simulate=_simulate,
    memory=_memory,
)
