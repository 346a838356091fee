// Branches over time: one picture for the whole tree, which leads into the table of documents.

const MOST_BRANCHES = 12;

/** Columns of years or dates with a bar for each value. @param {Data} data */
function timeColumns(data) {
  return data.columns.filter((column) => column.ordered && column.totals.some((total) => total > 1));
}

/** Of each value of a column the documents of each branch that is not hidden, the largest branch first; the rest is in none of them. */
function overTime(page, column) {
  const { data, labels } = page;
  const branches = data.largestFirst(branchesOf(data).filter((node) => !labels.hidden(node))).slice(0, MOST_BRANCHES);
  const counts = branches.map((node) => columnRows(data, node, column).map((row) => row.n));
  return { branches, counts };
}

/** The section of the overview. @param {Page} page */
function timeBlock(page) {
  const columns = timeColumns(page.data);
  if (!columns.length || branchesOf(page.data).length < 2) return null;
  const column = columns.find((one) => one.name === page.timeBy) || columns[0];
  const { branches, counts } = overTime(page, column);
  const nHidden = branchesOf(page.data).filter((node) => page.labels.hidden(node)).length;
  const host = h("div", { class: "chart" });
  const svg = (width) => stackedChart(page, column, branches, counts, width);
  const csv = () => [["value", "node", "branch", "documents", "of", "share"], ...column.values.flatMap((value, at) => branches.map((node, b) => [value, page.data.nodes.id[node], page.labels.called(node, NAME_WORDS), counts[b][at], column.totals[at], counts[b][at] / column.totals[at]]))];
  host.append(svg(Math.max(Math.floor(page.detail.clientWidth) - 34, 260)));
  const tools = [
    columns.length > 1 && choice("Branches over", columns.map((one) => [one.name, visible(one.name)]), column.name, (name) => {
      page.timeBy = name;
      page.route(false);
    }),
    takeaway(`branches-over-${column.name}`, { svg: () => svg(760), csv }),
  ];
  return section(h("span", {}, "Branches over ", told(column.name)), tools, host,
    paleHint(column.totals.some((total) => total > 0 && total < FEW_DOCUMENTS)),
    h("ul", { class: "legend keyed" }, branches.map((node) => h("li", {}, topicLink(page, node, NAME_WORDS)))),
    h("p", { class: "hint" }, `Share of the documents of each value. A part of a bar leads to its documents.${nHidden ? ` Left out: ${nHidden} hidden ${nHidden === 1 ? "branch" : "branches"}.` : ""}`));
}

/** Bars of shares, a part for each branch. */
function stackedChart(page, column, branches, counts, width) {
  const { data } = page;
  const [high, left, base] = [210, 40, 186];
  const axis = timeAxis(column, left, width, base + 16, 56);
  const bars = column.values.map((value, at) => {
    let below = 0;
    return branches.map((node, b) => {
      const share = column.totals[at] ? counts[b][at] / column.totals[at] : 0;
      const y = base - (below + share) * (base - 14);
      below += share;
      return share > 0 && s("rect", { class: "part", x: (axis.at(value) + axis.step * 0.05).toFixed(2), y: y.toFixed(2), width: Math.max(axis.step * 0.9, 1).toFixed(2), height: (share * (base - 14)).toFixed(2), fill: inkColour(data, node), "fill-opacity": column.totals[at] < FEW_DOCUMENTS ? PALE : null, onclick: () => page.showDocuments(node, column, at) },
        s("title", {}, `${visible(value)}, ${visible(page.labels.called(node))}: ${whole.format(counts[b][at])} of ${count(column.totals[at], "document")}${restsOn(column.totals[at])}`));
    });
  });
  return drawing(width, high, `Share of the documents in each branch over ${visible(column.name)}`,
    s("path", { d: `M${left} 14H${width}M${left} ${base}H${width}`, stroke: "currentColor", "stroke-opacity": 0.25, fill: "none" }),
    write(left - 5, 18, "100%", { "text-anchor": "end" }), write(left - 5, base + 4, "0", { "text-anchor": "end" }), axis.names, bars);
}
