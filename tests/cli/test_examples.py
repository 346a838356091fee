"""The help of each command ends with examples and a page of the guide.

That the program takes the examples is tested where docs/cli.md is: it shows the same lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from hiertopics.cli import COMMANDS, group
from hiertopics.cli.examples import EXAMPLES
from hiertopics.runs.rundir import RunDir

DOCS = Path(__file__).parents[2] / "docs"


def test_every_command_has_examples() -> None:
    assert set(EXAMPLES) == set(COMMANDS)
    assert all(shown.lines for shown in EXAMPLES.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_each_example_in_one_line(name: str) -> None:
    above = click.Context(group, info_name="hiertopics", **group.context_settings)
    command = group.get_command(above, name)
    assert command is not None
    told = command.get_help(click.Context(command, above, info_name=name, max_content_width=80))
    lines = [line.strip() for line in told.splitlines()]
    for example in EXAMPLES[name].lines:
        assert example.startswith(f"hiertopics {name}")
        assert len(example) <= 76 and example in lines
    assert lines[-1] == f"Guide: docs/{EXAMPLES[name].guide}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_page_of_the_guide_shows_the_command(name: str) -> None:
    text = (DOCS / EXAMPLES[name].guide).read_text(encoding="utf-8")
    assert f"hiertopics {name}" in text or f"`{name}" in text


def test_help_of_fit_shows_the_settings_that_raw_text_needs() -> None:
    told = " ".join(EXAMPLES["fit"].lines)
    assert "data.stop_words=" in told and "data.min_df=" in told


def test_examples_show_more_of_a_tree_than_its_root() -> None:
    lines = [line for name in ("show-tree", "export") for line in EXAMPLES[name].lines]
    depths = [int(told[1]) for line in lines if (told := re.search(r"--depth (\d+)", line))]
    assert depths and min(depths) > 1


def test_one_level_of_a_tree_says_which_command_shows_more(
    finished: Callable[..., Path], call: Callable[..., Any]
) -> None:
    run = finished("hlda-variational")
    done, n_branches = call("show-tree", run, "--depth", 1), len(RunDir(run).tree.children(0))
    assert done.out.count("\n") == 1
    assert f"the root alone is shown; --depth 2 shows the {n_branches} below it" in done.err
    assert "root alone" not in call("show-tree", run, "--depth", 2).err
    assert "root alone" not in call("show-tree", finished("hdp-pcvb0"), "--depth", 1).err
