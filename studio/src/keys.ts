import { useEffect } from "react";
import { duplicateNodes } from "./graph/new_nodes";
import { edit, findNode, getState, notify, select, send, setState, shownGraph } from "./studio";
import { prims } from "./view/pick";

interface Actions {
  openCommands: () => void;
  addNode: () => void;
  connect: () => void;
  help: () => void;
}

/** True where keys belong to a text or a control. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    Boolean(target.closest("input, textarea, select, .cm-editor, [role=dialog]"))
  );
}

export function togglePlay(): void {
  send(getState().timeline?.playing ? "pause" : "play");
}

export function step(by: number): void {
  const timeline = getState().timeline;
  if (!timeline) return;
  if (timeline.playing) send("pause");
  send("seek", { frame: timeline.target + by });
}

export function deleteSelection(): void {
  const { selection } = getState();
  if (selection.length)
    edit(selection.length > 1 ? "delete nodes" : "delete node", { do: "delete", nodes: selection });
}

export function duplicateSelection(): void {
  duplicateNodes(getState().selection);
}

export function copySelection(): void {
  const { selection } = getState();
  if (!selection.length) return;
  setState({ copied: selection });
  notify(
    selection.length > 1
      ? `${selection.length} nodes are copied. Ctrl+V pastes them.`
      : "The node is copied. Ctrl+V pastes it.",
  );
}

export function paste(): void {
  duplicateNodes(getState().copied);
}

export function selectAll(): void {
  select(shownGraph(getState())?.nodes.map((node) => node.path) ?? []);
}

export function muteSelection(): void {
  const ops = getState().selection.map((node) => ({ do: "enable", node, on: !findNode(node)?.enabled }));
  if (ops.length) edit("mute", ...ops);
}

/** Lets the viewport draw the prims of the selected node alone, or everything again. */
export function displaySelection(): void {
  const { selection, alone, doc } = getState();
  const [node] = selection;
  if (!node || node === alone || !doc) return setState({ alone: null });
  if (prims(doc, node).size) return setState({ alone: node });
  notify(`${node.split("/").pop()} gives values to no prim, so there is nothing to display alone.`);
}

/** The keys of the page; the editor and the graph have more of their own. */
export function useKeys(actions: Actions): void {
  useEffect(() => {
    const controls: Record<string, () => void> = {
      s: () => send("save"),
      k: actions.openCommands,
      z: () => send("undo"),
      Z: () => send("redo"),
      y: () => send("redo"),
      a: selectAll,
      c: copySelection,
      v: paste,
      d: duplicateSelection,
    };
    const plain: Record<string, () => unknown> = {
      " ": togglePlay,
      ArrowLeft: () => step(-1),
      ArrowRight: () => step(1),
      Home: () => send("seek", { frame: getState().timeline?.start ?? 0 }),
      A: actions.addNode,
      Delete: deleteSelection,
      Backspace: deleteSelection,
      c: () => getState().selection.length && actions.connect(),
      m: muteSelection,
      d: displaySelection,
      "?": actions.help,
    };
    function press(event: KeyboardEvent) {
      const typing = isTyping(event.target);
      const isControl = event.ctrlKey || event.metaKey;
      if (isControl && typing && event.key.toLowerCase() !== "s" && event.key !== "k") return;
      if (isControl && event.key === "c" && String(getSelection())) return; // words of the page
      if (!isControl && (typing || event.altKey)) return;
      if (event.key === " " && event.target instanceof HTMLButtonElement) return;
      if (
        event.key.startsWith("Arrow") &&
        event.target instanceof HTMLElement &&
        event.target.closest(".react-flow__node, [role=slider]")
      )
        return;
      const action = (isControl ? controls : plain)[event.key];
      if (!action || event.defaultPrevented) return;
      event.preventDefault();
      action();
    }
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
}
