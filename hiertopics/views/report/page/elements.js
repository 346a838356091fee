// Making elements, telling numbers, handing out files.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** Make an element of HTML; texts become text, never markup.
 * @returns {any} */
function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an element of SVG. @returns {any} */
function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

/** Text from a corpus: controls written out, letters of either direction kept to themselves. */
function told(text) {
  return h("bdi", {}, visible(text));
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });

function count(n, noun) {
  return `${whole.format(n)} ${noun}${n === 1 ? "" : "s"}`;
}

function percent(share) {
  if (share === 0) return "0%";
  return share < 0.0005 ? "<0.1%" : `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)}%`;
}

function say(text) {
  document.getElementById("status").textContent = text;
}

/** Cells of a file for spreadsheets: what they would take for a formula gets a quote before it. */
function csvText(rows) {
  const cell = (value) => {
    let text = value === null || value === undefined ? "" : String(value);
    if (typeof value !== "number" && /^'*[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}

function download(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Return the text of a drawing as a file of its own. */
function svgText(drawing) {
  const copy = drawing.cloneNode(true);
  copy.setAttribute("xmlns", SVG);
  copy.setAttribute("font-family", "system-ui, sans-serif");
  copy.setAttribute("color", "#1b1f24");
  const box = copy.getAttribute("viewBox").split(" ");
  copy.prepend(s("rect", { width: box[2], height: box[3], fill: "#fff" }));
  return `<?xml version="1.0" encoding="utf-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

/** Buttons that hand out a view: drawing and table, each made when it is asked for. */
function takeaway(name, { svg, csv }) {
  const button = (form, make, type) =>
    make && h("button", { class: "small", "aria-label": `Save ${name} as ${form}`, onclick: () => download(`${name}.${form}`, make(), type) }, form);
  return h("span", { class: "takeaway" },
    button("svg", svg && (() => svgText(svg())), "image/svg+xml"),
    button("csv", csv && (() => csvText(csv())), "text/csv"));
}

function section(title, extra, ...body) {
  return h("section", { class: "block" }, h("div", { class: "blockhead" }, h("h3", {}, title), extra), body);
}

/** Two or more ways to see the same: buttons of which one is pressed. */
function choice(label, options, chosen, act) {
  return h("span", { class: "choice", role: "group", "aria-label": label }, options.map(([value, text]) =>
    h("button", { class: "small", "aria-pressed": String(value === chosen), onclick: () => act(value) }, text)));
}

/** A list of any length of which only the rows in sight exist.
 * @param {string} label @param {number} n @param {number} height of a row
 * @param {(place: number) => any} render @param {string[]} roles of the box, the list and a row */
function longList(label, n, height, render, roles = ["region", "list", "listitem"]) {
  const rows = h("div", { class: "rows", role: roles[1] });
  const isList = roles[2] === "listitem";
  const box = h("div", { class: "long", role: roles[0], "aria-label": label, tabindex: "0" }, rows);
  rows.style.height = `${n * height}px`;
  box.style.maxHeight = `min(${n * height + 2}px, var(--long))`;
  let first = -1;
  let last = -1;
  const draw = () => {
    const from = Math.max(Math.floor(box.scrollTop / height) - 5, 0);
    const to = Math.min(Math.ceil((box.scrollTop + (box.clientHeight || 600)) / height) + 5, n);
    if (from === first && to === last) return;
    [first, last] = [from, to];
    const shown = [];
    for (let i = from; i < to; i++) {
      const row = h("div", { class: "row", role: roles[2], ...(isList ? { "aria-posinset": i + 1, "aria-setsize": n } : { "aria-rowindex": i + 2 }) }, render(i));
      row.style.top = `${i * height}px`;
      row.style.height = `${height}px`;
      shown.push(row);
    }
    rows.replaceChildren(...shown);
  };
  box.addEventListener("scroll", draw, { passive: true });
  new ResizeObserver(draw).observe(box);
  draw();
  return box;
}

/** Text in which some terms are marked. @param {string} text @param {string[]} terms */
function marked(text, terms) {
  const clean = visible(text);
  if (!terms.length) return told(clean);
  const low = clean.toLowerCase();
  const pieces = [];
  let at = 0;
  while (at < clean.length) {
    let next = -1;
    let length = 0;
    for (const term of terms) {
      const found = low.indexOf(term, at);
      if (found >= 0 && (next < 0 || found < next || (found === next && term.length > length))) [next, length] = [found, term.length];
    }
    if (next < 0) break;
    pieces.push(clean.slice(at, next), h("mark", {}, clean.slice(next, next + length)));
    at = next + length;
  }
  pieces.push(clean.slice(at));
  return h("bdi", {}, pieces);
}

/** Letters at the end of a name that stay where there is little room. */
const KEPT_END = 16;

/** A link to a document by its name; where ends tell names apart, a long one is cut before its end. */
function documentLink(data, doc, terms) {
  const name = visible(data.docName(doc));
  const at = name.length - KEPT_END;
  const link = h("a", { class: "docname", href: `#d${data.row[doc] + 1}` });
  if (!data.endsTell || at <= KEPT_END / 2) return filled(link, {}, [marked(name, terms)]);
  const start = h("span", { class: "start" }, marked(name.slice(0, at), terms));
  start.style.maxWidth = `calc(100% - ${(widthOf(name.slice(at), false) / LETTERS).toFixed(2)}em)`;
  return filled(link, {}, [start, h("span", {}, marked(name.slice(at), terms))]);
}
