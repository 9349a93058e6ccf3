"""Judge of a module: each of its kernels compiles to an object file, or is refused with places in its own text.

`verdict` judges in this process; `isolated` in a child that may crash, hang or eat memory.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import resource
import signal
import traceback
import warnings
from typing import NamedTuple

import omni.warp_core as wp
from omni.warp_core.codegen.target import host
from omni.warp_core.compiler import CompileRequest, compile
from omni.warp_core.lang.kernel import Kernel

FILE = "<fuzz>"
MEMORY = 4 << 30


class Verdict(NamedTuple):
    """`kind` is compiled, refused (by the compiler), python (by Python, before it), or bad; `why` tells a bad one."""

    kind: str
    why: str = ""


def verdict(text: str) -> Verdict:
    """Compile the kernels of a module."""
    space: dict = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            wp.kernel_from_source(text, filename=FILE, namespace=space)
        except wp.CompileError as error:
            if error.diagnostics[0].code != "no-kernel":
                return _refused(error)
        except wp.InternalError as error:
            return _bad(error)
        except Exception:
            return Verdict("python")
        found = [_kernel(k) for k in space.values() if isinstance(k, Kernel)]
    order = ("bad", "compiled", "refused", "python")
    return min(found, key=lambda v: order.index(v.kind), default=Verdict("python"))


def _kernel(kernel: Kernel) -> Verdict:
    """Compile a kernel in one of several ways, chosen by its text so that a case can be repeated."""
    way = sum("".join(kernel.source.block()).encode(errors="replace"))
    target = host()
    try:
        types = tuple(t for _, t in kernel.params)
        debug, flat = way % 3 == 0, way % 5 == 0
        lanes = (None, None, 1, 8)[way % 4]
        compile(CompileRequest(kernel, types, target, lanes, True, flat, debug, target.fma))
    except wp.CompileError as error:
        return _refused(error)
    except Exception as error:
        return _bad(error)
    return Verdict("compiled")


def _refused(error: wp.CompileError) -> Verdict:
    str(error)
    for d in error.diagnostics:
        for place in (d.place, *(p for _, p in d.notes)):
            if place and place.span.file != FILE:
                return Verdict("bad", f"a report shows {place.span.file}: {d.message}")
    return Verdict("refused")


def _bad(error: BaseException) -> Verdict:
    while error.__cause__ is not None:
        error = error.__cause__
    at = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    where = f"{os.path.basename(at.filename)}:{at.lineno}" if at else "?"
    return Verdict("bad", f"{where} {type(error).__name__}: {str(error)[:200]}")


def isolated(text: str, seconds: int = 20) -> Verdict:
    """The verdict of a child process; its death and its hanging are bad verdicts as well."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside the threads of the pool, which sleep
        child = os.fork()
    if child == 0:
        os.close(reader)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of CPU; the signal ends the process whatever it is at
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(verdict(text), pipe)
            pipe.flush()
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        hung = number in (signal.SIGPROF, signal.SIGALRM)
        return Verdict("bad", f"more than {seconds} s" if hung else f"died of {signal.Signals(number).name}")
    return pickle.loads(data) if data else Verdict("bad", f"ended with status {status}")
