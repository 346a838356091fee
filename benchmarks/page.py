"""The page of ``report`` at many documents: time to write it, until it is ready, of a search.

The corpus is generated, the tree and the documents' places in it are drawn at random: what a page
costs depends on their numbers alone.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks import process
from benchmarks.benchmark import benchmark
from benchmarks.records import Record
from benchmarks.table import Table
from hiertopics.base import archives, files
from hiertopics.runs.rundir import RunDir

TABLE = Table(
    ("docs", "nodes", "snippets"),
    {
        "documents": "{docs}",
        "snippets": "{snippets}",
        "page, MB": "{megabytes:.2f}",
        "written, CPU s": "{written_cpu_seconds:.1f}",
        "ready, ms": "{ready_ms:.0f}",
        "with all words, ms": "{whole_ms:.0f}",
        "first search, ms": "{first_search_ms:.0f}",
        "later, ms": "{search_ms:.0f}",
        "slowest, ms": "{slowest_search_ms:.0f}",
        "ready, CPU ms": "{cpu_ready_ms:.0f}",
        "all words, CPU ms": "{cpu_whole_ms:.0f}",
        "slowest search, CPU ms": "{cpu_search_ms:.0f}",
        "load": "{load:.1f}",
    },
)
N_WORDS, LENGTH = 8000, 28
QUERIES = ("word1", "word12 word3", "1999", "doc 77", "nowhere", "w", "word7999")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
WATCH = """
new MutationObserver(() => {
  for (const name of ["ready", "whole"])
    if (!window[`${name}At`] && document.documentElement.classList.contains(name))
      window[`${name}At`] = performance.now();
}).observe(document, {subtree: true, attributes: true, attributeFilter: ["class"]});
"""
SEARCH = """query => {
  const input = document.getElementById("query");
  const begin = performance.now();
  input.value = query;
  input.dispatchEvent(new Event("input"));
  document.body.offsetHeight;
  return performance.now() - begin;
}"""


@benchmark("page", TABLE)
@click.option("--docs", default=50_000, show_default=True)
@click.option("--nodes", default=200, show_default=True)
@click.option("--rounds", default=5, show_default=True, help="Times that the page is opened.")
def measure(docs: int, nodes: int, rounds: int) -> Iterator[Record]:
    """Time to write a report, to open it in chromium, and to search in it; without snippets too."""
    for snippets in (160, 0):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            run = _run(folder, docs, nodes, snippets)
            page = folder / "page.html"
            done = process.run(process.hiertopics("report", str(run), "-o", str(page)))
            opened = [_opened(page) for _ in range(rounds)]
            yield {
                "docs": docs,
                "nodes": nodes,
                "snippets": snippets,
                "clock": "wall",
                "megabytes": page.stat().st_size / 1e6,
                "written_seconds": done.seconds,
                "written_cpu_seconds": done.cpu_seconds,
                "ready_ms": median(one["ready"] for one in opened),
                "whole_ms": median(one["whole"] for one in opened),
                "cpu_ready_ms": median(one["spent"][0] for one in opened),
                "cpu_whole_ms": median(one["spent"][1] for one in opened),
                "cpu_search_ms": max(
                    later - before for one in opened for before, later in pairwise(one["spent"][1:])
                ),
                "fastest_ready_ms": min(one["ready"] for one in opened),
                "first_search_ms": median(one["searches"][0] for one in opened),
                "search_ms": median(t for one in opened for t in one["searches"][1:]),
                "slowest_search_ms": max(t for one in opened for t in one["searches"][1:]),
                "load": os.getloadavg()[0],
                "said": done.stderr.splitlines(),
            }


def _run(folder: Path, n_docs: int, n_nodes: int, snippets: int) -> Path:
    """Return a run of generated texts whose tree has three levels."""
    rng = np.random.default_rng(0)
    chances = 1.0 / np.arange(3, N_WORDS + 3)
    words = rng.choice(N_WORDS, size=(n_docs, LENGTH), p=chances / chances.sum())
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as stream:
        for doc, row in enumerate(words):
            text = " ".join(f"word{word}" for word in row)
            stream.write(json.dumps({"text": text, "id": f"doc {doc}", "year": 1990 + doc % 30}))
            stream.write("\n")
    run = folder / "run"
    process.run(
        process.hiertopics(
            "fit", str(folder / "texts.jsonl"), "-b", "multinomial", "--holdout", "none", "-q",
            "--id-field", "id", "-s", f"data.snippets={snippets}", "-o", str(run),
        )
    )  # fmt: skip
    _reshape(run, n_nodes, rng)
    return run


def _reshape(run: Path, n_nodes: int, rng: np.random.Generator) -> None:
    """Give a run a tree of a root, a tenth of the nodes below it, and the rest below those."""
    arrays = archives.read_npz(run / "model.npz")
    n_docs, n_inner = len(RunDir(run).split.train_docs), max(n_nodes // 10, 1)
    parent = np.concatenate(
        [[-1], np.zeros(n_inner, int), 1 + np.arange(n_nodes - n_inner - 1) % n_inner]
    )
    phi = rng.gamma(0.1, size=(n_nodes, arrays["phi"].shape[1])) * arrays["phi"] + 1e-9
    leaf = rng.integers(n_inner + 1, n_nodes, n_docs)
    path = np.column_stack([np.zeros(n_docs, int), parent[leaf], leaf])
    shares = rng.dirichlet([4, 4, 4], n_docs)
    theta = sparse.csr_array(
        (shares.ravel(), path.ravel(), 3 * np.arange(n_docs + 1)), shape=(n_docs, n_nodes)
    )
    weight = np.asarray(theta.sum(axis=0)).ravel() / n_docs
    own: dict[str, NDArray[Any]] = {
        "phi": phi / phi.sum(axis=1, keepdims=True),
        "parent": parent.astype(np.int32),
        "kind": np.zeros(n_nodes, np.int8),
        "weight": weight,
        "n_docs": np.bincount(path.ravel(), minlength=n_nodes),
        "n_tokens": weight * n_docs * LENGTH,
    }
    archives.write_npz(run / "model.npz", own)
    archives.write_csr(run / "theta.npz", theta)
    places: dict[str, Any] = {"node": path.astype(np.int32), "log_prob": np.zeros(n_docs)}
    archives.write_npz(run / "paths.npz", places)
    files.write_json(run / "tree.json", {"nodes": [{"id": node} for node in range(n_nodes)]})
    manifest = dict(RunDir(run).manifest)
    manifest.pop("files")
    files.write_json(run / "manifest.json", manifest)


def _opened(page: Path) -> dict[str, Any]:
    """Return milliseconds until a page was ready, and of searches in it, the first one first."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        raise click.ClickException("there is no chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(FLAGS))
        opened = browser.new_page(viewport={"width": 1280, "height": 844})
        opened.add_init_script(WATCH)
        clock = opened.context.new_cdp_session(opened)
        clock.send("Performance.enable", {"timeDomain": "threadTicks"})
        opened.goto(page.as_uri())
        opened.wait_for_selector("html.ready")
        spent = [_spent(clock)]
        opened.wait_for_selector("html.whole")
        spent.append(_spent(clock))
        ready, whole = opened.evaluate("[window.readyAt, window.wholeAt]")
        time.sleep(0.2)
        searches = []
        for query in QUERIES:
            searches.append(float(opened.evaluate(SEARCH, query)))
            spent.append(_spent(clock))
        browser.close()
    return {"ready": ready, "whole": whole, "searches": searches, "spent": spent}


def _spent(clock: Any) -> float:
    """Return the milliseconds of processor time that the page's main thread has taken."""
    found = clock.send("Performance.getMetrics")["metrics"]
    return 1000 * float(next(one["value"] for one in found if one["name"] == "TaskDuration"))
