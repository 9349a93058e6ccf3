"""Kernels in the cells of a real Jupyter kernel."""

import re
import sys

import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

pytestmark = pytest.mark.cpu

CELLS = [
    "import omni.warp_core as wp",
    "@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] += 1.0",
    "x = wp.zeros(3, dtype=float)\nwp.launch(k, 3, inputs=[x])\n"
    "recorded = wp.launch(k, 3, inputs=[x], record_cmd=True)\nx.list()",
    # the second definition replaces the first; what was recorded stays
    "@wp.func\ndef f(y: float):\n    return 10.0 * y\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n    x[i] = f(x[i])",
    "wp.launch(k, 3, inputs=[x])\nrecorded.launch()\nx.list()",
    # a function that a kernel calls is defined anew: the next definition of the kernel calls the new one
    "@wp.func\ndef f(y: float):\n    return -y\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n"
    "    i = wp.tid()\n    x[i] = f(x[i])\n\n\nwp.launch(k, 3, inputs=[x])\nx.list()",
    "# a mistake\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    x[i] = nothing",
    "wp.launch(k, 3, inputs=[x])",
    "%%time\n@wp.kernel\ndef halves(x: wp.array(dtype=int)):\n    x[wp.tid()] = wp.tid() / 2\n"
    "n = wp.zeros(3, dtype=int)\nwp.launch(halves, 3, inputs=[n])\nprint(n.list())",
    'exec("""@wp.kernel\ndef k(x: wp.array(dtype=int)):\n    x[wp.tid()] = 7\n""")\n'
    "wp.launch(k, 3, inputs=[n])\nn.list()",
    "wp.config.mode = 'debug'\n@wp.kernel\ndef beyond(x: wp.array(dtype=int)):\n    x[wp.tid() + 1] = 7\n\n"
    "wp.launch(beyond, 3, inputs=[n])",
]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What each cell shows, escape sequences removed."""
    manager = KernelManager()
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager._kernel_spec = KernelSpec(argv=argv, display_name="Python", language="python")
    manager.start_kernel(cwd=str(tmp_path_factory.mktemp("notebook")))
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)
        return [_shown(client, text) for text in CELLS]
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
        client.context.destroy(linger=0)


def _shown(client, text):
    parts = []

    def keep(message):
        content = message["content"]
        parts.extend(
            [content.get("text", ""), *content.get("traceback", []), content.get("data", {}).get("text/plain", "")]
        )

    client.execute_interactive(text, timeout=300, output_hook=keep)
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(parts))


def test_launch(outputs):
    assert "[1.0, 1.0, 1.0]" in outputs[2]


def test_redefinition_replaces_and_leaves_recorded_launches(outputs):
    assert "[11.0, 11.0, 11.0]" in outputs[4]
    assert "[-11.0, -11.0, -11.0]" in outputs[5]


def test_errors_name_the_cell_and_its_line(outputs):
    assert "--> Cell In[7]:5:12" in outputs[7], outputs[7]
    assert "5 |     x[i] = nothing" in outputs[7]


def test_magic(outputs):
    assert "[0, 0, 1]" in outputs[8]
    assert "KernelWarning: `/` on integers truncates" in outputs[8]


def test_exec_in_a_cell(outputs):
    assert "[7, 7, 7]" in outputs[9]


def test_failures_of_debug_mode_name_the_cell(outputs):
    assert "Cell In[11]" in outputs[10] and "x[wp.tid() + 1] = 7" in outputs[10], outputs[10]
