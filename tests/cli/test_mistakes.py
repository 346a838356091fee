"""What a newcomer gets wrong, and the line that says what was meant."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

TREE = "hlda-variational"
FILES = {
    "semi.csv": b"text;year\naa bb;1990\n",
    "abstracts.csv": b"year,abstract\n1990,aa bb\n",
    "latin.csv": b"text\ncaf\xe9\n",
    "one.txt": b"aa bb\ncc\n",
    "all.csv": b"title;abstract;year\naa;bb cc;1990\ncaf\xe9;bb cc;1990\n",
    "quoted.csv": b'"title";"abstract"\n"caf\xe9";"bb cc"\n',
    "latin-header.csv": b"t\xeftre;abstract\naa;bb cc\n",
    "a.pdf": b"%PDF-1.4\n",
    "page.html": b"<p>aa bb</p>",
    "x.xlsx": b"PK",
    "small.yaml": b"seed: 1\n",
    "strings.json": b'["aa bb", "cc"]',
    "strings.jsonl": b'"aa bb"\n"cc"\n',
    "packed.ldac.gz": b"not read",
    "single.ldac": b"2 0:1 1:2\n",
    "good.ldac": b"2 0:1 1:2\n2 1:1 2:3\n1 0:4\n",
}

TEXTS = r"^hiertopics: error: {} takes one corpus, not {}: give the folder, both, whose texts are"

MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "a csv of semicolons": (("fit", "semi.csv"), r"parted by ';': -s data\.delimiter=';'"),
    "semicolons, another name and an older encoding": (
        ("fit", "all.csv"),
        r"all\.csv:1: .*-s data\.delimiter=';'.*--text-field abstract.*line 3.*=cp1252",
    ),
    "the same in quotes": (
        ("fit", "quoted.csv"),
        r"quoted\.csv:1: .*-s data\.delimiter=';'.*--text-field abstract.*line 2.*=cp1252",
    ),
    "the same where the header has the older encoding": (
        ("fit", "latin-header.csv"),
        r"header\.csv:1: .*data\.encoding=cp1252.*-s data\.delimiter=';'.*--text-field abstract",
    ),
    "a text under another name": (("fit", "abstracts.csv"), "as --text-field abstract"),
    "an older encoding": (("fit", "latin.csv"), r"latin\.csv:2: .*-s data\.encoding=cp1252"),
    "a single text": (("fit", "one.txt"), "--lines takes each line"),
    "a printed page": (("fit", "a.pdf"), r"turn each such file into a \.txt file"),
    "two ways to read": (("fit", "one.txt", "--lines", "--from", "csv"), "exclude each other"),
    "a quote for a delimiter": (
        ("fit", "semi.csv", "-s", "data.delimiter='\"'"),
        r"data\.delimiter must be one letter, no quote",
    ),
    "texts of a folder": (
        ("check", "both/a.txt", "both/b.txt", "both/c.txt"),
        TEXTS.format("check", 3),
    ),
    "texts of a folder for a fit": (("fit", "both/a.txt", "both/b.txt"), TEXTS.format("fit", 2)),
    "texts of two folders": (
        ("fit", "both/a.txt", "one.txt"),
        r"takes one corpus, not 2 \(both/a\.txt, one\.txt\): make one file, or one folder of texts",
    ),
    "two tables": (
        ("fit", "semi.csv", "latin.csv"),
        r"^hiertopics: error: fit takes one corpus, not 2 \(semi\.csv, latin\.csv\): make one file",
    ),
    "very many texts": (
        ("check", *(f"both/{number:060}.txt" for number in range(5000))),
        r"^.{20,200}\n\Z",
    ),
    "an argument too many": (
        ("topics", "a", "1", "b" * 300),
        r"^.*: an argument too many, \.\.\.b{60}$",
    ),
    "one page": (("check", "page.html"), "page.html is one page: give a folder of pages"),
    "a sheet": (
        ("fit", "x.xlsx"),
        r"x\.xlsx is a table of an office program: save it there as csv",
    ),
    "a config": (
        ("fit", "small.yaml"),
        r"small\.yaml is no corpus: a config is given as --config small\.yaml$",
    ),
    "an address": (
        ("check", "https://example.org/a.csv"),
        r"^hiertopics: error: https://example\.org/a\.csv: is no file on this machine; download it",
    ),
    "an array of strings": (
        ("check", "strings.json"),
        r"""JSON objects, got '"aa bb", "cc"\]'; write each text as \{"text": "\.\.\."\}""",
    ),
    "lines of strings": (
        ("fit", "strings.jsonl"),
        r"""got '"aa bb"'; write each text as \{"text": """,
    ),
    "a packed file without its suffix": (
        ("fit", "packed.ldac"),
        r"packed\.ldac: no such file; there is packed\.ldac\.gz$",
    ),
    "a suffix of a packed file too many": (("check", "good.ldac.gz"), r"there is good\.ldac$"),
    "no iterations": (
        ("fit", "good.ldac", "--iterations", "0"),
        r"invalid value for '--iterations': 0 is not in the range x>=1; see hiertopics fit -h$",
    ),
    "no iterations of a refit": (("refit", "a", "-o", "b", "--iterations", "0"), "range x>=1; see"),
    "a single document": (("fit", "single.ldac"), r"1 document cannot be split"),
    "the number of topics": (
        ("fit", "good.ldac", "-s", "model.topics=20"),
        r"the number of topics is model\.truncation or model\.branches",
    ),
    "the number of topics of a flat model": (
        ("fit", "good.ldac", "-b", "hdp-cvb0", "-s", "model.n_topics=20"),
        r"the number of topics is model\.truncation \(--set\)",
    ),
    "a code of a language": (
        ("fit", "good.ldac", "-s", "data.stop_words=de"),
        r"data\.stop_words: de is no language; did you mean german\?",
    ),
    "an option for pairs of words": (
        ("fit", "good.ldac", "--ngrams", "2"),
        r"it is -s 'data\.ngram_range=\[1,2\]'$",
    ),
    "an option for a code of a language": (
        ("fit", "good.ldac", "--language", "de"),
        r"it is -s data\.stop_words=german$",
    ),
    "an option of fit for check": (
        ("check", "good.ldac", "--auto"),
        r"'--auto'; fit takes it: hiertopics fit good\.ldac --auto$",
    ),
    "an option for two languages": (
        ("fit", "good.ldac", "--language", "pl,english"),
        r"it is -s data\.stop_words=polish,english$",
    ),
    "an option for lemmas": (
        ("fit", "good.ldac", "--lemmatize"),
        r"it is -s data\.lemmas=\.\.\.$",
    ),
    "an option for the number of topics": (
        ("fit", "good.ldac", "--topics", "20"),
        r"no such option '--topics'; it is -s model\.truncation=20$",
    ),
    "an option for the number of topics of a flat model": (
        ("fit", "-b", "lda-gibbs", "good.ldac", "--n-topics=20"),
        r"'--n-topics'; it is -s model\.n_topics=20$",
    ),
    "an option for iterations": (("fit", "good.ldac", "--epochs", "9"), "it is --iterations 9$"),
    "an option for the seed": (("fit", "good.ldac", "--random-state"), "it is --seed N$"),
    "a setting as an option": (
        ("fit", "good.ldac", "--min-df", "3"),
        r"'--min-df'; it is -s data\.min_df=3$",
    ),
    "levels of a tree of learned shape": (
        ("fit", "good.ldac", "--depth", "4"),
        r"^hiertopics: error: fit: no such option '--depth'; -s 'model\.branches=\[6,30\]' sets "
        r"the nodes of each level between root and leaves; hiertopics show-tree --depth 4 shows "
        r"the first levels of a tree\n\Z",
    ),
    "levels of a tree of fixed depth": (
        ("fit", "good.ldac", "-b", TREE, "--levels=4"),
        r"'--levels'; it is -s model\.depth=4; hiertopics show-tree --depth 4 shows",
    ),
    "levels of a tree without bounds": (
        ("fit", "good.ldac", "-b", "tssb-mcmc", "--n-levels", "5"),
        r"it is -s model\.max_depth=5; hiertopics show-tree --depth 5 shows",
    ),
    "levels of flat topics": (
        ("fit", "good.ldac", "-b", "hdp-cvb0", "--depth"),
        r"these topics are flat; hiertopics show-tree --depth N --arrange makes a tree",
    ),
    "nodes by level": (
        ("fit", "good.ldac", "--branches", "6,30"),
        r"it is -s 'model\.branches=\[6,30\]'$",
    ),
    "k": (("fit", "good.ldac", "--k", "20"), r"'--k'; it is -s model\.truncation=20$"),
    "the number of clusters": (
        ("fit", "good.ldac", "--clusters", "20"),
        r"'--clusters'; it is -s model\.truncation=20$",
    ),
    "the number of topics by underscores": (
        ("fit", "good.ldac", "--num_topics=20"),
        r"'--num_topics'; it is -s model\.truncation=20$",
    ),
    "an output of a fit": (("fit", "good.ldac", "--output", "x"), "'--output'; it is --run x$"),
    "an option of a view": (
        ("fit", "good.ldac", "--words", "3"),
        "'--words'; a fitted run takes it: hiertopics show-tree --words 3$",
    ),
    "an option of another view": (
        ("topics", "--depth", "3"),
        "topics: no such option '--depth'; a fitted run takes it: hiertopics show-tree --depth 3$",
    ),
    "an option of fits for a view": (
        ("topics", "--epochs", "3"),
        r"topics: no such option '--epochs'",
    ),
    "an option with a wrong letter": (
        ("fit", "good.ldac", "--iteratons", "4"),
        r"^hiertopics: error: fit: no such option '--iteratons'; did you mean '--iterations'\?\n\Z",
    ),
    "an option like none": (
        ("fit", "good.ldac", "--zzz"),
        r"^hiertopics: error: fit: no such option '--zzz'; see hiertopics fit -h\n\Z",
    ),
    "a limit of documents": (
        ("docs", "R", "5", "--limit", "3"),
        r"^hiertopics: error: docs: no such option '--limit'; it is --top 3\n\Z",
    ),
    "a number of documents": (("docs", "R", "5", "-n", "3"), r"'-n'; it is --top 3$"),
    "k documents": (("docs", "R", "5", "-k", "3"), r"'-k'; it is --top 3$"),
    "a measure for an option": (
        ("eval", "R", "--coherence"),
        r"'--coherence'; eval prints perplexity, coherence \(npmi\) and diversity without",
    ),
    "a language by its own name as an option": (
        ("fit", "good.ldac", "--language", "deutsch"),
        r"it is -s data\.stop_words=german$",
    ),
    **{
        f"a command called {name}": ((name,), rf"no such command '{name}'; it is '{meant}': [A-Z]")
        for name, meant in (
            ("move", "edit"),
            ("rename", "label"),
            ("delete", "drop"),
            ("plot", "report"),
            ("visualize", "report"),
            ("train", "fit"),
            ("Predict", "infer"),
        )
    },
    "help for no command": (("help", "fti"), "did you mean 'fit'"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, with the files of ``FILES``."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_met_with_what_to_do(call: Call, folder: Path, name: str) -> None:
    words, wanted = MISTAKES[name]
    if "german" in wanted:
        pytest.importorskip("stop_words")
    done = call(*words)
    assert done.code == 2
    assert re.search(wanted, done.out + done.err), done.out + done.err
    assert len(done.err.splitlines()) <= 4
    assert not (folder / "runs").exists()


@pytest.mark.parametrize("words", [("fit",), ("show-tree",), ()])
def test_help_of_a_command(call: Call, words: tuple[str, ...]) -> None:
    done = call("help", *words)
    assert done.code == 0
    assert done.out == call(*words, "--help").out


def test_a_number_alone_is_a_node_of_the_newest_run(
    call: Call, copied: Callable[..., Path], folder: Path
) -> None:
    run = copied(TREE)
    run.rename(folder / "runs-of-others")
    (folder / "runs").mkdir()
    (folder / "runs-of-others").rename(folder / "runs" / "a")
    for command in ("topics", "docs"):
        alone = call(command, "1")
        assert alone.code == 0
        assert alone.out == call(command, "runs/a", "1").out


def test_a_number_before_a_name_is_a_node_of_the_newest_run(
    call: Call, copied: Callable[..., Path], folder: Path
) -> None:
    (folder / "runs").mkdir()
    copied(TREE).rename(folder / "runs" / "a")
    named = call("label", "1", "conditioning")
    assert (named.code, named.err) == (0, "run: runs/a\n")
    assert "conditioning" in call("label", "runs/a", "1").out
    assert call("label", "1").out == call("label", "runs/a", "1").out
    assert call("label", "1", "--note", "seen").code == 0
    assert "no meaning with a node" in call("label", "1", "--with", "cat").err


def test_a_corpus_alone_is_placed_under_the_newest_run(
    call: Call, copied: Callable[..., Path], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # no pipe
    (folder / "runs").mkdir()
    copied(TREE).rename(folder / "runs" / "a")
    alone = call("infer", "good.ldac", "-o", "alone.csv")
    named = call("infer", "runs/a", "good.ldac", "-o", "named.csv")
    assert (alone.code, alone.err) == (0, "run: runs/a\n" + named.err)
    assert (folder / "alone.csv").read_bytes() == (folder / "named.csv").read_bytes()
    for words in ((), ("runs/a",)):
        none = call("infer", *words, "-o", "none.csv")
        assert none.code == 2 and "missing argument 'CORPUS'" in none.err


@pytest.mark.parametrize("status", ["running", "stopped"])
def test_a_newer_run_without_a_model_is_passed_over(
    call: Call, copied: Callable[..., Path], folder: Path, status: str
) -> None:
    (folder / "runs").mkdir()
    old = copied(TREE).rename(folder / "runs" / "a")
    manifest = json.loads((old / "manifest.json").read_text())
    manifest["files"] = {}
    (folder / "runs" / "b").mkdir()
    later = folder / "runs" / "b" / "manifest.json"
    later.write_text(json.dumps(manifest | {"status": status}))
    os.utime(old / "manifest.json", (9, 9))
    done = call("topics", "1")
    assert (done.code, done.out) == (0, call("topics", "runs/a", "1").out)
    told, last = done.err.splitlines()
    assert told.startswith("note: runs/b is newer, but has no model yet: ")
    assert "being fitted" in told if status == "running" else "stopped" in told
    assert last == "run: runs/a"
    shutil.rmtree(old)
    assert "runs/b has no model yet; give the fit's command again" in call("topics", "1").err


def test_a_run_with_a_split_is_scored_unasked(call: Call, copied: Callable[..., Path]) -> None:
    run = copied()
    assert call("eval", run).out == call("eval", run, "--heldout").out


def test_a_run_without_a_split_says_what_can_be_scored(
    call: Call, copied: Callable[..., Path]
) -> None:
    done = call("eval", copied(holdout="none"))
    assert done.code == 2
    assert "--corpus" in done.err


def test_a_page_of_another_kind_is_refused(
    call: Call, copied: Callable[..., Path], tmp_path: Path
) -> None:
    page = tmp_path / "x.pdf"
    done = call("report", copied(), "-o", page)
    assert done.code == 2
    assert "the page is HTML" in done.err
    assert not page.exists()


def test_new_documents_in_one_text_are_met_as_a_corpus_is(
    call: Call, folder: Path, fit_tiny: Callable[..., Any]
) -> None:
    (folder / "texts").mkdir()
    for number in range(6):
        (folder / "texts" / f"{number}.txt").write_text("bread butter cheese\n")
    fit_tiny(folder / "run", "multinomial", corpus=folder / "texts")
    done = call("infer", "run", "one.txt", "-o", "new.csv")
    assert done.code == 2
    assert "one.txt is one text: --lines takes each line" in done.err


@pytest.mark.parametrize("suffix", ["pdf", "png"])
def test_a_figure_of_another_kind_is_met_with_what_to_do(
    call: Call, copied: Callable[..., Path], suffix: str
) -> None:
    done = call("export", copied(), "-o", f"x.{suffix}")
    assert done.code == 2
    assert "write a figure (.svg) and convert it, or print the page of 'report'" in done.err


@pytest.mark.parametrize("runs", [("runs/a b",), ()])
def test_a_page_in_the_place_of_a_run_is_told_its_option(
    call: Callable[..., Any], runs: tuple[str, ...]
) -> None:
    told = call("report", *runs, "1.html")
    wanted = " ".join(["hiertopics report", *(f"'{run}'" for run in runs), "-o 1.html"])
    assert told.code == 2 and f"1.html is no run; -o names the page: {wanted}" in told.err
