"""Node descriptions: the `.ogn` format."""
