"""Settings that once meant something else where they were left out.

A run says by the number ``settings`` of its manifest which defaults it was made under; runs from
before there were numbers have the first. Whoever gives a setting another default, or adds one,
adds a line to ``CHANGES`` under a number that is one more than ``version()`` was at the last
release, so that older runs stay what they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

FIRST = 1


class Change(NamedTuple):
    """The earlier meaning of an absent setting, before the defaults of ``number``.

    backend: its name, or ``*`` for all. key: dotted, such as ``model.gamma``. before: the former
    default; of a setting that is new, what all runs did without it.
    """

    number: int
    backend: str
    key: str
    before: object


SEEDED = {
    **dict.fromkeys(("hdp-pcvb0", "hdp-cvb0", "hdp-pcvb", "hdp-cvb", "hdp-gibbs"), 50),
    **dict.fromkeys(("nhdp-variational", "nhdp-gibbs"), 50),
    "hlda-gibbs": 5,
}
"""Backends that take seed words, and the weight that these have by default."""

BURSTY = ("hdp-pcvb0", "hdp-cvb0", "nhdp-variational", "nhdp-gibbs", "hdp-gibbs", "lda-gibbs")
"""Backends whose documents may be bursty."""

STOPPING = ("nhdp-variational", "nhdp-gibbs")
"""Backends of trees in which every node stops some tokens."""

ASIDE = ("hdp-pcvb0", "hdp-cvb0", "nhdp-variational", "nhdp-gibbs")
"""Backends that put documents aside while they learn bursts."""

HELD: dict[str, list[str]] = {
    "hlda-variational": ["eta", "gamma", "level_prior"],
    "hlda-gibbs": ["eta", "gamma", "level_prior"],
    "nhdp-variational": ["stop"],
    "nhdp-gibbs": [],
    "chdp-gibbs": [],
    "chdp-variational": ["alpha_group"],
    "lda-gibbs": [],
}
"""Hyperparameters held before there was ``inference.hold``, unless a former name said otherwise."""

CHANGES: tuple[Change, ...] = (
    Change(2, "*", "backend", "hlda-variational"),
    Change(2, "*", "data.vocabulary_from", "all"),
    Change(2, "*", "data.snippets", 0),
    Change(2, "*", "data.max_words", None),
    Change(2, "*", "data.metadata", False),
    Change(2, "*", "data.lowercase", True),
    Change(2, "*", "data.token_pattern", None),
    Change(2, "*", "data.ngram_range", [1, 1]),
    Change(2, "*", "data.stemmer", None),
    Change(2, "*", "data.phrases", None),
    Change(2, "*", "data.phrases.npmi", 0.5),
    Change(2, "*", "data.phrases.min_count", 10),
    Change(2, "*", "data.tokenizer", None),
    Change(2, "*", "data.layer", None),
    Change(2, "hdp-gibbs", "model.truncation", 500),
    Change(2, "hdp-gibbs", "inference.reorder_sticks", False),
    Change(2, "hdp-gibbs", "inference.collapse", "full"),
    Change(2, "hdp-gibbs", "inference.start", "uniform"),
    Change(2, "chdp-gibbs", "inference.reorder_sticks", False),
    *(
        Change(2, backend, "inference.sweep", "dense")
        for backend in ("hdp-gibbs", "chdp-gibbs", "lda-gibbs")
    ),
    *(
        Change(2, backend, key, before)
        for backend in ("hdp-pcvb0", "hdp-cvb0")
        for key, before in (("inference.start", "random"), ("inference.start_sweeps", 100))
    ),
    *(
        Change(2, backend, "inference.responsibilities", "all")
        for backend in ("hdp-pcvb0", "hdp-cvb0", "hdp-pcvb", "hdp-cvb")
    ),
    *(
        Change(2, backend, key, before)
        for backend, weight in SEEDED.items()
        for key, before in (("model.seeds", None), ("model.seed_weight", weight))
    ),
    *(
        Change(2, backend, key, before)
        for backend in ("nhdp-variational", "nhdp-gibbs")
        for key, before in (
            ("inference.start", "random"),
            ("inference.least", 0.0),
            ("inference.responsibilities", "all"),
            ("inference.trials", 0),
        )
    ),
    *(
        Change(2, "nhdp-gibbs", key, before)
        for key, before in (
            ("model.stop", "fixed"),
            ("inference.sample_eta", False),
            ("inference.iterations", 200),
            ("inference.burn_in", 100),
            ("inference.keep_every", 20),
        )
    ),
    *(
        Change(2, backend, key, before)
        for backend in ("hdp-gibbs", "lda-gibbs", "chdp-gibbs")
        for key, before in (("inference.chains", 1), ("inference.summarise", "last"))
    ),
    Change(3, "*", "data.delimiter", None),
    Change(3, "*", "data.encoding", None),
    Change(3, "*", "data.html", "all"),
    Change(3, "*", "data.lemmas", None),
    Change(3, "*", "data.repeat_cap", None),
    *(
        Change(3, backend, key, before)
        for backend in BURSTY
        for key, before in (
            ("model.bursts", "none"),
            ("model.burst_process", [0.5, 100.0]),
            ("inference.burst_start", 30),
        )
    ),
    *(Change(3, backend, "inference.burst_aside", 100) for backend in ASIDE),
    Change(3, "hdp-gibbs", "inference.burst_aside", 0),
    Change(3, "nhdp-variational", "inference.start_words", 3000),
    *(
        Change(3, backend, key, before)
        for backend in ("nhdp-variational", "nhdp-gibbs")
        for key, before in (
            ("inference.start", "words"),
            ("model.least_children", 2),
            ("model.truncation", 500),
        )
    ),
    Change(3, "nhdp-gibbs", "inference.sweep", "dense"),
    Change(4, "tssb-mcmc", "inference.start", "insertion"),
    *(Change(4, backend, "inference.hold", held) for backend, held in HELD.items()),
    Change(5, "nhdp-variational", "inference.start_passes", 200),
    *(Change(5, backend, "model.stop_prior", [1.0, 1.0]) for backend in STOPPING),
    Change(5, "hca-variational", "model.noise_prior", [0.001, 0.001]),
    *(
        Change(5, backend, "inference.hold", [])
        for backend in ("hdp-pcvb0", "hdp-cvb0", "hdp-pcvb", "hdp-cvb", "hdp-gibbs")
    ),
    Change(6, "*", "data.markup", "all"),
    Change(6, "*", "data.stop_lemmas", False),
    Change(6, "*", "data.stop_rests", False),
    Change(6, "*", "data.phrases.over_stop_words", True),
    Change(6, "*", "data.letterless", True),
    Change(6, "*", "data.html_dialogs", True),
    Change(6, "*", "data.suffixes", None),
    Change(6, "*", "data.quoting", "double"),
)


def version() -> int:
    """Return the number of the present defaults."""
    return max((change.number for change in CHANGES), default=FIRST)


def meant(key: str, backend: str, made: int) -> tuple[object, ...]:
    """Return a key's meaning under the defaults of number ``made``; nothing: the present one."""
    after = [
        change
        for change in CHANGES
        if change.key == key and change.backend in ("*", backend) and change.number > made
    ]
    return (min(after, key=lambda change: change.number).before,) if after else ()


def left_out(settings: Mapping[str, object], backend: str, made: int) -> dict[str, object]:
    """Return, nested, the absent settings of a run that would have another meaning now.

    made: the number of the defaults that it was made under. A key of a mapping inside a section
    counts as left out only where the mapping is given.
    """
    found: dict[str, object] = {}
    for key in {change.key: None for change in CHANGES}:
        *above, name = key.split(".")
        given = _mapping(settings, above)
        for value in meant(key, backend, made) if given is not None and name not in given else ():
            target = found
            for part in above:
                target = target.setdefault(part, {})  # type: ignore[assignment]
            target[name] = value
    return found


def _mapping(settings: Mapping[str, object], path: list[str]) -> Mapping[str, object] | None:
    """Return the mapping at a path, None where there is none; a section is always there."""
    place: object = settings
    for depth, key in enumerate(path):
        place = place.get(key) if isinstance(place, Mapping) else None
        if place is None and depth == 0:
            place = {}
    return place if isinstance(place, Mapping) else None
