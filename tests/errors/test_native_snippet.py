"""`wp.func_native`: a kernel that calls C++ text with more than numbers is refused; barriers and counts of bits run.
Expected values are by hand, or of Python's integers. tests/lang/test_native_text.py has the text that is translated.
"""

from __future__ import annotations

import numpy as np
import pytest

import omni.warp_core as wp


@wp.func_native(snippet="\n    return *reinterpret_cast<int*>(x);\n")
def next_number(x: wp.uint64) -> int: ...


@wp.func_native(" WP_TILE_SYNC(); ")
def sync():
    pass


def test_a_kernel_that_calls_it_is_refused_at_the_call():
    @wp.kernel
    def k(x: wp.array[int]):
        x[0] = next_number(wp.uint64(8))

    with pytest.raises(wp.CompileError) as refused:
        wp.launch(k, 1, [wp.zeros(1, dtype=int)])
    text = str(refused.value)
    assert (
        "`next_number` is C++ text" in text
        and "branches and loops: `*`" in text
        and "x[0] = next_number" in text
        and "@wp.func" in text
    )


def test_kernels_beside_it_run():
    @wp.kernel
    def k(x: wp.array[int]):
        x[0] = 8

    x = wp.zeros(1, dtype=int)
    wp.launch(k, 1, [x])
    assert x.list() == [8]


def test_barriers_are_barriers():
    """Each thread reads what its neighbour wrote before the barrier."""

    @wp.kernel
    def rotate(x: wp.array[int], out: wp.array[int]):
        i = wp.tid()
        shared = wp.shared_array(64, dtype=int)
        shared[wp.thread_index()] = x[i]
        sync()
        out[i] = shared[(wp.thread_index() + 1) % wp.block_dim()]

    x, out = wp.array(np.arange(256, dtype=np.int32)), wp.zeros(256, dtype=int)
    wp.launch(rotate, 256, [x, out], block_dim=64)
    np.testing.assert_array_equal(out.numpy(), np.roll(np.arange(256).reshape(4, 64), -1, axis=1).reshape(-1))


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    return __ffsll((long long)x) - 1;
#else
    return __builtin_ctzll((unsigned long long)x);
#endif
"""
)
def lowest_bit(x: wp.uint64) -> int: ...


@wp.func_native("return __builtin_ctz(x);")
def lowest_bit_of_32(x: wp.int32) -> int: ...


@wp.func_native("return __builtin_popcountll((unsigned long long) word);")
def bits_of(word: wp.int64) -> int: ...


@wp.func_native("return __builtin_popcount(x);")
def bits_of_32(x: wp.uint32) -> int: ...


def test_texts_that_count_bits_run():
    @wp.kernel
    def count(x: wp.array[wp.uint64], out: wp.array2d[int]):
        i = wp.tid()
        out[i, 0] = lowest_bit(x[i])
        out[i, 1] = bits_of(wp.int64(x[i]))
        out[i, 2] = bits_of_32(wp.uint32(x[i]))
        low = wp.int32(x[i])
        if low != 0:
            out[i, 3] = lowest_bit_of_32(low)

    numbers = [1, 8, 6, 1 << 63, (1 << 63) | (1 << 40), (1 << 64) - 1, 0x80000000, 0xF0F0F0F0F0F0F0F0]
    out = wp.zeros((len(numbers), 4), dtype=int)
    wp.launch(count, len(numbers), [wp.array(numbers, dtype=wp.uint64), out])

    def lowest(n):
        return (n & -n).bit_length() - 1 if n else 0

    def row(n):
        low = n % (1 << 32)
        return [lowest(n), n.bit_count(), low.bit_count(), lowest(low)]

    assert out.numpy().tolist() == [row(n) for n in numbers]
    assert lowest_bit(wp.uint64(8)) == 3


@pytest.mark.parametrize(
    "text, what",
    [
        ("return y + 1;", "`y`"),
        ("return x->y;", "`->`"),
        ("return __shfl_sync(0xffffffffu, x, 0);", "the function `__shfl_sync`"),
        ("return wp::no_such_function(x);", "the function `wp::no_such_function`"),
        ("auto f = [](int y) { return y; }; return f(x);", r"`\["),
        ("#if defined(__CUDA_ARCH__)\nreturn __builtin_ctzll(x);\n#endif", "no `return`"),
        ("#if SIZE > 3\nreturn 1;\n#endif", "`#if SIZE > 3`"),
        ("for (int i = 0; i < 9; ++i) { if (i > x) continue; } return 0;", "`continue` in a `for` loop"),
        ("int x = 3; return x;", "a second variable `x`"),
        ("return 010;", "the octal number `010`"),
        ("return *reinterpret_cast<float*>(&x);", "reinterpret_cast|`\\*`"),
        ("return reinterpret_cast<double&>(x);", "a type of another size"),
        ("return x @ 2;", "`@ 2;`"),
        ("if (x > 1 return 2;", "`return` where `\\)` was expected"),
    ],
)
def test_other_text_is_refused_with_the_reason(text, what):
    @wp.func_native(text)
    def other(x: int) -> int: ...

    @wp.kernel
    def k(x: wp.array[int]):
        x[0] = other(x[0])

    with pytest.raises(wp.CompileError, match=rf"is C\+\+ text .*branches and loops: .*{what}"):
        wp.launch(k, 1, [wp.zeros(1, dtype=int)])


@pytest.mark.parametrize("adj, replay", [("adj_x += *adj_ret;", None), (None, "return y;")])
def test_a_gradient_that_is_not_translated_is_refused(adj, replay):
    @wp.func_native("return 2.0f * x;", adj_snippet=adj, replay_snippet=replay)
    def other(x: float) -> float: ...

    @wp.kernel
    def k(x: wp.array[float]):
        x[0] = other(x[0])

    with pytest.raises(wp.CompileError, match=r"is C\+\+ text .*: (adj|replay)_snippet has `(\*|y)`"):
        wp.launch(k, 1, [wp.zeros(1, dtype=float)])


@wp.func_native("#if defined(__CUDA_ARCH__)\nreturn __shfl_xor_sync(0xffffffffu, x, 1);\n#else\nreturn x;\n#endif")
def of_neighbour(x: float) -> float: ...


def test_text_of_threads_that_work_together_is_refused_in_blocks():
    @wp.kernel
    def alone(x: wp.array[float]):
        x[wp.tid()] = 2.0 * of_neighbour(x[wp.tid()])

    @wp.kernel
    def together(x: wp.array[float]):
        i = wp.tid()
        x[i] = wp.tile_sum(wp.tile(of_neighbour(x[i])))[0]

    x = wp.ones(64, dtype=float)
    wp.launch(alone, 64, [x])
    assert x.list() == [2.0] * 64
    wp.launch(together, 64, [x], block_dim=1)
    assert x.list() == [2.0] * 64
    with pytest.raises(
        wp.CompileError, match=r"`of_neighbour` is C.* together on GPUs only, and they form blocks here"
    ):
        wp.launch(together, 64, [x], block_dim=32)


def test_the_text_is_a_string():
    with pytest.raises(TypeError, match="expected C\\+\\+ text, got function"):
        wp.func_native(lambda x: x)
