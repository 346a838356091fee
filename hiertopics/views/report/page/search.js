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
    };
    return this.low;
  }

  /** Return the topics and documents that hold every term, in their own order. @param {string} query */
  find(query) {
    const terms = Search.terms(query);
    if (!terms.length) return null;
    const low = this.prepare();
    const { data } = this;
    const docs = new Uint8Array(data.nDocs).fill(1);
    const nodes = new Uint8Array(data.n).fill(1);
    for (const term of terms) {
      const holds = Uint8Array.from(low.words, (word) => (word.includes(term) ? 1 : 0));
      for (let i = 0; i < data.n; i++) if (nodes[i]) nodes[i] = this.nodeHas(i, term, holds) ? 1 : 0;
      this.keep(docs, term, holds, low);
    }
    const chosen = (flags) => Array.from(flags.keys()).filter((i) => flags[i]);
    return { terms, nodes: chosen(nodes), docs: chosen(docs) };
  }

  nodeHas(node, term, holds) {
    const { name = "", note = "" } = this.labels.of(node);
    if (name.toLowerCase().includes(term) || note.toLowerCase().includes(term)) return true;
    return String(this.data.nodes.id[node]) === term || this.data.nodes.words[node].some((word) => holds[word]);
  }

  /** Take the flag from documents without a term. */
  keep(docs, term, holds, low) {
    const { data } = this;
    const values = low.values.map((column) => column.map((value) => value.includes(term)));
    for (let doc = 0; doc < docs.length; doc++) {
      if (!docs[doc]) continue;
      let has = low.names[doc].includes(term) || (low.texts[doc] || "").includes(term);
      if (!has && data.content) {
        for (let i = data.content[doc]; i < data.content[doc + 1] && !has; i++) has = holds[data.word[i]] === 1;
      }
      for (let c = 0; c < values.length && !has; c++) {
        const column = data.columns[c];
        for (let i = column.docFirst[doc]; i < column.docFirst[doc + 1] && !has; i++) has = values[c][column.doc_value[i]];
      }
      if (!has) docs[doc] = 0;
    }
  }
}
