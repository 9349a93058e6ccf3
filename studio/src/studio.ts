/** The state of the page, and its connection to the server. Components read it with `useStudio`. */

import { useSyncExternalStore } from "react";
import { SharedTexts } from "./code/shared_text";
import { patched } from "./doc_patch";
import type {
  Code,
  Doc,
  DocPatch,
  Edit,
  EngineState,
  Found,
  Graph,
  GraphNode,
  Kernel,
  KernelName,
  NodeType,
  Preset,
  Rows,
  Samples,
  Timeline,
} from "./messages";
import { type FrameRecord, parseRecord, RecordReader } from "./records";
import type { Pick } from "./view/pick";

export interface Text {
  text: string;
  rev: number;
}

export interface State {
  connection: "connecting" | "open" | "refused" | "lost";
  doc: Doc | null;
  timeline: Timeline | null;
  types: NodeType[];
  presets: Preset[];
  names: KernelName[];
  samples: Samples | null;
  differences: string[] | null;
  bake: { state: "running" | "done"; text: string } | null;
  kernels: Record<string, Kernel>;
  texts: Record<string, Text>;
  consent: Code[];
  found: Found | null;
  engine: EngineState;
  disk: { changed: boolean };
  recover: { count: number; old: boolean };
  /** True while the user has to know that another studio has the file open. */
  others: boolean;
  ms: Record<string, number>;
  failed: Record<string, string>;
  rows: Rows | null;
  log: string[];
  notice: string;
  selection: string[];
  /** The nodes that a paste duplicates. */
  copied: string[];
  shownCode: string | null;
  /** The path of the graph that the panel shows; "" for the first one. */
  graph: string;
  /** The node whose prims alone the viewport draws. */
  alone: string | null;
  /** What was clicked in the viewport, and the output of the selected node that has its values. */
  pick: (Pick & { port: string }) | null;
  rate: number;
}

let state: State = {
  connection: "connecting",
  doc: null,
  timeline: null,
  types: [],
  presets: [],
  names: [],
  samples: null,
  differences: null,
  bake: null,
  kernels: {},
  texts: {},
  consent: [],
  found: null,
  engine: { state: "starting", text: "", suspects: [] },
  disk: { changed: false },
  recover: { count: 0, old: false },
  others: false,
  ms: {},
  failed: {},
  rows: null,
  log: [],
  notice: "",
  selection: [],
  copied: [],
  shownCode: null,
  graph: "",
  alone: null,
  pick: null,
  rate: 0,
};
const listeners = new Set<() => void>();

export function getState(): State {
  return state;
}

export function setState(change: Partial<State>): void {
  state = { ...state, ...change };
  for (const listener of listeners) listener();
}

export function useStudio<T>(select: (state: State) => T): T {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => select(state),
  );
}

type Frames = (record: FrameRecord) => void;
let takeFrame: Frames = () => {};
let socket: WebSocket | null = null;
let token = "";

/** Calls `take` with each record of the stream of frames. */
export function onFrame(take: Frames): void {
  takeFrame = take;
}

/** Sends a message; false without a connection. */
export function send(is: string, fields: Record<string, unknown> = {}): boolean {
  if (socket?.readyState !== WebSocket.OPEN) return false;
  socket.send(JSON.stringify({ is, ...fields }));
  return true;
}

/** The texts of kernels as this window has them; `state.texts` shows them. */
export const sharedTexts = new SharedTexts(
  (is, fields) => state.connection === "open" && send(is, fields),
  (node) => setState({ texts: { ...state.texts, [node]: snapshot(node) } }),
);

function snapshot(node: string): Text {
  const own = sharedTexts.get(node);
  return own
    ? { text: own.state.doc.toString(), rev: own.rev + own.unconfirmed.length }
    : { text: "", rev: 0 };
}

export function edit(label: string, ...ops: Edit[]): void {
  send("edit", { ops, label });
}

export function notify(notice: string): void {
  setState({ notice });
}

/** Connects with the token of the address, and takes it out of the address. */
export function connect(): void {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found) {
    token = found;
    sessionStorage.setItem("token", found);
    history.replaceState(null, "", location.pathname);
  }
  token = token || sessionStorage.getItem("token") || "";
  open();
}

function open(): void {
  const url = new URL("ws", location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.hash = "";
  const own = new WebSocket(url);
  socket = own;
  own.onopen = () =>
    own.send(JSON.stringify({ is: "hello", token, epoch: sharedTexts.epoch, texts: sharedTexts.known() }));
  own.onmessage = (event) => receive(JSON.parse(event.data));
  own.onclose = (event) => {
    if (event.code === 1008) return setState({ connection: "refused" });
    setState({ connection: "lost" });
    setTimeout(open, 1000);
  };
}

async function stream(page: string): Promise<void> {
  const response = await fetch(`frames?page=${page}`, { headers: { Authorization: `Bearer ${token}` } });
  if (!response.ok || !response.body) return;
  send("credit", { count: 2 });
  const reader = response.body.getReader();
  const records = new RecordReader();
  let count = 0;
  let since = performance.now();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    for (const bytes of records.push(value)) {
      takeFrame(parseRecord(bytes));
      send("credit");
      count += 1;
      const now = performance.now();
      if (now - since > 500) {
        setState({ rate: (count * 1000) / (now - since) });
        count = 0;
        since = now;
      }
    }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what the server sends is JSON
type Message = any;

const answers: Record<string, (message: Message) => void> = {
  hello: (m) => {
    setState({ connection: "open" });
    stream(m.page).catch(() => {});
  },
  welcome: (m) => {
    setState({ types: m.types, presets: m.presets });
    if (sharedTexts.epoch !== m.epoch) sharedTexts.restart(m.epoch);
    sharedTexts.pushAll();
    if (!state.names.length) send("names");
  },
  names: (m) => setState({ names: m.names }),
  samples: (m) => setState({ samples: m }),
  differences: (m) => setState({ differences: m.lines }),
  bake: (m) => setState({ bake: m }),
  doc: takeDoc,
  patch: (m: DocPatch) => {
    if (!state.doc) return;
    const doc = patched(state.doc, m);
    if (doc) takeDoc(doc);
    else send("doc");
  },
  timeline: (m) => setState({ timeline: m }),
  kernel: (m) => setState({ kernels: { ...state.kernels, [m.node]: m } }),
  text: (m) => sharedTexts.whole(m.node, m.text, m.rev, m.drops === true),
  typed: (m) => sharedTexts.typed(m.node, m.rev, m.updates),
  renamed: (m) => {
    sharedTexts.rename(m.node, m.to);
    const renamed = (path: string) => (path === m.node ? m.to : path);
    setState({
      shownCode: state.shownCode && renamed(state.shownCode),
      selection: state.selection.map(renamed),
    });
  },
  consent: (m) => setState({ consent: m.codes, shownCode: shownText(state.texts, m.codes) }),
  found: (m) => setState({ found: m, ...(m.runs ? {} : { shownCode: m.node }) }),
  engine: (m) => setState({ engine: m }),
  disk: (m) => setState({ disk: m }),
  others: (m) => setState({ others: m.open }),
  recover: (m) => setState({ recover: m }),
  reloaded: () => notify("The file has changed on disk, and was read again."),
  fresh: (m) => {
    sharedTexts.restart(m.epoch);
    setState({ texts: {}, kernels: {}, found: null, pick: null, selection: [], alone: null, samples: null });
  },
  stats: (m) => setState({ ms: m.ms, failed: m.failed }),
  rows: (m) => setState({ rows: m }),
  log: (m) => setState({ log: m.lines }),
  refused: (m) => notify(m.text),
};

function receive(message: Message): void {
  answers[message.is]?.(message);
}

function takeDoc(doc: Doc): void {
  const nodes = doc.graphs.flatMap((graph) => graph.nodes);
  const authored = nodes.flatMap(({ path, code }) => (code === null ? [] : [[path, code] as const]));
  sharedTexts.keep(new Map(authored));
  const texts = Object.fromEntries(authored.map(([path]) => [path, state.texts[path] ?? snapshot(path)]));
  const shownCode = shownText(texts, state.consent);
  const paths = new Set(nodes.map((node) => node.path));
  const alone = state.alone && paths.has(state.alone) ? state.alone : null;
  setState({ doc, texts, shownCode, alone, selection: state.selection.filter((path) => paths.has(path)) });
  document.title = `${doc.edited ? "• " : ""}${doc.file.split("/").pop()} – Omni Warp Studio`;
}

/** Returns the node whose text to show: the one that is shown if it still has a text, or the first one. */
function shownText(texts: Record<string, Text>, consent: Code[]): string | null {
  const all = [...Object.keys(texts), ...consent.map((code) => code.node)];
  return all.find((node) => node === state.shownCode) ?? all[0] ?? null;
}

/** Selects nodes, and shows the text of the first one and its graph. */
export function select(paths: string[]): void {
  const graph = state.doc?.graphs.find((each) => each.nodes.some((node) => node.path === paths[0]));
  const code = findNode(paths[0])?.code ?? null;
  setState({
    selection: paths,
    ...(graph ? { graph: graph.path } : {}),
    ...(code === null ? {} : { shownCode: paths[0] }),
  });
}

/** Returns the graph that the panel shows. */
export function shownGraph(current: State): Graph | undefined {
  return current.doc?.graphs.find((graph) => graph.path === current.graph) ?? current.doc?.graphs[0];
}

/** Gives a node another text in place of its own, as if it were typed. */
export function replaceText(node: string, text: string): void {
  send("code", { node, text });
}

export function allNodes(current: State): GraphNode[] {
  return current.doc?.graphs.flatMap((graph) => graph.nodes) ?? [];
}

export function findNode(path: string | undefined): GraphNode | undefined {
  return allNodes(state).find((node) => node.path === path);
}
