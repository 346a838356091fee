"""Values that a shell completes, its script, and the schema of configs for editors."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hiertopics.cli.completing import PLACES
from hiertopics.contract import registry
from hiertopics.settings.config import section_types
from hiertopics.settings.fields import fields_of
from hiertopics.settings.yamlfile import load_yaml

Call = Callable[..., Any]


@pytest.fixture
def offered(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that gives what a shell is offered for the last of some words."""

    def ask(*words: str) -> list[str]:
        program = (
            "import sys; from hiertopics.cli import group; from click.shell_completion import *; "
            "comp = get_completion_class('bash')(group, {}, 'hiertopics', '_X'); "
            "print(*(i.value for i in comp.get_completions(sys.argv[1:-1], sys.argv[-1])), "
            "sep='\\n')"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    return ask


def test_backends_and_their_settings(offered: Callable[..., list[str]]) -> None:
    of_words = ["hlda-gibbs", "hlda-gibbs:partial"]
    assert offered("fit", "-b", "hlda") == [
        "hlda-variational",
        *(f"hlda-variational:{word}" for word in ("meanfield", "paper", "unmoved", "unguarded")),
        *of_words,
    ]
    assert offered("config", "hlda-gibbs") == of_words
    assert offered("fit", "-b", "chdp-gibbs:m") == ["chdp-gibbs:maximization"]
    assert offered("config", "nhdp-gibbs:b") == ["nhdp-gibbs:bursts"]
    assert offered("fit", "-s", "data.min_") == ["data.min_df="]
    assert offered("fit", "-b", "hdp-gibbs", "-s", "inference.burn") == ["inference.burn_in="]
    assert offered("fit", "-b", "hdp-cvb0", "-s", "inference.burn") == []
    assert offered("fit", "-b", "lda-gibbs:bursts", "-s", "inference.ho") == ["inference.hold="]
    assert offered("fit", "-b", "hdp-gibbs", "-s", "inference.coll") == [], "its name is a variant"
    assert offered("fit", "-b", "klingon", "-s", "data") == []


def test_runs_and_nodes(
    offered: Callable[..., list[str]], finished: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one").symlink_to(finished())
    (tmp_path / "runs" / "other").mkdir()
    assert offered("show-tree", "ru") == ["runs/one"]
    assert offered("topics", "runs/") == ["runs/one"]
    nodes = offered("topics", str(finished()), "")
    assert nodes[:2] == ["0", "1"]
    assert offered("topics", "nowhere", "") == []
    assert offered("drop", "nowhere", "") == [], "not the nodes of the newest run"


def test_values_of_settings(offered: Callable[..., list[str]]) -> None:
    key = "inference.start"
    assert set(offered("fit", "-s", f"{key}=")) >= {f"{key}=random", f"{key}=groups"}
    assert offered("fit", "-s", f"{key}=ra") == [f"{key}=random"]
    assert offered("fit", "-s", "data.lowercase=") == [
        "data.lowercase=true",
        "data.lowercase=false",
    ]
    assert "data.stop_words=german" in offered("fit", "-s", "data.stop_words=")
    assert offered("check", "-s", "data.lowercase=f") == ["data.lowercase=false"]
    (default,) = offered("fit", "-b", "hdp-cvb0", "-s", "inference.iterations=")
    assert default == f"inference.iterations={registry.load('hdp-cvb0').Inference().iterations}"
    assert offered("fit", "-s", "inference.klingon=") == []


def test_columns_of_a_run(offered: Callable[..., list[str]], call: Call, tmp_path: Path) -> None:
    rows = "".join(f"word other more,{1990 + n % 3},a{n % 2}\n" for n in range(12))
    (tmp_path / "a.csv").write_text(f"text,year,author\n{rows}")
    assert call("fit", "a.csv", "-b", "multinomial", "-o", "runs/one", "-q").code == 0
    assert offered("topics", "runs/one", "--by", "") == ["year", "author", "group"]
    assert offered("topics", "--by", "y") == ["year"], "of the newest run"
    assert offered("eval", "runs/one", "--path-field", "a") == ["author"]
    assert offered("show-tree", "runs/one", "--side", "y") == ["year"]
    assert offered("topics", "nowhere", "--by", "") == ["group"]


@pytest.mark.parametrize("shell", PLACES)
def test_the_script_of_a_shell_is_printed_and_installed(
    call: Call, shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    printed = call("completion", shell)
    assert printed.code == 0
    assert "_HIERTOPICS_COMPLETE" in printed.out
    done = call("completion", shell, "--install")
    place = Path(done.out.splitlines()[-1])
    assert place == tmp_path / "home" / PLACES[shell].removeprefix("~/")
    assert place.read_text(encoding="utf-8") == printed.out
    assert ("fpath" in done.err) is (shell == "zsh")


TYPED = {
    "fit -b hdp-gibbs:par": "fit -b hdp-gibbs:partial",
    "fit -b hdp-gibbs:": "fit -b hdp-gibbs:",
    "fit -b chdp-gibbs:": "fit -b chdp-gibbs:",
    "fit -b hlda-gibbs:": "fit -b hlda-gibbs:partial",
    "fit -b multin": "fit -b multinomial",
    "fit -s seed=3 -b nhdp-gibbs:b": "fit -s seed=3 -b nhdp-gibbs:bursts",
    "fit -b hdp-gibbs:partial -s inference.burn_": "fit -b hdp-gibbs:partial -s inference.burn_in=",
}
"""By what is typed before the tabulator: the line that bash then has."""

SILENT = 60.0
"""Seconds after which a bash that says nothing has failed."""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_shell_is_that_of_the_environment(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    done = call("completion", "--install")
    assert (done.code, done.err) == (0, "a new shell completes hiertopics\n")
    assert Path(done.out.strip()).read_text() == call("completion", "fish").out
    for shell, told in (("/bin/tcsh", "'tcsh' of $SHELL is not one"), ("", "$SHELL names none")):
        monkeypatch.setenv("SHELL", shell)
        done = call("completion", "--install")
        assert done.code == 2 and f"name a shell, bash, zsh, fish: {told}" in done.err


def test_bash_completes_what_stands_behind_a_colon(call: Call, tmp_path: Path) -> None:
    """A bash at a terminal: it takes : and = for words of their own."""
    script = tmp_path / "script"
    script.write_text(call("completion", "bash").out, encoding="utf-8")
    places = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    surroundings = {
        **os.environ,
        "PATH": places,
        "PS1": "> ",
        "INPUTRC": "/dev/null",
        "TERM": "dumb",
    }
    own, other = pty.openpty()
    with subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=other,
        stdout=other,
        stderr=other,
        env=surroundings,
        cwd=tmp_path,
        start_new_session=True,
    ) as shell:
        os.close(other)
        try:
            os.write(own, f"source {script}\n".encode())
            for number, (typed, wanted) in enumerate(TYPED.items()):
                # The line is not run but printed, in brackets.
                line = f"hiertopics {typed}\t\x05]\x01printf '%s ' {number}[ \n"
                os.write(own, line.encode())
                assert printed(own, f"{number}[ ") == f"hiertopics {wanted}"
        finally:
            shell.kill()
            os.close(own)


def printed(terminal: int, begin: str) -> str:
    """Return the words that ``printf`` has printed between ``begin`` and a closing bracket."""
    text = ""
    while not (found := re.search(rf"^{re.escape(begin)}(.*?) ?\] ", text, re.MULTILINE)):
        assert select.select([terminal], [], [], SILENT)[0], f"bash says no more than {text!r}"
        text += os.read(terminal, 4096).decode().replace("\r", "\n")
    return found[1]


@pytest.mark.parametrize("backend", registry.OWN)
def test_the_schema_of_a_backend_has_every_key(backend: str) -> None:
    whole = json.loads(registry.schema(backend))
    chosen = registry.load(backend)
    for section, kind in section_types(chosen.Model, chosen.Inference).items():
        keys = set(fields_of(kind))
        if not section:
            assert keys < set(whole["properties"])
            continue
        ref = whole["properties"][section]["anyOf"][0]["$ref"]
        found = whole["$defs"][ref.rpartition("/")[2]]
        assert set(found["properties"]) == keys
        assert found["additionalProperties"] is False
        assert all('"description"' in json.dumps(one) for one in found["properties"].values())


@pytest.mark.parametrize("backend", ["nhdp-variational", "hlda-gibbs", "tssb-mcmc"])
def test_the_schema_takes_a_complete_config_and_refuses_a_misspelt_one(
    call: Call, backend: str, tmp_path: Path
) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(call("config", backend, "--schema").out)
    path = tmp_path / "own.yaml"
    path.write_text(call("config", backend).out, encoding="utf-8")
    config = dict(load_yaml(path))
    jsonschema.validate(config, schema)
    for wrong in ({"sed": 1}, {"seed": -1}, {"model": {"gama": 1}}, {"data": {"snippets": "x"}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(config | wrong, schema)
