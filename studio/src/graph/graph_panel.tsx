import {
  applyNodeChanges,
  Background,
  type Connection,
  Controls,
  type Edge,
  type EdgeChange,
  type FinalConnectionState,
  Handle,
  type NodeChange,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  useUpdateNodeInternals,
} from "@xyflow/react";
import { memo, useCallback, useEffect, useMemo, useState } from "react";
import type { Theme } from "../app";
import { Icon } from "../icons";
import { deleteSelection } from "../keys";
import type { Graph, Port } from "../messages";
import { edit, select, setState, shownGraph, useStudio } from "../studio";
import { edgesOf, type FlowNode, isLarge, labelOf, nodesOf } from "./graph_model";
import type { Wire } from "./new_nodes";

interface Props {
  theme: Theme;
  addNode: (wire?: Wire) => void;
}

export function GraphPanel(props: Props) {
  return (
    <ReactFlowProvider>
      <GraphView {...props} />
    </ReactFlowProvider>
  );
}

const FAR = 0.35; // the zoom below which nothing of a node can be read

const nodeTypes = { warp: memo(NodeView) };

function GraphView({ theme, addNode }: Props) {
  const doc = useStudio((s) => s.doc);
  const selection = useStudio((s) => s.selection);
  const graph = useStudio(shownGraph);
  const failed = useStudio((s) => s.failed);
  const [nodes, setNodes] = useState<FlowNode[]>([]);
  const [picked, setPicked] = useState<string[]>([]);
  const flow = useReactFlow();
  const isFar = useStore((store) => store.transform[2] < FAR);
  const edges = useMemo(() => (graph ? edgesOf(graph) : []), [graph]);
  const shownEdges = useMemo(
    () => edges.map((edge) => ({ ...edge, selected: picked.includes(edge.id) })),
    [edges, picked],
  );
  const path = graph?.path;

  useEffect(() => {
    setNodes((before) => {
      const known = new Map(before.map((node) => [node.id, node]));
      const fresh = graph ? nodesOf(graph) : [];
      return fresh.map((node) => ({ ...known.get(node.id), ...node, selected: selection.includes(node.id) }));
    });
  }, [graph, selection]);
  useEffect(() => {
    if (path) setTimeout(() => flow.fitView({ padding: 0.15, maxZoom: 1 }), 50);
  }, [path, flow]);

  // A node that was added out of sight is brought into it.
  const [newest] = selection;
  useEffect(() => {
    if (!newest) return;
    const timer = setTimeout(() => {
      const panel = document.querySelector(".react-flow")?.getBoundingClientRect();
      const box = document
        .querySelector(`.react-flow__node[data-id="${CSS.escape(newest)}"]`)
        ?.getBoundingClientRect();
      const isSeen =
        panel &&
        box &&
        box.left >= panel.left &&
        box.right <= panel.right &&
        box.top >= panel.top &&
        box.bottom <= panel.bottom;
      if (!isSeen) flow.fitView({ padding: 0.15, maxZoom: 1 });
    }, 80);
    return () => clearTimeout(timer);
  }, [newest, flow]);

  const change = useCallback(
    (changes: NodeChange<FlowNode>[]) => setNodes((now) => applyNodeChanges(changes, now)),
    [],
  );

  /** Takes wires that are chosen by key. */
  function pick(changes: EdgeChange[]) {
    for (const change of changes) {
      if (change.type === "select")
        setPicked((now) => now.filter((id) => id !== change.id).concat(change.selected ? change.id : []));
    }
  }

  function moved(_: unknown, __: unknown, dragged: FlowNode[]) {
    const positions = Object.fromEntries(
      dragged.map((node) => [node.id, [node.position.x, node.position.y]]),
    );
    const move = { do: "move", positions };
    const below = dragged.length === 1 ? wireBelow(dragged[0].id, edges) : undefined;
    if (!below) return edit("move", move);
    const ends = {
      source: `${below.source}.${below.sourceHandle}`,
      target: `${below.target}.${below.targetHandle}`,
    };
    edit("insert", move, { do: "insert", node: dragged[0].id, ...ends });
  }

  /** A wire that is dropped on a node takes its first port that fits; one in the void asks for a new node. */
  function dropped(event: MouseEvent | TouchEvent, wire: FinalConnectionState) {
    if (wire.toHandle || !wire.fromHandle || !wire.fromNode) return;
    const end = `${wire.fromNode.id}.${wire.fromHandle.id}`;
    const open = wire.fromHandle.type === "source" ? { source: end } : { target: end };
    const node = nodeAt(event);
    if (!node) addNode(open);
    else if (node !== wire.fromNode.id) edit("connect", { do: "insert", node, ...open });
  }

  function connect({ source, sourceHandle, target, targetHandle }: Connection) {
    edit("connect", {
      do: "connect",
      source: `${source}.${sourceHandle}`,
      target: `${target}.${targetHandle}`,
    });
  }

  function removeEdges(gone: Edge[]) {
    const ops = gone.map((edge) => ({
      do: "disconnect",
      source: `${edge.source}.${edge.sourceHandle}`,
      target: `${edge.target}.${edge.targetHandle}`,
    }));
    if (ops.length) edit("disconnect", ...ops);
  }

  return (
    <section className={isFar ? "graph far" : "graph"} aria-label="Graph">
      {(doc?.graphs.length ?? 0) > 1 && (
        <select
          aria-label="Graph"
          value={graph?.path}
          onChange={(event) => setState({ graph: event.target.value, selection: [] })}
        >
          {doc?.graphs.map((each) => (
            <option key={each.path} value={each.path}>
              {each.path}
              {troubles(each, failed)}
            </option>
          ))}
        </select>
      )}
      {doc && !graph && (
        <div className="empty">
          <p>This scene has no graph.</p>
          <button
            type="button"
            className="accent"
            onClick={() => edit("add graph", { do: "addGraph", path: "/Graph" })}
          >
            Add a graph
          </button>
        </div>
      )}
      {graph && !graph.nodes.length && (
        <div className="empty">
          <p>This graph has no nodes.</p>
          <button
            type="button"
            className="accent"
            title="Shift+A, or a double click"
            onClick={() => addNode()}
          >
            Add a node
          </button>
        </div>
      )}
      {graph && !graph.enabled && (
        <p className="status warning">
          This graph is switched off: its nodes do not run.{" "}
          <button
            type="button"
            onClick={() => edit("switch graph", { do: "enable", node: graph.path, on: true })}
          >
            Switch on
          </button>
        </p>
      )}
      {graph && graph.omitted > 0 && (
        <p className="status warning">
          {`${graph.nodes.length} of ${graph.nodes.length + graph.omitted} nodes are shown; all of them run.`}
        </p>
      )}
      <ReactFlow<FlowNode>
        nodes={nodes}
        edges={shownEdges}
        nodeTypes={nodeTypes}
        colorMode={theme}
        onNodesChange={change}
        onEdgesChange={pick}
        onNodeDragStop={moved}
        onNodeClick={(event, node) => {
          setPicked([]);
          select(event.ctrlKey || event.metaKey ? toggled(selection, node.id) : [node.id]);
        }}
        onEdgeClick={(_, edge) => {
          setState({ selection: [] });
          setPicked([edge.id]);
        }}
        onPaneClick={(event) => {
          setPicked([]);
          setState({ selection: [] });
          if (event.detail === 2) addNode();
        }}
        onSelectionEnd={() => select(nodes.filter((node) => node.selected).map((node) => node.id))}
        onConnect={connect}
        onConnectEnd={dropped}
        deleteKeyCode={null}
        panActivationKeyCode={null}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            const focused = (event.target as HTMLElement).closest<HTMLElement>(".react-flow__node");
            if (focused?.dataset.id) select([focused.dataset.id]);
          }
          if (event.key === "f" && !event.ctrlKey) flow.fitView({ padding: 0.15, maxZoom: 1 });
          if (event.key !== "Delete" && event.key !== "Backspace") return;
          event.preventDefault();
          if (picked.length) removeEdges(edges.filter((edge) => picked.includes(edge.id)));
          else deleteSelection();
        }}
        minZoom={0.02}
        onlyRenderVisibleElements={graph ? isLarge(graph) : false}
      >
        <Background gap={20} size={1} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  );
}

/** Adds a node to a selection, or takes it out. */
function toggled(selection: string[], node: string): string[] {
  return selection.includes(node) ? selection.filter((each) => each !== node) : [node, ...selection];
}

/** Tells how many nodes of a graph failed. */
function troubles(graph: Graph, failed: Record<string, string>): string {
  const count = graph.nodes.filter((node) => failed[node.path]).length;
  return count ? ` · ${count} failed` : "";
}

/** The node at the place where a pointer was lifted. */
function nodeAt(event: MouseEvent | TouchEvent): string | undefined {
  const { clientX, clientY } = "changedTouches" in event ? event.changedTouches[0] : event;
  const found = document.elementsFromPoint(clientX, clientY);
  return found.map((element) => element.closest<HTMLElement>(".react-flow__node")?.dataset.id).find(Boolean);
}

/** The wire that lies below the middle of a node without wires. */
function wireBelow(node: string, edges: Edge[]): Edge | undefined {
  if (edges.some((edge) => edge.source === node || edge.target === node)) return undefined;
  const box = document
    .querySelector(`.react-flow__node[data-id="${CSS.escape(node)}"]`)
    ?.getBoundingClientRect();
  if (!box) return undefined;
  const middle = box.left + box.width / 2;
  const heights = [0.25, 0.5, 0.75].map((part) => box.top + part * box.height);
  const ids = heights
    .flatMap((y) => document.elementsFromPoint(middle, y))
    .map((element) => element.closest<HTMLElement>(".react-flow__edge")?.dataset.id);
  return edges.find((edge) => ids.includes(edge.id));
}

function PortRow({ port, side }: { port: Port; side: "in" | "out" }) {
  const label = labelOf(port);
  return (
    <div
      className={`port ${side} ${port.shape}`}
      title={`${label}: ${port.type}${port.about ? `\n${port.about}` : ""}`}
    >
      <Handle
        type={side === "in" ? "target" : "source"}
        position={side === "in" ? Position.Left : Position.Right}
        id={port.name}
        className={port.shape}
      />
      <span>{label}</span>
    </div>
  );
}

function NodeView({ data, selected }: NodeProps<FlowNode>) {
  const { node, inputs, outputs } = data;
  const ms = useStudio((s) => s.ms[node.path]);
  const alone = useStudio((s) => s.alone);
  const failed = useStudio((s) => s.failed[node.path]);
  const mistakes = useStudio((s) => s.kernels[node.path]?.diagnostics.length ?? 0);
  const bad =
    failed ||
    (mistakes ? "The text has mistakes; the last good one runs." : "") ||
    (node.known ? "" : `There is no node type ${node.type} here.`);
  const rows = Math.max(inputs.length, outputs.length);
  const measure = useUpdateNodeInternals();
  const names = [...inputs, ...outputs].map((port) => port.name).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a wire needs the place of a port that came without a new row
  useEffect(() => measure(node.path), [names, node.path, measure]);
  return (
    <article
      className={`node ${selected ? "selected" : ""} ${bad ? "bad" : ""} ${node.enabled ? "" : "muted"}`}
    >
      <header>
        <b>{node.name}</b>
        {bad ? (
          <span className="badge error" title={bad}>
            <Icon name="warning" />
            <span className="hidden">{bad}</span>
          </span>
        ) : (
          ms !== undefined && <span className="badge">{ms < 0.05 ? "<0.1" : ms.toFixed(1)} ms</span>
        )}
      </header>
      <small>
        {alone === node.path && "shown alone · "}
        {node.label}
        {node.enabled ? "" : " · muted"}
      </small>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
        <div className="row" key={row}>
          {inputs[row] ? <PortRow port={inputs[row]} side="in" /> : <i />}
          {outputs[row] ? <PortRow port={outputs[row]} side="out" /> : <i />}
        </div>
      ))}
    </article>
  );
}
