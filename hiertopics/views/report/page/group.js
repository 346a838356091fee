// Groups of documents (authors, labels) where the model has weights of them.

function groupsView(page) {
  const { groups } = page.data;
  const csv = () => [["group", "documents", "node", "share"], ...groups.name.flatMap((name, g) => mainOf(page, g).map(({ node, share }) => [name, groups.n_docs[g], page.data.nodes.id[node], share]))];
  return [
    h("h2", {}, "Groups"),
    h("p", { class: "sub" }, `${count(groups.name.length, "group")} with documents, the largest first.`),
    section("Their main topics", takeaway("groups", { csv }),
      longList("All groups", groups.name.length, ROW, (g) => [
        h("a", { class: "docname", href: `#g${g}` }, told(groups.name[g])),
        h("span", { class: "share" }, count(groups.n_docs[g], "document")),
        h("span", { class: "snippet" }, mainOf(page, g).slice(0, 3).map(({ node, share }) => [topicLink(page, node, 2), ` ${percent(share)} `])),
      ])),
  ];
}

function mainOf(page, g) {
  const { groups } = page.data;
  const found = [];
  for (let i = groups.first[g]; i < groups.first[g + 1]; i++) found.push({ node: groups.place[i], share: groups.share[i] });
  return found;
}

function groupView(page, g) {
  const { data } = page;
  const { groups } = data;
  const name = groups.name[g];
  const column = data.columns.find((one) => one.name === "groups");
  const value = column ? column.values.indexOf(name) : -1;
  const docs = [];
  if (value >= 0 && column.docFirst.length === data.nDocs + 1) {
    for (let doc = 0; doc < data.nDocs; doc++) {
      for (let i = column.docFirst[doc]; i < column.docFirst[doc + 1]; i++) if (column.doc_value[i] === value) docs.push(doc);
    }
  }
  const main = mainOf(page, g);
  const n = groups.n_docs[g];
  const isPale = n < FEW_DOCUMENTS;
  const titleOf = (share) => `${percent(share)} of its words${restsOn(n)}`;
  const chart = () => rowChart(main.map(({ node, share }) => ({ value: page.labels.called(node, 3), n: share, fill: inkColour(data, node), pale: isPale, title: titleOf(share) })), 560, "Topics of a group", percent);
  return [
    h("p", { class: "kind" }, h("a", { href: "#groups" }, "Groups")),
    h("h2", {}, told(name)),
    h("dl", { class: "facts" }, h("div", {}, h("dt", {}, "documents"), h("dd", {}, whole.format(n)))),
    section("Its topics", takeaway("group", { svg: chart, csv: () => [["group", "node", "share"], ...main.map(({ node, share }) => [name, data.nodes.id[node], share])] }),
      h("ul", { class: "meters wide" }, main.map(({ node, share }) => meter(topicLink(page, node, 5), share, percent(share), inkColour(data, node), { pale: isPale, title: titleOf(share) }))), paleHint(isPale)),
    groups.similar[g].length > 0 && section("Groups most like it", null, h("ul", { class: "links" }, groups.similar[g].map(([other, affinity]) => {
      const place = groups.name.indexOf(other);
      return h("li", {}, place >= 0 ? h("a", { href: `#g${place}` }, told(other)) : told(other), ` ${affinity.toFixed(2)}`);
    }))),
    docs.length > 0 && section(count(docs.length, "document"), null, longList("Documents of the group", docs.length, ROW, (i) => documentRow(page, docs[i], null, data.docs.home[docs[i]], page.terms))),
  ];
}
