"""How good a run is: held-out scores, tasks, the quality of topics and of trees.

evaluation: the command ``eval``. comparison: ``compare``, ``agree``. request: what protocols and
tasks are given. scores: log likelihoods, perplexity, errors. quality: of topics and of trees.
protocols, tasks: the ways to score, a line of a table each.
"""
