import { useEffect, useRef, useState } from "react";
import type { Theme } from "../app";
import { getState, onFrame, select, setState, useStudio } from "../studio";
import { type Pick, pickAt, placeOf, prims, writerOf } from "./pick";
import { SceneView } from "./scene";

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
  const pick = useStudio((s) => s.pick);
  const alone = useStudio((s) => s.alone);
  const doc = useStudio((s) => s.doc);
  const waits = useStudio((s) => s.consent.length > 0);
  const [isEmpty, setIsEmpty] = useState(false);
  const [place, setPlace] = useState<number[] | null>(null); // of the pick, in the newest frame
  const pressed = useRef([0, 0]);

  /** Shows what is below the mouse, and selects the node that gives its values. */
  function choose(event: React.MouseEvent) {
    const [x, y] = pressed.current;
    if (!view.current || Math.hypot(event.clientX - x, event.clientY - y) > 4) return;
    const box = event.currentTarget.getBoundingClientRect();
    const across = (2 * (event.clientX - box.left)) / box.width - 1;
    const up = 1 - (2 * (event.clientY - box.top)) / box.height;
    const found = pickAt(view.current, across, up);
    const writer = found && doc ? writerOf(doc, found.path) : null;
    setPlace(found?.position ?? null);
    setState({ pick: found && { ...found, port: writer?.port ?? "" } });
    if (writer) select([writer.node.path]);
  }

  useEffect(() => {
    if (!canvas.current?.parentElement) return;
    const own = new SceneView(canvas.current);
    view.current = window.omniStudio = own;
    onFrame((record) => {
      own.take(record);
      const { pick } = getState();
      const place = pick && placeOf(own, pick);
      setPlace(place);
      if (pick && !place) setState({ pick: null });
      setIsEmpty(own.isEmpty());
    });
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
    view.current?.showAlone(alone && doc ? prims(doc, alone) : null);
  }, [alone, doc]);
  useEffect(() => {
    if (theme) view.current?.refresh();
  }, [theme]);
  return (
    <section className="viewport" aria-label="Viewport">
      <canvas
        ref={canvas}
        onPointerDown={(event) => {
          pressed.current = [event.clientX, event.clientY];
        }}
        onClick={choose}
      />
      {isEmpty && (
        <p className="nothing dim">
          {waits ? "There is nothing to draw until the kernels run." : "The scene has nothing to draw yet."}
        </p>
      )}
      {pick && <Picked pick={pick} place={place ?? pick.position} />}
      <div className="corner">
        {alone && (
          <button type="button" onClick={() => setState({ alone: null })}>
            Show everything, not {alone.split("/").pop()} alone
          </button>
        )}
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

function Picked({ pick, place }: { pick: Pick; place: number[] }) {
  const numbers = place.map((each) => Number(each.toPrecision(5))).join(", ");
  return (
    <output className="picked">
      <b>{pick.path}</b>
      {pick.what !== "prim" && ` · ${pick.what} ${pick.number} · ${numbers}`}
    </output>
  );
}
