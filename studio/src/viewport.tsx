import { useEffect, useRef } from "react";
import type { Theme } from "./app";
import { SceneView } from "./scene";
import { onFrame, useStudio } from "./studio";

declare global {
  interface Window {
    /** The scene that is drawn, for tests and for the curious. */
    omniStudio?: SceneView;
  }
}

export function Viewport({ theme }: { theme: Theme }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<SceneView | null>(null);
  const timeline = useStudio((s) => s.timeline);
  const log = useStudio((s) => s.log);
  useEffect(() => {
    if (!canvas.current?.parentElement) return;
    const own = new SceneView(canvas.current);
    view.current = window.omniStudio = own;
    onFrame((record) => own.take(record));
    const sizes = new ResizeObserver(([entry]) =>
      own.resize(entry.contentRect.width, entry.contentRect.height),
    );
    sizes.observe(canvas.current.parentElement);
    const press = (event: KeyboardEvent) => {
      if (
        event.key === "f" &&
        !event.ctrlKey &&
        !(event.target as HTMLElement).closest("input, .cm-editor, .react-flow")
      ) {
        own.fit();
      }
    };
    window.addEventListener("keydown", press);
    return () => {
      window.removeEventListener("keydown", press);
      sizes.disconnect();
      own.dispose();
    };
  }, []);
  useEffect(() => {
    if (theme) view.current?.refresh();
  }, [theme]);
  return (
    <section className="viewport" aria-label="Viewport">
      <canvas ref={canvas} />
      <div className="corner">
        <button type="button" onClick={() => view.current?.fit()}>
          Fit
        </button>
      </div>
      {timeline && !timeline.exact && (
        <span
          className="hint"
          title="Nodes that remember earlier frames may show something else than a play from the first frame"
        >
          edited while it ran
        </span>
      )}
      {log.length > 0 && (
        <details className="log">
          <summary>{log.length === 1 ? "1 message" : `${log.length} messages`}</summary>
          <ul>
            {log.map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}
