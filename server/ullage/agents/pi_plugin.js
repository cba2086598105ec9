// The extension of pi. A brief is stored with the prompt after the compaction, so that a resumed session has it, too.
// A compaction in the middle of a turn is followed by requests without a prompt: until there is one, each gets it.

const BRIEF = "ullage-brief";
const NOTE = "ullage-note";

/** Returns the brief that the session lacks since its last compaction; "" if it has it, or there is none. */
async function missingBrief(briefs, ctx) {
  const branch = ctx.sessionManager.getBranch();
  const at = branch.findLastIndex(({ type }) => type === "compaction");
  if (at < 0) return "";
  if (branch.slice(at + 1).some(({ type, customType }) => type === "custom_message" && customType === BRIEF)) return "";
  return await briefs.of(ctx.sessionManager.getSessionId(), branch[at].id, {
    transcript_path: ctx.sessionManager.getSessionFile(),
  });
}

/** Returns what an event of the session says to `ullage hook`. */
function saidOf(name, ctx) {
  const { sessionManager } = ctx;
  const [session_id, transcript_path] = [sessionManager.getSessionId(), sessionManager.getSessionFile()];
  return { hook_event_name: name, session_id, transcript_path };
}

/** Makes a handler that does nothing where it fails: when the session is closed already, or in another version. */
function careful(handler) {
  return async (event, ctx) => {
    try {
      return await handler(event, ctx);
    } catch {
      return undefined;
    }
  };
}

export default function ullage(pi) {
  const briefs = new Briefs();
  const on = (name, handler) => pi.on(name, careful(handler));
  on("session_before_compact", async ({ preparation }, ctx) => {
    briefs.note(ctx.sessionManager.getSessionId());
    // It has the conversation read, too, while the model writes the summary.
    const guide = await ask(saidOf("PreCompact", ctx));
    // The event takes no instructions. What is summarized is its own copy of the messages, so a prompt at their end
    // reaches the request for the summary and nothing else.
    const { messagesToSummarize: all, turnPrefixMessages: turn } = preparation;
    if (guide) (all.length ? all : turn).push({ role: "user", content: guide, timestamp: Date.now() });
  });
  on("before_agent_start", async (_, ctx) => {
    const content = await missingBrief(briefs, ctx);
    return content ? { message: { customType: BRIEF, content, display: false } } : undefined;
  });
  on("context", async ({ messages }, ctx) => {
    const content = await missingBrief(briefs, ctx);
    const at = messages.findLastIndex(({ role }) => role === "compactionSummary");
    // The prompt's own may not be stored yet.
    if (!content || messages.some(({ role, customType }) => role === "custom" && customType === BRIEF)) return undefined;
    const brief = { role: "custom", customType: BRIEF, content, display: false, timestamp: Date.now() };
    return { messages: messages.toSpliced(at + 1, 0, brief) };
  });
  if (!GIVES_NOTES) return;
  on("before_agent_start", async (_, ctx) => {
    const content = await ask(saidOf("UserPromptSubmit", ctx));
    return content ? { message: { customType: NOTE, content, display: false } } : undefined;
  });
  on("agent_end", (_, ctx) => void ask({ ...saidOf("Stop", ctx), context_window: ctx.model?.contextWindow }));
}
