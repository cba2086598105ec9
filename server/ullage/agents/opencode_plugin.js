// The plugin of opencode. A brief is not stored: it is added to each request after the compaction, at the same place.

// Agents of opencode's own that ask a model for something else, in the name of the session.
const OTHER_CALLS = ["title", "summary", "compaction"];

function partOf(message, id, text) {
  return { id, messageID: message.id, sessionID: message.sessionID, type: "text", text, synthetic: true };
}

/** Returns the id of a part that is stored: like `id`, which has the time in its first 16 characters, but another. */
function nextId(id) {
  const rest = Array.from({ length: 14 }, () => Math.floor(Math.random() * 36).toString(36));
  return id.slice(0, 16) + rest.join("");
}

/** Adds the brief to the first user message after the summary of the last compaction. */
async function addBrief(briefs, messages) {
  const at = messages.findLastIndex(({ info }) => info.role === "assistant" && info.summary && !info.error);
  if (at < 0) return;
  const { id, sessionID } = messages[at].info;
  const after = messages.slice(at + 1);
  const first = after.find(({ info }) => info.role === "user");
  if (!first) return;
  const text = await briefs.of(sessionID, id);
  // A prompt may have been given it, and keeps it.
  if (!text || after.some(({ parts }) => parts.some((part) => part.text?.includes(text)))) return;
  first.parts.push(partOf(first.info, `${first.info.id}_ullage`, text));
}

export const Ullage = async () => {
  const briefs = new Briefs();
  const windows = new Map();
  return {
    event: async ({ event }) => {
      const session = event.properties?.sessionID;
      if (event.type === "session.compacted") briefs.note(session);
      if (!GIVES_NOTES || event.type !== "session.idle") return;
      await ask({ hook_event_name: "Stop", session_id: session, context_window: windows.get(session) });
    },
    "chat.params": async ({ sessionID, agent, model }) => {
      if (!OTHER_CALLS.includes(agent)) windows.set(sessionID, model?.limit?.context);
    },
    "experimental.session.compacting": async ({ sessionID }, { context }) => {
      // It has the conversation read, too, while the model writes the summary.
      const guide = await ask({ hook_event_name: "PreCompact", session_id: sessionID });
      if (guide) context?.push(guide);
    },
    "experimental.chat.messages.transform": async (_, { messages }) => {
      try {
        await addBrief(briefs, messages);
      } catch {
        // Another version of opencode: the request goes out as it is.
      }
    },
    "chat.message": async ({ sessionID }, { message, parts }) => {
      if (!GIVES_NOTES || parts.length === 0) return;
      const text = await ask({ hook_event_name: "UserPromptSubmit", session_id: sessionID });
      if (text) parts.push(partOf(message, nextId(parts.at(-1).id), text));
    },
  };
};
