// A document: its path or its weights, its metadata, its words coloured by topic.

function documentView(page, doc) {
  const { data } = page;
  const tokens = data.docs.tokens ? data.docs.tokens[doc] : null;
  const home = data.docs.home[doc];
  return [
    h("p", { class: "kind" }, `Document ${whole.format(data.row[doc] + 1)} of the corpus`),
    h("h2", {}, told(data.docName(doc))),
    h("dl", { class: "facts" },
      tokens !== null && h("div", {}, h("dt", {}, tokens === 1 ? "word" : "words"), h("dd", {}, whole.format(tokens))),
      data.columns.map((column) => {
        const values = data.valuesOf(column, doc);
        return values.length > 0 && h("div", {}, h("dt", {}, told(column.name)), h("dd", {}, values.map((value, i) => [i ? ", " : "", valueLink(page, column, value)])));
      }),
      page.comparison && page.comparison.moveOf(doc)),
    home >= 0 && data.tree.kind !== "flat" && section(data.tree.paths ? "Its path" : "Its main topic", null,
      h("ol", { class: "path" }, data.pathTo(home).map((node, depth) => indented(h("li", {}, topicLink(page, node, 6)), depth)))),
    weightBlock(page, doc),
    textBlock(page, doc),
  ];
}

/** Indent a line of a path: each level stands further in than the one above, less so below the third. */
function indented(line, depth) {
  line.style.paddingInlineStart = `${Math.min(depth, 3) + Math.max(depth - 3, 0) * 0.5}rem`;
  return line;
}

function valueLink(page, column, value) {
  const { groups } = page.data;
  const group = groups && column.name === "groups" ? groups.name.indexOf(value) : -1;
  return group >= 0 ? h("a", { href: `#g${group}` }, told(value)) : told(value);
}

function weightBlock(page, doc) {
  const { data } = page;
  const shares = data.sharesOf(doc);
  if (!shares.length) return h("p", { class: "hint" }, "It has no share in any topic that is shown.");
  const chart = () => rowChart(shares.map(({ node, share }) => ({ value: page.labels.called(node, 3), n: share, fill: inkColour(data, node) })), 560, "Topics of a document", percent);
  const csv = () => [["document", "node", "share", "name"], ...shares.map(({ node, share }) => [data.docName(doc), data.nodes.id[node], share, page.labels.called(node, NAME_WORDS)])];
  return section("Its topics", takeaway(`document-${data.row[doc] + 1}`, { svg: chart, csv }),
    h("ul", { class: "meters wide" }, shares.map(({ node, share }) => meter(topicLink(page, node, 5), share, percent(share), inkColour(data, node)))));
}

function textBlock(page, doc) {
  const { data } = page;
  const words = data.wordsOf(doc);
  const text = data.parts.texts && data.parts.texts[doc];
  if (!words.length && !text) return h("p", { class: "hint" }, noWords(page));
  const legend = [...new Set(words.map((one) => one.node))].filter((node) => node !== ROOT).sort((a, b) => a - b);
  const colours = coloursApart(data, legend);
  const paint = (element, node) => {
    if (node !== ROOT) element.style.setProperty("--topic", colours.get(node));
    return element;
  };
  return section("Its words by topic", null,
    text && h("p", { class: "text" }, painted(text, new Map(words.map(({ word, node }) => [word, node])), paint)),
    h("p", { class: "chips" }, words.map(({ word, times, node }) => paint(h("span", { class: "painted", title: node === ROOT ? null : visible(page.labels.called(node)) }, told(word), times > 1 && h("span", { class: "times" }, ` ${times}`)), node))),
    h("ul", { class: "legend" }, legend.map((node) => h("li", {}, paint(h("span", { class: "painted key" }, "\u00a0\u00a0"), node), " ", h("a", { class: "topic", href: `#t${data.nodes.id[node]}` }, told(page.labels.called(node, 3)))))),
    legend.length > 1 && h("p", { class: "hint" }, "Each topic has a colour of its own here."));
}

/** A text whose words have the colours of their topics. */
function painted(text, topics, paint) {
  const pieces = [];
  let at = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
    const node = topics.get(match[0].toLowerCase());
    if (node === undefined) continue;
    pieces.push(visible(text.slice(at, match.index)), paint(h("span", { class: "painted" }, match[0]), node));
    at = match.index + match[0].length;
  }
  return h("bdi", {}, pieces, visible(text.slice(at)));
}

function noWords(page) {
  const { parts } = page.data;
  const said = parts.left_out.find((line) => /words/.test(line));
  return said ? `No words here: ${visible(said)}.` : "It has no words.";
}

/** The documents, in a table. */
function documentsView(page) {
  const { data } = page;
  if (!data.docs) return [h("h2", {}, "Documents"), h("p", { class: "hint" }, noDocuments(page))];
  const { total } = data.docs;
  const columns = data.columns.filter((column) => column.doc_n.length);
  const csv = () => [["document", "number", "node", "topic", ...(data.docs.tokens ? ["words"] : []), ...columns.map((column) => column.name)], ...askedDocuments(page).map((doc) => {
    const home = data.docs.home[doc];
    return [data.docName(doc), data.row[doc] + 1, home < 0 ? "" : data.nodes.id[home], home < 0 ? "" : page.labels.called(home), ...(data.docs.tokens ? [data.docs.tokens[doc]] : []),
      ...columns.map((column) => data.valuesOf(column, doc).join("; "))];
  })];
  return [
    h("h2", {}, "Documents"),
    h("p", { class: "sub" }, total === data.nDocs ? `${count(total, "document")} that the model was fitted to.` : `${whole.format(data.nDocs)} of ${count(total, "document")}: ${noDocuments(page)}`),
    section("Table", takeaway("documents", { csv }), documentTable(page)),
  ];
}

function noDocuments(page) {
  const said = page.data.parts.left_out.find((line) => /documents/.test(line));
  return said ? `${visible(said)}.` : "";
}
