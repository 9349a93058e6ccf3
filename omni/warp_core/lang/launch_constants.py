"""Constants that group the threads of a launch."""

WARP = 32  # threads
MOST_THREADS = 1024  # of a block
DEFAULT_BLOCK_DIM = 256  # threads of a block, if a launch does not say; native/python/launches/launch.cpp has it too
