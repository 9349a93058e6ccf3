import { expect, test } from "vitest";
import { parseRecord, RecordReader } from "./records";

function record(frame: number, numbers: number[]): Uint8Array {
  const arrays = [{ key: "/P\nvertices", dtype: "float32", shape: [numbers.length], offset: 0 }];
  let text = JSON.stringify({ frame, matrices: {}, arrays });
  text = text.padEnd(Math.ceil((8 + text.length) / 8) * 8 - 8);
  const bytes = new Uint8Array(8 + text.length + 4 * numbers.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bytes.length, true);
  view.setUint32(4, text.length, true);
  bytes.set(new TextEncoder().encode(text), 8);
  bytes.set(new Uint8Array(new Float32Array(numbers).buffer), 8 + text.length);
  return bytes;
}

test("a record has its header and arrays", () => {
  const { header, arrays } = parseRecord(record(7, [1, 2.5]).buffer as ArrayBuffer);
  expect(header.frame).toBe(7);
  expect([...arrays[0].data]).toEqual([1, 2.5]);
});

test("records are found in chunks of any size", () => {
  const all = new Uint8Array([...record(1, [1]), ...record(2, [2, 3]), ...record(3, [])]);
  for (const size of [1, 3, 17, all.length]) {
    const reader = new RecordReader();
    const found: number[] = [];
    for (let at = 0; at < all.length; at += size) {
      for (const bytes of reader.push(all.slice(at, at + size))) found.push(parseRecord(bytes).header.frame);
    }
    expect(found).toEqual([1, 2, 3]);
  }
});
