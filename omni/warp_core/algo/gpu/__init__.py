"""The algorithms on GPUs, as kernels of our own. The functions that users call, with all checks, lie above."""
