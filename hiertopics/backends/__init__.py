"""The model families, one package each; they never import each other.

Called, this package lists the backends, as the command of its name does.
"""

from hiertopics.commandmodule import command

command(__name__)
