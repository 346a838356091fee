"""The settings of an experiment: their meaning, their sources, and their readers.

config: the sections and their keys, an Experiment built of them, and every key with its default as
a commented file. layers: defaults, file, ``--set`` and flags laid over each other, each problem
traced to its layer. fields: one value read, and what it may be in words. yamlfile: YAML 1.2 in and
out. identity: which settings make a fit another fit. history: what a setting meant before its
default became another. former: names that settings had before.
"""
