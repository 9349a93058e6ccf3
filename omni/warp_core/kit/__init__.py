"""The parts of the extension that run inside Kit only. Each is there if Kit has what it needs, and is undone again."""
