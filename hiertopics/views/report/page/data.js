// The data of the page: unpacked once, then read only. docs/report.md tells what each part holds.

/** @typedef {{name: string, ordered: boolean, same_as?: string, days?: string[], doc_day?: number[],
 *   axis?: string[], not_drawn?: string, values: string[], totals: number[],
 *   node_n: number[], node_value: number[], node_count: number[],
 *   doc_n: number[], doc_value: number[], nodeFirst: number[], docFirst: number[]}} Column */

const ROOT = -1;
const UNIT = 1000;

/** Undo base64 and gzip. @param {string} text @returns {Promise<any>} */
async function inflated(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

/** Parts of which a page can be without at first: the words of documents, and how they begin. */
const LATER = ["texts", "contents"];

/** Return parts of the data by name: those that come later, or all others.
 * @param {boolean} later @returns {Promise<any>} */
async function unpacked(later) {
  const lines = document.getElementById("data").textContent.split("\n").filter(Boolean);
  const all = lines.map((line) => [line.slice(0, line.indexOf(" ")), line]);
  const wanted = all.filter(([name]) => LATER.includes(name) === later);
  const values = await Promise.all(wanted.map(([name, line]) => inflated(line.slice(name.length + 1))));
  return Object.fromEntries(wanted.map(([name], i) => [name, values[i]]));
}

/** Return where each run of entries begins, and where the last one ends. @param {number[]} n */
function firsts(n) {
  const first = new Array(n.length + 1).fill(0);
  for (let i = 0; i < n.length; i++) first[i + 1] = first[i] + n[i];
  return first;
}

/** Return running sums. @param {number[]} steps */
function sums(steps) {
  let total = 0;
  return steps.map((step) => (total += step));
}

const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Write out what would steer a terminal or turn the order of letters. @param {unknown} text */
function visible(text) {
  return String(text).replace(STEERING, (c) => {
    const code = c.charCodeAt(0);
    const short = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
    if (short) return short;
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** Words of a name, and of each of its parts; what stands between the parts. */
const NAME_WORDS = 5;
const APART = 2;
const BETWEEN = " · ";

/** Write a name in parts: all of them, or the first ones and a mark where there is little room. @param {string[][]} parts */
function inParts(parts, n) {
  const fit = n >= NAME_WORDS ? parts.length : Math.max(Math.floor(n / APART), 1);
  const shown = parts.slice(0, fit).map((part) => part.join(" ")).join(BETWEEN);
  return fit < parts.length ? `${shown} …` : shown;
}

/** Letters of long names by which it is found out which end tells documents apart. */
const TELLING = 20;

/** What the rest of the page reads: the parts, and what is derived from them. */
class Data {
  /** @param {any} parts */
  constructor(parts) {
    this.parts = parts;
    this.card = parts.card;
    this.tree = parts.tree;
    this.nodes = parts.nodes;
    this.n = parts.nodes.id.length;
    this.words = parts.words;
    this.shares = parts.word_shares || null;
    this.place = new Map(parts.nodes.id.map((id, i) => [String(id), i]));
    this.children = Array.from({ length: this.n }, () => []);
    this.roots = [];
    this.depth = new Array(this.n).fill(0);
    for (let i = 0; i < this.n; i++) {
      const above = parts.nodes.parent[i];
      if (above === ROOT) this.roots.push(i);
      else {
        this.children[above].push(i);
        this.depth[i] = this.depth[above] + 1;
      }
    }
    this.branch = this.branches();
    this.every = this.children;
    this.by = this.tree.kind === "flat" ? "documents" : "tokens";
    this.planCut();
    this.shown = new Set(this.opening);
    this.readDocuments();
    /** Years beside dates of them say nothing more. @type {Column[]} */
    this.columns = (parts.columns || []).filter((column) => !column.same_as).map((column) => ({
      ...column,
      nodeFirst: firsts(column.node_n),
      docFirst: firsts(column.doc_n),
    }));
    this.groups = parts.groups || null;
    if (this.groups) this.groups.first = firsts(this.groups.n);
  }

  /** Order the nodes by when a cut shows them: what stands below a single root, or the roots, at once, then the largest first. */
  planCut() {
    const size = this.by === "documents" ? this.nodes.branch_docs : this.nodes.below;
    const first = this.roots.length === 1 ? [...this.roots, ...this.every[this.roots[0]]] : this.roots;
    const isFirst = new Set(first);
    // A node is at least as large as those below it, and stands before them.
    const later = [...size.keys()].filter((node) => !isFirst.has(node)).sort((a, b) => size[b] - size[a] || a - b);
    this.fewest = first.length;
    this.opening = [...first, ...later];
  }

  /** Cut the tree: only the first so many nodes are shown. @param {number} n */
  cut(n) {
    this.shown = new Set(this.opening.slice(0, n));
    this.children = this.every.map((children) => children.filter((child) => this.shown.has(child)));
  }

  /** The node itself, or the nearest one above that the cut tree shows. @param {number} node */
  shownAt(node) {
    let at = node;
    while (at >= 0 && !this.shown.has(at)) at = this.nodes.parent[at];
    return at;
  }

  /** Number the branches: what stands below a single root, or the roots; a single root is -1. */
  branches() {
    const top = this.roots.length === 1 ? this.children[this.roots[0]] : this.roots;
    const branch = new Array(this.n).fill(-1);
    top.forEach((first, number) => {
      for (let i = first; i < this.nodes.end[first]; i++) branch[i] = number;
    });
    return branch;
  }

  readDocuments() {
    const docs = this.parts.documents;
    this.nDocs = docs ? docs.home.length : 0;
    this.docs = docs || null;
    if (!docs) return;
    this.row = sums(docs.row_steps);
    this.docOfRow = new Map(this.row.map((row, doc) => [row, doc]));
    this.entry = firsts(docs.n);
    this.rest = docs.rest_n ? firsts(docs.rest_n) : null;
  }

  /** Take what came later. @param {any} parts */
  complete(parts) {
    Object.assign(this.parts, parts);
    const { contents } = parts;
    if (!contents || !this.docs) return;
    this.words = this.parts.words.concat(contents.words);
    this.content = firsts(contents.n);
    this.word = contents.word_steps.slice();
    for (let doc = 0; doc < this.nDocs; doc++) {
      for (let i = this.content[doc] + 1; i < this.content[doc + 1]; i++) this.word[i] += this.word[i - 1];
    }
  }

  /** Tell what a document is called: its name, or its number in the corpus from 1. */
  docName(doc) {
    return this.docs.name ? this.docs.name[doc] : String(this.row[doc] + 1);
  }

  /** Whether the ends of long names tell documents apart, as those of paths do, and their beginnings do not. */
  get endsTell() {
    if (this.known === undefined) {
      const long = this.docs && this.docs.name ? this.docs.name.filter((name) => name.length > TELLING) : [];
      const different = (cut) => new Set(long.map(cut)).size;
      this.known = different((name) => name.slice(-TELLING)) > 1.1 * different((name) => name.slice(0, TELLING));
    }
    return this.known;
  }

  /** Return the documents of a node with a share at or below it, the largest share first. */
  documentsOf(node) {
    const { place, share } = this.docs;
    const end = this.nodes.end[node];
    const found = [];
    for (let doc = 0; doc < this.nDocs; doc++) {
      let below = 0;
      let own = 0;
      for (let i = this.entry[doc]; i < this.entry[doc + 1]; i++) {
        if (place[i] >= node && place[i] < end) below += share[i];
        if (place[i] === node) own = share[i];
      }
      below += this.restOf(doc, node, end);
      if (this.belongs(doc, node, below)) found.push({ doc, share: Math.min(below / UNIT, 1), own });
    }
    return found.sort((a, b) => b.share - a.share || b.own - a.own || a.doc - b.doc);
  }

  /** What the kept shares of a document lack at or below a node. */
  restOf(doc, node, end) {
    if (!this.rest) return 0;
    const { rest, rest_place: place } = this.docs;
    let sum = 0;
    for (let i = this.rest[doc]; i < this.rest[doc + 1]; i++) if (place[i] >= node && place[i] < end) sum += rest[i];
    return sum;
  }

  /** Tell whether a document counts at a node, by its path or by a token's share; shares are rounded. */
  belongs(doc, node, below) {
    const { home, tokens } = this.docs;
    if (node === 0 && this.roots.length === 1) return true;
    if (this.tree.paths) return home[doc] >= node && home[doc] < this.nodes.end[node];
    return below > 0 && (!tokens || (below + 0.5) * tokens[doc] >= UNIT);
  }

  /** Whether a document counts at a node once: its main topic is there, and it has words. */
  countsAt(doc, node) {
    const { home, tokens } = this.docs;
    return home[doc] >= node && home[doc] < this.nodes.end[node] && (!tokens || tokens[doc] > 0);
  }

  /** Return the places and shares of a document, the largest first. */
  sharesOf(doc) {
    const found = [];
    for (let i = this.entry[doc]; i < this.entry[doc + 1]; i++) {
      found.push({ node: this.docs.place[i], share: this.docs.share[i] / UNIT });
    }
    return found.sort((a, b) => b.share - a.share || a.node - b.node);
  }

  /** Return the nodes from the root to a node. */
  pathTo(node) {
    const path = [];
    for (let i = node; i !== ROOT; i = this.nodes.parent[i]) path.unshift(i);
    return path;
  }

  /** Return the words of a document with their counts and nodes, the most frequent first. */
  wordsOf(doc) {
    if (!this.content) return [];
    const { times, topic } = this.parts.contents;
    const found = [];
    for (let i = this.content[doc]; i < this.content[doc + 1]; i++) {
      const entry = this.entry[doc] + topic[i];
      const node = entry < this.entry[doc + 1] ? this.docs.place[entry] : ROOT;
      found.push({ word: this.words[this.word[i]], times: times[i], node });
    }
    return found.sort((a, b) => b.times - a.times);
  }

  /** Return the values of a document in a column; of dates the days, which bars count by months or years. */
  valuesOf(column, doc) {
    const [names, own] = column.days ? [column.days, column.doc_day] : [column.values, column.doc_value];
    return own.slice(column.docFirst[doc], column.docFirst[doc + 1]).map((v) => names[v]);
  }

  /** Return the words of a node, or of all at and below it, by relevance: weight 1 is by probability, 0 by lift. A word without a share in the corpus has no lift. */
  ranked(node, weight, ofBranch = false) {
    const ids = (ofBranch ? this.nodes.branch_words : this.nodes.words)[node];
    const values = (ofBranch ? this.nodes.branch_values : this.nodes.values)[node];
    const rows = ids.map((id, i) => {
      const share = this.shares ? this.shares[id] : 0;
      const log = Math.log(Math.max(values[i], 1e-300));
      const score = this.shares ? log - (1 - weight) * Math.log(share || 1) : -i;
      return { word: this.words[id], value: values[i], share, score };
    });
    return rows.sort((a, b) => b.score - a.score);
  }

  /** Return how large a node is: its documents, or the share of the words at or below it, as the reader wants. */
  sizeOf(node) {
    return this.by === "documents" ? this.nodes.branch_docs[node] : this.nodes.below[node];
  }

  /** Return the size of a node in letters. */
  sizeText(node) {
    return this.by === "documents" ? whole.format(this.nodes.branch_docs[node]) : percent(this.nodes.below[node]);
  }

  /** Return what the sizes of nodes count. */
  get sizeNoun() {
    return this.by === "documents" ? "documents" : this.tree.values === "loading" ? "rows" : "words";
  }

  /** Return nodes, the largest first. */
  largestFirst(nodes) {
    return nodes.slice().sort((a, b) => this.sizeOf(b) - this.sizeOf(a) || a - b);
  }

  /** Return the first of the words that a node is called by; of a vector without words its length. */
  calledBy(node, n) {
    const ids = this.nodes.called[node];
    return ids.length ? ids.slice(0, n).map((id) => this.words[id]) : this.topWords(node, n);
  }

  /** Return what a node is called by: its first words, or the parts of its name. */
  nameOf(node, n) {
    const parts = this.nodes.parts && this.nodes.parts[node];
    return parts && parts.length ? inParts(parts.map((part) => part.map((id) => this.words[id])), n) : this.calledBy(node, n).join(" ");
  }

  /** Return the most probable words of a node. */
  topWords(node, n) {
    const ids = this.nodes.words[node];
    if (!ids.length) return this.nodes.norm ? [`norm ${this.nodes.norm[node]}`] : [];
    return ids.slice(0, n).map((id) => this.words[id]);
  }
}
