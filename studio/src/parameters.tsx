import { useEffect, useRef, useState } from "react";
import { isCompanion } from "./graph/graph_model";
import type { GraphNode, Port } from "./messages";
import { edit, findNode, notify, send, useStudio } from "./studio";

export function Parameters() {
  const selection = useStudio((s) => s.selection);
  const shownCode = useStudio((s) => s.shownCode);
  useStudio((s) => s.doc);
  const node = findNode(selection[0] ?? shownCode ?? undefined);
  const [tab, setTab] = useState<"values" | "table">("values");
  const pick = useStudio((s) => s.pick);
  useEffect(() => {
    if (pick?.port) setTab("table");
  }, [pick]);
  return (
    <section className="parameters" aria-label="Parameters">
      <div className="tabs">
        <div role="tablist">
          <button type="button" role="tab" aria-selected={tab === "values"} onClick={() => setTab("values")}>
            Parameters
          </button>
          <button type="button" role="tab" aria-selected={tab === "table"} onClick={() => setTab("table")}>
            Spreadsheet
          </button>
        </div>
        <span className="spread" />
        {node && <NodeName key={node.path} node={node} />}
      </div>
      {!node ? (
        <p className="status dim">Choose a node to see its values.</p>
      ) : tab === "values" ? (
        <Values key={node.path} node={node} />
      ) : (
        <Spreadsheet key={node.path} node={node} />
      )}
    </section>
  );
}

function NodeName({ node }: { node: GraphNode }) {
  const [name, setName] = useState(node.name);
  const finish = () => {
    if (name !== node.name) edit("rename", { do: "rename", node: node.path, name });
  };
  return (
    <input
      className="name"
      aria-label="Name of the node"
      value={name}
      onChange={(event) => setName(event.target.value)}
      onBlur={finish}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}

function Values({ node }: { node: GraphNode }) {
  const removed = useStudio((s) => s.kernels[node.path]?.removed);
  const inputs = node.ports.filter(
    (port) => port.name.startsWith("inputs:") && port.shape !== "exec" && port.name !== "inputs:codeStr",
  );
  const own = inputs.filter((port) => node.code === null || (port.added && !isCompanion(port, node.ports)));
  const others = inputs.filter((port) => !own.includes(port));
  return (
    <div className="values">
      {removed && removed.length > 0 && <Unused node={node} names={removed} />}
      {own.map((port) => (
        <Field key={port.name} node={node} port={port} isUnused={removed?.includes(port.name)} />
      ))}
      {others.length > 0 && (
        <details>
          <summary>Settings of the node</summary>
          {others.map((port) => (
            <Field key={port.name} node={node} port={port} />
          ))}
        </details>
      )}
    </div>
  );
}

/** Ports of a Kernel node that its text no longer names: they stay, as the text may get their names again. */
function Unused({ node, names }: { node: GraphNode; names: string[] }) {
  const kept = names.filter((name) => node.ports.some((port) => port.name === name));
  if (!kept.length) return null;
  const paths = kept.map((name) => `${node.path}.${name}`);
  return (
    <p className="status dim">
      {`The text does not name ${kept.map((name) => name.replace(/^\w+:/, "")).join(", ")}.`}
      <span className="spread" />
      <button type="button" onClick={() => edit("remove ports", { do: "remove", paths })}>
        Remove
      </button>
    </p>
  );
}

function Field({ node, port, isUnused }: { node: GraphNode; port: Port; isUnused?: boolean }) {
  const label = port.name.replace("inputs:", "");
  const hint = `${port.type}${port.about ? `: ${port.about}` : ""}${isUnused ? "\nThe text no longer names it." : ""}`;
  return (
    <div className={`field ${isUnused ? "unused" : ""}`} title={hint}>
      <span className="label">{label}</span>
      <Control node={node} port={port} label={label} />
    </div>
  );
}

const NUMBER = /^(int|uint|int64|uint64|float|double|half|timecode|uchar)$/;

function Control({ node, port, label }: { node: GraphNode; port: Port; label: string }) {
  const path = `${node.path}.${port.name}`;
  const commit = (value: unknown) => edit(`set ${label}`, { do: "set", path, value });
  if (port.sources.length) return <span className="dim source">← {port.sources[0].split("/").pop()}</span>;
  if (port.count !== undefined) return <span className="dim">{port.count} elements</span>;
  if (port.shape === "exec" || port.value === undefined) return <span className="dim">{port.type}</span>;
  if (port.tokens) {
    return (
      <select aria-label={label} value={String(port.value)} onChange={(event) => commit(event.target.value)}>
        {port.tokens.map((token) => (
          <option key={token}>{token}</option>
        ))}
      </select>
    );
  }
  if (port.type === "bool") {
    return (
      <input
        type="checkbox"
        aria-label={label}
        checked={Boolean(port.value)}
        onChange={(event) => commit(event.target.checked)}
      />
    );
  }
  if (NUMBER.test(port.type)) return <Slider port={port} path={path} label={label} />;
  return <TextField port={port} commit={commit} label={label} />;
}

const isWhole = (type: string) => /int|uchar/.test(type);

/** The range of a slider: declared, or around the value. */
function rangeOf(port: Port, value: number): [number, number] {
  const reach = Math.max(1, 2 ** Math.ceil(Math.log2(Math.abs(value) * 2 || 1)));
  return [port.min ?? (value < 0 ? -reach : 0), port.max ?? reach];
}

interface Draft {
  /** What the control shows: the text being entered, or the one of the document. */
  text: string;
  enter: (text: string) => void;
  /** Ends the entry, and returns its text if it is another one than that of the document. */
  finish: () => string | null;
  /** Shows the text of the document again. */
  drop: () => void;
}

/** The text of a control. Documents that arrive while the user enters one leave it alone. */
function useDraft(given: string, port: Port): Draft {
  const [draft, setDraft] = useState<string | null>(null);
  const entered = useRef<string | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new document ends a draft that was sent
  useEffect(() => {
    if (entered.current === null) setDraft(null);
  }, [given, port]);
  return {
    text: draft ?? given,
    enter: (text) => {
      entered.current = text;
      setDraft(text);
    },
    finish: () => {
      const text = entered.current;
      entered.current = null;
      if (text === given) setDraft(null);
      return text === given ? null : text;
    },
    drop: () => setDraft(null),
  };
}

function Slider({ port, path, label }: { port: Port; path: string; label: string }) {
  const given = Number(port.value);
  const written = (value: number) => (isWhole(port.type) ? String(value) : shortest(value));
  const draft = useDraft(Number.isFinite(given) ? written(given) : String(port.value), port);
  const [range, setRange] = useState(() => rangeOf(port, given));
  useEffect(() => {
    setRange((now) => (given < now[0] || given > now[1] ? rangeOf(port, given) : now));
  }, [given, port]);

  function enter(text: string) {
    draft.enter(text);
    const value = numberIn(text);
    if (Number.isFinite(value)) send("param", { path, value });
  }

  function finish() {
    const text = draft.finish();
    if (text === null) return;
    const value = numberIn(text);
    if (Number.isFinite(value) && value !== given) return edit(`set ${label}`, { do: "set", path, value });
    draft.drop();
    if (!Number.isFinite(value)) notify(`${label} stays as it is: ${text} is no number.`);
    send("param", { path, value: given }); // the engine may have a number that the text began with
  }

  const step = isWhole(port.type) ? 1 : (range[1] - range[0]) / 400;
  const value = numberIn(draft.text);
  return (
    <>
      {Number.isFinite(given) ? (
        <input
          type="range"
          aria-label={label}
          min={range[0]}
          max={range[1]}
          step={step}
          value={Number.isFinite(value) ? value : given}
          onChange={(event) => enter(written(Number(event.target.value)))}
          onPointerUp={finish}
          onKeyUp={finish}
          onBlur={finish}
        />
      ) : (
        <span />
      )}
      <input
        className="number"
        aria-label={`${label}, as a number`}
        inputMode="decimal"
        value={draft.text}
        onChange={(event) => enter(event.target.value)}
        onBlur={finish}
        onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
      />
    </>
  );
}

/** The number that a text means; NaN for one that means none, or is not complete. */
function numberIn(text: string): number {
  return text.trim() ? Number(text) : Number.NaN;
}

function shortest(value: number): string {
  return String(Number(value.toPrecision(6)));
}

/** The value that a text means: JSON, or numbers between spaces and commas; undefined for a text that means none. */
function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const numbers = text
      .replace(/^[([]|[)\]]$/g, "")
      .split(/[\s,]+/)
      .filter(Boolean)
      .map(Number);
    return numbers.length > 1 && numbers.every(Number.isFinite) ? numbers : undefined;
  }
}

function TextField({ port, commit, label }: { port: Port; commit: (value: unknown) => void; label: string }) {
  const isText = typeof port.value === "string";
  const isPaths = port.type === "target" && Array.isArray(port.value);
  const given = isText ? String(port.value) : isPaths ? String(port.value) : JSON.stringify(port.value);
  const draft = useDraft(given, port);
  function finish() {
    const text = draft.finish();
    if (text === null) return;
    if (isText) return commit(text);
    if (isPaths)
      return commit(
        text
          .split(",")
          .map((path) => path.trim())
          .filter(Boolean),
      );
    const value = valueIn(text);
    if (value !== undefined) return commit(value);
    draft.drop();
    notify(`${label} stays as it is: ${text} is no value of the type ${port.type}, such as ${given}.`);
  }
  if (isText && given.includes("\n"))
    return (
      <textarea
        className="text"
        aria-label={label}
        spellCheck={false}
        rows={Math.min(12, given.split("\n").length)}
        value={draft.text}
        onChange={(event) => draft.enter(event.target.value)}
        onBlur={finish}
      />
    );
  return (
    <input
      className="text"
      placeholder={isPaths ? "paths of prims, such as /World/Mesh" : undefined}
      aria-label={label}
      value={draft.text}
      onChange={(event) => draft.enter(event.target.value)}
      onBlur={finish}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}

const PAGE = 100;

function Spreadsheet({ node }: { node: GraphNode }) {
  const arrays = node.ports.filter((port) => port.shape === "array");
  const [name, setName] = useState(
    (arrays.find((port) => port.name.startsWith("outputs:")) ?? arrays[0])?.name,
  );
  const [first, setFirst] = useState(0);
  const path = `${node.path}.${name}`;
  const pick = useStudio((s) => s.pick);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the arrays of a node stay, and lists of them are new
  useEffect(() => {
    if (!pick?.port || !arrays.some((port) => port.name === pick.port)) return;
    setName(pick.port);
    setFirst(PAGE * Math.floor(pick.number / PAGE));
  }, [pick]);
  const frame = useStudio((s) => s.timeline?.frame);
  const rows = useStudio((s) => s.rows);
  const shown = rows?.path === path ? rows : null;
  // Faces with colors of their own split vertices, which are no rows then.
  const isRow = pick?.port === name && (pick.count === -1 || pick.count === shown?.total);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new frame has new rows
  useEffect(() => {
    if (name) send("rows", { path, first, count: PAGE });
  }, [path, name, first, frame]);
  if (!name) return <p className="status dim">The node has no arrays.</p>;
  return (
    <div className="sheet">
      <p className="status">
        <select
          aria-label="Array"
          value={name}
          onChange={(event) => {
            setName(event.target.value);
            setFirst(0);
          }}
        >
          {arrays.map((port) => (
            <option key={port.name}>{port.name}</option>
          ))}
        </select>
        {shown && (
          <span className="dim">
            {shown.total} rows · least {shown.least.map(number).join(", ")} · greatest{" "}
            {shown.greatest.map(number).join(", ")}
            {shown.nan > 0 && <b className="error"> · {shown.nan} NaN</b>}
          </span>
        )}
        <span className="spread" />
        <button type="button" disabled={first === 0} onClick={() => setFirst(Math.max(0, first - PAGE))}>
          Back
        </button>
        <button
          type="button"
          disabled={!shown || first + PAGE >= shown.total}
          onClick={() => setFirst(first + PAGE)}
        >
          On
        </button>
      </p>
      <div className="scroll">
        <table>
          <tbody>
            {shown?.rows.map((row, index) => (
              <tr
                // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
                key={shown.first + index}
                className={isRow && pick.number === shown.first + index ? "picked" : ""}
                ref={(row) => {
                  if (isRow && pick.number === shown.first + index) row?.scrollIntoView({ block: "nearest" });
                }}
              >
                <th scope="row">{shown.first + index}</th>
                {row.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
                  <td key={column}>{number(cell)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function number(value: number | string | boolean): string {
  return typeof value === "number" ? shortest(value) : String(value);
}
