"""Rewrites what is generated from the source: type stubs, reference pages, the pages of errors and node types.

python -m tools.docs
"""

from __future__ import annotations

from tools import error_pages, reference, type_pages
from tools.stubs.write import PACKAGE, files

for name, text in files().items():
    (PACKAGE / name).write_text(text)
reference.write()
error_pages.PAGE.write_text(error_pages.page())
type_pages.PAGE.write_text(type_pages.page())
