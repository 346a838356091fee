// A second run: which topics are the same, and what moved.

/** Settings of two cards that differ: key, value here, value there. */
function settingsApart(mine, other) {
  const both = [mine, other].map((card) => new Map(card.settings.map((row) => [row[0], row])));
  const keys = [...new Set([...both[0].keys(), ...both[1].keys()])];
  const valueOf = (own, key, at) => (own.has(key) ? own.get(key)[1] : both[1 - at].get(key)[2]);
  const written = (value) => (value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value));
  return keys.map((key) => [key, ...both.map((own, at) => written(valueOf(own, key, at)))]).filter(([, a, b]) => a !== b);
}

/** Places of the topics of a run: clusters of flat topics are none. @param {any} nodes */
function topicsOf(nodes) {
  const all = nodes.id.map((_, place) => place);
  return nodes.id.some((id) => typeof id === "number") ? all.filter((place) => typeof nodes.id[place] === "number") : all;
}

/** What the page says of another run. */
class Comparison {
  /** @param {any} page */
  constructor(page) {
    this.page = page;
    this.part = page.data.parts.comparison;
    this.twin = new Map(this.part.mine.map((node, i) => [node, i]));
    this.otherTwin = new Map(this.part.other.map((node, i) => [node, i]));
  }

  /** Return a fact of a node: its twin in the other run. */
  factOf(node) {
    const pair = this.twin.get(node);
    return pair === undefined ? ["none", "twin in the other run"] : [this.part.affinity[pair].toFixed(2), `alike: ${this.called(this.part.other[pair], 3)} of the other run`];
  }

  /** Return where a document stands in the other run. */
  moveOf(doc) {
    if (!this.part.doc_home || !this.part.doc_home.length) return null;
    const other = this.part.doc_home[doc];
    return h("div", {}, h("dt", {}, "in the other run"), h("dd", {}, other < 0 ? "–" : told(this.called(other, 3))));
  }

  called(other, n) {
    return `[${this.part.nodes.id[other]}] ${this.nameOf(other, n)}`;
  }

  nameOf(other, n) {
    const { name, called, parts } = this.part.nodes;
    const auto = parts && parts[other].length ? inParts(parts[other], n) : called[other].slice(0, n).join(" ");
    return visible((name && name[other]) || auto);
  }

  view() {
    const { page, part } = this;
    const mine = page.data.card;
    const other = part.card;
    const mineAlone = topicsOf(page.data.nodes).filter((i) => !this.twin.has(i));
    const otherAlone = topicsOf(part.nodes).filter((i) => !this.otherTwin.has(i));
    const [unmatched, alone] = [mineAlone.length, otherAlone.length];
    return [
      h("h2", {}, "Two runs"),
      h("p", { class: "sub" }, `${visible(page.data.parts.run)} (${mine.backend}, seed ${mine.seed}) beside ${visible(part.run)} (${other.backend}, seed ${other.seed}).`),
      h("dl", { class: "facts" }, [[part.mine.length, part.mine.length === 1 ? "pair of topics" : "pairs of topics"], [unmatched, "only in this run"], [alone, "only in the other"]].map(([n, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, whole.format(n))))),
      part.flows && this.flowBlock(),
      this.pairBlock(),
      this.summaryBlock(mine, other),
      unmatched > 0 && this.aloneBlock("Only in this run", mineAlone, (i) => topicLink(page, i, 6), (i) => page.data.nodes.branch_docs[i]),
      alone > 0 && this.aloneBlock("Only in the other run", otherAlone, (i) => this.called(i, 6), (i) => part.nodes.branch_docs[i]),
    ];
  }

  summaryBlock(mine, other) {
    const row = (name, get) => [name, get(mine), get(other)];
    const perplexity = (card) => inOneLine(card).replace(" of held-out words", "").replace("perplexity ", "") || "–";
    const rows = [
      ["folder", visible(this.page.data.parts.run), visible(this.part.run)],
      row("backend", (c) => c.backend), row("seed", (c) => String(c.seed)), ["topics", ...[this.page.data.nodes, this.part.nodes].map((nodes) => whole.format(topicsOf(nodes).length))],
      row("documents", (c) => whole.format(c.corpus.n_docs)), row("perplexity", perplexity), row("split", (c) => c.split.hash), row("time", (c) => duration(c.seconds)),
      ...settingsApart(mine, other).map(([key, ...values]) => [visible(key), ...values.map((value) => visible(value))]),
    ];
    const isKnown = ([, a, b]) => a !== "–" || b !== "–";
    const differ = rows.filter((one) => isKnown(one) && one[1] !== one[2]);
    const equal = rows.filter((one) => isKnown(one) && one[1] === one[2]);
    return section("Side by side", null,
      differ.length > 0 && h("table", { class: "sides" }, h("thead", {}, h("tr", {}, ["", "this run", "the other"].map((head) => (head ? h("th", { scope: "col" }, head) : h("td", {}))))),
        h("tbody", {}, differ.map(([name, a, b]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, a), h("td", {}, b))))),
      equal.length > 0 && h("p", { class: "hint" }, `Equal in both: ${equal.map(([name, value]) => `${name} ${value}`).join(", ")}.`),
      mine.split.hash !== other.split.hash && h("p", { class: "hint" }, "The splits differ: the scores do not compare."));
  }

  /** Documents from the branches of one run to those of the other. */
  flowBlock() {
    const { page, part } = this;
    const most = 14;
    const sum = (key) => part.flows.reduce((found, flow) => found.set(flow[key], (found.get(flow[key]) || 0) + flow[2]), new Map());
    const largest = (totals) => [...totals].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, most).map(([node]) => node);
    const [left, right] = [largest(sum(0)), largest(sum(1))];
    const at = (list, node) => (list.includes(node) ? list.indexOf(node) : list.length);
    const joined = new Map();
    for (const [a, b, n] of part.flows) {
      const key = `${at(left, a)} ${at(right, b)}`;
      joined.set(key, (joined.get(key) || 0) + n);
    }
    const flows = [...joined].map(([key, n]) => [...key.split(" ").map(Number), n]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const side = (list, key, name, fill) => {
      const items = [...list.map((node) => ({ name: name(node), fill: fill(node) })), { name: "others", fill: "#98a2ae" }].map((item, i) => ({ ...item, n: flows.filter((flow) => flow[key] === i).reduce((total, flow) => total + flow[2], 0) }));
      return items.at(-1).n ? items : items.slice(0, -1);
    };
    const twinColour = (other) => (this.otherTwin.has(other) ? inkColour(page.data, part.mine[this.otherTwin.get(other)]) : "#98a2ae");
    const draw = (width) => flowChart(side(left, 0, (n) => page.labels.called(n, 4), (n) => inkColour(page.data, n)), side(right, 1, (n) => this.nameOf(n, 4), twinColour), flows, width, "Documents from branches of this run to branches of the other");
    const width = Math.max(Math.floor(page.detail.clientWidth) - 34, 280);
    return section("Where documents went", takeaway("flows", { svg: () => draw(760), csv: () => [["this run", "other run", "documents"], ...part.flows.map(([a, b, n]) => [a < 0 ? "" : page.data.nodes.id[a], b < 0 ? "" : part.nodes.id[b], n])] }),
      h("p", { class: "hint" }, "Branches of this run on the left, of the other on the right; a ribbon is as wide as it has documents."), h("div", { class: "chart" }, draw(width)));
  }

  pairBlock() {
    const { page, part } = this;
    const order = part.mine.map((_, i) => i).sort((a, b) => page.data.nodes.branch_docs[part.mine[b]] - page.data.nodes.branch_docs[part.mine[a]]);
    const csv = () => [["node", "other node", "affinity", ...(part.both ? ["in both", "only here", "only there"] : []), "words", "other words"], ...order.map((i) =>
      [page.data.nodes.id[part.mine[i]], part.nodes.id[part.other[i]], part.affinity[i], ...(part.both ? [part.both[i], part.only_mine[i], part.only_other[i]] : []), page.data.topWords(part.mine[i], 10).join(" "), part.nodes.words[part.other[i]].join(" ")])];
    return section("Topics side by side", takeaway("pairs", { csv }),
      h("p", { class: "hint" }, "Alike: Hellinger affinity of the words at or below the topics, from 0 to 1.", part.both && " Documents: in both, only here, only there."),
      longList("Pairs of topics", order.length, 78, (place) => {
        const i = order[place];
        return [
          h("span", { class: "docname" }, topicLink(page, part.mine[i], 6)),
          h("span", { class: "share" }, `${part.affinity[i].toFixed(2)} alike`),
          h("span", { class: "snippet" }, this.called(part.other[i], 7), part.both && h("span", { class: "moves" }, ` ${whole.format(part.both[i])} in both, ${whole.format(part.only_mine[i])} only here, ${whole.format(part.only_other[i])} only there`)),
        ];
      }));
  }

  aloneBlock(title, items, link, docs) {
    const sorted = items.sort((a, b) => docs(b) - docs(a));
    return section(`${title}, ${whole.format(sorted.length)}`, null, h("details", {}, h("summary", {}, "Show"), h("ul", { class: "links" }, sorted.slice(0, 200).map((i) => h("li", {}, link(i), ` ${count(docs(i), "document")}`)))));
  }
}
