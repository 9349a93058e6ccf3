"""Type stubs of the public package, written from its source.

    python -m tools.docs    rewrites the stubs in omni/warp_core; tests/typing/test_stubs.py compares them

`head.pyi` has what a type checker must be told in words of its own: arrays, scalars, decorators. `builtins_` reads
the library, `values` the vector and matrix types, `modules` everything else. Start with `write.files`.
"""
