"""Keys: the names of kernels, functions and structs, with what they are nested in."""


def key_of(qualname: str) -> str:
    """Return the key of what Python calls by a qualified name: a word, as in warp-lang.

    >>> key_of("make_kernel.<locals>.fill")
    'make_kernel__locals__fill'
    """
    return qualname.replace("<locals>", "locals").replace(".", "__")
