"""Modules that bear the name of a command: in Python, calling them is that command.

``hiertopics.backends`` and ``hiertopics.config`` are such modules.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class CommandModule(ModuleType):
    """A module that stands for the function of its name in ``hiertopics.catalogue``."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Do what the command does; see ``hiertopics.catalogue``."""
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module("hiertopics.catalogue"), name)(*args, **options)


def command(name: str) -> None:
    """Let the module of this dotted name be called."""
    sys.modules[name].__class__ = CommandModule
