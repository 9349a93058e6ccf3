"""Structs that kernels index like arrays: indexed arrays and arrays of Fabric."""
