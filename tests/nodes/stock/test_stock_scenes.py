"""Stock nodes in scenes: types resolved by connections, literals in custom data, dynamic inputs, both evaluators."""

from pxr import Usd


def values(outcome, name, frames):
    stage = Usd.Stage.Open(str(outcome.target))
    attribute = stage.GetAttributeAtPath(f"/World/Mesh.{name}")
    return [attribute.Get(frame) for frame in frames]


PUSH = """
def OmniGraphNode "read"
{
    token node:type = "omni.graph.nodes.ReadPrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "points"
    custom timecode inputs:usdTimecode = 0
}
def OmniGraphNode "clock"
{
    token node:type = "omni.graph.nodes.ReadTime"
}
def OmniGraphNode "factor"
{
    token node:type = "omni.graph.nodes.ConstantDouble3"
    custom double3 inputs:value = (1, 2, 3)
}
def OmniGraphNode "scaled"
{
    token node:type = "omni.graph.nodes.Multiply"
    int node:typeVersion = 2
    custom token inputs:a.connect = </G/read.outputs:value>
    custom token inputs:b.connect = </G/factor.inputs:value>
    custom token outputs:product
}
def OmniGraphNode "moved"
{
    token node:type = "omni.graph.nodes.Add"
    custom token inputs:a.connect = </G/scaled.outputs:product>
    custom token inputs:b (
        customData = {
            dictionary omni = {
                dictionary graph = {
                    string resolvedType = "float"
                    float attrValue = 10
                }
            }
        }
    )
    custom double inputs:input2.connect = </G/clock.outputs:frame>
    custom token outputs:sum
}
def OmniGraphNode "write"
{
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "points"
    custom token inputs:value.connect = </G/moved.outputs:sum>
}
"""


def test_types_are_those_of_the_connections(make_scene, play):
    outcome = play(make_scene(PUSH))
    assert not outcome.log.errors and not outcome.log.warnings
    for frame, points in enumerate(values(outcome, "points", range(4))):
        wanted = [(x + 10 + frame, 2 * y + 10 + frame, 10 + frame) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
        assert [tuple(p) for p in points] == wanted


ACTION = """
def OmniGraphNode "tick"
{
    token node:type = "omni.graph.action.OnTick"
}
def OmniGraphNode "array"
{
    token node:type = "omni.graph.nodes.ConstructArray"
    custom int inputs:arraySize = 3
    custom token inputs:arrayType = "int[]"
    custom double inputs:input0 = 4
    custom double inputs:input1.connect = </G/tick.outputs:frame>
    custom token outputs:array
}
def OmniGraphNode "last"
{
    token node:type = "omni.graph.nodes.ArrayIndex"
    custom token inputs:array.connect = </G/array.outputs:array>
    custom int inputs:index = -1
    custom token outputs:value
}
def OmniGraphNode "text"
{
    token node:type = "omni.graph.nodes.ToString"
    custom token inputs:value.connect = </G/last.outputs:value>
    custom string outputs:converted
}
def OmniGraphNode "label"
{
    token node:type = "omni.graph.nodes.BuildString"
    custom token inputs:a (
        customData = {
            dictionary omni = {
                dictionary graph = {
                    string resolvedType = "string"
                    string attrValue = "f"
                }
            }
        }
    )
    custom token inputs:b.connect = </G/text.outputs:converted>
    custom token outputs:value
}
def OmniGraphNode "random"
{
    token node:type = "omni.graph.nodes.RandomNumeric"
    custom uint inputs:execIn.connect = </G/tick.outputs:tick>
    custom uint outputs:execOut (customData = { bool isExecution = 1 })
    custom token outputs:random
}
def OmniGraphNode "writeLabel"
{
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom uint inputs:execIn.connect = </G/random.outputs:execOut>
    custom uint outputs:execOut (customData = { bool isExecution = 1 })
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "label"
    custom token inputs:value.connect = </G/label.outputs:value>
}
def OmniGraphNode "writeRandom"
{
    token node:type = "omni.graph.nodes.WritePrimAttribute"
    custom uint inputs:execIn.connect = </G/writeLabel.outputs:execOut>
    custom rel inputs:prim = </World/Mesh>
    custom token inputs:name = "height"
    custom token inputs:value.connect = </G/random.outputs:random>
}
"""


def test_an_action_graph_of_data_nodes(make_scene, play):
    outcome = play(make_scene(ACTION, evaluator="execution"))
    assert not outcome.log.errors
    assert values(outcome, "label", range(4)) == ["f0", "f1", "f2", "f3"]
    drawn = values(outcome, "height", range(4))
    assert len(set(drawn)) == 4 and all(0 <= x < 1 for x in drawn)
    assert values(play(make_scene(ACTION, evaluator="execution")), "height", range(4)) == drawn


def test_a_refused_value_names_node_and_attribute(make_scene, play):
    text = PUSH.replace('resolvedType = "float"', 'resolvedType = "token"')
    outcome = play(make_scene(text.replace("float attrValue = 10", 'token attrValue = "x"')))
    assert outcome.log.errors == ["/G/moved: inputs:b is of type token; the node takes numbers, or arrays of numbers"]
