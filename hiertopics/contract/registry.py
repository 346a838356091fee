"""The table of backends: name, module and a one-line summary; modules load on demand.

A backend is the value ``backend`` of its module, or the value named after a colon. Where a setting
chooses between algorithms under one name, each is a backend with a state of its own; they share
``Model`` and ``Inference``. Each such choice has a short name, ``hdp-gibbs:partial``, which stands
for the setting; configs and manifests of runs hold the name of the backend and the setting. An
installed package adds a backend by an entry point of the group ``hiertopics.backends`` that names
an ``Entry``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hiertopics.base.errors import UsageError
from hiertopics.base.plugins import PluginTable, loaded
from hiertopics.base.saying import warn

if TYPE_CHECKING:
    from hiertopics.contract.model import AnyBackend, AnySettings
    from hiertopics.settings.config import Experiment


class Variant(NamedTuple):
    """Another model or algorithm under the name of a backend, as ``hdp-gibbs:partial``.

    setting: what the name is short for, written as for ``-s``. module: that of the variant, where
    it is a backend with a state of its own; "": that of the backend.
    """

    setting: str
    summary: str
    module: str = ""

    @property
    def key(self) -> str:
        """The dotted key of the setting."""
        return self.setting.partition("=")[0]

    @property
    def value(self) -> str | bool:
        """The value of the setting, a word or a truth value."""
        word = self.setting.partition("=")[2]
        return {"true": True, "false": False}.get(word, word)

    def holds(self, sections: Mapping[str, object]) -> bool:
        """Tell whether the setting is that of these sections; a section may be absent."""
        section, name = self.key.split(".")
        return section in sections and getattr(sections[section], name) == self.value


class Entry(NamedTuple):
    """One backend: its module and a one-line summary.

    variants: by the word after the colon. compiling: about how many seconds of one core its kernels
    take to compile, measured with numba 0.68; None: it has none. combined: modules of several
    variants at once, ``{"bursts:partial": module}``. Where settings suit several variants that are
    not combined, the first one with a module is loaded. paper: authors, title and place of the
    paper that a text on its results cites; "": there is none.
    """

    module: str
    summary: str
    variants: Mapping[str, Variant] = MappingProxyType({})
    compiling: int | None = None
    combined: Mapping[str, str] = MappingProxyType({})
    paper: str = ""

    @property
    def backends(self) -> dict[str, str]:
        """The modules of the backend, "", and of the variants that are backends of their own."""
        own = {name: one.module for name, one in self.variants.items() if one.module}
        return {"": self.module, **self.combined, **own}

    @property
    def settings(self) -> list[tuple[str, ...]]:
        """The settings of each of ``backends``, written as for ``-s``."""
        names = (name.split(":") if name else [] for name in self.backends)
        return [tuple(self.variants[word].setting for word in words) for words in names]

    def chosen(self, sections: Mapping[str, object]) -> str:
        """Return which of ``backends`` the sections ``model`` and ``inference`` ask for."""
        return self.of({name for name, one in self.variants.items() if one.holds(sections)})

    def of(self, words: Collection[str]) -> str:
        """Return which of ``backends`` has these variants, "" where none has one of them."""
        found = (name for name in self.backends if name and {*name.split(":")} <= {*words})
        return next(found, "")


DEFAULT = "nhdp-variational"

BURSTS = "words repeat within documents: a Pitman-Yor process around each document's mixture"
ALL = "responsibilities of all topics are kept, 4 bytes for each pair of document and word"
FEW = "few responsibilities are kept for each pair of document and word, small ones sampled"
MAXIMUM = "a topic of a document is as strong as in the parent that has most of it"
FREQUENCIES = Variant("model.prior=AA", "the prior over words learns word frequencies")
PRINTED = Variant(
    "inference.denominator=G",
    "the denominator of q(z) has the geometric mean of eta V, as printed in the 2012 paper",
)
UNORDERED = Variant(
    "inference.reorder_sticks=false", "topics keep their places on the sticks, as in the papers"
)
DENSE = Variant(
    "inference.sweep=dense", "a draw of a token weighs all topics: slower, the same distribution"
)
FLAT = {"frequencies": FREQUENCIES, "unordered": UNORDERED}
PARENTS = {
    "labels": Variant("model.parents=labels", "labels take the role of groups as parents"),
    "weighted": Variant(
        "model.weights=learned", "weights of a document's parents are learned, not equal"
    ),
}
START_ALL = Variant("inference.responsibilities=all", f"in the start: {ALL}")
START_FEW = Variant("inference.responsibilities=few", f"in the start: {FEW}")


def _bursts(module: str) -> Variant:
    return Variant("model.bursts=document", BURSTS, module)


def _zero_order(name: str) -> dict[str, Variant]:
    """Return the variants of a zero-order method of ``families.hdp.variational``."""
    module = "hiertopics.families.hdp.variational:"
    return {
        "bursts": _bursts(f"{module}bursty_{name}"),
        "all": Variant("inference.responsibilities=all", ALL, f"{module}all_{name}"),
        "few": Variant("inference.responsibilities=few", FEW, f"{module}few_{name}"),
        **FLAT,
    }


SATO = (
    "I. Sato, K. Kurihara, H. Nakagawa: Practical collapsed variational Bayes inference for "
    "hierarchical Dirichlet process, KDD 2012"
)
TEH = "Y. W. Teh, K. Kurihara, M. Welling: Collapsed variational inference for HDP, NIPS 2007"
TEH_HDP = (
    "Y. W. Teh, M. I. Jordan, M. J. Beal, D. M. Blei: Hierarchical Dirichlet processes, "
    "Journal of the American Statistical Association 101, 2006"
)
WANG = (
    "C. Wang, D. M. Blei: Variational inference for the nested Chinese restaurant process, "
    "NIPS 2009"
)
BLEI = (
    "D. M. Blei, T. L. Griffiths, M. I. Jordan: The nested Chinese restaurant process and Bayesian "
    "nonparametric inference of topic hierarchies, Journal of the ACM 57, 2010"
)
PAISLEY = (
    "J. Paisley, C. Wang, D. M. Blei, M. I. Jordan: Nested hierarchical Dirichlet processes, IEEE "
    "Transactions on Pattern Analysis and Machine Intelligence 37, 2015"
)
XUAN = (
    "J. Xuan, J. Lu, G. Zhang, R. Y. D. Xu: Cooperative hierarchical Dirichlet processes: "
    "superposition vs. maximization, arXiv 1707.05420"
)
ADAMS = (
    "R. P. Adams, Z. Ghahramani, M. I. Jordan: Tree-structured stick breaking for hierarchical "
    "data, NIPS 2010"
)
GRIFFITHS = "T. L. Griffiths, M. Steyvers: Finding scientific topics, PNAS 101, 2004"


OWN: dict[str, Entry] = {
    "hdp-pcvb0": Entry(
        "hiertopics.families.hdp.variational:pcvb0",
        "flat topics, number learned: practical collapsed variational Bayes (Sato et al. 2012)",
        _zero_order("pcvb0"),
        compiling=2,
        paper=SATO,
    ),
    "hdp-pcvb": Entry(
        "hiertopics.papers.hdp_second_order_backends:pcvb",
        "flat topics, number learned: the same to second order, for comparison",
        FLAT,
        compiling=3,
        paper=SATO,
    ),
    "hdp-cvb0": Entry(
        "hiertopics.families.hdp.variational:cvb0",
        "flat topics, number learned: zero-order collapsed variational Bayes (Teh et al. 2007)",
        {**_zero_order("cvb0"), "printed": PRINTED},
        compiling=2,
        paper=TEH,
    ),
    "hdp-cvb": Entry(
        "hiertopics.papers.hdp_second_order_backends:cvb",
        "flat topics, number learned: collapsed variational Bayes to second order",
        {**FLAT, "printed": PRINTED},
        compiling=4,
        paper=TEH,
    ),
    "hdp-gibbs": Entry(
        "hiertopics.families.hdp.gibbs",
        "flat topics, number learned: collapsed Gibbs sampling of the truncated HDP",
        {
            "bursts": _bursts("hiertopics.families.hdp.bursty_gibbs"),
            "partial": Variant(
                "inference.collapse=partial",
                "topics are drawn at each iteration; shards do not change the result",
                "hiertopics.families.hdp.partial",
            ),
            **FLAT,
            "dense": DENSE,
        },
        compiling=5,
        combined={"bursts:partial": "hiertopics.families.hdp.bursty_partial"},
        paper=TEH_HDP,
    ),
    "hlda-variational": Entry(
        "hiertopics.families.ncrp.variational.backend",
        "a tree of topics whose shape is learned: variational inference under the nested CRP",
        {
            "meanfield": Variant(
                "inference.mode=meanfield",
                "levels and path of a document are independent, as in Wang and Blei 2009",
                "hiertopics.papers.ncrp_meanfield",
            ),
            "paper": Variant(
                "inference.moves=paper", "moves of the tree are grow, prune and merge alone"
            ),
            "unmoved": Variant("inference.moves=none", "no moves: only documents change the tree"),
            "unguarded": Variant(
                "inference.guard_moves=false", "a round of moves is kept even if the bound falls"
            ),
        },
        compiling=30,
        paper=WANG,
    ),
    "hlda-gibbs": Entry(
        "hiertopics.families.ncrp.sampler.backend",
        "a tree of topics whose shape is learned: collapsed Gibbs sampling under the nested CRP",
        {
            "partial": Variant(
                "inference.collapse=partial",
                "seven tenths of the documents are sampled side by side, given drawn topics",
                "hiertopics.families.ncrp.sampler.partial",
            )
        },
        compiling=15,
        paper=BLEI,
    ),
    "nhdp-variational": Entry(
        "hiertopics.families.nhdp.variational",
        "a tree of topics in which a document mixes paths: the nested HDP, variational",
        {
            "bursts": _bursts("hiertopics.families.nhdp.variational:bursty"),
            "all": START_ALL,
            "few": START_FEW,
        },
        compiling=8,
        paper=PAISLEY,
    ),
    "nhdp-gibbs": Entry(
        "hiertopics.families.nhdp.gibbs",
        "a tree of topics in which a document mixes paths: the nested HDP, sampled",
        {
            "bursts": _bursts("hiertopics.families.nhdp.bursty_gibbs"),
            "all": START_ALL,
            "few": START_FEW,
            "dense": DENSE,
        },
        compiling=13,
        paper=PAISLEY,
    ),
    "chdp-gibbs": Entry(
        "hiertopics.families.chdp.gibbs",
        "flat topics of documents with several authors or labels: the cooperative HDP, sampled",
        {
            "irp": Variant(
                "inference.sampler=irp",
                "the international restaurant process of the paper, about five times slower",
                "hiertopics.papers.chdp_irp",
            ),
            "maximization": Variant("model.cooperation=maximization", MAXIMUM),
            **PARENTS,
            "unordered": UNORDERED,
            "dense": DENSE,
        },
        compiling=10,
        paper=XUAN,
    ),
    "chdp-variational": Entry(
        "hiertopics.families.chdp.variational",
        "flat topics of documents with several authors or labels: the cooperative HDP, variational",
        {
            "sticks": Variant(
                "inference.method=sticks",
                "mean field over the sticks of documents, groups and corpus, as in the paper",
                "hiertopics.papers.chdp_sticks",
            ),
            "maximization": Variant("model.cooperation=maximization", MAXIMUM),
            "normaliser": Variant(
                "inference.fit_normaliser=true",
                "with maximization: weights of groups are optimised with the normaliser; slower",
            ),
            **PARENTS,
        },
        compiling=9,
        paper=XUAN,
    ),
    "tssb-mcmc": Entry(
        "hiertopics.families.tssb.text",
        "documents at the nodes of a tree without bounds: tree-structured stick breaking by MCMC",
        {
            "binary": Variant(
                "model.likelihood=binary",
                "data are rows of 0 and 1 in place of the words of a document",
                "hiertopics.families.tssb.binary",
            )
        },
        compiling=23,
        paper=ADAMS,
    ),
    "lda-gibbs": Entry(
        "hiertopics.families.lda.gibbs",
        "flat topics, number given: collapsed Gibbs sampling of LDA, a baseline",
        {
            "bursts": _bursts("hiertopics.families.lda.bursty_gibbs"),
            "asymmetric": Variant("model.prior=asymmetric", "each topic has its own alpha"),
            "sparse": Variant(
                "inference.sweep=sparse",
                "a draw of a token visits the topics of its word: faster with many topics",
            ),
        },
        compiling=1,
        paper=GRIFFITHS,
    ),
    "multinomial": Entry(
        "hiertopics.families.multinomial",
        "one smoothed distribution over words for all documents, a baseline",
    ),
    "hca-variational": Entry(
        "hiertopics.families.hca.variational",
        "a tree of principal axes in rows of numbers: variational inference under the nested CRP",
        {
            "meanfield": Variant(
                "inference.mode=meanfield",
                "coordinates and path of a row are independent, as in Wang and Blei 2009",
                "hiertopics.papers.hca_meanfield",
            ),
            "separate": Variant(
                "inference.vectors=separate",
                "one variational distribution for the vector of each node, as in the paper",
            ),
        },
        compiling=2,
        paper=WANG,
    ),
}

BACKENDS: PluginTable[Entry] = PluginTable(
    "backend", "hiertopics.backends", "hiertopics.contract.registry:Entry", OWN
)
"""Every backend: those above, and those of installed packages."""


UNFITTED: dict[str, Entry] = {
    "imported": Entry("hiertopics.families.imported", "a tree that another program made"),
}
"""Backends of runs that no fit makes; no list of backends has them."""


def entry(name: str) -> Entry:
    """Return the entry of a backend by its full name."""
    return UNFITTED[name] if name in UNFITTED else BACKENDS[name]


def refuse_unfitted(name: str) -> None:
    """Raise UsageError for a name that belongs to no backend that fits."""
    if name in UNFITTED:
        raise UsageError(
            f"{name} trees are not fitted; hiertopics import makes such a run of files"
        )


class BackendChoice(NamedTuple):
    """The full name of a backend, and the names of its variants, that one name stands for."""

    backend: str
    variants: tuple[str, ...]

    @property
    def settings(self) -> dict[str, str | bool]:
        """The settings that the variants stand for, by dotted keys."""
        known = entry(self.backend).variants
        return {known[name].key: known[name].value for name in self.variants}

    def __str__(self) -> str:
        return ":".join((self.backend, *self.variants))


def asked(name: str) -> BackendChoice:
    """Return the backend and the variants of a name such as ``hdp-gibbs:partial``.

    Raises UsageError for an unknown backend or variant, with those that there are, and for two
    variants that exclude each other.
    """
    beginning, *words = name.split(":")
    full = _named(beginning)
    known = entry(full).variants
    for word in words:
        if word not in known:
            there = f"it has {', '.join(known)}" if known else "it has none"
            raise UsageError(f"unknown variant {word!r} of {full}; {there}")
    keys = [known[word].key for word in words]
    if len({*keys}) < len(keys):
        raise UsageError(f"variants {' and '.join(words)} of {full} exclude each other")
    return BackendChoice(full, tuple(words))


def load(name: str, **sections: object) -> AnyBackend:
    """Return the backend of that name, which may be shortened and have variants (``asked``).

    sections: ``model`` and ``inference`` of its config, which tell the variant, too; without them
    the other settings are the defaults.
    """
    full, words = asked(name)
    modules = entry(full).backends
    chosen = entry(full).chosen(sections) or entry(full).of(words)
    return _backend(full, modules[chosen])


def named(name: str) -> str:
    """Return the full name of the backend that a name asks for, without variants (``asked``)."""
    return asked(name).backend


def _named(name: str) -> str:
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
    name = f"{experiment.backend}:{chosen}".rstrip(":")
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

    With the variants that can, where others of the backend cannot.
    """
    found = []
    for name, entry in BACKENDS.items():
        modules = entry.backends
        ways = [f"{name}:{how}".rstrip(":") for how, at in modules.items() if _can(can, name, at)]
        found += [name] if len(ways) == len(modules) else ways
    return found


def backends() -> list[dict[str, Any]]:
    """Return one record per backend: backend, summary, default, package and variants.

    default: whether it is the default. package: the installed package that adds it, None for
    hiertopics' own. variants: a record for each: its name with that of the backend, the setting
    that it stands for, and a summary.
    """
    return [
        {
            "backend": name,
            "summary": entry.summary,
            "default": name == DEFAULT,
            "package": BACKENDS.package_of(name) or None,
            "variants": [
                {"variant": f"{name}:{word}", "setting": one.setting, "summary": one.summary}
                for word, one in entry.variants.items()
            ],
        }
        for name, entry in BACKENDS.items()
    ]


def config(backend: str) -> str:
    """Return a complete commented YAML config of a backend, or of variants, with every default.

    Raises UsageError for an unknown name.
    """
    from hiertopics.settings.config import template  # YAML, which a list of backends does not need

    chosen = load(backend)
    return template(str(asked(backend)), _summary(backend), chosen.Model, chosen.Inference)


def schema(backend: str) -> str:
    """Return a JSON Schema of the configs of a backend; raises UsageError for an unknown name."""
    from hiertopics.settings.schema import schema_of

    chosen = load(backend)
    return schema_of(str(asked(backend)), _summary(backend), chosen.Model, chosen.Inference)


def _summary(name: str) -> str:
    """Return the summary of a backend, followed by those of the variants that its name has."""
    full, words = asked(name)
    parts = [entry(full).summary, *(entry(full).variants[word].summary for word in words)]
    return "; ".join(parts)
