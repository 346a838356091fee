"""The table of backends, their variants, and names that installed packages add to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hiertopics.base.errors import ConfigError, UsageError
from hiertopics.contract import registry
from hiertopics.runs.experiment import read_experiment
from hiertopics.settings.config import STARTS
from hiertopics.settings.fields import expectation, fields_of, offered
from hiertopics.settings.identity import config_hash
from hiertopics.settings.yamlfile import load_yaml

VARIANTS = [(name, word) for name, entry in registry.OWN.items() for word in entry.variants]
OF_HDP_GIBBS = "bursts, partial, frequencies, unordered, dense"


def test_the_default_is_a_backend() -> None:
    assert registry.DEFAULT in registry.OWN


def test_every_backend_but_one_says_how_long_its_kernels_take_to_compile() -> None:
    without = [name for name, entry in registry.OWN.items() if entry.compiling is None]
    assert without == ["multinomial"]


@pytest.mark.parametrize(("name", "word"), VARIANTS)
def test_a_variant_is_short_for_its_setting(name: str, word: str, tmp_path: Path) -> None:
    """By flag, in a file and in Python; the same fit, under the plain name of the backend."""
    variant = registry.OWN[name].variants[word]
    by_setting = read_experiment({"backend": name}, None, [variant.setting])
    (tmp_path / "my.yaml").write_text(f"backend: {name}:{word}\n")
    for by_name in (
        read_experiment({"backend": f"{name}:{word}"}),
        read_experiment({}, tmp_path / "my.yaml"),
        read_experiment({}, None, {"backend": f"{name}:{word}"}),
    ):
        assert by_name == by_setting and by_name.backend == name
        assert config_hash(by_name) == config_hash(by_setting)
    assert by_setting != read_experiment({"backend": name})
    if variant.module:
        assert registry.load(f"{name}:{word}") is registry.load_for(by_setting)
        assert registry.load_for(by_setting) is not registry.load(name)


@pytest.mark.parametrize(("name", "word"), VARIANTS)
def test_the_key_of_a_variant_is_offered_by_its_name_alone(
    name: str, word: str, tmp_path: Path
) -> None:
    variant = registry.OWN[name].variants[word]
    section, key = variant.key.split(".")
    backend = registry.load(name)
    kind = {"model": backend.Model, "inference": backend.Inference}[section]
    assert not offered(fields_of(kind)[key])
    (tmp_path / "my.yaml").write_text(registry.config(f"{name}:{word}"), encoding="utf-8")
    written: dict[str, Any] = dict(load_yaml(tmp_path / "my.yaml"))
    assert key not in written[section]
    assert read_experiment({}, tmp_path / "my.yaml") == read_experiment(
        {"backend": f"{name}:{word}"}
    )


def test_a_name_may_have_several_variants_and_be_shortened() -> None:
    found: Any = read_experiment({"backend": "chdp-g:irp:maximization"})
    assert (found.backend, found.inference.sampler) == ("chdp-gibbs", "irp")
    assert found.model.cooperation == "maximization"
    assert str(registry.asked("chdp-g:irp:maximization")) == "chdp-gibbs:irp:maximization"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hdp-gibbs:parial", f"unknown variant 'parial' of hdp-gibbs; it has {OF_HDP_GIBBS}"),
        ("hdp-gibbs:", f"unknown variant '' of hdp-gibbs; it has {OF_HDP_GIBBS}"),
        ("multinomial:few", "unknown variant 'few' of multinomial; it has none"),
        ("hdp-pcvb0:few:all", "variants few and all of hdp-pcvb0 exclude each other"),
        ("hdp-gibs:partial", "unknown backend 'hdp-gibs'; did you mean 'hdp-gibbs'?"),
    ],
)
def test_a_wrong_variant_is_one_line_with_those_that_there_are(name: str, said: str) -> None:
    for read in (registry.load, registry.config, lambda name: read_experiment({"backend": name})):
        with pytest.raises(UsageError) as caught:
            read(name)
        assert str(caught.value) == said


def test_the_layer_that_names_the_backend_last_names_its_variants(tmp_path: Path) -> None:
    config = tmp_path / "my.yaml"
    config.write_text("backend: hdp-gibbs:partial\n")
    plain: Any = read_experiment({"backend": "hdp-gibbs"}, config)
    assert plain.inference.collapse == "full"
    other = read_experiment({"backend": "lda-gibbs"}, config)
    assert other.backend == "lda-gibbs"
    full: Any = read_experiment({}, config, ["inference.collapse=full"])
    assert full.inference.collapse == "full"


def test_a_layer_that_contradicts_its_variant_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "my.yaml"
    config.write_text("backend: hdp-gibbs:partial\ninference: {collapse: full}\n")
    with pytest.raises(ConfigError) as caught:
        read_experiment({}, config)
    assert list(caught.value.problems) == [
        "backend hdp-gibbs:partial is inference.collapse: partial, but inference.collapse is full "
        f"({config})"
    ]


def test_starts_have_the_same_words_in_all_backends() -> None:
    used = set()
    for name in registry.OWN:
        field = fields_of(registry.load(name).Inference).get("start")
        used |= set() if field is None else set(expectation(field.type).split(" or "))
    assert used == set(STARTS)
