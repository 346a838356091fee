// The map of topics: an icicle, roots on the left, heights by documents or tokens.

/** Height of the lowest box with a line of letters that does not touch its edges. */
const LEAST_HIGH = 15;
/** Share of the map that boxes of joined topics may take. */
const MOST_JOINED = 0.1;
/** What a level needs: the width of its column, in several lanes and in one, and the share of the map that may be joined. */
const ROOMY = { column: 95, wide: 130, joined: MOST_JOINED };
/** The same for a second level, where no lanes have so much room for it: half of it may be joined. */
const TIGHT = { column: 80, wide: 80, joined: 0.25 };
/** The same where there is still no room: the parts of those branches alone that have room for them. */
const SOME = { column: 80, some: true };
/** How much higher than its share a box may be, so that it has a line. */
const MOST_RAISED = 2;
/** Share of a branch whose parts may be joined there. */
const MOST_OF_BRANCH = 0.5;
/** Width of a column from which a deeper level is drawn inside the boxes that have room for it. */
const DEEPER = 130;
const WIDER = [ROOMY, TIGHT].map((room) => ({ ...room, column: DEEPER, wide: DEEPER }));
/** Share of a box whose parts may be joined inside it on such a level. */
const MOST_OF_DEEPER = 0.8;
/** Fewest parts that stand inside a box of such a level beside joined ones. */
const FEWEST_INSIDE = 2;
/** Height from which a node's own words have a box. */
const LEAST_OWN = 2;
/** Opacity of what a search did not find. */
const DIM = 0.3;
/** What is said of the words of a single root. */
const GENERAL = "at the root: they fit all branches alike";
const GENERAL_WORDS = 20;
const STRIP = 28;
const LANE = 190;
const NARROW = 112;
/** Width of a lane of the first topics where there are too many of them for wider ones. */
const LEAST_WIDE = 44;

/** Return where each of n lanes ends: stretches of sizes whose sums are as equal as their order allows. */
function laneEnds(sizes, n) {
  const sum = sizes.reduce((total, size) => total + size, 0);
  const ends = [];
  let [at, before] = [0, 0];
  for (let lane = 1; lane < n; lane++) {
    const goal = (sum * lane) / n;
    const most = sizes.length - (n - lane);
    before += sizes[at++];
    while (at < most && before + sizes[at] / 2 <= goal) before += sizes[at++];
    ends.push(at);
  }
  return [...ends, sizes.length];
}

/** Return stretches of sizes, one for each lane, with the place of the first and their sum. */
function lanesOf(sizes, n) {
  let first = 0;
  return laneEnds(sizes, n).map((end) => {
    const own = sizes.slice(first, end);
    const lane = { first, sizes: own, size: own.reduce((total, size) => total + size, 0) };
    first = end;
    return lane;
  });
}

/** Return into how many lanes a map of this width is divided, at most, unless there are too many topics for them. */
function usualLanes(width) {
  return Math.max(Math.floor(width / (width < 500 ? NARROW : LANE)), 1);
}

/** Height of the map on paper, in pixels: the chart below it stands on the same page. */
const PAPER_HIGH = 300;

/** Size of the letters of the map and of all drawings, in pixels. */
const LETTERS = 11;

const pen = document.createElement("canvas").getContext("2d");

/** Letters of what the map is divided into first, on a map of this width and on others, and the box that has room for them. */
const FIRST_LETTERS = { from: 800, large: 13, usual: 12 };
const FIRST_ROOM = { wide: 120, high: 44 };

/** Return how wide a text of the map is in pixels; bold letters are wider than others. */
function widthOf(text, isBold, letters = LETTERS) {
  pen.font = `${isBold ? 600 : 400} ${letters}px system-ui, sans-serif`;
  return pen.measureText(text).width;
}

/** Return units that no line divides: a part of a name with the separator before it, or a word. */
function units(text, fits) {
  const parts = text.split(BETWEEN).map((part, i) => (i ? BETWEEN.trimStart() : "") + part);
  return parts.flatMap((part) => {
    if (parts.length > 1 && fits(part)) return [part];
    // A separator begins a line and never ends one: a separator at the end would look cut.
    return part.match(/(?:^· )?[^ ]+/g) || [part];
  });
}

/** Return as much of a text as there is room for, with a mark where it is cut. */
function shortened(text, room, isBold, letters = LETTERS) {
  if (widthOf(text, isBold, letters) <= room) return text;
  let n = text.length - 1;
  while (n > 1 && widthOf(`${text.slice(0, n)}…`, isBold, letters) > room) n--;
  return `${text.slice(0, n).replace(/[ ·]+$/, "")}…`;
}

/** Cut a text into lines of a width, between parts of a name or at blanks. */
function lines(text, room, most, isBold, letters) {
  const found = [];
  const fits = (line) => widthOf(line, isBold, letters) <= room;
  for (const word of units(text, fits)) {
    const last = found.length - 1;
    if (last >= 0 && fits(`${found[last]} ${word}`)) found[last] += ` ${word}`;
    else if (found.length < most) found.push(word);
    else break;
  }
  return found.map((line) => shortened(line, room, isBold, letters));
}

/** Steps of the slider for each topic that the map has room for, and the fewest steps: the later ones change what stands inside boxes. */
const STEPS_OF_DRAWN = 2;
const FEWEST_STEPS = 10;

/** The icicle with its crumbs. */
class TopicMap {
  /** @param {Data} data @param {Labels} labels @param {(node: number) => void} choose */
  constructor(data, labels, choose) {
    Object.assign(this, { data, labels, choose, focus: ROOT, skipped: 0, chosen: -1, hits: null, found: null });
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Place in the map" });
    this.tools = h("div", { class: "tools" });
    this.told = h("output", { for: "cut", class: "hint" });
    this.cutter = this.makeCutter();
    this.onCut = () => {};
    this.picture = h("div", { class: "picture" });
    this.element = h("div", { class: "map" }, this.tools, this.cutter, h("div", { class: "tools where" }, this.crumbs, this.told), this.picture);
    new ResizeObserver(() => this.draw()).observe(this.picture);
    for (const media of [dark, paper]) media.addEventListener("change", () => this.draw(true));
    labels.listeners.push(() => this.draw(true));
  }

  /** The slider that shows more nodes, one by one, the largest first; all of them at the right end, since most of a large tree stands inside boxes. */
  makeCutter() {
    const { data } = this;
    if (data.fewest === data.n) return null;
    const input = h("input", { id: "cut", type: "range", min: data.fewest, max: data.n, step: 1, value: data.n, "aria-label": "Fewer or more topics", oninput: () => this.cut() });
    this.cut = () => {
      data.cut(input.value === input.max ? data.n : Number(input.value));
      this.focus = data.shownAt(this.focus);
      this.skipped = 0;
      this.draw(true);
      this.onCut();
    };
    this.tellCut = () => {
      const drawn = this.picture.querySelectorAll("[data-node]").length;
      const isWhole = [ROOT, data.roots[0]].includes(this.focus) && !this.skipped;
      if (isWhole && data.shown.size === data.n) {
        input.max = Math.min(data.n, Math.max(STEPS_OF_DRAWN * drawn, data.fewest + FEWEST_STEPS));
        input.value = input.max;
      }
      const [from, to] = isWhole || this.focus === ROOT ? [0, data.n] : [this.focus, data.nodes.end[this.focus]];
      const some = [...data.shown].filter((node) => node >= from && node < to).length;
      const all = count(to - from, "topic");
      const text = `${some < to - from ? `${whole.format(some)} of ` : ""}${all}${drawn < some ? `, ${whole.format(drawn)} drawn; click a box for the others` : ""}`;
      this.told.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    return h("div", { class: "slider cutter" }, h("label", { for: "cut" }, "fewer"), input, h("span", { "aria-hidden": "true" }, "more"));
  }

  size(node) {
    return this.data.by === "documents" ? this.data.nodes.branch_docs[node] : this.data.nodes.below[node];
  }

  /** Return what the height of a node stands for where its children have this sum: hidden ones leave no gap. */
  room(node, sum) {
    const hidden = this.data.children[node].filter((child) => this.labels.of(child).hidden);
    const own = hidden.reduce((left, child) => left - this.size(child), this.size(node));
    return Math.max(sum, own, 1e-12);
  }

  sorted(node) {
    return this.below(node).sort((a, b) => this.size(b) - this.size(a) || a - b);
  }

  below(node) {
    const all = node === ROOT ? this.data.roots : this.data.children[node];
    return all.filter((child) => !this.labels.of(child).hidden);
  }

  /** Fill the map with a node, or with its children after the first so many. */
  zoom(node, skipped = 0) {
    this.focus = node;
    this.skipped = skipped;
    this.draw(true);
  }

  /** Choose a node and bring it into sight. */
  show(node) {
    this.chosen = node;
    const inside = (top) => top === ROOT || (node >= top && node < this.data.nodes.end[top]);
    if (node >= 0 && !inside(this.focus)) this.skipped = 0;
    while (node >= 0 && !inside(this.focus)) this.focus = this.data.nodes.parent[this.focus];
    this.draw(true);
    const isDrawn = () => this.picture.querySelector(`[data-node="${node}"]`);
    if (node < 0 || isDrawn()) return;
    const above = this.data.nodes.parent[node];
    this.zoom(above);
    while (!isDrawn() && this.next) this.zoom(above, this.next);
  }

  draw(always = false) {
    const width = Math.floor(this.picture.clientWidth);
    const high = paper.matches ? PAPER_HIGH : innerWidth < 900 ? 380 : Math.max(Math.floor(this.picture.clientHeight), 300);
    if (!width || (!always && width === this.width && high === this.high)) return;
    [this.width, this.high] = [width, high];
    this.picture.replaceChildren(this.drawn(width, high, dark.matches, false));
    this.drawTools();
    if (this.cutter) this.tellCut();
  }

  drawTools() {
    const { data, labels } = this;
    const names = this.focus === ROOT ? [] : data.pathTo(this.focus);
    const step = (node, text) => h("button", { class: "crumb", onclick: () => this.zoom(node) }, text);
    const single = data.roots.length === 1;
    this.crumbs.replaceChildren(step(ROOT, "All topics"), ...names.filter((n) => !single || n !== data.roots[0]).map((n) => step(n, told(labels.called(n, 2)))),
      ...(this.skipped > 0 ? [h("span", {}, `after the ${whole.format(this.skipped)} largest`)] : []));
    this.tools.replaceChildren(
      choice("Area of a topic", [["documents", "by documents"], ["tokens", data.tree.values === "loading" ? "by rows" : "by words"]], data.by, (by) => {
        data.by = by;
        data.planCut();
        if (data.shown.size < data.n) this.cut();
        else {
          this.draw(true);
          this.onCut();
        }
      }),
      takeaway("map", {
        svg: () => this.drawn(1000, 620, false, true),
        csv: () => [["node", "parent", "documents", "share at or below", "share", "name", "words"], ...data.nodes.id.map((id, i) =>
          [id, data.nodes.parent[i] === ROOT ? "" : data.nodes.id[data.nodes.parent[i]], data.nodes.branch_docs[i], data.nodes.below[i], data.nodes.weight[i], labels.of(i).name || "", data.topWords(i, 10).join(" ")])],
      }));
  }

  /** Return the drawing. paper: for a file, without what answers to a mouse. */
  drawn(width, high, inDark, paper) {
    const { data } = this;
    const focus = this.focus === ROOT && data.roots.length === 1 ? data.roots[0] : this.focus;
    const isLeaf = focus !== ROOT && !data.children[focus].length;
    const strip = focus === ROOT || isLeaf ? 0 : STRIP;
    const parts = [];
    // Deep topics that fill the map have colours as clear as those of first ones.
    const base = focus === ROOT ? 0 : data.depth[focus];
    const start = { width, high, inDark, paper, parts, base };
    this.next = 0;
    if (isLeaf) parts.push(this.box(focus, 0, 0, width, high, start, false));
    else {
      if (strip) parts.push(this.stripe(focus, high, start));
      this.placeFirst(focus, strip, start);
    }
    const label = "Map of topics; the outline below holds the same for the keyboard";
    return drawing(width, high, label, parts);
  }

  levelsBelow(focus, most) {
    const { depth, nodes } = this.data;
    const [from, to, base] = focus === ROOT ? [0, this.data.n, -1] : [focus, nodes.end[focus], depth[focus]];
    let deepest = 0;
    for (let i = from; i < to; i++) deepest = Math.max(deepest, depth[i] - base);
    return Math.min(deepest + 1, most);
  }

  /** Place what the map is zoomed to in lanes: every topic with its true area, and nothing is cut. */
  placeFirst(focus, strip, page) {
    const children = this.sorted(focus).slice(this.skipped);
    if (!children.length) return;
    const sizes = children.map((child) => Math.max(this.size(child), 1e-12));
    const sum = sizes.reduce((total, size) => total + size, 0);
    const whole = focus === ROOT || this.skipped ? sum : this.room(focus, sum);
    const [width, high] = [page.width - strip, (page.high * sum) / whole];
    const area = { ...page, strip, scale: width / sum, tall: high, wide: width };
    const place = (n, room) => this.levelsPlaced(focus, children, this.planned(sizes, width, high, n), area, room);
    const deepened = (drawn) => this.deepened(drawn, focus, children, area);
    const most = this.levelsBelow(focus, 3) > 2 ? Math.min(usualLanes(width), sizes.length) : 0;
    let best = place(1, ROOMY);
    // In more lanes boxes are higher: there may be room for a second level beside the first.
    for (let n = best.plan.lanes.length + 1; best.levels === 1 && n <= most; n++) best = this.better(best, place(n, ROOMY));
    for (const room of [TIGHT, SOME]) if (best.levels === 1) for (let n = 1; n <= most; n++) best = this.better(best, place(n, room));
    const first = best;
    best = deepened(first);
    // And for more topics: each is a box wherever boxes have room.
    for (const room of WIDER) if (first.levels > 1) for (let n = 1; n <= most; n++) best = this.fuller(best, deepened(place(n, room)));
    page.parts.push(...best.parts);
    if (focus !== ROOT && !this.skipped) this.placeOwn(focus, strip, high, page.high - high, { ...page, right: page.width });
    this.next = best.plan.shown < children.length ? this.skipped + best.plan.shown : 0;
  }

  /** Return the drawing of two with a second level, or the one that joins less below the first. */
  better(one, other) {
    return other.levels > 1 && (one.levels === 1 || other.joined < one.joined) ? other : one;
  }

  /** Return the drawing of two that has more topics. */
  fuller(one, other) {
    return other.levels > 1 && other.n > one.n ? other : one;
  }

  /** Return the drawing of as many levels as these lanes have room for: columns not too narrow, and few boxes joined. */
  levelsPlaced(focus, children, plan, page, room) {
    const sum = page.wide / page.scale;
    if (room.some) return this.somePlaced(focus, children, plan, page, room);
    const narrowest = Math.min(...plan.lanes.map((lane) => lane.size * page.scale));
    let levels = Math.max(Math.min(this.levelsBelow(focus, 99) - 1, Math.floor(narrowest / (plan.lanes.length > 1 ? room.column : room.wide))), 1);
    const most = (room.joined - plan.left / sum) * page.wide * page.high;
    // A level most of which would be joined says nothing: the one above it gets its room.
    for (; ; levels--) {
      const drawn = { parts: [], areas: [], shown: [] };
      this.placeLanes(focus, children, plan, { ...page, ...drawn, levels });
      const joined = drawn.areas.reduce((total, area) => total + area, 0);
      if (levels === 1 || joined <= most) return { levels, plan, joined, parts: drawn.parts, n: drawn.shown.length };
    }
  }

  /** Return the drawing with further levels inside the boxes alone that have room for them: more topics of the slider are more boxes. */
  deepened(best, focus, children, page) {
    const { plan, levels: firm } = best;
    const narrowest = Math.min(...plan.lanes.map((lane) => lane.size * page.scale));
    const most = best.some ? 0 : Math.min(this.levelsBelow(focus, 99) - 1, Math.floor(narrowest / DEEPER));
    let found = best;
    for (let levels = firm + 1; levels <= most && firm > 1; levels++) {
      const drawn = { parts: [], areas: [], shown: [] };
      this.placeLanes(focus, children, plan, { ...page, ...drawn, levels, firm });
      if (!drawn.shown.some(({ level }) => level === levels - 1)) break;
      found = { ...best, parts: drawn.parts, n: drawn.shown.length };
    }
    return found;
  }

  /** Return the drawing with a second level of those branches alone whose parts have room. joined: what is not drawn as a part of its own. */
  somePlaced(focus, children, plan, page, room) {
    const drawn = { parts: [], areas: [], shown: [] };
    this.placeLanes(focus, children, plan, { ...page, ...drawn, levels: 2, firm: 1, some: room.column });
    const shown = drawn.shown.reduce((total, { area }) => total + area, 0);
    return { levels: shown > 0 ? 2 : 1, some: true, plan, joined: page.wide * page.high - shown, parts: drawn.parts };
  }

  /** Draw lanes side by side, each as wide as what it holds; the last box may join the smallest topics. */
  placeLanes(focus, children, plan, page) {
    let left = page.strip;
    for (const lane of plan.lanes) {
      const right = left + lane.size * page.scale;
      const levels = page.some && right - left < 2 * page.some ? 1 : page.levels;
      const own = { ...page, left, right, levels, column: (right - left) / levels };
      let y = 0;
      lane.sizes.forEach((size, i) => {
        const [place, high] = [lane.first + i, (page.tall * size) / lane.size];
        if (place < plan.shown) this.placeNode(children[place], 0, y, high, own);
        else page.parts.push(this.joined(focus, children.slice(plan.shown), this.skipped + plan.shown, left, y, high, own));
        y += high;
      });
      left = right;
    }
  }

  /** Divide topics among lanes, as few as show all of them but not fewer than least; too small ones are joined, a tenth of the area at most. */
  planned(sizes, width, high, least = 1) {
    const sum = sizes.reduce((total, size) => total + size, 0);
    const usual = usualLanes(width);
    const most = Math.min(Math.max(usual, Math.floor(width / LEAST_WIDE)), sizes.length);
    let best = null;
    for (let n = least; n <= most && (n <= usual || best.left > MOST_JOINED * sum); n++) {
      const plan = this.inLanes(sizes, n, high);
      // Of boxes that are all too low those of more lanes are the least flat.
      if (!best || plan.left < best.left || (n > usual && plan.left === best.left)) best = plan;
      if (!best.left) break;
    }
    let { shown, left } = best;
    while (left > MOST_JOINED * sum) left -= sizes[shown++];
    if (sizes.length - shown === 1) [shown, left] = [sizes.length, 0];
    const items = left > 0 ? [...sizes.slice(0, shown), left] : sizes.slice(0, shown);
    return { shown, left, lanes: lanesOf(items, Math.min(best.n, items.length)) };
  }

  /** Try so many lanes; shown: how many topics are high enough; left: the size of the others. */
  inLanes(sizes, n, high) {
    const low = lanesOf(sizes, n).flatMap((lane) => lane.sizes.map((size) => (high * size) / lane.size < LEAST_HIGH)).indexOf(true);
    const shown = low < 0 ? sizes.length : Math.max(low, 1);
    return { n, shown, left: sizes.slice(shown).reduce((total, size) => total + size, 0) };
  }

  placeNode(node, level, y, high, page) {
    const isOuter = level + 1 < page.levels;
    const hasRoom = isOuter && this.hasReadableParts(node, high, level + 1 < (page.firm || page.levels) ? 1 : page.some ? MOST_OF_BRANCH : MOST_OF_DEEPER, level);
    const children = hasRoom ? this.below(node) : [];
    const isLeaf = !this.data.children[node].length;
    const x = page.left + level * page.column;
    const wide = isLeaf || (isOuter && !hasRoom) ? page.right - x : page.column;
    page.parts.push(this.box(node, x, y, wide, high, page, !isLeaf && !children.length, level));
    if (level > 0) page.shown.push({ level, area: wide * high });
    if (children.length) this.placeChildren(node, level + 1, y, high, page);
  }

  /** Tell whether the boxes beside a branch of this height have lines, and at most this share of it would be joined. Further inside, one part alone says little of a topic. */
  hasReadableParts(node, high, most, level) {
    const { shown, left } = this.stacked(node, high);
    if (level > 0 && left > 0 && shown.length < FEWEST_INSIDE) return false;
    return most < 1 ? shown.length > 0 && left <= most * high : shown.length > 0 || left >= LEAST_HIGH;
  }

  /** Return the heights of the largest children of a node, that of the others joined, and that of all. A box that is a little too low for a line gets room of the higher ones. */
  stacked(node, high) {
    const sizes = this.sorted(node).map((child) => this.size(child));
    const whole = this.room(node, sizes.reduce((total, size) => total + size, 0));
    const tall = sizes.map((size) => (size / whole) * high);
    const total = (heights) => heights.reduce((sum, one) => sum + one, 0);
    const [least, all] = [LEAST_HIGH / MOST_RAISED, total(tall)];
    const low = tall.findIndex((one) => one < least);
    let n = low < 0 ? tall.length : low;
    const boxes = () => (n < tall.length ? [...tall.slice(0, n), total(tall.slice(n))] : tall);
    while (n > 0 && (boxes().length * LEAST_HIGH > all || boxes().at(-1) < least)) n--;
    const raised = boxes().map((one) => Math.max(one, LEAST_HIGH));
    const [need, spare] = [total(raised) - all, total(raised) - raised.length * LEAST_HIGH];
    const fitted = need > 0 && spare > 0 ? raised.map((one) => one - ((one - LEAST_HIGH) * need) / spare) : n ? raised : boxes();
    return { shown: fitted.slice(0, n), left: n < tall.length ? fitted[n] : 0, all };
  }

  /** Place children by size; those that would be too low become one box. */
  placeChildren(node, level, y, high, page) {
    const children = this.sorted(node);
    const { shown, left, all } = this.stacked(node, high);
    let at = y;
    shown.forEach((tall, i) => {
      this.placeNode(children[i], level, at, tall, page);
      at += tall;
    });
    const rest = children.slice(shown.length);
    const x = page.left + level * page.column;
    this.placeOwn(node, x, y + all, high - all, page);
    if (rest.length === 1) this.placeNode(rest[0], level, at, left, page);
    else if (rest.length) {
      page.areas.push(left * (page.right - x));
      page.parts.push(this.joined(node, rest, shown.length, x, at, left, page));
    }
  }

  /** Draw the box of the rest of a node beside its children: pale, in the hue of its branch. */
  placeOwn(node, x, y, high, page) {
    if (high < LEAST_OWN) return;
    const { data } = this;
    const noun = this.data.by === "documents" ? "documents" : data.tree.values === "loading" ? "rows" : "words";
    const isGeneral = noun === "words" && data.roots.length === 1 && node === data.roots[0];
    const title = `own ${noun} of [${data.nodes.id[node]}]${isGeneral ? `, ${percent(data.nodes.weight[node])} of all words: ${GENERAL}` : ", and of topics that are not shown"}`;
    const text = isGeneral ? [`general words, ${percent(data.nodes.weight[node])}`, GENERAL, data.topWords(node, GENERAL_WORDS).map(visible).join(" ")] : [`own ${noun}`];
    page.parts.push(s("g", { class: page.paper ? null : "own", opacity: this.found && !this.found.has(node) ? DIM : null },
      s("title", {}, title), this.faintBox(node, x, y, page.right - x, high, page, text)));
  }

  /** Return the shapes of a box that is no topic, with as many lines as fit. */
  faintBox(node, x, y, wide, high, page, texts) {
    const room = wide - 14;
    const line = (text, i) => (i ? high >= 22 + i * 14 : high >= 12) && room > 0 && s("text", { x: (x + 7).toFixed(1), y: (y + Math.min(high / 2 + 4, 15) + i * 14).toFixed(1), fill: page.inDark ? "#b9c3cf" : "#4a5868" }, shortened(text, room, false));
    return [
      s("rect", { x: (x + 0.75).toFixed(2), y: (y + 0.75).toFixed(2), width: Math.max(wide - 1.5, 0.5).toFixed(2), height: Math.max(high - 1.5, 0.5).toFixed(2), rx: 3, fill: faintColour(this.data, node, page.inDark) }),
      texts.map(line)];
  }

  /** A topic. level: 0 for what the map is divided into first, whose names stand out. */
  box(node, x, y, wide, high, page, hasMore, level = 0) {
    const { data, labels } = this;
    const fill = areaColour(data, node, page.inDark, page.base);
    const name = labels.of(node).name;
    const isLarge = level === 0 && wide >= FIRST_ROOM.wide && high >= FIRST_ROOM.high;
    const large = page.width >= FIRST_LETTERS.from ? FIRST_LETTERS.large : FIRST_LETTERS.usual;
    const [isBold, letters] = [level === 0, isLarge ? large : LETTERS];
    const step = letters + 3;
    const most = high < 12 ? 0 : Math.max(Math.floor((high - 8) / step), 1);
    const text = visible(name || data.nameOf(node, 8));
    const written = lines(text, wide - (hasMore ? 22 : 14), most, isBold, letters);
    const dim = this.hits && !this.hits.has(node);
    const title = `[${data.nodes.id[node]}] ${visible(labels.called(node, 8))}: ${count(data.nodes.branch_docs[node], "document")}, ${percent(data.nodes.below[node])} of all words`;
    return s("g", { class: page.paper ? null : `box${node === this.chosen ? " chosen" : ""}`, "data-node": page.paper ? null : node, opacity: dim ? DIM : null, onclick: page.paper ? null : () => this.clicked(node) },
      s("title", {}, title),
      s("rect", { x: (x + 0.75).toFixed(2), y: (y + 0.75).toFixed(2), width: Math.max(wide - 1.5, 0.5).toFixed(2), height: Math.max(high - 1.5, 0.5).toFixed(2), rx: 3, fill }),
      written.map((line, i) => s("text", { x: (x + 7).toFixed(1), y: (high < 22 ? y + high / 2 + 4 : y + letters + 4 + i * step).toFixed(1), fill: page.inDark ? "#eef2f6" : "#14202e", "font-weight": isBold ? 600 : null, "font-size": isLarge ? letters : null }, line)),
      hasMore && high >= 12 && !page.paper && s("text", { class: "into", x: (x + wide - 12).toFixed(1), y: (high < 22 ? y + high / 2 + 4 : y + letters + 4).toFixed(1), fill: page.inDark ? "#eef2f6" : "#14202e" }, "›"));
  }

  /** What the map is zoomed to: a strip on its left that leads back. */
  stripe(node, high, page) {
    const { data } = this;
    const text = shortened(visible(this.labels.called(node, 6)), high - 8, true);
    return s("g", { class: page.paper ? null : `box${node === this.chosen ? " chosen" : ""}`, "data-node": page.paper ? null : node, onclick: page.paper ? null : () => this.clicked(node) },
      s("title", {}, `[${data.nodes.id[node]}] ${visible(this.labels.called(node, 8))}: ${count(data.nodes.branch_docs[node], "document")}`),
      s("rect", { x: 0.75, y: 0.75, width: STRIP - 2.5, height: high - 1.5, rx: 3, fill: areaColour(data, node, page.inDark, page.base) }),
      s("text", { transform: `translate(${STRIP / 2 + 3} ${high / 2}) rotate(-90)`, "text-anchor": "middle", "font-weight": 600, fill: page.inDark ? "#eef2f6" : "#14202e" }, text));
  }

  joined(node, rest, skipped, x, y, high, page) {
    const wide = page.right - x;
    const text = `and ${whole.format(rest.length)} more`;
    const dim = this.hits && !rest.some((child) => this.hits.has(child));
    return s("g", { class: page.paper ? null : "box", opacity: dim ? DIM : null, onclick: page.paper ? null : () => this.zoom(node, skipped) },
      s("title", {}, `${text}: ${rest.slice(0, 12).map((child) => visible(this.labels.called(child, 3))).join("; ")}`),
      this.faintBox(node, x, y, wide, high, page, [text]));
  }

  /** A click chooses and zooms in; one on what fills the map leads back. */
  clicked(node) {
    const isBack = this.skipped > 0 && (node === this.focus || this.focus === ROOT);
    if (node === this.focus && !isBack) this.focus = this.data.nodes.parent[node];
    else if (this.data.children[node].length) this.focus = node;
    if (node === this.focus || isBack) this.skipped = 0;
    this.choose(node);
  }
}
