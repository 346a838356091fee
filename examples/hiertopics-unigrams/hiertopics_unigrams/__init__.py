"""What this package adds to hiertopics: one backend, one corpus format, one task.

The two records below are all that ``hiertopics backends`` and ``hiertopics check`` load.
"""

from hiertopics.contract.registry import Entry
from hiertopics.corpus.formats.table import Format

entry = Entry(
    "hiertopics_unigrams.mixture",
    "flat topics, one for each document: a mixture of unigrams by EM (Nigam et al. 2000)",
)

words = Format("hiertopics_unigrams.wordlines", ("*.words",), writes=True, named=True)
