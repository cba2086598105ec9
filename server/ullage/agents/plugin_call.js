// Made by `ullage wire`; `ullage unwire` removes it. It runs `ullage hook` and gives the agent's model what that
// prints. If Ullage is gone, slow or broken, the agent goes on as without it.
import { spawn } from "node:child_process";

const COMMAND = [];
const GIVES_NOTES = COMMAND.includes("--fill-notes");
// Milliseconds: above the limit of 4 seconds that `ullage hook` keeps by itself, for a machine that is too busy.
const LIMIT = 5000;
// How often a brief is asked for that is not there yet, once for each request to the model.
const TRIES = 5;

/** Returns what `ullage hook` gives the model for an event, "" if it says that there is nothing; undefined if it says
 * nothing. Never fails. */
function ask(said) {
  return new Promise((resolve) => {
    try {
      const child = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
      const timer = setTimeout(() => {
        resolve(undefined);
        child.kill("SIGKILL");
      }, LIMIT);
      let out = "";
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (text) => (out += text));
      child.stdin.on("error", () => {});
      child.on("error", () => {
        clearTimeout(timer);
        resolve(undefined);
      });
      child.on("close", () => {
        clearTimeout(timer);
        resolve(textIn(out));
      });
      child.stdin.end(JSON.stringify(said));
    } catch {
      resolve(undefined);
    }
  });
}

function textIn(answer) {
  try {
    return String(JSON.parse(answer).hookSpecificOutput?.additionalContext ?? "");
  } catch {
    return undefined;
  }
}

/** The briefs of the sessions that this process has, one for each session's last compaction. */
class Briefs {
  constructor() {
    this.sessions = new Map();
    this.compacted = new Set();
  }

  /** Notes that a session was compacted in this process. */
  note(session) {
    this.compacted.add(session);
  }

  /** Returns the brief for a session's compaction; "" if there is none, undefined if there is none yet. `said` is
   * added to the event. */
  async of(session, compaction, said = {}) {
    let known = this.sessions.get(session);
    if (known?.compaction !== compaction) {
      known = { compaction, tries: TRIES, text: undefined };
      this.sessions.set(session, known);
    }
    if (known.text === undefined && known.tries > 0) {
      known.tries -= 1;
      const source = this.compacted.has(session) ? "compact" : "resume";
      const event = { hook_event_name: "SessionStart", source, session_id: session, compaction_id: compaction };
      known.text = await ask({ ...event, ...said });
    }
    return known.text;
  }
}
