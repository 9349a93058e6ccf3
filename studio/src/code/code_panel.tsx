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
import { Annotation, Compartment, EditorState, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { Theme } from "../app";
import { FindOutWhy } from "../banners";
import type { Code } from "../messages";
import { getState, notify, setState, typeText, useStudio } from "../studio";
import { marks } from "./diagnostics";
import { complete, hover } from "./kernel_language";
import { change } from "./text_change";

const REST = 300; // milliseconds without a key after which mistakes are shown
const MOST_TEXT = 1 << 20; // characters of a kernel's text
const fromServer = Annotation.define<boolean>();
const readOnly = new Compartment();

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--code-keyword)" },
  { tag: [tags.comment], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool], color: "var(--code-number)" },
  { tag: [tags.string], color: "var(--code-string)" },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.meta], color: "var(--code-name)" },
]);

/** Runs the text that an editor shows. */
function run(view: EditorView): boolean {
  const node = getState().shownCode;
  if (node) typeText(node, view.state.doc.toString(), true);
  return true;
}

/** A text with its own steps of undo. */
function newState(text: string): EditorState {
  return EditorState.create({
    doc: text,
    extensions: [
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
        const fits = change.newDoc.length <= MOST_TEXT || Boolean(change.annotation(fromServer));
        if (!fits) notify(`A text of more than ${MOST_TEXT} characters is not taken; the one before stays.`);
        return fits;
      }),
      EditorView.contentAttributes.of({ "aria-label": "Kernel text", tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        const node = getState().shownCode;
        const isOwn = update.transactions.some((t) => t.docChanged && !t.annotation(fromServer));
        if (node && update.docChanged && isOwn) typeText(node, update.state.doc.toString());
      }),
    ],
  });
}

export function CodePanel({ theme }: { theme: Theme }) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const shown = useRef<string | null>(null);
  const states = useRef(new Map<string, EditorState>()); // of the nodes that are not shown now
  const node = useStudio((s) => s.shownCode);
  const texts = useStudio((s) => s.texts);
  const kernels = useStudio((s) => s.kernels);
  const consent = useStudio((s) => s.consent);
  const why = useStudio((s) => s.found);
  const waiting = consent.find((code) => code.node === node);
  const own = node ? texts[node] : undefined;
  const text = own?.text ?? waiting?.text ?? "";
  const kernel = node ? kernels[node] : undefined;
  const isFixed = !own || waiting !== undefined;
  // Programs that are not edited here, such as files and scripts, are shown as long as the user has to decide.
  const tabs = [
    ...Object.keys(texts),
    ...consent.map((code) => code.node).filter((each) => !(each in texts)),
  ];

  useEffect(() => {
    if (!box.current) return;
    const view = new EditorView({ parent: box.current, state: newState("") });
    editor.current = view;
    return () => view.destroy();
  }, []);

  // The text of another node, or a text that the server has changed, which is no step of undo.
  useEffect(() => {
    const view = editor.current;
    if (!view) return;
    if (shown.current !== node) {
      if (shown.current) states.current.set(shown.current, view.state);
      view.setState(states.current.get(node ?? "") ?? newState(text));
      shown.current = node;
    }
    const changes = change(view.state.doc.toString(), text);
    if (changes.from !== changes.to || changes.insert)
      view.dispatch({ changes, annotations: [fromServer.of(true), Transaction.addToHistory.of(false)] });
    view.dispatch({ effects: readOnly.reconfigure(EditorState.readOnly.of(isFixed)) });
  }, [node, text, isFixed]);

  // Mistakes of the newest text, after the hands rest; their end is shown at once.
  useEffect(() => {
    const view = editor.current;
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
        <button type="button" onClick={() => typeText(node, text?.text ?? "", true)}>
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
