"""The table of backends: name, module and a one-line summary; modules load on demand.

A backend is the value ``backend`` of its module, or that named after a colon. Where a setting
chooses between algorithms under one name, each is a backend with a state of its own; they share
``Model`` and ``Inference``. An installed package adds a backend by an entry point of the group
``hiertopics.backends`` that names an ``Entry``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hiertopics.base.errors import UsageError
from hiertopics.base.plugins import Table, loaded
from hiertopics.base.saying import warn

if TYPE_CHECKING:
    from hiertopics.contract.model import AnyBackend, AnySettings
    from hiertopics.settings.config import Experiment


class Entry(NamedTuple):
    """One backend: its module and a one-line summary.

    variants: other modules under settings that are written as for ``-s``, several with " -s "
    between two; the first that fits is taken. compiling: about how many seconds of one core its
    kernels take to compile, measured with numba 0.68; None: it has none.
    """

    module: str
    summary: str
    variants: Mapping[str, str] = MappingProxyType({})
    compiling: int | None = None

    def module_for(self, sections: Mapping[str, object]) -> str:
        """Return the module for the sections ``model`` and ``inference``, if they are given."""
        return self.variants.get(self.chosen(sections), self.module)

    def chosen(self, sections: Mapping[str, object]) -> str:
        """Return the setting of these sections that is a variant; "": none is."""
        for variant in self.variants:
            if all(_holds(setting, sections) for setting in settings_of(variant)):
                return variant
        return ""


def settings_of(variant: str) -> tuple[str, ...]:
    """Return the settings under which a variant is chosen, each as for ``-s``."""
    return tuple(variant.split(" -s "))


def _holds(setting: str, sections: Mapping[str, object]) -> bool:
    place, value = setting.split("=")
    section, key = place.split(".")
    return section in sections and getattr(sections[section], key) == value


DEFAULT = "nhdp-variational"

OWN: dict[str, Entry] = {
    "hdp-pcvb0": Entry(
        "hiertopics.families.hdp.variational:pcvb0",
        "flat topics, number learned: practical collapsed variational Bayes (Sato et al. 2012)",
        {
            "model.bursts=document": "hiertopics.families.hdp.variational:bursty_pcvb0",
            "inference.responsibilities=all": "hiertopics.families.hdp.variational:all_pcvb0",
            "inference.responsibilities=few": "hiertopics.families.hdp.variational:few_pcvb0",
        },
        compiling=2,
    ),
    "hdp-pcvb": Entry(
        "hiertopics.papers.hdp_second_order_backends:pcvb",
        "flat topics, number learned: the same to second order, for comparison",
        compiling=3,
    ),
    "hdp-cvb0": Entry(
        "hiertopics.families.hdp.variational:cvb0",
        "flat topics, number learned: zero-order collapsed variational Bayes (Teh et al. 2007)",
        {
            "model.bursts=document": "hiertopics.families.hdp.variational:bursty_cvb0",
            "inference.responsibilities=all": "hiertopics.families.hdp.variational:all_cvb0",
            "inference.responsibilities=few": "hiertopics.families.hdp.variational:few_cvb0",
        },
        compiling=2,
    ),
    "hdp-cvb": Entry(
        "hiertopics.papers.hdp_second_order_backends:cvb",
        "flat topics, number learned: collapsed variational Bayes to second order",
        compiling=4,
    ),
    "hdp-gibbs": Entry(
        "hiertopics.families.hdp.gibbs",
        "flat topics, number learned: collapsed Gibbs sampling of the truncated HDP",
        {
            "model.bursts=document -s inference.collapse=partial": (
                "hiertopics.families.hdp.bursty_partial"
            ),
            "model.bursts=document": "hiertopics.families.hdp.bursty_gibbs",
            "inference.collapse=partial": "hiertopics.families.hdp.partial",
        },
        compiling=5,
    ),
    "hlda-variational": Entry(
        "hiertopics.families.ncrp.variational.backend",
        "a tree of topics whose shape is learned: variational inference under the nested CRP",
        {"inference.mode=meanfield": "hiertopics.papers.ncrp_meanfield"},
        compiling=30,
    ),
    "hlda-gibbs": Entry(
        "hiertopics.families.ncrp.sampler.backend",
        "a tree of topics whose shape is learned: collapsed Gibbs sampling under the nested CRP",
        {"inference.collapse=partial": "hiertopics.families.ncrp.sampler.partial"},
        compiling=15,
    ),
    "nhdp-variational": Entry(
        "hiertopics.families.nhdp.variational",
        "a tree of topics in which a document mixes paths: the nested HDP, variational",
        {"model.bursts=document": "hiertopics.families.nhdp.variational:bursty"},
        compiling=8,
    ),
    "nhdp-gibbs": Entry(
        "hiertopics.families.nhdp.gibbs",
        "a tree of topics in which a document mixes paths: the nested HDP, sampled",
        {"model.bursts=document": "hiertopics.families.nhdp.bursty_gibbs"},
        compiling=13,
    ),
    "chdp-gibbs": Entry(
        "hiertopics.families.chdp.gibbs",
        "flat topics of documents with several authors or labels: the cooperative HDP, sampled",
        {"inference.sampler=irp": "hiertopics.papers.chdp_irp"},
        compiling=10,
    ),
    "chdp-variational": Entry(
        "hiertopics.families.chdp.variational",
        "flat topics of documents with several authors or labels: the cooperative HDP, variational",
        {"inference.method=sticks": "hiertopics.papers.chdp_sticks"},
        compiling=9,
    ),
    "tssb-mcmc": Entry(
        "hiertopics.families.tssb.text",
        "documents at the nodes of a tree without bounds: tree-structured stick breaking by MCMC",
        {"model.likelihood=binary": "hiertopics.families.tssb.binary"},
        compiling=23,
    ),
    "lda-gibbs": Entry(
        "hiertopics.families.lda.gibbs",
        "flat topics, number given: collapsed Gibbs sampling of LDA, a baseline",
        {"model.bursts=document": "hiertopics.families.lda.bursty_gibbs"},
        compiling=1,
    ),
    "multinomial": Entry(
        "hiertopics.families.multinomial",
        "one smoothed distribution over words for all documents, a baseline",
    ),
    "hca-variational": Entry(
        "hiertopics.families.hca.variational",
        "a tree of principal axes in rows of numbers: variational inference under the nested CRP",
        {"inference.mode=meanfield": "hiertopics.papers.hca_meanfield"},
        compiling=2,
    ),
}

BACKENDS: Table[Entry] = Table(
    "backend", "hiertopics.backends", "hiertopics.contract.registry:Entry", OWN
)
"""Every backend: those above, and those of installed packages."""


UNFITTED: dict[str, Entry] = {
    "imported": Entry("hiertopics.families.imported", "a tree that another program made"),
}
"""What runs may be of that no fit makes: nobody is offered these."""


def entry(name: str) -> Entry:
    """Return the entry of a backend by its full name."""
    return UNFITTED[name] if name in UNFITTED else BACKENDS[name]


def refuse_unfitted(name: str) -> None:
    """Raise UsageError for a name that belongs to no backend that fits."""
    if name in UNFITTED:
        raise UsageError(
            f"{name} trees are not fitted; hiertopics import makes such a run of files"
        )


def load(name: str, **sections: object) -> AnyBackend:
    """Return the backend of that name, which may be shortened (``named``).

    sections: ``model`` and ``inference`` of its config, without which it is that of the defaults.
    """
    full = named(name)
    return _backend(full, entry(full).module_for(sections))


def named(name: str) -> str:
    """Return the full name of a backend; its beginning is enough where no other has the same.

    Raises UsageError with the choices where several have, or the nearest name where none has.
    """
    if name in BACKENDS or name in UNFITTED:
        return name
    begun = [full for full in BACKENDS if name and full.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise UsageError(f"backend {name!r} may be {', '.join(begun[:-1])} or {begun[-1]}")
    near = get_close_matches(name, BACKENDS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(BACKENDS)}"
    raise UsageError(f"unknown backend {name!r}{hint}")


def _backend(name: str, place: str) -> AnyBackend:
    """Return the backend at ``module:value``; UsageError where a package's cannot be loaded."""
    about = described(name)
    if not _package(name):
        return _imported(place)
    backend = loaded(lambda: _imported(place), about)
    from hiertopics.contract.model import Backend  # numpy, which a list of backends does not need

    if not isinstance(backend, Backend):
        raise UsageError(
            f"{about} cannot be used: {place} is not a hiertopics.contract.model.Backend"
        )
    return backend


def described(name: str) -> str:
    """Return a backend's name for messages, and the package that adds it."""
    package = _package(name)
    return f"backend {name!r}" + (f" of package {package!r}" if package else "")


def _package(name: str) -> str:
    return "" if name in UNFITTED else BACKENDS.package_of(name)


def _imported(place: str) -> AnyBackend:
    module, _, value = place.partition(":")
    return cast("AnyBackend", getattr(importlib.import_module(module), value or "backend"))


def load_for(experiment: Experiment) -> AnyBackend:
    """Return the backend of an experiment, that for its settings."""
    return load(experiment.backend, **_sections(experiment))


def _sections(experiment: Experiment) -> dict[str, object]:
    return {"model": experiment.model, "inference": experiment.inference}


def load_suited(experiment: Experiment, corpus: object, settings: AnySettings) -> AnyBackend:
    """Return the backend of an experiment on a corpus, where its settings leave a choice to it."""
    backend = load_for(experiment)
    return backend if backend.choose_variant is None else backend.choose_variant(corpus, settings)


def refuse_shelf(experiment: Experiment) -> None:
    """Raise UsageError where a backend holds the corpus in memory: it names those that do not."""
    if load_for(experiment).out_of_core:
        return
    fit = " or ".join(able(lambda backend: backend.out_of_core))
    chosen = entry(experiment.backend).chosen(_sections(experiment))
    name = experiment.backend + (f" -s {chosen}" if chosen else "")
    what = f"{name} holds the corpus in memory; of shards fit {fit}"
    raise UsageError(f"{what}, or convert them to another format")


def which(can: Callable[[AnyBackend], bool]) -> list[str]:
    """Return the names of the backends that can do something under their default settings.

    A package's backend that cannot be loaded is left out, with a warning.
    """
    return [name for name in BACKENDS if _can(can, name, BACKENDS[name].module)]


def _can(can: Callable[[AnyBackend], bool], name: str, place: str) -> bool:
    try:
        return can(_backend(name, place))
    except UsageError as error:
        warn(str(error))
        return False


def able(can: Callable[[AnyBackend], bool]) -> list[str]:
    """Return the names of the backends that can do something.

    With the setting under which, where they cannot under others.
    """
    found = []
    for name, entry in BACKENDS.items():
        modules = {"": entry.module, **{f" -s {key}": at for key, at in entry.variants.items()}}
        ways = [f"{name}{how}" for how, at in modules.items() if _can(can, name, at)]
        found += [name] if len(ways) == len(modules) else ways
    return found


def backends() -> list[dict[str, Any]]:
    """Return one record per backend: backend, summary, whether it is the default, and package.

    package: the installed package that adds it, None for hiertopics' own.
    """
    return [
        {
            "backend": name,
            "summary": entry.summary,
            "default": name == DEFAULT,
            "package": BACKENDS.package_of(name) or None,
        }
        for name, entry in BACKENDS.items()
    ]


def config(backend: str) -> str:
    """Return a complete commented YAML config of a backend with every default.

    Raises UsageError for an unknown name.
    """
    from hiertopics.settings.config import template  # YAML, which a list of backends does not need

    name = named(backend)
    chosen = load(name)
    return template(name, entry(name).summary, chosen.Model, chosen.Inference)


def schema(backend: str) -> str:
    """Return a JSON Schema of the configs of a backend; raises UsageError for an unknown name."""
    from hiertopics.settings.schema import schema_of

    name = named(backend)
    chosen = load(name)
    return schema_of(name, entry(name).summary, chosen.Model, chosen.Inference)
