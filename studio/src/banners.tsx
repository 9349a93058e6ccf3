import { useEffect } from "react";
import type { Code } from "./messages";
import { getState, notify, send, setState, useStudio } from "./studio";

/** What the user has to decide or to know: consent, a crash, a changed file, edits to recover. */
export function Banners() {
  const consent = useStudio((s) => s.consent);
  const engine = useStudio((s) => s.engine);
  const disk = useStudio((s) => s.disk);
  const recover = useStudio((s) => s.recover);
  const others = useStudio((s) => s.others);
  const bake = useStudio((s) => s.bake);
  const connection = useStudio((s) => s.connection);
  return (
    <div className="banners" aria-live="polite">
      {connection === "lost" && (
        <p className="banner error">The studio is not there any more. Trying again…</p>
      )}
      {connection === "refused" && (
        <p className="banner error">
          Another studio answers here now. This page keeps what it had, to copy; open the address that{" "}
          <code>omni-warp studio</code> has printed.
        </p>
      )}
      {consent.length > 0 && <Consent />}
      {engine.suspects.length > 0 && (
        <p className="banner error">
          <b>{engine.text === "stopped" ? "Stopped." : `Sorry, ${engine.text}.`}</b> Nothing is lost. The last
          good kernel runs, and the text of <Names paths={engine.suspects} /> waits until you change it.
          {engine.text !== "stopped" && engine.suspects.map((node) => <FindOutWhy key={node} node={node} />)}
          <button type="button" onClick={() => send("again")}>
            Run it again
          </button>
        </p>
      )}
      {engine.state === "crashed" && engine.suspects.length === 0 && (
        <p className="banner error">
          <b>Sorry, {engine.text}.</b> The terminal may tell why. Your edits are here, and can be saved.
          <button type="button" onClick={() => send("again")}>
            Try again
          </button>
        </p>
      )}
      {others && (
        <p className="banner">
          Another studio has this file open. What one saves, the other reads or asks about; unsaved edits stay
          apart.
          <button type="button" aria-label="Close" onClick={() => setState({ others: false })}>
            ×
          </button>
        </p>
      )}
      {disk.changed && (
        <p className="banner">
          The file has changed on disk, and you have unsaved edits.
          <button type="button" onClick={() => send("keep")}>
            Keep mine
          </button>
          <button type="button" onClick={() => send("reload")}>
            Take theirs
          </button>
          <button type="button" onClick={() => send("compare")}>
            Compare
          </button>
        </p>
      )}
      {bake && (
        <p className="banner">
          {bake.text}
          {bake.state === "running" ? (
            <button type="button" onClick={() => send("bake", { stop: true })}>
              Stop baking
            </button>
          ) : (
            <button type="button" aria-label="Close" onClick={() => setState({ bake: null })}>
              ×
            </button>
          )}
        </p>
      )}
      {recover.count > 0 && (
        <p className="banner">
          The studio ended with {recover.count} unsaved edit{recover.count > 1 ? "s" : ""}.
          {recover.old &&
            " The file has changed since then; nodes that you had edited become as you left them."}
          <button type="button" className="accent" onClick={() => send("recover", { take: true })}>
            Bring them back
          </button>
          <button type="button" onClick={() => send("recover", { take: false })}>
            Drop them
          </button>
        </p>
      )}
      <Notice />
    </div>
  );
}

/** Runs the text of a node once with every access checked. */
export function FindOutWhy({ node }: { node: string }) {
  const runs = useStudio((s) => s.found?.node === node && s.found.runs);
  return (
    <button type="button" disabled={runs} onClick={() => send("why", { node })}>
      {runs ? "Checking every access…" : "Find out why"}
    </button>
  );
}

function Names({ paths }: { paths: string[] }) {
  return <b>{paths.map((path) => path.split("/").pop()).join(", ")}</b>;
}

function Consent() {
  const codes = useStudio((s) => s.consent);
  const digests = codes.map((code) => code.digest);
  const outside = codes.filter((code) => !code.inside || code.files.length);
  return (
    <div className="banner consent">
      <p>
        <b>This scene contains programs.</b> {codes.length === 1 ? "The text of" : "The texts of"}{" "}
        {codes.slice(0, 6).map((code) => (
          <span key={code.node}>
            <button type="button" className="link" onClick={() => setState({ shownCode: code.node })}>
              {code.node.split("/").pop()}
            </button>
            {codes.length > 1 && <RunOnly code={code} />}{" "}
          </span>
        ))}
        {codes.length > 6 && `and ${codes.length - 6} more `}
        would run on this machine, with your rights. Read {codes.length === 1 ? "it" : "them"} first; nothing
        has run.
        {outside.map((code) => (
          <span key={code.node} className="dim">
            {" "}
            {code.node} reads{" "}
            {[code.inside ? "" : code.origin, ...code.files.map(([, path]) => path)]
              .filter(Boolean)
              .join(", ")}
            .
          </span>
        ))}
      </p>
      <button type="button" className="accent" onClick={() => send("trust", { digests })}>
        Run now
      </button>
      <button type="button" onClick={() => send("trust", { digests, remember: true })}>
        Always run exactly this
      </button>
    </div>
  );
}

/** Lets one text run, while others wait. */
function RunOnly({ code }: { code: Code }) {
  const name = code.node.split("/").pop();
  return (
    <button
      type="button"
      className="small"
      aria-label={`Run ${name} alone`}
      onClick={() => send("trust", { digests: [code.digest], partial: true })}
    >
      run
    </button>
  );
}

function Notice() {
  const notice = useStudio((s) => s.notice);
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(() => getState().notice === notice && notify(""), 8000);
    return () => clearTimeout(timer);
  }, [notice]);
  if (!notice) return null;
  return (
    <p className="banner notice" role="alert">
      {notice}
      <button type="button" aria-label="Close" onClick={() => notify("")}>
        ×
      </button>
    </p>
  );
}
