import { expect, test } from "vitest";
import type { Graph, GraphNode, Port } from "../messages";
import { inColumns, nodesOf, widthOf } from "./graph_model";

const port = (name: string, ...sources: string[]): Port => ({
  name,
  type: "float",
  shape: "value",
  sources,
  added: true,
  gives: name.startsWith("outputs:"),
});
const node = (name: string, ports: Port[]): GraphNode => ({
  path: `/G/${name}`,
  name,
  type: "t",
  label: "t",
  known: true,
  enabled: true,
  position: null,
  code: null,
  ports,
});
const long = "a:very:long:name:of:a:port:for:faceVertexIndices";
const graph: Graph = {
  path: "/G",
  enabled: true,
  evaluator: "push",
  omitted: 0,
  nodes: [
    node("first", [port("outputs:x")]),
    node("wide", [port(`inputs:${long}`, "/G/first.outputs:x"), port(`outputs:${long}`)]),
    node("last", [port("inputs:x", `/G/wide.outputs:${long}`)]),
  ],
} as Graph;

test("a node with long names of ports does not reach into the next one", () => {
  const [first, wide, last] = nodesOf(graph);
  expect(wide.position.x).toBeGreaterThan(first.position.x + widthOf(first.data));
  expect(last.position.x).toBeGreaterThan(wide.position.x + widthOf(wide.data));
  expect(widthOf(wide.data)).toBeGreaterThan(5 * 2 * long.length);
});

test("columns of a large graph are as wide as their widest node", () => {
  const nodes = nodesOf(graph);
  const edges = [
    { id: "a", source: "/G/first", target: "/G/wide" },
    { id: "b", source: "/G/wide", target: "/G/last" },
  ];
  const places = inColumns(nodes, edges);
  const x = (name: string) => places.get(`/G/${name}`)?.x ?? Number.NaN;
  expect(x("last")).toBeGreaterThan(x("wide") + widthOf(nodes[1].data));
  expect(x("wide")).toBeGreaterThan(x("first") + widthOf(nodes[0].data));
});
