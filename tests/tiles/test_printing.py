"""print(tile) in a kernel, judged by the text that warp-lang 1.19 printed for the same kernels."""

import textwrap

import pytest

import omni.warp_core as wp

NUMBERS = """
    [1 2.5 1e+10 0.333333] = tile(shape=(4), storage=register)
    [[0 1 2]
     [3 4 5]] = tile(shape=(2,3), storage=register)
"""
NESTED = """
    [[[1]
      [1]]

     [[1]
      [1]]] = tile(shape=(2,2,1), storage=register)
    [[[[0 0]
       [0 0]]

      [[0 0]
       [0 0]]]

     [[[0 0]
       [0 0]]

      [[0 0]
       [0 0]]]] = tile(shape=(2,2,2,2), storage=register)
"""


@wp.kernel
def numbers(a: wp.array[float]):
    print(wp.tile_load(a, shape=4))
    print(wp.tile_reshape(wp.tile_arange(6, dtype=int), shape=(2, 3)))


@wp.kernel
def nested():
    print(wp.tile_ones(shape=(2, 2, 1), dtype=float))
    print(wp.tile_zeros(shape=(2, 2, 2, 2), dtype=wp.float64))


def _printed(capfd, kernel, inputs, block_dim=8):
    wp.launch_tiled(kernel, dim=1, inputs=inputs, block_dim=block_dim)
    return capfd.readouterr().out


@pytest.mark.parametrize("block_dim", [1, 8, 64])
def test_one_thread_of_a_block_prints_the_tile_as_warp_lang_does(capfd, block_dim):
    a = wp.array([1.0, 2.5, 1e10, 1.0 / 3.0], dtype=float)
    assert _printed(capfd, numbers, [a], block_dim) == textwrap.dedent(NUMBERS).lstrip()
    assert _printed(capfd, nested, [], block_dim) == textwrap.dedent(NESTED).lstrip()


def test_each_block_prints_its_tile_in_one_piece(capfd):
    @wp.kernel
    def rows(a: wp.array2d[int]):
        i, _ = wp.tid()
        print(wp.tile_load(a, shape=(2, 2), offset=(2 * i, 0)))

    a = wp.array([[10 * i, 10 * i + 1] for i in range(64)], dtype=int)
    wp.launch_tiled(rows, dim=32, inputs=[a], block_dim=4)
    told = capfd.readouterr().out
    wanted = [
        f"[[{20 * i} {20 * i + 1}]\n [{20 * i + 10} {20 * i + 11}]] = tile(shape=(2,2), storage=register)\n"
        for i in range(32)
    ]
    assert sorted(told.splitlines()) == sorted("".join(wanted).splitlines())
    assert all(piece in told for piece in wanted)


def test_views_updates_and_elements_that_are_vectors(capfd):
    @wp.kernel
    def several(a: wp.array2d[float]):
        t = wp.tile_load(a, shape=(2, 2))
        t[0, 1] = 7.0
        print(wp.tile_transpose(t))
        print(t[1], end=";\n")
        print(wp.tile_zeros(shape=2, dtype=wp.vec2))
        print(wp.tile_ones(shape=2, dtype=wp.bool))

    wanted = """
        [[1 3]
         [7 4]] = tile(shape=(2,2), storage=register)
        [3 4] = tile(shape=(2), storage=register);
        [[0.0, 0.0] [0.0, 0.0]] = tile(shape=(2), storage=register)
        [True True] = tile(shape=(2), storage=register)
    """
    a = wp.array([[1.0, 2.0], [3.0, 4.0]], dtype=float)
    assert _printed(capfd, several, [a]) == textwrap.dedent(wanted).lstrip().rstrip(" ")


def test_large_tiles_and_tiles_beside_text_are_refused():
    @wp.kernel
    def large():
        print(wp.tile_zeros(shape=(64, 64), dtype=float))

    @wp.kernel
    def beside():
        print("t", wp.tile_zeros(shape=4, dtype=float))

    with pytest.raises(wp.CompileError, match=r"at most 1024 elements of a tile[\s\S]*tile_view"):
        wp.launch_tiled(large, dim=1, block_dim=4)
    with pytest.raises(wp.CompileError, match="prints a tile by itself"):
        wp.launch_tiled(beside, dim=1, block_dim=4)
