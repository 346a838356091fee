"""BERTopic's pipeline (UMAP, HDBSCAN, hierarchical topics), by a python that has bertopic.

Run as a file by that python: ``bertopic_tree.py [--embedding FILE.npy] CORPUS FOLDER SEED``. FILE
has a row of numbers for each document of the whole corpus, from any model. Without it a document is
embedded by its words: 100 singular vectors of TF-IDF. The folder gets the tables that
``hiertopics import --form bertopic`` reads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

DIMENSIONS = 100


def main() -> None:
    """Fit the pipeline with BERTopic's own settings of its steps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--embedding", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("seed", type=int)
    given = parser.parse_args()

    from bertopic import BERTopic
    from sklearn.feature_extraction.text import CountVectorizer
    from umap import UMAP

    texts = read_texts(given.corpus)
    rows = embedded(texts, given.seed)
    if given.embedding is not None:
        rows = chosen(given.embedding, given.corpus.with_suffix(".docs"))
    # A seed makes UMAP repeatable; the other numbers are those of BERTopic.
    reduced = UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=given.seed
    )
    words = CountVectorizer(token_pattern=r"\S+", lowercase=False)
    model = BERTopic(umap_model=reduced, vectorizer_model=words, embedding_model=None)
    model.fit(texts, embeddings=rows)
    model.get_document_info(texts).to_csv(given.folder / "document_info.csv", index=False)
    if len(set(model.topics_) - {-1}) > 1:
        above = model.hierarchical_topics(texts)
        above.to_csv(given.folder / "hierarchical_topics.csv", index=False)


def read_texts(corpus: Path) -> list[str]:
    """Return the documents of an LDA-C file as words, each as often as it occurs."""
    vocab = corpus.with_suffix(".vocab").read_text(encoding="utf-8").splitlines()
    texts = []
    for line in corpus.read_text(encoding="utf-8").splitlines():
        pairs = [pair.split(":") for pair in line.split()[1:]]
        texts.append(" ".join(vocab[int(word)] for word, n in pairs for _ in range(int(n))))
    return texts


def embedded(texts: list[str], seed: int) -> Any:
    """Return singular vectors of TF-IDF, a row per document."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(token_pattern=r"\S+", lowercase=False, sublinear_tf=True)
    counts = weights.fit_transform(texts)
    size = min(DIMENSIONS, min(counts.shape) - 1)
    return TruncatedSVD(size, random_state=seed).fit_transform(counts)


def chosen(embedding: Path, docs: Path) -> Any:
    """Return the rows of the documents that a file lists."""
    import numpy as np

    return np.load(embedding)[np.loadtxt(docs, dtype=np.int64, ndmin=1)]


if __name__ == "__main__":
    main()
