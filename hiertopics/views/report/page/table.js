// The table of documents: sorted by a column, filtered by branch and by values of metadata.

/** Values of a column that can be chosen: the most common ones of a column that has more and no order. */
const MOST_CHOICES = 200;
const MOST_SHOWN = 3;

/** What a reader asks of the table; it stays while other things are looked at. */
class Asked {
  constructor() {
    this.key = "corpus";
    this.rising = true;
    this.branch = ROOT;
    /** @type {Map<string, number>} a value of a column, by its place */
    this.values = new Map();
  }
}

/** Columns whose values can be chosen. @param {Data} data */
function choosable(data) {
  const isFor = (column) => column.values.length <= MOST_CHOICES || (!column.ordered && column.totals[1] >= FEW_DOCUMENTS);
  return data.columns.filter((column) => column.doc_n.length && column.values.length > 1 && isFor(column));
}

/** Columns that stand in the table. @param {Data} data */
function shownColumns(data) {
  return data.columns.filter((column) => column.doc_n.length && column.values.length > 1).slice(0, MOST_SHOWN);
}

/** Branches of the tree; of flat topics the topics. @param {Data} data */
function branchesOf(data) {
  return data.roots.length === 1 ? data.every[data.roots[0]] : data.roots;
}

/** The place of a document's first value, or day, in a column; after all others where it has none. */
function firstValue(column, doc) {
  return column.doc_n[doc] ? (column.doc_day || column.doc_value)[column.docFirst[doc]] : Infinity;
}

/** Documents that fit what is asked, in its order. @param {Page} page @returns {number[]} */
function askedDocuments(page) {
  const { data, asked } = page;
  const has = (column, doc, value) => {
    for (let i = column.docFirst[doc]; i < column.docFirst[doc + 1]; i++) if (column.doc_value[i] === value) return true;
    return false;
  };
  const wanted = choosable(data).filter((column) => asked.values.has(column.name));
  const found = data.row.map((_, doc) => doc).filter((doc) =>
    (asked.branch === ROOT || data.countsAt(doc, asked.branch)) &&
    wanted.every((column) => has(column, doc, asked.values.get(column.name))));
  const keys = keysOf(page);
  const key = keys.get(asked.key) || keys.get("corpus");
  const values = new Map(found.map((doc) => [doc, key(doc)]));
  const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a === b ? 0 : a - b);
  const sign = asked.rising ? 1 : -1;
  return found.sort((a, b) => sign * order(values.get(a), values.get(b)) || a - b);
}

/** What the table can be sorted by. @param {Page} page @returns {Map<string, (doc: number) => any>} */
function keysOf(page) {
  const { data, labels } = page;
  const { home, tokens } = data.docs;
  const called = new Map();
  const topic = (node) => {
    if (!called.has(node)) called.set(node, node < 0 ? "" : labels.called(node, 3));
    return called.get(node);
  };
  return new Map([
    ["corpus", (doc) => data.row[doc]],
    ["document", (doc) => data.docName(doc)],
    ["topic", (doc) => topic(home[doc])],
    ["words", (doc) => (tokens ? tokens[doc] : 0)],
    ...shownColumns(data).map((column) => [`column ${column.name}`, (doc) => firstValue(column, doc)]),
  ]);
}

/** The name of a column, and how many of its values can be chosen. */
function choicesTold(column) {
  const { length } = column.values;
  return length > MOST_CHOICES ? `${column.name}, ${MOST_CHOICES} most common of ${whole.format(length)}` : column.name;
}

/** A control that chooses one value of several, or all. */
function chooser(label, all, options, chosen, act) {
  const select = h("select", { onchange: (event) => act(Number(event.target.value)) },
    h("option", { value: ROOT }, all),
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, visible(text))));
  return h("label", {}, h("span", {}, visible(label)), select);
}

/** The table itself and what it is filtered by. @param {Page} page */
function documentTable(page) {
  const { data, labels, asked } = page;
  const host = h("div", {});
  const told = h("p", { class: "sub", role: "status" });
  const draw = () => {
    const docs = askedDocuments(page);
    told.textContent = docs.length === data.nDocs ? count(docs.length, "document") : `${whole.format(docs.length)} of ${count(data.nDocs, "document")}`;
    host.replaceChildren(tableOf(page, docs, draw));
  };
  const again = (change) => (value) => {
    change(value);
    draw();
  };
  const filters = h("div", { class: "filters" },
    chooser("Branch", "All branches", data.largestFirst(branchesOf(data)).map((node) => [node, labels.called(node, 4)]), asked.branch, again((value) => { asked.branch = value; })),
    choosable(data).map((column) => chooser(choicesTold(column), "All", column.values.slice(0, MOST_CHOICES).map((value, place) => [place, `${value} (${whole.format(column.totals[place])})`]), asked.values.get(column.name) ?? ROOT, again((value) => {
      if (value === ROOT) asked.values.delete(column.name);
      else asked.values.set(column.name, value);
    }))));
  draw();
  return [filters, told, host, h("p", { class: "hint" }, "A document stands in the branch of its main topic alone; a topic also lists documents with fewer words there.")];
}

/** A topic, and the branch that it stands in. */
function placeOf(page, node) {
  const { data } = page;
  const branch = data.branch[node] < 0 ? node : branchesOf(data)[data.branch[node]];
  return [topicLink(page, node, 3), branch !== node && h("span", { class: "snippet" }, "in ", told(page.labels.called(branch, NAME_WORDS)))];
}

/** Rows of which only those in sight exist, under heads that sort them. */
function tableOf(page, docs, draw) {
  const { data, asked } = page;
  const columns = shownColumns(data);
  const { tokens } = data.docs;
  const heads = [["document", "Document"], ["topic", "Topic"], ...(tokens ? [["words", "Words"]] : []), ...columns.map((column) => [`column ${column.name}`, visible(column.name)])];
  const sort = (key) => () => {
    asked.rising = asked.key === key ? !asked.rising : true;
    asked.key = key;
    draw();
    // The head that was pressed is another one now; who walks by keyboard stays there.
    page.detail.querySelector(`[data-sort="${CSS.escape(key)}"]`).focus();
  };
  const head = h("div", { class: "heads", role: "row" }, heads.map(([key, text], place) =>
    h("span", { role: "columnheader", class: place > 1 ? "more" : null, "aria-sort": asked.key !== key ? "none" : asked.rising ? "ascending" : "descending" },
      h("button", { class: "plain", "data-sort": key, onclick: sort(key) }, text, h("span", { "aria-hidden": "true" }, asked.key !== key ? "" : asked.rising ? " \u25b2" : " \u25bc")))));
  // A phone has no room for columns: the first one, a date if there is one, begins the line below the name.
  const first = columns.find((column) => column.ordered) || columns[0];
  const onPhone = (doc) => Boolean(first && first.doc_n[doc]) && h("span", { class: "first" }, `${visible(data.valuesOf(first, doc).join(", "))} · `);
  const cells = (place) => {
    const doc = docs[place];
    const home = data.docs.home[doc];
    const text = data.parts.texts && data.parts.texts[doc];
    return [
      h("span", { role: "cell", class: "document" }, documentLink(data, doc, page.terms),
        h("span", { class: "snippet" }, onPhone(doc), text ? marked(text, page.terms) : wordLine(page, doc, 14, home, page.terms))),
      h("span", { role: "cell", class: "place" }, home >= 0 && placeOf(page, data.shownAt(home))),
      tokens && h("span", { role: "cell", class: "more number" }, whole.format(tokens[doc])),
      columns.map((column) => h("span", { role: "cell", class: "more" }, visible(data.valuesOf(column, doc).join(", ")))),
    ];
  };
  const body = longList("Rows of the table", docs.length, ROW, cells, ["rowgroup", "none", "row"]);
  const table = h("div", { class: "doctable", role: "table", "aria-label": "Documents", "aria-rowcount": docs.length + 1 }, h("div", { role: "rowgroup" }, head), body);
  table.style.setProperty("--columns", `minmax(0, 2.2fr) minmax(0, 1.4fr)${tokens ? " 4.5rem" : ""}${" minmax(0, 1fr)".repeat(columns.length)}`);
  return table;
}
