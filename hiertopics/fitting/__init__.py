"""From a config to a run directory: the loop, and its observers.

driver: the command ``fit``, up to a job. job: one fit on a locked run. loop: the iterations, what
stops them, and what records them: progress, metrics, checkpoints.

sampling: draws and chains. diagnostics: R-hat of their traces.

Beside a fit: consensus, a run made of others; simulation, a backend's own story run forwards;
sweeping, the commands of many fits.
"""
