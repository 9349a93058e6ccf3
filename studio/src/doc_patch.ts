/** Changes of the document, as the server sends them after an edit. */

import type { Doc, DocPatch, Graph, GraphChange } from "./messages";

/** Returns the document after a patch. Nodes that stay the same are the same objects. Null if a change was missed. */
export function patched(doc: Doc, patch: DocPatch): Doc | null {
  if (patch.base !== doc.revision) return null;
  const { base, ops, ...state } = patch;
  const graphs = new Map(doc.graphs.map((graph) => [graph.path, graph]));
  for (const op of ops) {
    if (op.gone) graphs.delete(op.graph);
    else graphs.set(op.graph, changed(graphs.get(op.graph), op));
  }
  const sorted = [...graphs.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  return { ...doc, ...state, graphs: ops.length ? sorted : doc.graphs };
}

function changed(graph: Graph | undefined, op: GraphChange): Graph {
  const nodes = new Map(graph?.nodes.map((node) => [node.path, node]));
  for (const node of op.nodes) nodes.set(node.path, node);
  const order = op.order ?? [...nodes.keys()];
  const kept = order.map((path) => nodes.get(path)).filter((node) => node !== undefined);
  return { path: op.graph, enabled: op.enabled, evaluator: op.evaluator, omitted: op.omitted, nodes: kept };
}
