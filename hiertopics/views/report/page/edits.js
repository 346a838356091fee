// Edits of the tree that a reader wants: kept by the browser, saved as edits.yaml for `hiertopics edit`.

const KINDS = ["merge", "move", "split"];

/** @typedef {{kind: string, nodes: (number | string)[], into?: number}} Edit; nodes by their numbers in the run. */

class Edits {
  /** @param {Data} data */
  constructor(data) {
    this.data = data;
    this.key = `hiertopics edits ${data.parts.key}`;
    /** @type {Edit[]} */
    this.wanted = [];
    /** @type {(() => void)[]} */
    this.listeners = [];
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) || "[]");
      if (Array.isArray(kept)) this.wanted = kept.filter((one) => KINDS.includes(one.kind) && one.nodes.every((id) => data.place.has(String(id))));
    } catch {
      // A browser that keeps nothing still shows everything.
    }
  }

  /** Kinds of edits that a node can have: `hiertopics edit` refuses the others. @param {number} node */
  kindsOf(node) {
    const { data } = this;
    if (typeof data.nodes.id[node] !== "number") return [];
    const ofTree = data.nodes.parent[node] === ROOT ? [] : ["merge", "move"];
    const leaf = data.every[node].length ? [] : ["split"];
    return (data.tree.kind === "tree" ? [...ofTree, ...leaf] : ["merge"]).filter((kind) => data.tree.edits.includes(kind));
  }

  /** Nodes that a node can be merged with or moved below. @param {string} kind @param {number} node */
  targets(kind, node) {
    const { data } = this;
    const inside = (one, other) => one >= other && one < data.nodes.end[other];
    return data.nodes.id.map((_, i) => i).filter((other) => typeof data.nodes.id[other] === "number" && other !== node && !inside(other, node) &&
      (kind === "move" ? data.nodes.parent[node] !== other : !inside(node, other) && (data.tree.kind !== "tree" || data.nodes.parent[other] !== ROOT)));
  }

  /** The edit of this kind that a node has already: it can be moved, merged or split once. */
  of(kind, id) {
    return this.wanted.find((one) => one.kind === kind && (kind === "merge" ? one.nodes.includes(id) : one.nodes[0] === id));
  }

  /** @param {Edit} edit */
  add(edit) {
    const { kind, nodes } = edit;
    if (kind === "merge") {
      const joined = nodes.map((id) => this.of(kind, id)).filter(Boolean);
      const all = [...new Set([...joined.flatMap((one) => one.nodes), ...nodes])];
      this.wanted = [...this.wanted.filter((one) => !joined.includes(one)), { kind, nodes: all }];
    } else this.wanted = [...this.wanted.filter((one) => one !== this.of(kind, nodes[0])), edit];
    this.told();
  }

  /** @param {Edit} edit */
  remove(edit) {
    this.wanted = this.wanted.filter((one) => one !== edit);
    this.told();
  }

  told() {
    try {
      localStorage.setItem(this.key, JSON.stringify(this.wanted));
    } catch {
      // As above.
    }
    for (const told of this.listeners) told();
  }

  /** A node as the file names it: its number and its most probable words. */
  named(id) {
    return `${id} ${this.data.topWords(this.data.place.get(String(id)), 5).join(" ")}`;
  }

  /** The file; a text of JSON is one of YAML. */
  text() {
    const entry = ({ kind, nodes, into }) => {
      const [first, ...others] = nodes.map((id) => JSON.stringify(this.named(id)));
      if (kind === "merge") return `[${[first, ...others].join(", ")}]`;
      return kind === "split" ? `{node: ${first}, into: ${into}}` : `{node: ${first}, below: ${others[0]}}`;
    };
    return KINDS.map((kind) => {
      const mine = this.wanted.filter((one) => one.kind === kind);
      return mine.length ? `${kind}:\n${mine.map((one) => `- ${entry(one)}\n`).join("")}` : "";
    }).join("");
  }
}

/** An edit in words. @param {Page} page @param {Edit} edit */
function editText(page, { kind, nodes, into }) {
  const name = (id) => `[${id}] ${page.labels.called(page.data.place.get(String(id)), 3)}`;
  if (kind === "merge") return `Merge ${nodes.map(name).join(", ")}`;
  return kind === "split" ? `Split ${name(nodes[0])} into ${into}` : `Move ${name(nodes[0])} below ${name(nodes[1])}`;
}

/** What a reader may do with a topic, and the edits of it. @param {Page} page @param {number} node */
function editBlock(page, node) {
  const { data, edits } = page;
  const id = data.nodes.id[node];
  const kinds = edits.kindsOf(node);
  if (!kinds.length) return null;
  const host = h("div", {});
  const row = (kind, label, verb) => {
    const select = h("select", {}, edits.targets(kind, node).map((other) => h("option", { value: other }, visible(`[${data.nodes.id[other]}] ${page.labels.called(other, 3)}`))));
    return h("p", { class: "line" }, h("label", {}, `${label} `, select), " ", h("button", { class: "small", onclick: () => select.value && edits.add({ kind, nodes: [id, data.nodes.id[Number(select.value)]] }) }, verb));
  };
  const parts = h("input", { type: "number", min: 2, max: 100, value: 2 });
  const split = () => h("p", { class: "line" }, h("label", {}, "Split into ", parts), " ", h("button", { class: "small", onclick: () => {
    const into = Math.round(Number(parts.value));
    if (into >= 2 && into <= 100) edits.add({ kind: "split", nodes: [id], into });
  } }, "Split"));
  const draw = () => host.replaceChildren(
    ...edits.wanted.filter((one) => one.nodes.includes(id)).map((one) => h("p", { class: "line" }, visible(editText(page, one)), " ", h("button", { class: "small", onclick: () => edits.remove(one) }, "Undo"))));
  page.drawEdits = draw;
  draw();
  return h("details", { class: "naming", open: edits.wanted.some((one) => one.nodes.includes(id)) },
    h("summary", {}, kinds.length === 1 ? "Merge" : kinds.includes("split") ? "Merge, move, split" : "Merge, move"),
    kinds.includes("merge") && row("merge", "Merge with", "Merge"), kinds.includes("move") && row("move", "Move below", "Move"), kinds.includes("split") && split(), host,
    h("p", { class: "hint" }, "The page stays as it is. \u201cSave edits.yaml\u201d above makes a file; put it into the run\u2019s folder, then hiertopics edit makes a new run."));
}
