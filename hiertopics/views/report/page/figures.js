// Colours and drawings: bars, lines, flows. A drawing is SVG that stands on its own as a file.

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Turn hue 0..360, saturation and lightness 0..1 into #rrggbb, which every program reads. */
function colour(hue, saturation, lightness) {
  const a = saturation * Math.min(lightness, 1 - lightness);
  const part = (n) => {
    const k = (n + hue / 30) % 12;
    const value = lightness - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    return Math.round(255 * value).toString(16).padStart(2, "0");
  };
  return `#${part(0)}${part(8)}${part(4)}`;
}

function hueOf(branch) {
  return (205 + branch * 137.508) % 360;
}

/** The area of a node: hue by branch, lightness by levels below that of base; light text stands on it in the dark. */
function areaColour(data, node, inDark = dark.matches, base = 0) {
  const branch = data.branch[node];
  const deep = Math.max(Math.min(data.depth[node] - base, 4), 0);
  const light = inDark ? 0.36 - 0.045 * deep : 0.76 + 0.045 * deep;
  return branch < 0 ? colour(215, 0.12, inDark ? 0.28 : 0.88) : colour(hueOf(branch), inDark ? 0.32 : 0.52, light);
}

/** How far two hues are apart, 0 to 180. */
function hueGap(one, other) {
  const gap = Math.abs(one - other) % 360;
  return Math.min(gap, 360 - gap);
}

/** Colours of some topics side by side: the first one of a branch has the hue of its branch, another one the hue that is farthest from all others. @returns {Map<number, string>} */
function coloursApart(data, nodes, inDark = dark.matches) {
  const [taken, found] = [[], new Map()];
  const take = (node, hue, light) => {
    taken.push(hue);
    found.set(node, colour(hue, inDark ? 0.4 : 0.6, light));
  };
  const isFirst = (node, i) => nodes.findIndex((other) => data.branch[other] === data.branch[node]) === i;
  nodes.forEach((node, i) => {
    if (data.branch[node] < 0) found.set(node, areaColour(data, node, inDark));
    else if (isFirst(node, i)) take(node, hueOf(data.branch[node]), inDark ? 0.32 : 0.8);
  });
  const hues = Array.from({ length: 72 }, (_, i) => 5 * i);
  const room = (hue) => Math.min(...taken.map((other) => hueGap(hue, other)));
  for (const node of nodes) if (!found.has(node)) take(node, hues.reduce((best, hue) => (room(hue) > room(best) ? hue : best)), inDark ? 0.25 : 0.72);
  return found;
}

/** The area of a box that is no topic: pale, in the hue of the branch that it stands in. */
function faintColour(data, node, inDark = dark.matches) {
  const branch = node === ROOT ? -1 : data.branch[node];
  if (branch < 0) return inDark ? "#2a3038" : "#eceff3";
  return inDark ? colour(hueOf(branch), 0.2, 0.17) : colour(hueOf(branch), 0.4, 0.95);
}

/** A line or a bar of a node, which stands on light and dark ground alike. */
function inkColour(data, node) {
  const branch = node === ROOT ? -1 : data.branch[node];
  return branch < 0 ? "#7d8899" : colour(hueOf(branch), 0.45, 0.52);
}

/** The opacity of a bar that rests on fewer documents than FEW_DOCUMENTS, which writing.py passes: its share is mostly chance. */
const PALE = 0.35;

/** What a title adds of a bar that rests on few documents. */
function restsOn(total) {
  return total < FEW_DOCUMENTS ? `; pale: it rests on ${count(total, "document")} alone` : "";
}

/** The sentence below bars of which some are pale. */
function paleHint(isAny) {
  return isAny && h("p", { class: "hint" }, `Pale bars rest on fewer than ${FEW_DOCUMENTS} documents.`);
}

function drawing(width, height, label, ...children) {
  return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, "font-size": 11 }, children);
}

function write(x, y, text, more = {}) {
  return s("text", { x, y, fill: "currentColor", ...more }, text);
}

/** The axis of years, months or days below bars: where each begins, how wide a place is, and its texts. Places without documents stay. */
function timeAxis(column, left, width, y, room) {
  const step = (width - left - 4) / column.axis.length;
  const widest = Math.max(room, ...column.axis.map((name) => widthOf(visible(name), false) + 8));
  const every = Math.ceil(column.axis.length / Math.max(Math.floor((width - left) / widest), 1));
  const places = new Map(column.axis.map((name, i) => [name, i]));
  // A name in the middle of its place, but not beyond the edge.
  const nameAt = (x, name) => write(Math.min(x, width - widthOf(name, false) / 2).toFixed(1), y, name, { "text-anchor": "middle" });
  const names = column.axis.map((name, i) => i % every === 0 && nameAt(left + (i + 0.5) * step, visible(name)));
  return { step, names, at: (value) => left + places.get(value) * step };
}

/** Whether a value of a column is drawn: one of time on its axis, another one always. */
function isDrawn(column, value) {
  return !column.axis || column.axis.includes(value);
}

/** The sentence below bars over time of which some are left out. */
function outsideHint(column) {
  return Boolean(column.not_drawn) && h("p", { class: "hint" }, `${visible(column.not_drawn)}.`);
}

/** Bars side by side over time. rows: {value, n, title, pale}. */
function columnChart(column, rows, width, label, fill, tell) {
  const [high, left, base] = [150, 46, 128];
  const most = Math.max(...rows.map((row) => row.n), 1e-12);
  const axis = timeAxis(column, left, width, base + 14, 52);
  const bars = rows.map((row) => {
    const height = (row.n / most) * (base - 14);
    return s("rect", { x: (axis.at(row.value) + axis.step * 0.1).toFixed(2), y: (base - height).toFixed(2), width: Math.max(axis.step * 0.8, 1).toFixed(2), height: height.toFixed(2), fill, "fill-opacity": row.pale ? PALE : null }, s("title", {}, row.title));
  });
  return drawing(width, high, label,
    s("path", { d: `M${left} 14H${width}M${left} ${base}H${width}`, stroke: "currentColor", "stroke-opacity": 0.25, fill: "none" }),
    write(left - 5, 18, tell(most), { "text-anchor": "end" }), write(left - 5, base + 4, "0", { "text-anchor": "end" }), axis.names, bars);
}

/** Bars below one another, each with its text; tick: what to compare with. */
function rowChart(rows, width, label, tell) {
  const [step, left] = [18, Math.min(170, width * 0.4)];
  const most = Math.max(...rows.map((row) => Math.abs(row.n)), 1e-12);
  const room = width - left - 60;
  return drawing(width, rows.length * step + 6, label, rows.map((row, i) => {
    const y = 4 + i * step;
    const long = (Math.abs(row.n) / most) * room;
    return [
      write(left - 6, y + 12, shortened(visible(row.value), left - 8, false), { "text-anchor": "end" }),
      s("rect", { x: left, y: y + 2, width: long.toFixed(2), height: step - 5, fill: row.fill, "fill-opacity": row.pale ? PALE : row.n < 0 ? 0.4 : 1 }, s("title", {}, row.title || "")),
      row.tick !== undefined && row.tick <= most && s("path", { d: `M${(left + (row.tick / most) * room).toFixed(2)} ${y}v${step - 1}`, stroke: "currentColor", "stroke-width": 1.5 }),
      write((left + long + 5).toFixed(1), y + 12, tell(row.n)),
    ];
  }));
}

/** A line over numbers; over: what the numbers below it are. */
function lineChart(xs, ys, width, label, fill, over) {
  const points = xs.map((x, i) => [x, ys[i]]).filter(([, y]) => y !== null && Number.isFinite(y));
  const [high, left, base] = [150, 74, 126];
  const span = (values) => [Math.min(...values), Math.max(...values)];
  const [[x0, x1], [y0, y1]] = points.length ? [span(points.map((p) => p[0])), span(points.map((p) => p[1]))] : [[0, 1], [0, 1]];
  const digits = Math.min(Math.max(4, Math.ceil(Math.log10(Math.max(Math.abs(y0), Math.abs(y1)) / (y1 - y0 || 1))) + 2), 12);
  const axis = (value) => value.toLocaleString("en", { maximumSignificantDigits: digits });
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - 12);
  const y = (value) => base - ((value - y0) / (y1 - y0 || 1)) * (base - 14);
  const path = points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  return drawing(width, high, label,
    s("path", { d: `M${left} 14H${width}M${left} ${base}H${width}`, stroke: "currentColor", "stroke-opacity": 0.25, fill: "none" }),
    write(left - 5, 18, axis(y1), { "text-anchor": "end" }), y1 !== y0 && write(left - 5, base + 4, axis(y0), { "text-anchor": "end" }),
    write(left, high - 8, whole.format(x0)), write((left + width) / 2, high - 8, over, { "text-anchor": "middle" }), write(width - 2, high - 8, whole.format(x1), { "text-anchor": "end" }),
    s("path", { d: path, stroke: fill, "stroke-width": 2, fill: "none" }),
    points.length < 60 && points.map(([a, b]) => s("circle", { cx: x(a).toFixed(1), cy: y(b).toFixed(1), r: 2.5, fill }, s("title", {}, `${whole.format(a)}: ${axis(b)}`))));
}

/** Ribbons between two stacks. left, right: {name, n, fill}; flows: [from, to, n]. */
function flowChart(left, right, flows, width, label) {
  // Each gap has room for a line, so that the smallest branch has its name, too.
  const [high, gap, bar] = [Math.max(left.length, right.length) * 34 + 40, 13, 10];
  const side = Math.min(240, width * 0.32);
  const stack = (items) => {
    const total = items.reduce((sum, item) => sum + item.n, 0) || 1;
    const scale = (high - gap * items.length) / total;
    let at = gap / 2;
    return items.map((item) => {
      const placed = { ...item, y: at, high: item.n * scale, used: 0, scale };
      at += placed.high + gap;
      return placed;
    });
  };
  const [from, to] = [stack(left), stack(right)];
  const [x0, x1] = [side + bar, width - side - bar];
  const ribbons = flows.map(([a, b, n]) => {
    const [one, two] = [from[a], to[b]];
    const [ya, yb, ha, hb] = [one.y + one.used, two.y + two.used, n * one.scale, n * two.scale];
    one.used += ha;
    two.used += hb;
    const half = (x0 + x1) / 2;
    return s("path", { d: `M${x0} ${ya.toFixed(1)}C${half} ${ya.toFixed(1)} ${half} ${yb.toFixed(1)} ${x1} ${yb.toFixed(1)}v${hb.toFixed(1)}C${half} ${(yb + hb).toFixed(1)} ${half} ${(ya + ha).toFixed(1)} ${x0} ${(ya + ha).toFixed(1)}z`, fill: one.fill, "fill-opacity": 0.4 },
      s("title", {}, `${visible(one.name)} to ${visible(two.name)}: ${count(n, "document")}`));
  });
  const box = (item, x, anchor, tx) => [
    s("rect", { x, y: item.y.toFixed(1), width: bar, height: Math.max(item.high, 1).toFixed(1), fill: item.fill }),
    write(tx, (item.y + item.high / 2 + 4).toFixed(1), shortened(visible(item.name), side - 8, false), { "text-anchor": anchor }),
  ];
  return drawing(width, high, label, ribbons, from.map((i) => box(i, side, "end", side - 5)), to.map((i) => box(i, x1, "start", x1 + bar + 5)));
}
