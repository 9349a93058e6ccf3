/** New nodes of the shown graph: their names and places. */

import type { Graph, Preset } from "../messages";
import { allNodes, edit, getState, notify, replaceText, setState, shownGraph } from "../studio";
import { labelOf, split } from "./graph_model";

/** The end of a wire that was dropped in the void: the other end is a new node. */
export interface Wire {
  source?: string;
  target?: string;
}

type Place = [number, number];

const KERNEL = "omni.warp_core.Kernel";
const FIRST_TEXT = `# Moves each point of an array. Connect an array of points to the input.


@wp.kernel
def move(points: wp.array[wp.vec3], height: float, moved: wp.array[wp.vec3]):
    i = wp.tid()
    moved[i] = points[i] + wp.vec3(0.0, height, 0.0)
`;

/** The first text of a Kernel node that reads a bundle, whose members are its parameters. */
const textOver = (
  bundle: string,
) => `# Moves each point of a prim: ${bundle}_points is a member of the bundle ${bundle}.


@wp.kernel
def move(${bundle}_points: wp.array[wp.vec3], height: float):
    i = wp.tid()
    ${bundle}_points[i] += wp.vec3(0.0, height, 0.0)
`;

/** Adds a node beside the selected one. A Kernel node starts with the text of a preset, or with a first text. */
export function addNode(type: string, wire?: Wire, preset?: Preset): void {
  const state = getState();
  const graph = shownGraph(state);
  if (!graph) return notify("This scene has no graph yet. Choose Add a graph first.");
  const last = preset?.name ?? type.split(".").pop() ?? "node";
  const name = freeName(last[0].toLowerCase() + last.slice(1), namesOf(graph));
  const beside = graph.nodes.find((node) => state.selection.includes(node.path)) ?? graph.nodes.at(-1);
  const place = beside && placeOf(beside);
  const position = freePlace(place ? [place[0] + 240, place[1] + 60] : [0, 0], placesOf(graph));
  const node = `${graph.path}/${name}`;
  const add = { do: "add", graph: graph.path, type, name, position, preset: preset?.name ?? "" };
  edit(`add ${last}`, add, ...(wire ? [{ do: "insert", node, ...wire }] : []));
  if (type === KERNEL) replaceText(node, preset?.text ?? firstText(wire));
  setState({ selection: [node], ...(type === KERNEL ? { shownCode: node } : {}) });
}

function firstText(wire?: Wire): string {
  const [path, name] = split(wire?.source ?? "");
  const node = allNodes(getState()).find((each) => each.path === path);
  const source = node?.ports.find((port) => port.name === name);
  return source?.type === "bundle" ? textOver(labelOf(source)) : FIRST_TEXT;
}

/** Adds a Kernel node with the text of a preset. */
export function addPreset(preset: Preset, wire?: Wire): void {
  addNode(KERNEL, wire, preset);
}

/** Puts copies of nodes into the shown graph, and selects them. */
export function duplicateNodes(paths: string[]): void {
  const state = getState();
  const graph = shownGraph(state);
  const originals = allNodes(state).filter((node) => paths.includes(node.path));
  if (!graph || !originals.length) return;
  const taken = namesOf(graph);
  const names: Record<string, string> = {};
  for (const node of originals) {
    names[node.path] = freeName(node.name.replace(/\d+$/, ""), taken, node.name);
    taken.add(names[node.path]);
  }
  const first = placeOf(originals[0]) ?? [0, 0];
  const free = freePlace([first[0] + 40, first[1] + 40], placesOf(graph));
  const positions: Record<string, Place> = {};
  for (const node of originals) {
    const [x, y] = placeOf(node) ?? first;
    positions[`${graph.path}/${names[node.path]}`] = [x + free[0] - first[0], y + free[1] - first[1]];
  }
  const label = originals.length > 1 ? "duplicate nodes" : "duplicate node";
  edit(label, { do: "duplicate", graph: graph.path, names }, { do: "move", positions });
  setState({ selection: Object.keys(positions) });
}

function namesOf(graph: Graph): Set<string> {
  return new Set(graph.nodes.map((node) => node.name));
}

/** Returns a name that is not taken: the wanted one, or the base with the next number. */
function freeName(base: string, taken: Set<string>, wanted = base): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count++) name = `${base}${count}`;
  return name;
}

function placesOf(graph: Graph): Place[] {
  return graph.nodes.map(placeOf).filter((at) => at !== null);
}

/** The place of a node: as the scene has it, or as it is on the screen. */
function placeOf({ path, position }: { path: string; position: number[] | null }): Place | null {
  if (position) return [position[0], position[1]];
  const element = document.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(path)}"]`);
  const found = element?.style.transform.match(/translate\((-?[\d.]+)px, ?(-?[\d.]+)px\)/);
  return found ? [Number(found[1]), Number(found[2])] : null;
}

/** Moves a place down until no node lies there. */
function freePlace([x, y]: Place, taken: Place[]): Place {
  let free = y;
  while (taken.some(([left, top]) => Math.abs(left - x) < 210 && Math.abs(top - free) < 190)) free += 40;
  return [x, free];
}
