"""Keys of nested kernels, functions and structs, judged by those that warp-lang 1.19 gives."""

import omni.warp_core as wp


class Maker:
    def kernel(self):
        @wp.kernel
        def deep(x: wp.array[float]):
            x[0] = 1.0

        return deep


def nested():
    @wp.func
    def function(x: float):
        return x

    @wp.struct
    class Pair:
        a: float

    return function, Pair


@wp.kernel
def plain(x: wp.array[float]):
    x[0] = 1.0


def test_keys_are_words_of_what_names_are_nested_in():
    assert plain.key == "plain" and Maker().kernel().key == "Maker__kernel__locals__deep"
    assert [made.key for made in nested()] == ["nested__locals__function", "nested__locals__Pair"]
    assert list(wp.get_module(__name__).kernels).count("plain") == 1
