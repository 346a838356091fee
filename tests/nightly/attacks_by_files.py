"""Attacks by what somebody sends: corpora, shards, runs, checkpoints, configs, links."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anndata  # type: ignore[import-untyped]
import numpy as np
import pandas  # type: ignore[import-untyped]
from altered import Arrays
from scene import Scene, resealed, resealed_bytes
from scipy.sparse import csr_array
from task_corpora import write_labelled
from tiny import hand_made, small_settings

from hiertopics.corpus.formats.shards import write_bags
from hiertopics.corpus.formats.writing import write_corpus
from hiertopics.runs.rundir import RunDir

DAMAGED = "damaged"
PARTIAL = ("hdp-gibbs", "inference.collapse=partial")
FEW = ("-q", "--holdout", "none", "--iterations", "2", "-s", "output.checkpoint_seconds=0")
TWO_GIGABYTES = {resource.RLIMIT_AS: 2 << 30}


def fit_words(corpus: Path, run: Path, backend: str, *settings: str) -> list[str]:
    """Return the words of a small fit."""
    chosen = [*small_settings(backend), *settings]
    words = ["fit", str(corpus), "-b", backend, "-o", str(run), *FEW]
    return words + [word for setting in chosen for word in ("-s", setting)]


def labelled(scene: Scene) -> Path:
    """Write a small corpus with labels; return its path."""
    return write_labelled(hand_made(), scene.here / "sound.ldac")


def shards_of(scene: Scene) -> Path:
    """Write small shards with names of documents; return their folder."""
    corpus, folder = hand_made(), scene.here / "sound.shards"
    write_bags(replace(corpus, doc_ids=tuple(f"dé{doc}" for doc in range(corpus.n_docs))), folder)
    return folder


def copied(folder: Path, name: str) -> Path:
    """Copy a folder beside itself, in place of the last copy; return the copy."""
    copy = folder.with_name(name)
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    return copy


def set_at(place: int, value: float, add: bool = False) -> Callable[[Arrays], None]:
    """Return an edit of the one array of an npy file."""

    def edit(arrays: Arrays) -> None:
        arrays[""][place] = arrays[""][place] + value if add else value

    return edit


def shards_sealed_again(scene: Scene) -> None:
    """Counts, lengths and word ids that do not fit each other, under right check sums."""
    sound = shards_of(scene)
    for backend, *settings in (PARTIAL, ("hdp-cvb0",)):
        run = scene.here / f"sound-{backend}"
        scene.give("nothing", *fit_words(sound, run, backend, *settings))

    def apart(arrays: Arrays) -> None:
        arrays[""][3] -= 10**6
        arrays[""][4] += 10**6

    def twice(arrays: Arrays) -> None:
        arrays[""][1] = arrays[""][0]

    def unsorted(arrays: Arrays) -> None:
        arrays[""][[0, 1]] = arrays[""][[1, 0]]

    edits = [
        *((f"counts[5] += {n}", "counts", set_at(5, n, add=True)) for n in (1, 1000, 10**6)),
        *((f"counts[5] = {n}", "counts", set_at(5, n)) for n in (0, -1, -(2**31))),
        ("lengths[3] -= 10**6, lengths[4] += 10**6", "lengths", apart),
        ("lengths[3] += 10**9", "lengths", set_at(3, 10**9, add=True)),
        *((f"words[5] = {n}", "words", set_at(5, n)) for n in (9, -5, 2**30)),
        ("a word twice in a document", "words", twice),
        ("words of a document not in order", "words", unsorted),
    ]
    for what, name, edit in edits:
        folder = copied(sound, "in.shards")
        resealed(folder, f"{name}.npy" if name == "lengths" else f"00000.{name}.npy", edit)
        new = scene.here / "new"
        for backend, *settings in (PARTIAL, ("hdp-cvb0",), ("hdp-cvb0", "data.min_df=3")):
            scene.give(what, *fit_words(folder, new, backend, *settings), code=1, says=DAMAGED)
        scene.give(what, "check", folder, code=1, says=DAMAGED)


def pointers_that_end_in_zero(scene: Scene) -> None:
    """Rows of sparse matrices whose pointers lead far away and end in 0; ids of a checkpoint."""
    corpus = labelled(scene)
    more = write_labelled(hand_made().select(range(6, 20)), scene.here / "more.ldac")
    flat, run = scene.here / "flat", scene.here / "run"
    scene.give("nothing", *fit_words(corpus, flat, "nhdp-variational"), "--holdout", "docs:0.2@0")
    scene.give("nothing", *fit_words(corpus, run, "hlda-gibbs"))

    def lead_away(arrays: Arrays) -> None:
        (name,) = (name for name in arrays if name.rpartition("/")[2].endswith("indptr"))
        arrays[name][1:-1], arrays[name][-1] = 2**30, 0

    bent = copied(flat, "bent")
    resealed(bent, "theta.npz", lead_away)
    new = scene.here / "new"
    for words in (
        *(["show-tree", bent, "--docs", 2], ["docs", bent, 0], ["topics", bent, "--by", "labels"]),
        *(["refit", bent, 0, "-o", new], ["report", bent, "-o", scene.here / "page.html"]),
        ["eval", bent, "--task", "labels"],
    ):
        scene.give("pointers of theta.npz", *words, code=1, says=DAMAGED)
    shards = scene.here / "labelled.shards"
    scene.give("nothing", "convert", corpus, shards)
    resealed(shards, "tags.npz", lead_away_of_tags)
    uses: tuple[list[Any], ...] = (fit_words(shards, new, "hdp-cvb0"), ["check", shards])
    for words in uses:
        scene.give("pointers of tags.npz", *words, code=1, says=DAMAGED)
    checkpoints = sorted((run / "checkpoints").iterdir())
    for what, value in (("a path's node is 2**31 - 1", 2**31 - 1), ("a path's node is -7", -7)):
        for sealed in (True, False):
            gone = copied(run, "gone")
            for path in checkpoints:
                _bend_checkpoint(gone / "checkpoints" / path.name, value, sealed)
            seal = "sealed again" if sealed else "not sealed again"
            on = fit_words(corpus, gone, "hlda-gibbs")
            on[on.index("--iterations") + 1] = "6"
            scene.give(f"{what}, {seal}", "update", gone, more, "-o", new, code=1, says=DAMAGED)
            scene.give(f"{what}, {seal}", *on, code=1, says=DAMAGED)


def lead_away_of_tags(arrays: Arrays) -> None:
    """Let every array of pointers lead far away and end in 0."""
    names = [name for name in arrays if "indptr" in name or name.endswith("ends")]
    assert names, sorted(arrays)
    for name in names:
        arrays[name][1:-1], arrays[name][-1] = 2**30, 0


def _bend_checkpoint(path: Path, value: int, sealed: bool) -> None:
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    if sealed:

        def edit(own: Arrays) -> None:
            own["now.0.chain.path"][0, -1] = value

        resealed(path.parents[1], f"checkpoints/{path.name}", edit)
        return
    arrays["now.0.chain.path"][0, -1] = value
    with open(path, "wb") as stream:
        np.savez(stream, **arrays)


def repeated_names(scene: Scene) -> None:
    """Genes of AnnData whose names repeat, which are told apart, or are empty, which is refused."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.eye(2), 3, axis=1)[np.arange(60) % 2]
    counts = rng.poisson(3 * groups + 0.1).astype(np.int64)
    path, run = scene.here / "c.h5ad", scene.here / "run"
    made = [scene.here / f"c.{ending}" for ending in ("ldac", "shards")]
    _write_genes(path, counts, "ABCABC")
    for words in (["check", path], *(["convert", path, out] for out in made)):
        scene.give("genes A B C A B C", *words, says="3 of 6 genes")
    words = [*fit_words(path, run, "hdp-gibbs"), "--iterations", "60"]
    scene.give("genes A B C A B C", *words)
    names = (run / "vocab.txt").read_text().split()
    scene.require("each word once", [] if len({*names}) == 6 else [f"words {names}"])
    scene.give("", "infer", run, path, "-o", scene.here / "theta.npz")
    with np.load(scene.here / "theta.npz") as theta:
        found = csr_array((theta["data"], theta["indices"], theta["indptr"])).toarray()
    first = RunDir(run).tree.phi[:, :3].sum(axis=1) > 0.5  # topics of the first three genes
    alike = np.mean(first[found.argmax(axis=1)] == (np.arange(60) % 2 == 0))
    wrong = [] if alike > 0.95 else [f"{alike:.0%} of the cells alone"]
    scene.require("infer puts cells to topics of their own genes", wrong)
    _write_genes(path, counts, ["a", "b", "", "c", "d", "e"])
    commands: tuple[list[object], ...] = (
        ["check", path],
        [*fit_words(path, scene.here / "new", "hdp-gibbs")],
        *(["convert", path, scene.here / f"d.{ending}"] for ending in ("ldac", "shards")),
    )
    for given in commands:
        scene.give("an empty name of a gene", *given, code=2, says="empty")


def _write_genes(path: Path, counts: np.ndarray[Any, Any], genes: Sequence[str]) -> None:
    cells = pandas.DataFrame(index=[f"d{cell}" for cell in range(len(counts))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that repeat
        anndata.AnnData(counts, cells, pandas.DataFrame(index=list(genes))).write_h5ad(path)


def configs_that_name_code(scene: Scene) -> None:
    """A tokenizer that only a file names: a config, a run's, under other names, and a run."""
    mark = scene.elsewhere / "mark"
    corpus = scene.here / "c.jsonl"
    lines = [json.dumps({"text": f"touch {mark}"}), *(json.dumps({"text": "a b c"}),) * 9]
    corpus.write_text("\n".join(lines) + "\n")
    mailed = scene.here / "mailed.yaml"
    mailed.write_text(
        f"backend: hdp-cvb0\nmodel: {{truncation: 3}}\n"
        f'data: {{corpus: {corpus}, tokenizer: "os:system", holdout: none}}\n'
    )
    new, says = scene.here / "new", "--trust-tokenizer"
    for words in (["fit", "-c", mailed, "-o", new], ["sweep", mailed, "--seeds", "0:2"]):
        scene.give("a config names os:system", *words, code=2, says=says)
    run = scene.here / "run"
    plain = ["fit", corpus, "-b", "hdp-cvb0", "-s", "model.truncation=3", *FEW]
    scene.give("nothing", *plain, "-o", run)
    config = run / "config.yaml"
    config.write_text(config.read_text().replace("tokenizer: null", "tokenizer: os:system"))
    assert "os:system" in config.read_text()
    (scene.here / "c2.yaml").write_bytes(config.read_bytes())
    bare = copied(run, "bare")
    (bare / "manifest.json").unlink()
    (scene.here / "link.yaml").symlink_to(config)
    for name in ("run/config.yaml", "c2.yaml", "bare/config.yaml", "link.yaml"):
        words = ["fit", "-c", scene.here / name, "-o", new, "--iterations", "2"]
        scene.give("a run's config names os:system", *words, code={1, 2})
    for words in (
        ["infer", run, corpus, "-o", scene.here / "t.npz"],
        ["update", run, corpus, "-o", new],
    ):
        scene.give("a run's config names os:system", *words, code={1, 2})
    called = f"import hiertopics; hiertopics.fit({str(corpus)!r}, config={str(mailed)!r})"
    done = subprocess.run([sys.executable, "-c", called], capture_output=True, text=True)
    named = "trust_tokenizer=True" in done.stderr
    scene.require("a config names os:system; from Python", [] if named else [done.stderr[-300:]])


def links_in_a_run(scene: Scene) -> None:
    """A file or folder of a run that is a link to something elsewhere."""
    corpus = labelled(scene)
    run = scene.here / "run"
    words = fit_words(corpus, run, "hdp-cvb0")
    scene.give("nothing", *words)
    for name, target in (
        *((name, scene.victim) for name in (".lock", "log.txt", "labels.csv", "metrics.jsonl")),
        *((name, scene.victim) for name in ("config.yaml", "theta.npz", "manifest.json")),
        ("checkpoints", scene.elsewhere / "kept"),
        ("eval", scene.elsewhere / "kept"),
    ):
        sent = copied(run, "sent")
        path = sent / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.symlink_to(target)
        more = [str(sent) if word == str(run) else word for word in words]
        more[more.index("--iterations") + 1] = "4"
        for use in (
            ["label", sent, 0, "x"],
            more,
            ["show-tree", sent],
            ["eval", sent, "--heldout"],
        ):
            scene.give(f"{name} is a link", *use, code={0, 1, 2}, leaves=("sent/.lock",))


def altered_arrays_of_runs(scene: Scene) -> None:
    """Each array of a model taken away, made text, made smaller, given values that cannot be."""
    corpus = labelled(scene)
    more = write_labelled(hand_made().select(range(6, 20)), scene.here / "more.ldac")
    kinds: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
        "text": lambda array: np.full(array.shape, "x"),
        "shorter": lambda array: array[:-1] if array.ndim else np.zeros(3),
        "values of -7": lambda array: np.full(array.shape, -7, array.dtype),
    }
    for backend in ("nhdp-variational", "hlda-gibbs"):
        run = scene.here / backend
        words = fit_words(corpus, run, backend)
        scene.give("nothing", *words)
        with np.load(run / "model.npz") as model:
            names = model.files
        for name in names:
            for what, change in {"gone": None, **kinds}.items():
                sent = copied(run, "sent")
                resealed(sent, "model.npz", _changing(name, change))
                _use_all(scene, sent, corpus, f"{name} {what}")
        if backend == "hlda-gibbs":
            _alter_checkpoints(scene, run, more, kinds)


def _alter_checkpoints(
    scene: Scene, run: Path, more: Path, kinds: Mapping[str, Callable[[Any], Any]]
) -> None:
    paths = sorted((run / "checkpoints").iterdir())
    with np.load(paths[-1]) as state:
        names = [name for name in state.files if name.startswith("now.")]
    for name in names:
        for what, change in {"gone": None, **kinds}.items():
            sent = copied(run, "sent")
            for path in paths:
                resealed(sent, f"checkpoints/{path.name}", _changing(name, change))
            use = ["update", sent, more, "-o", scene.here / "new", "--iterations", 3]
            scene.give(f"{name} {what}", *use, code={0, 1, 2})
            shutil.rmtree(scene.here / "new", ignore_errors=True)


def _changing(name: str, change: Callable[[Any], Any] | None) -> Callable[[Arrays], None]:
    def edit(arrays: Arrays) -> None:
        if change is None:
            arrays.pop(name, None)
        elif name in arrays:
            arrays[name] = change(arrays[name])

    return edit


def _use_all(scene: Scene, run: Path, corpus: Path, what: str) -> None:
    out = scene.here / "theta.npz"
    for words in (
        ["infer", run, corpus, "-o", out],
        ["show-tree", run, "--arrange"],
        ["eval", run, "--corpus", corpus],
    ):
        scene.give(what, *words, code={0, 1, 2})
        out.unlink(missing_ok=True)


def altered_names_of_shards(scene: Scene) -> None:
    """Names of documents that are no names, a broken header, an id that asks for memory."""
    sound, new = shards_of(scene), scene.here / "new"
    for what, name, edit in (
        ("names that are no UTF-8", "names", lambda array: np.full_like(array, 255)),
        ("names of no dimension", "names", lambda array: array[0]),
        ("ends of floats", "name_ends", lambda array: array.astype(float)),
        ("ends of 2**62", "name_ends", lambda array: np.full_like(array, 2**62)),
    ):
        sent = copied(sound, "sent.shards")
        resealed(sent, f"{name}.npy", _changing("", edit))
        for words in (fit_words(sent, new, "hdp-cvb0"), ["check", sent]):
            scene.give(what, *words, code=1, says=DAMAGED)
    for what, at, byte in (("a broken header", 20, b"("), ("a header cut off", 12, b"")):
        sent = copied(sound, "sent.shards")
        data = (sent / "00000.words.npy").read_bytes()
        spoilt = data[:at] + byte + data[at + 1 :] if byte else data[:at]
        resealed_bytes(sent, "00000.words.npy", spoilt)
        for words in (fit_words(sent, new, "hdp-cvb0"), ["check", sent]):
            scene.give(what, *words, code=1, says=DAMAGED)
    sent = copied(sound, "sent.shards")
    resealed(sent, "00000.words.npy", set_at(5, 2**31 - 1))
    for words in (fit_words(sent, new, "hdp-cvb0"), ["check", sent]):
        scene.give("a word id of 2**31 - 1", *words, code=1, says=DAMAGED, limits=TWO_GIGABYTES)


def long_names(scene: Scene) -> None:
    """One of 5,000 authors has a name of 200,000 letters; two labels differ by a NUL alone."""
    corpus = hand_made()
    path, n_docs = scene.here / "a.ldac", corpus.n_docs
    write_corpus(corpus, path)
    each = 5000 // n_docs
    authors = [[f"a{doc * each + one}" for one in range(each)] for doc in range(n_docs)]
    authors[0][0] = "x" * 200_000
    path.with_suffix(".authors").write_text("\n".join(map("\t".join, authors)) + "\n")
    run, shards = scene.here / "run", scene.here / "a.shards"
    scene.give("", *fit_words(path, run, "multinomial"), limits=TWO_GIGABYTES)
    scene.give("", "convert", path, shards, limits=TWO_GIGABYTES)
    for folder in (run, shards):
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        scene.require(f"{size} bytes in {folder.name}", ["too large"] * (size > 10_000_000))
    named = scene.here / "named.ldac"
    write_corpus(corpus, named)
    labels = "".join(("1\n", "1\0\n")[doc % 2] for doc in range(n_docs))
    named.with_suffix(".labels").write_text(labels)
    back = scene.here / "back.ldac"
    scene.give("labels 1 and 1\\0", "convert", named, scene.here / "named.shards")
    scene.give("labels 1 and 1\\0", "convert", scene.here / "named.shards", back)
    key = back.with_suffix(".labels.key").read_text()
    same = key == "1\n1\0\n"
    scene.require("labels after two conversions", [] if same else [f"labels {key!r}"])


def many_seed_words(scene: Scene) -> None:
    """60,000 seed words of one topic."""
    corpus, seeds = labelled(scene), scene.here / "s.yaml"
    seeds.write_text("topic: [" + ", ".join(f"w{word}" for word in range(60_000)) + "]\n")
    words = fit_words(corpus, scene.here / "new", "hdp-gibbs", f"model.seeds={seeds}")
    scene.give("", *words, code={0, 2}, leaves=("new",))


def words_that_files_cannot_hold(scene: Scene) -> None:
    """A word that is empty or a line end, as cells of AnnData and of a table can be."""
    counts = hand_made().counts.toarray()[:, :4]
    for what, word in (("a carriage return", "\r"), ("a line end", "\n"), ("empty", "")):
        path = scene.here / "a.h5ad"
        _write_genes(path, counts, ["a", "b", "c", word])
        codes = {
            scene.give(f"a word: {what}", *words, code={0, 2}, leaves=("new", "out")).code
            for words in (
                ["check", path],
                fit_words(path, scene.here / "new", "hdp-cvb0"),
                ["convert", path, scene.here / "out.shards"],
            )
        }
        wrong = [] if len(codes) == 1 else ["what is fitted is not converted"]
        scene.require(f"a word: {what}; all three alike", wrong)
        for name in ("new", "out.shards"):
            shutil.rmtree(scene.here / name, ignore_errors=True)


def letters_like_a_control_character(scene: Scene) -> None:
    """A word of a backslash and three letters, beside the character that they stand for."""
    corpus = hand_made()
    vocab = ("\\x1b", "\x1b", *corpus.vocab[2:])
    path, run = scene.here / "a.ldac", scene.here / "run"
    write_corpus(replace(corpus, vocab=vocab), path)
    scene.give("", *fit_words(path, run, "multinomial"))
    scene.give("the letters have a backslash more", "show-tree", run, says="\\\\x1b")
    told = scene.said.joinpath("out").read_bytes()
    scene.require("no control character", ["one is printed"] * (b"\x1b" in told))


BY_FILES = {
    "shards sealed again": shards_sealed_again,
    "pointers that end in 0": pointers_that_end_in_zero,
    "repeated names": repeated_names,
    "configs that name code": configs_that_name_code,
    "links in a run": links_in_a_run,
    "altered arrays of runs": altered_arrays_of_runs,
    "altered names of shards": altered_names_of_shards,
    "long names": long_names,
    "many seed words": many_seed_words,
    "words that files cannot hold": words_that_files_cannot_hold,
    "letters like a control character": letters_like_a_control_character,
}
