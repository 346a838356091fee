"""Commands that pages and configs show but nobody runs here are ones that the program would take.

These are the ``console`` fences (they need a folder of corpora, hours, or a batch system), the
comments of the configs, and options and keys that are named in a sentence.
"""

from __future__ import annotations

import csv
import itertools
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from guide import (
    CONFIGS,
    PAGES,
    commands,
    fences,
    inline_code,
    name_of,
    typed,
    typed_in_comments,
)
from msgspec import structs
from source_tree import ROOT

from hiertopics.base.errors import HiertopicsError
from hiertopics.cli import COMMANDS, group
from hiertopics.contract import registry
from hiertopics.corpus.formats.table import FORMATS
from hiertopics.corpus.holdouts.spec import parse_holdout
from hiertopics.runs.experiment import read_experiment
from hiertopics.scoring.protocols import PROTOCOLS
from hiertopics.scoring.tasks import TASKS
from hiertopics.settings.config import section_types
from hiertopics.settings.yamlfile import dump_yaml
from hiertopics.views.showing import FORMS

WORDS = {
    "from_": set(FORMATS),
    "protocol": set(PROTOCOLS),
    "task": set(TASKS),
    "form": set(FORMS),
    "score": {"mixture", "single", "documents"},
}
"""What options may say that take one of some words but are no ``click.Choice``."""


def command_of(name: str) -> click.Command:
    """Return a command; raise UsageError where there is none."""
    found = group.get_command(click.Context(group), name)
    if found is None:
        raise click.UsageError(f"no such command {name!r}")
    return found


def refuse(words: list[str]) -> None:
    """Raise an error where the program would not take these words; nothing is read or fitted."""
    if words == ["--version"]:
        return
    # A command keeps the help option of its first context, so that has to be the program's own.
    above = click.Context(group, info_name="hiertopics", **group.context_settings)
    # What a command opens for its own time (whom it trusts) ends with its context.
    with command_of(words[0]).make_context(words[0], words[1:], parent=above) as context:
        given = context.params
    for option, known in WORDS.items():
        value = given.get(option)
        if value is not None and not (words[0] in ("topics", "import") and option == "form"):
            assert value in known, f"{value!r} is not one of {sorted(known)}"
    if given.get("to") is not None:
        assert given["to"] in (FORMATS if words[0] == "convert" else FORMS), given["to"]
    if words[0] == "config":
        registry.load(given["backend"])
    if words[0] in ("fit", "simulate", "convert", "sweep"):
        _refuse_settings(given)


def _config_named(name: str) -> Path | None:
    """Return a config of the tree, which its neighbours call by its name; None for another file."""
    found = [path for path in CONFIGS if name in (name_of(path), path.name)]
    assert found or not name.startswith("configs/"), f"there is no {name}"
    return found[0] if found else None


def _refuse_settings(given: dict[str, Any]) -> None:
    """Raise an error where a config has no such key, or a key no such value."""
    flags: dict[str, Any] = {"data": {"holdout": given.get("holdout") or "docs:0.1@0"}}
    if given.get("backend"):
        flags["backend"] = given["backend"]
    config = None
    if given.get("config") is not None:
        config = _config_named(given["config"])
        if config is None and "backend" not in flags:
            return  # a file of the reader's own, for whichever backend
    axes = {}
    for item in given.get("grid", ()):
        key, _, values = item.partition("=")
        axes[key] = next(csv.reader([values], strict=True))
    for values in itertools.product(*axes.values()):
        setting = dict(zip(axes, values, strict=True))
        wanted = dict(flags)
        if "backend" in setting:
            wanted["backend"] = setting.pop("backend")
        if "data.holdout" in setting:
            wanted["data"] = {"holdout": setting.pop("data.holdout")}
        more = [f"{key}={value}" for key, value in setting.items()]
        experiment = read_experiment(wanted, config, [*given.get("overrides", ()), *more])
        parse_holdout(experiment.data.holdout)


SHOWN = [
    *((page, body) for page in PAGES for body in map(typed, fences(page.read_text(), "console"))),
    *((path, typed_in_comments(path.read_text(encoding="utf-8"))) for path in CONFIGS),
]
SHOWN = [(page, script) for page, script in SHOWN if "hiertopics" in script]


@pytest.mark.parametrize(
    ("page", "script"), SHOWN, ids=[f"{name_of(page)}-{n}" for n, (page, _) in enumerate(SHOWN)]
)
def test_commands_that_are_shown_only_would_be_taken(
    page: Path, script: str, tmp_path: Path
) -> None:
    found = commands(script, tmp_path)
    assert found, script
    for words in found:
        try:
            refuse(words)
        except (click.ClickException, HiertopicsError) as error:
            raise AssertionError(f"hiertopics {shlex.join(words)}: {error}") from None


@pytest.mark.parametrize(
    "line",
    [
        "fitt corpus.ldac",
        "fit corpus.ldac --iteration 3",
        "fit corpus.ldac -b hdp-pcvb9",
        "fit corpus.ldac -s model.truncaton=3",
        "fit corpus.ldac -b hdp-pcvb0 -s model.truncation=many",
        "fit corpus.ldac --holdout docs",
        "fit corpus.ldac --from lda-c",
        "fit corpus.ldac -c configs/papers/none.yaml",
        "fit corpus.ldac -c configs/hdp.yaml -s model.depth=3",
        "eval --heldout --protocol complete",
        "eval --task neighbors",
        "eval --task groups --score best",
        "show-tree --format xml",
        "export -o tree --to xml",
        "infer runs/one corpus.ldac --protocol path",
        "convert a.ldac b --to lda-c",
        "config hlda",
        "sweep configs/hlda-gibbs.yaml --grid model.etta=1",
        "sweep configs/hlda-gibbs.yaml --grid backend=hlda",
    ],
)
def test_a_mistake_in_a_command_is_noticed(line: str) -> None:
    with pytest.raises((click.ClickException, HiertopicsError, AssertionError)):
        refuse(line.split())


def test_loops_variables_and_pipes_mean_what_they_mean_to_a_shell(tmp_path: Path) -> None:
    script = """
        G="--grid a=1 --grid b=2"
        for x in 1 2; do hiertopics sweep c$x.yaml $DATA/k.txt $G; done > jobs.txt
        xargs -I{} sh -c '{} -q' < jobs.txt | xargs hiertopics eval --heldout
        zcat $DATA/x.gz > y
    """
    sweep = ["corpora/k.txt", "--grid", "a=1", "--grid", "b=2"]
    assert commands(script, tmp_path) == [
        ["sweep", "c1.yaml", *sweep],
        ["sweep", "c2.yaml", *sweep],
        ["eval", "--heldout"],
    ]


@pytest.mark.parametrize("script", ["for x in 1; do", "hirtopics fit corpus.ldac"])
def test_what_a_shell_cannot_read_or_find_is_noticed(script: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        commands(script, tmp_path)


OPTIONS = {
    name: {o for p in command_of(name).params for o in (*p.opts, *p.secondary_opts)}
    for name in COMMANDS
}
KNOWN = {"-h", "--help", "-V", "--version"}.union(*OPTIONS.values())
OF_SLURM = {"--cpus-per-task", "--mem"}
OWN = [page for page in PAGES if page.name != "benchmarks.md"]


def unknown_words(code: str) -> list[str]:
    """Return the commands and options in a piece of inline code that do not exist."""
    words = [word.partition("=")[0] for word in code.split()]
    if words[:1] == ["hiertopics"] and len(words) > 1:
        words = words[1:]
        if words[0] not in COMMANDS and not words[0].isupper() and words[0][0] not in "-.":
            return [words[0]]
    known = OPTIONS.get(words[0], KNOWN | OF_SLURM) | {"-h", "--help"}
    return [
        word for word in words if re.fullmatch("--[a-z-]+|-[a-zA-Z]", word) and word not in known
    ]


@pytest.mark.parametrize("page", OWN, ids=name_of)
def test_commands_and_options_in_a_sentence_exist(page: Path) -> None:
    for code in inline_code(page.read_text(encoding="utf-8")):
        if re.match(r"-|hiertopics |(" + "|".join(COMMANDS) + ") -", code):
            assert unknown_words(code) == [], code


def test_a_mistake_in_a_sentence_is_noticed() -> None:
    assert unknown_words("hiertopics fti corpus.ldac") == ["fti"]
    assert unknown_words("fit --topics 3") == ["--topics"]
    assert unknown_words("--truncation") == ["--truncation"]
    assert unknown_words("hiertopics COMMAND -h") == []
    assert unknown_words("hiertopics sweep ... | sh") == []


def keys() -> set[str]:
    """Return every key that some backend's config has or had."""
    found = set()
    for name in registry.BACKENDS:
        module = registry.load(name)
        found |= {*getattr(module.Inference, "former", ())}
        for section, kind in section_types(module.Model, module.Inference).items():
            found |= {f"{section}.{key}" for key in kind.__struct_encode_fields__}
    return found


def test_config_keys_in_a_sentence_exist() -> None:
    known = keys()
    for page in OWN:
        for code in inline_code(page.read_text(encoding="utf-8")):
            for key in re.findall(r"\b(?:model|inference|data|output)\.[a-z_0-9]+", code):
                if not key.endswith((".npz", ".md", ".py", "_")):
                    assert key in known, f"{name_of(page)}: {key}"


def defaults() -> dict[str, set[str]]:
    """Return the defaults that the backends give to each key of ``model`` and ``inference``."""
    found: dict[str, set[str]] = {}
    for name in registry.BACKENDS:
        module = registry.load(name)
        for section, kind in (("model", module.Model), ("inference", module.Inference)):
            for field in structs.fields(kind):
                if isinstance(field.default, tuple):
                    text = str([*field.default])
                else:
                    text = dump_yaml({"": field.default}).partition(":")[2].strip()
                found.setdefault(f"{section}.{field.encode_name}", set()).add(text)
    return found


KEY_TABLE = r"^\| key \| default \|.*\n\|[- |]+\n((?:\|.*\n)+)"


def told_defaults(text: str) -> list[tuple[str, str]]:
    """Return key and default of the rows of tables that have such columns.

    Several keys share a row (``model.alpha``, ``gamma``: the section is that of the first) and one
    default or as many; after a colon the default is explained.
    """
    found = []
    for table in re.findall(KEY_TABLE, text, re.MULTILINE):
        for row in table.splitlines():
            keys, values = (
                re.split(r", (?![^\[]*\])", cell.replace("`", "")) for cell in row.split(" | ")[:2]
            )
            section = keys[0].strip("| ").partition(".")[0]
            names = [f"{section}.{key.strip('| ').rpartition('.')[2]}" for key in keys]
            values = values if len(values) == len(names) else values * len(names)
            assert len(values) == len(names), row
            found += [
                (key, value.partition(":")[0]) for key, value in zip(names, values, strict=True)
            ]
    return found


@pytest.mark.parametrize("page", OWN, ids=name_of)
def test_defaults_in_tables_of_keys_are_those_of_a_backend(page: Path) -> None:
    known = defaults()
    for key, value in told_defaults(page.read_text(encoding="utf-8")):
        numbers = {float(text) for text in known[key] if re.fullmatch(r"[\d.e+-]+", text)}
        same = re.fullmatch(r"[\d.]+", value) and float(value) in numbers
        assert same or value in known[key], f"{key}: {value}, but {sorted(known[key])}"


def test_tables_of_keys_are_read() -> None:
    text = "| key | default | c |\n| --- | --- | --- |\n| `a.b`, `c` | 1, `x`: why | d |\n"
    assert told_defaults(text) == [("a.b", "1"), ("a.c", "x")]
    text = "| key | default | c |\n| --- | --- | --- |\n| `a.b` | [0.5, 2.0] | d |\n"
    assert told_defaults(text) == [("a.b", "[0.5, 2.0]")]


def test_commands_of_the_first_tree_name_their_runs(tmp_path: Path) -> None:
    """A reader who comes from README has fitted other models since: the newest run is another."""
    text = (ROOT / "docs" / "first-tree.md").read_text(encoding="utf-8")
    views = ("show-tree", "docs", "topics", "export", "report", "eval", "infer")
    script = "\n".join(fences(text, "bash")).replace("mkdir new\n", "")
    words = commands(
        script.replace("> new/maps.txt", "").replace("cat new/maps.txt |", ""), tmp_path
    )
    shown = [given for given in words if given[0] in views]
    assert shown and [given for given in shown if not given[1].startswith("runs/")] == []
