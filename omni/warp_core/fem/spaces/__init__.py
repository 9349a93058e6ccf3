"""Spaces of functions on the cells of a geometry, and fields of them. Start with spaces.py."""
