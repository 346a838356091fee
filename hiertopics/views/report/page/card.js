// The model card: what was fitted to what, how well, and how to make and cite it.

const MEASURES = [
  ["perplexity", "perplexity"], ["perplexity_with_cache", "perplexity with cache"], ["log_likelihood_per_word", "log likelihood per word"], ["log_likelihood_per_row", "log likelihood per row"],
  ["coherence_npmi", "coherence (NPMI)"], ["diversity", "diversity"], ["parent_child_npmi", "parent and child (NPMI)"], ["sibling_diversity", "diversity of siblings"],
  ["log_likelihood_per_word_with_cache", "log likelihood per word with cache"], ["cache_discount", "discount of the cache"], ["cache_concentration", "concentration of the cache"],
];

/** Return how good a model is in a line, from its first score; empty where it has none. */
function inOneLine(card) {
  const score = card.scores.find((one) => typeof one.perplexity === "number");
  if (!score) return "";
  const error = typeof score.standard_error === "number" ? ` ± ${whole.format(score.perplexity * score.standard_error)}` : "";
  return `perplexity ${whole.format(score.perplexity)}${error} of held-out words`;
}

function errorOf(score, key) {
  const error = score[key.endsWith("_with_cache") ? "standard_error_with_cache" : "standard_error"];
  if (typeof error !== "number") return "";
  if (key.startsWith("perplexity")) return ` ± ${short.format(score[key] * error)}`;
  return key.startsWith("log_likelihood") ? ` ± ${short.format(error)}` : "";
}

function pairs(rows) {
  return h("table", { class: "pairs" }, h("tbody", {}, rows.filter(Boolean).map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)))));
}

function scoreTable(scores) {
  const shown = MEASURES.filter(([key]) => scores.some((score) => typeof score[key] === "number"));
  const cell = (score, key) => (typeof score[key] === "number" ? `${short.format(score[key])}${errorOf(score, key)}` : "–");
  return h("div", { class: "wide", role: "region", "aria-label": "Scores", tabindex: "0" }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "measure"), scores.map((score) => h("th", { scope: "col", class: "right" }, visible(score.score))))),
    h("tbody", {}, shown.map(([key, name]) => h("tr", {}, h("th", { scope: "row" }, name), scores.map((score) => h("td", { class: "right" }, cell(score, key))))))));
}

function duration(seconds) {
  if (seconds < 90) return `${short.format(Math.round(seconds * 10) / 10)} s`;
  return seconds < 5400 ? `${whole.format(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** How wide a drawing of the card is: where the card stands in two columns, one of them. */
function columnWidth(page) {
  const { columnCount, columnGap } = getComputedStyle(page.detail);
  const room = page.detail.clientWidth - 34;
  const n = Number(columnCount) || 1; // "auto" is one column, and its gap no length
  return Math.max(Math.floor(n > 1 ? (room - (n - 1) * parseFloat(columnGap)) / n : room), 260);
}

function traceBlock(page, card) {
  const { iteration, ...traces } = card.trace;
  if (!iteration || iteration.length < 2) return null;
  const names = Object.keys(traces).filter((name) => new Set(traces[name]).size > 1 || name === "objective");
  const size = names.find((name) => /^n_(nodes|topics|occupied)$/.test(name));
  const shown = ["objective", size, ...names.filter((name) => name !== "objective" && name !== size)].filter((name) => name && traces[name]);
  const label = (name) => (name === "objective" ? card.objective.name : name.replace(/^n_/, "number of ").replaceAll("_", " "));
  const width = columnWidth(page);
  const draw = (name, wide) => lineChart(iteration, traces[name], wide, `${label(name)} by iteration`, "#3f7fae", "iteration");
  const one = (name) => h("figure", {}, h("figcaption", {}, visible(label(name)), " ", takeaway(name, { svg: () => draw(name, 640), csv: () => [["iteration", name], ...iteration.map((i, at) => [i, traces[name][at]])] })), draw(name, width));
  return section("Over iterations", null, shown.slice(0, 2).map(one), shown.length > 2 && h("details", {}, h("summary", {}, `${shown.length - 2} more`), shown.slice(2).map(one)));
}

/** What a fit did not see: documents, or words of all documents. */
function heldOut(split) {
  const isWithin = /^(tokens|links):/.test(split.spec);
  return `${split.spec}: ${isWithin ? count(split.n_heldout_tokens, "word") : count(split.n_heldout, "document")}`;
}

function cardView(page) {
  const { parts } = page.data;
  const card = page.data.card;
  const { corpus, split } = card;
  const told = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  return [
    h("h2", {}, "Model card"),
    h("p", { class: "sub" }, `${card.backend}: ${card.about}.`),
    section("Corpus", null, pairs([
      ["name", visible(card.title)], ["documents trained on", whole.format(corpus.n_docs)],
      corpus.n_empty > 0 && ["empty ones among them", whole.format(corpus.n_empty)],
      [page.data.tree.values === "probability" ? "vocabulary" : "columns", whole.format(corpus.n_words)],
      page.data.tree.values === "probability" && ["tokens", whole.format(corpus.n_tokens)],
      ["held out", heldOut(split)], ["fingerprint", h("code", {}, corpus.fingerprint.slice(0, 16))], ["split", h("code", {}, split.hash)]])),
    section("Scores", card.scores.length > 0 && takeaway("scores", { csv: () => [["score", "measure", "value"], ...card.scores.flatMap((score) => Object.entries(score).filter(([, value]) => typeof value === "number").map(([key, value]) => [score.score, key, value]))] }),
      card.scores.length ? scoreTable(card.scores) : h("p", { class: "hint" }, "None yet. ", h("code", {}, "hiertopics eval --heldout"), " scores a run on what is held out; the next report shows it.")),
    traceBlock(page, card),
    section("Fit", null, pairs([
      card.made_by && ["made by", visible(`${card.made_by} of ${card.parents.join(", ")}`)],
      ["status", card.status], ["iterations", whole.format(card.iterations)], [card.objective.name, card.objective.value === null ? "–" : short.format(card.objective.value)],
      ["seed", String(card.seed)], ["time", duration(card.seconds)], ["peak memory", `${whole.format(card.memory / 2 ** 20)} MiB`],
      Array.isArray(card.diagnostics) && card.diagnostics.length > 0 && ["diagnostics", h("code", {}, JSON.stringify(card.diagnostics))]])),
    section("Settings that differ from the defaults", null, card.settings.length
      ? h("table", {}, h("thead", {}, h("tr", {}, ["setting", "here", "default"].map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", {}, card.settings.map(([key, value, usual]) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, key)), h("td", {}, visible(told(value))), h("td", {}, visible(told(usual)))))))
      : h("p", { class: "hint" }, "None: every setting is the default.")),
    section("Again", null, h("p", {}, card.made_by ? "Made of other runs by:" : "The same bytes, with the same versions and corpus:"), h("pre", { tabindex: "0", role: "region", "aria-label": "Command" }, h("code", {}, visible(card.command))),
      pairs(Object.entries(card.versions))),
    section("How to cite", null, h("p", {}, `${parts.program}, backend ${card.backend}, seed ${card.seed}, corpus ${visible(card.title)} (fingerprint ${corpus.fingerprint.slice(0, 16)}).`),
      card.paper && h("p", {}, `Please cite the paper of the backend, too: ${card.paper}.`)),
  ];
}
