// Agreement of the tree with label paths: levels beside baselines, torn labels, mixed branches.

const AGREEMENT = [["triplets", "triplets"], ["kin", "kin"], ["purity", "purity"], ["best_node_f1", "best-node F1"], ["ami", "AMI"]];

function agreementTable(heads, rows, label) {
  return h("div", { class: "wide", role: "region", "aria-label": label, tabindex: "0" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) => (i ? h("td", { class: "right" }, cell) : h("th", { scope: "row" }, cell))))))));
}

/** Return the panel; null where nobody asked how far the tree agrees with labels. */
function agreementBlock(page) {
  const part = page.data.parts.agreement;
  if (!part) return null;
  const number = (value) => (typeof value === "number" ? value.toFixed(3) : "–");
  const told = (row, key) => `${number(row[key])} ± ${number(row[`${key}_error`])} (${typeof row[`${key}_chance`] === "number" ? row[`${key}_chance`].toFixed(2) : "–"})`;
  const csv = () => [Object.keys(part.rows[0]), ...part.rows.map((row) => Object.values(row))];
  return section("Agreement with labels", takeaway("agreement", { csv }),
    h("p", { class: "hint" }, `Of ${whole.format(part.n_docs)} ${part.heldout ? "held-out documents" : "documents"}; standard error, and in brackets the figure of permuted labels. Triplets: of three documents the two of one label meet deeper in the tree.`),
    agreementTable(["level, system", ...AGREEMENT.map(([, name]) => name)], part.rows.map((row) => [`${row.level} ${row.method.replaceAll("_", " ")}`, ...AGREEMENT.map(([key]) => told(row, key))]), "Agreement with labels"),
    part.torn.length > 0 && h("details", {}, h("summary", {}, "Labels torn over branches"), agreementTable(["label", "documents", "branches"], part.torn.map((row) => [visible(row.label), whole.format(row.n_docs), row.branches.toFixed(1)]), "Torn labels")),
    part.mixed.length > 0 && h("details", {}, h("summary", {}, "Branches that mix labels"), agreementTable(["branch", "largest label", "its share"], part.mixed.map((row) => [row.node < 0 ? "none" : String(row.node), visible(row.label), `${Math.round(100 * row.share)}%`]), "Mixed branches")));
}
