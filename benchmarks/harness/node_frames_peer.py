"""Python nodes that run kernels with warp-lang, in a process of their own; see node_frames.py."""

import importlib.util
import json
import sys
import time
from pathlib import Path

import numpy as np
import warp as wp

HEAD = """import warp as wp
@wp.struct
class Inputs:
    p: wp.array(dtype=wp.vec3)
    time: float
@wp.struct
class Outputs:
    q: wp.array(dtype=wp.vec3)
"""


class KernelNode:
    """One node: compiled once, its structs are filled in each frame."""

    def __init__(self, folder, name, text):
        path = Path(folder) / f"node_{name}.py"
        path.write_text(HEAD + text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        self.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.module)

    def compute(self, points, seconds):
        """Run the kernel on NumPy memory, and return NumPy memory."""
        inputs, outputs = self.module.Inputs(), self.module.Outputs()
        made = np.empty_like(points)
        inputs.p = wp.array(points, dtype=wp.vec3, copy=False, device="cpu")
        inputs.time = seconds
        outputs.q = wp.array(made, dtype=wp.vec3, copy=False, device="cpu")
        wp.launch(self.module.compute, dim=len(points), inputs=[inputs, outputs], device="cpu")
        return made


def main():
    """Answer requests: texts, then numbers of frames to play; 0 ends."""
    folder, answers = sys.argv[1], sys.stdout
    sys.stdout = sys.stderr  # for what warp-lang prints
    points = np.load(f"{folder}/points.npy")
    nodes = [KernelNode(folder, name, text) for name, text in json.loads(sys.stdin.readline()).items()]
    print("true", file=answers, flush=True)
    frame, result = 0, points
    while frames := json.loads(sys.stdin.readline()):
        started = time.process_time()
        for _ in range(frames):
            frame += 1
            result = points
            for node in nodes:
                result = node.compute(result, frame / 24.0)
        print(json.dumps((time.process_time() - started) / frames * 1e6), file=answers, flush=True)
    np.save(f"{folder}/result.npy", result)


if __name__ == "__main__":
    main()
