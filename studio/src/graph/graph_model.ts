/** The graph as React Flow takes it: nodes with places, and edges between their ports. */

import { Graph as Layout, layout } from "@dagrejs/dagre";
import { type Edge, type Node, Position } from "@xyflow/react";
import type { Graph, GraphNode, Port } from "../messages";

export type NodeData = { node: GraphNode; inputs: Port[]; outputs: Port[] };
export type FlowNode = Node<NodeData, "warp">;

const WIDTH = 190; // of most nodes
const LETTER = 7; // the mean width of a letter at 12 px, rounded up
const SPARE = 54; // around the two labels of a row
const HANDLE = 9;
const ROW = 20;
const HEAD = 36;
const MOST_ARRANGED = 1000; // nodes whose places dagre finds; it takes a minute for 20 000
const MANY = 200; // nodes from which on those out of sight are not in the page
const COLUMN = 40; // nodes above one another in a large graph
const COLUMN_GAP = 60;
const ROW_GAP = 24;
const SCREEN = 1.6; // width over height of a grid of nodes

/** The inputs that a node shows: connected ones, execution, parameters, and those that are all it has. */
export function shownInputs(node: GraphNode): Port[] {
  const inputs = node.ports.filter(
    (port) => port.name.startsWith("inputs:") && !port.gives && !isCompanion(port, node.ports),
  );
  const rare = node.code !== null ? new Set(["inputs:codeStr"]) : new Set<string>();
  return inputs.filter(
    (port) =>
      !rare.has(port.name) &&
      (port.added || port.sources.length > 0 || port.shape === "exec" || node.code === null),
  );
}

/** True for an input that says something about another one, as `inputs:x:length` does. */
export function isCompanion(port: Port, ports: Port[]): boolean {
  const parts = port.name.split(":");
  const about = parts.slice(1, -1).join(":");
  return parts.length > 2 && ports.some((p) => p.name.replace(/^\w+:/, "") === about);
}

export function shownOutputs(node: GraphNode): Port[] {
  return node.ports.filter((port) => port.gives || port.name.startsWith("outputs:"));
}

export function heightOf(data: NodeData): number {
  return HEAD + ROW * Math.max(data.inputs.length, data.outputs.length, 1);
}

/** The name of a port without what its place tells. */
export function labelOf(port: Port | undefined): string {
  return port ? split(`.${port.name}`)[1].replace(/^(inputs|outputs):/, "") : "";
}

/** The width of a node, estimated by its longest row. */
export function widthOf({ inputs, outputs }: NodeData): number {
  const rows = Array.from({ length: Math.max(inputs.length, outputs.length) }, (_, row) => row);
  const letters = rows.map((row) => labelOf(inputs[row]).length + labelOf(outputs[row]).length);
  return Math.max(WIDTH, SPARE + LETTER * Math.max(0, ...letters));
}

export function edgesOf(graph: Graph): Edge[] {
  return graph.nodes.flatMap((node) =>
    node.ports.flatMap((port) =>
      port.sources.map((source) => {
        const [from, output] = split(source);
        return {
          id: `${source}→${node.path}.${port.name}`,
          source: from,
          sourceHandle: output,
          target: node.path,
          targetHandle: port.name,
          className: port.shape,
        };
      }),
    ),
  );
}

/** Cuts a path such as /G/node.inputs:x. */
export function split(path: string): [string, string] {
  const dot = path.lastIndexOf(".");
  return [path.slice(0, dot), path.slice(dot + 1)];
}

/** Returns the nodes of a graph. Those without a place get one from left to right. */
export function nodesOf(graph: Graph): FlowNode[] {
  const nodes = graph.nodes.map((node): FlowNode => {
    const data = { node, inputs: shownInputs(node), outputs: shownOutputs(node) };
    return { id: node.path, type: "warp", data, position: { x: 0, y: 0 } };
  });
  const places = graph.nodes.some((node) => !node.position) ? arranged(nodes, edgesOf(graph)) : new Map();
  for (const flow of nodes) {
    const own = flow.data.node.position;
    flow.position = own ? { x: own[0], y: own[1] } : (places.get(flow.id) ?? flow.position);
  }
  return isLarge(graph) ? nodes.map(sized) : nodes;
}

/** True for a graph of which the page holds the visible nodes alone. */
export function isLarge(graph: Graph): boolean {
  return graph.nodes.length > MANY;
}

/** Tells sizes and handles of a node that is not in the page, which would have to be there to be measured. */
function sized(flow: FlowNode): FlowNode {
  const width = widthOf(flow.data);
  const size = { width, height: heightOf(flow.data) };
  const at = (port: Port, row: number, type: "source" | "target") => ({
    id: port.name,
    type,
    position: type === "source" ? Position.Right : Position.Left,
    x: type === "source" ? width - HANDLE / 2 : -HANDLE / 2,
    y: HEAD + ROW * row + (ROW - HANDLE) / 2,
    width: HANDLE,
    height: HANDLE,
  });
  const inputs = flow.data.inputs.map((port, row) => at(port, row, "target"));
  const outputs = flow.data.outputs.map((port, row) => at(port, row, "source"));
  return { ...flow, width, measured: size, handles: [...inputs, ...outputs] };
}

type Places = Map<string, { x: number; y: number }>;

/** Returns places from left to right along the connections, and below them a grid of the nodes without any. */
export function arranged(nodes: FlowNode[], edges: Edge[]): Places {
  if (nodes.length > MOST_ARRANGED) return inColumns(nodes, edges);
  const joined = new Set(edges.flatMap(({ source, target }) => [source, target]));
  const wired = nodes.filter(({ id }) => joined.has(id));
  const loose = nodes.filter(({ id }) => !joined.has(id));
  const places = alongWires(wired, edges);
  const bottoms = wired.map(({ id, data }) => (places.get(id)?.y ?? 0) + heightOf(data) + ROW_GAP);
  for (const [id, place] of inGrid(loose, Math.max(0, ...bottoms))) places.set(id, place);
  return places;
}

/** Returns places in rows, of about the proportions of a screen. */
function inGrid(nodes: FlowNode[], top: number): Places {
  const step = Math.max(WIDTH, ...nodes.map(({ data }) => widthOf(data))) + COLUMN_GAP;
  const height = nodes.reduce((sum, { data }) => sum + heightOf(data) + ROW_GAP, 0);
  const columns = Math.max(1, Math.round(Math.sqrt((SCREEN * height) / step)));
  const places: Places = new Map();
  let y = top;
  for (let first = 0; first < nodes.length; first += columns) {
    const row = nodes.slice(first, first + columns);
    for (const [column, { id }] of row.entries()) places.set(id, { x: column * step, y });
    y += Math.max(...row.map(({ data }) => heightOf(data))) + ROW_GAP;
  }
  return places;
}

function alongWires(nodes: FlowNode[], edges: Edge[]): Places {
  const plan = new Layout();
  plan.setGraph({ rankdir: "LR", nodesep: ROW_GAP, ranksep: COLUMN_GAP });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const { id, data } of nodes) plan.setNode(id, { width: widthOf(data), height: heightOf(data) });
  for (const { source, target } of edges) if (plan.hasNode(source)) plan.setEdge(source, target);
  layout(plan);
  return new Map(
    nodes.map(({ id, data }) => {
      const { x, y } = plan.node(id);
      return [id, { x: x - widthOf(data) / 2, y: y - heightOf(data) / 2 }];
    }),
  );
}

/** Returns places of many nodes: one column or more for each rank, which is the longest way from a node without inputs. */
export function inColumns(nodes: FlowNode[], edges: Edge[]): Places {
  const places: Places = new Map();
  let x = 0;
  for (const ids of byRank(nodes, edges)) {
    for (let first = 0; first < ids.length; first += COLUMN) {
      let y = 0;
      let widest = WIDTH;
      for (const { id, data } of ids.slice(first, first + COLUMN)) {
        places.set(id, { x, y });
        y += heightOf(data) + ROW_GAP;
        widest = Math.max(widest, widthOf(data));
      }
      x += widest + COLUMN_GAP;
    }
  }
  return places;
}

/** Nodes of a cycle have no rank, and come last. */
function byRank(nodes: FlowNode[], edges: Edge[]): FlowNode[][] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const after = new Map<string, string[]>();
  const waitsFor = new Map(nodes.map((node) => [node.id, 0]));
  for (const { source, target } of edges) {
    if (!byId.has(source)) continue;
    const targets = after.get(source);
    if (targets) targets.push(target);
    else after.set(source, [target]);
    waitsFor.set(target, (waitsFor.get(target) ?? 0) + 1);
  }
  const ranks: FlowNode[][] = [];
  let now = nodes.filter(({ id }) => waitsFor.get(id) === 0);
  while (now.length) {
    ranks.push(now);
    const freed: FlowNode[] = [];
    for (const id of now.flatMap((node) => after.get(node.id) ?? [])) {
      const left = (waitsFor.get(id) ?? 0) - 1;
      waitsFor.set(id, left);
      const node = byId.get(id);
      if (left === 0 && node) freed.push(node);
    }
    now = freed;
  }
  const rest = nodes.filter(({ id }) => (waitsFor.get(id) ?? 0) > 0);
  return rest.length ? [...ranks, rest] : ranks;
}
