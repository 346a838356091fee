"""Reading a report as a stranger would: its data, its policy, its search, all over again."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from unsealed import unsealed

from hiertopics.base import archives, files
from hiertopics.corpus.data.corpus import Corpus, Tags


def data_of(page: Path) -> dict[str, Any]:
    """Return the parts of the data in a page, in their order."""
    text = page.read_text(encoding="utf-8")
    match = re.search(r'<script type="text/plain" id="data">\n(.*?)</script>', text, re.DOTALL)
    assert match is not None
    lines = [line.split(" ") for line in match[1].splitlines()]
    return {name: json.loads(gzip.decompress(base64.b64decode(packed))) for name, packed in lines}


def element(page: Path, name: str) -> str:
    """Return what stands in the only element of that name without attributes."""
    found = re.findall(rf"<{name}>(.*?)</{name}>", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 1
    return str(found[0])


def sha256(text: str) -> str:
    """Return a hash as a policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def sums(steps: list[int]) -> list[int]:
    """Return what was told by differences."""
    return list(np.cumsum(steps))


def documents(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a record per document: row, name, shares and rests by place, words with places."""
    part, contents = data["documents"], data.get("contents")
    words = data["words"] + (contents["words"] if contents else [])
    found: list[dict[str, Any]] = []
    entry = rest = word = 0
    for doc, row in enumerate(sums(part["row_steps"])):
        cells = range(entry, entry + part["n"][doc])
        entry = cells.stop
        places = [part["place"][i] for i in cells]
        rests = range(rest, rest + part["rest_n"][doc] if "rest_n" in part else rest)
        rest = rests.stop
        record = {
            "row": row,
            "name": part["name"][doc] if "name" in part else str(row + 1),
            "home": part["home"][doc],
            "shares": dict(zip(places, [part["share"][i] / 1000 for i in cells], strict=True)),
            "rests": [(part["rest_place"][i], part["rest"][i] / 1000) for i in rests],
            "words": {},
            "values": [],
        }
        if contents:
            span = range(word, word + contents["n"][doc])
            word = span.stop
            ids = sums([contents["word_steps"][i] for i in span])
            record["words"] = {
                words[one]: (contents["times"][i], places[contents["topic"][i]] if places else -1)
                for one, i in zip(ids, span, strict=True)
            }
        found.append(record)
    for column in data.get("columns", []):
        at = 0
        for record, n in zip(found, column["doc_n"], strict=False):
            record["values"] += [column["values"][v] for v in column["doc_value"][at : at + n]]
            record["values"] += [column["days"][d] for d in column.get("doc_day", [])[at : at + n]]
            at += n
    return found


def share_within(record: dict[str, Any], first: int, end: int) -> float:
    """Return the share of a document at the places from ``first`` to ``end``."""
    parts = (*record["shares"].items(), *record["rests"])
    return float(sum(share for place, share in parts if first <= place < end))


def search(data: dict[str, Any], query: str) -> tuple[int, int]:
    """Return how many topics and documents hold every term of a query."""
    terms = query.lower().split()
    texts = data.get("texts") or []
    topics = [
        {str(name), *(data["words"][word].lower() for word in words)}
        for name, words in zip(data["nodes"]["id"], data["nodes"]["words"], strict=True)
    ]
    held = []
    for place, doc in enumerate(documents(data)):
        texts_of = [texts[place]] if place < len(texts) else []
        held.append(
            [part.lower() for part in (doc["name"], *doc["words"], *doc["values"], *texts_of)]
        )
    ids = [str(name) for name in data["nodes"]["id"]]
    n_topics = sum(
        all(name == term or any(term in w for w in words - {name}) for term in terms)
        for name, words in zip(ids, topics, strict=True)
    )
    n_docs = sum(all(any(term in part for part in parts) for term in terms) for parts in held)
    return n_topics, n_docs


def reshaped(run: Path, parent: list[int], seed: int = 0) -> Path:
    """Give a copy of a run with words another tree, and its documents places in it."""
    rng = np.random.default_rng(seed)
    arrays = archives.read_npz(run / "model.npz")
    n_docs = len(archives.read_npz(run / "split.npz", ("train_docs",))["train_docs"])
    n, n_words = len(parent), arrays["phi"].shape[1]
    phi = rng.gamma(0.3, size=(n, n_words)) + 1e-6
    theta = np.zeros((n_docs, n))
    for doc in range(n_docs):
        theta[doc, rng.choice(n, min(n, 3), replace=False)] = 1 / min(n, 3)
    own = {
        "phi": phi / phi.sum(axis=1, keepdims=True),
        "parent": np.array(parent, dtype=np.int32),
        "kind": np.zeros(n, dtype=np.int8),
        "weight": np.full(n, 1 / n),
        "n_docs": rng.integers(1, 50, n).astype(np.int64),
        "n_tokens": np.full(n, 100.0),
    }
    archives.write_npz(run / "model.npz", own)
    archives.write_csr(run / "theta.npz", sparse.csr_array(theta))
    nodes = [{"id": place} for place in range(n)]
    files.write_json(run / "tree.json", {"nodes": nodes})
    (run / "paths.npz").unlink(missing_ok=True)
    return unsealed(run)


def with_authors(corpus: Corpus) -> Corpus:
    """Return a corpus whose documents have one or two of four authors."""
    members = np.zeros((corpus.n_docs, 4), dtype=bool)
    for doc in range(corpus.n_docs):
        members[doc, [doc % 4, doc * doc % 4]] = True
    names = ("ann", "bob <b>", "cat", "dan")
    return Corpus(corpus.counts, corpus.vocab, groups=Tags(sparse.csr_array(members), names))
