"""BLAKE2 alone. `hashlib` has it too, but loads OpenSSL for its other functions: 2 ms of every start."""

try:
    from _blake2 import blake2b, blake2s
except ImportError:  # a Python that leaves all of them to OpenSSL
    from hashlib import blake2b, blake2s

__all__ = ["blake2b", "blake2s"]
