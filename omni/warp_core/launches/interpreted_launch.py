"""Launches of kernels that run as plain Python, for debuggers. Most processes never load this module."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from .. import _native
from ..devices.device import CPU, Device
from ..devices.stream import ScopedStream
from ..lang.array_structs.array_struct_types import indexed_array
from ..lang.inference import check_count
from ..lang.kernel import Kernel
from ..lang.types import Array
from ..late_bound import late
from .block_size import block_dim_for
from .host_copies import HostCopies
from .launch import dimensions, launch_device
from .plan_cuda import shared_array as shared_on_gpu
from .plans import as_indexed, shared_array, works_in_blocks


class InterpretedLaunch:
    """The result of `record_cmd` for an interpreted launch: a `Launch` that interprets."""

    def __init__(self, kernel: Kernel, dim: Any, args: Sequence[Any], block_dim: Any = None, device: Device = CPU):
        self.kernel, self.device = kernel, device
        self.block_dim = block_dim_for(kernel, block_dim, CPU, dim) if works_in_blocks(kernel) else 0
        self.set_dim(dim)
        self.set_params(args)

    def set_dim(self, dim: Any) -> None:
        """Set the launch dimensions."""
        self._dims, self.dim = dimensions(self.kernel, dim), dim

    def set_params(self, params: Sequence[Any]) -> None:
        """Set all arguments, in the order of the kernel's parameters."""
        check_count(self.kernel, params)
        self._args = [self._shared(name, t, x) for (name, t), x in zip(self.kernel.params, params)]

    def set_param_at_index(self, index: int, value: Any) -> None:
        """Set the argument of that index."""
        if not 0 <= index < len(self._args):
            count = len(self._args)
            raise IndexError(f"kernel `{self.kernel.name}` has {count} parameters, there is no index {index}")
        self._args[index] = self._shared(*self.kernel.params[index], value)

    def set_param_by_name(self, name: str, value: Any) -> None:
        """Set the argument of that name."""
        names = [n for n, _ in self.kernel.params]
        if name not in names:
            raise ValueError(f"kernel `{self.kernel.name}` has no parameter `{name}`")
        self.set_param_at_index(names.index(name), value)

    set_param_at_index_from_ctype, set_param_by_name_from_ctype = set_param_at_index, set_param_by_name
    set_params_from_ctypes = set_params

    def launch(self, stream: Any = None) -> None:
        """Run it, on a GPU on that stream or else on the current one."""
        _native.before_any_write()
        if self.device.is_cpu:
            self._interpret(self._args)
            return
        if stream is not None:
            launch_device(self.kernel, self.device, stream, False)
        with ScopedStream(stream, sync_enter=False):
            there = HostCopies(self.kernel.name, self._args, [name for name, _ in self.kernel.params], self.device)
            self._interpret(there.args)
            there.write_back()

    def _interpret(self, args: list[Any]) -> None:
        late("interpret")(self.kernel, self._dims, args, self.block_dim)

    def _shared(self, name: str, t: Any, value: Any) -> Any:
        """An argument: data of other libraries as an array over the same memory, values as they are now."""
        is_indexed = indexed_array(t) is not None
        if not is_indexed and (value is None or isinstance(value, _native.ArrayBase)):
            return value
        if not is_indexed and not isinstance(t, Array):
            return copy.copy(value)
        try:
            if is_indexed:
                made = as_indexed(value, t)
            else:
                made = shared_array(value, t) if self.device.is_cpu else shared_on_gpu(value, t, self.device)
        except (TypeError, ValueError) as why:
            raise type(why)(f"kernel `{self.kernel.name}`: argument `{name}`: {why}") from None
        return value if made is NotImplemented else made
