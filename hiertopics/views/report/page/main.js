// The page: header, panes, and what an address (#t45, #d12, #g3, #model) shows.

const narrow = matchMedia("(max-width: 899px)");
const paper = matchMedia("print");
const phone = matchMedia("screen and (max-width: 480px)");

/** Sentences of the paragraph above the map that a narrow window shows at once: size and largest branches. */
const FIRST_SENTENCES = 2;

/** Divide the pieces of a paragraph after so many sentences. @param {(string | number)[]} pieces @param {number} n */
function divided(pieces, n) {
  let left = n;
  for (const [i, piece] of pieces.entries()) {
    if (typeof piece === "number") continue;
    for (const { index } of piece.matchAll(/\.(?= |$)/g)) {
      left -= 1;
      if (left === 0) return [[...pieces.slice(0, i), piece.slice(0, index + 1)], [piece.slice(index + 2), ...pieces.slice(i + 1)].filter((one) => one !== "")];
    }
  }
  return [pieces, []];
}

/** Everything the views share. */
class Page {
  /** @param {any} parts */
  constructor(parts) {
    this.data = new Data(parts);
    this.labels = new Labels(this.data);
    this.edits = new Edits(this.data);
    this.asked = new Asked();
    this.timeBy = "";
    this.isWhole = false;
    this.drawEdits = () => {};
    this.finder = new Search(this.data, this.labels);
    this.relevance = 1;
    this.columnsBy = "share";
    /** @type {string[]} */
    this.terms = [];
    this.detail = document.getElementById("detail");
    this.comparison = parts.comparison ? new Comparison(this) : null;
    const choose = (node) => this.open(node);
    this.map = new TopicMap(this.data, this.labels, choose);
    this.outline = new Outline(this.data, this.labels, choose);
    this.map.onCut = () => {
      this.outline.draw();
      if (this.input.value) this.searched();
      this.route(false);
    };
    this.drawHead();
    this.found = h("div", { class: "found", hidden: true });
    document.getElementById("main").prepend(this.found);
    document.getElementById("tree").append(this.map.element, this.outline.element);
    this.labels.listeners.push(() => this.relabelled());
    this.edits.listeners.push(() => this.edited());
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.detail.focus();
    });
    addEventListener("hashchange", () => this.route());
    this.watchWidth();
  }

  drawHead() {
    const { card, parts } = { card: this.data.card, parts: this.data.parts };
    const kinds = { flat: "topic", arranged: "topic", tree: "topic" };
    const size = this.data.tree.kind === "arranged" ? parts.nodes.id.filter((id) => typeof id === "number").length : this.data.n;
    // What the paragraph tells is not told twice.
    const line = [card.backend, count(card.corpus.n_docs, "document"), count(size, kinds[this.data.tree.kind]), !parts.lead && inOneLine(card)].filter(Boolean);
    this.input = h("input", { id: "query", type: "search", placeholder: "Words or names", "aria-label": "Search topics and documents", autocomplete: "off", spellcheck: "false", oninput: () => this.searched() });
    this.lead = document.getElementById("lead");
    this.drawLead();
    narrow.addEventListener("change", () => this.drawLead());
    this.save = h("button", { class: "save", hidden: true, onclick: () => download("labels.csv", csvText(this.labels.rows()), "text/csv") }, "Save labels.csv");
    this.saveEdits = h("button", { class: "save", hidden: true, onclick: () => download("edits.yaml", this.edits.text(), "application/yaml") }, "Save edits.yaml");
    this.nav = h("nav", { class: "views", "aria-label": "Views" }, [["", "Overview"], ["documents", "Documents"], parts.groups && ["groups", "Groups"], ["model", "Model"], this.comparison && ["compare", "Compare"]]
      .filter(Boolean).map(([hash, text]) => h("a", { href: `#${hash}`, onclick: () => this.input.value && this.search("") }, text)));
    document.getElementById("head").append(
      h("div", { class: "title" }, h("h1", {}, told(parts.title)), h("p", { class: "sub" }, line.join(" · "))),
      h("div", { class: "bar" }, this.nav, this.save, this.saveEdits, h("form", { role: "search", onsubmit: (event) => event.preventDefault() }, this.input)));
    addEventListener("keydown", (event) => {
      const inField = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        this.input.focus();
      } else if (event.key === "Escape" && this.input.value) this.search("");
    });
  }

  /** Write the paragraph above the map; topics are links, called as a reader calls them. In a narrow window all but its first sentences is folded. */
  drawLead() {
    const named = new Set();
    const link = (node) => {
      const n = named.has(node) ? APART : NAME_WORDS;
      named.add(node);
      const name = h("a", { href: `#t${this.data.nodes.id[node]}` }, told(this.labels.called(node, n)));
      name.style.textDecorationColor = inkColour(this.data, node);
      return name;
    };
    const written = (pieces) => h("p", {}, pieces.map((piece) => (typeof piece === "number" ? link(piece) : visible(piece))));
    const all = this.data.parts.lead || [];
    const [first, rest] = narrow.matches ? divided(all, FIRST_SENTENCES) : [all, []];
    const open = Boolean(this.lead.querySelector("details[open]"));
    this.lead.replaceChildren(...(first.length ? [written(first)] : []), ...(rest.length ? [h("details", { open }, h("summary", {}, "More"), written(rest))] : []));
    this.showLead();
  }

  /** The paragraph tells of the whole: it stands above the map where nothing else is looked at. */
  showLead() {
    this.lead.hidden = !this.lead.childNodes.length || Boolean(this.address());
  }

  /** Take the words and texts of documents, and show them where they are looked at. */
  complete(parts) {
    this.isWhole = true;
    if (!Object.keys(parts).length) return;
    this.data.complete(parts);
    this.finder.low = null;
    if (this.input.value) this.searched();
    const address = this.address();
    if (address && !["model", "compare"].includes(address) && !this.detail.contains(document.activeElement)) this.route(false);
  }

  /** Show what a reader wants of the tree. */
  edited() {
    this.saveEdits.hidden = !this.edits.wanted.length;
    this.drawEdits();
  }

  /** Show the documents of a branch and of a value of a column. */
  showDocuments(node, column, value) {
    this.asked.branch = node;
    this.asked.values = new Map([[column.name, value]]);
    location.hash = "documents";
  }

  relabelled() {
    this.drawLead();
    this.save.hidden = !this.labels.changed;
    // The form that a reader is writing in stays as it is.
    const node = this.nodeOf(this.address());
    const heading = this.detail.querySelector("h2");
    if (heading && node >= 0) heading.replaceChildren(h("span", { class: "id" }, `[${this.data.nodes.id[node]}] `), told(this.labels.called(node, 5)));
  }

  /** Redraw drawings whose width is that of their column. */
  watchWidth() {
    let width = 0;
    const head = document.getElementById("head");
    const above = new ResizeObserver(() => document.documentElement.style.setProperty("--head", `${head.offsetHeight + this.lead.offsetHeight + 32}px`));
    for (const element of [head, this.lead]) above.observe(element);
    new ResizeObserver(() => {
      const now = this.detail.clientWidth;
      if (width && now && Math.abs(now - width) > 20) this.route(false);
      width = now || width; // results of a search may stand in its place
    }).observe(this.detail);
    // Drawings of the overview take the width of paper; other views keep what is written into their forms.
    paper.addEventListener("change", () => this.address() || this.route(false));
  }

  /** Search, as if a reader had typed it. @param {string} text */
  search(text) {
    this.input.value = text;
    this.searched();
    if (text) this.found.scrollIntoView({ block: "nearest" });
  }

  searched() {
    const result = this.finder.find(this.input.value);
    const isBack = !result && !this.found.hidden && !this.address();
    this.found.hidden = !result;
    this.showWidth();
    if (isBack) this.route(false); // what is drawn while it is hidden has no width
    this.terms = result ? result.terms : [];
    const hasWord = result && new Set([...result.words].map((node) => this.data.shownAt(node)));
    if (result) result.nodes = [...new Set(result.nodes.map((node) => this.data.shownAt(node)))];
    this.map.hits = result ? new Set(result.nodes.flatMap((node) => this.data.pathTo(node))) : null;
    this.map.found = result ? new Set(result.nodes) : null;
    this.map.draw(true);
    if (!result) {
      this.found.replaceChildren();
      say("");
      return;
    }
    const { nodes, docs } = result;
    const here = this.textsHere();
    say(`${count(nodes.length, "topic")}, ${count(docs.length, "document")} found${here && `; ${here}`}`);
    const bySize = this.data.largestFirst(nodes);
    const largest = [...bySize.filter((node) => hasWord.has(node)), ...bySize.filter((node) => !hasWord.has(node))];
    this.found.replaceChildren(
      h("div", { class: "blockhead" }, h("h2", { id: "counts" }, `${count(nodes.length, "topic")}, ${count(docs.length, "document")}`), here && h("span", { class: "hint" }, here), h("button", { class: "small", onclick: () => this.search("") }, "Clear")),
      nodes.length > 0 && longList("Topics found", nodes.length, 44, (i) => [h("a", { class: "topic", href: `#t${this.data.nodes.id[largest[i]]}` }, marked(this.foundText(largest[i]), this.terms)), h("span", { class: "share" }, this.data.sizeText(largest[i]))]) || "",
      nodes.length + docs.length ? "" : this.searchedHint(),
      docs.length > 0 && longList("Documents found", docs.length, ROW, (i) => documentRow(this, docs[i], null, this.data.docs.home[docs[i]], this.terms)) || "",
      docs.length > 0 && !this.data.parts.texts && this.data.content ? h("p", { class: "hint" }, "Bold words are most probably of the document's main topic.") : "");
  }

  /** Sentences on what a search looks at, where it finds nothing. */
  searchedHint() {
    const { card, parts, docs } = this.data;
    const longest = (parts.texts || []).reduce((most, text) => Math.max(most, text.length), 0);
    const of = ["names", this.data.content && "words", this.data.columns.length > 0 && "metadata", longest > 0 && `the first ${whole.format(longest)} letters`].filter(Boolean);
    const last = of.pop();
    const { n_heldout: n } = card.split;
    return h("p", { class: "hint" }, "Nothing holds all terms. A search looks at numbers, names and words of topics", docs && `, and at ${of.length ? `${of.join(", ")} and ` : ""}${last} of documents`, ".",
      n > 0 && ` ${count(n, "document")} that ${n === 1 ? "is" : "are"} held out ${n === 1 ? "is" : "are"} not searched.`);
  }

  /** Return a sentence on the number of documents whose texts the page has; "" if it has all. */
  textsHere() {
    const { data } = this;
    if (!data.docs || data.tree.values === "loading" || !this.isWhole) return "";
    const { total, tokens } = data.docs;
    const texts = data.parts.texts || [];
    const n = data.row.filter((_, doc) => texts[doc] || (tokens && !tokens[doc]) || (data.content && data.content[doc + 1] > data.content[doc])).length;
    if (n === total) return "";
    return n ? `texts of ${whole.format(n)} of ${count(total, "document")} are here` : "no texts of documents are here";
  }

  /** Number, name and further words of a node, those with a term first: terms before words that contain one. */
  foundText(node) {
    const words = this.data.nodes.words[node].map((id) => this.data.words[id]);
    const rank = (word) => Number(!this.terms.some((term) => Search.asWord(word.toLowerCase(), term)));
    const hit = (word) => this.terms.some((term) => word.toLowerCase().includes(term));
    const name = this.labels.called(node, NAME_WORDS);
    const own = new Set(name.split(/[ ·]+/));
    const hits = words.filter((word) => hit(word) && !own.has(word)).sort((a, b) => rank(a) - rank(b));
    return `[${this.data.nodes.id[node]}] ${name}${hits.length ? `: ${hits.slice(0, 4).join(" ")}` : ""}`;
  }

  address() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  }

  nodeOf(address) {
    const place = /^t/.test(address) ? this.data.place.get(address.slice(1)) : undefined;
    return place === undefined ? -1 : place;
  }

  /** The node that an address is about: the topic itself, or where a document stands. */
  homeOf(address, node) {
    if (node >= 0 || !/^d\d+$/.test(address) || !this.data.docs) return node;
    const doc = this.data.docOfRow.get(Number(address.slice(1)) - 1);
    return doc === undefined ? -1 : this.data.docs.home[doc];
  }

  open(node) {
    const address = `#t${this.data.nodes.id[node]}`;
    if (location.hash === address) this.route();
    else location.hash = address;
  }

  /** Show what the address names. move: also bring it into sight. */
  route(move = true) {
    const address = this.address();
    const node = this.nodeOf(address);
    this.showWidth(); // drawings take the width that they find
    this.detail.replaceChildren(...this.viewOf(address, node).flat(Infinity).filter(Boolean));
    for (const link of this.nav.children) {
      const isHere = link.getAttribute("href") === `#${address}` || (!address && link.getAttribute("href") === "#");
      if (isHere) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.showLead();
    const home = this.data.shownAt(this.homeOf(address, node));
    if (move && !address) this.map.zoom(ROOT); // the overview is of the whole
    this.map.show(home);
    this.outline.show(home);
    this.detail.scrollTop = 0;
    if (!move) return;
    const heading = this.detail.querySelector("h2");
    if (address && heading) say(heading.textContent);
    if (address && innerWidth < 900) this.detail.scrollIntoView();
  }

  /** What is not about topics takes the place of the map; results of a search take that of the overview. */
  showWidth() {
    const address = this.address();
    const main = document.getElementById("main").classList;
    main.toggle("alone", ["model", "documents", "compare"].includes(address));
    main.toggle("inColumns", address === "model");
    main.toggle("overview", !address);
    document.body.classList.toggle("finding", !this.found.hidden);
  }

  viewOf(address, node) {
    const { data } = this;
    if (node >= 0) return topicView(this, node);
    const number = Number(address.slice(1));
    if (/^d\d+$/.test(address) && data.docs && data.docOfRow.has(number - 1)) return documentView(this, data.docOfRow.get(number - 1));
    if (/^g\d+$/.test(address) && data.groups && number < data.groups.name.length) return groupView(this, number);
    if (address === "documents") return documentsView(this);
    if (address === "groups" && data.groups) return groupsView(this);
    if (address === "model") return cardView(this);
    if (address === "compare" && this.comparison) return this.comparison.view();
    const lost = address ? [h("p", { class: "hint" }, this.isHeldOut(number, address) ? `Document ${whole.format(number)} is held out: the model was not fitted to it, and this report has fitted documents alone.` : `This report has no ${visible(address)}.`)] : [];
    return [...lost, ...this.overview()];
  }

  /** Whether an address is that of a document that the fit did not see. */
  isHeldOut(number, address) {
    const { n_train: n, n_heldout: more } = this.data.card.split;
    return /^d\d+$/.test(address) && this.data.nDocs === n && number >= 1 && number <= n + more;
  }

  overview() {
    const { data } = this;
    const { card, parts } = { card: data.card, parts: data.parts };
    const deepest = data.depth.reduce((a, b) => Math.max(a, b), 0) + 1;
    return [
      h("h2", {}, "Overview"),
      h("p", {}, `${card.about[0].toUpperCase()}${card.about.slice(1)}.`),
      parts.tree.note && h("p", { class: "note" }, visible(parts.tree.note), "."),
      !parts.lead && parts.tree.come_back && h("p", { class: "note" }, visible(parts.tree.come_back), "."),
      h("dl", { class: "facts" }, [
        !parts.lead && [whole.format(card.corpus.n_docs), "documents"], !parts.lead && [whole.format(data.n), data.tree.kind === "flat" ? "topics" : "nodes"],
        data.tree.kind !== "flat" && [whole.format(deepest), deepest === 1 ? "level" : "levels"],
        data.tree.values === "probability" && [whole.format(card.corpus.n_words), "words in the vocabulary"],
        !parts.lead && data.tree.values === "probability" && [whole.format(card.corpus.n_tokens), "words in all"],
      ].filter(Boolean).map(([value, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, value)))),
      branchesBlock(this) || branchList(this),
      agreementBlock(this),
      h("div", { class: "handling" }, section("How to read this page", null, h("ul", { class: "hints" },
        data.tree.kind === "flat" ? h("li", {}, "A box of the map is a topic, as high as it has documents.") : h("li", {}, "A box of the map is a topic; the boxes to its right are its parts. Click to look inside; click the leftmost to come back."),
        h("li", {}, "The outline below the map holds the same: arrow keys move, Enter opens. Press / to search."),
        data.nodes.id.some((_, node) => isWeak(data, node)) && h("li", {}, `A name in grey: the topic comes back to less than ${percent(SUPPORTED)} in fits to parts of the documents.`),
        h("li", {}, "Colours are branches. A topic has an address of its own: copy the link to send it.")))),
      parts.left_out.length > 0 && section("Left out", null, h("ul", { class: "hints" }, parts.left_out.map((line) => h("li", {}, visible(line), ".")))),
      h("p", { class: "hint" }, `Made by ${parts.program}. This file loads nothing and sends nothing.`),
    ];
  }
}

document.documentElement.classList.add("js");
unpacked(false).then(async (parts) => {
  const page = new Page(parts);
  page.relabelled();
  page.edited();
  page.route();
  document.documentElement.classList.add("ready");
  // What is seen is drawn first.
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  page.complete(await unpacked(true));
  document.documentElement.classList.add("whole");
}).catch((error) => {
  document.documentElement.classList.remove("js");
  document.getElementById("detail").append(h("p", { class: "note" }, `This browser cannot unpack the data (${error.message}); the list of topics below is complete in itself.`));
});
