"""Nodes of this package: one `.ogn` description and one Python class of the same name each."""
