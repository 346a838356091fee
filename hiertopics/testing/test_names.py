"""A backend has the names of the contract, valid records, and a simulation."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, get_origin

import msgspec
import numpy as np
import pytest

from hiertopics.contract import Backend, Chains, Context, Workers, registry
from hiertopics.contract.states import is_record
from hiertopics.settings.config import InferenceConfig, SamplerConfig, build, template
from hiertopics.settings.fields import offered
from hiertopics.settings.yamlfile import load_yaml
from hiertopics.testing.bench import SIZES, Bench, of_those
from hiertopics.testing.corpora import varied

PARAMETERS = {
    "prepare": ["corpus", "settings"],
    "init": ["data", "settings", "context"],
    "step": ["state", "data", "settings", "context"],
    "summarise": ["state", "data", "settings", "context"],
    "infer": ["tree", "corpus", "settings", "context"],
    "objective": ["state", "data", "settings", "context"],
    "simulate": ["settings", "sizes", "context"],
    "memory": ["corpus", "settings"],
    "memory_of_worker": ["corpus", "settings"],
    "memory_from": ["state", "corpus", "settings"],
    "choose_variant": ["corpus", "settings"],
    "monotone": ["settings"],
    "draw": ["state", "data", "settings", "context"],
    "per_chain": ["state", "data", "settings", "context"],
    "predictive": ["tree", "n_samples", "settings", "rng"],
    "log_density": ["tree", "corpus", "settings"],
    "draw_hyperparameters": ["settings", "sizes", "context"],
    "whole_theta": ["tree", "theta", "lengths"],
    "merge_extra": ["tree", "grouping"],
    "refit_on_tree": ["tree", "theta", "corpus", "settings", "context"],
    "recut": ["tree", "theta", "corpus", "branches", "settings", "context"],
    "outline": ["corpus", "settings", "context"],
    "outline_cost": ["corpus", "settings"],
    "short": ["settings"],
    "extend_state": ["before", "data", "settings", "context"],
    "migrate_state": ["arrays", "settings"],
    "check": ["arrays", "lengths"],
    "restore": ["arrays", "data", "settings", "context"],
    "flaw": ["state", "data", "settings"],
}
"""Parameters of every function of the contract, also of optional ones."""


def test_every_function_of_the_contract_is_tested_here() -> None:
    values = {"Model", "Inference", "State", "Info", "objective_name"}
    values |= {
        "observes",
        "sampler",
        "pieces",
        "out_of_core",
        "remote_tasks",
        "by_token",
        "from_counts",
        "extra",
        "breadth_first",
    }
    assert set(PARAMETERS) == {field.name for field in dataclasses.fields(Backend)} - values


@of_those(lambda bench: bench.module.sampler)
def test_a_sampler_is_made_by_chains(bench: Bench) -> None:
    """Otherwise nothing reads ``inference.chains`` and ``inference.summarise``."""
    assert get_origin(bench.module.State) is Chains
    assert issubclass(bench.module.Inference, SamplerConfig)


def test_functions_take_the_parameters_of_the_contract(bench: Bench) -> None:
    """Optional ones, too, where the backend has them; further parameters have defaults."""
    for name, wanted in PARAMETERS.items():
        function = getattr(bench.module, name)
        if function is None:
            continue
        own = inspect.signature(function).parameters
        assert list(own)[: len(wanted)] == wanted, name
        for extra in list(own)[len(wanted) :]:
            assert own[extra].default is not inspect.Parameter.empty, (name, extra)


def test_a_backend_is_a_value_that_nobody_changes(bench: Bench) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        bench.module.step = None


def test_records_are_of_the_right_kinds(bench: Bench) -> None:
    module = bench.module
    assert issubclass(module.Model, msgspec.Struct)
    assert issubclass(module.Inference, InferenceConfig)
    assert is_record(module.State)
    assert issubclass(module.Info, tuple) and module.Info._fields
    assert isinstance(module.objective_name, str) and module.objective_name
    assert isinstance(module.monotone(bench.settings), bool) and isinstance(module.sampler, bool)


def test_a_sampler_and_nothing_else_has_a_schedule_of_draws(bench: Bench) -> None:
    assert issubclass(bench.module.Inference, SamplerConfig) == bench.module.sampler


def test_info_does_not_take_the_columns_of_the_loop(bench: Bench) -> None:
    assert not {"iteration", "seconds", "objective"} & set(bench.module.Info._fields)


def test_every_key_has_a_default_within_its_bounds_and_a_sentence(bench: Bench) -> None:
    entry = registry.BACKENDS[bench.name]
    text = template(bench.name, entry.summary, bench.module.Model, bench.module.Inference)
    lines = text.splitlines()
    for kind in (bench.module.Model, bench.module.Inference):
        for key in filter(offered, msgspec.structs.fields(kind)):
            place = next(n for n, line in enumerate(lines) if line.startswith(f"  {key.name}:"))
            first = place
            while lines[first - 1].startswith("  # "):
                first -= 1
            sentence = " ".join(line.removeprefix("  # ") for line in lines[first:place])
            explained = sentence.partition(" Takes ")[0]
            assert len(explained.split()) > 2, key.name


def test_the_template_builds_the_defaults(bench: Bench, tmp_path: Any) -> None:
    module = bench.module
    path = tmp_path / "template.yaml"
    path.write_text(template(bench.name, "one line", module.Model, module.Inference))
    built = build(
        [("file", load_yaml(path))], model_type=module.Model, inference_type=module.Inference
    )
    assert (built.backend, built.model, built.inference) == (
        bench.name,
        module.Model(),
        module.Inference(),
    )


def test_the_registry_says_each_backend_in_one_line(bench: Bench) -> None:
    summary = registry.BACKENDS[bench.name].summary
    assert summary and "\n" not in summary


def test_simulate_gives_the_sizes_asked_for(bench: Bench) -> None:
    corpus = bench.simulate()
    assert (corpus.n_docs, corpus.n_words) == SIZES[:2]
    if not bench.of_vectors:
        assert corpus.doc_lengths.tolist() == [SIZES.doc_length] * SIZES.n_docs


def test_simulate_depends_on_the_seed_and_on_nothing_else(bench: Bench) -> None:
    assert bench.simulate(seed=3).fingerprint == bench.simulate(seed=3).fingerprint
    assert bench.simulate(seed=3).fingerprint != bench.simulate(seed=4).fingerprint


def test_simulate_tells_the_truth_in_arrays(bench: Bench) -> None:
    _, truth = bench.module.simulate(bench.settings, SIZES, Context(3, 0, Workers()))
    assert truth
    for name, array in truth.items():
        assert isinstance(array, np.ndarray) and array.dtype != object, name
    for name in {"phi", "theta"} & set(truth):
        assert np.allclose(truth[name].sum(axis=1), 1), name


@of_those(lambda bench: bench.module.draw_hyperparameters is not None)
def test_drawn_hyperparameters_are_arrays_that_a_story_is_told_with(bench: Bench) -> None:
    context = Context(3, 0, Workers())
    drawn = bench.module.draw_hyperparameters(bench.settings, SIZES, context)
    assert all(np.isfinite(array).all() for array in drawn.values())
    corpus, _ = bench.module.simulate(bench.settings, SIZES, context, drawn)
    assert corpus.n_docs == SIZES.n_docs


def test_memory_covers_the_largest_array_and_grows_with_the_corpus(bench: Bench) -> None:
    small, large = bench.seen(varied()), bench.seen(varied(22, 34))
    _, state = bench.start(large)
    arrays = [np.asarray(getattr(state, field.name)) for field in dataclasses.fields(state)]
    estimate = bench.module.memory(large, bench.settings)
    assert isinstance(estimate, int)
    assert estimate >= max(array.nbytes for array in arrays)
    assert estimate > bench.module.memory(small, bench.settings)
