"""The engine of a Dask cluster: pieces live in its processes, on one machine or many.

joining: from ``--cluster`` to an engine. coordinator: the engine, in the process of the fit.
worker: what lives and is done in the processes of the cluster. watch: who has stopped answering.

Each process gets one task per step and works on its pieces on threads of its own. States stay
where they are; messages go out, results come back in the order of the pieces, so that a cluster
gives the bytes of one thread. A state is known by the line of states that it stands in, its piece
and its generation. A task that finds no such state (its process has died, or another one took the
task over) says so, and ``WorkersLost`` is raised: what goes on from the last checkpoint places its
pieces anew, under a line of its own, which a task left over from before cannot touch.
"""
