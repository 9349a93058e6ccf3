"""How the threads of a launch are grouped."""

WARP = 32  # threads
USUAL_BLOCK = 256  # threads of a block, if a launch does not say; native/python/launch.cpp has it too
