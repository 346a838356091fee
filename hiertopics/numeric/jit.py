"""The single entry point for the compilation of kernels.

Options are fixed here: cached on disk, no GIL, numpy's error model (numba's default
zero-division check makes a sweep three times slower). Fast-math is off; a kernel whose inner
sum must be vectorised asks for ``REASSOCIATE``, which keeps NaN and infinity meaningful.

Classes below lean on numba's dispatcher and compiler, which are no public interface: they halve
the time that compiling takes, and change no result. The environment variable
HIERTOPICS_PLAIN_NJIT=1 does without them, by numba's public decorator; the cache, which is none
either, is the same.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import pickle
import secrets
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from types import FunctionType
from typing import Any, TypeVar, cast

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core import event
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.registry import CPUDispatcher
from numba.extending import overload

from hiertopics.base.compiling import tell_of_compiling

F = TypeVar("F", bound=Callable[..., Any])

PLAIN = os.environ.get("HIERTOPICS_PLAIN_NJIT") == "1"
"""Whether kernels are compiled by numba's public decorator alone."""

N_HASH = 16
"""Bytes of a hash at the end of a file of the cache."""

REASSOCIATE = frozenset({"contract", "reassoc", "nsz", "arcp"})


# numba calls a function by its name and its number in this process. A part of a kernel that another
# process compiled may have the name of a different one that is compiled here, and would replace it.
FunctionIdentity._unique_ids = itertools.count(secrets.randbits(62))


class _HashedCacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """The files of a cache, each with its hash at the end: damaged code would crash the process."""

    def _dump(self, obj: Any) -> bytes:
        data: bytes = super()._dump(obj)
        return data + _hash(data)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            data = file.read()
        if _hash(data[:-N_HASH]) != data[-N_HASH:]:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(data[:-N_HASH])


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=N_HASH).digest()


class _Cache(FunctionCache):  # type: ignore[misc]
    """Compiled code on disk; code that cannot be loaded is compiled anew, or saved another time.

    A power cut leaves empty files; an upgrade leaves code that refers to modules that are gone; a
    disk may be full. None of that concerns who wants to call a kernel.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = _HashedCacheFile(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for a signature; None where there is none to be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever unpickling raises
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the code compiled for a signature, if the disk takes it."""
        with suppress(Exception):  # a damaged index that a full disk keeps, too
            super().save_overload(sig, data)


class _Flags(Flags):  # type: ignore[misc]
    """How numba compiles a kernel; equal where what numba brings along is the same.

    numba keeps its own implementations (of ``np.empty`` and the like) by flags, and compares all
    of them each time.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(_Flags)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Flags):
            return NotImplemented
        return self is other or (
            self.fastmath == other.fastmath and self.error_model == other.error_model
        )


class _CachedDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled under our flags."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._compiler._customize_flags = _Flags


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into a kernel; the kernel has its copy, so no machine code is made of it.

    Of its own it only has the places of what Python objects it refers to (``NumbaEnv``).
    """

    def _optimize_final_module(self) -> None:
        # What is made of it is made in the kernel; here what clutters it goes.
        passes = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        if isinstance(passes, tuple):
            passes[0].run(self._final_module, passes[1])
        else:  # numba before 0.62
            passes.run(self._final_module)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        engine = self._codegen._engine
        places = [
            f'@"{name}" = common global i8* null'
            for name in (place.name for place in self._final_module.global_variables)
            if name.startswith("_ZN08NumbaEnv") and not engine.is_symbol_defined(name)
        ]
        if places:
            self._codegen._add_module(llvm.parse_assembly("\n".join(places)))
            engine.finalize_object()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return the form that the cache keeps."""
        kept: tuple[str, str, bytes] = self.serialize_using_bitcode()
        return kept

    @classmethod
    def _unserialize(cls, codegen: Any, state: tuple[str, str, Any]) -> _LinkedLibrary:
        name, kind, data = state
        part = cls(codegen, name)
        part._final_module = llvm.parse_bitcode(data if kind == "bitcode" else data[1])
        part._finalize_final_module()
        return part


class _WholeLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code of a kernel with all that it calls."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module of numba's; functions that only unpack objects are not optimised."""
        if ir_module.name == "wrapper":
            for function in ir_module.functions:
                if not function.is_declaration:
                    function.attributes.add("optnone")
                    function.attributes.add("noinline")
        super().add_ir_module(ir_module)


class _Compiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel as a whole, with the functions that it calls as its parts."""

    def compile_extra(self, func: Any) -> Any:
        """Return what numba's compiler does of the function."""
        context = self.state.targetctx
        context.refresh()
        codegen = context.codegen()
        self.state.library = _WholeLibrary(codegen, func.__qualname__)
        self.state.library.enable_object_caching()
        # Under numba's lock: nobody else compiles meanwhile. Nor is each call of LLVM timed.
        codegen._library_class = _LinkedLibrary
        lock = llvm.ffi.lib._lock
        timers, lock._cblist = lock._cblist, []
        try:
            return super().compile_extra(func)
        finally:
            lock._cblist = timers
            del codegen._library_class


class _Kernel(_CachedDispatcher):
    """A function that is compiled when it is first called.

    Python calls it through a wrapper that unpacks objects. Of a kernel over many arrays that
    wrapper takes most of the time to compile, so other kernels call ``twin``, which has none.
    """

    twin: CPUDispatcher

    @property
    def _numba_type_(self) -> types.Dispatcher:
        return types.Dispatcher(self.twin)


class _Twin(_CachedDispatcher):
    """A function that kernels call: compiled once for numbers of any size, also constants."""

    def compile(self, sig: Any) -> Any:
        """Compile as a part of kernels, also where a function that is none calls it first.

        As code of its own it would be optimised before it is copied, and the sums of each kernel
        that is compiled after it would round differently.
        """
        codegen = self.targetctx.codegen()
        before = vars(codegen).get("_library_class")
        codegen._library_class = _LinkedLibrary
        try:
            return super().compile(sig)
        finally:
            if before is None:
                del codegen._library_class
            else:
                codegen._library_class = before

    def get_call_template(self, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        """Return numba's description of a call with arguments of these types."""
        wide = [_wide(kind) for kind in args]
        return super().get_call_template(wide, {key: _wide(kind) for key, kind in kws.items()})


def _wide(kind: Any) -> Any:
    """Return the type that an argument is passed as: signed whole numbers have the word's size."""
    kind = types.unliteral(kind)
    return types.intp if isinstance(kind, types.Integer) and kind.signed else kind


def kernel(
    *, fastmath: Set[str] = frozenset(), inline: bool = False, apart: bool = False
) -> Callable[[F], F]:
    """Return a decorator that compiles a plain function over arrays.

    inline: copy the function into its callers, whose loops may then become vector code. apart: a
    kernel with ``fastmath`` is called, not copied: for a long one, slower as a copy, none of whose
    own loops may become vector code.
    Where no cache folder is writable numba refuses to cache; the kernel is then compiled
    afresh in each process instead of failing.
    """

    def compile_lazily(function: F) -> F:
        if numba.config.DISABLE_JIT:
            return function
        # Said of every kernel: without it numba gives a function the flags of whoever calls it
        # first, and its bits would depend on what a machine compiled before.
        options: dict[str, Any] = {
            "nogil": True,
            "error_model": "numpy",
            "fastmath": set(fastmath),
        }
        if PLAIN:
            return _cached(numba.njit(**options, inline="always" if inline else "never")(function))
        # No kernel is passed as a C function.
        options |= {"nopython": True, "no_cfunc_wrapper": True}
        if inline:
            return _cached(
                _CachedDispatcher(function, targetoptions=options | {"inline": "always"})
            )
        made = _cached(_Kernel(function, targetoptions=options, pipeline_class=_Compiler))
        bare: dict[str, Any] = {"no_cpython_wrapper": True}
        # Each compiled module has a copy of what it calls, and a process takes the copy that it
        # loaded first. Copies of a sum that may be reordered round differently: with all of them
        # inlined, a process that compiles ends in the bytes of one that finds all compiled.
        bare["forceinline"] = bool(fastmath) and not apart
        made.twin = _cached(_Twin(_renamed(function), targetoptions=options | bare))
        return made

    return compile_lazily


def in_fixed_order(made: F, **called: Callable[..., Any]) -> F:
    """Return a kernel that adds in the order of its source: the same bits on every processor.

    made: a kernel with ``fastmath``, whose sums LLVM splits as suits the processor's vectors.
    called: kernels to call in the place of those that have these names in its module.
    """
    plain: Any = getattr(made, "py_func", made)
    names = {**plain.__globals__, **called}
    parts = (plain.__code__, names, plain.__name__, plain.__defaults__, plain.__closure__)
    same = FunctionType(*parts)
    # The name in the cache and in compiled code must be another than that of ``made``.
    same.__qualname__ = f"{plain.__qualname__}.in_fixed_order"
    same.__module__, same.__doc__ = plain.__module__, plain.__doc__
    return cast("F", kernel()(same))


def _cached(dispatcher: Any) -> Any:
    with suppress(RuntimeError):
        dispatcher._cache = _Cache(dispatcher.py_func)
    return dispatcher


def _renamed(function: Any) -> Any:
    """Return the same function under a name of its own, which is its name in the cache."""
    same = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    same.__qualname__ = f"{function.__qualname__}.twin"
    same.__module__ = function.__module__
    return same


RARELY = (50_000, 20, 20)
"""Thresholds of garbage collection while kernels are compiled, by generation."""


class _CompileListener(event.Listener):  # type: ignore[misc]
    """Tells when compiling begins and ends; kernels are compiled within kernels, under a lock.

    Compiling makes many objects and little garbage: collected rarely, it takes a tenth less time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._thresholds = gc.get_threshold()

    def on_start(self, event: Any) -> None:
        """Tell of the outermost kernel that it begins."""
        self._depth += 1
        if self._depth == 1:
            self._thresholds = gc.get_threshold()
            gc.set_threshold(*RARELY)
            tell_of_compiling(True)

    def on_end(self, event: Any) -> None:
        """Tell of the outermost kernel that it is done."""
        self._depth -= 1
        if self._depth == 0:
            gc.set_threshold(*self._thresholds)
            tell_of_compiling(False)


event.register("numba:compile", _CompileListener())


def by_type(variants: Mapping[type, Callable[..., Any]]) -> Callable[[F], F]:
    """Return a decorator: kernels that call the function call one of ``variants`` instead.

    Which one, the type of the first argument decides, a NamedTuple; so loops that are written
    once serve several models, and no branch is left in the compiled code.
    """

    def declare(function: F) -> F:
        def choose(first: Any, *others: Any) -> Callable[..., Any]:
            variant = variants[first.instance_class]
            return getattr(variant, "py_func", variant)

        overload(function, strict=False)(choose)
        return function

    return declare
