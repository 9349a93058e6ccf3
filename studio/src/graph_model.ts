/** The graph as React Flow takes it: nodes with places, and edges between their ports. */

import { Graph as Layout, layout } from "@dagrejs/dagre";
import type { Edge, Node } from "@xyflow/react";
import type { Graph, GraphNode, Port } from "./messages";

export type NodeData = { node: GraphNode; inputs: Port[]; outputs: Port[] };
export type FlowNode = Node<NodeData, "warp">;

const WIDTH = 190;
const ROW = 20;
const HEAD = 36;

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
  return nodes;
}

/** Returns places from left to right along the connections. */
export function arranged(nodes: FlowNode[], edges: Edge[]): Map<string, { x: number; y: number }> {
  const plan = new Layout();
  plan.setGraph({ rankdir: "LR", nodesep: 24, ranksep: 60 });
  plan.setDefaultEdgeLabel(() => ({}));
  for (const { id, data } of nodes) plan.setNode(id, { width: WIDTH, height: heightOf(data) });
  for (const { source, target } of edges) if (plan.hasNode(source)) plan.setEdge(source, target);
  layout(plan);
  return new Map(
    nodes.map(({ id, data }) => {
      const { x, y } = plan.node(id);
      return [id, { x: x - WIDTH / 2, y: y - heightOf(data) / 2 }];
    }),
  );
}
