/** Messages between the page and the server, as `omni/warp_core/studio/hub.py` sends and takes them. */

export interface Port {
  name: string;
  type: string;
  shape: "exec" | "array" | "value";
  sources: string[];
  added: boolean;
  gives?: boolean;
  value?: unknown;
  count?: number;
  set?: boolean;
  about?: string;
  tokens?: string[];
  min?: number;
  max?: number;
}

export interface GraphNode {
  path: string;
  name: string;
  type: string;
  label: string;
  known: boolean;
  enabled: boolean;
  position: [number, number] | null;
  code: string | null;
  ports: Port[];
}

export interface Graph {
  path: string;
  enabled: boolean;
  evaluator: string;
  nodes: GraphNode[];
  omitted: number;
}

export interface Doc {
  revision: number;
  edited: boolean;
  undo: string;
  redo: string;
  comments: boolean;
  file: string;
  graphs: Graph[];
}

/** Nodes of a graph that are new or not as before. `order` has all of its nodes, if there are others than before. */
export interface GraphChange {
  graph: string;
  gone?: boolean;
  enabled: boolean;
  evaluator: string;
  omitted: number;
  nodes: GraphNode[];
  order?: string[];
}

export interface DocPatch extends Omit<Doc, "file" | "graphs"> {
  base: number;
  ops: GraphChange[];
}

export interface Timeline {
  frame: number;
  target: number;
  playing: boolean;
  start: number;
  end: number;
  fps: number;
  loop: boolean;
  speed: number;
  cached: [number, number][];
  exact: boolean;
}

export interface Diagnostic {
  message: string;
  code: string;
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
  help: string;
  candidates?: string[];
  notes?: Diagnostic[];
}

export interface Kernel {
  node: string;
  rev: number;
  waits: string;
  held: boolean;
  diagnostics: Diagnostic[];
  status: { state?: string; compile_ms?: number; kernel_ms?: number; dims?: number[][] };
  removed: string[];
}

/** What a checked run of a text has found. */
export interface Found {
  node: string;
  text: string;
  runs: boolean;
  note: string;
  diagnostics: Diagnostic[];
}

export interface Code {
  node: string;
  digest: string;
  inside: boolean;
  origin: string;
  text: string;
  size: number;
  files: [string, string][];
}

/** A text that a Kernel node can start from. */
export interface Preset {
  name: string;
  about: string;
  text: string;
}

export interface NodeType {
  name: string;
  label: string;
  about: string;
}

/** A name of the kernel language, which stands behind `wp.`. */
export interface KernelName {
  name: string;
  kind: "function" | "type";
  signatures: string[];
  about: string;
}

export interface Samples {
  samples: { name: string; about: string }[];
  folder: string;
}

export interface Rows {
  path: string;
  first: number;
  total: number;
  rows: (number | string | boolean)[][];
  least: (number | string)[];
  greatest: (number | string)[];
  nan: number;
}

export interface EngineState {
  state: "starting" | "ready" | "busy" | "stopping" | "crashed";
  text: string;
  suspects: string[];
}

export type Edit = { do: string } & Record<string, unknown>;
