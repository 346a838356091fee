"""The pages of the guide: their fences, and the commands that these would run.

A script is not parsed here but given to bash, in an empty folder where ``hiertopics`` is a stub
that notes its words and where nearly nothing else can be found: so loops, variables and pipes mean
what they mean to a shell, and nothing happens.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from source_tree import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\S*)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*$",
    re.MULTILINE | re.DOTALL,
)
REAL_TOOLS = ("sh", "xargs", "awk", "tr", "cat", "grep")
OTHER_TOOLS = {"cp", "cut", "iconv", "pip", "python", "python3", "rm", "seq", "zcat"}
OTHER_TOOLS |= {"dask", "parallel", "sbatch", "srun"}
"""Programs that pages also name, but which the stubbed shell does not have."""

STUB = '#!/bin/sh\n{ printf "%s\\0" "$@"; printf "\\n\\0"; } >> "$TYPED"\n'


def name_of(page: Path) -> str:
    """Return a page's path in the tree, the name of its test."""
    return page.relative_to(ROOT).as_posix()


def fences(text: str, language: str) -> list[str]:
    """Return the bodies of the fences of a language."""
    return [match["body"] for match in FENCE.finditer(text) if match["language"] == language]


def without_fences(text: str) -> str:
    """Return a page's prose."""
    return FENCE.sub("", text)


def inline_code(text: str) -> list[str]:
    """Return what stands between single backticks in a page's prose."""
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", without_fences(text))]


def typed(body: str) -> str:
    """Return what is typed of a ``console`` fence: the lines with a prompt, or all lines."""
    lines = body.replace("\\\n", " ").splitlines()
    return "\n".join([line[2:] for line in lines if line.startswith("$ ")] or lines)


def typed_in_comments(text: str) -> str:
    """Return what is to be typed of a config's comments: their indented lines."""
    lines = re.findall(r"^#   +(.*)$", text, re.MULTILINE)
    return "\n".join(lines).replace("\\\n", " ")


def commands(script: str, folder: Path) -> list[list[str]]:
    """Return the words of every ``hiertopics`` command that a script runs; folder: an empty one.

    Raises AssertionError where bash cannot read the script, or finds a program that nobody knows.
    """
    tools, notes = folder / "tools", folder / "typed"
    tools.mkdir()
    for tool in REAL_TOOLS:
        found = shutil.which(tool)
        assert found is not None, tool
        (tools / tool).symlink_to(found)
    (tools / "hiertopics").write_text(STUB)
    (tools / "hiertopics").chmod(0o755)
    bash = shutil.which("bash")
    assert bash is not None
    environment = {"PATH": str(tools), "TYPED": str(notes), "DATA": "corpora", "LC_ALL": "C"}
    call = [bash, "-c", f"{script}\n"]
    read = subprocess.run([bash, "-n", *call[1:]], capture_output=True, text=True)
    assert read.returncode == 0, read.stderr
    done = subprocess.run(
        call,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    unknown = set(re.findall(r"(\S+): (?:command )?not found", done.stderr)) - OTHER_TOOLS
    assert not unknown, f"{sorted(unknown)} in\n{script}"
    text = notes.read_text(encoding="utf-8") if notes.exists() else ""
    return [block.split("\0")[:-1] for block in text.split("\n\0")[:-1]]


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    heads = re.findall(r"^#+ +(.+?) *$", without_fences(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in bash for real, the interpreter of the tests first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
