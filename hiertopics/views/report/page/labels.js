// Names, notes and hidden topics that a reader gives: kept by the browser, saved as labels.csv.

/** @typedef {{name?: string, note?: string, hidden?: boolean}} Label */

/** What a reader says of topics; told listeners redraw. */
class Labels {
  /** @param {Data} data */
  constructor(data) {
    this.data = data;
    this.key = `hiertopics ${data.parts.key}`;
    /** @type {Record<string, Label>} */
    this.given = {};
    /** @type {(() => void)[]} */
    this.listeners = [];
    const { name = [], note = [], hidden = [] } = data.nodes;
    data.nodes.id.forEach((id, i) => {
      if (name[i] || note[i] || hidden[i]) this.given[id] = { name: name[i], note: note[i], hidden: hidden[i] };
    });
    this.before = JSON.stringify(this.given);
    try {
      const kept = JSON.parse(localStorage.getItem(this.key) || "null");
      if (kept && typeof kept === "object") this.given = kept;
    } catch {
      // A browser that keeps nothing still shows everything.
    }
  }

  get changed() {
    return JSON.stringify(this.given) !== this.before;
  }

  of(node) {
    return this.given[this.data.nodes.id[node]] || {};
  }

  /** @param {number} node @param {Label} label */
  set(node, label) {
    const id = this.data.nodes.id[node];
    const merged = { ...this.given[id], ...label };
    for (const key of Object.keys(merged)) if (!merged[key]) delete merged[key];
    if (Object.keys(merged).length) this.given[id] = merged;
    else delete this.given[id];
    try {
      localStorage.setItem(this.key, JSON.stringify(this.given));
    } catch {
      // As above.
    }
    for (const told of this.listeners) told();
  }

  hidden(node) {
    return this.data.pathTo(node).some((above) => this.of(above).hidden);
  }

  /** Return what a node is called: its name, else its first words. */
  called(node, n = 4) {
    return this.of(node).name || this.data.nameOf(node, n);
  }

  /** Return the rows of labels.csv, the header first. */
  rows() {
    const rows = [["node", "words", "name", "hidden", "note"]];
    this.data.nodes.id.forEach((id, i) => {
      const { name = "", note = "", hidden = false } = this.given[id] || {};
      if (name || note || hidden) rows.push([id, this.data.topWords(i, 5).join(" "), name, hidden ? "true" : "", note]);
    });
    return rows;
  }
}
