"""The suite runs on the CPU, whatever the machine has, unless it is asked for GPUs: see tests/on_gpu.py."""

import gc
import signal
from pathlib import Path

import hypothesis
import pytest

import omni.warp_core as wp
from omni.warp_core.config import OPTIONS
from omni.warp_core.dispatch import capture
from tests import on_gpu

pytest_plugins = ["tests.time_limit"]
hypothesis.settings.register_profile("suite", deadline=None)  # the first launch of each kernel compiles it
hypothesis.settings.load_profile("suite")
TAKE_MINUTES = ("test_simulated_gpu.py", "test_nvptx_corpus.py")


@pytest.fixture
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt, in this process and in those it starts, also where SIGINT was ignored before,
    and let SIGHUP end processes.

    A shell starts the background jobs of a script with SIGINT ignored, and nohup ignores SIGHUP. Python and all child
    processes inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler), signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in zip((signal.SIGINT, signal.SIGHUP), before):
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    """Fail the test itself, not one after it, if it leaves a tape or a capture open, or an option changed."""
    before = _left_behind()
    yield
    assert _left_behind() == before


def _left_behind():
    options = {name: getattr(wp.config, name) for name in OPTIONS}
    return wp._native.observers(), capture.active(), options


@pytest.fixture(params=on_gpu.DEVICES)
def device(request):
    """The default device of a test that holds for all devices: the CPU, or each GPU if the run is about GPUs."""
    with wp.ScopedDevice(request.param) as device:
        yield device


if on_gpu.MODE:
    on_gpu.install()

    @pytest.fixture(autouse=True)
    def _numpy_arrays_are_lent(request, monkeypatch):
        if _suite(request.node) != "gpu":
            monkeypatch.setattr(wp, "launch", on_gpu.launch)
        yield
        wp.synchronize()  # what a kernel did wrong is told while its own test runs

else:
    wp.config.cuda_driver = "no driver for these tests"


def pytest_collection_modifyitems(config, items):
    if not on_gpu.MODE:
        items[:] = _long_first(items)
        return
    left_out = [item for item in items if item.get_closest_marker("cpu") or _is_about_cpus(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


def _long_first(items):
    """Let both halves of the tests begin with a file that takes minutes, as the two workers of `make test` get a half
    each. A worker that began such a file last would run alone at the end.
    """
    first, second = ([i for i in items if i.path.name == name] for name in TAKE_MINUTES)
    rest = [i for i in items if i.path.name not in TAKE_MINUTES]
    until = max(len(items) // 2 - len(first), 0)
    return [*first, *rest[:until], *second, *rest[until:]]


def pytest_collection_finish():
    gc.freeze()  # modules and tests stay to the end: the garbage collector need not go through them again and again


def _is_about_cpus(item: pytest.Item) -> bool:
    return _suite(item) in on_gpu.CPU_SUITES and "device" not in getattr(item, "fixturenames", ())


def _suite(item: pytest.Item) -> str:
    return item.path.relative_to(Path(__file__).parent).parts[0]
