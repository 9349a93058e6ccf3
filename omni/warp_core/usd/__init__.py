"""Stages in and out: opening them, values to and from NumPy, the layer of results, and pictures of a stage.

Start with preview.py for pictures (drawables.py, camera.py, render.py, raster_kernels.py in that order) and
output_layer.py for results.
"""
