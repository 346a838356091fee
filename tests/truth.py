"""Start at the truth: a state that is what was simulated stays a draw from the model.

A replicate draws hyperparameters and a corpus by the backend's own ``simulate``, builds the state
that is this truth, takes some ``step``s with the corpus held, and compares. Truth and corpus are a
draw from the joint law and every step leaves the posterior as it is, so that the law of the state
has not moved: the mean change of each statistic is zero, and hyperparameters still follow their
prior. Replicates are independent and there is no burn-in, which could hide or fake a deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from joint import Outcome
from numpy.typing import NDArray
from scipy import sparse, stats
from stepping import SERIAL, at

from hiertopics.contract import registry
from hiertopics.contract.chains import begin
from hiertopics.contract.model import Context, Settings, Sizes
from hiertopics.families.chdp.base_kernels import base_rows
from hiertopics.families.chdp.gibbs_kernels import SMALLEST as LEAST_MASS, log_weights
from hiertopics.families.chdp.gibbs_state import weights_of
from hiertopics.families.hdp.block_layout import Blocks, Piece
from hiertopics.families.ncrp.sampler import chains as tree_state
from hiertopics.families.ncrp.sampler.chain_kernels import Hyperparameters
from hiertopics.families.ncrp.sampler.chains import recounted
from hiertopics.families.nhdp.gibbs import with_nodes
from hiertopics.families.nhdp.layout import shape_of
from hiertopics.families.nhdp.learning import SMALLEST, levels_of
from hiertopics.families.nhdp.mixing import even
from hiertopics.families.tssb import binary, binary_kernels, stick_kernels as sticks, text
from hiertopics.families.tssb.layout import NONE, Process, StickNodes, make_nodes, room
from hiertopics.families.tssb.state import State
from hiertopics.runs.experiment import read_experiment

Array = NDArray[Any]
Truth = Mapping[str, Array]

LEAST_REST = 1e-12
"""A stick that leaves less than this was rounded off in the truth."""


class Case(NamedTuple):
    """A sampler, its settings, and how its truth becomes a state.

    held: settings besides, so that a start needs no hold and no work. state: of (data, truth,
    settings, rng). measure: statistics of (state, data, settings) but for the objective, under the
    names that metrics.jsonl has, if any; both of one chain. priors: what of these has a known law
    beforehand.
    """

    backend: str
    overrides: tuple[str, ...]
    held: tuple[str, ...]
    sizes: Sizes
    state: Callable[[Any, Truth, Settings, np.random.Generator], Any]
    measure: Callable[[Any, Any, Settings], dict[str, float]]
    priors: Mapping[str, Any]

    @property
    def module(self) -> Any:
        """The backend, that for the settings."""
        return _of_settings(self.backend, *self.overrides, *self.held)[0]

    @property
    def settings(self) -> Settings:
        """The settings."""
        return _of_settings(self.backend, *self.overrides, *self.held)[1]

    def statistics(self, state: Any, data: Any, settings: Settings) -> dict[str, float]:
        """Return the statistics of a state, the objective among them."""
        objective = self.module.objective(state, data, settings, at(0))
        return {**self.measure(state.now[0], data, settings), "objective": float(objective)}

    def draw(self, settings: Settings, seed: int) -> tuple[Any, Any]:
        """Return data laid out and the state that is their truth."""
        context = Context(seed, 0, SERIAL)
        drawn = self.module.draw_hyperparameters(settings, self.sizes, context)
        corpus, truth = self.module.simulate(settings, self.sizes, context, drawn)
        data = self.module.prepare(corpus, settings)
        rng = np.random.default_rng((seed, 1))
        return data, self.start(data, {**truth, **drawn}, settings, rng)

    def start(self, data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
        """Return the truth as the state of a fit, of one chain."""
        return begin([self.state(data, truth, settings, rng)])


@cache
def _of_settings(backend: str, *overrides: str) -> tuple[Any, Settings]:
    """Return a backend and its settings: read once, as replicates ask for them at every step."""
    experiment = read_experiment({"backend": backend}, None, overrides)
    settings = Settings(experiment.model, experiment.inference)
    module = registry.load(backend, model=settings.model, inference=settings.inference)
    return module, settings


def start_at_truth(case: Case, *, n_replicates: int, n_steps: int, seed: int = 0) -> Outcome:
    """Run the replicates ``seed``, ``seed + 1``, ... and judge them."""
    return judged(case, [replicate(case, seed + n, n_steps) for n in range(n_replicates)])


def replicate(case: Case, seed: int, n_steps: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the statistics at the truth and after the steps."""
    settings = case.settings
    data, state = case.draw(settings, seed)
    before = case.statistics(state, data, settings)
    for iteration in range(1, n_steps + 1):
        state, _ = case.module.step(state, data, settings, at(iteration, seed=seed))
    return before, case.statistics(state, data, settings)


def judged(case: Case, runs: Sequence[tuple[dict[str, float], dict[str, float]]]) -> Outcome:
    """Return z of the mean change of each statistic, and p of each prior after the steps."""
    z_scores = {}
    for name in runs[0][0]:
        change = np.array([after[name] - before[name] for before, after in runs])
        error = change.std() / np.sqrt(len(change))
        z_scores[name] = float(change.mean() / error) if error > 0 else 0.0
    p_values = {
        name: float(stats.kstest([after[name] for _, after in runs], prior.cdf).pvalue)
        for name, prior in case.priors.items()
    }
    return Outcome(z_scores, p_values)


def categories(weights: Array, rng: np.random.Generator) -> Array:
    """Return a column for each row of weights, in proportion to them."""
    below = weights.cumsum(axis=1)
    target = rng.random(len(weights)) * below[:, -1]
    return np.asarray((below <= target[:, None]).sum(axis=1))


def squares(counts: Array) -> float:
    """Return the sum of squares."""
    return float((counts.astype(np.float64) ** 2).sum())


def log_rests(weights: Array, gamma: float, rng: np.random.Generator) -> Array:
    """Return log(1 - v) of sticks v ~ Beta(1, gamma), given the weights that they break off.

    Where the truth has rounded 1 - v off, what is lost of -log(1 - v) is exponential like the
    whole; sticks behind are as before anything is seen.
    """
    tails = weights[::-1].cumsum()[::-1]
    shares = np.divide(tails[1:], tails[:-1], out=np.zeros(len(tails) - 1), where=tails[:-1] > 0)
    beyond = rng.exponential(1.0 / gamma, len(shares))
    beyond -= np.where(tails[:-1] > LEAST_REST, np.log(LEAST_REST), 0.0)
    return np.where(shares > LEAST_REST, np.log(np.maximum(shares, LEAST_REST)), -beyond)


def rows_of(data: Blocks) -> sparse.csr_array:
    """Return the counts of all documents as they lie in the blocks."""
    rows, columns, counts, n_before = [], [], [], 0
    for piece in data.pieces:
        assert isinstance(piece, Piece)
        block = np.repeat(np.arange(len(piece.block_doc) - 1), np.diff(piece.block_pair))
        rows.append(n_before + piece.block_doc[block] + piece.doc)
        columns.append(np.repeat(piece.word, piece.n_pairs))
        counts.append(piece.n_tokens.astype(np.int32))
        n_before += len(piece.doc_ptr) - 1
    cells = (np.concatenate(counts), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(sparse.coo_array(cells, (data.n_docs, data.n_words)))


def _tokens(data: Any) -> tuple[Array, Array]:
    """Return document and word of each token of a corpus laid out in tokens or in blocks."""
    if not isinstance(data, Blocks):
        return np.repeat(np.arange(data.n_docs), data.doc_lengths), data.cells.word
    counts = rows_of(data).toarray()
    doc, word = np.nonzero(counts)
    return np.repeat(doc, counts[doc, word]), np.repeat(word, counts[doc, word])


def _topics(data: Any, truth: Truth, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return documents and topics of tokens given theta and phi."""
    doc, word = _tokens(data)
    return doc, categories(truth["theta"][doc] * truth["phi"][:, word].T, rng)


def _counted(state: Any, data: Any, doc: Array, z: Array) -> None:
    """Write topics of tokens and their counts into the state of an HDP."""
    _write(state, "z", z)
    if hasattr(state, "n_dk"):
        n_dk = np.zeros((data.n_docs, len(state.n_k)), np.int32)
        np.add.at(n_dk, (doc, z), 1)
        _write(state, "n_dk", n_dk)
    state.n_wk[:] = 0
    np.add.at(state.n_wk, (_tokens(data)[1], z), 1)
    state.n_k[:] = state.n_wk.sum(axis=0)


def _write(state: Any, name: str, rows: Array) -> None:
    """Write rows of all documents or tokens into the pieces of a state, in their order."""
    first = 0
    for number in range(state.local.n_pieces):
        own = getattr(state.local.state_of(number), name)
        own[:] = rows[first : first + len(own)]
        first += len(own)
    assert first == len(rows)


def hdp_state(data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
    """Return the truth as a state of hdp-gibbs."""
    module = registry.load("hdp-gibbs", inference=settings.inference)
    first: Any = module.init(data, settings, at(0))
    (state,) = first.now
    _counted(state, data, *_topics(data, truth, rng))
    state.pi = truth["pi"]
    state.alpha, state.gamma = float(truth["alpha"]), float(truth["gamma"])
    state.log_rest = np.maximum(log_rests(state.pi, state.gamma, rng), np.log(1e-300))
    state.word_mass = float(truth["eta"]) * data.n_words
    state.tau = truth.get("tau", state.tau)
    return state


def hdp_measure(state: Any, data: Any, settings: Settings) -> dict[str, float]:
    """Return hyperparameters and statistics of counts."""
    n_dk = np.zeros((data.n_docs, len(state.pi)))
    np.add.at(n_dk, (_tokens(data)[0], state.z), 1)
    first = state.order[0] if hasattr(state, "order") else 0
    return {
        "alpha": state.alpha,
        "gamma": state.gamma,
        "eta": state.word_mass / data.n_words,
        "first weight": float(state.pi[first]),
        "weights squared": squares(state.pi),
        "tau squared": squares(state.tau),
        "n_topics": float((state.n_k > 0).sum()),
        "n_dk squared": squares(n_dk),
        "n_k squared": squares(state.n_k),
        "n_wk squared": squares(state.n_wk),
    }


def lda_state(data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
    """Return the truth as a state of lda-gibbs."""
    first: Any = registry.load("lda-gibbs").init(data, settings, at(0))
    (state,) = first.now
    doc = np.repeat(np.arange(len(data.doc_lengths)), data.doc_lengths)
    state.z[:] = categories(truth["theta"][doc] * truth["phi"][:, data.tokens.word].T, rng)
    state.n_wk[:] = 0
    np.add.at(state.n_wk, (data.tokens.word, state.z), 1)
    state.n_k[:] = state.n_wk.sum(axis=0)
    state.alpha = truth["alpha"].copy() if truth["alpha"].ndim else float(truth["alpha"])
    state.eta = float(truth["eta"])
    return state


def lda_measure(state: Any, data: Any, settings: Settings) -> dict[str, float]:
    """Return hyperparameters and statistics of counts."""
    n_topics = settings.model.n_topics
    alpha = np.broadcast_to(state.alpha, n_topics)
    n_dk = np.zeros((len(data.doc_lengths), n_topics))
    doc = np.repeat(np.arange(len(n_dk)), data.doc_lengths)
    np.add.at(n_dk, (doc, state.z), 1)
    return {
        "alpha": float(alpha.mean()),
        "share of alpha": float(alpha[0] / alpha.sum()),
        "eta": state.eta,
        "n_topics": float((state.n_k > 0).sum()),
        "n_dk squared": squares(n_dk),
        "n_k squared": squares(state.n_k),
        "n_wk squared": squares(state.n_wk),
        "alpha of the largest": float(alpha[state.n_k[:n_topics].argmax()]),
    }


def tree_of(data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
    """Return the truth as a state of hlda-gibbs."""
    words = data.words
    doc = np.repeat(np.arange(data.n_docs), np.diff(words.token_ptr[words.pair_ptr]))
    word = np.repeat(words.word, np.diff(words.token_ptr))
    path = truth["path"]
    chances = truth["phi"][path[doc], word[:, None]] * truth["level_weights"][doc]
    level = categories(chances, rng).astype(np.int8)
    slot = [np.unique(nodes, return_inverse=True)[1].ravel() for nodes in path.T]
    chain = recounted(data, np.stack(slot, axis=1).astype(np.int32), level)
    prior = Hyperparameters(truth["level_prior"].copy(), float(truth["gamma"]), float(truth["eta"]))
    return tree_state.begin(chain, prior)


def tree_measure(state: Any, data: Any, settings: Settings) -> dict[str, float]:
    """Return hyperparameters and statistics of tree and counts."""
    chain, prior = state.chain, state.prior
    leaves = chain.visits[chain.first[-2] :]
    by_level = chain.n_dl.sum(axis=0) / chain.n_dl.sum()
    return {
        "gamma": prior.gamma,
        "eta": prior.eta,
        "level prior": float(prior.level[0]),
        "n_nodes": float((chain.visits > 0).sum()),
        "n_leaves": float((leaves > 0).sum()),
        "largest_path": float(leaves.max() / data.n_docs),
        "visits squared": squares(chain.visits),
        "tokens at the root": float(by_level[0]),
        "tokens at leaves": float(by_level[-1]),
        "n_dl squared": squares(chain.n_dl),
        "n_wk squared": squares(chain.n_wk),
    }


def chdp_state(data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
    """Return the truth as a state of chdp-gibbs with the exact sampler."""
    first: Any = registry.load("chdp-gibbs").init(data, settings, at(0))
    (state,) = first.now
    _counted(state, data, *_topics(data, truth, rng))
    for name in ("alpha_doc", "alpha_group", "gamma", "eta"):
        setattr(state, name, float(truth[name]))
    log_rest = log_rests(truth["pi_0"], state.gamma, rng)
    state.sticks = np.log(np.maximum(-np.expm1(log_rest), 1e-300)) - log_rest
    state.log_pi_0 = log_weights(state.sticks)
    mass = np.maximum(state.alpha_group * truth["pi_0"], LEAST_MASS)
    state.log_pi = logs(truth["pi"][data.columns], mass, rng)
    if len(state.share):
        state.share[:] = truth["share"]
    return state


def logs(weights: Array, mass: Array, rng: np.random.Generator) -> Array:
    """Return the logs of Dirichlet(mass) weights; those that are 0 in the truth are made up.

    Near 0 a weight has density x^(mass - 1): how far its log lies below any bound is exponential.
    """
    least = np.finfo(np.float64).tiny
    beyond = np.log(least) - rng.standard_exponential(weights.shape) / np.maximum(mass, 1e-280)
    return np.where(weights > least, np.log(np.maximum(weights, least)), beyond)


def chdp_measure(state: Any, data: Any, settings: Settings) -> dict[str, float]:
    """Return hyperparameters and statistics of weights and counts."""
    base = base_rows(data.parents, weights_of(state, data, settings.model))
    return {
        "alpha_doc": state.alpha_doc,
        "alpha_group": state.alpha_group,
        "gamma": state.gamma,
        "eta": state.eta,
        "first weight": float(np.exp(state.log_pi_0[0])),
        "weights squared": squares(np.exp(state.log_pi_0)),
        "groups squared": squares(np.exp(state.log_pi)),
        "bases squared": squares(base),
        "n_topics": float((state.n_k > 0).sum()),
        "n_dk squared": squares(state.n_dk),
        "n_k squared": squares(state.n_k),
        "n_wk squared": squares(state.n_wk),
    }


def tssb_state(data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
    """Return the truth as a state of tssb-mcmc."""
    model = settings.model
    names = ("alpha0", "decay", "gamma")
    alpha0, decay, gamma = (float(truth.get(name, getattr(model, name))) for name in names)
    process = Process(alpha0, decay, gamma, model.max_depth)
    if model.likelihood == "text":
        words = data.words
        doc = np.repeat(np.arange(data.n_docs), np.diff(words.token_ptr[words.pair_ptr]))
        word = np.repeat(words.word, np.diff(words.token_ptr))
        shares = truth["shares"]
        z = categories(shares[truth["node"][doc]] * truth["topics"][:, word].T, rng)
        topics = text.counted(data, z.astype(np.int16), model.n_topics)
        kappa = float(truth["kappa"])
        above = np.vstack([np.full(model.n_topics, text.ROOT_SHARE), shares])
        values = logs(shares, kappa * above[truth["parent"] + 1], rng)
        nodes, node = seated(truth, values, np.zeros(len(values)), process, rng)
        return text.State(node, nodes, process, np.array([kappa]), topics)
    values = binary.on_grid(truth["value"])
    offsets = np.array([binary_kernels.offset_of(value) for value in values])
    law = np.append(truth["variance"], binary.FIRST_STEP)
    nodes, node = seated(truth, values, offsets, process, rng)
    return State(node, nodes, process, law)


def seated(
    truth: Truth, values: Array, offsets: Array, process: Process, rng: np.random.Generator
) -> tuple[StickNodes, Array]:
    """Return the tree of the truth with its children at positions and its sticks, and who is where.

    Shares of children and of what no datum has reached are Dirichlet(n_sub, ..., gamma); positions
    are picked in proportion to shares, and what is hit in the rest is its first stick.
    """
    parent, home = truth["parent"], truth["node"]
    n_sub = np.bincount(home, minlength=len(parent))
    for node in range(len(parent) - 1, 0, -1):
        n_sub[parent[node]] += n_sub[node]
    order: list[tuple[int, int]] = []

    def visit(node: int, above: int) -> None:
        order.append((node, above))
        here = len(order) - 1
        if node != NONE:
            children = [child for child in np.flatnonzero(parent == node).tolist() if n_sub[child]]
            for child in positions(children, n_sub, process.gamma, rng):
                visit(child, here)

    visit(0, NONE)
    nodes = make_nodes(room(len(order)), values.shape[1], values.dtype.type)
    nodes.size[0] = len(order)
    number = np.zeros(len(parent), np.int32)
    for new, (old, above) in enumerate(order):
        nodes.parent[new] = above
        nodes.depth[new] = nodes.depth[above] + 1 if new else 0
        if old != NONE:
            number[old] = new
            nodes.value[new], nodes.offset[new], nodes.known[new] = values[old], offsets[old], True
    node_of = number[home]
    sticks.count(node_of, nodes)
    sticks.draw_sticks(nodes, process, rng, True)
    return nodes, node_of


def positions(
    children: list[int], n_sub: Array, gamma: float, rng: np.random.Generator
) -> list[int]:
    """Return the children in an order that the process may have them in, NONE for empty ones."""
    shares = rng.standard_gamma([*(float(n_sub[child]) for child in children), gamma])
    waiting, rest, found = dict(zip(children, shares[:-1], strict=True)), float(shares[-1]), []
    while waiting:
        names = [*waiting, NONE]
        weights = np.array([*waiting.values(), rest])
        chosen = names[int(rng.choice(len(names), p=weights / weights.sum()))]
        found.append(chosen)
        if chosen == NONE:
            rest *= 1.0 - rng.beta(1.0, gamma)
        else:
            del waiting[chosen]
    return found


def tssb_measure(state: Any, data: Any, settings: Settings) -> dict[str, float]:
    """Return hyperparameters and statistics of tree and counts."""
    nodes = state.nodes
    n = int(nodes.size[0])
    used, depth = nodes.n_sub[:n] > 0, nodes.depth[state.node]
    found = {
        "alpha0": state.process.alpha0,
        "decay": state.process.decay,
        "gamma": state.process.gamma,
        "n_nodes": float(used.sum()),
        "n_occupied": float((nodes.n_at[:n] > 0).sum()),
        "depth": float(depth.max()),
        "mean depth": float(depth.mean()),
        "positions": float(n),
        "n_at squared": squares(nodes.n_at[:n]),
        "n_sub squared": squares(nodes.n_sub[:n]),
    }
    if settings.model.likelihood == "text":
        found["kappa"] = text.closeness(state.law)
        shares = np.exp(nodes.value[:n][used])
        found["shares squared"] = squares(shares) / len(shares)
        found["n_dk squared"] = squares(state.topics.n_dk)
        found["n_wk squared"] = squares(state.topics.n_wk)
    else:
        found["kappa"] = binary.closeness(state.law)
        found["variance"] = float(state.law[0])
        value = nodes.value[:n][used].astype(np.float64)
        found["values squared"] = squares(value) / value.size
        found["root squared"] = squares(value[0])
    return found


EXP, BY_WORD = stats.expon, stats.expon(scale=1 / 5)
OF_HDP = {"alpha": EXP, "gamma": EXP, "eta": BY_WORD}
OF_CHDP = {"alpha_doc": EXP, "alpha_group": EXP, "gamma": EXP, "eta": BY_WORD}
OF_LDA = {"alpha": stats.uniform(0.1 / 4, 999.9 / 4), "eta": EXP}
OF_TREE = {"gamma": EXP, "eta": EXP, "level prior": EXP(scale=10)}
OF_TSSB = {
    "alpha0": stats.uniform(1, 4),
    "decay": stats.uniform(0.05, 0.75),
    "gamma": stats.uniform(1, 9),
}
HELD = ("inference.hyper_start=0",)
BARE = ("inference.start=root", "inference.start_sweeps=0")
TREE = tuple(f"inference.sample_{name}=true" for name in ("gamma", "eta", "level_prior"))
PARTIAL = ("inference.collapse=partial", "inference.start=random")
FEW = Sizes(n_docs=6, n_words=5, doc_length=8)
SOME = Sizes(n_docs=18, n_words=5, doc_length=5)


def of_hdp(*overrides: str) -> Case:
    """Return a case of hdp-gibbs."""
    keys = ("model.truncation=5", *overrides)
    return Case("hdp-gibbs", keys, HELD, FEW, hdp_state, hdp_measure, OF_HDP)


def of_lda(*overrides: str, **priors: Any) -> Case:
    """Return a case of lda-gibbs; priors: of further statistics, by name."""
    keys = ("model.n_topics=4", *overrides)
    return Case("lda-gibbs", keys, HELD, FEW, lda_state, lda_measure, {**OF_LDA, **priors})


def nhdp_state(data: Any, truth: Truth, settings: Settings, rng: np.random.Generator) -> Any:
    """Return the truth as a state of nhdp-gibbs."""
    _, z = _topics(data.tokens, truth, rng)
    shape = shape_of(truth["parent"])
    begun = even(shape, 1.0, *settings.model.stop_prior)
    concentration = np.where(shape.n_children > 0, truth["concentration"], 0.0)
    share = np.maximum(truth["share"], SMALLEST)
    for nodes, weights in zip(levels_of(shape), truth["stop"], strict=True):
        begun.stop_a[nodes], begun.stop_b[nodes] = weights
    mixing = begun._replace(share=share, concentration=concentration)
    eta = float(truth.get("eta", np.float64(settings.model.eta)))
    return with_nodes(z.astype(np.int32), mixing, eta, data.tokens, at(0))


def nhdp_measure(state: Any, data: Any, settings: Settings) -> dict[str, float]:
    """Return statistics of nhdp-gibbs."""
    inner = state.mixing.shape.inner
    return {
        "share": float(state.share[1]),
        "shares squared": float((state.share[1:] ** 2).sum()),
        "root": float(state.n_k[0]),
        "inner": float(state.n_k[inner].sum()),
        "n_dk squared": squares(state.n_dk),
        "n_wk squared": squares(state.n_wk),
        "n_k squared": squares(state.n_k),
        **{f"concentration of {node}": float(state.concentration[node]) for node in inner},
        "eta": state.eta,
        **{f"stop of {node}": float(state.stop_a[node]) for node in inner[:2]},
        **{f"go of {node}": float(state.stop_b[node]) for node in inner[:2]},
    }


OF_NHDP = {
    **{f"concentration of {node}": stats.expon() for node in range(3)},
    **{f"{what} of {node}": stats.expon() for what in ("stop", "go") for node in range(2)},
    "eta": stats.expon(scale=1 / 5),
}


def of_nhdp(*overrides: str) -> Case:
    """Return a case of nhdp-gibbs."""
    keys = ("model.truncation=5", "model.branches=[2]", *overrides)
    priors = dict(OF_NHDP)
    if "inference.hold=[eta]" in overrides:
        del priors["eta"]
    return Case("nhdp-gibbs", keys, (), FEW, nhdp_state, nhdp_measure, priors)


def of_tree(*overrides: str) -> Case:
    """Return a case of hlda-gibbs."""
    return Case("hlda-gibbs", (*TREE, *overrides), (), FEW, tree_of, tree_measure, OF_TREE)


def of_chdp(*overrides: str) -> Case:
    """Return a case of chdp-gibbs."""
    keys = ("model.truncation=5", *overrides)
    return Case("chdp-gibbs", keys, HELD, SOME, chdp_state, chdp_measure, OF_CHDP)


def of_tssb(*overrides: str, **priors: Any) -> Case:
    """Return a case of tssb-mcmc; priors: of further statistics, by name."""
    keys = ("model.alpha0=[1,5]", *overrides)
    return Case("tssb-mcmc", keys, BARE, FEW, tssb_state, tssb_measure, {**OF_TSSB, **priors})


CASES = {
    "hdp-gibbs": of_hdp(),
    "hdp-gibbs AA": of_hdp("model.prior=AA"),
    "hdp-gibbs partial": of_hdp(*PARTIAL),
    "hdp-gibbs partial AA": of_hdp("model.prior=AA", *PARTIAL),
    "lda-gibbs": of_lda(),
    "lda-gibbs asymmetric": of_lda(
        "model.prior=asymmetric", **{"share of alpha": stats.beta(1, 3)}
    ),
    "hlda-gibbs": of_tree(),
    "hlda-gibbs partial": of_tree("inference.collapse=partial"),
    "nhdp-gibbs": of_nhdp(),
    "chdp-gibbs superposition": of_chdp(),
    "chdp-gibbs learned weights": of_chdp("model.weights=learned"),
    "chdp-gibbs maximization": of_chdp("model.cooperation=maximization"),
    "tssb-mcmc text": of_tssb(
        "model.n_topics=3", "model.kappa=[0.5,20]", kappa=stats.uniform(0.5, 19.5)
    ),
    "tssb-mcmc binary": of_tssb(
        "model.likelihood=binary", "model.variance=[0.1,2]", variance=stats.uniform(0.1, 1.9)
    ),
}

DENSE, SHARDS = "inference.sweep=dense", "inference.shards=3"
SEEDS = ("model.seeds={first: [w0], second: [w1, w2]}", "model.seed_weight=3")
NIGHTLY = {
    "hdp-gibbs dense": of_hdp(DENSE),
    "hdp-gibbs partial in shards": of_hdp(*PARTIAL, SHARDS),
    "lda-gibbs lists": of_lda("inference.sweep=sparse"),
    "nhdp-gibbs dense": of_nhdp(DENSE),
    "nhdp-gibbs seed words": of_nhdp(*SEEDS, "inference.hold=[eta]"),
    "chdp-gibbs dense": of_chdp(DENSE),
}
"""Other sweeps, several shards, seed words; with many replicates, at night alone.

Of several shards that sampler whose draws are exact then: the others see totals late, and say so.
With seed words eta is held: they count as words that were seen, so that the law of a drawn eta is
that given them (theory/nhdp 2.3).
"""
