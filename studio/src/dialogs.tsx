/** Dialogs over the page: the gallery of an empty start, and how a scene differs from the file on disk. */

import { type ReactNode, useEffect, useRef } from "react";
import { send, setState, useStudio } from "./studio";

interface Props {
  title: string;
  wide?: boolean;
  close: () => void;
  children: ReactNode;
}

/** A dialog that Escape and a press beside it close. */
export function Dialog({ title, wide, close, children }: Props) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.focus();
    return () => before?.focus?.();
  }, []);
  return (
    <div className="overlay" onPointerDown={(event) => event.target === event.currentTarget && close()}>
      <section
        ref={box}
        className={`dialog ${wide ? "wide" : ""}`}
        role="dialog"
        aria-modal="true"
        aria-label={title}
        tabIndex={-1}
        onKeyDown={(event) => event.key === "Escape" && close()}
      >
        <header>
          <h2>{title}</h2>
          <button type="button" aria-label={`Close ${title}`} onClick={close}>
            ×
          </button>
        </header>
        {children}
      </section>
    </div>
  );
}

// `python -m tools.studio_pictures samples` makes them.
const PICTURES = import.meta.glob<string>("./samples/*.jpg", { eager: true, import: "default" });

/** Sample scenes to begin with, shown while a new scene is empty. */
export function Gallery() {
  const samples = useStudio((s) => s.samples);
  if (!samples) return null;
  const close = () => setState({ samples: null });
  return (
    <Dialog title="Begin with" wide close={close}>
      <div className="gallery">
        <button type="button" onClick={close}>
          <span className="nothing" aria-hidden="true">
            +
          </span>
          <b>Empty scene</b>
          <span className="dim">A graph without nodes. Shift+A adds the first one.</span>
        </button>
        {samples.samples.map(({ name, about }) => (
          <button
            type="button"
            key={name}
            onClick={() => {
              close();
              send("sample", { name });
            }}
          >
            <img src={PICTURES[`./samples/${name}.jpg`]} alt="" />
            <b>{name}</b>
            <span className="dim">{about}</span>
          </button>
        ))}
      </div>
      <p className="status dim">A sample is copied to {samples.folder}, and no file there is replaced.</p>
    </Dialog>
  );
}

export function Differences() {
  const lines = useStudio((s) => s.differences);
  if (!lines) return null;
  const kind = (line: string) => (line.startsWith("+") ? "good" : line.startsWith("-") ? "error" : "dim");
  return (
    <Dialog title="Compare" wide close={() => setState({ differences: null })}>
      <p className="status dim">− on disk, + here{lines.length === 0 && ": there is no difference"}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must take the focus */}
      <pre tabIndex={0}>
        {lines.slice(2).map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
          <span key={index} className={kind(line)}>
            {`${line}\n`}
          </span>
        ))}
      </pre>
    </Dialog>
  );
}
