import { useEffect, useMemo, useRef, useState } from "react";
import {
  copySelection,
  deleteSelection,
  displaySelection,
  duplicateSelection,
  muteSelection,
  paste,
  selectAll,
  step,
  togglePlay,
} from "../keys";
import { allNodes, edit, getState, select, send, useStudio } from "../studio";
import { addNode, addPreset, type Wire } from "./new_nodes";
import { candidates } from "./wires";

export type PaletteKind = "commands" | "nodes" | "wires";

interface Entry {
  label: string;
  about: string;
  run: () => void;
}

const COMMANDS: Entry[] = [
  { label: "Play or pause", about: "Space", run: togglePlay },
  { label: "A frame back", about: "←", run: () => step(-1) },
  { label: "A frame on", about: "→", run: () => step(1) },
  {
    label: "First frame",
    about: "Home",
    run: () => send("seek", { frame: getState().timeline?.start ?? 0 }),
  },
  { label: "Save", about: "Ctrl+S", run: () => send("save") },
  { label: "Bake all frames into a file", about: "as omni-warp play", run: () => send("bake") },
  { label: "Compare with the file on disk", about: "", run: () => send("compare") },
  { label: "Undo", about: "Ctrl+Z", run: () => send("undo") },
  { label: "Redo", about: "Ctrl+Shift+Z", run: () => send("redo") },
  { label: "Delete what is selected", about: "Delete", run: deleteSelection },
  { label: "Duplicate the selected nodes", about: "Ctrl+D", run: duplicateSelection },
  { label: "Copy the selected nodes", about: "Ctrl+C", run: copySelection },
  { label: "Paste nodes into this graph", about: "Ctrl+V", run: paste },
  { label: "Select all nodes of this graph", about: "Ctrl+A", run: selectAll },
  { label: "Mute the selected node", about: "M", run: muteSelection },
  { label: "Display the selected node alone, or everything", about: "D", run: displaySelection },
  { label: "Read the file again", about: "gives up unsaved edits", run: () => send("reload") },
];

function score(entry: Entry, words: string[]): number {
  const label = entry.label.toLowerCase();
  const all = `${label} ${entry.about.toLowerCase()}`;
  if (!words.every((word) => all.includes(word))) return 0;
  return words.every((word) => label.includes(word)) ? (label.startsWith(words[0] ?? "") ? 3 : 2) : 1;
}

/** Wires of the selected node. */
function wires(): Entry[] {
  const [path] = getState().selection;
  const graph = getState().doc?.graphs.find((each) => each.nodes.some((node) => node.path === path));
  const node = graph?.nodes.find((each) => each.path === path);
  if (!graph || !node) return [];
  return candidates(graph, node).map(({ label, about, source, target }) => ({
    label,
    about,
    run: () => edit("connect", { do: "connect", source, target }),
  }));
}

const TITLES = { commands: "Commands", nodes: "Add a node", wires: "Connect" };
const HINTS = {
  commands: "Search for a command or node",
  nodes: "Search for a node type",
  wires: "Search for a port to connect",
};

interface Props {
  kind: PaletteKind;
  wire?: Wire;
  close: () => void;
}

export function Palette({ kind, wire, close }: Props) {
  const types = useStudio((s) => s.types);
  const presets = useStudio((s) => s.presets);
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const before = useRef(document.activeElement);
  const entries = useMemo(() => {
    if (kind === "commands") {
      const nodes = allNodes(getState()).map((node) => ({
        label: `Go to ${node.name}`,
        about: node.label,
        run: () => select([node.path]),
      }));
      return [...COMMANDS, ...nodes];
    }
    if (kind === "wires") return wires();
    const texts = presets.map((preset) => ({
      label: `Kernel: ${preset.name}`,
      about: preset.about,
      run: () => addPreset(preset, wire),
    }));
    const nodes = types.map((type) => ({
      label: type.label,
      about: `${type.about} · ${type.name}`,
      run: () => addNode(type.name, wire),
    }));
    return [...nodes, ...texts];
  }, [kind, types, presets, wire]);
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries
    .map((entry) => ({ entry, rank: score(entry, words) }))
    .filter(({ rank }) => rank > 0 || !words.length)
    .sort((a, b) => b.rank - a.rank)
    .slice(0, 60)
    .map(({ entry }) => entry);

  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);

  function leave() {
    close();
    (before.current as HTMLElement | null)?.focus?.();
  }

  function choose(entry: Entry) {
    leave();
    entry.run();
  }

  function key(event: React.KeyboardEvent) {
    if (event.key === "Escape") leave();
    else if (event.key === "Enter" && found[at]) choose(found[at]);
    else if (event.key === "ArrowDown") setAt(Math.min(found.length - 1, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else return;
    event.preventDefault();
  }

  const title = TITLES[kind];
  return (
    <div className="overlay" onPointerDown={(event) => event.target === event.currentTarget && leave()}>
      <div className="dialog palette" role="dialog" aria-label={title} onKeyDown={key}>
        <input
          // biome-ignore lint/a11y/noAutofocus: the dialog is this field
          autoFocus
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found.length ? `palette-${at}` : undefined}
          aria-label={title}
          placeholder={HINTS[kind]}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
        />
        <ul ref={list} id="palette-list" role="listbox" aria-label={title}>
          {found.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: keys belong to the field above
            <li
              key={entry.label + entry.about}
              id={`palette-${index}`}
              role="option"
              aria-selected={index === at}
              onClick={() => choose(entry)}
            >
              <b>{entry.label}</b>
              <span className="dim">{entry.about}</span>
            </li>
          ))}
        </ul>
        {!found.length && <p className="status dim">Nothing has these words.</p>}
      </div>
    </div>
  );
}
