/** Picking in the viewport: the prim and the vertex or point below the mouse, and the node that wrote it. */

import * as THREE from "three";
import type { Doc, GraphNode } from "../messages";
import type { SceneView, Shape } from "./scene";

export interface Pick {
  path: string;
  what: "vertex" | "point" | "prim";
  number: number;
  /** Where the vertex or point lies in the arrays of the page. */
  index: number;
  count: number;
  position: number[];
}

const PIXELS = 5; // how near to a point counts as on it

/** Returns what lies at a place of the canvas, given from -1 to 1, or null. */
export function pickAt(view: SceneView, x: number, y: number): Pick | null {
  const ray = new THREE.Raycaster();
  ray.setFromCamera(new THREE.Vector2(x, y), view.camera);
  const distance = view.camera.position.distanceTo(view.controls.target);
  ray.params.Points.threshold = (PIXELS * distance) / view.pixelScale();
  let best: { distance: number; pick: Pick } | null = null;
  for (const [path, shape] of view.shapes) {
    if (!shape.group.visible) continue;
    const hit = hitOf(ray, shape);
    if (hit && (!best || hit.distance < best.distance))
      best = { distance: hit.distance, pick: pickOf(path, shape, hit) };
  }
  return best?.pick ?? null;
}

function hitOf(ray: THREE.Raycaster, { mesh, points, fog }: Shape): THREE.Intersection | undefined {
  const found: THREE.Intersection[] = [];
  for (const object of [mesh, points]) {
    object.geometry.boundingSphere = null; // vertices move without notice
    if (object.visible) ray.intersectObject(object, false, found);
  }
  if (fog.visible) ray.intersectObject(fog, false, found);
  return found.sort((a, b) => a.distance - b.distance)[0];
}

function pickOf(path: string, shape: Shape, hit: THREE.Intersection): Pick {
  const isPoint = hit.object === shape.points;
  const places = placesOf(shape, isPoint);
  if (hit.object === shape.fog || !places)
    return { path, what: "prim", number: -1, index: -1, count: 0, position: [] };
  const index = isPoint ? (hit.index ?? 0) : nearest(places, hit, shape.mesh);
  return pickOfIndex(path, shape, isPoint, index);
}

function pickOfIndex(path: string, shape: Shape, isPoint: boolean, index: number): Pick {
  const places = placesOf(shape, isPoint);
  const position = [places.getX(index), places.getY(index), places.getZ(index)];
  const numbers = isPoint ? shape.numbers : shape.vertexNumbers;
  const number = numbers?.[index] ?? index;
  const count = numbers ? -1 : places.count;
  return { path, what: isPoint ? "point" : "vertex", number, index, count, position };
}

function placesOf(shape: Shape, isPoint: boolean): THREE.BufferAttribute | THREE.InterleavedBufferAttribute {
  return (isPoint ? shape.points : shape.mesh).geometry.getAttribute("position");
}

/** Returns where the vertex or point of a pick is in a new frame, null if it is not there any more. */
export function placeOf(view: SceneView, pick: Pick): number[] | null {
  const shape = view.shapes.get(pick.path);
  if (!shape) return null;
  if (pick.what === "prim") return pick.position;
  const isPoint = pick.what === "point";
  if (pick.index >= (placesOf(shape, isPoint)?.count ?? 0)) return null;
  const now = pickOfIndex(pick.path, shape, isPoint, pick.index);
  return now.number === pick.number && now.count === pick.count ? now.position : null;
}

function nearest(
  places: THREE.BufferAttribute | THREE.InterleavedBufferAttribute,
  hit: THREE.Intersection,
  mesh: THREE.Mesh,
): number {
  const at = mesh.worldToLocal(hit.point.clone());
  const corner = new THREE.Vector3();
  const corners = hit.face ? [hit.face.a, hit.face.b, hit.face.c] : [0];
  const far = corners.map((index) => corner.fromBufferAttribute(places, index).distanceTo(at));
  return corners[far.indexOf(Math.min(...far))];
}

const WRITER = /Write|Simulate|Deform|Create|Set/; // node types that write the prims they name

/** Returns the prims that a node writes: by itself, or by the nodes that its outputs lead to. */
export function prims(doc: Doc, path: string): Set<string> {
  const nodes = doc.graphs.flatMap((graph) => graph.nodes);
  const reached = new Set([path]);
  for (const giver of reached) {
    for (const node of nodes) {
      if (node.ports.some((port) => port.sources.some((source) => source.startsWith(`${giver}.`))))
        reached.add(node.path);
    }
  }
  return new Set(nodes.filter((node) => reached.has(node.path) && WRITER.test(node.type)).flatMap(targets));
}

function targets(node: GraphNode): string[] {
  return node.ports.flatMap((port) =>
    port.type === "target" && Array.isArray(port.value) ? port.value : [],
  );
}

/** Returns the node that gives a prim its values, and the output that has them: the source of the node that writes. */
export function writerOf(doc: Doc, prim: string): { node: GraphNode; port: string } | null {
  const nodes = doc.graphs.flatMap((graph) => graph.nodes);
  for (const node of nodes) {
    if (!WRITER.test(node.type) || !targets(node).includes(prim)) continue;
    const [source] = node.ports.find((port) => port.name === "inputs:value")?.sources ?? [];
    const [path, port] = source ? source.split(".") : [];
    const giver = nodes.find((each) => each.path === path);
    return giver ? { node: giver, port } : { node, port: "" };
  }
  return null;
}
