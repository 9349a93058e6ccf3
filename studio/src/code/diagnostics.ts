/** From mistakes as the compiler tells them to marks in the editor. */

import type { Action, Diagnostic as Mark } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { Diagnostic } from "../messages";

/** Returns the offset in UTF-16 units of a column, which counts characters from 1. */
export function offsetOf(line: string, column: number): number {
  let units = 0;
  let characters = 1;
  for (const character of line) {
    if (characters >= column) break;
    units += character.length;
    characters += 1;
  }
  return units;
}

function place(doc: Text, found: Diagnostic): { from: number; to: number } {
  if (found.line < 1 || found.line > doc.lines)
    return { from: 0, to: Math.min(doc.length, doc.line(1).length) };
  const first = doc.line(found.line);
  if (found.column < 1) return { from: first.from, to: first.to };
  const last = doc.line(Math.min(doc.lines, Math.max(found.line, found.endLine)));
  const from = first.from + offsetOf(first.text, found.column);
  const to = last.from + offsetOf(last.text, found.endColumn);
  return to > from ? { from, to } : { from, to: Math.min(first.to, from + 1) };
}

function fixes(doc: Text, found: Diagnostic, at: { from: number; to: number }): Action[] {
  const wrong = doc.sliceString(at.from, at.to);
  const prefix = wrong.includes(".") ? wrong.slice(0, wrong.lastIndexOf(".") + 1) : "";
  return (found.candidates ?? []).slice(0, 3).map((candidate) => {
    const name = candidate.includes(".") ? candidate : prefix + candidate;
    return { name, apply: (view, from, to) => view.dispatch({ changes: { from, to, insert: name } }) };
  });
}

/** Returns the marks of a kernel's mistakes, and of the calls that lead to them. */
export function marks(doc: Text, diagnostics: Diagnostic[]): Mark[] {
  return diagnostics.flatMap((found) => {
    const at = place(doc, found);
    const message = found.help ? `${found.message}\n${found.help}` : found.message;
    const calls = (found.notes ?? []).filter((note) => note.line > 0);
    return [
      { ...at, severity: "error" as const, message, source: found.code, actions: fixes(doc, found, at) },
      ...calls.map((note) => ({ ...place(doc, note), severity: "info" as const, message: note.message })),
    ];
  });
}
