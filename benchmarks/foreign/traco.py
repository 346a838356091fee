"""TraCo, a neural topic hierarchy, by a python that has TopMost.

Run as a file by that python, which need not have anything of ours: ``traco.py CORPUS FOLDER SEED``.
Model and training have TopMost's own settings: layers of 10, 50 and 200 topics, 200 epochs. The
folder gets ``tree.npz``, as ``hiertopics import`` reads it:

- Parents: the weights between layers are soft. A topic stands below the topic of the layer above
  whose weight to it is largest; of equal weights the first counts. The topics of the first layer
  stand below a root. A topic below which no topic of the last layer stands is left out.
- Shares: those of a document over the topics of the last layer. The model derives the shares of
  the layers above from these by its weights. Here they are sums over the nodes below.
- Words: the model has no distribution over words for a topic. It has for each word a distribution
  over the topics of a layer. Bayes' rule turns it round: the weight of a word in a topic is that
  probability times the number of the word's tokens. The root has all tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

BATCH = 200


def main(corpus: Path, folder: Path, seed: int) -> None:
    """Train on one thread, so that the seed decides every byte."""
    import torch
    from topmost.models.hierarchical.TraCo.TraCo import TraCo
    from topmost.trainers.hierarchical.hierarchical_trainer import HierarchicalTrainer

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    counts, vocab = read(corpus)
    data = torch.from_numpy(counts)
    # The model normalises each batch, which fails for a last batch of a single document.
    size = BATCH + (len(counts) % BATCH == 1)
    batches = torch.utils.data.DataLoader(data, batch_size=size, shuffle=True)
    dataset = SimpleNamespace(train_data=data, train_dataloader=batches, vocab=vocab)
    trainer = HierarchicalTrainer(TraCo(len(vocab)), dataset)
    _, theta = trainer.train()
    parts = tree(trainer.get_phi(), theta[-1], trainer.get_beta(), counts.sum(axis=0))
    np.savez(folder / "tree.npz", vocab=vocab, **parts)


def read(corpus: Path) -> tuple[Any, list[str]]:
    """Return the counts of an LDA-C file, [D, W] float32, and the words."""
    vocab = corpus.with_suffix(".vocab").read_text(encoding="utf-8").splitlines()
    lines = corpus.read_text(encoding="utf-8").splitlines()
    counts = np.zeros((len(lines), len(vocab)), dtype=np.float32)
    for doc, line in enumerate(lines):
        for pair in line.split()[1:]:
            word, n = pair.split(":")
            counts[doc, int(word)] = float(n)
    return counts, vocab


def tree(weights: Any, theta: Any, words: Any, tokens: Any) -> dict[str, Any]:
    """Return parents, shares and words of the root and the topics of all layers, in this order.

    weights: of topics to topics of the next layer, [T, U] for each pair of layers. theta: [D, T] of
    the last layer. words: shares of words over topics, [T, W] for each layer. tokens: [W].
    """
    first = np.cumsum([1, *(len(layer) for layer in words)])
    above = [first[layer] + weight.argmax(axis=0) for layer, weight in enumerate(weights)]
    parent = np.concatenate([[-1], np.zeros(first[1] - 1, dtype=np.int64), *above])
    whole = np.zeros((len(theta), len(parent)))
    whole[:, first[-2] :] = theta / theta.sum(axis=1, keepdims=True)
    phi = np.vstack([tokens, *(np.asarray(layer, dtype=np.float64) * tokens for layer in words)])
    kept = leading(parent, first[-2])
    place = np.cumsum(kept) - 1
    stands = np.where(parent[kept] < 0, -1, place[parent[kept]])
    return {"parent": stands, "theta": whole[:, kept], "phi": phi[kept]}


def leading(parent: Any, first: int) -> Any:
    """Tell of each node whether it is ``first`` or a later one, or has one of these below it."""
    found = np.arange(len(parent)) >= first
    for node in range(len(parent) - 1, 0, -1):  # parents stand before their children
        found[parent[node]] |= found[node]
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
