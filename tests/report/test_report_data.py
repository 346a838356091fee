"""The data of a report are those of the run; the page holds them, its script and nothing else."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import data_of, documents, element, reshaped, search, sha256, share_within, with_authors
from small_trees import tree_of
from unsealed import unsealed

import hiertopics
from hiertopics.base.errors import UsageError
from hiertopics.contract.registry import BACKENDS
from hiertopics.corpus.data import matching as affinity_of, membership
from hiertopics.corpus.data.arranging import arrange, banded, contexts
from hiertopics.corpus.data.corpus import Corpus
from hiertopics.corpus.data.matching import TreeNodes
from hiertopics.corpus.data.membership import documents_with
from hiertopics.corpus.data.tree import ROOT, Tree
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir
from hiertopics.scoring.tasks import evaluate_task
from hiertopics.views.documents import top_documents
from hiertopics.views.report import documents as report_documents, gathering, writing
from hiertopics.views.report.matching import paired
from hiertopics.views.report.packing import parse_size, size_told
from hiertopics.views.report.topics import (
    LAMBDAS,
    branch_words_of,
    lay_out,
    telling_words,
    words_of,
)
from hiertopics.views.showing import show_tree

Call = Callable[..., Any]
Finished = Callable[..., Path]


def page_of(run: Path, folder: Path, **options: Any) -> Path:
    return hiertopics.report(run, output=folder / "page.html", **options).path


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_has_a_page_and_its_data_are_those_of_the_json(
    finished: Finished, tmp_path: Path, backend: str
) -> None:
    page = page_of(finished(backend), tmp_path, json=tmp_path / "page.json")
    data = data_of(page)
    assert data == json.loads((tmp_path / "page.json").read_text(encoding="utf-8"))
    assert list(data)[0] == "schema" and data["schema"] == "hiertopics.report/1"
    assert data["card"]["backend"] == backend and data["left_out"] == []
    run = RunDir(finished(backend))
    own = [name for name in data["nodes"]["id"] if isinstance(name, int)]
    assert sorted(own) == run.tree.shown.tolist()
    assert data["documents"]["total"] == run.theta.shape[0]


@pytest.mark.parametrize("backend", ["nhdp-variational", "hlda-variational", "lda-gibbs"])
def test_a_page_is_the_same_whatever_the_blocks_of_its_documents(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    whole = page_of(finished(backend), tmp_path).read_bytes()
    for module in (report_documents, membership):
        monkeypatch.setattr(module, "BLOCK", 3)
    monkeypatch.setattr(report_documents, "COLUMNS", 2)
    assert page_of(finished(backend), tmp_path).read_bytes() == whole


def test_a_corpus_whose_name_is_no_utf8_has_a_page(
    fit_tiny: Call, tiny_file: Path, tmp_path: Path
) -> None:
    corpus = tmp_path / os.fsdecode(b"\xff.ldac")
    try:
        shutil.copy(tiny_file, corpus)
    except OSError:
        pytest.skip("this file system takes no such name")
    fit_tiny(tmp_path / "run", "multinomial", corpus=corpus)
    page = page_of(tmp_path / "run", tmp_path)
    assert r"<title>\xff: topics</title>" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("backend", ["hlda-variational", "hlda-gibbs", "tssb-mcmc", "lda-gibbs"])
def test_shares_and_homes_of_documents_are_those_of_the_run(
    finished: Finished, tmp_path: Path, backend: str
) -> None:
    run = RunDir(finished(backend))
    data = data_of(page_of(run.path, tmp_path))
    ids = data["nodes"]["id"]
    theta = run.theta.toarray()
    for doc, record in enumerate(documents(data)):
        assert record["row"] == run.split.train_docs[doc]
        for place, share in record["shares"].items():
            assert share == pytest.approx(theta[doc, ids[place]], abs=0.0011)
        if run.paths is not None:
            path = run.paths.node[doc]
            assert ids[record["home"]] == path[path >= 0][-1]


@pytest.mark.parametrize("backend", ["nhdp-variational", "hlda-variational", "lda-gibbs"])
def test_shares_at_or_below_a_branch_count_shares_that_are_not_kept(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setattr(gathering, "ENTRIES", (2, 1))
    run = RunDir(finished(backend))
    data = data_of(page_of(run.path, tmp_path))
    nodes, records = data["nodes"], documents(data)
    branches = [place for place, end in enumerate(nodes["end"]) if end > place + 1]
    own = {name: place for place, name in enumerate(nodes["id"]) if isinstance(name, int)}
    theta = run.theta.toarray()
    n_lacking = 0
    for place in branches:
        inside = range(place, nodes["end"][place])
        columns = [name for name, at in own.items() if at in inside]
        for doc, record in enumerate(records):
            kept = sum(share for at, share in record["shares"].items() if at in inside)
            true = theta[doc, columns].sum()
            assert share_within(record, inside.start, inside.stop) == pytest.approx(
                true, abs=0.0015001
            )
            n_lacking += true - kept > 0.01
    assert n_lacking or backend == "hlda-variational"


def test_first_documents_are_those_of_the_other_views(finished: Finished, tmp_path: Path) -> None:
    run = RunDir(finished("hlda-variational"))
    data = data_of(page_of(run.path, tmp_path))
    ends, records = data["nodes"]["end"], documents(data)
    wanted = top_documents(run.tree, run.theta, range(len(records)), 5)
    for place, name in enumerate(data["nodes"]["id"]):
        below = [
            sum(share for at, share in doc["shares"].items() if place <= at < ends[place])
            for doc in records
        ]
        shown = sorted((share for share in below if share >= 0.005), reverse=True)[:5]
        shares = [share for _, share in wanted[name] if share >= 0.01]
        assert shown[: len(shares)] == pytest.approx(shares, abs=0.004)


def test_numbers_of_nodes_are_those_of_the_tree(finished: Finished, tmp_path: Path) -> None:
    run = RunDir(finished("hlda-variational"))
    data = data_of(page_of(run.path, tmp_path))
    nodes, rows = data["nodes"], data["nodes"]["id"]
    assert nodes["n_docs"] == run.tree.n_docs[rows].tolist()
    assert nodes["branch_docs"] == run.tree.branch_docs[rows].tolist()
    assert nodes["weight"] == pytest.approx(run.tree.weight[rows], abs=6e-7)
    assert nodes["below"] == pytest.approx(run.tree.subtree_weight[rows], abs=6e-7)
    assert not {"support", "back", "found", "norm"} & set(nodes)
    facts = {fact["column"]: fact for fact in data["facts"]}
    assert list(facts) == ["branch_docs", "below", "weight"]
    assert facts["below"]["label"] == "of all words" and facts["weight"]["unlike"] == "below"


def test_words_of_a_branch_are_those_at_or_below_it(finished: Finished, tmp_path: Path) -> None:
    run = RunDir(finished("hlda-variational"))
    data = data_of(page_of(run.path, tmp_path))
    tokens = run.tree.below(run.tree.phi * run.tree.n_tokens[:, None])
    nodes = data["nodes"]
    n_branches = 0
    for place, row in enumerate(nodes["id"]):
        words = [run.vocab.index(data["words"][word]) for word in nodes["branch_words"][place]]
        assert bool(words) == (nodes["end"][place] > place + 1)
        shares = tokens[row] / tokens[row].sum()
        assert nodes["branch_values"][place] == pytest.approx(shares[words], rel=1e-3)
        best = np.sort(shares)[::-1][: len(words[:10])]
        assert nodes["branch_values"][place][:10] == pytest.approx(best, rel=1e-3)
        n_branches += bool(words)
    assert n_branches > 1


def test_words_have_the_topic_that_they_most_probably_come_from(
    finished: Finished, tmp_path: Path
) -> None:
    run = RunDir(finished("hlda-variational"))
    data = data_of(page_of(run.path, tmp_path))
    counts = read_original(run).train.counts.toarray()
    ids = data["nodes"]["id"]
    n_checked = 0
    for doc, record in enumerate(documents(data)):
        times = {word: int(counts[doc, at]) for at, word in enumerate(run.vocab) if counts[doc, at]}
        assert {word: n for word, (n, _) in record["words"].items()} == times
        for word, (_, place) in record["words"].items():
            column = run.vocab.index(word)
            score = {p: s * run.tree.phi[ids[p], column] for p, s in record["shares"].items()}
            assert score[place] == pytest.approx(max(score.values()))
            n_checked += 1
    assert n_checked > 50


def test_words_of_a_node_are_the_best_by_each_weight_of_relevance(finished: Finished) -> None:
    tree = RunDir(finished("hlda-variational")).tree
    rng = np.random.default_rng(0)
    background = rng.dirichlet(np.ones(tree.n_columns))
    layout = lay_out(tree)
    found = words_of(tree, layout, background, 2)
    for place, row in enumerate(layout.rows):
        chances = tree.phi[row]
        own = np.flatnonzero(chances * tree.n_tokens[row] >= 0.5)
        if len(own) < 2:
            continue
        wanted: set[int] = set()
        for weight in LAMBDAS:
            score = np.log(chances) - (1 - weight) * np.log(background)
            wanted |= set(own[np.argsort(-score[own], kind="stable")[:2]].tolist())
        assert set(found.ids[place].tolist()) == wanted
        assert (np.diff(found.values[place]) <= 0).all()


def test_what_tells_a_branch_is_its_own_in_the_words_at_or_below_it() -> None:
    """Few words stop at a branch, and these are general: they tell nothing of what it is about."""
    parent = [ROOT, 0, 0, 1, 1, 2, 2]
    phi = np.full((7, 8), 1e-6)
    # Words 0, 1 are general; 2, 3 are of the first branch's leaves, 4, 5 of the second one's.
    for node, words in enumerate(([0], [6], [7], [2, 0], [3, 1], [4, 0], [5, 1])):
        phi[node, words] = 1 / len(words)
    tokens = np.array([50.0, 2, 2, 100, 100, 100, 100])
    tree = Tree(
        phi / phi.sum(axis=1, keepdims=True), np.array(parent, np.int32), np.zeros(7, np.int8),
        tokens / tokens.sum(), np.ones(7, np.int64), tokens,
    )  # fmt: skip
    layout = lay_out(tree)
    found = branch_words_of(tree, layout, None, 2)
    by_row = [found.telling[layout.place[row]].tolist() for row in range(7)]
    assert by_row[0] == []
    assert set(by_row[1][:2]) == {2, 3} and set(by_row[2][:2]) == {4, 5}
    assert {*by_row[3][:2]} == {2, 0} and {*by_row[4][:2]} == {3, 1}
    assert telling_words(tree, 1, 2).tolist() == [2, 3]


def test_a_word_without_tokens_is_not_among_the_telling_words(finished: Finished) -> None:
    """A word of held-out documents alone has no share in the corpus, but would lead by lift."""
    tree = RunDir(finished("hlda-variational")).tree
    background = np.full(tree.n_columns, 1 / tree.n_columns)
    layout = lay_out(tree)
    row = layout.rows[0]
    own = np.flatnonzero(tree.phi[row] * tree.n_tokens[row] >= 0.5)
    rarest = int(own[np.argmin(tree.phi[row, own])])
    background[rarest] = 0
    assert len(own) > 2
    assert rarest not in words_of(tree, layout, background, 2).ids[0]


def test_counts_by_metadata_are_those_of_show_tree(finished: Finished, tmp_path: Path) -> None:
    run = RunDir(finished("hlda-variational"))
    n_docs = len(run.split.train_docs) + len(run.split.heldout_docs)
    side = tmp_path / "years"
    side.write_text("".join(f"{1990 + doc * doc % 7}\n" for doc in range(n_docs)))
    data = data_of(page_of(run.path, tmp_path, sides=[f"year={side}"]))
    (column,) = data["columns"]
    assert column["ordered"] and column["values"] == sorted(column["values"])
    shown = json.loads(show_tree(run, format="json", sides=[f"year={side}"]))["nodes"]
    wanted = {node["id"]: dict(node["remarks"]["year"]) for node in shown}
    at = 0
    for place, name in enumerate(data["nodes"]["id"]):
        cells = range(at, at + column["node_n"][place])
        at = cells.stop
        found = {column["values"][column["node_value"][i]]: column["node_count"][i] for i in cells}
        assert found == {value: n for value, n in wanted[name].items() if n}
    assert sum(column["totals"]) == len(run.split.train_docs)


def test_the_name_of_a_document_may_come_from_a_file(finished: Finished, tmp_path: Path) -> None:
    run = RunDir(finished())
    n_docs = len(run.split.train_docs) + len(run.split.heldout_docs)
    (tmp_path / "names").write_text("".join(f"the {doc}th\n" for doc in range(n_docs)))
    data = data_of(page_of(run.path, tmp_path, sides=[f"name={tmp_path / 'names'}"]))
    names = data["documents"]["name"]
    assert names == [" ".join(sorted(["the", f"{doc}th"])) for doc in run.split.train_docs]
    assert "columns" not in data


def test_the_policy_names_script_and_style_and_lets_nothing_else_in(
    finished: Finished, tmp_path: Path
) -> None:
    page = page_of(finished(), tmp_path)
    text = page.read_text(encoding="utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'{sha256(element(page, 'script'))}'"
    assert rules["style-src"] == f"'{sha256(element(page, 'style'))}'"
    assert set(rules) == {
        "default-src",
        "script-src",
        "style-src",
        "img-src",
        "base-uri",
        "form-action",
    }
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', text) == []
    assert re.findall(r" on\w+=| style=", text.partition("<script")[0]) == []


def test_the_same_run_gives_the_same_bytes(finished: Finished, tmp_path: Path) -> None:
    first = page_of(finished("hlda-gibbs"), tmp_path).read_bytes()
    assert page_of(finished("hlda-gibbs"), tmp_path).read_bytes() == first


HOSTILE = (
    "</script><b>",
    "\x1b[31mred",
    "a\u202eb",
    'say"hi"',
    "<img/src=x>",
    "-=1+1",
    "日本",
    "\U0001f332",
    "x",
)


def hostile(run: Path) -> Path:
    (run / "vocab.txt").write_text("".join(f"{word}\n" for word in HOSTILE), encoding="utf-8")
    return unsealed(run)


def test_hostile_words_are_data_and_text_and_never_markup(copied: Call, tmp_path: Path) -> None:
    page = page_of(hostile(copied()), tmp_path)
    text = page.read_text(encoding="utf-8")
    assert set(data_of(page)["words"]) <= set(HOSTILE)
    assert "</script><b>" in data_of(page)["words"]
    assert text.count("</script>") == 2 and "<img" not in text and "\x1b" not in text
    assert "\u202e" not in text


def test_a_limit_is_kept_and_what_it_costs_is_said(finished: Finished, tmp_path: Path) -> None:
    run = finished("hlda-variational")
    whole = page_of(run, tmp_path).stat().st_size
    least: list[list[str]] = []
    for limit in range(whole - 1000, whole + 3000, 100):
        try:
            made = hiertopics.report(run, output=tmp_path / "small.html", limit=str(limit))
        except UsageError as error:
            assert "too small" in str(error)
            continue
        assert made.path.stat().st_size == made.n_bytes <= limit
        assert list(made.left_out) == data_of(made.path)["left_out"]
        least.append(list(made.left_out))
    assert [] in least and any("words" in line for said in least for line in said)
    assert any("documents" in line for said in least for line in said)


def test_a_limit_that_holds_no_tree_is_refused_and_leaves_what_was_there(
    call: Call, finished: Finished, tmp_path: Path
) -> None:
    (tmp_path / "report.html").write_text("older")
    outcome = call("report", finished(), "--limit", "20kB")
    assert (outcome.code, outcome.out) == (2, "") and outcome.err.count("\n") == 1
    assert "--limit 20 kB is too small" in outcome.err
    assert (tmp_path / "report.html").read_text() == "older"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--limit", "much"), "such as 5MB"),
        (("--json", "report.html"), "cannot be both"),
        (("-o", "no/folder/x.html"), "cannot write"),
        (("gone",), "not a run"),
        (("--side", "year"), "keeps no column 'year'"),
        (("--side", "year=gone"), "no such file"),
    ],
)
def test_bad_requests_are_told_in_one_line(
    call: Call, finished: Finished, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    outcome = call("report", finished(), *words)
    assert outcome.code in (1, 2) and outcome.out == ""
    assert message in outcome.err and "Traceback" not in outcome.err
    assert list(tmp_path.glob("*.html")) == []


def test_without_texts_no_word_of_a_document_is_in_the_page(
    call: Call, finished: Finished, tmp_path: Path
) -> None:
    outcome = call("report", finished(), "--no-text")
    data = data_of(tmp_path / "report.html")
    assert not {"contents", "texts"} & set(data)
    assert "--no-text" in outcome.err and "--no-text" in data["left_out"][0]


def test_where_the_corpus_is_gone_the_page_says_so(
    fit_tiny: Call, tiny_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "moved"
    folder.mkdir()
    for file in tiny_file.parent.glob("tiny.*"):
        shutil.copy(file, folder)
    fit_tiny(tmp_path / "run", corpus=folder / "tiny.ldac")
    shutil.rmtree(folder)
    data = data_of(page_of(tmp_path / "run", tmp_path))
    (said,) = data["left_out"]
    assert "tiny.ldac" in said and str(tmp_path) not in said
    assert "contents" not in data and documents(data)[0]["name"] == str(
        documents(data)[0]["row"] + 1
    )


def test_no_path_of_the_machine_is_in_the_data(finished: Finished, tmp_path: Path) -> None:
    hiertopics.evaluate(copy := RunDir(shutil.copytree(finished(), tmp_path / "scored")))
    text = json.dumps(data_of(page_of(copy.path, tmp_path)))
    assert str(tmp_path) not in text and str(Path(__file__).parents[1]) not in text
    card = data_of(tmp_path / "page.html")["card"]
    assert card["scores"][0]["perplexity"] > 0 and card["scores"][0]["standard_error"] > 0
    assert (
        "model.truncation=5" in card["command"] and ["model.truncation", 5, 500] in card["settings"]
    )


@pytest.mark.parametrize("shape", ["one", "chain", "wide", "mixed"])
def test_trees_of_any_shape_have_a_page(copied: Call, tmp_path: Path, shape: str) -> None:
    parents = {
        "one": [ROOT],
        "chain": list(range(-1, 40)),
        "wide": [ROOT, *[0] * 300],
        "mixed": [ROOT, 0, 0, 1, 1, 2, ROOT],
    }
    run = reshaped(copied("hdp-pcvb0"), parents[shape])
    data = data_of(page_of(run, tmp_path))
    parent = data["nodes"]["parent"]
    assert len(parent) == len(parents[shape])
    for place, above in enumerate(parent):
        assert above < place and place < data["nodes"]["end"][place] <= len(parent)
        if above != ROOT:
            assert data["nodes"]["end"][place] <= data["nodes"]["end"][above]
    assert data["tree"]["kind"] == ("flat" if shape == "one" else "tree")


def test_the_main_path_of_a_mixture_goes_where_the_largest_share_is(
    copied: Call, tmp_path: Path
) -> None:
    run = reshaped(copied("hdp-pcvb0"), [ROOT, 0, 0, 1, 1, 2, 2, 2])
    data = data_of(page_of(run, tmp_path))
    parent, end = data["nodes"]["parent"], data["nodes"]["end"]
    theta = RunDir(run).theta.toarray()[:, data["nodes"]["id"]]
    for doc, record in enumerate(documents(data)):
        below = [theta[doc, place : end[place]].sum() for place in range(len(parent))]
        at = parent.index(ROOT)
        while children := [p for p, above in enumerate(parent) if above == at and below[p] > 0]:
            best = max(children, key=lambda place: (round(below[place], 9), -place))
            if parent[at] != ROOT and theta[doc, at] > below[best]:
                break  # most of it is at the node itself
            at = best
        assert record["home"] == at


@pytest.mark.parametrize("n_topics", [3, 7, 8, 30, 100])
def test_arranged_topics_hang_from_few_clusters(finished: Finished, n_topics: int) -> None:
    run = RunDir(finished())
    rng = np.random.default_rng(n_topics)
    flat = run.tree
    rows = rng.integers(0, len(flat.shown), n_topics)
    many = type(flat)(
        rng.dirichlet(np.ones(9), n_topics), np.full(n_topics, ROOT, dtype=np.int32),
        np.zeros(n_topics, dtype=np.int8), np.full(n_topics, 1 / n_topics),
        np.arange(n_topics), flat.n_tokens[rows],
    )  # fmt: skip
    whole = arrange(many, rng.random((20, n_topics)) < 0.3)
    tree = banded(whole)
    assert whole.arrangement is not None and tree.arrangement is not None
    names = tree.arrangement.ids
    assert set(names) <= set(whole.arrangement.ids)
    assert {name for name in names if isinstance(name, int)} == set(range(n_topics))
    assert tree.depth.max() <= (1 if n_topics < 8 else 3)
    n_clusters = n_topics if n_topics < 8 else round(n_topics ** (1 / 3))
    assert (tree.depth == 1).sum() == n_clusters
    height = {name: 0.0 for name in names}
    for table in (whole, tree):  # the way from the root to a topic is as long as before
        assert table.arrangement is not None
        for row, name in enumerate(table.arrangement.ids):
            way, at = 0.0, row
            while at != ROOT:
                way, at = way + table.arrangement.lengths[at], int(table.parent[at])
            if table is whole and name in height:
                height[name] = way
            elif table is tree:
                assert way == pytest.approx(height[name])


def test_documents_of_arranged_topics_stay_with_their_topics(
    finished: Finished, tmp_path: Path
) -> None:
    run = RunDir(finished("lda-gibbs"))
    data = data_of(page_of(run.path, tmp_path))
    assert data["tree"]["kind"] == "arranged" and "after the fit" in data["tree"]["note"]
    lengths = run.split.train_lengths
    assert lengths is not None
    members, context = (
        documents_with(run.theta, lengths).toarray(),
        contexts(run.theta, lengths, run.tree.phi),
    )
    whole = arrange(run.tree, members, context)
    counts = {whole.id_of(row): int(whole.n_docs[row]) for row in range(whole.n_nodes)}
    ids = data["nodes"]["id"]
    assert data["nodes"]["n_docs"] == [counts[name] for name in ids]


def test_groups_have_their_topics(fit_tiny: Call, tiny_corpus: Corpus, tmp_path: Path) -> None:
    write_corpus(with_authors(tiny_corpus), tmp_path / "tiny.ldac")
    fit_tiny(tmp_path / "run", "chdp-variational", corpus=tmp_path / "tiny.ldac")
    run, page = RunDir(tmp_path / "run"), page_of(tmp_path / "run", tmp_path)
    groups = data_of(page)["groups"]
    theta = dict(
        zip(run.tree.extra["group_names"].tolist(), run.tree.extra["group_theta"], strict=True)
    )
    ids, at = data_of(page)["nodes"]["id"], 0
    for name, n in zip(groups["name"], groups["n"], strict=True):
        for i in range(at, at + n):
            assert groups["share"][i] == pytest.approx(
                theta[name][ids[groups["place"][i]]], abs=6e-4
            )
        at += n


def test_a_run_beside_itself_has_every_topic_twice(finished: Finished, tmp_path: Path) -> None:
    run = finished("hlda-variational")
    part = data_of(page_of(run, tmp_path, other=run))["comparison"]
    assert part["run"] == run.name
    assert part["mine"] == part["other"] == list(range(len(part["nodes"]["id"])))
    assert part["affinity"] == [1] * len(part["mine"])
    assert set(part["only_mine"]) == set(part["only_other"]) == {0}
    assert all(a == b for a, b, _ in part["flows"])


def test_pairs_are_those_of_the_largest_sum(finished: Finished, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        affinity = rng.random((4, 5))
        best = max(
            itertools.permutations(range(5), 4),
            key=lambda order: sum(affinity[row, column] for row, column in enumerate(order)),
        )
        wanted = [(r, c) for r, c in enumerate(best) if affinity[r, c] >= affinity_of.LEAST]
        assert affinity_of.matched(affinity) == wanted


def test_branches_are_paired_by_the_words_at_or_below_them() -> None:
    """Few words at the branches themselves are those of the other branch."""
    trees = []
    for at_first, at_second in ((4, 5), (5, 4)):
        tree = tree_of([-1, 0, 0, 1, 1, 2, 2])
        phi = np.eye(6)[[4, at_first, at_second, 0, 1, 2, 3]]
        n_tokens = np.array([1.0, 1, 1, 100, 100, 100, 100])
        trees.append(replace(tree, phi=phi, n_tokens=n_tokens))
    nodes = [TreeNodes(tree, np.arange(7), list("abcdef")) for tree in trees]
    pairs, affinity = paired(*nodes)
    assert pairs == [(place, place) for place in range(7)]
    assert 0.98 < affinity[1, 1] < 1 and affinity[3, 3] == pytest.approx(1)


def test_other_documents_cannot_move(fit_tiny: Call, finished: Finished, tmp_path: Path) -> None:
    fit_tiny(tmp_path / "other", "multinomial", holdout="docs:0.3@1")
    part = data_of(page_of(finished(), tmp_path, other=tmp_path / "other"))["comparison"]
    assert not {"flows", "both", "doc_home"} & set(part)
    part = data_of(page_of(finished(), tmp_path, other=finished("hlda-variational")))["comparison"]
    assert sum(n for _, _, n in part["flows"]) == len(part["doc_home"])


def test_vectors_and_words_do_not_compare(call: Call, finished: Finished) -> None:
    outcome = call("report", finished(), finished("hca-variational"))
    assert outcome.code == 2 and "cannot be compared" in outcome.err


@pytest.mark.parametrize(
    ("text", "n_bytes"), [("5MB", 5_000_000), ("800kB", 800_000), ("1.5 mb", 1_500_000), ("77", 77)]
)
def test_sizes_are_read_as_people_write_them(text: str, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(5_000_000, "5.0 MB"), (800_000, "800 kB"), (9, "9 bytes")]
)
def test_sizes_are_told_as_people_write_them(n_bytes: int, text: str) -> None:
    assert size_told(n_bytes) == text


def test_the_twin_of_the_search_finds_what_there_is(finished: Finished, tmp_path: Path) -> None:
    data = data_of(page_of(finished(), tmp_path))
    assert search(data, "bread")[1] > search(data, "bread goal")[1] > 0
    assert search(data, "bread nowhere") == (0, 0)


@pytest.mark.parametrize("backend", ["hlda-variational", "nhdp-variational", "hdp-cvb0"])
def test_a_cut_tree_keeps_the_shares_of_what_it_left_out(
    finished: Finished, tmp_path: Path, backend: str
) -> None:
    run = RunDir(finished(backend))
    cut = "1"
    whole, fewer = (
        data_of(page_of(run.path, tmp_path)),
        data_of(page_of(run.path, tmp_path, cut=cut)),
    )
    n_whole, n_fewer = (len(page["nodes"]["id"]) for page in (whole, fewer))
    # The other tiny trees are a root with leaves, of which nothing is left out.
    assert 0 < n_fewer < n_whole if backend == "hlda-variational" else n_fewer == n_whole
    if backend != "hdp-cvb0":
        shown = json.loads(show_tree(run.path, format="json", cut=cut))
        assert sorted(fewer["nodes"]["id"]) == sorted(node["id"] for node in shown["nodes"])
    for one, other in zip(documents(whole), documents(fewer), strict=True):
        shares = [sum(record["shares"].values()) for record in (one, other)]
        assert shares[1] == pytest.approx(shares[0], abs=0.01)
        assert other["home"] >= 0
    assert hiertopics.export(run.path, tmp_path / "x.html", cut=cut).read_text().startswith("<!doc")


@pytest.mark.slow
def test_agreement_with_labels_has_a_part_of_its_own(finished: Finished, tmp_path: Path) -> None:
    run = Path(shutil.copytree(finished("hlda-variational"), tmp_path / "run"))
    assert "agreement" not in data_of(page_of(run, tmp_path))
    paths = tmp_path / "given.paths"
    paths.write_text("".join(f"{('a/x', 'a/y', 'b/z')[doc % 3]}\n" for doc in range(30)))
    record = evaluate_task(run, "hierarchy", paths=paths)
    data = data_of(page_of(run, tmp_path))
    part = data["agreement"]
    assert [row["level"] for row in part["rows"] if row["method"] == "this tree"] == [1, 2]
    assert part["rows"][0]["kin"] == record["levels"][0]["kin"]
    assert {row["method"] for row in part["rows"]} == {"this tree", *record["baselines"]}
    assert {row["label"] for row in part["torn"]} == {"a", "b"}
    assert not [score for score in data["card"]["scores"] if score.get("task") == "hierarchy"]
    assert str(tmp_path) not in json.dumps(data)


def test_the_script_gets_the_limit_of_few_documents_from_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writing, "FEW_DOCUMENTS", 7)
    page = writing.html_of("a title", "about it", "", {})
    assert re.findall(r"\bFEW_DOCUMENTS = (\d+)", page) == ["7"]
