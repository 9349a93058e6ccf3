/** Records of the stream of frames: a JSON header with arrays behind it. `records.py` has the layout. */

export type Numbers = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;

export interface RecordArray {
  key: string;
  shape: number[];
  data: Numbers;
}

export interface Header {
  frame: number;
  exact: boolean;
  stamp: number;
  prims?: string[];
  matrices: Record<string, number[]>;
  up: string;
  camera: { eye: number[]; direction: number[]; fov: number } | null;
}

export interface FrameRecord {
  header: Header;
  arrays: RecordArray[];
}

const KINDS = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  uint32: Uint32Array,
  uint8: Uint8Array,
} as const;

/** Reads one record. Throws an Error for bytes that are no record. */
export function parseRecord(bytes: ArrayBuffer): FrameRecord {
  const view = new DataView(bytes);
  const headerLength = view.getUint32(4, true);
  const base = 8 + headerLength;
  const { arrays, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, headerLength)));
  const listed = arrays as { key: string; dtype: keyof typeof KINDS; shape: number[]; offset: number }[];
  return {
    header,
    arrays: listed.map(({ key, dtype, shape, offset }) => {
      const Kind = KINDS[dtype];
      if (!Kind) throw new Error(`the array ${key} has the unknown type ${dtype}`);
      const count = shape.reduce((a, b) => a * b, 1);
      return { key, shape, data: new Kind(bytes, base + offset, count) };
    }),
  };
}

/** Cuts a stream of bytes into records. */
export class RecordReader {
  private chunks: Uint8Array[] = [];
  private size = 0;

  /** Takes a chunk and returns the records that are complete now. */
  push(chunk: Uint8Array): ArrayBuffer[] {
    this.chunks.push(chunk);
    this.size += chunk.byteLength;
    const found: ArrayBuffer[] = [];
    for (let length = this.length(); length && this.size >= length; length = this.length()) {
      found.push(this.take(length));
    }
    return found;
  }

  private length(): number {
    if (this.size < 4) return 0;
    const head = new Uint8Array(4);
    let at = 0;
    for (const chunk of this.chunks) {
      for (let i = 0; i < chunk.length && at < 4; i++) head[at++] = chunk[i];
      if (at === 4) break;
    }
    return new DataView(head.buffer).getUint32(0, true);
  }

  private take(length: number): ArrayBuffer {
    const record = new Uint8Array(length);
    let at = 0;
    while (at < length) {
      const chunk = this.chunks[0];
      const used = Math.min(chunk.length, length - at);
      record.set(chunk.subarray(0, used), at);
      at += used;
      if (used === chunk.length) this.chunks.shift();
      else this.chunks[0] = chunk.subarray(used);
    }
    this.size -= length;
    return record.buffer;
  }
}
