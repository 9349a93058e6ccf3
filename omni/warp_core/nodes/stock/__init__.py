"""Node types: those of omni.graph that the host brings along, and the registry that finds all of them by name."""
