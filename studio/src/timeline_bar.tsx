import { Icon } from "./icons";
import { step, togglePlay } from "./keys";
import { send, useStudio } from "./studio";

const SPEEDS = [0.25, 0.5, 1, 2, 4];

export function TimelineBar() {
  const timeline = useStudio((s) => s.timeline);
  if (!timeline) return <footer className="timeline" />;
  const { start, end, frame, target, playing, loop, speed, cached, fps } = timeline;
  const span = Math.max(1, end - start);
  const shown = playing ? frame : target;
  return (
    <footer className="timeline">
      <button type="button" aria-label="First frame" onClick={() => send("seek", { frame: start })}>
        <Icon name="start" />
      </button>
      <button type="button" aria-label="A frame back" onClick={() => step(-1)}>
        <Icon name="back" />
      </button>
      <button type="button" aria-label={playing ? "Pause" : "Play"} className="strong" onClick={togglePlay}>
        <Icon name={playing ? "pause" : "play"} />
      </button>
      <button type="button" aria-label="A frame on" onClick={() => step(1)}>
        <Icon name="next" />
      </button>
      <div className="track">
        {cached.map(([first, last]) => (
          <i
            key={first}
            className="cached"
            style={{
              left: `${((first - start) / span) * 100}%`,
              width: `${(Math.max(0.5, last - first) / span) * 100}%`,
            }}
          />
        ))}
        <input
          type="range"
          aria-label="Frame"
          min={start}
          max={end}
          value={shown}
          onChange={(event) => send("seek", { frame: Number(event.target.value) })}
        />
      </div>
      <output className="frame" aria-label="Current frame">
        {shown}
      </output>
      <span className="dim">/ {end}</span>
      <button
        type="button"
        aria-label="Loop"
        aria-pressed={loop}
        onClick={() => send("timeline", { loop: !loop, speed })}
      >
        <Icon name="loop" />
      </button>
      <select
        aria-label="Speed"
        value={speed}
        onChange={(event) => send("timeline", { loop, speed: Number(event.target.value) })}
      >
        {SPEEDS.map((value) => (
          <option key={value} value={value}>
            {value}×
          </option>
        ))}
      </select>
      <span className="dim">{fps} fps</span>
    </footer>
  );
}
