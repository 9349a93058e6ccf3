import { expect, test } from "vitest";
import type { Graph, GraphNode, Port } from "../messages";
import { heightOf, inColumns, nodesOf, widthOf } from "./graph_model";

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

test("nodes without wires stand in a grid below the others", () => {
  const loose = Array.from({ length: 200 }, (_, i) => node(`loose${i}`, [port("inputs:x")]));
  const nodes = nodesOf({ ...graph, nodes: [...graph.nodes, ...loose] });
  const grid = nodes.slice(3);
  const right = Math.max(...grid.map(({ position, data }) => position.x + widthOf(data)));
  const [top, bottom] = [
    Math.min(...grid.map(({ position }) => position.y)),
    Math.max(...grid.map(({ position, data }) => position.y + heightOf(data))),
  ];
  expect(right / (bottom - top)).toBeGreaterThan(1);
  expect(right / (bottom - top)).toBeLessThan(2.5);
  for (const { position, data } of nodes.slice(0, 3)) expect(position.y + heightOf(data)).toBeLessThan(top);
  expect(new Set(grid.map(({ position }) => `${position.x} ${position.y}`)).size).toBe(200);
});
