// Search over topics (numbers, names, notes, words) and documents (names, words, texts, metadata).

/** Finds what holds all terms of a query, upper and lower case alike. */
class Search {
  /** @param {Data} data @param {Labels} labels */
  constructor(data, labels) {
    Object.assign(this, { data, labels });
    this.low = null;
  }

  /** Return the terms of a query. @param {string} query */
  static terms(query) {
    return query.toLowerCase().split(/\s+/).filter(Boolean);
  }

  /** Lower-case copies, made at the first search. */
  prepare() {
    if (this.low) return this.low;
    const lower = (texts) => (texts || []).map((text) => text.toLowerCase());
    const { data } = this;
    this.low = {
      words: lower(data.words),
      names: data.docs ? data.row.map((_, doc) => data.docName(doc).toLowerCase()) : [],
      texts: lower(data.parts.texts),
      values: data.columns.map((column) => lower(column.values)),
      days: data.columns.map((column) => column.days || []),
    };
    return this.low;
  }

  /** Whether a text holds a term as a word, not as a part of one. @param {string} text @param {string} term */
  static asWord(text, term) {
    const isPart = /[\p{L}\p{N}]/u;
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + 1)) {
      const [before, after] = [text.slice(0, at).match(/.$/su), text.slice(at + term.length).match(/^./su)];
      if (!(before && isPart.test(before[0])) && !(after && isPart.test(after[0]))) return true;
    }
    return false;
  }

  /** Return the topics and documents that hold every term: first those that have all of them as words; each in their own order.
   * words: the topics among them that do. @param {string} query */
  find(query) {
    const terms = Search.terms(query);
    if (!terms.length) return null;
    const low = this.prepare();
    const { data } = this;
    const hits = [(text, term) => text.includes(term), Search.asWord].map((has) => {
      const docs = new Uint8Array(data.nDocs).fill(1);
      const nodes = new Uint8Array(data.n).fill(1);
      for (const term of terms) {
        const holds = Uint8Array.from(low.words, (word) => (has(word, term) ? 1 : 0));
        for (let i = 0; i < data.n; i++) if (nodes[i]) nodes[i] = this.nodeHas(i, term, holds, has) ? 1 : 0;
        this.keep(docs, term, holds, low, has);
      }
      return { docs, nodes };
    });
    const [all, whole] = hits;
    const chosen = (flags, first) => [...flags.keys()].filter((i) => flags[i]).sort((a, b) => first[b] - first[a] || a - b);
    return { terms, nodes: chosen(all.nodes, whole.nodes), docs: chosen(all.docs, whole.docs), words: new Set(chosen(whole.nodes, whole.nodes)) };
  }

  nodeHas(node, term, holds, has) {
    const { name = "", note = "" } = this.labels.of(node);
    if (has(name.toLowerCase(), term) || has(note.toLowerCase(), term)) return true;
    return String(this.data.nodes.id[node]) === term || this.data.nodes.words[node].some((word) => holds[word]);
  }

  /** Take the flag from documents without a term. */
  keep(docs, term, holds, low, has) {
    const { data } = this;
    const [values, days] = [low.values, low.days].map((columns) => columns.map((column) => column.map((value) => has(value, term))));
    for (let doc = 0; doc < docs.length; doc++) {
      if (!docs[doc]) continue;
      let found = has(low.names[doc], term) || has(low.texts[doc] || "", term);
      if (!found && data.content) {
        for (let i = data.content[doc]; i < data.content[doc + 1] && !found; i++) found = holds[data.word[i]] === 1;
      }
      for (let c = 0; c < values.length && !found; c++) {
        const column = data.columns[c];
        for (let i = column.docFirst[doc]; i < column.docFirst[doc + 1] && !found; i++) found = values[c][column.doc_value[i]] || (column.days && days[c][column.doc_day[i]]);
      }
      if (!found) docs[doc] = 0;
    }
  }
}
