"""Misspelt inputs of nodes are told with the input that was meant; other attributes of a node's own are not."""

from tests.nodes.kernel.kernel_scenes import kernel

STOCK = """
def OmniGraphNode "read" {
    token node:type = "omni.graph.nodes.ReadPrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:nmae = "points"
}
def OmniGraphNode "add" {
    token node:type = "omni.graph.nodes.Add"
    custom double inputs:a = 1
    custom double inputs:b = 1
    custom double inputs:input2 = 1
}
"""
CODE = """
@wp.kernel
def k(dimSorce: wp.array(dtype=float), a: wp.array(dtype=float)):
    i = wp.tid()
    a[i] = 1.0
"""


def test_inputs_that_are_probably_misspelt(make_scene, play):
    attributes = "custom float[] outputs:a\ncustom int inputs:dimm1 = 3\ncustom float[] inputs:dimSorce = [1]\n"
    result = play(make_scene(STOCK + kernel(CODE, attributes, "k"), frames="0:0"))
    told = [text for text in result.log.warnings if "did you mean" in text]
    assert [text.partition(": ")[0] for text in told] == ["/G/read.inputs:nmae", "/G/k.inputs:dimm1"]
    assert "did you mean inputs:name?" in told[0] and "did you mean inputs:dim" in told[1]


def test_every_input_is_told_that_an_older_type_lacks_here(make_scene, play):
    node = """
def OmniGraphNode "grid" {
    token node:type = "omni.warp.WarpGridCreate"
    custom float inputs:waviness = 3
    custom float2 inputs:size = (1, 2)
}
"""
    result = play(make_scene(node + node.replace("omni.warp.Warp", "omni.warp_core.").replace('"grid"', '"own"')))
    (told,) = [text for text in result.log.warnings if "waviness" in text]
    assert (
        told == "/G/grid.inputs:waviness: the node type omni.warp.WarpGridCreate has no such input, so nothing reads it"
    )
