"""No arrow points up: who may import whom."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest
from source_tree import ROOT, edges, imported, modules, offered, paths, within

H = "hiertopics"
LAYERS = (
    ("base",),
    ("numeric", "settings"),
    ("corpus",),
    ("contract",),
    ("families",),
    ("runs",),
    ("fitting", "scoring", "views"),
    ("papers", "python"),
    ("cli", "testing"),
    ("__main__",),
)
"""Wings, bottom up; whoever stands in one knows those of the layers below it, and itself."""

WINGS = {
    "base": (
        ("arrays", "compiling", "errors", "faces"),
        ("axes", "made", "room", "stretches"),
        ("seeds", "visible"),
        ("files", "saying", "units"),
        ("archives", "plugins", "progress"),
    ),
    "corpus": (("data",), ("formats", "holdouts"), ("corpora",)),
    "contract": (
        ("engine",),
        ("cluster", "model"),
        ("registry", "states"),
        ("chains", "observed"),
    ),
    "python": (("exchange", "mistakes", "notebook"), ("run",), ("estimator",)),
}
"""What stands in a wing of several parts, bottom up."""

FACES = (f"{H}.corpus.data", f"{H}.contract")
"""Packages that offer names of their modules."""

MOST_IMPORTS = 30
SOURCE_PAGE = ROOT / "docs" / "source.md"
FLOORS = (f"{H}.families.flat", f"{H}.families.nested")
"""Bottom up: what more than one family uses, of topics and of trees."""

FAMILIES = sorted(
    {".".join(name.split(".")[:3]) for name in paths() if name.startswith(f"{H}.families.")}
    - {*FLOORS}
)
BUILT_ON = {f"{H}.families.nhdp": (f"{H}.families.hdp",)}
"""Families that know another one; what only these share stands in the lower one."""

METHODS = (f"{H}.families", f"{H}.papers")
KERNELS = [name for name in paths() if within(name, *METHODS) and "kernels" in name]
COMPILED = (
    *(f"{H}.numeric.{name}" for name in ("jit", "special", "slices", "streams", "numbers_below")),
    *(f"{H}.numeric.{name}" for name in ("lanes", "simd", "simd_draws")),
    f"{H}.families.ncrp.variational.slot_simd",
    f"{H}.families.nhdp.lane_simd",
)
CONTRACT = tuple(
    f"{H}.{name}"
    for name in (
        "contract.model",
        "contract.states",
        "contract.chains",
        "contract.engine",
        "settings.config",
        "settings.former",
        "corpus.data",
        "numeric",
        "base.seeds",
        "base.errors",
        "base.axes",
        "base.made",
        "base.room",
        "base.stretches",
    )
)
"""What a backend and all under it may know of the rest."""

LIGHT = {"__future__", "click", "collections.abc", "contextlib", "functools", "importlib", "os",
         "resource", "signal", "sys", "threading", "types", "typing",
         "hiertopics", f"{H}.base.errors", f"{H}.base.visible"}  # fmt: skip


def ours(*names: str) -> tuple[str, ...]:
    return tuple(f"{H}.{name}" for name in names)


def violations(inside: tuple[str, ...], allowed: tuple[str, ...]) -> list[str]:
    """Return the imports by modules ``inside`` of modules of ours beyond ``allowed``."""
    return [
        f"{name} imports {target}"
        for name, targets in edges().items()
        if within(name, *inside)
        for target in sorted(targets)
        if within(target, H) and not within(target, f"{H}.base.arrays", *allowed)
    ]


def test_imports_form_no_cycle() -> None:
    names = set(paths())
    graph = {name: targets & names for name, targets in edges(top_only=True).items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def layer_of(name: str) -> int:
    part = name.split(".")[1]
    found = [number for number, parts in enumerate(LAYERS) if part in parts]
    assert len(found) == 1, f"{part} has no place of its own in the layers"
    return found[0]


def test_the_guide_shows_these_layers() -> None:
    rows = re.findall(
        r"^\| \d+ \| ([^|]+) \|", SOURCE_PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [sorted(re.findall(r"`(\w+)`", row)) for row in rows] == [sorted(row) for row in LAYERS]


def test_types_form_no_cycle_within_a_wing() -> None:
    """Imports for type checkers count: two modules that name each other's types are one."""
    names = set(paths())
    graph = {
        name: {target for target in targets & names if wing_of(target) == wing_of(name)}
        for name, targets in edges(top_only=True, typing=True).items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def wing_of(name: str) -> str:
    return ".".join(name.split(".")[1:2])


@pytest.mark.parametrize("wing", WINGS)
def test_every_import_inside_a_wing_points_down(wing: str) -> None:
    floors = {part: number for number, parts in enumerate(WINGS[wing]) for part in parts}
    inside = f"{H}.{wing}"
    up = [
        f"{name} imports {target}"
        for name, targets in edges().items()
        for target in targets
        if name != inside and target != inside and within(name, inside) and within(target, inside)
        if name.split(".")[2] != target.split(".")[2]
        if floors[target.split(".")[2]] >= floors[name.split(".")[2]]
    ]
    assert up == []


@pytest.mark.parametrize("face", FACES)
def test_a_package_offers_at_run_time_what_it_offers_to_type_checkers(face: str) -> None:
    package = importlib.import_module(face)
    told = {name: module for name, module in offered().items() if within(name, face)}
    homes = {f"{face}.{name}": f"{face}.{home}" for name, home in package.HOMES.items()}
    assert told and homes == told
    for name in package.HOMES:
        assert getattr(package, name) is getattr(
            importlib.import_module(told[f"{face}.{name}"]), name
        )
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        package.nothing  # noqa: B018


@pytest.mark.parametrize("face", FACES)
def test_a_package_knows_its_own_face_by_its_modules(face: str) -> None:
    """A face that its own modules use would be loaded before they are."""
    for name, tree in modules().items():
        if within(name, face):
            froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            used = {
                f"{face}.{one.name}" for node in froms if node.module == face for one in node.names
            }
            assert not used & offered().keys(), name


@pytest.mark.parametrize("name", paths())
def test_no_module_begins_with_thirty_imports(name: str) -> None:
    """Such a module does several things, or knows too much of those below it."""
    imports = [
        node for node in modules()[name].body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert len(imports) < MOST_IMPORTS


def test_every_import_points_down() -> None:
    up = [
        f"{name} imports {target}"
        for name, targets in edges().items()
        for target in sorted(targets)
        if name != H and within(target, H) and target != H
        if name.split(".")[1] != target.split(".")[1] and layer_of(target) >= layer_of(name)
    ]
    assert up == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_knows_the_contract_and_the_floors_and_no_other_family(family: str) -> None:
    assert violations((family,), (family, *BUILT_ON.get(family, ()), *FLOORS, *CONTRACT)) == []


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_knows_the_contract_and_the_floors_below(floor: str) -> None:
    down = FLOORS[: FLOORS.index(floor) + 1]
    assert violations((floor,), (*down, *CONTRACT)) == []


@pytest.mark.parametrize(
    "name", [name for name in paths() if within(name, *FLOORS) and name not in FLOORS]
)
def test_what_stands_on_a_floor_serves_more_than_one_family(name: str) -> None:
    served, waiting = {name}, [name]
    while waiting:
        target = waiting.pop()
        more = {user for user, targets in edges().items() if target in targets} - served
        served |= more
        waiting += [user for user in more if within(user, *FLOORS)]
    families = {family for family in FAMILIES if any(within(user, family) for user in served)}
    above = {family for family in families if families & {*BUILT_ON.get(family, ())}}
    assert len(families - above) > 1, "it belongs to the one family that has it, or to the lower"


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_know_numbers_and_their_layout_only(name: str) -> None:
    near: tuple[str, ...] = (".".join(name.split(".")[:3]), *FLOORS)
    if within(name, f"{H}.papers"):
        near = METHODS
    own = {other for other in paths() if within(other, *near) and other.endswith("layout")}
    own |= {other for other in KERNELS if within(other, *near)}
    allowed = own | {
        *COMPILED,
        f"{H}.numeric.pitman_yor_kernels",
        f"{H}.base.arrays",
        f"{H}.base.axes",
        "numpy",
        "numpy.typing",
        "math",
        "typing",
        "__future__",
    }
    assert edges()[name] <= allowed


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_have_neither_classes_nor_output(name: str) -> None:
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.ClassDef):  # a group of arrays, which numba takes, is none
            assert [base.id for base in node.bases if isinstance(base, ast.Name)] == ["NamedTuple"]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "open")
        assert not isinstance(node, ast.JoinedStr)


def test_the_compiler_is_reached_through_one_door() -> None:
    users = {
        name
        for name, targets in edges().items()
        if any(within(target, "numba", "llvmlite") for target in targets)
    }
    assert f"{H}.numeric.jit" in users and users <= set(COMPILED)


@pytest.mark.parametrize(
    ("package", "known"),
    [
        (
            "corpus.data",
            (
                "base.axes",
                "base.errors",
                "base.faces",
                "base.room",
                "base.stretches",
                "numeric.overlap_kernels",
            ),
        ),
        ("settings", ("base.errors", "base.units")),
        ("numeric", ("base.compiling", "base.stretches")),
        (
            "corpus.holdouts",
            (
                "corpus.data",
                "base.archives",
                "base.axes",
                "base.errors",
                "base.files",
                "base.seeds",
                "base.stretches",
            ),
        ),
        ("corpus.formats", ("corpus.data", "base")),
        (
            "contract.model",
            ("corpus.data", "contract.engine", "base", "settings.config"),
        ),
        (
            "views.render",
            (
                "corpus.data.naming",
                "corpus.data.support",
                "corpus.data.tree",
                "base.files",
                "base.visible",
            ),
        ),
    ],
)
def test_a_package_knows_its_subject_only(package: str, known: tuple[str, ...]) -> None:
    assert violations(ours(package), ours(package, *known)) == []


def users(packages: tuple[str, ...], *besides: str) -> list[str]:
    """Return the imports of ``packages`` from outside them and outside ``besides``."""
    return [
        f"{name} imports {target}"
        for name, targets in edges().items()
        for target in sorted(targets)
        if within(target, *packages) and not within(name, *packages, *besides)
    ]


def test_families_are_imported_by_name_only() -> None:
    assert users((f"{H}.families",), *ours("papers")) == []


def test_papers_are_imported_by_name_only() -> None:
    assert users((f"{H}.papers",)) == []


def test_nobody_below_knows_the_command_line() -> None:
    assert users((f"{H}.cli", "click"), *ours("cli", "testing", "__main__")) == []


def test_only_what_shows_trees_knows_how_they_are_drawn() -> None:
    assert users((f"{H}.views.render",), *ours("cli", "views")) == []


def test_commands_import_nothing_heavy_before_they_are_called() -> None:
    for name, targets in edges(top_only=True).items():
        if within(name, f"{H}.cli"):
            heavy = {t for t in targets if t not in LIGHT and not within(t, f"{H}.cli")}
            assert not heavy, (name, heavy)


def test_a_backend_is_loaded_when_it_is_asked_for_and_no_other() -> None:
    program = (
        "import sys; from hiertopics.contract import registry; "
        "own = ('hiertopics.families', 'hiertopics.papers'); "
        "first = [n for n in sys.modules if n.startswith(own)]; "
        "registry.load('hdp-gibbs'); loaded = set(sys.modules); "
        "others = {m for n, e in registry.OWN.items() if n != 'hdp-gibbs' "
        "for place in e.backends.values() for m in [place.partition(':')[0]]}; "
        "sys.exit(bool(first) or bool(others & loaded) or 'hiertopics.families.hdp.gibbs' "
        "not in loaded)"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_the_finder_of_imports_finds_them() -> None:
    source = (
        "import os.path\nfrom hiertopics import fit, one as s\nfrom hiertopics.two import E\n"
        "if TYPE_CHECKING:\n    import click\ndef f():\n    import numba\n"
        "try:\n    import yaml\nexcept ImportError:\n    import json\n"
    )
    names = frozenset({"hiertopics", "hiertopics.one", "hiertopics.fit"})
    found = imported(ast.parse(source), names, top_only=False)
    top = {"os.path", "hiertopics.fit", "hiertopics.one", "hiertopics.two", "yaml", "json"}
    assert found == top | {"numba"}
    assert imported(ast.parse(source), names, top_only=True) == top
    typed = imported(ast.parse(source), names, top_only=True, typing=True)
    assert typed == top | {"click"}
