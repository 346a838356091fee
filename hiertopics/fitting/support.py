"""``support``: how far the nodes of a run come back in trees of nine tenths of its documents.

Each resample is fitted as the run was, in memory; what it says of the nodes is kept in the run's
folder ``support``, so that an interrupted command goes on, and further resamples add to those
before. The figures stand in support.json, under a seal; tree.json stays as it is. theory/agreement.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hiertopics.base import archives, files, seeds
from hiertopics.base.arrays import I64
from hiertopics.base.errors import RunError, UsageError
from hiertopics.base.progress import said
from hiertopics.contract import Context, Settings, Summary, engine_of, kind_of, registry
from hiertopics.corpus.data import FEWEST, Transfer, Tree, covered, how_found, shuffle, support_told
from hiertopics.fitting.resampling import (
    PART,
    PERMUTATIONS,
    Basis,
    TreeComparison,
    branch_interval,
    headed,
    held_against,
    node_records,
    node_support,
    resampled_rows,
)
from hiertopics.runs.artifacts import write_beside
from hiertopics.runs.experiment import read_experiment
from hiertopics.runs.inmemoryfits import fitted_in_memory
from hiertopics.runs.manifest import MADE_BY
from hiertopics.runs.original import read_original
from hiertopics.runs.rundir import OFF_ONE, OUTLINES, SUPPORT, RunDir, opened
from hiertopics.settings.config import Experiment
from hiertopics.settings.layers import Overrides

FOLDER = "support"
RESAMPLES = 20


def _on_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def support(
    run: Path | str | RunDir,
    resamples: int = RESAMPLES,
    *,
    iterations: int | None = None,
    overrides: Overrides = (),
    null: bool = False,
    replace: bool = False,
    workers: int = 1,
    cluster: str | None = None,
    say: Callable[[str], None] = _on_stderr,
) -> dict[str, Any]:
    """Fit resamples of a run's documents; return, and write, how far its nodes come back.

    resamples: how many, with those of earlier calls. iterations, overrides: of the fits to
    resamples; where neither is given these are as short as the backend says (``Backend.short``),
    or as long as the run. null: do the same for the run's documents with
    their words shuffled. replace: write the result even if the run's support is better founded
    (``foundation``). cluster: where else to work. say: is told of each resample, and of what makes
    the result uncertain.

    Keys: run, model (seal of model.npz), resamples, iterations (of each), needed (iterations that a
    fit to a resample needs), part, permutations, settings (those that
    differ), covered_50, covered_70, branches_50, bits, by_depth, branches (mean support at depth 1,
    and low and high of its 95% interval over resamples), null (covered_50, covered_70, branches_50
    of shuffled words, or None), note, and nodes: id, depth, n_tokens (at and below), documents,
    words, support;
    written: whether the run has this support now.
    Raises UsageError, or DataError where the corpus is gone.
    """
    target = opened(run)
    if resamples < 2:
        raise UsageError(f"--resamples must be >= 2, got {resamples}")
    _refuse_unfitted(target)
    experiment = _experiment(target, iterations, overrides)
    changed = _differing(target.experiment, experiment)
    asked = "inference.iterations" in changed
    n_iterations = int(experiment.inference.iterations if asked else target.manifest["iterations"])
    corpus = read_original(target).train
    basis = _basis(target.tree, target.theta, corpus)
    key = _key(target, changed)
    with engine_of(cluster, workers, said) as engine:

        def fitted(part: Any) -> Summary:
            settings = Settings(experiment.model, experiment.inference)
            first = Context(experiment.seed, 0, engine)
            return fitted_in_memory(experiment, part, settings, first, n_iterations)

        resample = partial(_resample, target, basis, corpus, fitted)
        found = _comparisons(target, basis, resample, resamples, key, say)
        shuffled = _null(target, corpus, fitted, key, resamples, say) if null else None
    made = ResampleFits(n_iterations, _needed(target), changed)
    return _written(target, basis, found, made, shuffled, replace, say)


def against(
    run: Path | str | RunDir,
    others: Sequence[Path | str | RunDir],
    *,
    replace: bool = False,
    say: Callable[[str], None] = _on_stderr,
) -> dict[str, Any]:
    """Return, and write, how far the nodes of a run come back in runs of some of its documents.

    others: runs, most of them imported, whose training documents are rows of the same corpus.
    Documents in common are compared. replace, say, and keys are those of ``support``. Raises
    UsageError where runs have no documents or words in common.
    """
    target = opened(run)
    trees = [opened(other) for other in others]
    if not trees:
        raise UsageError("--against takes one run or more")
    basis = _basis(target.tree, target.theta, None, target)
    found = []
    for number, other in enumerate(trees):
        places, rows = _in_common(target, other)
        found.append(_compared(target, basis, number, rows, other.tree, other.theta[places], other))
    made = ResampleFits(None, None, {"against": [str(other.path) for other in trees]})
    return _written(target, basis, found, made, None, replace, say)


def write_resamples(
    run: Path | str | RunDir, output: Path | str, resamples: int = RESAMPLES
) -> list[Path]:
    """Write a file for each resample: the rows of its documents in the corpus, from 0, a line each.

    Raises RunError where a file cannot be written.
    """
    target, folder = opened(run), Path(output)
    files.make_folder(folder)
    paths = []
    for number in range(resamples):
        chosen = resampled_rows(target.experiment.seed, len(target.split.train_docs), number)
        rows = target.split.train_docs[chosen]
        path = folder / f"resample-{number:02d}.docs"
        files.write_text(path, "".join(f"{row}\n" for row in rows.tolist()))
        paths.append(path)
    return paths


def _refuse_unfitted(run: RunDir) -> None:
    made_by = str(run.manifest.get(MADE_BY, ""))
    if made_by.startswith("import"):
        raise UsageError(
            f"{run.path} was imported: fit the documents that --resample lists where it was made, "
            "import what comes of them, and name those runs with --against"
        )
    if made_by:
        raise UsageError(f"{run.path} was made of other runs; support takes one that was fitted")


def _experiment(run: RunDir, iterations: int | None, overrides: Overrides) -> Experiment:
    """Return the experiment of resamples."""
    own = run.experiment
    if iterations is None and not overrides:
        short = registry.load_for(own).short
        if short is None:
            return own
        made = short(Settings(own.model, own.inference))
        return msgspec.structs.replace(own, model=made.model, inference=made.inference)
    flags = {} if iterations is None else {"inference": {"iterations": iterations}}
    changed = read_experiment(flags, run.path / "config.yaml", overrides, run.path)
    if changed.backend != own.backend:
        raise UsageError(
            "-s backend has no meaning for support: resamples are fitted as the run was"
        )
    return changed


def _needed(run: RunDir) -> int:
    """Return the iterations that a fit to a resample needs: those of the default."""
    own, done = run.experiment, int(run.manifest["iterations"])
    short = registry.load_for(own).short
    if short is None:
        return done
    made = short(Settings(own.model, own.inference))
    return min(done, int(made.inference.iterations))


def _differing(own: Experiment, changed: Experiment) -> dict[str, Any]:
    """Return the settings of resamples that differ from those of the run."""
    differ: dict[str, Any] = {}
    for section in ("model", "inference"):
        before, now = (msgspec.to_builtins(getattr(one, section)) for one in (own, changed))
        differ |= {f"{section}.{k}": now[k] for k in now if repr(now[k]) != repr(before[k])}
    return differ


def _key(run: RunDir, changed: Mapping[str, Any]) -> str:
    """Return what tells kept resamples from those of another model or other settings."""
    parts = (run.seals(["model.npz"])["model.npz"], PART, PERMUTATIONS, sorted(changed.items()))
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def _basis(tree: Tree, theta: sparse.csr_array, corpus: Any, run: RunDir | None = None) -> Basis:
    has_words = tree.vectors is None
    counts: I64 | None
    if corpus is None:
        assert run is not None
        if run.split.train_lengths is None:
            raise RunError(f"{run.path / 'split.npz'} has no train_lengths; fit the run again")
        lengths, counts = run.split.train_lengths, run.split.word_counts
    else:
        lengths = getattr(corpus, "doc_lengths", np.ones(theta.shape[0], np.int64))
        counts = corpus.word_counts if has_words else None
    return Basis(tree, theta, np.asarray(lengths), counts if has_words else None)


def _comparisons(
    run: RunDir,
    basis: Basis,
    resample: Callable[[int], TreeComparison],
    resamples: int,
    key: str,
    say: Callable[[str], None],
    *,
    shuffled: bool = False,
) -> list[TreeComparison]:
    """Return the comparison with each resample, by ``_kept``. shuffled: whether words are."""
    of_what, start = (" of shuffled words", "null-") if shuffled else ("", "")
    return [
        _kept(
            run,
            f"{start}{number:04d}-{key}",
            len(basis.shares.rows),
            partial(resample, number),
            partial(say, f"resample {number + 1} of {resamples}{of_what} done"),
        )
        for number in range(resamples)
    ]


def _kept(
    run: RunDir,
    name: str,
    n_nodes: int,
    make: Callable[[], TreeComparison],
    say_made: Callable[[], None],
) -> TreeComparison:
    """Return the comparison with a resample: read from the run's folder, or made and written there.

    n_nodes: of the tree that was looked for. say_made: called where it was made. Raises RunError
    where the file holds other arrays.
    """
    path = run.file(f"{FOLDER}/{name}.npz")
    if path.exists():
        arrays = archives.read_npz(path)
        with files.readable(path, KeyError, ValueError, what="delete it: "):
            words = _transfer("words", arrays, n_nodes) if "words_found" in arrays else None
            return TreeComparison(_transfer("docs", arrays, n_nodes), words)
    found = make()
    arrays = {"docs_found": found.documents.found, "docs_chance": found.documents.chance}
    if found.words is not None:
        arrays |= {"words_found": found.words.found, "words_chance": found.words.chance}
    files.make_folder(path.parent)
    archives.write_npz(path, arrays)
    say_made()
    return found


def _transfer(kind: str, arrays: Mapping[str, NDArray[Any]], n_nodes: int) -> Transfer:
    """Return the arrays of a comparison by ``kind``; raises KeyError or ValueError."""
    rows = []
    for part in Transfer._fields:
        row = arrays[f"{kind}_{part}"]
        if row.dtype != np.float64 or row.shape != (n_nodes,):
            raise ValueError(f"{kind}_{part} is no number for each of {n_nodes} nodes")
        if ((row < 0) | (row > 1 + OFF_ONE)).any():
            raise ValueError(f"{kind}_{part} has a number that is no share")
        rows.append(row)
    return Transfer(*rows)


def _resample(
    run: RunDir,
    basis: Basis,
    corpus: Any,
    fitted: Callable[[Any], Summary],
    number: int,
) -> TreeComparison:
    """Fit a resample, and hold the tree of ``basis`` against what comes of it."""
    rows = resampled_rows(run.experiment.seed, len(run.split.train_docs), number)
    part = corpus.select(rows)
    summary = fitted(part)
    counts = getattr(part, "word_counts", None)
    return held_against(
        run.experiment.seed, basis, number, rows, summary.tree, summary.theta, counts
    )


def _compared(
    run: RunDir,
    basis: Basis,
    number: int,
    rows: I64,
    tree: Tree,
    theta: sparse.csr_array,
    other: RunDir,
) -> TreeComparison:
    """Return what another run says; by words only where both have the same ones."""
    same = basis.word_counts is not None and other.vocab == run.vocab
    own = basis if same else dataclasses.replace(basis, word_counts=None)
    return held_against(
        run.experiment.seed, own, number, rows, tree, theta, other.split.word_counts
    )


def _in_common(run: RunDir, other: RunDir) -> tuple[I64, I64]:
    """Return the places, in the other run and in this one, of documents that both trained on."""
    common, mine, theirs = np.intersect1d(
        run.split.train_docs, other.split.train_docs, return_indices=True
    )
    same = (
        other.manifest["corpus"]["text_fingerprint"] == run.manifest["corpus"]["text_fingerprint"]
    )
    if not same:
        raise UsageError(f"{other.path} was not made of the corpus of {run.path}")
    if len(common) < 2:
        raise UsageError(f"{other.path} and {run.path} have {len(common)} documents in common")
    return theirs, mine


def _null(
    run: RunDir,
    corpus: Any,
    fitted: Callable[[Any], Summary],
    key: str,
    resamples: int,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Return the covered shares of a tree of shuffled words."""
    if kind_of(run.experiment.backend, run.experiment.model) != "counts":
        raise UsageError("--null is for counts of words")
    shuffled = shuffle(corpus, seeds.derive(run.experiment.seed, "support null"))
    summary = fitted(shuffled)
    own = _basis(summary.tree, summary.theta, shuffled)
    resample = partial(_resample, run, own, shuffled, fitted)
    found = _comparisons(run, own, resample, resamples, key, say, shuffled=True)
    value = node_support(own, found).value
    told = covered(own.tree, own.theta, own.lengths, value)
    return {name: getattr(told, name) for name in ("covered_50", "covered_70", "branches_50")}


class ResampleFits(NamedTuple):
    """The fits of the resamples: their iterations, those needed (None: other runs), settings."""

    iterations: int | None
    needed: int | None
    settings: Mapping[str, Any]

    @property
    def is_short(self) -> bool:
        """Whether a fit had fewer iterations than it needs."""
        return self.iterations is not None and self.iterations < (self.needed or 0)


def _written(
    run: RunDir,
    basis: Basis,
    found: Sequence[TreeComparison],
    made: ResampleFits,
    null: dict[str, float] | None,
    replace: bool,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Write support.json under its seal, unless the one before is better; return the content."""
    tree, supported = basis.tree, node_support(basis, found)
    told = covered(tree, basis.theta, basis.lengths, supported.value)
    record: dict[str, Any] = {
        **headed(len(found), run.seals(["model.npz"])["model.npz"], made.settings),
        "iterations": made.iterations,
        "needed": made.needed,
        **told._asdict(),
        "branches": branch_interval(basis, found),
        "null": null,
        "nodes": node_records(tree, supported),
    }
    transfer = supported._replace(how=how_found(record))
    record["note"] = support_told(dataclasses.replace(tree, transfer=transfer))
    for line in _doubts(len(found), made):
        say(f"note: {line}")
    before = _before(run)
    is_kept = not replace and before is not None and foundation(record) < foundation(before)
    if before is not None and is_kept:
        what = f"{_how(before)}, which is better founded; --replace writes this one"
        say(f"note: {run.path} keeps the support of {what}")
    else:
        write_beside(run, SUPPORT, lambda _: files.to_json(record, indent=1) + "\n")
    return {"run": str(run.path), **record, "written": not is_kept}


def foundation(record: Mapping[str, Any]) -> tuple[bool, bool, bool, int, int]:
    """Return the sort key of a record of support.json: better-founded records have larger keys.

    Whether fits had the iterations that they need, whether there are enough resamples, whether the
    resamples were fitted; the number of resamples; their iterations.
    """
    iterations, needed = record.get("iterations"), record.get("needed")
    is_short = iterations is not None and needed is not None and iterations < needed
    n = int(record["resamples"])
    return not is_short, n >= FEWEST, not record.get(OUTLINES, False), n, int(iterations or 0)


def _before(run: RunDir) -> dict[str, Any] | None:
    """Return the content of support.json; None where it is damaged or of another model."""
    try:
        if run.supported_tree.transfer is None:
            return None
        written: dict[str, Any] = json.loads(run.file(SUPPORT).read_text(encoding="utf-8"))
        foundation(written)
    except (RunError, OSError, ValueError, TypeError, LookupError):
        return None
    return written


def _doubts(n: int, made: ResampleFits) -> Iterator[str]:
    """Yield the reasons why a result is uncertain."""
    if made.is_short:
        yield (
            f"a fit to a resample needs {made.needed} iterations, and these have "
            f"{made.iterations}: nodes of unfinished fits may come back too often or too seldom"
        )
    if n < FEWEST and made.iterations is not None:
        yield f"{n} resamples are too few to tell; at least {FEWEST} give an interval"


def _how(record: Mapping[str, Any]) -> str:
    """Return how the support of a record was found."""
    n, iterations = record["resamples"], record.get("iterations")
    if record.get(OUTLINES):
        return f"{n} quick resamples"
    if "against" in record.get("settings", ()):
        return f"{n} other run{'s' * (n != 1)}"
    told = f"{n} resamples"
    return told if iterations is None else f"{told} of {_iterations(iterations)}"


def _iterations(n: int) -> str:
    return f"{n} iteration{'s' * (n != 1)}"
