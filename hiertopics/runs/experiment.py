"""From the user's settings (defaults, file, ``--set``, flags) to a checked experiment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hiertopics.base import files
from hiertopics.base.errors import ConfigError, RunError, UsageError
from hiertopics.base.saying import note
from hiertopics.contract import registry
from hiertopics.corpus.formats.trust import trust
from hiertopics.runs.manifest import added_packages, has_manifest, read_manifest, settings_version
from hiertopics.settings import history
from hiertopics.settings.config import Experiment, build, data_layer
from hiertopics.settings.fields import fields_of
from hiertopics.settings.former import show_plain
from hiertopics.settings.layers import Overrides, at, merge, parse_set, with_key
from hiertopics.settings.yamlfile import load_yaml, read_seeds

if TYPE_CHECKING:
    from hiertopics.contract.model import AnyBackend

CONFIG = "config.yaml"
SEEDS = "seeds"
BURSTS = "bursts"


def read_experiment(
    flags: Mapping[str, Any],
    config: Path | str | None = None,
    overrides: Overrides = (),
    run: Path | None = None,
) -> Experiment:
    """Return the experiment; flags win over overrides over the config file over defaults.

    flags: nested, without absent ones. overrides: ``key=value`` with dotted keys, or a
    mapping by them. run: the folder of one, whose defaults are those of when it was made; else
    those of the run whose config.yaml ``config`` is, if it is one. Raises ConfigError with every
    problem at once, and UsageError for an unknown backend. A tokenizer that overrides or flags name
    may be imported from now on; one that ``config`` names may not (``formats.trust``).
    """
    made = _made(run or _run_of(config))
    default = (*history.meant("backend", "*", made), registry.DEFAULT)[0]
    layers: list[tuple[str, Mapping[str, Any]]] = [("default", {"backend": default})]
    if config is not None:
        layers.append((str(config), load_yaml(config)))
    place = "overrides" if isinstance(overrides, Mapping) else "--set"
    by_hand = [(place, parse_set(overrides)), ("flag", dict(flags))]
    layers += by_hand
    name = merge(*(layer for _, layer in layers))["backend"]
    if not isinstance(name, str):
        got = "null" if name is None else repr(name)
        raise ConfigError([f"backend must be a name, got {got}"])
    given = merge(*(layer for _, layer in by_hand)).get("data")
    trust(given if isinstance(given, Mapping) else {})
    full = registry.named(name)
    layers = _with_variants(layers, registry.asked(name))
    layers = _with_seeds(layers, full)
    _refuse_bursts(layers, full)
    typed = {source for source, _ in by_hand}
    typed |= set() if config is None or _is_of_a_run(config) else {str(config)}
    return _built([*layers, ("backend", {"backend": full})], full, made, typed)


def _with_variants(
    layers: list[tuple[str, Mapping[str, Any]]], asked: registry.BackendChoice
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return layers in which variants are the settings that they stand for.

    They stand in the last layer that names the backend; the variants of earlier ones are void.
    Raises ConfigError where that layer gives one of the settings another value.
    """
    place = max(number for number, (_, layer) in enumerate(layers) if "backend" in layer)
    source, layer = layers[place]
    for key, value in asked.settings.items():
        section, name = key.split(".")
        given = at(layer, section).get(name, value)
        if given != value:
            other = f"but {key} is {show_plain(given)}"
            what = f"backend {asked} is {key}: {show_plain(value)}, {other} ({source})"
            raise ConfigError([what])
        layer = with_key(layer, section, name, value)
    return [*layers[:place], (source, layer), *layers[place + 1 :]]


def _with_seeds(
    layers: list[tuple[str, Mapping[str, Any]]], backend: str
) -> list[tuple[str, Mapping[str, Any]]]:
    """Return layers in which the words of a seed file replace its path and earlier seed words.

    Raises UsageError where the backend takes none, ConfigError where the file is wrong.
    """
    found: list[tuple[str, Mapping[str, Any]]] = []
    for source, layer in layers:
        model = layer.get("model")
        seeds = model.get(SEEDS) if isinstance(model, Mapping) else None
        if seeds is not None and not _takes_seeds(registry.load(backend)):
            able = ", ".join(registry.which(_takes_seeds))
            raise UsageError(f"{backend} takes no seed words (model.seeds); {able} do")
        if isinstance(model, Mapping) and isinstance(seeds, str):
            found = [(name, _without_seeds(earlier)) for name, earlier in found]
            layer = {**layer, "model": {**model, SEEDS: read_seeds(Path(seeds))}}
        found.append((source, layer))
    return found


def _takes_seeds(backend: AnyBackend) -> bool:
    return SEEDS in fields_of(backend.Model)


def _refuse_bursts(layers: list[tuple[str, Mapping[str, Any]]], backend: str) -> None:
    """Raise UsageError where documents are to be bursty under a backend that cannot."""
    if _takes_bursts(registry.load(backend)):
        return
    model = merge(*(layer for _, layer in layers)).get("model")
    if isinstance(model, Mapping) and model.get(BURSTS, "none") != "none":
        able = ", ".join(registry.which(_takes_bursts))
        raise UsageError(f"{backend} has no bursts of documents (model.bursts); {able} have")


def _takes_bursts(backend: AnyBackend) -> bool:
    return BURSTS in fields_of(backend.Model)


def _without_seeds(layer: Mapping[str, Any]) -> Mapping[str, Any]:
    model = layer.get("model")
    if not isinstance(model, Mapping):
        return layer
    return {**layer, "model": {key: value for key, value in model.items() if key != SEEDS}}


def _is_of_a_run(config: Path | str) -> bool:
    run = _run_of(config)
    return run is not None and has_manifest(run)


def _run_of(config: Path | str | None) -> Path | None:
    """Return the folder of the run that a config file belongs to."""
    path = Path(config or "")
    return path.parent if path.name == CONFIG else None


def _made(run: Path | None) -> int:
    """Return the number of the defaults that a run was made under, the present one without."""
    if run is None or not has_manifest(run):
        return history.version()
    return settings_version(run, read_manifest(run))


def _built(
    layers: list[tuple[str, Mapping[str, Any]]],
    name: str,
    made: int,
    typed: Collection[str] = (),
) -> Experiment:
    """Build the experiment of a backend; a missing setting has its default of version ``made``.

    typed: layers that a user wrote. Former names in them are told on stderr; a run keeps those that
    it was made with, and nobody has to change them.
    """
    backend = registry.load(name)
    before = history.left_out(merge(*(layer for _, layer in layers)), name, made)
    layers = [("default", before), *layers]

    def tell(source: str, what: str) -> None:
        if source in typed:
            note(f"{what} ({source})")

    return build(layers, model_type=backend.Model, inference_type=backend.Inference, tell=tell)


def flags_of(
    backend: str | None = None,
    seed: int | None = None,
    iterations: int | None = None,
    data: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the settings of arguments with their own flags; None is an absent one.

    data: entries of the ``data`` section, by their Python names.
    """
    named = {"backend": backend, "seed": seed}
    flags: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    if iterations is not None:
        flags["inference"] = {"iterations": iterations}
    return flags | data_layer(data) if data else flags


def fitted_experiment(run: Path, manifest: Mapping[str, Any]) -> Experiment:
    """Return the config that the run in a folder was fitted with.

    A key that it lacks means what it did then. Raises RunError where config.yaml is damaged or
    names another backend than the manifest, and where the package is gone that added the backend.
    """
    path, name = files.inside(run, CONFIG), str(manifest["backend"])
    if name not in registry.BACKENDS and name not in registry.UNFITTED:
        used = added_packages(manifest)
        hint = f"; install {' and '.join(used)}" if used else ""
        raise RunError(f"{run}: its backend {name!r} is not installed here{hint}")
    try:
        layers: list[tuple[str, Mapping[str, Any]]] = [
            ("manifest.json", {"backend": name}),
            (str(path), load_yaml(path)),
        ]
        fitted = _built(layers, name, settings_version(run, manifest))
    except ConfigError as error:
        what = error.problems[0].removeprefix(f"{path}: ")
        raise RunError(f"{path} is damaged: {what}") from error
    if fitted.backend != name:
        what = f"its backend is {fitted.backend!r}, but that of manifest.json {name!r}"
        raise RunError(f"{path} is damaged: {what}")
    return fitted
