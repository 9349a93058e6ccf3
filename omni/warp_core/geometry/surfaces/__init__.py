"""Surfaces of scalar fields as triangles. Start with marching_cubes.py."""
