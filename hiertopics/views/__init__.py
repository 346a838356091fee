"""Views for people: a tree as text, a page or a file for other tools.

showing: the commands ``show-tree`` and ``export``; topics, documents: ``topics``, ``docs``.
topictree: a tree with its words, which prints itself. remarks: what is said of nodes
besides words. arrange: flat topics clustered. render: the writers, each from a tree to text.
"""
