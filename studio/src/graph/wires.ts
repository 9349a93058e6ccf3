/** Wires that could be drawn from a node, for those who do not use a mouse. */

import type { Graph, GraphNode, Port } from "../messages";
import { shownInputs, shownOutputs } from "./graph_model";

export interface Candidate {
  source: string;
  target: string;
  label: string;
  about: string;
}

/** Returns the connections that a node could have with others of its graph, those of equal types first. */
export function candidates(graph: Graph, node: GraphNode): Candidate[] {
  const others = graph.nodes.filter((other) => other.path !== node.path).reverse(); // the newest one first
  const found = others.flatMap((other) => [...between(node, other, node), ...between(other, node, node)]);
  // In a graph that evaluates what nodes need, wires of execution are the exception.
  if (graph.evaluator !== "execution")
    for (const each of found) each.rank += each.about === "execution" ? 8 : 0;
  return found.sort((a, b) => a.rank - b.rank);
}

function between(from: GraphNode, to: GraphNode, own: GraphNode): (Candidate & { rank: number })[] {
  return shownOutputs(from).flatMap((output) =>
    shownInputs(to)
      .filter((input) => fits(output, input) && !input.sources.includes(`${from.path}.${output.name}`))
      .map((input) => ({
        source: `${from.path}.${output.name}`,
        target: `${to.path}.${input.name}`,
        label:
          own === from
            ? `${short(output)} → ${to.name}.${short(input)}`
            : `${short(input)} ← ${from.name}.${short(output)}`,
        about: output.type === input.type ? output.type : `${output.type} to ${input.type}`,
        rank:
          Number(output.type !== input.type) + 2 * Number(input.sources.length > 0) + Number(own === from),
      })),
  );
}

function fits(output: Port, input: Port): boolean {
  const isAny = output.type === "any" || input.type === "any";
  return (output.shape === "exec") === (input.shape === "exec") && (isAny || output.shape === input.shape);
}

function short(port: Port): string {
  return port.name.replace(/^(inputs|outputs):/, "");
}
