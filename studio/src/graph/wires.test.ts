import { expect, test } from "vitest";
import type { Graph, GraphNode, Port } from "../messages";
import { candidates } from "./wires";

const port = (name: string, type: string): Port => ({
  name,
  type,
  shape: type.endsWith("]") ? "array" : "value",
  sources: [],
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

function offered(output: string, input: string): boolean {
  const [from, to] = [node("from", [port("outputs:x", output)]), node("to", [port("inputs:y", input)])];
  const graph = { path: "/G", enabled: true, evaluator: "push", omitted: 0, nodes: [from, to] } as Graph;
  return candidates(graph, to).length > 0;
}

test.each([
  ["double", "float"],
  ["bool", "int"],
  ["any", "float"],
  ["token", "string"],
  ["target", "target"],
  ["bundle", "bundle"],
  ["any", "any"],
])("a wire from %s to %s is offered", (output, input) => {
  expect(offered(output, input)).toBe(true);
});

test.each([
  ["double", "token"],
  ["token", "double"],
  ["double", "target"],
  ["any", "target"],
  ["any", "bundle"],
  ["bundle", "any"],
  ["float", "float[]"],
])("a wire from %s to %s is not offered, as no value goes that way", (output, input) => {
  expect(offered(output, input)).toBe(false);
});
