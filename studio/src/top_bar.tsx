import type { Theme } from "./app";
import { Icon } from "./icons";
import { send, useStudio } from "./studio";

interface Props {
  theme: Theme;
  setTheme: (theme: Theme) => void;
  toggleHelp: () => void;
}

export function TopBar({ theme, setTheme, toggleHelp }: Props) {
  const doc = useStudio((s) => s.doc);
  const rate = useStudio((s) => s.rate);
  const engine = useStudio((s) => s.engine);
  const playing = useStudio((s) => s.timeline?.playing);
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="top">
      <strong className="file">{doc?.file.split("/").pop() ?? "…"}</strong>
      <span className="dim">{doc?.edited ? "unsaved" : ""}</span>
      <span className="spread" />
      <span className={`engine ${engine.state}`} role="status">
        {engine.state === "ready" ? (playing ? `${rate.toFixed(0)} frames/s` : "ready") : engine.state}
      </span>
      {engine.state === "busy" && (
        <button type="button" className="strong" onClick={() => send("stop")}>
          Stop
        </button>
      )}
      <button type="button" disabled={!doc?.undo} title={doc?.undo} onClick={() => send("undo")}>
        Undo
      </button>
      <button type="button" disabled={!doc?.redo} title={doc?.redo} onClick={() => send("redo")}>
        Redo
      </button>
      <button
        type="button"
        className={doc?.edited ? "accent" : ""}
        title={doc?.comments ? "Saving drops the # comments of the file, which USD does not keep" : "Ctrl+S"}
        onClick={() => send("save")}
      >
        Save
      </button>
      <button type="button" title="Write all frames into a file of their own" onClick={() => send("bake")}>
        Bake
      </button>
      <button type="button" aria-label={`Use the ${other} theme`} onClick={() => setTheme(other)}>
        <Icon name={theme === "dark" ? "sun" : "moon"} />
      </button>
      <button type="button" aria-label="Keys" onClick={toggleHelp}>
        ?
      </button>
    </header>
  );
}
