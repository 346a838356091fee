"""edit: nodes joined and moved as edits.yaml says, in a run of its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults import refusals

import hiertopics
from hiertopics.base.errors import ConfigError, DataError, UsageError
from hiertopics.corpus.data.matching import marks_of
from hiertopics.corpus.data.naming import names_of
from hiertopics.corpus.data.regrouping import joined, moved
from hiertopics.corpus.data.tree import Tree
from hiertopics.families.nhdp.summary import merge_extra as nhdp_extra
from hiertopics.fitting.editing import carry_edits, edits_to_carry
from hiertopics.runs.edits import EDITS, Edit, edits_of, named, read_edits, write_edits
from hiertopics.runs.newdocs import infer_theta
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import RunDir

Call = Callable[..., Any]
Copied = Callable[..., Path]


def wanted(path: Path, *edits: tuple[str, int, int]) -> Path:
    """Write edits.yaml of a run: (kind, node, node) each."""
    run = RunDir(path)
    write_edits(
        run,
        [Edit(kind, tuple(named(run.tree, run.vocab, n) for n in nodes)) for kind, *nodes in edits],
    )
    return path


def branches_of(tree: Tree) -> list[list[int]]:
    """Return the children of the root that have children, each before its own."""
    found = [[n, *tree.children(n).tolist()] for n in tree.children(0).tolist()]
    return [family for family in found if len(family) > 1]


def test_a_moved_node_of_a_mixture_keeps_topics_and_documents(
    copied: Copied, tmp_path: Path
) -> None:
    path = copied("nhdp-variational")
    old = RunDir(path)
    node, below = old.tree.children(0)[:2].tolist()
    made = hiertopics.edit(wanted(path, ("move", node, below)), tmp_path / "new")
    new, now = RunDir(tmp_path / "new"), made.numbers
    assert new.tree.parent[now[node]] == now[below] and sorted(now) == old.tree.shown.tolist()
    for before, after in now.items():
        assert (new.tree.phi[after] == old.tree.phi[before]).all()
        assert new.tree.n_tokens[after] == old.tree.n_tokens[before]
        assert np.allclose(new.theta.toarray()[:, after], old.theta.toarray()[:, before])
        if before not in (node, 0):
            assert new.tree.parent[after] == now[int(old.tree.parent[before])]
    assert (np.diff(new.tree.depth) >= 0).all(), "nodes stand breadth first"
    share = new.tree.extra["share"]
    for inner in (0, now[below]):
        assert share[new.tree.children(inner)].sum() == pytest.approx(1.0)
    assert new.tree.extra["concentration"][now[below]] > 0, "a leaf that has children mixes"
    posterior = infer_theta(new, read_original(old).train)
    assert np.allclose(posterior.theta.sum(axis=1), 1.0)
    assert np.isfinite(hiertopics.evaluate(new)["perplexity"])


def test_a_moved_node_has_the_same_share_of_the_whole() -> None:
    parent = np.array([-1, 0, 0, 1, 1, 2, 2], np.int32)
    share = np.array([1.0, 0.6, 0.4, 0.5, 0.5, 0.25, 0.75])
    zeros = np.zeros(7, np.int64)
    concentration = np.array([1.0, 2, 3, 0, 0, 0, 0])
    stop = np.array([[1.0, 4], [1, 5], [1, 6], [1, 0], [1, 0], [1, 0], [1, 0]])
    extra = {"share": share, "concentration": concentration, "stop": stop}
    tree = Tree(np.full((7, 2), 0.5), parent, zeros.astype(np.int8), np.full(7, 1 / 7), zeros,
                np.ones(7), extra)  # fmt: skip
    grouping = moved(tree, 3, 2)
    found = nhdp_extra(tree, grouping)
    assert grouping.parent.tolist() == [-1, 0, 0, 1, 2, 2, 2]
    # In the whole node 3 has 0.3, its new siblings 0.1 and 0.3.
    order = grouping.into
    assert found["share"][order[[3, 5, 6]]] == pytest.approx([3 / 7, 1 / 7, 3 / 7])
    assert found["share"][order[4]] == 1.0
    assert (found["concentration"][order] == concentration).all()
    assert (nhdp_extra(tree, joined(tree, [3, 4]))["share"][:3] == share[:3]).all()
    leaf = moved(tree, 1, 5)
    told = nhdp_extra(tree, leaf)
    assert told["concentration"][leaf.into[5]] == 3 and told["stop"][leaf.into[5]].tolist() == [
        1,
        6,
    ]


@pytest.mark.parametrize("backend", ["hlda-gibbs", "hlda-variational"])
def test_documents_of_a_path_take_the_new_path(
    copied: Copied, tmp_path: Path, backend: str
) -> None:
    path = copied(backend)
    old = RunDir(path)
    (first, node, *_), (second, *_) = branches_of(old.tree)[:2]
    made = hiertopics.edit(wanted(path, ("move", node, second)), tmp_path / "new")
    new, now = RunDir(tmp_path / "new"), made.numbers
    assert old.paths is not None and new.paths is not None
    takes = (old.paths.node == node).any(axis=1)
    assert takes.any() and (new.paths.node[takes] == [now[0], now[second], now[node]]).all()
    kept = old.paths.node[~takes]
    places = np.array([now.get(n, -1) for n in range(old.tree.n_nodes)] + [-1])
    assert (new.paths.node[~takes] == places[kept]).all()
    before, after = old.theta.toarray(), new.theta.toarray()
    assert np.allclose(after.sum(axis=1), 1.0)
    assert np.allclose(after[:, now[node]], before[:, node])
    both = after[:, now[first]] + after[:, now[second]]
    assert np.allclose(both, before[:, first] + before[:, second]), "levels keep their shares"
    alone = takes & (before[:, first] > 0) & (before[:, second] == 0)
    whole = alone & np.isclose(before[:, [n for n in old.tree.children(first) if n != node]]
                               .sum(axis=1), 0)  # fmt: skip
    assert whole.any() and np.allclose(after[whole, now[first]], 0)
    assert np.allclose(after[whole, now[second]], before[whole, first])
    assert new.tree.n_tokens.sum() == pytest.approx(old.tree.n_tokens.sum())
    assert new.tree.n_docs[now[second]] == old.tree.n_docs[second] + old.tree.n_docs[node]
    was, is_now = (tree.n_tokens @ tree.phi for tree in (old.tree, new.tree))
    assert np.allclose(was, is_now), "the words of all topics together are what they were"
    assert np.isfinite(hiertopics.evaluate(new)["perplexity"])


def test_a_merge_makes_what_the_command_merge_makes(copied: Copied, tmp_path: Path) -> None:
    path = copied("nhdp-variational")
    a, b = RunDir(path).tree.children(0)[:2].tolist()
    hiertopics.edit(wanted(path, ("merge", a, b)), tmp_path / "edited")
    hiertopics.merge(path, [a, b], tmp_path / "merged")
    for name in ("model.npz", "theta.npz", "tree.json", "topics.csv"):
        assert (tmp_path / "edited" / name).read_bytes() == (
            tmp_path / "merged" / name
        ).read_bytes()


def test_nodes_that_lie_apart_are_merged_where_the_first_lies(
    copied: Copied, tmp_path: Path
) -> None:
    path = copied("hlda-gibbs")
    old = RunDir(path)
    (first, a, *_), (_, b, *_) = branches_of(old.tree)[:2]
    made = hiertopics.edit(wanted(path, ("merge", a, b)), tmp_path / "new")
    new = RunDir(tmp_path / "new")
    assert made.numbers[a] == made.numbers[b]
    assert new.tree.parent[made.numbers[a]] == made.numbers[first]
    assert new.tree.n_tokens[made.numbers[a]] == pytest.approx(old.tree.n_tokens[[a, b]].sum())


def test_every_view_opens_the_run_and_names_go_along(
    copied: Copied, tmp_path: Path, call: Call
) -> None:
    path = copied("hlda-gibbs")
    (_, node, *_), (second, *_) = branches_of(RunDir(path).tree)[:2]
    hiertopics.label(path, node, "mine", note="n")
    told = call("edit", wanted(path, ("move", node, second)), "-o", "new", "--json")
    assert told.code == 0 and json.loads(told.out)["run"] == "new"
    (row,) = hiertopics.label(tmp_path / "new")
    assert (row["name"], row["note"]) == ("mine", "n")
    for words in (("show-tree", "new"), ("topics", "new"), ("docs", "new"), ("compare", "new"),
                  ("report", "new", "-o", "page.html"), ("eval", "new", "--heldout"),
                  ("export", "new", "-o", "tree.json")):  # fmt: skip
        assert call(*words).code == 0, words
    manifest = RunDir(tmp_path / "new").manifest
    assert manifest["made_by"] == f"edit move {node} below {second}"
    assert manifest["parents"][0]["run"] == path.name


def test_leaving_an_entry_out_undoes_it(copied: Copied, tmp_path: Path) -> None:
    path = copied("nhdp-variational")
    a, b, c, d = RunDir(path).tree.children(0)[:4].tolist()
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    hiertopics.edit(wanted(path, ("merge", a, b), ("move", c, d)), tmp_path / "both")
    lines = (path / EDITS).read_text().splitlines(keepends=True)
    assert [line.split(":")[0].strip() for line in lines[::2]] == ["merge", "move"]
    (path / EDITS).write_text("".join(lines[:2]))
    hiertopics.edit(path, tmp_path / "one")
    wanted(path, ("merge", a, b))
    hiertopics.edit(path, tmp_path / "alone")
    (path / EDITS).unlink()
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    one, alone = ((tmp_path / name / "model.npz").read_bytes() for name in ("one", "alone"))
    assert one == alone != (tmp_path / "both" / "model.npz").read_bytes()


def test_the_file_that_is_written_is_the_one_that_is_read(copied: Copied) -> None:
    run = RunDir(copied("nhdp-variational"))
    nodes = [named(run.tree, run.vocab, node) for node in (1, 2)]
    odd = nodes[0]._replace(words="a: #b 'c' \"d\" [e] {f} é\\")
    for kind in ("merge", "move"):
        write_edits(run, [Edit(kind, (odd, nodes[1]))])
        assert edits_of(run) == [Edit(kind, (odd, nodes[1]), 2)]


def bad_files(run: RunDir) -> Sequence[tuple[str, str]]:
    """Return edits that cannot be made in a run of one level below the root, and what is said."""

    def said(node: int) -> str:
        return str(named(run.tree, run.vocab, node))

    a, b, c = (said(node) for node in run.tree.children(0)[:3].tolist())
    n, m = a.partition(" ")[0], b.partition(" ")[0]
    root, last = said(0), run.tree.shown[-1]
    return (
        (f"merge:\n- [{a}, 99 x y]", f":2: {run.path} has no node 99; they go from 0 to {last}"),
        (f"merge:\n- [{a}, {m} red green blue]", "has other words"),
        (f"merge:\n- [1.5, {b}]", "its words, as 12 json xml parser, or its name, got 1.5"),
        (f"merge:\n- [{a}]", "expected an entry as [3 server socket, 7 mail address]"),
        (f"merge:\n- [{a}, {a}]", f":2: node {n} is merged twice here"),
        (f"merge:\n- [{a}, {b}]\n- [{c}, {b}]", f":3: node {m} is merged on line 2 already"),
        (f"merge:\n- [{a}, {root}]", f"{n} lies below 0, and a node cannot be merged with what"),
        (f"merge:\n- [{root}, {a}]", f"{n} lies below 0, and a node cannot be merged with what"),
        (f"merge: {a}", ":1: expected a list of edits"),
        (f"move:\n- {{node: {a}}}", "expected an entry as {node: 12 json xml, below: 4 data file}"),
        (f"move:\n- {{node: {a}, below: {a}}}", ":2: move"),
        (f"move:\n- {{node: {root}, below: {a}}}", "0 lies at the top"),
        (f"move:\n- {{node: {a}, below: {root}}}", f"{n} lies below 0 already"),
        (f"move:\n- {{node: {a}, below: {b}}}\n- {{node: {b}, below: {a}}}",
         f":3: move {m} below {n}: {n} lies below {m}"),
        (f"move:\n- {{node: {a}, below: {b}}}\n- {{node: {a}, below: {c}}}",
         f":3: node {n} is moved on line 2 already"),
        (f"move:\n- {{node: {a}, below: {b}}}\nmerge:\n- [{a}, {b}]",
         f":4: merge {n} {m}: {n} lies below {m}"),
        ("divide:\n- 3", ":1: expected merge, move or split, got 'divide'"),
        ("merge:\n- [a", ":"),
        ("- merge", "the top level must be a mapping"),
        ("merge:\nmerge:", ":2: key 'merge' is given twice"),
        ("merge:", "there is no edit in it"),
    )  # fmt: skip


def test_edits_that_cannot_be_made_are_refused_with_their_line(
    copied: Copied, tmp_path: Path, call: Call
) -> None:
    path = copied("nhdp-variational")
    for text, message in bad_files(RunDir(path)):
        (path / EDITS).write_text(f"{text}\n")
        told = call("edit", path, "-o", "new")
        assert (told.code, len(told.err.splitlines())) == (2, 1), (text, told)
        assert message in told.err and EDITS in told.err, (text, told.err)
        assert not (tmp_path / "new").exists()
    (path / EDITS).write_bytes(b"merge:\n- \xff\n")
    with pytest.raises(ConfigError, match=f"{EDITS}:2: not UTF-8"):
        read_edits(path / EDITS)


def test_runs_and_places_that_cannot_be_are_refused(copied: Copied, tmp_path: Path) -> None:
    path = copied("hlda-gibbs")
    with pytest.raises(UsageError, match="has no edits.yaml; write one") as told:
        hiertopics.edit(path, tmp_path / "new")
    example = str(told.value).partition("; such as the line ")[2]
    (tmp_path / "example.yaml").write_text(example)
    made = hiertopics.edit(path, tmp_path / "example", edits=tmp_path / "example.yaml")
    assert len(made.run.tree.shown) == len(RunDir(path).tree.shown) - 1
    tree = RunDir(path).tree
    (first, leaf, *_), (second, other, *_) = branches_of(tree)[:2]
    for node, below in ((leaf, 0), (first, second), (leaf, other)):
        with pytest.raises(DataError, match="one topic on each level of their path"):
            hiertopics.edit(wanted(path, ("move", node, below)), tmp_path / "new")
    wanted(path, ("move", leaf, second))
    with pytest.raises(UsageError, match="is there already"):
        hiertopics.edit(path, path)
    flat = copied("hdp-pcvb0")
    a, b = RunDir(flat).tree.shown[:2].tolist()
    with pytest.raises(DataError, match="these topics are flat"):
        hiertopics.edit(wanted(flat, ("move", a, b)), tmp_path / "new")
    hiertopics.edit(wanted(flat, ("merge", a, b)), tmp_path / "new")
    with pytest.raises(UsageError, match="cannot be merged or dropped"):
        hiertopics.edit(copied("hca-variational"), tmp_path / "vectors")


def test_a_disk_that_refuses_leaves_no_run(copied: Copied, tmp_path: Path, call: Call) -> None:
    path = copied("nhdp-variational")
    a, b = RunDir(path).tree.children(0)[:2].tolist()
    wanted(path, ("move", a, b))

    def act(_: int) -> Any:
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        done = call("edit", path, "-o", "new")
        return done if done.code else None

    n_refused = 0
    for _, done in refusals("rename", tmp_path, int, act, every=3):
        n_refused += 1
        assert done.code == 1 and len(done.err.splitlines()) == 1, done.err
        assert call("show-tree", "new").code == 2
    assert n_refused > 1 and RunDir(tmp_path / "new").tree.parent.max() > 0


def test_edits_are_carried_by_words_and_documents(copied: Copied, tmp_path: Path) -> None:
    """The other run has its nodes in another order, and one of them with other documents."""
    path = copied("nhdp-variational")
    a, b, c, d = RunDir(path).tree.children(0)[:4].tolist()
    wanted(path, ("merge", a, b), ("move", c, d))
    hiertopics.merge(path, [c, d], tmp_path / "made")
    run, made, said = RunDir(path), RunDir(tmp_path / "made"), list[str]()
    docs = np.arange(run.theta.shape[0])
    edits = edits_to_carry(run)
    carry_edits(edits, run, made, docs, docs, said.append)
    (kept,) = edits_of(made)
    for node, before in zip(kept.nodes, (a, b), strict=True):
        assert (made.tree.phi[node.number] == run.tree.phi[before]).all()
    assert f"move {c} below {d} (edits.yaml, line 4) has no meaning" in said[0]
    assert "1 edit of" in said[1] and len(said) == 2
    (made.path / EDITS).unlink()
    mine = marks_of(run.tree, run.theta.toarray()).docs[a]
    n = min(mine.sum(), (~mine).sum())
    carry_edits(edits, run, made, docs[mine][:n], docs[~mine][:n], said.append)
    assert sum("has no meaning" in line for line in said[2:]) == 2, "documents are looked at"
    assert not (made.path / EDITS).exists()


def test_update_and_refit_carry_edits(copied: Copied, tmp_path: Path, call: Call) -> None:
    path = copied("nhdp-variational")
    a, b = RunDir(path).tree.children(0)[:2].tolist()
    wanted(path, ("merge", a, b))
    (tmp_path / "more.ldac").write_text("2 0:1 3:2\n1 1:4\n2 2:1 4:3\n")
    vocab = tmp_path / "more.vocab"
    vocab.write_text("".join(f"{word}\n" for word in RunDir(path).vocab))
    for words in (("update", path, "more.ldac", "--vocab", vocab), ("refit", path, 0)):
        told = call(*words, "-o", words[0], "-q", "--iterations", 30)
        assert told.code == 0, told.err
        carried = (tmp_path / words[0] / EDITS).exists()
        assert carried != ("has no meaning" in told.err), told.err
        if carried:
            assert call("edit", words[0], "-o", f"{words[0]}-edited").code == 0
        (path / EDITS).write_text("merge: 3")
        told = call(*words, "-o", "another", "-q")
        assert told.code == 2 and "edits.yaml:1: " in told.err
        assert not (tmp_path / "another").exists()
        wanted(path, ("merge", a, b))


def test_nodes_are_given_by_names_too(copied: Copied, tmp_path: Path, call: Call) -> None:
    path = copied("nhdp-variational")
    run = RunDir(path)
    a, b, c = run.tree.children(0)[:3].tolist()
    hiertopics.edit(wanted(path, ("merge", a, b)), tmp_path / "numbers")
    auto = names_of(run.tree, run.vocab).texts
    call("label", path, b, "Second of them")
    for first, second in ((auto[a], "Second of them"), (auto[a].upper(), "second  OF")):
        (path / EDITS).write_text(f"merge:\n- [{first}, {second}]\n")
        hiertopics.edit(path, tmp_path / "names")
        models = [tmp_path / name / "model.npz" for name in ("numbers", "names")]
        assert models[0].read_bytes() == models[1].read_bytes()
        shutil.rmtree(tmp_path / "names")
    (path / EDITS).write_text(f"merge:\n- [{a}, {b}]\n")
    hiertopics.edit(path, tmp_path / "bare")
    assert (tmp_path / "bare" / "model.npz").read_bytes() == models[0].read_bytes()
    (bare,) = edits_to_carry(run)
    assert [str(node) for node in bare.nodes] == [
        str(named(run.tree, run.vocab, node)) for node in (a, b)
    ]
    (path / EDITS).write_text(f"move:\n- {{node: {auto[c]}, below: {a} {auto[a]}}}\n")
    (edit,) = edits_to_carry(run)
    assert [node.number for node in edit.nodes] == [c, a]


def test_a_name_of_no_node_or_of_several_is_refused(copied: Copied, call: Call) -> None:
    path = copied("nhdp-variational")
    a, b = RunDir(path).tree.children(0)[:2].tolist()
    call("label", path, a, "animals: cats")
    call("label", path, b, "animals: dogs")
    told = sorted([f"{a} animals: cats", f"{b} animals: dogs"])
    said = (
        ("animals", f"'animals' fits several nodes: {told[0]}, {told[1]}"),
        ("animals: cat", ""),  # a beginning that one node has
        ("animal: dogs", f"is called 'animal: dogs'; did you mean {b} animals: dogs?"),
        ("zzzz", "is called 'zzzz'"),
    )
    for name, message in said:
        (path / EDITS).write_text(f'merge:\n- ["{name}", "animals: dogs"]\n')
        done = call("edit", path, "-o", "new")
        if not message:
            assert done.code == 0, done.err
            shutil.rmtree("new")
            continue
        assert (done.code, len(done.err.splitlines())) == (2, 1), done
        assert f"{EDITS}:2: " in done.err and message in done.err, done.err
