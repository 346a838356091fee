"""Trees of topics whose shape is unknown: mixtures under the nested Chinese restaurant process.

Two backends, ``sampler.backend`` and ``variational.backend``, share the ``config``, the story
(``simulate``), first ``clustering`` of documents, and the ``summary`` that users see. ``paper`` has
what was published of the variational method and is there to be compared with.
"""
