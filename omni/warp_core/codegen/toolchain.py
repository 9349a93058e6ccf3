"""Every call of LLVM, through llvmlite: assembly text in, relocatable object out.

The pass list is short on purpose. The emitter writes code that is already wide and folded, so LLVM's vectorisers,
unrollers and peephole rules have nothing to add. The passes promote stack slots, merge blocks, and drop unused code.
Measured: the whole O3 pipeline costs twice the time for the same speed. InstCombine made no kernel faster, and took ten
times as long as all the rest on a chain of a hundred `elif`.

LLVM runs in a thread of its own, which Ctrl-C leaves alone: only text goes in, and only bytes come out.
"""

from __future__ import annotations

from functools import lru_cache

import llvmlite.binding as llvm

from ..lang.deep_recursion import interruptible
from .target import ROOT_ESTIMATES, Target

LLVM_VERSION = ".".join(map(str, llvm.llvm_version_info))

# Only intrinsics with these names may be emitted: LLVM ends the process on one it cannot select.
_NAMES = "abs ceil ctlz ctpop fabs floor fma fptosi fptoui masked rint sqrt trunc vector"
INTRINSICS = frozenset((*_NAMES.split(), *ROOT_ESTIMATES.values()))


class ToolchainError(RuntimeError):
    """LLVM refused the text that the emitter wrote: always a mistake of the compiler."""


@lru_cache(maxsize=8)
def _machine(target: Target) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=2, reloc="pic", codemodel="small"
    )


def check_intrinsics(text: str, allowed: frozenset[str] = INTRINSICS) -> None:
    """Raise ToolchainError unless all intrinsics in `text` are `allowed`: by their first name, or in full."""
    for part in text.split("@llvm.")[1:]:
        name = part.partition("(")[0]
        if name not in allowed and (name := name.partition(".")[0]) not in allowed:
            raise ToolchainError(f"intrinsic llvm.{name} is not on the white list")


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    # The objects made here refer to each other, and are closed at once. The collector of cycles would close them in any
    # thread, which would have to wait for the thread in which LLVM runs.
    with (
        llvm.create_pipeline_tuning_options(speed_level=2) as tuning,
        llvm.create_pass_builder(machine, tuning) as builder,
        llvm.create_new_module_pass_manager() as passes,
    ):
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_dead_arg_elimination_pass()  # results that no caller uses are not computed
        passes.add_aggressive_dce_pass()
        passes.run(module, builder)


def object_code(text: str, target: Target) -> bytes:
    """Compile LLVM assembly to a relocatable object for `target`.

    Raises ToolchainError when the text is not valid LLVM assembly.
    """

    def emit() -> bytes:
        module, machine = _prepare(text, target)
        return machine.emit_object(module)

    return interruptible(emit)


def assembly(text: str, target: Target) -> str:
    """The target's assembly for the same module: for people who want to look."""

    def emit() -> str:
        module, machine = _prepare(text, target)
        return machine.emit_assembly(module)

    return interruptible(emit)


def _prepare(text: str, target: Target) -> tuple[llvm.ModuleRef, llvm.TargetMachine]:
    check_intrinsics(text)
    machine = _machine(target)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise ToolchainError(str(error)) from None
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    optimize(module, machine)
    return module, machine
