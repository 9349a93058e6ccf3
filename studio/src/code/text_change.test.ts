import { expect, test } from "vitest";
import { change } from "./text_change";

const applied = (before: string, after: string) => {
  const { from, to, insert } = change(before, after);
  return before.slice(0, from) + insert + before.slice(to);
};

test.each([
  ["", ""],
  ["", "abc"],
  ["abc", ""],
  ["abc", "abc"],
  ["aaa", "aa"],
  ["aa", "aaaa"],
  ["abab", "ab"],
  ["x = 1\ny = 2\n", "x = 1\nz = 3\ny = 2\n"],
])("a change makes %j out of %j", (after, before) => {
  expect(applied(before, after)).toBe(after);
});

test("what stays at both ends is no part of the change", () => {
  expect(change("height + time", "height + 2.0 * time")).toEqual({ from: 9, to: 9, insert: "2.0 * " });
});

test("ends of lines are those of the editor", () => {
  expect(change("a\nb\n", "a\r\nb\r\n")).toEqual({ from: 4, to: 4, insert: "" });
  expect(applied("a\nb", "a\r\nc\rb")).toBe("a\nc\nb");
});
