/** Wires that could be drawn from a node, for those who do not use a mouse. */

import type { Graph, GraphNode, Port } from "../messages";
import { shownInputs, shownOutputs } from "./graph_model";

const BUNDLE = "bundle";
const ANY = "any";
const ALONE = new Set([BUNDLE, "target"]); // types that no other one converts to or from
const TEXTS = new Set(["token", "string", "path", "asset"]);

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
    for (const each of found) each.rank += each.about === "execution" ? 16 : 0;
  return found.sort((a, b) => a.rank - b.rank);
}

function between(from: GraphNode, to: GraphNode, own: GraphNode): (Candidate & { rank: number })[] {
  return shownOutputs(from).flatMap((output) =>
    shownInputs(to)
      .concat(newBundle(output, to))
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
          3 * Number(output.type !== input.type) +
          4 * Number(input.sources.length > 0) +
          2 * Number(short(output) !== short(input)) +
          Number(own === from),
      })),
  );
}

/** The input that a Kernel node may get for a bundle: it has the name of the output, with a number if that is taken. */
function newBundle(output: Port, to: GraphNode): Port[] {
  if (to.code === null || output.type !== BUNDLE) return [];
  const names = ["", ...Array.from({ length: to.ports.length }, (_, index) => String(index + 2))].map(
    (number) => `inputs:${short(output)}${number}`,
  );
  const name = names.find((each) => !to.ports.some((port) => port.name === each)) ?? names[0];
  return [{ name, type: BUNDLE, shape: "array", sources: [], added: true }];
}

function fits(output: Port, input: Port): boolean {
  if ((output.shape === "exec") !== (input.shape === "exec")) return false;
  const [given, wanted] = [familyOf(output), familyOf(input)];
  if (given === ANY || wanted === ANY) return !(ALONE.has(given) || ALONE.has(wanted));
  return given === wanted && numbersOf(output) === numbersOf(input) && output.shape === input.shape;
}

/** The types among which the player converts a value: numbers, texts, or one type alone. */
function familyOf(port: Port): string {
  const base = port.type.replace(/\[.*/, "");
  if (base === ANY || ALONE.has(base)) return base;
  return TEXTS.has(base) ? "text" : "number";
}

/** The number of components of a value, as in pointf[3] and float[3][]; "" for one number. */
function numbersOf(port: Port): string {
  return port.type.match(/\[(\d+)\]/)?.[1] ?? "";
}

function short(port: Port): string {
  return port.name.replace(/^(inputs|outputs):/, "");
}
