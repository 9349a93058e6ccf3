/** Completion and help of the kernel language in the editor. */

import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippetCompletion,
} from "@codemirror/autocomplete";
import { localCompletionSource } from "@codemirror/lang-python";
import { type EditorView, hoverTooltip, type Tooltip } from "@codemirror/view";
import type { KernelName } from "../messages";
import { getState } from "../studio";

const WORDS =
  "and break continue def elif else False float for if in int not or pass range return True while wp".split(
    " ",
  );
const KERNEL = snippetCompletion(
  // biome-ignore lint/suspicious/noTemplateCurlyInString: fields of a snippet
  "@wp.kernel\ndef ${name}(${points}: wp.array[wp.vec3]):\n    i = wp.tid()\n    ${}",
  { label: "kernel", detail: "a new kernel", type: "keyword" },
);

function help(name: KernelName): HTMLElement {
  const box = document.createElement("div");
  box.className = "help";
  for (const signature of name.signatures.slice(0, 4)) {
    const line = box.appendChild(document.createElement("code"));
    line.textContent = `wp.${signature}`;
  }
  const about = box.appendChild(document.createElement("p"));
  about.textContent = name.about || `The type wp.${name.name}.`;
  return box;
}

function completion(name: KernelName): Completion {
  const [first = ""] = name.about.split("\n");
  return { label: name.name, type: name.kind, detail: first.slice(0, 60), info: () => help(name) };
}

/** Completes names behind `wp.`, and else names of the text and words of the language. */
export function complete(context: CompletionContext): CompletionResult | null {
  const dotted = context.matchBefore(/\bw(ar)?p\.\w*/);
  if (dotted) {
    const from = dotted.from + dotted.text.indexOf(".") + 1;
    return { from, options: getState().names.map(completion), validFor: /^\w*$/ };
  }
  const word = context.matchBefore(/\w+/);
  if (!word && !context.explicit) return null;
  const found = localCompletionSource(context);
  const own = found?.options ?? [];
  const words = WORDS.map((label) => ({ label, type: "keyword" }));
  return { from: word?.from ?? context.pos, options: [...own, ...words, KERNEL], validFor: /^\w*$/ };
}

/** Shows signature and help of the name below the mouse. */
export const hover = hoverTooltip((view: EditorView, at: number): Tooltip | null => {
  const line = view.state.doc.lineAt(at);
  for (const found of line.text.matchAll(/\bw(?:ar)?p\.(\w+)/g)) {
    const from = line.from + found.index;
    const end = from + found[0].length;
    const name = getState().names.find((each) => each.name === found[1]);
    if (name && from <= at && at <= end)
      return { pos: from, end, above: true, create: () => ({ dom: help(name) }) };
  }
  return null;
});
