"""Data of the program: values that depend on no file and no backend.

corpus, vectors: counts of words, rows of numbers. tree: the nodes of a model. groups: what a tree
says of authors or labels. discretise: rows as words; pruning: words left out. shape: sizes, told.
The names that most modules need are offered here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hiertopics.base.faces import homes_of, offer

if TYPE_CHECKING:
    from hiertopics.corpus.data.corpus import (
        Corpus as Corpus,
        Tags as Tags,
        default_vocab as default_vocab,
    )
    from hiertopics.corpus.data.discretise import Bins as Bins, column_order as column_order
    from hiertopics.corpus.data.groups import groups_of as groups_of
    from hiertopics.corpus.data.languages import language_of as language_of
    from hiertopics.corpus.data.membership import documents_with as documents_with
    from hiertopics.corpus.data.names import (
        made_unique as made_unique,
        pack_short_names as pack_short_names,
        unique_note as unique_note,
        unpack_names as unpack_names,
    )
    from hiertopics.corpus.data.naming import in_order as in_order, require_order as require_order
    from hiertopics.corpus.data.pruning import MANY as MANY, Limits as Limits
    from hiertopics.corpus.data.regrouping import Regrouping as Regrouping
    from hiertopics.corpus.data.seedwords import Seeds as Seeds, seeds_in as seeds_in
    from hiertopics.corpus.data.shelf import Bags as Bags, Shelf as Shelf, in_memory as in_memory
    from hiertopics.corpus.data.shuffling import shuffle as shuffle
    from hiertopics.corpus.data.support import (
        FEWEST as FEWEST,
        Transfer as Transfer,
        covered as covered,
        how_found as how_found,
        support_lacks as support_lacks,
        support_told as support_told,
    )
    from hiertopics.corpus.data.tree import (
        NODE as NODE,
        OUTSIDE as OUTSIDE,
        ROOT as ROOT,
        NodeSupport as NodeSupport,
        Support as Support,
        Tree as Tree,
        by_branch as by_branch,
        hidden_nodes as hidden_nodes,
    )
    from hiertopics.corpus.data.vectors import (
        Vectors as Vectors,
        default_columns as default_columns,
        to_vectors as to_vectors,
    )
else:
    HOMES = homes_of(
        {
            "corpus": "Corpus Tags default_vocab",
            "discretise": "Bins column_order",
            "groups": "groups_of",
            "languages": "language_of",
            "membership": "documents_with",
            "names": "made_unique pack_short_names unique_note unpack_names",
            "naming": "in_order require_order",
            "pruning": "Limits MANY",
            "regrouping": "Regrouping",
            "seedwords": "Seeds seeds_in",
            "shelf": "Bags Shelf in_memory",
            "shuffling": "shuffle",
            "support": "FEWEST Transfer covered how_found support_lacks support_told",
            "tree": "NODE NodeSupport OUTSIDE ROOT Support Tree by_branch hidden_nodes",
            "vectors": "Vectors default_columns to_vectors",
        }
    )
    __getattr__ = offer(__name__, HOMES)
