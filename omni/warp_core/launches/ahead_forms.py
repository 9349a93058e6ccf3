"""Which code launches of a kernel may need: its compile requests, to be compiled ahead of time.

A form is a kernel, possibly a derived one, with options. Each form has variants (plans.py). Start with `images`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..autodiff.vjp.read_time import AFTER
from ..codegen.target import Target
from ..compiler import Artifact, adjoint_facts
from ..devices.device import Device
from ..lang.errors import CompileError
from ..lang.kernel import Kernel
from ..lang.kernel_transforms import Augmented
from ..lang.launch_constants import DEFAULT_BLOCK_DIM
from ..lang.types import Array, leaves
from . import ahead_table, module_file, plans
from .backward_settings import deciding_setting
from .plans import ATOMIC, FLAT, PROMISED, STRIDED, Options

Form = tuple[Kernel, Options]


def images(definition: Kernel, device: Device, target: Target, use_ptx: bool | None, by_name: bool) -> dict[str, bytes]:
    """Compile a kernel in all forms and variants.

    Args:
        definition: the kernel as it is written.
        device: a device of the kind of the target.
        target: the machine.
        use_ptx: False makes machine code for a GPU, too.
        by_name: as for `ahead_table.key_of`.

    Returns:
        The artifacts by their keys, as a file has them.
    """
    found = {}
    for form, options in dict.fromkeys(_forms(definition, device, target)):
        if use_ptx is not None and target.is_gpu:
            options = options._replace(assemble=not use_ptx)
        first = plans.artifact_for(form, options, 0, target)
        if options.assemble and not first.machine_code:
            raise RuntimeError(
                "use_ptx=False: machine code needs NVIDIA's assembler `ptxas`, which was not found; install the wheel "
                "nvidia-cuda-nvcc, or leave use_ptx out"
            )
        for variant in variants(form, options, first):
            made = plans.artifact_for(form, options, variant, target) if variant else first
            key = ahead_table.key_of(plans.request(form, options, variant, target), by_name)
            found[key] = module_file.packed(made, key)
    return found


def _forms(definition: Kernel, device: Device, target: Target) -> Iterator[Form]:
    """Yield the forms of usual launches, and those that this process has launched."""
    for kernel in _concrete(definition):
        launched = [o for o in kernel._plans if isinstance(o, Options)]
        is_derived = kernel.transform or "tiled" in kernel.options or kernel.options.get("serial")
        blocks = {o.block_dim or DEFAULT_BLOCK_DIM for o in launched}
        if not launched and not is_derived and not _is_launched_in_tiles(definition):
            blocks = {DEFAULT_BLOCK_DIM}
        for block_dim in sorted(blocks):
            usual = plans.options_for(kernel, device, block_dim)
            if not kernel.transform:
                yield from _usual_forms(kernel, usual, target)
            yield from (
                (kernel, usual._replace(adjoint=o.adjoint, exact=o.exact, debug=o.debug))
                for o in launched
                if (o.block_dim or DEFAULT_BLOCK_DIM) == block_dim
            )


def _concrete(kernel: Kernel) -> Iterator[Kernel]:
    """Yield the kernels with known types that stem from one: itself or its overloads, and what is derived from them."""
    if not kernel.is_generic:
        yield kernel
    for other in [*kernel.overloads.values(), *kernel._variants.values(), *kernel._derived.values()]:
        yield from _concrete(other)


def _is_launched_in_tiles(definition: Kernel) -> bool:
    """True if `wp.launch_tiled` has launched a kernel, so that other launches of it are unlikely."""
    return any(option == "tiled" and value for option, value in definition._variants)


def _usual_forms(kernel: Kernel, options: Options, target: Target) -> Iterator[Form]:
    yield kernel, options
    if deciding_setting(kernel)[1]:
        yield from _gradient_forms(kernel, options, target)


def _gradient_forms(kernel: Kernel, options: Options, target: Target) -> Iterator[Form]:
    """Yield the forms that a tape launches: the adjoint, and what runs in place of the kernel (tape/launch_vjp.py)."""
    adjoint = options._replace(debug=False, adjoint="distinct")
    try:
        reads, _, notes = adjoint_facts(plans.request(kernel, adjoint, 0, target))
        if notes:
            kernel = kernel.derive(Augmented(notes))
            reads, _, _ = adjoint_facts(plans.request(kernel, adjoint, 0, target))
    except CompileError:
        return  # it has no gradient, and the tape says so
    exact = AFTER in reads
    if notes or exact:
        yield kernel, options._replace(exact=exact)
    yield kernel, adjoint._replace(exact=exact)


def variants(kernel: Kernel, options: Options, artifact: Artifact) -> list[int]:
    """Return the variants that launches of one form may choose, given the artifact of variant 0."""
    has_arrays = any(isinstance(leaf, Array) for _, t in kernel.params for _, leaf in [(0, t), *leaves(t)])
    adds = artifact.accumulation
    bits = [STRIDED] if has_arrays else []
    if options.device:
        bits += [PROMISED] if has_arrays and plans.may_specialize(options) else []
    else:
        may_cut_rows = artifact.arity > 1 and not options.tiled and (artifact.block_dim or artifact.lanes > 1)
        bits += [FLAT] if may_cut_rows else []
        bits += [ATOMIC] if adds.logged or adds.privatized or adds.exclusive else []
    found = [0]
    for bit in bits:
        found += [variant | bit for variant in found]
    return found
