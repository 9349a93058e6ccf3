import { useEffect, useState } from "react";
import { Banners } from "./banners";
import { CodePanel } from "./code/code_panel";
import { Dialog, Differences, Gallery } from "./dialogs";
import { GraphPanel } from "./graph/graph_panel";
import type { Wire } from "./graph/new_nodes";
import { Palette, type PaletteKind } from "./graph/palette";
import { useKeys } from "./keys";
import { Parameters } from "./parameters";
import { Splitter } from "./splitter";
import { useStudio } from "./studio";
import { TimelineBar } from "./timeline_bar";
import { TopBar } from "./top_bar";
import { Viewport } from "./view/viewport";

export type Theme = "dark" | "light";

function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

export function App() {
  const isStranger = useStudio((s) => s.connection === "refused" && !s.doc);
  const [theme, setTheme] = useState<Theme>(systemTheme);
  const [palette, setPalette] = useState<{ kind: PaletteKind; wire?: Wire } | null>(null);
  const [help, setHelp] = useState(false);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: light)");
    const follow = () => setTheme(systemTheme());
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  useKeys({
    openCommands: () => setPalette({ kind: "commands" }),
    addNode: () => setPalette({ kind: "nodes" }),
    connect: () => setPalette({ kind: "wires" }),
    help: () => setHelp(!help),
  });

  if (isStranger) {
    return (
      <main className="refused">
        <h1>This page has no access to the studio</h1>
        <p>
          Open the address that <code>omni-warp studio</code> has printed, with its token.
        </p>
      </main>
    );
  }
  return (
    <div className="studio">
      <TopBar theme={theme} setTheme={setTheme} toggleHelp={() => setHelp(!help)} />
      <Banners />
      <main className="panes">
        <Splitter direction="row" name="columns" start={0.56}>
          <Splitter direction="column" name="left" start={0.55}>
            <Viewport theme={theme} />
            <GraphPanel theme={theme} addNode={(wire) => setPalette({ kind: "nodes", wire })} />
          </Splitter>
          <Splitter direction="column" name="right" start={0.6}>
            <CodePanel theme={theme} />
            <Parameters />
          </Splitter>
        </Splitter>
      </main>
      <TimelineBar />
      {palette && <Palette kind={palette.kind} wire={palette.wire} close={() => setPalette(null)} />}
      <Gallery />
      <Differences />
      {help && <Help close={() => setHelp(false)} />}
    </div>
  );
}

const KEYS: [string, string][] = [
  ["Space", "play or pause"],
  ["← →", "a frame back or on"],
  ["Home", "first frame"],
  ["Shift+A, double click", "add a node"],
  ["C", "connect the selected node"],
  ["Delete", "delete what is selected"],
  ["Ctrl+D", "duplicate the selected nodes"],
  ["Ctrl+C, Ctrl+V", "copy and paste nodes"],
  ["Ctrl+A, Ctrl+click", "select all nodes, or one more"],
  ["M", "mute the selected node"],
  ["D", "display the selected node alone, or everything"],
  ["F", "see everything, in the graph or the viewport"],
  ["Ctrl+Enter", "run the text"],
  ["F8", "next mistake"],
  ["Ctrl+S", "save"],
  ["Ctrl+Z, Ctrl+Shift+Z", "undo, redo"],
  ["Ctrl+Space", "complete a name of the kernel"],
  ["Ctrl+K", "all commands"],
  ["?", "these keys"],
];

function Help({ close }: { close: () => void }) {
  return (
    <Dialog title="Keys" close={close}>
      <dl className="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
