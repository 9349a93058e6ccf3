import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintGutter, nextDiagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { Theme } from "../app";
import { FindOutWhy } from "../banners";
import type { Code } from "../messages";
import { getState, notify, setState, sharedTexts, useStudio } from "../studio";
import { marks } from "./diagnostics";
import { complete, hover } from "./kernel_language";
import type { SharedText } from "./shared_text";

const REST = 300; // milliseconds without a key after which mistakes are shown
const MOST_TEXT = 1 << 20; // characters of a kernel's text
const readOnly = new Compartment();

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--code-keyword)" },
  { tag: [tags.comment], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool], color: "var(--code-number)" },
  { tag: [tags.string], color: "var(--code-string)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.meta], color: "var(--code-name)" },
]);

/** Runs the text that an editor shows. */
function run(): boolean {
  const node = getState().shownCode;
  if (node) sharedTexts.changed(node, true);
  return true;
}

/** What an editor is. Each text has its own steps of undo, and changes of other windows are none. */
const editing = [
  lineNumbers(),
  history(),
  drawSelection(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  bracketMatching(),
  closeBrackets(),
  indentOnInput(),
  indentUnit.of("    "),
  python(),
  autocompletion({ override: [complete] }),
  hover,
  syntaxHighlighting(colors),
  lintGutter(),
  readOnly.of(EditorState.readOnly.of(false)),
  keymap.of([
    { key: "Mod-Enter", run },
    { key: "F8", run: nextDiagnostic },
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...defaultKeymap,
    ...historyKeymap,
    ...searchKeymap,
    { ...indentWithTab, key: "Mod-]" },
  ]),
  EditorState.changeFilter.of((change) => {
    const fits = change.newDoc.length <= MOST_TEXT || change.annotation(Transaction.remote) === true;
    if (!fits) notify(`A text of more than ${MOST_TEXT} characters is not taken; the one before stays.`);
    return fits;
  }),
  EditorView.contentAttributes.of({ "aria-label": "Kernel text", tabindex: "0" }),
];

/** An editor that shows one text after the other: one that several windows change, or one to read. */
class Editor {
  readonly view: EditorView;
  private shown: SharedText | string = "";

  constructor(parent: HTMLElement) {
    const listener = EditorView.updateListener.of((update) => {
      if (typeof this.shown === "string") return;
      this.shown.state = update.state;
      const node = getState().shownCode;
      const isOwn = update.transactions.some((t) => t.docChanged && !t.annotation(Transaction.remote));
      if (node && isOwn) sharedTexts.changed(node);
    });
    this.extensions = [editing, listener];
    this.view = new EditorView({ parent, state: this.toRead("") });
  }

  private readonly extensions: Extension;

  private toRead(doc: string): EditorState {
    return EditorState.create({ doc, extensions: this.extensions });
  }

  show(text: SharedText | string, isFixed: boolean): void {
    if (this.shown !== text) {
      this.leave();
      this.shown = text;
      if (typeof text !== "string") text.enter(this.view, this.extensions);
      this.view.setState(typeof text === "string" ? this.toRead(text) : text.state);
    }
    this.view.dispatch({ effects: readOnly.reconfigure(EditorState.readOnly.of(isFixed)) });
  }

  private leave(): void {
    if (typeof this.shown !== "string") this.shown.leave();
  }

  close(): void {
    this.leave();
    this.view.destroy();
  }
}

export function CodePanel({ theme }: { theme: Theme }) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const node = useStudio((s) => s.shownCode);
  const texts = useStudio((s) => s.texts);
  const kernels = useStudio((s) => s.kernels);
  const consent = useStudio((s) => s.consent);
  const why = useStudio((s) => s.found);
  const waiting = consent.find((code) => code.node === node);
  const own = node ? texts[node] : undefined;
  const text = (node && sharedTexts.get(node)) || (waiting?.text ?? "");
  const kernel = node ? kernels[node] : undefined;
  const isFixed = !own || waiting !== undefined;
  // Programs that are not edited here, such as files and scripts, are shown as long as the user has to decide.
  const tabs = [
    ...Object.keys(texts),
    ...consent.map((code) => code.node).filter((each) => !(each in texts)),
  ];

  useEffect(() => {
    if (!box.current) return;
    const opened = new Editor(box.current);
    editor.current = opened;
    return () => opened.close();
  }, []);

  useEffect(() => editor.current?.show(text, isFixed), [text, isFixed]);

  // Mistakes of the newest text, after the hands rest; their end is shown at once.
  useEffect(() => {
    const view = editor.current?.view;
    if (!view || (kernel && own && kernel.rev !== own.rev)) return;
    const checked = why && !why.runs && why.node === node && why.text === own?.text ? why.diagnostics : [];
    const found = checked.length ? checked : (kernel?.diagnostics ?? []);
    const show = () => view.dispatch(setDiagnostics(view.state, marks(view.state.doc, found)));
    const timer = setTimeout(show, found.length ? REST : 0);
    return () => clearTimeout(timer);
  }, [kernel, own, why, node]);

  return (
    <section className={`code ${theme}`} aria-label="Kernels">
      <div className="tabs" role="tablist">
        {tabs.map((path) => (
          <button
            type="button"
            role="tab"
            key={path}
            aria-selected={path === node}
            onClick={() => setState({ shownCode: path, selection: [path] })}
          >
            {shortName(path, tabs)}
            {(kernels[path]?.diagnostics.length ?? 0) > 0 && (
              <span className="dot error" title="has mistakes" />
            )}
          </button>
        ))}
      </div>
      <div ref={box} className="editor" />
      <Status waiting={waiting} />
    </section>
  );
}

/** The name of a node, with that of its graph where nodes of two graphs have the same. */
function shortName(path: string, all: string[]): string {
  const name = path.split("/").pop() ?? path;
  const isShared = all.filter((each) => each.endsWith(`/${name}`)).length > 1;
  return isShared ? path.split("/").slice(-2).join("/") : name;
}

/** The first line of a message, and the values that a checked run tells. */
function told(message: string): string {
  const lines = message.split("\n");
  return [lines[0], ...lines.filter((line) => line.startsWith("values:"))].join(", ");
}

function Status({ waiting }: { waiting: Code | undefined }) {
  const node = useStudio((s) => s.shownCode);
  const kernel = useStudio((s) => (node ? s.kernels[node] : undefined));
  const text = useStudio((s) => (node ? s.texts[node] : undefined));
  const why = useStudio((s) => s.found);
  const failed = useStudio((s) => (node ? s.failed[node] : undefined));
  if (!node)
    return (
      <p className="status dim">No Kernel node of this scene has a text to edit. Add one with Shift+A.</p>
    );
  if (waiting && !waiting.inside)
    return (
      <p className="status warning">
        Waits for your consent · {waiting.origin} is outside of the scene's folder, so its text is not shown
      </p>
    );
  if (waiting)
    return (
      <p className="status warning">
        Waits for your consent{waiting.origin === "inputs:codeStr" ? "" : ` · ${waiting.origin}`}
      </p>
    );
  if (why && !why.runs && why.node === node && why.text === text?.text) {
    const first = why.diagnostics[0];
    return (
      <p className="status error" role="status">
        {why.note} {first?.line ? `Line ${first.line}: ` : ""}
        {first ? told(first.message) : ""}
      </p>
    );
  }
  if (kernel?.waits) {
    return (
      <p className="status warning">
        Waits: {kernel.waits}.
        <button type="button" onClick={run}>
          Run (Ctrl+Enter)
        </button>
      </p>
    );
  }
  const count = kernel?.diagnostics.length ?? 0;
  if (count) {
    const first = kernel?.diagnostics[0];
    return (
      <p className="status error" role="status">
        {count > 1 ? `${count} mistakes. ` : ""}
        {first?.line ? `Line ${first.line}: ` : ""}
        {first?.message.split("\n")[0]}
        {first && !first.line && <FindOutWhy node={node} />}
      </p>
    );
  }
  if (failed) return <p className="status error">{told(failed)}</p>;
  const { compile_ms = 0, kernel_ms = 0, dims = [] } = kernel?.status ?? {};
  return (
    <p className="status good" role="status">
      {kernel?.status.state ? `Compiled in ${compile_ms.toFixed(0)} ms` : "…"}
      {dims.length > 0 && (
        <span className="dim">
          {" "}
          · {dims.map((d) => d.join(" × ")).join(", ")} threads in {kernel_ms.toFixed(2)} ms
        </span>
      )}
    </p>
  );
}
