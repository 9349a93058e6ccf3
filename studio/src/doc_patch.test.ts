import { expect, test } from "vitest";
import { patched } from "./doc_patch";
import type { Doc, GraphNode } from "./messages";

const node = (path: string, name = path): GraphNode =>
  ({
    path,
    name,
    type: "t",
    label: "t",
    known: true,
    enabled: true,
    position: null,
    code: null,
    ports: [],
  }) as GraphNode;
const state = { edited: true, undo: "u", redo: "", comments: false };
const doc: Doc = {
  ...state,
  revision: 3,
  file: "f",
  graphs: [{ path: "/G", enabled: true, evaluator: "push", omitted: 0, nodes: [node("/G/a"), node("/G/b")] }],
};
const op = { graph: "/G", enabled: true, evaluator: "push", omitted: 0 };

test("a changed node replaces its old self, and the others stay the same objects", () => {
  const next = patched(doc, {
    ...state,
    base: 3,
    revision: 4,
    ops: [{ ...op, nodes: [node("/G/b", "new")] }],
  });
  expect(next?.revision).toBe(4);
  expect(next?.graphs[0].nodes.map((each) => each.name)).toEqual(["/G/a", "new"]);
  expect(next?.graphs[0].nodes[0]).toBe(doc.graphs[0].nodes[0]);
});

test("a graph is switched off", () => {
  const ops = [{ ...op, enabled: false, nodes: [] }];
  expect(patched(doc, { ...state, base: 3, revision: 4, ops })?.graphs[0].enabled).toBe(false);
});

test("an order adds and removes nodes", () => {
  const change = { ...op, nodes: [node("/G/c")], order: ["/G/c", "/G/b"] };
  const next = patched(doc, { ...state, base: 3, revision: 4, ops: [change] });
  expect(next?.graphs[0].nodes.map((each) => each.path)).toEqual(["/G/c", "/G/b"]);
});

test("graphs come and go", () => {
  const gone = { ...op, gone: true, nodes: [] };
  const next = patched(doc, {
    ...state,
    base: 3,
    revision: 4,
    ops: [gone, { ...op, graph: "/A", nodes: [] }],
  });
  expect(next?.graphs.map((graph) => graph.path)).toEqual(["/A"]);
});

test("a patch of another revision is refused", () => {
  expect(patched(doc, { ...state, base: 2, revision: 4, ops: [] })).toBeNull();
});
