"""Names that installed packages add: entry points of the Python packaging standard.

A package that is installed beside hiertopics adds a backend, a corpus format or a task of ``eval``
by an entry point. A ``PluginTable`` holds hiertopics' own entries and those of packages under one
mapping. The metadata of installed packages are searched only when a name is not hiertopics' own,
or when all names are listed. An entry point that cannot be loaded is left out of the list, with one
warning that names its package; it is an error only where it is asked for by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from hiertopics.base.errors import UsageError
from hiertopics.base.saying import warn

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Item = TypeVar("Item")
NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*")
"""Names that a package may add: they become parts of file names and of options."""


class PluginTable(Mapping[str, Item], Generic[Item]):
    """Entries by name: hiertopics' own first, then those of installed packages.

    what: one entry in words, for messages, such as ``"backend"``. group: the group of entry points.
    kind: ``module:Class`` of every entry. own: hiertopics' own entries, each as itself or as
    ``module:value``.

    ``table[name]`` raises KeyError for an unknown name, and UsageError, which names the package,
    for an entry point that cannot be loaded. Iteration leaves such an entry point out.
    """

    def __init__(self, what: str, group: str, kind: str, own: Mapping[str, Item | str]) -> None:
        self.what, self.group = what, group
        self._kind = kind
        self._own = dict(own)
        self._loaded: dict[str, Item] = {}
        self._points: dict[str, list[EntryPoint]] | None = None

    def __getitem__(self, name: str) -> Item:
        if name not in self._loaded:
            self._loaded[name] = self._own_item(name) if name in self._own else self._added(name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._entry_points

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        for name in self._entry_points:
            try:
                self[name]
            except UsageError as error:
                warn(str(error))
            else:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def package_of(self, name: str) -> str:
        """Return the name of the package that adds an entry; "" for hiertopics' own."""
        return "" if name in self._own else _package(self._entry_points[name][0])

    def version_of(self, name: str) -> str:
        """Return the version of the package that adds an entry; "" for hiertopics' own."""
        if name in self._own:
            return ""
        package = self._entry_points[name][0].dist
        return "" if package is None else package.version

    def _own_item(self, name: str) -> Item:
        item = self._own[name]
        return cast(Item, _imported(item)) if isinstance(item, str) else item

    def _added(self, name: str) -> Item:
        if name not in self._entry_points:
            raise KeyError(name)
        points = self._entry_points[name]
        about = f"{self.what} {name!r} of package {_package(points[0])!r}"
        if len(points) > 1:
            packages = " and ".join(map(_package, points))
            raise UsageError(f"{self.what} {name!r} comes from packages {packages}; uninstall one")
        if not NAME.fullmatch(name):
            raise UsageError(f"{about}: a name has small letters, digits, - and _ only")
        item = loaded(points[0].load, about)
        if not isinstance(item, _imported(self._kind)):
            what = self._kind.replace(":", ".")
            raise UsageError(f"{about} cannot be used: {points[0].value} is not a {what}")
        return cast(Item, item)

    @property
    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        """Entry points of installed packages by name, hiertopics' own names left out."""
        if self._points is None:
            self._points = {}
            for point in _found(self.group):
                if point.name in self._own:
                    warn(
                        f"package {_package(point)!r} adds {self.what} {point.name!r}, "
                        "a name that hiertopics has itself; it is ignored"
                    )
                else:
                    self._points.setdefault(point.name, []).append(point)
        return self._points


def loaded(load: Any, about: str) -> Any:
    """Return the result of ``load()``; a failure is a UsageError that begins with ``about``."""
    try:
        return load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"{about} cannot be loaded: {reason}") from error


def _found(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, one for each package and name, in a fixed order."""
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    found = {(point.name, _package(point)): point for point in entry_points(group=group)}
    return [found[key] for key in sorted(found)]


def _package(point: EntryPoint) -> str:
    return "unknown" if point.dist is None else str(point.dist.name)


def _imported(place: str) -> Any:
    module, _, value = place.partition(":")
    return getattr(import_module(module), value)
