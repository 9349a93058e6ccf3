"""Surfaces of scalar fields as triangles. Start with iso_surface.py, then marching_cubes.py over grid_words.py."""
