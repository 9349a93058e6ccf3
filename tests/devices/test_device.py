"""Devices, synchronisation and timers."""

from __future__ import annotations

import doctest
import importlib
import time

import numpy as np
import pytest

import omni.warp_core as wp

pytestmark = pytest.mark.cpu


def test_the_cpu_is_the_device():
    cpu = wp.get_device()
    assert cpu is wp.get_device("cpu") is wp.get_device(cpu) is wp.get_preferred_device()
    assert wp.get_devices() == [cpu] == ["cpu"] and str(cpu) == "cpu" and repr(cpu) == "'cpu'"
    assert cpu == "cpu" and cpu != "cuda" and cpu != 3 and hash(cpu) == hash("cpu")
    assert cpu.is_cpu and not cpu.is_cuda and cpu.ordinal == -1 and cpu.alias == "cpu" and cpu.name
    assert 0 < cpu.free_memory <= cpu.total_memory and cpu.arch == 0 and not cpu.is_mempool_supported


def test_availability():
    assert wp.is_cpu_available() and not wp.is_cuda_available()
    assert wp.is_device_available("cpu") and not wp.is_device_available("cuda") and not wp.is_device_available("?")
    assert wp.get_cuda_devices() == [] and wp.get_cuda_device_count() == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda: wp.get_device("cuda"),
        lambda: wp.get_cuda_device(),
        lambda: wp.get_cuda_device(1),
        lambda: wp.set_device("cuda:0"),
        lambda: wp.ScopedDevice("cuda"),
        lambda: wp.synchronize_device("cuda"),
        lambda: wp.synchronize_stream("cuda"),
    ],
)
def test_a_missing_gpu_is_told(use):
    with pytest.raises(RuntimeError, match=r"is not available: no CUDA driver: .*; available: 'cpu'"):
        use()


def test_a_missing_gpu_with_a_number_is_a_value_error():
    with pytest.raises(ValueError, match="'cuda:0' is not available"):
        wp.get_device("cuda:0")


def test_unknown_devices():
    for name in ("gpu", 3, "CPU "):
        with pytest.raises(ValueError, match="is not a device"):
            wp.get_device(name)


def test_scoped_devices_nest_and_restore():
    with wp.ScopedDevice("cpu") as outer, wp.ScopedDevice(None) as inner:
        assert outer is inner is wp.get_device()
    wp.set_device("cpu")
    assert wp.get_device() == "cpu"


def test_synchronising_is_harmless():
    for wait in (wp.synchronize, wp.synchronize_device, wp.synchronize_stream, wp.synchronize_event):
        assert wait() is None


def test_timers_print_nested_and_collect(capsys):
    times: dict = {}
    with wp.ScopedTimer("outer", dict=times) as outer:
        with wp.ScopedTimer("inner"):
            time.sleep(0.002)
        with wp.ScopedTimer("silent", print=False, synchronize=True, use_nvtx=True, color="red"):
            pass
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" took ")[0] for line in lines] == ["\tinner", "outer"]
    assert all(line.endswith(" ms") for line in lines)
    assert outer.elapsed >= 2.0 and times == {"outer": [outer.elapsed]}


def test_inactive_timers_do_nothing(capsys):
    with wp.ScopedTimer("x", active=False) as timer:
        pass
    assert timer.elapsed == 0.0 and capsys.readouterr().out == ""


def test_timers_profile_and_report(capsys):
    reports = []
    with wp.ScopedTimer("x", detailed=True, report_func=lambda *args: reports.append(args)):
        sorted(range(10))
    out = capsys.readouterr().out
    assert "function calls" in out and "sorted" in out and out.endswith(" ms\n") and reports == [([], "")]


WITH_EXAMPLES = [
    *(f"arrays.{m}" for m in ("array", "factories", "transfer", "reshaping", "dtypes")),
    *(f"devices.{m}" for m in ("device", "stream", "timer")),
    *(f"lang.values.{m}" for m in ("scalars", "value_classes", "structs")),
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings(module):
    result = doctest.testmod(importlib.import_module(f"omni.warp_core.{module}"), extraglobs={"wp": wp, "np": np})
    assert result.failed == 0
