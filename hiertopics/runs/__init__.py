"""The run directory: files that a fit writes, and that all commands read.

rundir: a run on disk, read. artifacts, rows: what is written for readers. checkpoints: states
to go on from. manifest: what a run was made from. scorefiles: the folder ``eval``.

experiment: the config of a run, or of what the user said. original: the corpus of a run, read
again. trained: theta of the training documents, every entry. newdocs: the command ``infer``,
documents placed under a run. meant: a path at which there is no run.
"""
