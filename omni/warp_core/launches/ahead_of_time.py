"""Modules compiled ahead of time: their kernels as files, which other processes load instead of compiling.

A file has the code of one module for one target. `module_file.py` is its format, `ahead_table.py` where launches find
what was loaded, `ahead_forms.py` which code launches may need. Start with `compile_aot_module`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import config
from ..codegen.target import Target
from ..compiler import Artifact
from ..devices.device import Device
from ..files import Unfinished, make_private, read_private
from ..front import content_hash
from ..lang.blake2 import blake2b
from ..lang.kernel import Kernel
from ..lang.kernel_module import Module
from . import ahead_forms, ahead_table, module_file, plans
from .ahead_machines import Machine, devices_of, machines, own_target, runnable
from .modules import named_module

__all__ = ["compile_aot_module", "load_aot_module"]

SUFFIX = ".wcm"
_FOLDER = "modules"  # in the kernel cache


def compile_aot_module(
    module: Module | ModuleType | str,
    device: Any = None,
    arch: Any = None,
    module_dir: str | os.PathLike | None = None,
    use_ptx: bool | None = None,
    strip_hash: bool | None = None,
) -> list[Path]:
    """Compile the kernels of a module into files, which `load_aot_module` loads without the compiler.

    A file has the code for usual launches: each kernel, each overload that is registered or was launched, and their
    gradients. It also has the code for other launches that this process has made, by `wp.launch_tiled` or in blocks of
    another size. A launch that needs other code compiles it, as without a file.

    Args:
        module: a `wp.Module`, a Python module, or the name of one.
        device: the device, or a list of them, to compile for; by default the current one.
        arch: the processor to compile for, or a list of them, in place of `device`. A CPU is "sse4", "avx2" or
            "avx512". A GPU is its compute capability, as 75 or "sm_75", and need not be in this machine.
        module_dir: where the files go; by default a folder in the kernel cache.
        use_ptx: for a GPU, False adds machine code, for which `ptxas` is needed. The file has PTX in any case. None
            follows the option `cuda_output`.
        strip_hash: True lets the file be found by the name of the module alone, whatever its kernels say by then.
            Kernels are known by name and types. None follows the option of the module, which True or False sets.

    Returns:
        The path of each file, one for each target.

    Raises:
        TypeError: `module` is something else.
        ValueError: there is no such module, processor or device.
        RuntimeError: the module has no kernel with known types, or `ptxas` is missing.
        CompileError: a kernel has mistakes.

    >>> import tempfile
    >>> module = wp.Module("shipped")
    >>> @wp.kernel(module=module)
    ... def double(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = 2.0 * x[i]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = wp.compile_aot_module(module, arch="sse4", module_dir=folder)
    >>> paths[0].name.startswith("wp_shipped_"), paths[0].name.endswith(".sse4.wcm")
    (True, True)
    """
    chosen, by_name = _chosen(module, strip_hash)
    definitions = chosen.all_definitions()
    if not any(d.overloads or d._variants or not d.is_generic for d in definitions):
        raise RuntimeError(
            f"module {chosen.name!r} has no kernels to compile: define one, or register overloads of its generic "
            "kernels with wp.overload"
        )
    contents = []
    for machine in machines(device, arch):
        images: dict[str, bytes] = {}
        for definition in definitions:
            images.update(ahead_forms.images(definition, machine.device, machine.target, use_ptx, by_name))
        made = module_file.CompiledModule(chosen.name, machine.target.name, by_name, images)
        contents.append((_file_name(chosen, machine, by_name), module_file.to_bytes(made)))
    folder = _folder(module_dir)
    if module_dir is None:
        make_private(str(folder))
    folder.mkdir(parents=True, exist_ok=True)
    return [_write(folder / name, data) for name, data in contents]


def load_aot_module(
    module: Module | ModuleType | str,
    device: Any = None,
    arch: Any = None,
    module_dir: str | os.PathLike | None = None,
    use_ptx: bool | None = None,
    strip_hash: bool | None = None,
) -> None:
    """Let launches of a module's kernels use the code that `compile_aot_module` has put into a file.

    Loading runs the code of the file when a kernel is launched, as importing a Python module runs its code: load files
    only from where you would import from.

    Args:
        module: a `wp.Module`, a Python module, or the name of one, whose kernels are defined.
        device: the device, or a list of them, to launch on; by default the current one.
        arch: the processor that the file is for. By default the best that the device can run and for which there is a
            file.
        module_dir: the folder of the files; by default the one in the kernel cache.
        use_ptx: for a GPU, True leaves the machine code of the file unused; False demands it.
        strip_hash: as for `compile_aot_module`.

    Raises:
        FileNotFoundError: there is no file for this processor, or the kernels or options have changed since it was
            made.
        ValueError: the file is damaged, or another version of this package has written it; or the device cannot run
            code for `arch`.
        TypeError: `module` is something else.

    >>> import tempfile
    >>> module = wp.Module("shipped")
    >>> @wp.kernel(module=module)
    ... def triple(x: wp.array[float]):
    ...     i = wp.tid()
    ...     x[i] = 3.0 * x[i]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = wp.compile_aot_module(module, module_dir=folder)
    ...     wp.load_aot_module(module, module_dir=folder)
    >>> x = wp.ones(2, dtype=float)
    >>> wp.launch(triple, dim=2, inputs=[x])
    >>> x.list()
    [3.0, 3.0]
    """
    chosen, by_name = _chosen(module, strip_hash)
    folder = _folder(module_dir)
    for where in devices_of(device):
        own = own_target(where)
        candidates = runnable(own, where, arch)
        path, found = _read(folder, chosen, [Machine(t, where) for t in candidates], by_name, module_dir is None)
        entries = _entries(path, found, own, use_ptx)
        ahead_table.add(own.name, entries, by_name)
    plans.forget_code(chosen.all_kernels(), False)


# -- modules --------------------------------------------------------------------------------------------------------


def _chosen(module: Any, strip_hash: bool | None) -> tuple[Module, bool]:
    """Return the module, and whether its files go by names."""
    if not isinstance(module, (Module, ModuleType, str)):
        raise TypeError(f"module: expected a wp.Module, a Python module or its name, got {type(module).__name__}")
    chosen = module if isinstance(module, Module) else named_module(module)
    if strip_hash is not None:
        chosen.options["strip_hash"] = bool(strip_hash)
    return chosen, bool(chosen.options["strip_hash"])


# -- files ----------------------------------------------------------------------------------------------------------


def _folder(module_dir: str | os.PathLike | None) -> Path:
    if module_dir is not None:
        return Path(module_dir)
    if not config.kernel_cache_dir:
        raise ValueError("module_dir: name a folder, as there is no kernel cache (wp.config.kernel_cache_dir is None)")
    return Path(config.kernel_cache_dir, _FOLDER)


def _file_name(module: Module, machine: Machine, by_name: bool) -> str:
    """Return the name of a module's file, with a hash of its kernels and options unless it goes by names."""
    mark = "" if by_name else f"_{_hash(module.all_definitions(), machine.device)}"
    return f"wp_{_word(module)}{mark}.{machine.target.name}{SUFFIX}"


def _word(module: Module) -> str:
    return re.sub(r"\W", "_", module.name)


def _hash(kernels: Sequence[Kernel], device: Device) -> str:
    """Return a hash of kernels and of the options that they are compiled with; a generic kernel counts once."""
    parts = []
    for k in kernels:
        options = plans.options_for(k, device)._replace(device=0, cpu_target=None, assemble=False)
        parts.append((k.key, content_hash.digest(k), options))
    return blake2b(repr(sorted(parts)).encode(), digest_size=20).hexdigest()[:10]


def _write(path: Path, data: bytes) -> Path:
    with Unfinished(str(path)) as unfinished:
        Path(unfinished.path).write_bytes(data)
        unfinished.commit()
    return path


def _read(
    folder: Path, module: Module, tried: Sequence[Machine], by_name: bool, in_cache: bool
) -> tuple[Path, module_file.CompiledModule]:
    """Return the first file that there is for one of the machines, and its content."""
    paths = [folder / _file_name(module, machine, by_name) for machine in tried]
    for path, machine in zip(paths, tried):
        try:
            data = read_private(str(folder), path.name, module_file.MAX_BYTES) if in_cache else path.read_bytes()
        except FileNotFoundError:
            continue
        try:
            found = module_file.from_bytes(data)
        except module_file.DamagedModule as why:
            raise ValueError(f"{path} is refused: {why}. Compile the module again with wp.compile_aot_module") from None
        if (found.name, found.target, found.by_name) != (module.name, machine.target.name, by_name):
            raise ValueError(
                f"{path} is refused: it has module {found.name!r} for {found.target}, and its name says "
                f"{module.name!r} for {machine.target.name}. Give files the names that wp.compile_aot_module gave them"
            )
        return path, found
    others = sorted(p.name for p in folder.glob(f"wp_{_word(module)}[_.]*{SUFFIX}"))
    known = (
        f"there are {', '.join(others)}, for other processors, or made before its kernels or options changed"
        if others
        else f"nothing of it is in {folder}"
    )
    raise FileNotFoundError(
        f"module {module.name!r} has no file: tried {', '.join(map(str, paths))}; {known}. Make the file with "
        "wp.compile_aot_module"
    )


def _entries(
    path: Path, found: module_file.CompiledModule, own: Target, use_ptx: bool | None
) -> list[tuple[str, ahead_table.Entry]]:
    """Return the entries of a file for the table. Machine code of a GPU runs on that kind of GPU alone."""
    entries = [
        (key, ahead_table.Entry(partial(_artifact, image, key, found.target == own.name and not use_ptx), str(path)))
        for key, image in found.images.items()
    ]
    if own.is_gpu and use_ptx is False and not all(entry.artifact.machine_code for _, entry in entries):
        raise FileNotFoundError(
            f"{path} has no machine code for {own.name}: compile the module with use_ptx=False, or load it with "
            "use_ptx=True"
        )
    return entries


def _artifact(image: bytes, key: str, uses_machine_code: bool) -> Artifact:
    """Return the artifact of an image, without machine code for another GPU. Raises `module_file.DamagedModule`."""
    found = module_file.unpacked(image, key)
    return found if uses_machine_code or not found.grid else found._replace(machine_code=b"")
