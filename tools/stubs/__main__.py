"""Rewrites the stubs."""

from .write import PACKAGE, files

for name, text in files().items():
    (PACKAGE / name).write_text(text)
