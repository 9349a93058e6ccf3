"""The scene as the user edits it: the root layer, edits with undo, the journal, and what pages know of it.

Start at `document.py`.
"""
