import { ChangeSet, Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { type SharedText, SharedTexts, type Typed } from "./shared_text";

const NODE = "/Graph/lift";
const AUTHORED = "x = 1\n# 🌊 é\n";

/** Numbers from 0 to 1, the same for the same seed. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

/** The server of one text: it takes changes of the newest revision, and ignores others. */
class Server {
  text = Text.of(AUTHORED.split("\n"));
  log: Typed[] = [];
  windows: Window[] = [];

  take(message: { rev: number; client: string; changes: unknown[] }): void {
    if (message.rev !== this.log.length) return;
    const updates = message.changes.map((changes) => ({ client: message.client, changes }));
    for (const { changes } of updates) this.text = ChangeSet.fromJSON(changes).apply(this.text);
    for (const window of this.windows)
      if (window.isConnected)
        window.inbox.push((texts) => texts.typed(NODE, this.log.length - updates.length, updates));
    this.log.push(...updates);
  }
}

/** A window whose messages, in both directions, take until they are delivered. */
class Window {
  isConnected = true;
  inbox: ((texts: SharedTexts) => void)[] = [];
  outbox: Parameters<Server["take"]>[0][] = [];
  typed: string[] = [];
  texts = new SharedTexts(
    (_, fields) => {
      if (this.isConnected) this.outbox.push(structuredClone(fields) as never);
      return this.isConnected;
    },
    () => {},
  );

  constructor(
    private server: Server,
    private random: () => number,
    private number: number,
  ) {
    this.texts.keep(new Map([[NODE, AUTHORED]]));
    server.windows.push(this);
  }

  get own(): SharedText {
    return this.texts.get(NODE) as SharedText;
  }

  /** Types a character that nobody else types, at any place, or in place of one of the scene's text. */
  type(): void {
    const doc = this.own.state.doc.toString();
    const character = String.fromCharCode(0x4e00 + 3 * this.typed.length + this.number);
    const old = this.random() < 0.2 ? doc.indexOf("=") : -1;
    const at = Math.floor(this.random() * (doc.length + 1));
    const from = old >= 0 ? old : at === doc.indexOf("🌊") + 1 ? at - 1 : at; // not into a pair
    this.own.state = this.own.state.update({
      changes: { from, to: old < 0 ? from : from + 1, insert: character },
    }).state;
    this.typed.push(character);
    this.texts.changed(NODE);
  }

  /** Loses what is on its way, or gets what it has missed, as a part or as a whole text. */
  toggle(): void {
    this.isConnected = !this.isConnected;
    this.inbox = [];
    this.outbox = [];
    if (!this.isConnected) return;
    const { server } = this;
    const missed = server.log.slice(this.own.rev);
    const rev = this.own.rev;
    const text = server.text.toString();
    const end = server.log.length;
    this.inbox.push((texts) =>
      missed.length && this.isUnsent && this.random() < 0.5
        ? texts.whole(NODE, text, end, false)
        : texts.typed(NODE, rev, missed),
    );
    this.inbox.push((texts) => texts.pushAll());
  }

  /** True if nothing that was typed here has been taken without an answer, so that a whole text may come. */
  get isUnsent(): boolean {
    return !this.server.log.slice(this.own.rev).some((update) => update.client === this.client);
  }

  private get client(): string {
    return (this.texts as unknown as { client: string }).client;
  }

  receive(): void {
    this.inbox.shift()?.(this.texts);
  }

  deliver(): void {
    const message = this.outbox.shift();
    if (message) this.server.take(message);
  }
}

test.each(Array.from({ length: 200 }, (_, seed) => seed))(
  "all characters survive, and windows converge, in the order of seed %i",
  (seed) => {
    const random = randoms(seed + 1);
    const server = new Server();
    const windows = [0, 1, 2].slice(0, 2 + (seed % 2)).map((number) => new Window(server, random, number));
    for (let step = 0; step < 200; step += 1) {
      const window = windows[Math.floor(random() * windows.length)];
      const action = random();
      if (action < 0.3) window.type();
      else if (action < 0.6) window.deliver();
      else if (action < 0.9 || seed % 4) window.receive();
      else window.toggle();
    }
    for (const window of windows) if (!window.isConnected) window.toggle();
    for (let left = 1; left; ) {
      left = 0;
      for (const window of windows) {
        left += window.inbox.length + window.outbox.length;
        window.deliver();
        window.receive();
      }
    }
    const text = server.text.toString();
    for (const window of windows) {
      expect(window.own.state.doc.toString()).toBe(text);
      expect(window.own.unconfirmed).toEqual([]);
      for (const character of window.typed) expect(text.split(character)).toHaveLength(2); // once
    }
    for (const authored of ["x", "🌊", "é"]) expect(text.split(authored)).toHaveLength(2);
    expect(windows.flatMap((window) => window.typed).length).toBeGreaterThan(20);
  },
);

test("what the server cannot take is dropped, and what was typed after a loss stays", () => {
  const server = new Server();
  const window = new Window(server, randoms(1), 0);
  window.type();
  window.texts.whole(NODE, "y\n", 3, true);
  expect([window.own.state.doc.toString(), window.own.rev, window.own.unconfirmed]).toEqual(["y\n", 3, []]);
});

test("a text runs as the user saw it, or not at all", () => {
  const sent: Record<string, unknown>[] = [];
  const texts = new SharedTexts(
    (_, fields) => sent.push(fields) > 0,
    () => {},
  );
  texts.keep(new Map([[NODE, "ab"]]));
  const own = texts.get(NODE) as SharedText;
  const type = (insert: string) => {
    own.state = own.state.update({ changes: { from: 0, insert } }).state;
    texts.changed(NODE);
  };
  const answer = (client: unknown, insert: string) =>
    texts.typed(NODE, own.rev, [{ client: String(client), changes: [[0, insert], own.rev + 2] }]);
  type("x");
  texts.changed(NODE, true);
  expect(sent.map((each) => each.run)).toEqual([false]);
  answer(sent[0].client, "x");
  expect(sent.map((each) => each.run)).toEqual([false, true]);
  type("y");
  texts.changed(NODE, true);
  answer("another", "z");
  expect(sent.map((each) => each.run)).toEqual([false, true, false, false]);
});

test("a node keeps its text under another name", () => {
  const texts = new SharedTexts(
    () => false,
    () => {},
  );
  texts.keep(new Map([[NODE, "ab"]]));
  const own = texts.get(NODE);
  texts.rename("/Graph", "/Other");
  expect(texts.get("/Other/lift")).toBe(own);
  expect(texts.get(NODE)).toBeUndefined();
});
