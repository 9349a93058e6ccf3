import { type ReactNode, useRef, useState } from "react";

interface Props {
  direction: "row" | "column";
  name: string;
  start: number;
  children: [ReactNode, ReactNode];
}

/** Two panes with a bar between them that moves by mouse and by arrow keys. */
export function Splitter({ direction, name, start, children }: Props) {
  const saved = Number(localStorage.getItem(`split.${name}`));
  const [share, setShare] = useState(saved > 0 && saved < 1 ? saved : start);
  const box = useRef<HTMLDivElement>(null);
  const isRow = direction === "row";

  function move(next: number) {
    const clamped = Math.min(0.9, Math.max(0.1, next));
    setShare(clamped);
    localStorage.setItem(`split.${name}`, String(clamped));
  }

  function drag(event: React.PointerEvent) {
    const area = box.current?.getBoundingClientRect();
    if (!area || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    move(isRow ? (event.clientX - area.left) / area.width : (event.clientY - area.top) / area.height);
  }

  function key(event: React.KeyboardEvent) {
    const [less, more] = isRow ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    if (event.key !== less && event.key !== more) return;
    event.preventDefault();
    event.stopPropagation();
    move(share + (event.key === more ? 0.02 : -0.02));
  }

  return (
    <div ref={box} className={`split ${direction}`}>
      <div className="pane" style={{ flexBasis: `${share * 100}%` }}>
        {children[0]}
      </div>
      <div
        className="bar"
        role="separator"
        tabIndex={0}
        aria-label={`Size of the ${name} panes`}
        aria-orientation={isRow ? "vertical" : "horizontal"}
        aria-valuenow={Math.round(share * 100)}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={drag}
        onDoubleClick={() => move(start)}
        onKeyDown={key}
      />
      <div className="pane" style={{ flexBasis: `${(1 - share) * 100}%` }}>
        {children[1]}
      </div>
    </div>
  );
}
