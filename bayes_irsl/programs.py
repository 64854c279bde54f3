"""Compiled programs that a new process has again without tracing them.

JAX keeps what it compiled on disk, and finds it by what is to be compiled. To know that it has to trace the model, and
for a small table that takes longer than the fit. So programs are also kept by what they are made of: the functions and
numbers that are fixed in them, the shapes of their arguments, and the code of this package and of those it builds on.
Where something takes part that has no name to be known by, such as a function of a notebook, they are traced anew.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial, update_wrapper
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakSet

import jax
import numpy as np
from jax.experimental import serialize_executable
from jax.sharding import Mesh

# Functions of these have names that stand for them.
_NAMED = ("bayes_irsl", "irsl_models", "numpyro", "jax")
_VERSIONS = ("jax", "jaxlib", "numpyro", "numpy")
# Options of JAX that decide what a program computes.
_OPTIONS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_dtype_promotion", "jax_debug_nans")
# From 0.10.2 on XLA hands sums of products on a CPU to a library that reads beyond the end of arrays of some shapes,
# which ends the process (github.com/jax-ml/jax/issues/39257 and 40412). Without it they are as fast.
_FIRST_WITH_LIBRARY = (0, 10, 2)


def _has_library() -> bool:
    parts = version("jaxlib").split(".")[:3]
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in parts) >= _FIRST_WITH_LIBRARY


# Programs by the files that they are in: models that are the same but not one object share them.
_IN_MEMORY: dict[Path, Callable[..., Any]] = {}
_PROGRAMS: WeakSet[Program] = WeakSet()

SAFE: dict[str, str] = {"xla_cpu_experimental_ynn_fusion_type": ""} if _has_library() else {}
"""Options of the compiler, for products of many shapes."""


def program(static: int = 0, options: Mapping[str, str] | None = None) -> Callable[[Callable[..., Any]], Program]:
    """Compile a function, as ``jax.jit`` does, and keep the program.

    Parameters
    ----------
    static : int
        Number of arguments, the first ones, that are fixed in the program.
    options : mapping of str to str
        Options of the compiler.

    Examples
    --------
    >>> @program(static=1)
    ... def power(exponent, base):
    ...     return base**exponent
    >>> float(power(2, 3.0))
    9.0
    """
    return lambda function: Program(function, static, options)


def clear() -> None:
    """Let go of all compiled programs in memory, JAX's as well; those on disk stay."""
    _IN_MEMORY.clear()
    for known in _PROGRAMS:
        known.forget()
    jax.clear_caches()  # type: ignore[no-untyped-call]


class Program:
    """A compiled function; see `program`. Its arguments come without names."""

    def __init__(self, function: Callable[..., Any], static: int, options: Mapping[str, str] | None) -> None:
        self._function, self._static = function, static
        self._jitted = jax.jit(
            function, static_argnums=tuple(range(static)), compiler_options=dict(options) if options else None
        )
        self._ready: dict[Any, Callable[..., Any] | None] = {}
        update_wrapper(self, function)
        _PROGRAMS.add(self)

    def forget(self) -> None:
        """Let go of what is compiled."""
        self._ready.clear()

    def __call__(self, *arguments: Any) -> Any:
        """Run it."""
        fixed, given = arguments[: self._static], arguments[self._static :]
        leaves, tree = jax.tree.flatten((given, {}))
        folder = jax.config.jax_compilation_cache_dir
        if not folder or not all(map(_is_here, leaves)):
            return self._jitted(*arguments)
        key = fixed, tree, tuple(map(_kind, leaves)), _options()
        if key not in self._ready:
            self._ready[key] = self._found(Path(folder), arguments, key)
        ready = self._ready[key]
        return self._jitted(*arguments) if ready is None else ready(*given)

    def _found(self, folder: Path, arguments: tuple[Any, ...], key: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Load the program, or compile and keep it; None where it has nothing to be known by."""
        fixed, tree, kinds, options = key
        try:
            made_of = repr((_told((self._function, fixed, tree)), kinds, options, _surroundings()))
        except _Unknown:
            return None
        path = folder / "programs" / hashlib.sha256(made_of.encode()).hexdigest()
        if path not in _IN_MEMORY:
            _IN_MEMORY[path] = _loaded(path, tree) or self._compiled(path, arguments)
        return _IN_MEMORY[path]

    def _compiled(self, path: Path, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        hits = _hits()
        before = len(hits)
        compiled: Callable[..., Any] = self._jitted.lower(*arguments).compile()
        # What JAX had on disk itself lacks its code when it is written a second time.
        if len(hits) == before:
            _keep(compiled, path)
        return compiled


def _loaded(path: Path, tree: Any) -> Callable[..., Any] | None:
    """Load a program; None if it is not there, not whole, or not for this machine."""
    try:
        checksum, _, content = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    if checksum != _checksum(content):
        return None
    payload, out_tree = pickle.loads(content)
    _ready_for_algebra()
    try:
        loaded: Callable[..., Any] = serialize_executable.deserialize_and_load(
            payload, tree, out_tree, execution_devices=jax.local_devices()[:1]
        )
    except jax.errors.JaxRuntimeError:
        return None
    return loaded


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


@cache
def _hits() -> list[str]:
    """Programs that JAX found on disk, from the first call on."""
    found: list[str] = []

    def listen(event: str, **_: Any) -> None:
        if event == "/jax/compilation_cache/cache_hits":
            found.append(event)

    jax.monitoring.register_event_listener(listen)
    return found


@cache
def _ready_for_algebra() -> None:
    """Have JAX look up LAPACK, which it does only where something is traced that needs it."""
    jax.jit(jax.numpy.linalg.eigh).lower(np.eye(1))


def _keep(compiled: Any, path: Path) -> None:
    try:
        payload, _, out_tree = serialize_executable.serialize(compiled)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.{os.getpid()}")
        content = pickle.dumps((payload, out_tree))
        part.write_bytes(_checksum(content) + b"\n" + content)
        part.replace(path)
    except (OSError, ValueError, NotImplementedError, TypeError, pickle.PicklingError):
        # A program that cannot be kept is no worse than it would be without this.
        return


def _is_here(leaf: Any) -> bool:
    """Whether a value is known, and lies on the first device alone."""
    if isinstance(leaf, jax.core.Tracer):
        return False
    return not isinstance(leaf, jax.Array) or leaf.sharding.device_set == {jax.local_devices()[0]}


def _kind(leaf: Any) -> tuple[Any, ...]:
    """What a program has to know of an argument."""
    kind = jax.typeof(leaf)
    return kind.shape, str(kind.dtype), kind.weak_type


def _options() -> tuple[Any, ...]:
    return tuple(getattr(jax.config, name) for name in _OPTIONS)


class _Unknown(Exception):
    """Something that has no name to be known by."""


def _told(value: Any) -> Any:
    """What stands for a value, the same in every process."""
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        array = np.asarray(value)
        return "array", array.dtype.str, array.shape, hashlib.sha256(array.tobytes()).hexdigest()
    if isinstance(value, Mapping):
        return "mapping", sorted((repr(name), _told(entry)) for name, entry in value.items())
    if type(value) in (tuple, list):
        return "sequence", [_told(entry) for entry in value]
    if isinstance(value, partial):
        return "partial", _told((value.func, value.args, value.keywords))
    if isinstance(value, Mesh) and value.size == 1:
        return "mesh", value.axis_names
    if isinstance(value, jax.tree_util.PyTreeDef):
        return "tree", _without_addresses(str(value))
    if callable(value) and hasattr(value, "__qualname__"):
        return "name", _named(value)
    if is_dataclass(value):
        return _named(type(value)), [(field.name, _told(getattr(value, field.name))) for field in fields(value)]
    leaves, tree = jax.tree.flatten(value)
    if len(leaves) == 1 and leaves[0] is value:
        raise _Unknown
    return _named(type(value)), _told((leaves, tree))


def _named(thing: Any) -> str:
    """Name of a function or a class, if it is what one finds under that name in a package whose version is known."""
    module, name = getattr(thing, "__module__", None) or "", getattr(thing, "__qualname__", "<")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    # A program stands in the place of the function that it was made from.
    if module.partition(".")[0] not in _NAMED or getattr(found, "__wrapped__", found) is not getattr(
        thing, "__wrapped__", thing
    ):
        raise _Unknown
    return f"{module}:{name}"


def _without_addresses(text: str) -> str:
    if " at 0x" in text:
        raise _Unknown
    return text


@cache
def _surroundings() -> str:
    """All else that a program depends on: code, versions, and what the processor can do."""
    told = [sys.version, platform.platform(), os.environ.get("XLA_FLAGS", ""), *map(version, _VERSIONS)]
    for package in ("bayes_irsl", "irsl_models"):
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            files = sorted(Path(folder).rglob("*.py"))
            told += [f"{file.relative_to(folder)} {hashlib.sha256(file.read_bytes()).hexdigest()}" for file in files]
    processor = Path("/proc/cpuinfo")
    if processor.exists():
        told += sorted(
            {line for line in processor.read_text().splitlines() if line.startswith(("flags", "model name"))}
        )
    return hashlib.sha256("\n".join(told).encode()).hexdigest()
