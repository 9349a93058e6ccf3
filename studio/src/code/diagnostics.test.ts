import { Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { marks, offsetOf } from "./diagnostics";

const found = { code: "W1", endLine: 1, help: "", candidates: [] };

test("columns count characters, offsets count UTF-16 units", () => {
  expect(offsetOf("é = 1", 5)).toBe(4);
  expect(offsetOf("🌊 = wp.sqroot", 5)).toBe(5); // the wave takes two units
});

test("a mistake behind an emoji is marked exactly, and its fix keeps the prefix", () => {
  const text = Text.of(['x = "🌊é"; y = wp.sqroot(2.0)']);
  const line = text.line(1).text;
  const column = [...line].join("").length - line.length + [...line.slice(0, line.indexOf("wp."))].length + 1;
  const [mark] = marks(text, [
    { ...found, message: "no wp.sqroot", line: 1, column, endColumn: column + 9, candidates: ["sqrt"] },
  ]);
  expect(text.sliceString(mark.from, mark.to)).toBe("wp.sqroot");
  expect(mark.actions?.[0].name).toBe("wp.sqrt");
});

test("a mistake without a place marks the first line", () => {
  const [mark] = marks(Text.of(["abc", "d"]), [
    { ...found, message: "m", line: 0, column: 0, endColumn: 0, endLine: 0 },
  ]);
  expect([mark.from, mark.to]).toEqual([0, 3]);
});

test("a line that is not there any more is no error", () => {
  const [mark] = marks(Text.of([""]), [
    { ...found, message: "m", line: 9, column: 4, endColumn: 9, endLine: 9 },
  ]);
  expect([mark.from, mark.to]).toEqual([0, 0]);
});
