"""Build a bag-of-words corpus from the docstrings of the Python standard library.

Every documented module, class, function and method of the running interpreter is a document. Its
groups are the modules that define or re-export it and the packages that these lie in, its labels
the chapters of the library documentation that those modules belong to. Only counts and names are
written, never the text.

Usage: python build_docstrings.py [FOLDER]
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
import re
import sys
import types
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

MIN_DF = 4
MAX_DF = 0.3
MIN_LENGTH = 3
MIN_TOKENS = 10  # shorter documents are dropped
COPY_COSINE = 0.9  # documents closer than this are one: os.spawnlp and os.spawnvp
FOLD_TOKENS = 15  # shorter docstrings are read with that of their class or module

# Top-level modules by chapter of the library documentation. What is not named here is left out:
# tests, demos, what prints or opens windows when imported, modules that site packages replace
# (distutils). A module `_x` belongs to the chapter of `x`.
CHAPTERS = {
    "built-in": "builtins __future__ _sitebuiltins",
    "text-processing": "string re difflib textwrap unicodedata stringprep readline rlcompleter "
    "sre_compile sre_constants sre_parse _sre",
    "binary-data": "struct codecs encodings _multibytecodec _codecs_cn _codecs_hk "
    "_codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw",
    "data-types": "datetime zoneinfo calendar collections heapq bisect array weakref types copy "
    "pprint reprlib enum graphlib _collections_abc _weakrefset _strptime",
    "numeric": "numbers math cmath decimal fractions random statistics _pydecimal",
    "functional": "itertools functools operator",
    "file-access": "pathlib os.path posixpath ntpath genericpath fileinput stat filecmp tempfile "
    "glob fnmatch linecache shutil",
    "persistence": "pickle copyreg shelve marshal dbm sqlite3 _compat_pickle",
    "compression": "zlib gzip bz2 lzma zipfile tarfile _compression",
    "file-formats": "csv configparser tomllib netrc plistlib xdrlib",
    "cryptography": "hashlib hmac secrets _blake2 _md5 _sha1 _sha256 _sha3 _sha512",
    "operating-system": "os posix io time argparse getopt optparse logging getpass curses platform "
    "errno ctypes _pyio",
    "concurrency": "threading multiprocessing concurrent subprocess sched queue contextvars "
    "_thread _threading_local _posixshmem _posixsubprocess",
    "networking": "asyncio socket ssl select selectors signal mmap asyncore asynchat",
    "internet-data": "email json mailbox mailcap mimetypes base64 binascii quopri uu",
    "markup": "html xml pyexpat _elementtree _markupbase",
    "internet-protocols": "webbrowser wsgiref urllib http ftplib poplib imaplib smtplib uuid "
    "socketserver xmlrpc ipaddress nntplib telnetlib smtpd cgi cgitb nturl2path",
    "multimedia": "wave colorsys aifc audioop chunk imghdr ossaudiodev sndhdr sunau",
    "internationalisation": "gettext locale",
    "frameworks": "turtle cmd shlex",
    "tkinter": "tkinter",
    "development": "typing pydoc doctest unittest",
    "debugging": "bdb faulthandler pdb timeit trace tracemalloc profile pstats cProfile _lsprof",
    "packaging": "ensurepip venv zipapp",
    "runtime": "sys sysconfig warnings dataclasses contextlib abc atexit traceback gc inspect "
    "site code codeop _py_abc",
    "importing": "zipimport pkgutil modulefinder runpy importlib imp _frozen_importlib "
    "_frozen_importlib_external",
    "language": "ast symtable token keyword tokenize tabnanny pyclbr py_compile compileall dis "
    "opcode pickletools",
    "unix": "pwd grp termios tty pty fcntl resource syslog crypt nis pipes spwd",
}
SKIPPED_PARTS = {"test", "tests", "__main__"}
# Modules written twice, in C and in Python: what they describe is the same.
TWINS = ("_pydecimal", "_pyio")

# English function words, then words of docstrings that say nothing about the subject.
_STOP_TEXT = """
about above after again against all also although always and another any anything are aren around
based because been before being below between both but can cannot could couldn did didn does doesn
doing don done during each either else etc even ever every everything few following for from
further had has hasn have haven having her here him his how however into isn its itself just least
less like made make makes making many may might more most much must need needed needs neither nor
not nothing now off once one only onto other others otherwise our out over own per rather same
several shall she should shouldn since some something still such than that the their them
themselves then there therefore these they thing this those though through thus too toward two
under unless until upon use used useful uses using usually very via was wasn way well were weren
what whatever when where whether which while who whole whose why will with within without won
would wouldn yet you your

abc able accept accepted accepts according actual actually add added additional affect affects aka
allow allowed allowing allows almost alone along already among andre anyway api apis applied
applies apply appropriate appropriately arg args argument arguments associated assume assumed
assumes attempt attempted attempts automatically available bar baz behavior call called calling
calls case cases class classes com contain containing contains convenience corresponding create
created creates current currently def default defaults defined describe described detail detailed
details determine different directly docstring documentation effect equivalent example examples
except exception exist existing exists explicitly false first five followed follows foo found four
function functions get gets give given gives got guido happen happens ignore ignored implement
implementation implementations implemented implementing implements include included including
indicate indicates instance instances instead int item know known kwargs kwds last later lemburg
let lets look looks main mal mean means method methods mostly multiple named necessary new non
none normally note obj object objects often omitted optional optionally order org original param
parameter parameters part particular pass passed passing please possible present provide provided
provides python raise raised raises represent representation representing represents require
required requires respectively result results return returned returning returns say says second
see self sense set sets setting similar similarly simple simply single sometimes spam special
specific specified specifies specify specifying str support supported supports take taken takes
things third three true try type types typically usage user usual value values variable various
version want work working works www xxx
"""
STOP_WORDS = frozenset(_STOP_TEXT.split())

# A word is a run of letters; a run with a digit in it (0x7f, utf8, py3) is noise and goes whole.
_RUN = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_PROMPT = re.compile(r"^\s*(?:>>>|\.\.\.) ?", re.MULTILINE)


CountMatrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class Piece(NamedTuple):
    """One docstring: where it was found, what it belongs to and what it says."""

    name: str
    parent: str
    groups: frozenset[str]
    text: str


class Document(NamedTuple):
    """A bag of words with the modules it is found in."""

    name: str
    groups: frozenset[str]
    words: tuple[str, ...]


def chapter_table() -> dict[str, str]:
    """Return the chapter of each module in CHAPTERS."""
    return {module: chapter for chapter, names in CHAPTERS.items() for module in names.split()}


def chapter_of(module: str, table: Mapping[str, str]) -> str | None:
    """Return the chapter of a dotted module name: its own, or that of its nearest parent."""
    parts = module.split(".")
    names = [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
    for name in [*names, parts[0].removeprefix("_")]:
        if name in table:
            return table[name]
    return None


def import_quietly(name: str) -> types.ModuleType | None:
    """Import a module; None when the platform lacks it."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError, AttributeError):
        return None


def submodule_names(package: types.ModuleType) -> Iterator[str]:
    """Yield the dotted names of all modules under a package, in sorted order."""
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        name = f"{package.__name__}.{info.name}"
        if info.name in SKIPPED_PARTS:
            continue
        yield name
        module = import_quietly(name) if info.ispkg else None
        if module is not None:
            yield from submodule_names(module)


def library_module_names() -> Iterator[str]:
    """Yield the names of the library modules that the chapter table knows."""
    table = chapter_table()
    for name in sorted(sys.stdlib_module_names | {"os.path"}):
        if chapter_of(name, table) is None:
            continue
        yield name
        module = import_quietly(name)
        if module is not None and hasattr(module, "__path__"):
            yield from submodule_names(module)


def import_modules(names: Iterable[str]) -> dict[str, types.ModuleType]:
    """Import the modules that can be imported here, by name."""
    found = ((name, import_quietly(name)) for name in names)
    return {name: module for name, module in found if module is not None}


def package_of(module: str) -> str:
    """Return the top-level name of a module, `x` for the extension module `_x`."""
    return module.split(".")[0].removeprefix("_")


def is_offered(module: types.ModuleType, attribute: str, value: object) -> bool:
    """Tell whether a module defines or re-exports a value, rather than merely imports it."""
    home = getattr(value, "__module__", None) or ""
    if home == module.__name__ or attribute in getattr(module, "__all__", ()):
        return True
    if not str(getattr(module, "__file__", "")).endswith(".py"):
        return True  # an extension module imports no names
    if hasattr(module, "__all__") or attribute.startswith("_"):
        return False
    # Without __all__ a public name from the same package is taken for a re-export.
    return package_of(home) == package_of(module.__name__)


def offered(module: types.ModuleType) -> Iterator[tuple[str, object]]:
    """Yield the classes and functions that a module defines or re-exports."""
    # Some packages load the names of __all__ only when asked.
    names = {*vars(module), *getattr(module, "__all__", ())}
    for attribute in sorted(name for name in names if not is_dunder(name)):
        value = getattr(module, attribute, None)
        value = value.__func__ if isinstance(value, types.MethodType) else value
        is_object = inspect.isclass(value) or inspect.isroutine(value)
        if is_object and is_offered(module, attribute, value):
            yield attribute, value


def is_dunder(name: str) -> bool:
    """Tell whether a name belongs to the language, as `__loader__` or `__add__` do."""
    return name.startswith("__") and name.endswith("__")


def is_own(owner: type, value: object) -> bool:
    """Tell whether a member was written for its class, not put there by enum and the like."""
    home = getattr(value, "__module__", None)
    return home is None or home == owner.__module__


def members(owner: type) -> Iterator[tuple[str, object]]:
    """Yield the functions and properties that a class itself defines."""
    if issubclass(owner, tuple):
        return  # named tuples: "Alias for field number 0"
    seen = set()
    for attribute, value in sorted(vars(owner).items()):
        if is_dunder(attribute) and attribute != "__init__":
            continue
        if isinstance(value, types.WrapperDescriptorType):
            continue  # "Initialize self. See help(type(self))"
        if isinstance(value, (classmethod, staticmethod)):
            value = value.__func__
        is_member = inspect.isroutine(value) or inspect.isdatadescriptor(value)
        if is_member and is_own(owner, value) and id(value) not in seen:
            seen.add(id(value))
            yield attribute, value


def docstring(value: object) -> str:
    """Return the object's own docstring, or the empty string."""
    # A class would otherwise show the docstring of its metaclass's attribute.
    text = vars(value).get("__doc__") if isinstance(value, type) else getattr(value, "__doc__", "")
    return text if isinstance(text, str) else ""


def name_rank(value: object, module: str, attribute: str) -> tuple[bool, bool, int, str]:
    """Rank a name of an object: public before private, its real name before an alias, short."""
    parts = [*module.split("."), attribute]
    private = any(part.startswith("_") and part != "__init__" for part in parts)
    alias = attribute != getattr(value, "__name__", attribute)
    return private, alias or module == "builtins", len(parts), module


def with_packages(modules: Iterable[str]) -> frozenset[str]:
    """Return the modules and the top-level packages that they lie in."""
    return frozenset(name for module in modules for name in (module, module.split(".")[0]))


def module_pieces(modules: Mapping[str, types.ModuleType]) -> list[Piece]:
    """Return the docstrings of the modules; a module of two names is one piece."""
    names: dict[int, list[str]] = {}
    for name, module in modules.items():
        names.setdefault(id(module), []).append(name)
    return [
        Piece(found[0], "", with_packages(found), docstring(modules[found[0]]))
        for found in names.values()
    ]


def object_pieces(
    modules: Mapping[str, types.ModuleType],
) -> tuple[list[Piece], list[tuple[type, Piece]]]:
    """Return the docstrings of the offered objects, and the classes among them."""
    values: dict[int, object] = {}
    places: dict[int, list[tuple[str, str]]] = {}
    for name, module in modules.items():
        for attribute, value in offered(module):
            values[id(value)] = value
            places.setdefault(id(value), []).append((name, attribute))
    pieces, classes = [], []
    for key, value in values.items():
        home, attribute = min(places[key], key=lambda place: name_rank(value, *place))
        groups = with_packages(module for module, _ in places[key])
        piece = Piece(f"{home}.{attribute}", home, groups, docstring(value))
        pieces.append(piece)
        if isinstance(value, type):
            classes.append((value, piece))
    return pieces, classes


def member_pieces(classes: Iterable[tuple[type, Piece]]) -> Iterator[Piece]:
    """Yield the docstrings of the members of each class."""
    for owner, piece in classes:
        for attribute, value in members(owner):
            yield Piece(f"{piece.name}.{attribute}", piece.name, piece.groups, docstring(value))


def twin_name(name: str) -> str:
    """Return the public name of what a twin module describes, other names as they are."""
    return name.removeprefix("_py") if name.split(".")[0] in TWINS else name


def join_twins(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces by name; of twins the longer docstring stays, with the groups of both."""
    joined: dict[str, Piece] = {}
    for piece in pieces:
        name = twin_name(piece.name)
        twin = joined.get(name, piece)
        text = max(twin.text, piece.text, key=len)
        groups = twin.groups | piece.groups
        joined[name] = Piece(name, twin_name(piece.parent), groups, text)
    return [joined[name] for name in sorted(joined)]


def collect(names: Iterable[str]) -> list[list[Piece]]:
    """Return the docstrings found in the named modules: of members, of objects, of modules."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        modules = import_modules(names)
        objects, classes = object_pieces(modules)
        levels = [list(member_pieces(classes)), objects, module_pieces(modules)]
    return [join_twins(level) for level in levels]


def tokenise(text: str) -> list[str]:
    """Split a docstring into lower-case words of letters without the stop words."""
    runs = _RUN.findall(_PROMPT.sub("", text).lower().replace("_", " "))
    words = (run.split("'")[0] for run in runs)
    return [
        word
        for word in words
        if len(word) >= MIN_LENGTH and word.isalpha() and word not in STOP_WORDS
    ]


def fold(levels: Sequence[Sequence[Piece]]) -> list[Document]:
    """Make a document of each docstring; short ones are read with that of their parent."""
    documents = []
    waiting: dict[str, list[str]] = {}
    for level in levels:
        folded: dict[str, list[str]] = {}
        for piece in level:
            words = [*tokenise(piece.text), *waiting.pop(piece.name, [])]
            if len(words) < FOLD_TOKENS and piece.parent:
                folded.setdefault(piece.parent, []).extend(words)
            else:
                documents.append(Document(piece.name, piece.groups, tuple(words)))
        for parent, words in folded.items():
            waiting.setdefault(parent, []).extend(words)
    # Public names first: of copies the first stays.
    return sorted(documents, key=lambda document: (document.name.startswith("_"), document.name))


def choose_vocabulary(documents: Sequence[Document]) -> list[str]:
    """Return the words found in at least MIN_DF and at most MAX_DF of the documents, sorted."""
    frequency = Counter(word for document in documents for word in set(document.words))
    limit = MAX_DF * len(documents)
    return sorted(word for word, count in frequency.items() if MIN_DF <= count <= limit)


def keep_words(documents: Sequence[Document], vocabulary: Sequence[str]) -> list[Document]:
    """Drop the words outside the vocabulary, then the documents that are too short."""
    known = set(vocabulary)
    shorter = (
        document._replace(words=tuple(word for word in document.words if word in known))
        for document in documents
    )
    return [document for document in shorter if len(document.words) >= MIN_TOKENS]


def count_matrix(documents: Sequence[Document], vocabulary: Sequence[str]) -> CountMatrix:
    """Return the counts, documents by words."""
    ids = {word: index for index, word in enumerate(vocabulary)}
    counts = np.zeros((len(documents), len(ids)))
    for row, document in zip(counts, documents, strict=True):
        for word, count in Counter(document.words).items():
            row[ids[word]] = count
    return counts


def merge_copies(documents: Sequence[Document], vocabulary: Sequence[str]) -> list[Document]:
    """Join each document with the first that it hardly differs from; the groups of both stay."""
    counts = count_matrix(documents, vocabulary)
    products = counts @ counts.T
    squares = products.diagonal()
    close = products**2 >= COPY_COSINE**2 * np.outer(squares, squares)
    kept: dict[int, Document] = {}
    for index, document in enumerate(documents):
        first = next((other for other in kept if close[index, other]), index)
        known = kept.setdefault(first, document)
        kept[first] = known._replace(groups=known.groups | document.groups)
    return list(kept.values())


def prune(documents: Sequence[Document]) -> tuple[list[Document], list[str]]:
    """Drop rare and common words, short documents and copies, until all the rules hold at once."""
    while True:
        vocabulary = choose_vocabulary(documents)
        kept = merge_copies(keep_words(documents, vocabulary), vocabulary)
        if kept == documents:
            return kept, vocabulary
        documents = kept


def chapters(document: Document, table: Mapping[str, str]) -> set[str]:
    """Return the chapters of a document's groups."""
    found = (chapter_of(group, table) for group in document.groups)
    return {chapter for chapter in found if chapter is not None}


def ldac_line(words: Iterable[str], ids: Mapping[str, int]) -> str:
    """Return a document as a line `M id:count id:count ...`, ids increasing."""
    counts = sorted(Counter(ids[word] for word in words).items())
    return " ".join([str(len(counts)), *(f"{word}:{count}" for word, count in counts)])


def holder_of(name: str) -> str:
    """Return the dotted name of what holds an object: its label path; of a module, its own."""
    return name.rpartition(".")[0] or name


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines with the same line ends on every platform."""
    path.write_text("".join(line + "\n" for line in lines), encoding="ascii", newline="\n")


def write_memberships(path: Path, members_of: Sequence[Iterable[str]]) -> None:
    """Write the ids of each document's names to a file and the names to its key."""
    names = sorted({name for members in members_of for name in members})
    ids = {name: index for index, name in enumerate(names)}
    lines = (" ".join(map(str, sorted(ids[name] for name in found))) for found in members_of)
    write_lines(path, lines)
    write_lines(path.with_name(path.name + ".key"), names)


def write_corpus(folder: Path, documents: Sequence[Document], vocabulary: Sequence[str]) -> None:
    """Write the corpus and the files beside it."""
    ids = {word: index for index, word in enumerate(vocabulary)}
    table = chapter_table()
    write_lines(folder / "docstrings.ldac", (ldac_line(doc.words, ids) for doc in documents))
    write_lines(folder / "docstrings.vocab", vocabulary)
    write_lines(folder / "docstrings.docs", (doc.name for doc in documents))
    write_lines(folder / "docstrings.paths", (holder_of(doc.name) for doc in documents))
    write_memberships(folder / "docstrings.authors", [doc.groups for doc in documents])
    write_memberships(folder / "docstrings.labels", [chapters(doc, table) for doc in documents])


def main() -> None:
    """Build the corpus in the folder given, by default that of this script."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = list(library_module_names())
    documents, vocabulary = prune(fold(collect(names)))
    write_corpus(folder, documents, vocabulary)
    tokens = sum(len(document.words) for document in documents)
    print(f"{len(documents)} documents, {len(vocabulary)} words, {tokens} tokens", file=sys.stderr)


if __name__ == "__main__":
    main()
