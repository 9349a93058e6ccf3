"""Stages in and out: opening them, values to and from NumPy, the layer of results, and pictures of a stage.

Start with preview.py for pictures (gather.py, camera.py, render.py, raster.py in that order) and output.py for results.
"""
