/** Fog and glow in the viewport: a box through which each ray marches, over a dense grid of bytes. */

import * as THREE from "three";

const VERTEX = `
varying vec3 vPlace;
varying vec3 vEye;
varying float vDepth;
void main() {
  vPlace = position + 0.5;
  vEye = (inverse(modelMatrix) * vec4(cameraPosition, 1.0)).xyz + 0.5;
  vec4 place = modelViewMatrix * vec4(position, 1.0);
  vDepth = place.z;
  gl_Position = projectionMatrix * place;
}`;

const FRAGMENT = `
#include <packing>
precision highp sampler3D;
varying vec3 vPlace;
varying vec3 vEye;
varying float vDepth;
uniform sampler3D grid;
uniform highp sampler2D surfaces;
uniform vec2 nearFar;
uniform vec3 size;
uniform vec3 tint;
uniform float strength;
uniform float glow;
const int STEPS = 64;
void main() {
  vec3 ray = normalize(vPlace - vEye);
  vec3 a = -vEye / ray;
  vec3 b = (1.0 - vEye) / ray;
  vec3 low = min(a, b);
  vec3 high = max(a, b);
  float from = max(max(low.x, max(low.y, low.z)), 0.0);
  float to = min(high.x, min(high.y, high.z));
  float depth = texelFetch(surfaces, ivec2(gl_FragCoord.xy), 0).r;
  float surface = perspectiveDepthToViewZ(depth, nearFar.x, nearFar.y);
  to = min(to, length(vPlace - vEye) * surface / vDepth);
  if (to <= from) discard;
  float step = (to - from) / float(STEPS);
  float far = length(ray * size) * step;
  vec3 sun = normalize(vec3(0.4, 0.8, 0.5) / size) * 0.06;
  float through = 1.0;
  vec3 light = vec3(0.0);
  for (int i = 0; i < STEPS; i++) {
    vec3 at = vEye + ray * (from + (float(i) + 0.5) * step);
    float here = texture(grid, at).r;
    if (here < 0.004) continue;
    float above = texture(grid, at + sun).r + texture(grid, at + 2.0 * sun).r + texture(grid, at + 4.0 * sun).r;
    float lit = mix(0.35 + 0.75 * exp(-1.4 * above), 2.5 * here, glow);
    float kept = exp(-here * strength * far);
    light += through * (1.0 - kept) * lit * tint;
    through *= kept;
    if (through < 0.01) break;
  }
  float opacity = 1.0 - through;
  if (opacity < 0.004) discard;
  gl_FragColor = vec4(light / opacity, opacity);
  #include <colorspace_fragment>
}`;

const BOX = new THREE.BoxGeometry(1, 1, 1);

/** A box with fog in it. Its matrix takes the unit cube around the origin to the space of the prim. */
export class Fog extends THREE.Mesh<THREE.BoxGeometry, THREE.ShaderMaterial> {
  constructor() {
    const uniforms = {
      grid: { value: null as THREE.Data3DTexture | null },
      surfaces: { value: null as THREE.DepthTexture | null },
      nearFar: { value: new THREE.Vector2(0.01, 1000) },
      size: { value: new THREE.Vector3(1, 1, 1) },
      tint: { value: new THREE.Color(1, 1, 1) },
      strength: { value: 1 },
      glow: { value: 0 },
    };
    super(
      BOX,
      new THREE.ShaderMaterial({
        vertexShader: VERTEX,
        fragmentShader: FRAGMENT,
        uniforms,
        transparent: true,
        depthWrite: false,
        depthTest: false, // the shader ends each ray at the surface that it meets
        side: THREE.BackSide, // which a camera inside the box sees too
      }),
    );
    this.matrixAutoUpdate = this.frustumCulled = this.visible = false;
  }

  /** Takes the grid: bytes, x fastest, and the numbers of nodes along z, y, x. */
  setGrid(data: Uint8Array, [depth, height, width]: number[]): void {
    this.release();
    this.visible = data.length > 0;
    if (!this.visible) return;
    const texture = new THREE.Data3DTexture(data as Uint8Array<ArrayBuffer>, width, height, depth);
    texture.format = THREE.RedFormat;
    texture.minFilter = texture.magFilter = THREE.LinearFilter;
    texture.unpackAlignment = 1;
    texture.needsUpdate = true;
    this.material.uniforms.grid.value = texture;
  }

  setPlace(columns: ArrayLike<number>): void {
    this.matrix.fromArray(Array.from(columns)).multiply(new THREE.Matrix4().makeTranslation(0.5, 0.5, 0.5));
    this.material.uniforms.size.value.setFromMatrixScale(this.matrix);
    this.matrixWorldNeedsUpdate = true;
  }

  setLook([strength, r, g, b, glow]: ArrayLike<number> & Iterable<number>): void {
    this.material.uniforms.strength.value = strength;
    this.material.uniforms.tint.value.setRGB(r, g, b);
    this.material.uniforms.glow.value = glow;
  }

  /** Takes the depth of the surfaces that a camera sees. */
  setDepth({ depthTexture }: THREE.WebGLRenderTarget, camera: THREE.PerspectiveCamera): void {
    this.material.uniforms.surfaces.value = depthTexture;
    this.material.uniforms.nearFar.value.set(camera.near, camera.far);
  }

  release(): void {
    this.material.uniforms.grid.value?.dispose();
    this.material.uniforms.grid.value = null;
  }
}
