// A topic: its words, what tells it from its neighbours, its metadata and its documents.

const ROW = 62;

/** The least weight of probability in the order of words: at 0 all words would be those of a few tokens that stand nowhere else. */
const LEAST_RELEVANCE = 0.2;
const RELEVANCE = "Order of words. Right: the most frequent here. Left: those that are more frequent here than in all documents; rare words stay below";

/** A link to a topic. */
function topicLink(page, node, n = 4) {
  const swatch = h("span", { class: "swatch" });
  swatch.style.background = inkColour(page.data, node);
  return h("a", { class: "topic", href: `#t${page.data.nodes.id[node]}` }, swatch, told(page.labels.called(node, n)));
}

/** A line with a bar: label, length 0..1, text. */
function meter(label, share, text, fill, more = {}) {
  const bar = h("span", { class: "bar" });
  bar.style.width = `${Math.min(Math.max(100 * share, 0), 100).toFixed(2)}%`;
  bar.style.background = fill;
  if (more.pale) bar.style.opacity = String(PALE);
  const tick = more.tick !== undefined && h("span", { class: "tick" });
  if (tick) tick.style.insetInlineStart = `${Math.min(100 * more.tick, 100).toFixed(2)}%`;
  return h("li", { class: "meter", title: more.title }, h("span", { class: "label" }, label), h("span", { class: "track", "aria-hidden": "true" }, bar, tick), h("span", { class: "number" }, text));
}

function topicView(page, node) {
  const { data, labels } = page;
  const id = data.nodes.id[node];
  const { name } = labels.of(node);
  const path = data.pathTo(node).slice(0, -1);
  const isBranch = data.every[node].length > 0;
  const hasWordsBelow = isBranch && Boolean(data.nodes.branch_words);
  return [
    path.length > 0 && h("nav", { class: "crumbs", "aria-label": "Topics above" }, path.map((above) => topicLink(page, above, 2))),
    h("h2", {}, h("span", { class: "id" }, `[${id}] `), told(name || data.nameOf(node, 5))),
    name && !isBranch && h("p", { class: "sub" }, told(data.nameOf(node, 8))),
    isBranch && chips(page, data.calledBy(node, 10)),
    facts(page, node),
    naming(page, node),
    editBlock(page, node),
    isBranch && childBlock(page, node),
    wordBlock(page, node, hasWordsBelow),
    !isBranch && tellingBlock(page, node),
    documentBlock(page, node),
    columnBlocks(page, node),
    hasWordsBelow && ownBlock(page, node),
    isBranch && tellingBlock(page, node),
  ];
}

/** How a number of a topic is written. */
const FORMS = { count: (value) => whole.format(value), percent, decimal: (value) => value.toFixed(2) };

/** A number of a topic and what it is; null where it is not shown. docs/report.md: the part `facts`. */
function factOf(data, fact, node) {
  const { nodes, tree } = data;
  const value = nodes[fact.column][node];
  if (value === null || (fact.unlike && nodes[fact.unlike][node] === value)) return null;
  if (!fact.roots && nodes.parent[node] === ROOT) return null;
  const text = FORMS[fact.form](value);
  return [fact.of ? `${text} of ${tree[fact.of]}` : text, fact.one && value === 1 ? fact.one : fact.label];
}

function facts(page, node) {
  const { data } = page;
  const items = [...data.parts.facts.map((fact) => factOf(data, fact, node)), page.comparison && page.comparison.factOf(node)];
  return h("dl", { class: "facts" }, items.filter(Boolean).map(([value, what]) => h("div", {}, h("dt", {}, what), h("dd", {}, value))));
}

/** Name, note and hiding; kept in this browser until they are saved. */
function naming(page, node) {
  const label = page.labels.of(node);
  const keep = (key) => (event) => page.labels.set(node, { [key]: event.target.type === "checkbox" ? event.target.checked : event.target.value.trim() });
  return h("details", { class: "naming", open: Boolean(label.note) },
    h("summary", {}, "Name, note, hide"),
    h("label", {}, "Name ", h("input", { id: "name", value: label.name || "", maxlength: 200, onchange: keep("name") })),
    h("label", {}, "Note ", h("textarea", { id: "note", rows: 2, maxlength: 2000, onchange: keep("note") }, label.note || "")),
    h("label", { class: "line" }, h("input", { id: "hide", type: "checkbox", checked: Boolean(label.hidden), onchange: keep("hidden") }), " Hide in the map"),
    h("p", { class: "hint" }, "Kept in this browser. “Save labels.csv” above makes a file of all names."));
}

/** Rows of a list of bars that a phone shows at once: what stands below the list stays near. */
const FIRST_ROWS = 8;

/** A list of bars; on a phone all but its first rows are folded, with this noun. @param {string} kind @param {HTMLElement[]} rows @param {string} noun */
function folded(kind, rows, noun) {
  const list = (some) => h("ol", { class: `meters ${kind}` }, some);
  const rest = phone.matches ? rows.slice(FIRST_ROWS) : [];
  const shown = list(rows.slice(0, rows.length - rest.length));
  return rest.length ? [shown, h("details", {}, h("summary", {}, count(rest.length, `more ${noun}`)), list(rest))] : [shown];
}

/** Words as bars, with a slider from frequent to telling ones: of the node, or of all at and below it. */
function wordBlock(page, node, ofBranch = false) {
  const { data } = page;
  if (!(ofBranch ? data.nodes.branch_words : data.nodes.words)[node].length) return null;
  const kind = data.tree.values;
  const list = h("div", {});
  const out = h("output", { for: "relevance" });
  const rows = () => data.ranked(node, page.relevance, ofBranch).slice(0, 30);
  const fill = inkColour(data, node);
  const tellOf = (value) => (kind === "loading" ? short.format(value) : percent(value));
  const draw = () => {
    const shown = rows();
    const most = Math.max(...shown.map((row) => Math.abs(row.value)), 1e-12);
    const isOpen = Boolean(list.querySelector("details[open]"));
    list.replaceChildren(...folded("words", shown.map((row) => meter(
      h("button", { class: "plain", onclick: () => page.search(row.word) }, told(row.word)),
      Math.abs(row.value) / most, tellOf(row.value), row.value < 0 ? "#a07050" : fill,
      { tick: data.shares ? row.share / most : undefined, title: data.shares ? `${percent(row.value)} here, ${percent(row.share)} in all documents` : undefined })), "word"));
    if (isOpen && list.querySelector("details")) list.querySelector("details").open = true;
    out.textContent = page.relevance.toFixed(1);
  };
  const slider = data.shares && h("div", { class: "slider" },
    h("label", { for: "relevance", title: RELEVANCE }, "telling"),
    h("input", { id: "relevance", type: "range", min: LEAST_RELEVANCE, max: 1, step: 0.1, value: page.relevance, title: RELEVANCE, "aria-label": RELEVANCE, oninput: (event) => {
      page.relevance = Number(event.target.value);
      draw();
    } }),
    h("span", { "aria-hidden": "true", title: RELEVANCE }, "frequent"), out);
  draw();
  const chart = () => rowChart(rows().map((row) => ({ value: row.word, n: row.value, fill, tick: data.shares ? row.share : undefined })), 520, "Words", tellOf);
  const csv = () => [["node", "word", kind, ...(data.shares ? ["share in corpus", "relevance"] : [])], ...rows().map((row) => [data.nodes.id[node], row.word, row.value, ...(data.shares ? [row.share, row.score] : [])])];
  const title = kind === "loading" ? "Columns" : ofBranch ? "Words at or below" : "Words";
  return section(title, takeaway(`words-${data.nodes.id[node]}`, { svg: chart, csv }), slider, list,
    data.shares && h("p", { class: "hint" }, "Bar: how probable the word is here. Mark: in all documents.", h("span", { class: "handling" }, " A word starts a search.")));
}

/** The words that stop at a branch itself, the most probable first. */
function ownBlock(page, node) {
  const { data } = page;
  const shown = data.nodes.weight[node] > 0 ? data.ranked(node, 1).slice(0, 12) : [];
  if (!shown.length) return null;
  const id = data.nodes.id[node];
  const csv = () => [["node", "word", data.tree.values], ...shown.map((row) => [id, row.word, row.value])];
  return section(`Words that stop here, ${percent(data.nodes.weight[node])} of all`, takeaway(`own-words-${id}`, { csv }), chips(page, shown.map((row) => row.word)));
}

/** Words that start a search. */
function chips(page, words) {
  return h("p", { class: "chips" }, words.map((word) => h("button", { class: "chip", onclick: () => page.search(word) }, told(word))));
}

function tellingBlock(page, node) {
  const { data } = page;
  const words = (data.nodes.telling[node] || []).map((id) => data.words[id]);
  if (!words.length) return null;
  const above = data.nodes.parent[node];
  const siblings = (above === ROOT ? data.roots : data.children[above]).filter((other) => other !== node);
  return section("What tells it from its neighbours", null,
    chips(page, words),
    siblings.length > 0 && h("details", {}, h("summary", {}, count(siblings.length, "sibling")),
      h("ul", { class: "links" }, siblings.slice(0, 100).map((other) => h("li", {}, topicLink(page, other, 6))))));
}

function childBlock(page, node) {
  const { data } = page;
  const children = data.largestFirst(data.every[node]);
  if (!children.length) return null;
  const most = Math.max(data.sizeOf(children[0]), 1e-9);
  const line = (child) => meter(topicLink(page, child, 5), data.sizeOf(child) / most, data.sizeText(child), inkColour(data, child));
  const rest = children.slice(12);
  return section(`Topics below, by ${data.sizeNoun}`, null, h("ul", { class: "meters wide" }, children.slice(0, 12).map(line)),
    rest.length > 0 && h("details", {}, h("summary", {}, `${whole.format(rest.length)} more`), h("ul", { class: "meters wide" }, rest.map(line))));
}

/** Counts and shares of a column at a node: of the value's documents, how many are here. */
function columnRows(data, node, column) {
  const counts = new Map();
  for (let i = column.nodeFirst[node]; i < column.nodeFirst[node + 1]; i++) counts.set(column.node_value[i], column.node_count[i]);
  const places = column.ordered ? column.values.keys() : counts.keys();
  return Array.from(places, (v) => ({ value: column.values[v], n: counts.get(v) || 0, total: column.totals[v], share: (counts.get(v) || 0) / column.totals[v] }));
}

/** The columns of a topic; the first one says how documents count in the bars of all. */
function columnBlocks(page, node) {
  const blocks = page.data.columns.map((column) => columnBlock(page, node, column)).filter(Boolean);
  const hint = countedHint(page.data, node);
  if (blocks.length && hint) blocks[0].append(hint);
  return blocks;
}

/** How bars count documents, where fewer have their main topic at or below a node than have words there. */
function countedHint(data, node) {
  const total = data.nodes.branch_docs[node];
  if (!data.docs || data.tree.paths) return null;
  const n = data.docs.home.filter((_, doc) => data.countsAt(doc, node)).length;
  if (data.nDocs < data.docs.total) return h("p", { class: "hint" }, "Bars count a document once, at its main topic.");
  return n < total && h("p", { class: "hint" }, `Bars count a document once, at its main topic: ${whole.format(n)} of the ${count(total, "document")}.`);
}

function columnBlock(page, node, column) {
  const { data } = page;
  const rows = columnRows(data, node, column);
  const isName = column.totals.every((total) => total === 1);
  if (!rows.length || isName) return null;
  const drawn = rows.filter((row) => isDrawn(column, row.value));
  const host = h("div", { class: "chart" });
  const tools = h("span", {});
  const draw = () => {
    const by = page.columnsBy;
    const width = Math.max(Math.floor(page.detail.clientWidth) - 34, 260);
    const shown = column.ordered ? drawn : sorted();
    host.replaceChildren(...[...(column.ordered ? [chartOf(width)] : listOf()), paleHint(shown.some(isPale)), outsideHint(column)].filter(Boolean));
    tools.replaceChildren(
      choice(`Show ${column.name}`, [["share", "share"], ["count", "count"]], by, (value) => {
        page.columnsBy = value;
        draw();
      }),
      takeaway(`${column.name}-${data.nodes.id[node]}`, {
        svg: () => (column.ordered ? chartOf(640) : rowChart(sorted().map((row) => ({ value: row.value, n: valueOf(row), fill: inkColour(data, node), pale: isPale(row), title: title(row) })), 520, column.name, tell)),
        csv: () => [["node", column.name, "documents", "of", "share"], ...rows.map((row) => [data.nodes.id[node], row.value, row.n, row.total, row.share])],
      }));
  };
  const valueOf = (row) => (page.columnsBy === "share" ? row.share : row.n);
  const tell = (value) => (page.columnsBy === "share" ? percent(value) : whole.format(value));
  // A count is what it is; a share says something of further documents.
  const isPale = (row) => page.columnsBy === "share" && row.total < FEW_DOCUMENTS;
  const title = (row) => `${visible(row.value)}: ${whole.format(row.n)} of ${count(row.total, "document")}, ${percent(row.share)}${isPale(row) ? restsOn(row.total) : ""}`;
  const chartOf = (width) => columnChart(column, drawn.map((row) => ({ value: row.value, n: valueOf(row), title: title(row), pale: isPale(row) })), width,
    `${visible(column.name)}: ${page.columnsBy === "share" ? "share of the documents of each value" : "documents"}; highest at ${visible(drawn.reduce((a, b) => (valueOf(b) > valueOf(a) ? b : a)).value)}`, inkColour(data, node), tell);
  // The share of a value with few documents is chance: the most common ones here are shown.
  const sorted = () => rows.slice().sort((a, b) => b.n - a.n).slice(0, 12).sort((a, b) => valueOf(b) - valueOf(a));
  const listOf = () => {
    const shown = sorted();
    const most = Math.max(...shown.map(valueOf), 1e-12);
    return folded("wide", shown.map((row) => meter(h("button", { class: "plain", onclick: () => page.search(row.value) }, told(row.value)), valueOf(row) / most, tell(valueOf(row)), inkColour(data, node), { title: title(row), pale: isPale(row) })), "value");
  };
  draw();
  return section(told(column.name), tools, host);
}

/** A row of a list of documents: name, share, and a line of its words or its text. */
function documentRow(page, doc, share, node, terms) {
  const { data } = page;
  const text = data.parts.texts && data.parts.texts[doc];
  const bar = h("span", { class: "bar" });
  if (share !== null) bar.style.width = `${(100 * share).toFixed(1)}%`;
  bar.style.background = node === ROOT ? "#7d8899" : inkColour(data, node);
  return [
    documentLink(data, doc, terms),
    share !== null && h("span", { class: "share" }, h("span", { class: "track", "aria-hidden": "true" }, bar), percent(share)),
    h("span", { class: "snippet" }, text ? marked(text, terms) : wordLine(page, doc, 14, node, terms)),
  ];
}

/** The words of a document in one line; those of the topic at hand stand out. */
function wordLine(page, doc, n, node, terms) {
  const { data } = page;
  const inside = (other) => node !== ROOT && other >= node && other < data.nodes.end[node];
  return data.wordsOf(doc).slice(0, n).map(({ word, node: of }) => [h("span", { class: inside(of) ? "mine" : null }, marked(word, terms)), " "]);
}

function documentBlock(page, node) {
  const { data } = page;
  if (!data.docs) return null;
  const total = data.nodes.branch_docs[node];
  const rows = data.documentsOf(node).slice(0, total);
  const heading = rows.length < total ? `Documents by share, ${whole.format(rows.length)} of ${whole.format(total)}` : `Documents by share, ${whole.format(total)}`;
  const name = `documents-${data.nodes.id[node]}`;
  const csv = () => [["node", "document", "share"], ...rows.map((row) => [data.nodes.id[node], data.docName(row.doc), row.share])];
  return section(heading, takeaway(name, { csv }),
    rows.length ? longList(`Documents of topic ${data.nodes.id[node]}`, rows.length, ROW, (i) => documentRow(page, rows[i].doc, rows[i].share, node, page.terms)) : h("p", { class: "hint" }, "None has a share that counts."));
}
