/**
 * Kernels' texts that several windows change at once.
 *
 * What is typed here is unconfirmed until the server has taken it. Changes of other windows that the server took before
 * come first: `@codemirror/collab` rebases the unconfirmed ones on them, and they are sent again. The server's side, and
 * the form of a change, is `omni/warp_core/studio/shared_text.py`.
 */

import { collab, getSyncedVersion, receiveUpdates, sendableUpdates, type Update } from "@codemirror/collab";
import { ChangeSet, EditorState, type Extension, StateEffect, type Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { change } from "./text_change";

/** A change in the form of CodeMirror's JSON, and the window that made it; "" for a change that nobody has typed. */
export interface Typed {
  client: string;
  changes: unknown;
}

/** One kernel's text in one window. */
export class SharedText {
  state: EditorState;
  /** True while the server has not answered the last message about this text. */
  isUnderway = false;
  /** True if the user wants the text to run as it is now. */
  runs = false;
  private confirmed: Text;
  private skipped: number;
  private view: EditorView | null = null;
  private isPlain = true;

  constructor(
    text: string,
    rev: number,
    private client: string,
  ) {
    this.state = EditorState.create({ doc: text, extensions: this.extensions([]) });
    this.confirmed = this.state.doc;
    this.skipped = rev;
  }

  private extensions(others: Extension): Extension {
    return [collab({ clientID: this.client }), others];
  }

  /** Lets an editor show the text: it sets `state` from now on. The text gets the extensions of the editor. */
  enter(view: EditorView, extensions: Extension): void {
    this.view = view;
    if (this.isPlain)
      this.state = this.state.update({
        effects: StateEffect.reconfigure.of(this.extensions(extensions)),
      }).state;
    this.isPlain = false;
  }

  /** Ends that. */
  leave(): void {
    this.view = null;
  }

  /** The revision of the server from which the unconfirmed changes start. */
  get rev(): number {
    return this.skipped + getSyncedVersion(this.state);
  }

  /** The changes that the server has not confirmed. */
  get unconfirmed(): unknown[] {
    return sendableUpdates(this.state).map((update) => update.changes.toJSON());
  }

  /** Takes changes that follow revision `rev`; the first ones may be known. */
  receive(rev: number, updates: Typed[]): void {
    const fresh = updates.slice(Math.max(0, this.rev - rev));
    this.take(fresh.map((each) => ({ clientID: each.client, changes: ChangeSet.fromJSON(each.changes) })));
  }

  /** Takes the server's text as a whole: what was typed here is rebased on the difference. */
  replace(text: string, rev: number): void {
    const difference = ChangeSet.of(change(this.confirmed.toString(), text), this.confirmed.length);
    this.take([{ clientID: "", changes: difference }]);
    this.skipped += rev - this.rev;
  }

  private take(updates: Update[]): void {
    this.isUnderway = false;
    for (const update of updates) this.confirmed = update.changes.apply(this.confirmed);
    if (updates.some((update) => update.clientID !== this.client)) this.runs = false; // no longer what the user saw
    if (!updates.length) return;
    const transaction = receiveUpdates(this.state, updates);
    if (this.view) this.view.dispatch(transaction);
    else this.state = transaction.state;
  }
}

/** Sends a message, and tells whether there is a connection. */
type Send = (is: string, fields: Record<string, unknown>) => boolean;

/** The texts of all nodes, by path. `tell` is called with the path of a text that is not as before. */
export class SharedTexts {
  epoch = 0;
  private all = new Map<string, SharedText>();
  private client = Math.random().toString(36).slice(2);

  constructor(
    private send: Send,
    private tell: (node: string) => void,
  ) {}

  get(node: string): SharedText | undefined {
    return this.all.get(node);
  }

  /** Takes the nodes that there are, with their texts; those that are known keep theirs. */
  keep(authored: Map<string, string>): void {
    for (const node of this.all.keys()) if (!authored.has(node)) this.all.delete(node);
    for (const [node, text] of authored)
      if (!this.all.has(node)) this.all.set(node, new SharedText(text, 0, this.client));
  }

  /** Forgets all texts: the scene has others now. */
  restart(epoch: number): void {
    this.all.clear();
    this.epoch = epoch;
  }

  /** The revisions that this window has, for a server that it had lost. */
  known(): Record<string, number> {
    return Object.fromEntries([...this.all].map(([node, own]) => [node, own.rev]));
  }

  /** Takes changes of a text, as the server has them. */
  typed(node: string, rev: number, updates: Typed[]): void {
    this.all.get(node)?.receive(rev, updates);
    this.changed(node);
  }

  /** Takes a whole text. The server `drops` what it could not take; else it is sent again. */
  whole(node: string, text: string, rev: number, drops: boolean): void {
    const own = this.all.get(node);
    if (!own) return;
    if (drops)
      own.receive(
        own.rev,
        own.unconfirmed.map((changes) => ({ client: this.client, changes })),
      );
    own.replace(text, rev);
    this.changed(node);
  }

  /** Takes another name of a node, and of the nodes below it. */
  rename(node: string, to: string): void {
    for (const [path, own] of [...this.all]) {
      if (path !== node && !path.startsWith(`${node}/`)) continue;
      this.all.delete(path);
      this.all.set(to + path.slice(node.length), own);
      own.isUnderway = false;
      this.changed(to + path.slice(node.length));
    }
  }

  /** Notes that a text was changed here, or has to run, and sends that. */
  changed(node: string, runs = false): void {
    const own = this.all.get(node);
    if (!own) return;
    own.runs ||= runs;
    this.tell(node);
    this.push(node, own);
  }

  /** Sends everything that the server has not got, after a connection was lost. */
  pushAll(): void {
    for (const [node, own] of this.all) {
      own.isUnderway = false;
      this.push(node, own);
    }
  }

  private push(node: string, own: SharedText): void {
    const { unconfirmed: changes, rev, runs: run } = own;
    if (own.isUnderway || !(changes.length || run)) return;
    if (!this.send("type", { node, epoch: this.epoch, rev, client: this.client, changes, run })) return;
    own.isUnderway = changes.length > 0;
    own.runs = false;
  }
}
