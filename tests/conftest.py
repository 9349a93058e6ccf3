"""The suite runs on the CPU, whatever the machine has; tests/gpu is for GPUs."""

import os

import omni.warp_core as wp

if not os.environ.get("OMNI_WARP_GPU_TESTS"):
    wp.config.cuda_driver = "no driver for these tests"
