"""Building an experiment: layers, strict types, and all problems at once with their origin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta

from hiertopics.base.errors import ConfigError
from hiertopics.settings.config import Discretise, Experiment, InferenceConfig, build
from hiertopics.settings.layers import merge, parse_set
from hiertopics.settings.yamlfile import load_yaml

Build = Callable[..., Experiment]


def problems(make: Build, *layers: object) -> list[str]:
    """Return what is wrong with the layers."""
    with pytest.raises(ConfigError) as caught:
        make(*layers)
    return list(caught.value.problems)


def test_defaults(make: Build, declared: SimpleNamespace) -> None:
    """No settings but the backend give every default, as its field's type."""
    experiment = make()
    assert experiment.backend == "imaginary"
    assert experiment.seed == 0
    assert experiment.model == declared.Model()
    assert experiment.inference == declared.Inference()
    assert type(experiment.model.gamma) is float  # declared as 1
    assert (experiment.data.holdout, experiment.data.min_df, experiment.data.max_df) == (
        "docs:0.1@0",
        1,
        1.0,
    )
    assert (experiment.output.checkpoint_seconds, experiment.output.record_every) == (600, 10)
    assert (experiment.inference.iterations, experiment.inference.shards) == (500, 1)


def test_frozen(make: Build) -> None:
    """Nothing changes during a run."""
    experiment = make()
    for record in (experiment, experiment.data, experiment.inference, experiment.output):
        with pytest.raises(AttributeError):
            setattr(record, record.__struct_fields__[0], 1)


def test_precedence_and_origin_of_each_layer(make: Build, tmp_path: Path) -> None:
    """Flags beat --set, --set beats the file; a wrong value is laid to the layer that won."""
    path = tmp_path / "x.yaml"
    path.write_text("seed: 1\nmodel: {gamma: 2, depth: 0, step: 3}\ndata: {from: uci}\n")
    layers = [
        (str(path), load_yaml(path)),
        ("--set", parse_set(["model.gamma=0", "seed=2", "model.depth=4"])),
        ("flag --seed", {"seed": -1}),
    ]
    assert problems(make, *layers) == [
        "seed must be >= 0, got -1 (flag --seed)",
        "model.gamma must be > 0, got 0 (--set)",
        f"model.step must be > 0 and < 1, got 3 ({path})",
    ]
    good = make(*layers[:2], ("flag --seed", {"seed": 3, "model": {"gamma": 5, "step": 0.5}}))
    assert (good.seed, good.model.gamma, good.model.depth) == (3, 5.0, 4)
    assert good.data.from_ == "uci"


def test_everything_wrong_is_reported_at_once(make: Build) -> None:
    """One run of the command shows every mistake."""
    raw = {
        "gamma": 1,
        "sede": 3,
        "quite": "unlike anything",
        "model": {"depht": 3, "depth": True, "gamma": "x", "prior": "XX", "max_nodes": 0},
        "inference": {"shards": 1.5, "iterations": -1, "shuffle": 1, "workers": 2},
        "data": {"from_": "uci", "labels": 3, "holdout": None},
        "output": [1],
    }
    assert problems(make, ("configs/x.yaml", raw)) == [
        f"{line} (configs/x.yaml)"
        for line in [
            "unknown key 'gamma'; did you mean 'model.gamma'?",
            "unknown key 'sede'; did you mean 'seed'?",
            "unknown key 'quite'",
            "unknown key 'from_' under data; did you mean 'from'?",
            "data.labels must be text or null, got 3",
            "data.holdout must be text, got null",
            "unknown key 'depht' under model; did you mean 'depth'?",
            "model.gamma must be a number > 0, got 'x'",
            "model.depth must be a whole number >= 1 and <= 9, got true",
            "model.prior must be AA or AS, got 'XX'",
            "model.max_nodes must be >= 1, got 0",
            "unknown key 'workers' under inference",
            "inference.iterations must be >= 0, got -1",
            "inference.shards must be a whole number >= 1, got 1.5",
            "inference.shuffle must be true or false, got 1",
            "output must be a mapping of keys, got a list",
        ]
    ]


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("model.gamma", True, "a number > 0, got true"),
        ("model.gamma", None, "a number > 0, got null"),
        ("model.gamma", "\ud800", r"a number > 0, got '\ud800'"),
        ("seed", "\ud800", r"a whole number >= 0, got '\ud800'"),
        ("model.gamma", {"a": 1}, "a number > 0, got a mapping"),
        ("model.gamma", [1.0], "a number > 0, got a list"),
        ("model.gamma", "1e-3", "a number > 0, got '1e-3'"),
        ("model.gamma", float("inf"), "a finite number, got inf"),
        ("model.gamma", float("nan"), "> 0, got nan"),
        ("model.depth", 3.0, "a whole number >= 1 and <= 9, got 3.0"),
        ("model.depth", 10, ">= 1 and <= 9, got 10"),
        ("model.max_nodes", "x", "a whole number >= 1 or null, got 'x'"),
        ("model.prior", 3, "AA or AS, got 3"),
        ("model.name", 3, "text, got 3"),
        ("model.learn", "yes", "true or false, got 'yes'"),
        ("model.learn", 0, "true or false, got 0"),
        ("backend", 3, "text, got 3"),
        ("backend", {"x": 1}, "text, got a mapping"),
        ("seed", True, "a whole number >= 0, got true"),
        ("inference.tolerance", -0.1, ">= 0, got -0.1"),
        ("inference.shards", 0, ">= 1, got 0"),
        ("output.checkpoint_seconds", -1, ">= 0, got -1"),
        ("output.record_every", 0, ">= 1, got 0"),
        ("data.min_df", True, "a number, got true"),
        ("data.min_df", "1", "a number, got '1'"),
        ("data.max_df", "x%", "a number, such as 0.9, got 'x%'"),
        ("data.max_df", "120%", "a share from 0.0 to 1.0, got 1.2"),
        ("data.ngram_range", "1 2", "a list, each a whole number >= 1, such as [1,2], got '1 2'"),
        ("data.ngram_range", "1,0", "a list, each a whole number >= 1, such as [1,2], got '1,0'"),
        ("data.ngram_range", True, "a list, each a whole number >= 1, such as [1,2], got true"),
        ("data.lemmas", True, "text or null, such as english, got true"),
        (
            "data.phrases",
            True,
            "{npmi: a number >= -1 and <= 1, min_count: a whole number >= 1, "
            "over_stop_words: true or false} or null, "
            "such as {npmi: 0.3, min_count: 5}, got true",
        ),
        ("data.min_df", 0, ">= 1 document, got 0"),
        ("data.min_df", 1.5, "a share from 0.0 to 1.0, got 1.5"),
        ("data.max_df", -0.5, "a share from 0.0 to 1.0, got -0.5"),
        ("data.max_df", float("nan"), "a finite number, got nan"),
        ("data.text_field", True, "a whole number, text or null, got true"),
        ("data.text_field", 1.5, "a whole number, text or null, got 1.5"),
    ],
)
def test_wrong_values(make: Build, key: str, value: object, wanted: str) -> None:
    """Types are strict: no number from a boolean or a string, no whole number from 3.0."""
    section, _, name = key.rpartition(".")
    raw = {section: {name: value}} if section else {name: value}
    assert problems(make, raw) == [f"{key} must be {wanted} (a layer)"]


def test_a_number_of_any_size_is_shown_in_a_line(make: Build) -> None:
    """Older releases of msgspec call it too small, newer ones out of range."""
    (problem,) = problems(make, {"model": {"gamma": 10**400}})
    assert problem in [
        f"model.gamma must be {wanted} > 0, got 1{'0' * 76}... (a layer)".replace("  ", " ")
        for wanted in ("", "a number")
    ]


def test_accepted_values(make: Build) -> None:
    """A whole number is a number; the bounds that are allowed are; seeds may be large."""
    experiment = make(
        {"seed": 2**70, "model": {"gamma": 3, "max_nodes": 5}},
        {"output": {"checkpoint_seconds": 0}, "inference": {"iterations": 0, "tolerance": 1e-4}},
    )
    assert type(experiment.model.gamma) is float
    assert experiment.seed == 2**70
    assert experiment.output.checkpoint_seconds == 0
    assert experiment.inference.iterations == 0


@pytest.mark.parametrize("key", ["text_field", "id_field", "group_field", "label_field"])
def test_a_column_number_is_a_name(make: Build, key: str) -> None:
    """text_field=0 is the column 0."""
    layer = parse_set([f"data.{key}=0"])
    assert getattr(make(layer).data, key) == "0"
    assert getattr(make(parse_set([f"data.{key}=title"])).data, key) == "title"


@pytest.mark.parametrize(
    ("low", "high"), [(1, 1.0), (0.5, 2), (0.0, 1.0), (2, 2), (0.2, 0.3), (5, 0.5)]
)
def test_document_limits(make: Build, low: float, high: float) -> None:
    """How a limit is written decides what it means, and that is kept."""
    data = make({"data": {"min_df": low, "max_df": high}}).data
    assert (type(data.min_df), type(data.max_df)) == (type(low), type(high))
    assert (data.min_df, data.max_df) == (low, high)


def test_contradicting_document_limits(make: Build) -> None:
    """Limits of one kind that leave no word are refused."""
    for low, high in ((3, 2), (0.5, 0.25)):
        found = problems(make, {"data": {"min_df": low, "max_df": high}})
        assert found == [f"data.min_df must be <= max_df, got {low} and {high} (a layer)"]


@pytest.mark.parametrize("value", [-1, "-1", "class", 3])
def test_a_class_column_is_a_number_or_a_name(make: Build, value: object) -> None:
    """A negative number counts from the end; either way it is kept as text."""
    assert make({"data": {"label_column": value}}).data.label_column == str(value)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([], None),
        (["data.discretise={}"], Discretise()),
        (["data.discretise.bins=7"], Discretise(bins=7)),
        (["data.discretise={method: uniform, bins: 3}"], Discretise(method="uniform", bins=3)),
        (["data.discretise={bins: 3}", "data.discretise.method=uniform"], None),
        (["data.discretise.bins=3", "data.discretise=null"], None),
    ],
)
def test_a_struct_inside_a_section(
    make: Build, items: list[str], expected: Discretise | None
) -> None:
    """A mapping fills it, whole or key by key; null takes it away again."""
    both = Discretise(method="uniform", bins=3) if len(items) == 2 and "{" in items[0] else None
    assert make(("--set", parse_set(items))).data.discretise == (expected or both)


def test_layers_meet_inside_a_struct_inside_a_section(make: Build) -> None:
    """A later layer changes one key of it, or all of it to null."""
    file = {"data": {"discretise": {"method": "uniform", "bins": 9}}}
    later = make(file, {"data": {"discretise": {"bins": 4}}}).data.discretise
    assert later == Discretise(method="uniform", bins=4)
    assert make(file, {"data": {"discretise": None}}).data.discretise is None
    assert make(file, {"data": None}).data.discretise == Discretise(method="uniform", bins=9)


def test_what_is_wrong_inside_a_struct_has_its_whole_path_and_its_layer(make: Build) -> None:
    """As for the keys of a section."""
    file = ("x.yaml", {"data": {"discretise": {"method": "median", "bins": 1, "binz": 2}}})
    assert problems(make, file, ("--set", {"data": {"discretise": {"bins": 2.5}}})) == [
        "unknown key 'binz' under data.discretise; did you mean 'bins'? (x.yaml)",
        "data.discretise.method must be quantile or uniform, got 'median' (x.yaml)",
        "data.discretise.bins must be a whole number >= 2 and <= 1000, got 2.5 (--set)",
    ]
    for value, got in ((5, "5"), ([], "a list"), ("quantile", "'quantile'")):
        assert problems(make, {"data": {"discretise": value}}) == [
            "data.discretise must be {method: quantile or uniform, "
            f"bins: a whole number >= 2 and <= 1000}} or null, got {got} (a layer)"
        ]


@pytest.mark.parametrize(
    ("raw", "where"), [({"bins": 3}, ""), ({"data": {"bins": 3}}, " under data")]
)
def test_a_key_of_a_struct_that_stands_too_high_is_pointed_to_its_place(
    make: Build, raw: dict[str, object], where: str
) -> None:
    """The suggestion is the whole path."""
    (problem,) = problems(make, raw)
    assert problem == f"unknown key 'bins'{where}; did you mean 'data.discretise.bins'? (a layer)"


def test_checks_across_fields(make: Build) -> None:
    """What __post_init__ says belongs to the field that its error names, else to the section."""
    file = ("x.yaml", {"model": {"max_nodes": 2}})
    assert problems(make, file, ("--set", {"model": {"depth": 4}})) == [
        "model.max_nodes must be >= depth (x.yaml)"
    ]
    assert problems(make, {"model": {"prior": "AA", "learn": False}}) == [
        "model.prior AA needs learn (a layer)"
    ]
    assert problems(make, {"model": {"name": ""}}) == [
        "model: an empty name means nothing (a layer)"
    ]
    assert problems(make, {"model": {"depth": 9, "name": "deep"}}) == [
        "model: depth and name say the same (a layer)"
    ]


def test_problems_of_sections_come_with_those_of_fields(make: Build) -> None:
    """A failed check in one section does not hide a wrong key in another."""
    raw = {"model": {"name": ""}, "data": {"min_df": 0}, "seed": -1, "output": {"x": 1}}
    assert len(problems(make, raw)) == 4


def test_a_backend_must_be_named(declared: SimpleNamespace) -> None:
    """The backend is the one key without default."""
    with pytest.raises(ConfigError, match=r"^backend must be given$"):
        build([], model_type=declared.Model, inference_type=declared.Inference)


def test_empty_keys_and_dotted_keys_are_unknown(make: Build) -> None:
    """No key is passed over in silence."""
    assert problems(make, {"": 3}) == ["unknown key '' (a layer)"]
    assert problems(make, {"model": {"": 3}}) == ["unknown key '' under model (a layer)"]
    assert "unknown key 'model.gamma'" in problems(make, {"model.gamma": 3})[0]


def test_a_bad_default_is_found() -> None:
    """Defaults obey the bounds of their fields, too."""

    class Careless(InferenceConfig, frozen=True, kw_only=True):
        shards: Annotated[int, Meta(ge=1, description="Too few.")] = 0

    class Empty(msgspec.Struct, frozen=True):
        pass

    with pytest.raises(ConfigError, match=r"^inference.shards must be >= 1, got 0$"):
        build([("file", {"backend": "x"})], model_type=Empty, inference_type=Careless)


def test_merge() -> None:
    """Later wins, key by key; an empty section changes nothing; inputs stay as they are."""
    first = {"a": 1, "s": {"x": 1, "y": {"z": 1}}, "t": 5}
    second = {"s": {"x": 2, "y": {"w": 2}}, "t": {"u": 6}, "v": None}
    assert merge(first, second, {"s": None, "a": None}) == {
        "a": None,
        "s": {"x": 2, "y": {"z": 1, "w": 2}},
        "t": {"u": 6},
        "v": None,
    }
    assert first == {"a": 1, "s": {"x": 1, "y": {"z": 1}}, "t": 5}
    assert merge() == {}
    assert merge({"s": {"x": 1}}, {"s": 3}) == {"s": 3}


def test_an_empty_section_means_defaults(make: Build) -> None:
    """A section whose keys are all commented out reads as null."""
    assert make({"model": None, "data": {}}) == make()
    assert make({"model": {"depth": 4}}, {"model": None}).model.depth == 4


def test_parse_set() -> None:
    """Values follow the YAML rules; the last of several wins."""
    items = ["model.gamma=1e-3", "model.depth = 4", "model.depth=5", "seed=07", "data.vocab="]
    assert parse_set([*items, "data.holdout=fold:2/5@3", "model.name=no", "data.corpus=a=b"]) == {
        "model": {"gamma": 1e-3, "depth": 5, "name": "no"},
        "seed": 7,
        "data": {"vocab": None, "holdout": "fold:2/5@3", "corpus": "a=b"},
    }
    assert parse_set([]) == {}
    assert parse_set(["model={gamma: 2, depth: 1}", "model.depth=2"]) == {
        "model": {"gamma": 2, "depth": 2}
    }


@pytest.mark.parametrize("mark", [*"|>-?:,[]{}#&*!%@`~;1", " ", "\t"])
def test_a_delimiter_arrives_as_it_is_given(make: Build, mark: str) -> None:
    """YAML reads | as an empty text, # as null and - as a list."""
    layer = parse_set([f"data.delimiter={mark}"])
    assert make(layer).data.delimiter == mark


@pytest.mark.parametrize("mark", "|>-?:,#*!%@")
def test_a_field_with_a_mark_for_a_name_arrives_as_it_is_given(make: Build, mark: str) -> None:
    assert make(parse_set([f"data.text_field={mark}"])).data.text_field == mark


def test_null_stays_null_where_no_character_is_held() -> None:
    assert parse_set(["data.text_field=~", "data.groups=", "data.labels= "]) == {
        "data": {"text_field": None, "groups": None, "labels": None}
    }


def test_parse_set_reports_every_bad_item() -> None:
    """All of them, each with what was typed."""
    with pytest.raises(ConfigError) as caught:
        parse_set(["gamma", "=3", "model..x=1", ".x=1", "a=1", "b=@x", "c={d: 1, d: 2}"])
    assert list(caught.value.problems) == [
        "expected section.key=value, got 'gamma' (--set)",
        "expected section.key=value, got '=3' (--set)",
        "expected section.key=value, got 'model..x=1' (--set)",
        "expected section.key=value, got '.x=1' (--set)",
        "b: found character '@' that cannot start any token, "
        "while scanning for the next token (--set)",
        "c: key 'd' is given twice (--set)",
    ]
