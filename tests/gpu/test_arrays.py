"""Arrays on GPUs: made, filled, copied, viewed and read. NumPy is the judge."""

import gc

import numpy as np
import pytest

import omni.warp_core as wp

RNG = np.random.default_rng(1)


@wp.struct
class Particle:
    x: wp.vec3
    mass: float


@pytest.mark.parametrize("dtype", [wp.int8, wp.uint16, wp.int32, wp.float64, wp.float16, wp.vec3, wp.mat22, wp.quatd])
def test_every_kind_of_element(gpu, dtype):
    host = wp.array(RNG.integers(0, 100, (6, *np.shape(dtype()))), dtype=dtype, device="cpu")
    there = host.to(gpu)
    assert there.device is gpu
    assert there.dtype is host.dtype
    np.testing.assert_array_equal(there.numpy(), host.numpy())
    np.testing.assert_array_equal(there.to("cpu").numpy(), host.numpy())
    assert str(there[2]) == str(host[2])


def test_structs(gpu):
    p = Particle()
    p.x, p.mass = wp.vec3(1.0, 2.0, 3.0), 4.0
    a = wp.array([p, p], dtype=Particle)
    assert a.device is gpu
    assert a.numpy()["mass"].tolist() == [4.0, 4.0]
    assert a[1].x == wp.vec3(1.0, 2.0, 3.0)


def test_copies(gpu):
    data = np.arange(20, dtype=np.float32)
    a, b, c = wp.array(data, dtype=float), wp.zeros(20, dtype=float), wp.zeros(20, dtype=float, device="cpu")
    wp.copy(b, a)
    np.testing.assert_array_equal(b.numpy(), data)
    wp.copy(c, a, 2, 5, 7)
    np.testing.assert_array_equal(c.numpy()[2:9], data[5:12])
    b.assign(list(range(20, 0, -1)))
    np.testing.assert_array_equal(b.numpy(), np.arange(20, 0, -1))
    a[2:] = a[:-2]
    np.testing.assert_array_equal(a.numpy(), [0, 1, *range(18)])
    wp.copy(a[::2], c[:10])
    wp.copy(c[10:], a[::2])
    np.testing.assert_array_equal(c.numpy()[10:], c.numpy()[:10])
    np.testing.assert_array_equal(wp.clone(a[1::2]).numpy(), a.numpy()[1::2])
    assert wp.clone(a, device="cpu").device == "cpu"
    assert wp.zeros_like(a).device is gpu
    assert wp.empty_like(c).device == "cpu"


def test_between_gpus():
    if wp.get_cuda_device_count() < 2:
        pytest.skip("needs two GPUs")
    data = np.arange(8, dtype=np.float32)
    a = wp.array(data, dtype=float, device="cuda:0")
    b = a.to("cuda:1")
    assert b.device == "cuda:1"
    a.fill_(100.0)  # the copy has been ordered before
    np.testing.assert_array_equal(b.numpy(), data)
    wp.copy(a[::2], b[:4])
    np.testing.assert_array_equal(a.numpy()[::2], data[:4])


def test_memory_is_given_back(gpu, simulated):
    gc.collect()
    gpu.synchronize()
    before = simulated.simulator_allocations(gpu.ordinal)
    for _ in range(50):
        wp.zeros(1000, dtype=float)
    gc.collect()
    gpu.synchronize()
    assert simulated.simulator_allocations(gpu.ordinal) == before


def test_no_memory(gpu):
    with pytest.raises(MemoryError, match=r"no memory for shape=\(1099511627776,\) of float32"):
        wp.empty(1 << 40, dtype=float)
    assert wp.ones(3, dtype=int).list() == [1, 1, 1]


def test_work_is_put_off_until_somebody_looks(gpu, simulated):
    wp.synchronize()
    a = wp.ones(10, dtype=float)
    assert simulated.simulator_pending(gpu.ordinal) > 0
    assert a.numpy().tolist() == [1.0] * 10


def test_protocols(gpu):
    a = wp.array([[1.0, 2.0, 3.0]], dtype=wp.vec3)
    interface = a.__cuda_array_interface__
    assert interface["shape"] == (1, 3)
    assert interface["typestr"] == "<f4"
    assert interface["data"][0] == a.ptr
    assert not hasattr(a, "__array_interface__")
    assert not hasattr(wp.zeros(1, device="cpu"), "__cuda_array_interface__")
    assert np.asarray(a).tolist() == [[1.0, 2.0, 3.0]]


def test_functions_called_from_python_do_not_read_a_gpus_memory(gpu):
    with pytest.raises(RuntimeError, match=r"the array is on cuda:\d, but Python code can only read CPU memory"):
        wp.lower_bound(wp.array([1.0, 2.0], dtype=float), 1.5)


@wp.struct
class Holder:
    data: wp.array(dtype=float)


def test_arrays_in_elements_are_on_the_device(gpu):
    a = wp.array([Holder(data=wp.array([1, 2, 3], dtype=float)[::2])], dtype=Holder)
    for holders in (a, wp.clone(a), a.to("cpu")):
        assert holders[0].data.device is gpu
        assert holders.list()[0].data.list() == [1.0, 3.0]
