// Branches over time, or by another column: one picture for the whole tree, which leads into the table of documents.

const MOST_BRANCHES = 12;
/** Values of a column that are compared: the most common ones of a column that has no more than this. */
const MOST_COMPARED = 12;
const MOST_KINDS = 100;

/** Columns of years or dates with a bar for each value. @param {Data} data */
function timeColumns(data) {
  return data.columns.filter((column) => column.ordered && column.totals.some((total) => total > 1));
}

/** Other columns whose values have documents enough to be compared. @param {Data} data */
function kindColumns(data) {
  const isCommon = (total) => total >= FEW_DOCUMENTS;
  return data.columns.filter((column) => !column.ordered && column.values.length <= MOST_KINDS && column.totals.filter(isCommon).length > 1);
}

/** Of each value of a column the documents of each branch that is not hidden, the largest branch first; the rest is in none of them. */
function overColumn(page, column) {
  const { data, labels } = page;
  const branches = data.largestFirst(branchesOf(data).filter((node) => !labels.hidden(node))).slice(0, MOST_BRANCHES);
  const counts = branches.map((node) => {
    const found = new Map(columnRows(data, node, column).map((row) => [row.value, row.n]));
    return column.values.map((value) => found.get(value) || 0);
  });
  return { branches, counts };
}

/** What a place on the axis of a column is; of another column its name. */
function placeNoun(column) {
  const isEach = (form) => column.ordered && column.values.every((value) => form.test(value));
  return isEach(/^\d{4}$/) ? "year" : isEach(/^\d{4}-\d\d$/) ? "month" : isEach(/^\d{4}-\d\d-\d\d$/) ? "day" : told(column.name);
}

/** The section of the overview: the first column of time, else another one. @param {Page} page */
function branchesBlock(page) {
  const columns = [...timeColumns(page.data), ...kindColumns(page.data)];
  if (!columns.length || branchesOf(page.data).length < 2) return null;
  const column = columns.find((one) => one.name === page.timeBy) || columns[0];
  const { branches, counts } = overColumn(page, column);
  const nHidden = branchesOf(page.data).filter((node) => page.labels.hidden(node)).length;
  const host = h("div", { class: "chart" });
  const svg = (width) => (column.ordered ? stackedChart : kindChart)(page, column, branches, counts, width);
  const csv = () => [["value", "node", "branch", "documents", "of", "share"], ...column.values.flatMap((value, at) => branches.map((node, b) => [value, page.data.nodes.id[node], page.labels.called(node, NAME_WORDS), counts[b][at], column.totals[at], counts[b][at] / column.totals[at]]))];
  host.append(svg(Math.max(Math.floor(page.detail.clientWidth) - 34, 260)));
  const word = column.ordered ? "over" : "by";
  const tools = [
    columns.length > 1 && choice("Branches over or by", columns.slice(0, MOST_SHOWN).map((one) => [one.name, visible(one.name)]), column.name, (name) => {
      page.timeBy = name;
      page.route(false);
    }),
    takeaway(`branches-${word}-${column.name}`, { svg: () => svg(760), csv }),
  ];
  const shown = column.ordered ? column.totals.filter((_, at) => isDrawn(column, column.values[at])) : column.totals.slice(0, MOST_COMPARED);
  const rest = column.ordered ? 0 : column.totals.length - shown.length;
  return section(h("span", {}, `Branches ${word} `, told(column.name)), tools, host,
    paleHint(shown.some((total) => total > 0 && total < FEW_DOCUMENTS)), outsideHint(column),
    h("ul", { class: "legend keyed" }, branches.map((node) => h("li", {}, topicLink(page, node, NAME_WORDS)))),
    h("p", { class: "hint" }, "Of the documents of each ", placeNoun(column), ", the share whose main topic is in the branch.", h("span", { class: "handling" }, " A part of a bar leads to its documents."),
      rest > 0 && ` ${whole.format(rest)} less common ${rest === 1 ? "value is" : "values are"} not shown.`,
      nHidden > 0 && ` Left out: ${nHidden} hidden ${nHidden === 1 ? "branch" : "branches"}.`));
}

/** The section of the overview without a column to draw: the branches with their topics, documents and share, the largest first. */
function branchList(page) {
  const { data, labels } = page;
  const branches = data.largestFirst(branchesOf(data).filter((node) => !labels.hidden(node)));
  if (branches.length < 2 || data.tree.kind === "flat") return null;
  const rows = branches.slice(0, MOST_BRANCHES).map((node) => h("tr", {}, h("th", { scope: "row" }, topicLink(page, node, NAME_WORDS)),
    [data.nodes.end[node] - node, data.nodes.branch_docs[node]].map((n) => h("td", { class: "right" }, whole.format(n))), h("td", { class: "right" }, data.sizeText(node))));
  const more = branches.length - rows.length;
  return section("Branches", null,
    h("table", { class: "branches" }, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "branch"), ["topics", "documents", data.sizeNoun].map((head) => h("th", { scope: "col", class: "right" }, head)))), h("tbody", {}, rows)),
    h("p", { class: "hint" }, `${data.tree.paths ? "A document counts at the branch that its path takes." : "A document counts at each branch where it has a word or more."}${more > 0 ? ` The outline has ${whole.format(more)} more.` : ""}`));
}

/** A part of a bar: the documents of a branch among those of a value. place: its x, y, width and height. */
function branchPart(page, column, node, at, n, place) {
  const total = column.totals[at];
  return s("rect", { class: "part", ...place, fill: inkColour(page.data, node), "fill-opacity": total < FEW_DOCUMENTS ? PALE : null, onclick: () => page.showDocuments(node, column, at) },
    s("title", {}, `${visible(column.values[at])}, ${visible(page.labels.called(node))}: ${whole.format(n)} of ${count(total, "document")}${restsOn(total)}`));
}

/** Bars of shares below one another, a part for each branch: the most common values of a column. */
function kindChart(page, column, branches, counts, width) {
  const values = column.values.slice(0, MOST_COMPARED);
  const widest = (texts) => texts.reduce((most, text) => Math.max(most, widthOf(visible(text), false)), 0) + 8;
  const [step, left, right] = [22, Math.min(widest(values), width * 0.34), widest(column.totals.map((total) => whole.format(total)))];
  const room = width - left - right;
  const bars = values.map((value, at) => {
    const y = 4 + at * step;
    let before = 0;
    const parts = branches.map((node, b) => {
      const share = counts[b][at] / column.totals[at];
      const x = left + before * room;
      before += share;
      return share > 0 && branchPart(page, column, node, at, counts[b][at], { x: x.toFixed(2), y, width: (share * room).toFixed(2), height: step - 5 });
    });
    return [write(left - 6, y + 13, shortened(visible(value), left - 8, false), { "text-anchor": "end" }), parts, write(left + room + 5, y + 13, whole.format(column.totals[at]))];
  });
  return drawing(width, bars.length * step + 6, `Share of the documents in each branch by ${visible(column.name)}`, bars);
}

/** Bars of shares, a part for each branch. */
function stackedChart(page, column, branches, counts, width) {
  const [high, left, base] = [210, 40, 186];
  const axis = timeAxis(column, left, width, base + 16, 56);
  const bars = column.values.map((value, at) => {
    let below = 0;
    return isDrawn(column, value) && branches.map((node, b) => {
      const share = column.totals[at] ? counts[b][at] / column.totals[at] : 0;
      const y = base - (below + share) * (base - 14);
      below += share;
      return share > 0 && branchPart(page, column, node, at, counts[b][at], { x: (axis.at(value) + axis.step * 0.05).toFixed(2), y: y.toFixed(2), width: Math.max(axis.step * 0.9, 1).toFixed(2), height: (share * (base - 14)).toFixed(2) });
    });
  });
  return drawing(width, high, `Share of the documents in each branch over ${visible(column.name)}`,
    s("path", { d: `M${left} 14H${width}M${left} ${base}H${width}`, stroke: "currentColor", "stroke-opacity": 0.25, fill: "none" }),
    write(left - 5, 18, "100%", { "text-anchor": "end" }), write(left - 5, base + 4, "0", { "text-anchor": "end" }), axis.names, bars);
}
