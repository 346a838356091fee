// The outline: the tree as rows that open and close, by mouse and by keyboard (role=tree).

const AT_ONCE = 60;
const SUPPORTED = 0.5;

/** Whether a topic does not come back in fits to parts of the documents. */
function isWeak(data, node) {
  const { back } = data.nodes;
  return Boolean(back) && back[node] !== null && back[node] < SUPPORTED;
}

/** The twin of the map. Only rows of open nodes exist. */
class Outline {
  /** @param {Data} data @param {Labels} labels @param {(node: number) => void} choose */
  constructor(data, labels, choose) {
    Object.assign(this, { data, labels, choose, chosen: -1, open: new Set(), shown: new Map(), at: data.roots[0] ?? -1 });
    const top = data.roots.length === 1 ? data.roots : [];
    for (const node of top) this.open.add(node);
    this.element = h("div", { class: "outline", role: "tree", "aria-label": "Outline of topics", onkeydown: (event) => this.pressed(event) });
    labels.listeners.push(() => this.draw());
    this.draw();
  }

  children(node) {
    const all = node === ROOT ? this.data.roots : this.data.children[node];
    return this.data.largestFirst(all);
  }

  draw() {
    const rows = [];
    this.order = [];
    const walk = (node) => {
      const children = this.children(node);
      const most = this.shown.get(node) || AT_ONCE;
      children.slice(0, most).forEach((child, i) => {
        rows.push(this.row(child, i, children.length));
        this.order.push(child);
        if (this.open.has(child)) walk(child);
      });
      if (children.length > most) rows.push(this.more(node, children.length - most));
    };
    walk(ROOT);
    const focused = this.element.contains(document.activeElement);
    this.element.replaceChildren(...rows);
    if (focused) this.focusOn(this.at);
  }

  row(node, place, siblings) {
    const { data, labels } = this;
    const hasChildren = data.children[node].length > 0;
    const isOpen = this.open.has(node);
    const inDocuments = data.by === "documents";
    const share = data.sizeOf(node) / (inDocuments ? Math.max(data.nodes.branch_docs[data.roots[0]], data.docs ? data.docs.total : 0, 1) : 1);
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = inkColour(data, node);
    const bar = h("span", { class: "bar" });
    bar.style.width = `${Math.min(100 * share, 100).toFixed(1)}%`;
    bar.style.background = inkColour(data, node);
    const row = h("div", {
      role: "treeitem", class: `item${labels.hidden(node) ? " gone" : ""}${isWeak(data, node) ? " weak" : ""}`, id: `o${data.nodes.id[node]}`, "data-node": node,
      "aria-level": data.depth[node] + 1, "aria-posinset": place + 1, "aria-setsize": siblings,
      "aria-expanded": hasChildren ? String(isOpen) : null, "aria-selected": String(node === this.chosen),
      tabindex: node === this.at ? "0" : "-1",
      onclick: (event) => {
        this.at = node;
        if (event.target.classList.contains("twist")) this.toggle(node);
        else this.choose(node);
      },
    },
      h("span", { class: "twist", "aria-hidden": "true" }, hasChildren ? (isOpen ? "▾" : "▸") : ""), swatch,
      h("span", { class: "what" }, labels.of(node).name && h("b", {}, told(labels.of(node).name), " "), told(data.nameOf(node, 7))),
      h("span", { class: "docs" }, h("span", { class: "track", "aria-hidden": "true" }, bar), h("span", { class: "number" }, data.sizeText(node), h("span", { class: "unseen" }, inDocuments ? " documents" : ` of all ${data.sizeNoun}`))));
    row.style.paddingInlineStart = `${data.depth[node] * 16 + 4}px`;
    return row;
  }

  more(node, n) {
    const depth = node === ROOT ? 0 : this.data.depth[node] + 1;
    const row = h("div", { role: "treeitem", class: "item more", "aria-level": depth + 1, "aria-selected": "false", tabindex: "-1", onclick: () => {
      this.shown.set(node, (this.shown.get(node) || AT_ONCE) * 4);
      this.draw();
    } }, `show ${whole.format(n)} more`);
    row.style.paddingInlineStart = `${depth * 16 + 36}px`;
    return row;
  }

  toggle(node, isOpen = !this.open.has(node)) {
    if (isOpen) this.open.add(node);
    else this.open.delete(node);
    this.draw();
  }

  /** Mark a node as the chosen one, with all above it open. */
  show(node) {
    this.chosen = node;
    if (node >= 0) {
      this.at = node;
      for (const above of this.data.pathTo(node).slice(0, -1)) {
        this.open.add(above);
        this.shown.set(above, Math.max(this.shown.get(above) || AT_ONCE, this.children(above).length));
      }
      if (this.data.nodes.parent[node] === ROOT) this.shown.set(ROOT, this.data.roots.length);
    }
    this.draw();
    const row = this.element.querySelector(`[data-node="${node}"]`);
    if (row && !this.element.contains(document.activeElement)) this.element.scrollTop = Math.max(row.offsetTop - this.element.clientHeight / 2, 0);
  }

  focusOn(node) {
    this.at = node;
    for (const row of this.element.querySelectorAll("[data-node]")) row.tabIndex = Number(row.dataset.node) === node ? 0 : -1;
    const row = this.element.querySelector(`[data-node="${node}"]`);
    if (row) row.focus();
  }

  /** The keys of a tree: arrows, home, end, enter, blank, letters. */
  pressed(event) {
    const node = Number(event.target.dataset?.node ?? -1);
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (node < 0) {
      if (event.key === "Enter") event.target.click();
      return;
    }
    const place = this.order.indexOf(node);
    const { data } = this;
    const go = (to) => to !== undefined && to >= 0 && this.focusOn(to);
    const actions = {
      ArrowDown: () => go(this.order[place + 1]),
      ArrowUp: () => go(this.order[place - 1]),
      Home: () => go(this.order[0]),
      End: () => go(this.order.at(-1)),
      ArrowRight: () => (this.open.has(node) ? go(this.children(node)[0]) : data.children[node].length && this.toggle(node, true)),
      ArrowLeft: () => (this.open.has(node) ? this.toggle(node, false) : go(data.nodes.parent[node])),
      Enter: () => this.choose(node),
      " ": () => this.choose(node),
    };
    this.at = node;
    if (actions[event.key]) {
      event.preventDefault();
      actions[event.key]();
    } else if (event.key.length === 1) {
      const letter = event.key.toLowerCase();
      const later = [...this.order.slice(place + 1), ...this.order.slice(0, place)];
      go(later.find((other) => this.labels.called(other).toLowerCase().startsWith(letter)));
    }
  }
}
