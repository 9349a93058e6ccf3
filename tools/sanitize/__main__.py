"""Builds the native module with sanitizers of GCC in a folder of its own, and runs tests with it.

    python -m tools.sanitize address,undefined tests/native tests/launches

Further arguments go to pytest. The machine code of kernels is not instrumented, but all native code that it calls is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
LIBRARIES = {"address": "libasan.so", "undefined": "libubsan.so"}
OPTIONS = {
    # Python frees little of what it has at its end. Faults in kernels are our handler's, on a signal stack of its own.
    # Freed memory is kept from use for a while; tests of leaks allow 8 MB. Arrays that are too large are MemoryErrors.
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:allow_user_segv_handler=1"
    ":use_sigaltstack=0:quarantine_size_mb=4:thread_local_quarantine_size_kb=64:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "PYTHONMALLOC": "malloc",  # so that each object is an allocation that the sanitizer sees
    "OMNI_WARP_TEST_SECONDS": "1800",
}
# AddressSanitizer reserves the addresses around arrays: there is memory, which a kernel must not use.
LEFT_OUT = ["tests/launches/test_faults.py::test_what_the_error_tells"]


def build(folder: Path, kinds: str) -> None:
    """Build the native module alone, without the packed library."""
    flags = f"-fsanitize={kinds} -fno-sanitize-recover=all -fno-omit-frame-pointer"
    defined = {
        "CMAKE_BUILD_TYPE": "RelWithDebInfo",
        "CMAKE_CXX_COMPILER": "g++",
        "CMAKE_CXX_FLAGS": flags,
        "CMAKE_LIBRARY_OUTPUT_DIRECTORY": str(folder),
        "CMAKE_MAKE_PROGRAM": str(TOOLS / "ninja"),
        "Python_EXECUTABLE": sys.executable,
    }
    options = [f"-D{name}={value}" for name, value in defined.items()]
    subprocess.run([TOOLS / "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], check=True)
    subprocess.run([TOOLS / "cmake", "--build", folder, "--target", "_native"], check=True)


def environment(folder: Path, kinds: str) -> dict[str, str]:
    """The environment in which Python loads that module after the libraries of its sanitizers."""
    # The C++ library comes too: sanitizers look for the functions that they replace when the process begins.
    names = [*(LIBRARIES[kind] for kind in kinds.split(",")), "libstdc++.so"]
    found = [subprocess.check_output(["g++", f"-print-file-name={name}"], text=True).strip() for name in names]
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return OPTIONS | {
        "LD_PRELOAD": " ".join(os.path.realpath(path) for path in found),
        "OMNI_WARP_NATIVE_DIR": str(folder),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }


def main() -> int:
    """The command line."""
    kinds, *tests = sys.argv[1:]
    folder = ROOT / "build" / f"sanitize-{kinds.replace(',', '-')}"
    build(folder, kinds)
    command = [sys.executable, "-m", "pytest", *tests, *(f"--deselect={test}" for test in LEFT_OUT)]
    return subprocess.run(command, cwd=ROOT, env=os.environ | environment(folder, kinds)).returncode


if __name__ == "__main__":
    sys.exit(main())
