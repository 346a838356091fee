"""Ways to the data of a fit: from a file or an object, checked, and back into a file.

dataset: from the ``data`` section to what a backend observes: counts, vectors or bits. inmemory:
objects of Python and pipes, through a file. checking and conversion: the commands ``check`` and
``convert``.
"""
