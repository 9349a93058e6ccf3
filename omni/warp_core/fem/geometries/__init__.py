"""Cells of finite elements: their shapes, and geometries made of them. Start with cell_geometry.py."""
