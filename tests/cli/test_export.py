"""``export`` and ``show-tree``: one table of forms, whole files or none, topics arranged or not."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from unsealed import unsealed

import hiertopics
from hiertopics.base import archives
from hiertopics.runs.rundir import RunDir
from hiertopics.views.showing import FORMS

Call = Callable[..., Any]
Copied = Callable[..., Path]
HOSTILE = (
    'say"hi"', "o'clock", "<b>&amp;", "back\\slash", "(paren)", "a,b", "日本", "]]>", "x\x01y",
)  # fmt: skip


@pytest.fixture
def run(copied: Copied) -> Path:
    """Return a copy of a finished run."""
    return copied()


@pytest.fixture
def hostile(run: Path) -> Path:
    """Return a run whose words hold what every form has to escape."""
    (run / "vocab.txt").write_text("".join(f"{word}\n" for word in HOSTILE), encoding="utf-8")
    return unsealed(run)


@pytest.fixture
def hierarchy(run: Path) -> Path:
    """Return a run with a root above its other topics."""
    arrays = archives.read_npz(run / "model.npz")
    arrays["parent"][1:] = 0
    archives.write_npz(run / "model.npz", arrays)
    return unsealed(run)


@pytest.mark.parametrize("form", [name for name in FORMS if name != "html"])
@pytest.mark.parametrize("more", [(), ("--arrange",)], ids=["flat", "arranged"])
def test_an_export_is_what_show_tree_prints(
    call: Call, run: Path, tmp_path: Path, form: str, more: tuple[str, ...]
) -> None:
    exported = call("export", run, "--to", form, "-o", "out", "--words", 3, *more)
    shown = call("show-tree", run, "--format", form, "--words", 3, *more)
    assert exported == (0, "out\n", "")
    assert (shown.code, shown.err) == (0, "")
    assert (tmp_path / "out").read_text(encoding="utf-8") == shown.out


@pytest.mark.parametrize("more", [(), ("--arrange",)], ids=["flat", "arranged"])
def test_html_is_the_page_of_report(
    call: Call, run: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    assert call("export", run, "-o", "out.html", *more) == (0, "out.html\n", "")
    assert call("report", run, "-o", "page.html").code == 0
    assert (tmp_path / "out.html").read_bytes() == (tmp_path / "page.html").read_bytes()


@pytest.mark.parametrize(
    ("form", "suffix"),
    [
        ("json", ".json"),
        ("csv", ".csv"),
        ("newick", ".nwk"),
        ("newick", ".newick"),
        ("dot", ".dot"),
        ("dot", ".gv"),
        ("graphml", ".graphml"),
        ("graphml", ".GraphML"),
        ("html", ".html"),
        ("html", ".htm"),
        ("text", ".txt"),
    ],
)
def test_the_suffix_tells_the_form(
    call: Call, run: Path, tmp_path: Path, form: str, suffix: str
) -> None:
    call("export", run, "-o", f"named{suffix}")
    call("export", run, "-o", "told", "--to", form)
    assert (tmp_path / f"named{suffix}").read_bytes() == (tmp_path / "told").read_bytes()


@pytest.mark.parametrize("command", ["export", "show-tree"])
def test_help_names_every_form(call: Call, command: str) -> None:
    words = re.findall(r"\w+", call(command, "-h").out)
    assert set(FORMS) <= set(words)


def test_json_is_the_tree_file_and_csv_the_topics_file(call: Call, run: Path) -> None:
    """Their fields stay as they are; numbers of the branch and the automatic name follow."""
    call("export", run, "-o", "tree.json", "--words", 20)
    call("export", run, "-o", "topics.csv", "--words", 20)
    ours, theirs = (json.loads((where / "tree.json").read_text()) for where in (Path(), run))
    for node in ours["nodes"]:
        assert node.pop("auto_name") and "name_score" in node
        assert node.pop("mixed") is bool(node.pop("parts"))
        del node["name_score"], node["branch_docs"], node["branch_share"]
    assert ours == theirs
    rows, others = (
        list(csv.reader(io.StringIO((where / "topics.csv").read_text(), newline="")))
        for where in (Path(), run)
    )
    assert [row[:-3] for row in rows] == others
    assert rows[0][-3:] == ["branch_docs", "branch_share", "auto_name"]


def test_the_newest_run_is_taken_where_none_is_named(call: Call, run: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    run.rename(tmp_path / "runs" / "mine")
    assert call("export", "-o", "tree.dot") == (0, "tree.dot\n", "run: runs/mine\n")


def test_export_as_json_is_one_object(call: Call, run: Path) -> None:
    outcome = call("export", run, "-o", "tree.gv", "--json")
    assert json.loads(outcome.out) == {"run": str(run), "output": "tree.gv"}


def test_export_is_a_function_of_the_package(run: Path, tmp_path: Path) -> None:
    path = hiertopics.export(run, tmp_path / "tree.json", words=1, arrange=True)
    nodes = json.loads(path.read_text(encoding="utf-8"))["nodes"]
    assert [len(node["words"]) for node in nodes] == [1] * len(nodes)
    assert nodes[0]["id"] == "a0"


def words_of_topics(run: Path) -> dict[str, str]:
    opened = RunDir(run)
    return {
        str(node): " ".join(opened.vocab[word] for word in opened.tree.top_words(node, 9))
        for node in opened.tree.shown
    }


def test_hostile_words_survive_every_form_that_is_parsed(call: Call, hostile: Path) -> None:
    wanted = words_of_topics(hostile)
    for form in ("json", "csv", "newick", "dot"):
        text = call("show-tree", hostile, "--format", form, "--words", 9, "--words-by", "prob").out
        if form == "json":
            nodes = json.loads(text)["nodes"]
            found = {str(n["id"]): " ".join(word for word, _ in n["words"]) for n in nodes}
        elif form == "csv":
            rows = csv.DictReader(io.StringIO(text, newline=""))
            found = {row["id"]: row["words"] for row in rows}
        elif form == "newick":
            labels = re.findall(r"'((?:[^']|'')*)'", text)
            found = dict(label.replace("''", "'").split(" ", 1) for label in labels)
            assert re.sub(r"'(?:[^']|'')*'", "", text) == f"({',' * (len(labels) - 1)});\n"
        else:
            labels = re.findall(r'n\d+ \[label=("(?:[^"\\]|\\.)*")\];', text)
            lines = [json.loads(label).split("\n", 1) for label in labels]
            found = {head.split(":")[0]: words for head, words in lines}
        assert found == wanted, form


def test_an_arranged_tree_has_the_topics_of_the_flat_list_as_leaves(
    call: Call, run: Path, tmp_path: Path
) -> None:
    flat = json.loads(call("show-tree", run, "--format", "json").out)
    tree = json.loads(call("show-tree", run, "--format", "json", "--arrange").out)
    assert "arranged" not in flat and "after the fit" in tree.pop("arranged")
    leaves = [node for node in tree["nodes"] if isinstance(node["id"], int)]
    above = [node for node in tree["nodes"] if isinstance(node["id"], str)]
    # Of so few topics no clusters stand between the root and them.
    assert [node["id"] for node in above] == ["a0"] and len(leaves) == 5
    for ours, theirs in zip(leaves, flat["nodes"], strict=True):
        assert ours == theirs | {"parent": ours["parent"], "depth": ours["depth"]}
    assert {node["parent"] for node in tree["nodes"]} == {-1} | {node["id"] for node in above}
    assert all((node["weight"], node["n_tokens"]) == (0, 0) for node in above)
    trained = RunDir(run).split.train_lengths
    # No topic has all of a document: one of a single token has no topic by the rule of n_docs.
    assert trained is not None and above[0]["n_docs"] == (trained > 1).sum()


def test_arranged_text_follows_depth_words_and_documents(call: Call, run: Path) -> None:
    cut = call("show-tree", run, "--arrange", "--depth", 2, "--words", 1).out
    note, root, *others = cut.split("\n")
    assert note.startswith("arranged after the fit") and root.startswith("[a0] ")
    assert [line[:4] for line in others] == [*["├─ ["] * 4, "└─ [", ""]
    assert all(len(line.split("docs")[1].split()) == 1 for line in others[:-1])
    whole = call("show-tree", run, "--arrange").out
    fewer = call("show-tree", run, "--arrange", "--min-docs", 15).out
    shown = [int(n) for n in re.findall(r"(\d+) docs", fewer)]
    assert min(shown) >= 15 and len(shown) < len(re.findall(r"\d+ docs", whole))


@pytest.mark.parametrize("words", [("show-tree",), ("export", "-o", "tree.json")])
def test_a_tree_that_is_one_already_is_not_arranged(
    call: Call, hierarchy: Path, words: tuple[str, ...]
) -> None:
    outcome = call(words[0], hierarchy, *words[1:], "--arrange")
    assert (outcome.code, outcome.out) == (2, "")
    assert "a tree already" in outcome.err and outcome.err.count("\n") == 1
    assert call(words[0], hierarchy, *words[1:]).code == 0


def test_a_run_without_lengths_of_documents_says_why_it_cannot_be_arranged(
    call: Call, run: Path
) -> None:
    arrays = archives.read_npz(run / "split.npz")
    del arrays["train_lengths"]
    archives.write_npz(unsealed(run) / "split.npz", arrays)
    outcome = call("show-tree", run, "--arrange")
    assert outcome.code == 1 and "split.npz has no train_lengths" in outcome.err
    assert call("show-tree", run).code == 0


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("-o", "tree.xyz"), 2, r"tree\.xyz: no format goes by that suffix .*\.graphml.*--to"),
        (("-o", "tree"), 2, "no format goes by that suffix"),
        (("-o", "tree.json", "--to", "jsn"), 2, "did you mean 'json'"),
        (("-o", "tree.json", "--to", "pdf"), 2, "there are text, json"),
        (("--to", "json"), 2, "--output"),
        (("-o", "no/such/folder/tree.json"), 2, "cannot write no/such/folder/tree.json"),
        (("-o", ".", "--to", "json"), 2, "names no file"),
    ],
)
def test_bad_requests_are_told_in_one_line(
    call: Call, run: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    outcome = call("export", run, *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert re.search(message, outcome.err) and "Traceback" not in outcome.err


def test_an_export_that_fails_leaves_the_older_file(
    call: Call, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree.dot").write_text("older")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    outcome = call("export", run, "-o", "tree.dot")
    assert outcome.code == 1 and "No space left on device" in outcome.err
    assert (tmp_path / "tree.dot").read_text() == "older"
    assert {path.name for path in tmp_path.iterdir()} == {run.name, "tree.dot"}


@pytest.mark.slow
def test_clustering_is_loaded_only_where_it_is_asked_for(finished: Callable[..., Path]) -> None:
    program = (
        "import sys; from hiertopics.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit: pass\n"
        "sys.exit('scipy.cluster' in sys.modules)"
    )
    for more, loaded in (((), 0), (("--arrange",), 1)):
        command = [sys.executable, "-c", program, "show-tree", str(finished()), *more]
        assert subprocess.run(command, capture_output=True).returncode == loaded


@pytest.mark.parametrize("found", [True, False])
def test_report_opens_its_page_where_there_is_a_browser(
    call: Call, run: Path, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The path is said in any case; without a browser stderr says that there is none."""
    opened: list[str] = []

    def browser(address: str) -> bool:
        opened.append(address)
        return found

    monkeypatch.setattr("webbrowser.open", browser)
    told = call("report", run, "-o", "page.html", "--open")
    assert told.code == 0 and told.out == "page.html\n"
    assert opened == [Path("page.html").absolute().as_uri()]
    assert ("no browser was found" in told.err) is not found
