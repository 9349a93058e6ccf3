"""Types and values of attributes."""
