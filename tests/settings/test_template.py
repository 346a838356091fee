"""The template: it loads to the defaults, and no key goes without an explanation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta, structs

from hiertopics.base.errors import ConfigError
from hiertopics.settings.config import (
    DataConfig,
    Discretise,
    Experiment,
    InferenceConfig,
    OutputConfig,
    TopLevelKeys,
    build,
    template,
)
from hiertopics.settings.fields import description, expectation
from hiertopics.settings.yamlfile import load_yaml

Build = Callable[..., Experiment]


@pytest.fixture(name="text")
def text_of_template(declared: SimpleNamespace) -> str:
    """Return the template of the imaginary backend."""
    return template("imaginary", "one line: about it", declared.Model, declared.Inference)


def test_template_builds_to_the_defaults(
    text: str, make: Build, declared: SimpleNamespace, tmp_path: Path
) -> None:
    """As written, and with every default value removed from the text."""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    layers = [(str(path), load_yaml(path))]
    built = build(layers, model_type=declared.Model, inference_type=declared.Inference)
    assert built == make()


def test_template_shows_every_key_in_order(text: str, tmp_path: Path, make: Build) -> None:
    """Sections in the order of the dump, and every key of each."""
    path = tmp_path / "x.yaml"
    path.write_text(text)
    loaded = load_yaml(path)
    assert list(loaded) == ["backend", "seed", "data", "model", "inference", "output"]
    for name in list(loaded)[2:]:
        fields = structs.fields(type(getattr(make(), name)))
        section = loaded[name]
        assert isinstance(section, dict)
        assert list(section) == [field.encode_name for field in fields]


def test_every_key_follows_its_explanation(text: str) -> None:
    """A comment with what the key means and what it takes stands before each key."""
    lines = text.splitlines()
    assert lines[0] == "# imaginary: one line: about it"
    for before, line in zip(lines, lines[1:], strict=False):
        if ":" in line and not line.lstrip().startswith("#") and not line.endswith(":"):
            assert before.lstrip().startswith("# "), line
    joined = text.replace("\n  # ", " ")
    assert "# Concentration of the top level. Takes a number > 0.\n  gamma: 1.0\n" in text
    assert "Takes a whole number >= 1 and <= 9.\n  depth: 3\n" in text
    assert "Takes AA or AS.\n  prior: AS\n" in text
    assert "null: no limit. Takes a whole number >= 1 or null.\n  max_nodes: null\n" in text
    assert "Takes true or false.\n  learn: true\n" in text
    assert "# A name with: a colon # and a hash. Takes text.\n  name: 'yes'\n" in text
    assert "Takes a number > 0 and < 1.\n  step: 1.0e-05\n" in text
    assert "exchange their counts once per iteration. It changes the result" in joined
    assert max(map(len, lines)) <= 100
    assert not any(line != line.rstrip() for line in lines)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_keys_of_a_struct_are_explained_above_it(text: str) -> None:
    """Its type in words, then a line for each of its keys with the default."""
    joined = text.replace("\n  # ", " ")
    assert (
        "Takes {method: quantile or uniform, bins: a whole number >= 2 and <= 1000} or null. "
        "method (default quantile): quantile: bins with equally many rows; uniform: bins of equal "
        "width. bins (default 5): Number of bins per column; fewer where values are repeated.\n"
        "  discretise: null\n"
    ) in joined


def test_backend_without_keys_of_its_own() -> None:
    """A model without hyperparameters still has its section."""

    class Empty(msgspec.Struct, frozen=True):
        pass

    assert "\nmodel: {}\n" in template("plain", "nothing to set", Empty, InferenceConfig)


def test_wrong_default_is_refused() -> None:
    """A template that could not be built from would be a trap."""

    class Wrong(msgspec.Struct, frozen=True):
        gamma: Annotated[float, Meta(gt=0, description="Wrong.")] = 0.0

    with pytest.raises(ConfigError, match=r"model\.gamma must be > 0, got 0\.0"):
        template("wrong", "x", Wrong, InferenceConfig)


@pytest.mark.parametrize(
    "kind", [TopLevelKeys, DataConfig, Discretise, InferenceConfig, OutputConfig]
)
def test_common_keys_are_explained(kind: type[msgspec.Struct]) -> None:
    """Each in a sentence."""
    for field in structs.fields(kind):
        assert description(field.type).endswith("."), field.name


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "a whole number"),
        (int | float, "a number"),
        (bool | None, "true or false or null"),
        (Annotated[float, Meta(gt=0)] | None, "a number > 0 or null"),
        (Annotated[float, Meta(ge=0.5, lt=1)], "a number >= 0.5 and < 1"),
        (Literal["b", "a"] | None, "a or b or null"),
        (Literal[1, 2], "1 or 2"),
    ],
)
def test_expectation(annotation: object, words: str) -> None:
    """Types and bounds in words."""
    assert expectation(annotation) == words


def test_lists_in_words() -> None:
    """What each entry must be is said once."""
    assert expectation(list[Annotated[float, Meta(gt=0)]]) == "a list, each a number > 0"


def test_description_inside_and_outside_a_union() -> None:
    """Where the sentence stands does not matter; the outer one wins; there may be none."""
    inner = Annotated[float, Meta(gt=0, description="inner")]
    assert description(inner | None) == "inner"
    assert description(Annotated[inner | None, Meta(description="outer")]) == "outer"
    assert description(float) == ""


def test_types_that_no_setting_may_have() -> None:
    """The author of a backend hears of it when its template is asked for."""
    with pytest.raises(TypeError, match="SetType"):
        expectation(set[int])
    assert (
        expectation(dict[str, list[int]])
        == "a mapping of names, each to a list, each a whole number"
    )
