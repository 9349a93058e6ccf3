/** The scene that the viewport draws: meshes, points and curves as three.js objects, made of records. */

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { FrameRecord, Header, Numbers } from "../records";
import { Fog } from "./fog";

const MOVING_POINTS = 250_000; // that are drawn of a large cloud while the camera moves or the scene plays

export interface Shape {
  group: THREE.Group;
  mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshStandardMaterial>;
  points: THREE.Points<THREE.BufferGeometry, THREE.ShaderMaterial>;
  fog: Fog;
  /** Of a part of a large cloud: the numbers of its points, in random order. */
  numbers: Int32Array | null;
  /** Of a large mesh that is drawn coarser: the numbers of its vertices. */
  vertexNumbers: Int32Array | null;
  hasNormals: boolean;
}

const POINT_VERTEX = `
attribute float radius;
attribute vec3 tint;
uniform float scale;
varying vec3 vTint;
void main() {
  vec4 place = modelViewMatrix * vec4(position, 1.0);
  gl_Position = projectionMatrix * place;
  gl_PointSize = clamp(2.0 * radius * scale / -place.z, 1.5, 256.0);
  vTint = tint * tint;
}`;
const POINT_FRAGMENT = `
varying vec3 vTint;
void main() {
  vec2 at = 2.0 * gl_PointCoord - 1.0;
  float far = dot(at, at);
  if (far > 1.0) discard;
  float lit = 0.45 + 0.55 * dot(vec3(at.x, -at.y, sqrt(1.0 - far)), normalize(vec3(0.4, 0.7, 0.6)));
  gl_FragColor = vec4(vTint * lit, 1.0);
  #include <colorspace_fragment>
}`;

export class SceneView {
  readonly renderer: THREE.WebGLRenderer;
  readonly camera = new THREE.PerspectiveCamera(40, 1, 0.01, 1000);
  readonly controls: OrbitControls;
  readonly shapes = new Map<string, Shape>();
  records = 0;
  frame = 0;
  private scene = new THREE.Scene();
  private isFramed = false;
  private isDirty = true;
  private movedAt = 0;
  private wasStill = true;
  private pointScale = { value: 1 };
  private alone: Set<string> | null = null;
  private depth: THREE.WebGLRenderTarget | null = null;

  constructor(private canvas: HTMLCanvasElement) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true });
    this.renderer.toneMapping = THREE.NeutralToneMapping;
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.addEventListener("change", () => {
      this.isDirty = true;
      this.movedAt = performance.now();
    });
    this.scene.add(new THREE.HemisphereLight(0xe8f1ff, 0x45403a, 1.9));
    const sun = new THREE.DirectionalLight(0xfff4e2, 2.6);
    sun.position.set(0.5, 1, 0.7);
    this.camera.add(sun);
    this.scene.add(this.camera);
    this.renderer.setAnimationLoop(() => this.draw());
  }

  dispose(): void {
    this.renderer.setAnimationLoop(null);
    this.controls.dispose();
    this.depth?.dispose();
    this.renderer.dispose();
  }

  resize(width: number, height: number): void {
    this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / Math.max(1, height);
    this.camera.updateProjectionMatrix();
    this.isDirty = true;
  }

  /** Brings the scene to the frame of a record. */
  take({ header, arrays }: FrameRecord): void {
    this.records += 1;
    if (header.prims) this.keepOnly(new Set(header.prims));
    const changed = new Set<Shape>();
    for (const { key, data, shape: extent } of arrays) {
      const [path, name] = key.split("\n");
      const shape = this.shape(path);
      if (name === "fog") shape.fog.setGrid(data as Uint8Array, extent);
      else this.setArray(shape, name, data);
      changed.add(shape);
    }
    for (const shape of changed) finish(shape);
    for (const [path, matrix] of Object.entries(header.matrices)) {
      const { group } = this.shape(path);
      group.matrix.fromArray(matrix);
      group.matrixWorldNeedsUpdate = true;
    }
    if (!this.isFramed && !this.box().isEmpty()) this.begin(header); // prims without points have no place
    this.isDirty = true;
    if (this.frame !== header.frame) this.movedAt = performance.now();
    this.frame = header.frame;
  }

  /** Moves the camera so that everything is seen. */
  fit(): void {
    this.scene.updateMatrixWorld();
    const box = this.box();
    if (box.isEmpty()) return;
    const sphere = box.getBoundingSphere(new THREE.Sphere());
    const direction = this.camera.position.clone().sub(this.controls.target).normalize();
    const narrow = (this.camera.fov / 2) * Math.min(1, this.camera.aspect);
    const distance = (1.05 * sphere.radius) / Math.sin((narrow * Math.PI) / 180);
    this.controls.target.copy(sphere.center);
    this.camera.position.copy(sphere.center).addScaledVector(direction, distance);
    this.setRange(sphere.radius + distance);
    this.controls.update();
    this.isDirty = true;
  }

  /** True until something was drawn, and when there are no prims. */
  isEmpty(): boolean {
    return !this.isFramed || this.shapes.size === 0;
  }

  /** The corners of everything there is, in the world. */
  box(): THREE.Box3 {
    const box = new THREE.Box3();
    for (const { group, mesh, points, fog } of this.shapes.values()) {
      if (!group.visible) continue;
      group.updateMatrixWorld();
      if (fog.visible) box.expandByObject(fog);
      for (const { geometry } of [mesh, points]) {
        if (!geometry.getAttribute("position")) continue;
        geometry.computeBoundingBox();
        if (geometry.boundingBox) box.union(geometry.boundingBox.clone().applyMatrix4(group.matrixWorld));
      }
    }
    return box;
  }

  /** The pixels of a length 1 at a distance 1. */
  pixelScale(): number {
    return this.renderer.domElement.height / (2 * Math.tan((this.camera.fov * Math.PI) / 360));
  }

  /** Draws some prims alone, or all of them. */
  showAlone(paths: Set<string> | null): void {
    this.alone = paths;
    for (const [path, { group }] of this.shapes) group.visible = !paths || paths.has(path);
    this.isDirty = true;
  }

  /** Makes the next drawing happen, as after a change of the theme. */
  refresh(): void {
    this.isDirty = true;
  }

  private begin({ up, camera }: Header): void {
    this.isFramed = true;
    this.camera.up.set(0, up === "Z" ? 0 : 1, up === "Z" ? 1 : 0);
    const box = this.box();
    if (!camera) {
      this.camera.position.set(1, up === "Z" ? -1.6 : 0.8, up === "Z" ? 0.8 : 1.6);
      this.controls.target.set(0, 0, 0);
      return this.fit();
    }
    const eye = new THREE.Vector3(...camera.eye);
    const center = box.getCenter(new THREE.Vector3());
    const direction = new THREE.Vector3(...camera.direction);
    const distance = Math.max(0.1, center.sub(eye).dot(direction));
    this.camera.position.copy(eye);
    this.controls.target.copy(eye).addScaledVector(direction, distance);
    this.camera.fov = camera.fov;
    this.setRange(distance + box.getSize(new THREE.Vector3()).length());
    this.controls.update();
  }

  private setRange(far: number): void {
    this.camera.far = far * 20;
    this.camera.near = far / 2000;
    this.camera.updateProjectionMatrix();
  }

  private shape(path: string): Shape {
    const known = this.shapes.get(path);
    if (known) return known;
    const shape = newShape(this.pointScale);
    shape.group.visible = !this.alone || this.alone.has(path);
    this.shapes.set(path, shape);
    this.scene.add(shape.group);
    return shape;
  }

  private keepOnly(paths: Set<string>): void {
    for (const [path, shape] of this.shapes) {
      if (paths.has(path)) continue;
      this.scene.remove(shape.group);
      shape.mesh.geometry.dispose();
      shape.points.geometry.dispose();
      shape.fog.release();
      this.shapes.delete(path);
    }
  }

  private setArray(shape: Shape, name: string, data: Numbers): void {
    const { mesh, points, fog } = shape;
    switch (name) {
      case "fog_place":
        return fog.setPlace(data);
      case "fog_look":
        return fog.setLook(data);
      case "point_numbers":
        shape.numbers = data.length ? (data as Int32Array) : null;
        return;
      case "vertex_numbers":
        shape.vertexNumbers = data.length ? (data as Int32Array) : null;
        return;
      case "vertices":
        return setAttribute(mesh.geometry, "position", data, 3);
      case "normals":
        shape.hasNormals = data.length > 0;
        return setAttribute(mesh.geometry, "normal", data, 3);
      case "triangles":
        mesh.geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(data), 1));
        return;
      case "colors":
        return setColors(mesh, data);
      case "points":
        return setAttribute(points.geometry, "position", data, 3);
      case "point_colors":
        return setAttribute(points.geometry, "tint", data, 3, true);
      case "radii":
        return setAttribute(points.geometry, "radius", data, 1);
    }
  }

  /** Draws how far the surfaces are, for fog in front of them. */
  private drawDepth(): void {
    const fogs = [...this.shapes.values()].filter(({ group, fog }) => group.visible && fog.visible);
    if (!fogs.length) return;
    this.depth ??= newDepth();
    const { width, height } = this.canvas;
    this.depth.setSize(width, height);
    for (const { fog } of fogs) fog.visible = false;
    this.renderer.setRenderTarget(this.depth);
    this.renderer.clear();
    this.renderer.render(this.scene, this.camera);
    this.renderer.setRenderTarget(null);
    for (const { fog } of fogs) {
      fog.visible = true;
      fog.setDepth(this.depth, this.camera);
    }
  }

  private draw(): void {
    const isStill = performance.now() - this.movedAt > 250;
    if (!this.isDirty && isStill === this.wasStill) return;
    this.isDirty = false;
    this.wasStill = isStill;
    this.pointScale.value = this.pixelScale();
    for (const { points, numbers } of this.shapes.values()) {
      if (numbers) points.geometry.setDrawRange(0, isStill ? Number.POSITIVE_INFINITY : MOVING_POINTS);
    }
    this.drawDepth();
    this.renderer.render(this.scene, this.camera);
    this.canvas.dataset.frame = String(this.frame);
    this.canvas.dataset.records = String(this.records);
  }
}

function newDepth(): THREE.WebGLRenderTarget {
  return new THREE.WebGLRenderTarget(1, 1, { depthTexture: new THREE.DepthTexture(1, 1) });
}

function newShape(scale: { value: number }): Shape {
  const material = new THREE.MeshStandardMaterial({ roughness: 0.5, metalness: 0, side: THREE.DoubleSide });
  material.onBeforeCompile = (shader) => {
    // colours come as square roots, so that bytes suffice in the dark
    shader.vertexShader = shader.vertexShader.replace(
      "#include <color_vertex>",
      "#include <color_vertex>\n#ifdef USE_COLOR\nvColor.rgb *= vColor.rgb;\n#endif",
    );
  };
  const dots = new THREE.ShaderMaterial({
    vertexShader: POINT_VERTEX,
    fragmentShader: POINT_FRAGMENT,
    uniforms: { scale },
  });
  const mesh = new THREE.Mesh(new THREE.BufferGeometry(), material);
  const points = new THREE.Points(new THREE.BufferGeometry(), dots);
  const group = new THREE.Group();
  const fog = new Fog();
  group.matrixAutoUpdate = mesh.frustumCulled = points.frustumCulled = false;
  group.add(mesh, points, fog);
  return { group, mesh, points, fog, numbers: null, vertexNumbers: null, hasNormals: false };
}

function setAttribute(
  geometry: THREE.BufferGeometry,
  name: string,
  data: Numbers,
  size: number,
  normalized = false,
): void {
  const present = geometry.getAttribute(name);
  if (present && present.array.length === data.length && present.array.constructor === data.constructor) {
    (present.array as Float32Array).set(data as Float32Array);
    present.needsUpdate = true;
  } else {
    geometry.setAttribute(name, new THREE.BufferAttribute(data as Float32Array, size, normalized));
  }
}

function setColors(mesh: Shape["mesh"], data: Numbers): void {
  const isOne = data.length === 3;
  if (mesh.material.vertexColors === isOne) {
    mesh.material.vertexColors = !isOne;
    mesh.material.needsUpdate = true;
  }
  if (isOne) {
    const [r, g, b] = Array.from(data, (byte) => (byte / 255) ** 2);
    mesh.material.color.setRGB(r, g, b);
    mesh.geometry.deleteAttribute("color");
  } else {
    mesh.material.color.setRGB(1, 1, 1);
    setAttribute(mesh.geometry, "color", data, 3, true);
  }
}

/** Completes a shape after its arrays have changed. */
function finish({ mesh, points, hasNormals }: Shape): void {
  const position = mesh.geometry.getAttribute("position");
  const index = mesh.geometry.getIndex();
  mesh.visible = Boolean(position && index);
  if (mesh.visible && !hasNormals) computeNormals(mesh.geometry);
  const tint = points.geometry.getAttribute("tint");
  const count = points.geometry.getAttribute("position")?.count ?? 0;
  points.visible = count > 0;
  if (tint && tint.count === 1 && count > 1) {
    const one = Array.from(tint.array.slice(0, 3));
    const all = new Uint8Array(3 * count).map((_, i) => one[i % 3]);
    points.geometry.setAttribute("tint", new THREE.BufferAttribute(all, 3, true));
  }
}

function computeNormals(geometry: THREE.BufferGeometry): void {
  const p = geometry.getAttribute("position").array as Float32Array;
  const index = geometry.getIndex()?.array as Uint32Array;
  const known = geometry.getAttribute("normal")?.array as Float32Array | undefined;
  const n = known?.length === p.length ? known.fill(0) : new Float32Array(p.length);
  for (let t = 0; t < index.length; t += 3) {
    const a = 3 * index[t];
    const b = 3 * index[t + 1];
    const c = 3 * index[t + 2];
    const ux = p[b] - p[a];
    const uy = p[b + 1] - p[a + 1];
    const uz = p[b + 2] - p[a + 2];
    const vx = p[c] - p[a];
    const vy = p[c + 1] - p[a + 1];
    const vz = p[c + 2] - p[a + 2];
    const x = uy * vz - uz * vy;
    const y = uz * vx - ux * vz;
    const z = ux * vy - uy * vx;
    for (const at of [a, b, c]) {
      n[at] += x;
      n[at + 1] += y;
      n[at + 2] += z;
    }
  }
  setAttribute(geometry, "normal", n, 3);
  geometry.getAttribute("normal").needsUpdate = true;
}
