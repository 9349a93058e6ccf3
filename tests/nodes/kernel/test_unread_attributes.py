"""Attributes of a Kernel node that no kernel reads are told, with what was probably meant."""

from tests.nodes.kernel.kernel_scenes import kernel

CODE = """
@wp.kernel
def k(x: wp.array[float], y: wp.array[float]):
    i = wp.tid()
    y[i % y.shape[0]] = x[i]
"""
GOOD = """
    custom float[] inputs:x = [1, 2, 3, 4]
    custom int2 inputs:size = (2, 2)
    custom token inputs:dimSource = "size"
    custom float[] inputs:other = [1, 2]
    custom token inputs:y:length = "other"
    custom float[] outputs:y
"""


def warnings(make_scene, play, attributes):
    result = play(make_scene(kernel(CODE, attributes), frames="0:1"))
    assert not result.log.errors
    return result.log.warnings


def test_inputs_that_settings_of_the_node_name_are_read(make_scene, play):
    assert not warnings(make_scene, play, GOOD)


def test_a_misspelt_setting_of_the_node_is_told_once(make_scene, play):
    (told,) = warnings(make_scene, play, GOOD + "custom int inputs:substep = 4\n")
    assert told.endswith("did you mean inputs:substeps?")


def test_unread_attributes_are_told_once_with_what_was_meant(make_scene, play):
    wrong = "custom int inputs:y:lenght = 2\ncustom float[] state:z\ncustom float inputs:left:over = 1\n"
    found = warnings(make_scene, play, GOOD + wrong)
    assert found == [
        "/G/kernel: nothing reads inputs:left:over, as no parameter has this name",
        "/G/kernel: nothing reads inputs:y:lenght, as no parameter has this name; did you mean inputs:y:length?",
        "/G/kernel: nothing reads state:z, as no parameter has this name",
    ]
