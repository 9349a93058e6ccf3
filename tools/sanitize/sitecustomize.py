"""Makes Python load the native module from `OMNI_WARP_NATIVE_DIR`; see __main__.py. Child processes inherit it."""

import os
import sys
from importlib.machinery import PathFinder

_NAME = "omni.warp_core._native"


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != _NAME:
            return None
        folder = os.environ["OMNI_WARP_NATIVE_DIR"]
        spec = PathFinder.find_spec(name, [folder])
        if spec is None:  # the module without sanitizers would be found next
            raise ImportError(f"there is no {_NAME} in {folder}")
        return spec


sys.meta_path.insert(0, _Finder)
