"""C++ text of `wp.func_native` as functions of the kernel language: numbers, branches and loops, as C computes them.

`c_tokens` reads the text as a compiler for CPUs would, `c_expressions` and `c_statements` write Python. What the text
has beyond that (pointers, classes, lambdas, exchange between threads of a GPU) raises `NotTranslated` with the reason.
Start with `c_statements.translate`.
"""
