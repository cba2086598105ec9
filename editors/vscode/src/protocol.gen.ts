// Generated from the server's structs by scripts/gen_protocol.py. Do not edit.

/** A request by its name and the types of its params and result. */
export interface Method<P, R> {
  readonly name: string;
  /** Carries the types, is never set. Take params as `NoInfer<P>`, so that the method alone decides what they are. */
  readonly types?: (params: P) => R;
}

/** A notification by its name and the type of its params. */
export interface NotificationMethod<P> {
  readonly name: string;
  /** Carries the type, is never set. */
  readonly types?: (params: P) => void;
}

/**
 * An agent in which a conversation can be continued. `word` is its name in commands. `own` says whether it is the
 * conversation's own agent.
 */
export interface AgentChoice {
  readonly agent: string;
  readonly word: string;
  readonly own: boolean;
}

/** A chunk of the model's answer. `message_id` is the id that the message will have in the transcript. */
export interface AgentMessageChunk {
  readonly sessionUpdate: "agent_message_chunk";
  readonly content: TextContent;
  readonly messageId: string;
}

/** A chunk of the model's reasoning. `message_id` is the id that the answer will have in the transcript. */
export interface AgentThoughtChunk {
  readonly sessionUpdate: "agent_thought_chunk";
  readonly content: TextContent;
  readonly messageId: string;
}

/**
 * Appends messages to a session. `usage` is the provider's usage object, unchanged, with Anthropic's or OpenAI's field
 * names; without it, that of a whole answer among `messages`. If `model` or `tools` are given, they replace the
 * session's.
 */
export interface AppendParams {
  readonly sessionId: string;
  /**
   * Messages, items or whole answers as the model's API has them (Anthropic's Messages, OpenAI's Chat Completions or
   * Responses), or messages with Ullage's own blocks. Every field is kept. If `id` or `timestamp` (Unix milliseconds)
   * of a message with a `role` is left out, the server sets it.
   */
  readonly messages?: readonly Readonly<Record<string, unknown>>[];
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly model?: string;
  /** Tools as the model's API has them, hosted ones included. Every field is kept. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
}

/** The ids of the appended messages, also those that the server made, and how full the context is now. */
export interface AppendResult {
  readonly messageIds: readonly string[];
  readonly usage: UsageResult;
}

/** The archive of agents' own files, from which a transcript that its agent has deleted is given back. */
export interface ArchiveSettings {
  /** Keep the files of agents on this machine, byte for byte, next to the store, once you have agreed. @default true */
  readonly enabled?: boolean;
  /** Gigabytes of the archive at which no more is kept. Nothing is removed by itself. Unset: no limit. @default 5.0 */
  readonly limit?: number | null;
}

/**
 * The files, commands and names of a range of messages, collected by code. Each list begins with the most important
 * one.
 */
export interface ArtifactLedger {
  readonly files?: readonly FileArtifact[];
  readonly commands?: readonly CommandArtifact[];
  readonly identifiers?: readonly IdentifierArtifact[];
}

export type Block =
  | TextBlock
  | ImageBlock
  | ThinkingBlock
  | ToolUseBlock
  | ToolResultBlock
  | ResourceBlock
  | CompactionBlock;

/**
 * Tokens of the context, or of one message, by kind. The parts of a context sum to `used`. `overhead` is the part that
 * a provider reported beyond what the session contains, such as an agent's own system prompt and tools.
 */
export interface Breakdown {
  /** @default 0 */
  readonly system_prompt?: number;
  /** @default 0 */
  readonly tools?: number;
  /** @default 0 */
  readonly memory?: number;
  /** @default 0 */
  readonly messages?: number;
  /** @default 0 */
  readonly tool_results?: number;
  /** @default 0 */
  readonly summary?: number;
  /** @default 0 */
  readonly overhead?: number;
}

/**
 * A project's instruction file that a compaction puts into its marker. `text` is the file's content at that time; if it
 * is empty, the model is asked to read the file at `path` again.
 */
export interface BroughtBack {
  readonly path: string;
  readonly text?: string;
}

/**
 * How a window is shared out, in tokens. `system_prompt` and `tools` are the tokens that they take (an agent's hidden
 * prompt counts with the system prompt), `reserve` is kept for the answer, and `conversation` may take the rest. The
 * four sum to the window, unless system prompt and tools exceed it; then `conversation` is 0. `available` is the part
 * of the conversation's share that is free; `overflow` is the number of tokens by which the context exceeds usable.
 */
export interface BudgetShares {
  readonly systemPrompt: number;
  readonly tools: number;
  readonly conversation: number;
  readonly reserve: number;
  readonly available: number;
  readonly overflow: number;
}

/** A request at the time `at` (Unix milliseconds) whose `tokens` had to be read anew, and why. */
export interface CacheMiss {
  readonly at: number;
  readonly cause: CacheMissCause;
  readonly tokens: number;
}

/**
 * Why a request found nothing in the cache of what the one before it had left. `idle`: the pause was too long.
 * `compaction`: a summary replaced messages. `model`: another model answered. `messages`: earlier messages were changed
 * or left out, and only what precedes them was still there. `prefix`: the system prompt, the tools or the settings
 * changed, or the provider dropped the prompt early.
 */
export type CacheMissCause = "idle" | "compaction" | "model" | "messages" | "prefix";

/**
 * How it is known how long a provider keeps a prompt in its cache. `promised`: by the kind of entry that the last
 * report says it wrote. `seen`: the longest pause in this conversation after which the prompt was still there.
 */
export type CacheSource = "promised" | "seen";

/**
 * An estimate of the number of model calls until the context is compacted, if it grows as it did recently. `mean` is
 * the tokens left until then divided by the mean growth per call. In at least four of five cases the number is from
 * `low` to `high`.
 */
export interface CallsLeft {
  readonly low: number;
  readonly mean: number;
  readonly high: number;
}

/**
 * What a client can do, as it declares in `capabilities.experimental.ullage` or in `initializationOptions.client`.
 * `permissions`: it asks the user before a tool is used. `models`: it can ask models for the server, and says in
 * `models/offer` which. `folderTrusted` false: the user has not said that the open folder may decide anything, so a
 * project's own instructions for summaries are not read.
 */
export interface ClientAbilities {
  /** @default false */
  readonly permissions?: boolean;
  /** @default false */
  readonly models?: boolean;
  /** @default true */
  readonly folderTrusted?: boolean;
}

/**
 * A command or test run in archived messages: its last outcome, the most informative line of its output (`detail`), how
 * often it ran (`times`), and the index in the transcript of the last message that ran it.
 */
export interface CommandArtifact {
  readonly command: string;
  readonly outcome: Outcome;
  /** @default false */
  readonly is_test?: boolean;
  readonly detail?: string;
  /** @default 1 */
  readonly times?: number;
  /** @default 0 */
  readonly last_index?: number;
}

/** Applies the compaction of a preview. If `summary` is given, it replaces the preview's own. */
export interface CommitParams {
  readonly sessionId: string;
  readonly previewId: string;
  readonly summary?: string;
}

/**
 * Compacts the context now. `focus` says what the summary must keep. `from` and `upTo` are ids of messages in the
 * context: if one or both are given, the messages between them, both included, are compacted and all others stay
 * verbatim. `dryRun` previews the compaction.
 */
export interface CompactParams {
  readonly sessionId: string;
  readonly focus?: string;
  readonly from?: string;
  readonly upTo?: string;
  /** @default false */
  readonly dryRun?: boolean;
}

/**
 * What a compaction did, or would do. A compaction has an `editId`, a preview a `previewId` instead. `archived` holds
 * the messages that it archives. Sizes are tokens of the context. `note` says how the compacted range differs from the
 * one in the request: it is moved so that a tool call and its result stay together.
 */
export interface CompactResult {
  readonly summary: string;
  readonly ledger: ArtifactLedger;
  readonly messagesArchived: number;
  readonly contextSizeBefore: number;
  readonly contextSizeAfter: number;
  readonly usage: UsageResult;
  readonly editId: string | null;
  readonly previewId: string | null;
  readonly archived: readonly Entry[];
  readonly note: string;
}

/**
 * The content of a marker, the message that a compaction puts into the view in place of the archived messages.
 * `timestamp` is Unix milliseconds; `context_size_before` and `context_size_after` are tokens of the whole context.
 * `compaction_number` counts the session's compactions from 1. `kept` holds the ids of messages of the compacted range
 * that stay verbatim. The model is sent `summary`, the rendered `ledger` and the project files in `brought_back`; users
 * see all fields. If a provider made a compaction of its own (`sealed`), this provider is sent its `data` instead.
 */
export interface CompactionBlock {
  readonly type: "context_compaction";
  readonly compaction_number: number;
  readonly timestamp: number;
  readonly summary: string;
  readonly messages_archived: number;
  readonly context_size_before: number;
  /** @default 0 */
  readonly context_size_after?: number;
  readonly kept?: readonly string[];
  readonly ledger?: ArtifactLedger;
  /** @default "offline" */
  readonly summarizer?: string;
  readonly brought_back?: readonly BroughtBack[];
  readonly sealed?: SealedCompaction;
}

/**
 * Details of a compaction. `edit_id` is the id by which the compaction can be undone, `message_id` that of its marker;
 * both are null until the compaction is complete. `messages_archived` counts messages; the context sizes are tokens.
 */
export interface CompactionMeta {
  readonly trigger: string;
  readonly compactionNumber: number;
  readonly editId: string | null;
  readonly messageId: string | null;
  readonly messagesArchived: number;
  readonly contextSizeBefore: number;
  readonly contextSizeAfter: number;
}

/** The states of a compaction: first `in_progress`, then exactly one of the others. */
export type CompactionStatus = "in_progress" | "completed" | "failed" | "cancelled";

/** A chunk of a compaction's summary while the summary is written. Chunks come in order. */
export interface CompactionSummaryChunk {
  readonly sessionUpdate: "compaction_summary_chunk";
  readonly compactionId: string;
  readonly content: TextContent;
}

/**
 * A compaction begins or ends. A field that is left out keeps the value of the earlier update with this `compactionId`.
 */
export interface CompactionUpdate {
  readonly sessionUpdate: "compaction_update";
  readonly compactionId: string;
  readonly status: CompactionStatus;
  readonly summary?: readonly TextContent[];
  readonly error?: string;
  readonly _meta?: { readonly ullage: CompactionMeta };
}

/**
 * Asks one of the client's models. `model` is the `id` of an offered model. The client sends the answer while it is
 * written, in `models/piece` with the same `requestId`, and then answers this request.
 */
export interface CompleteParams {
  readonly requestId: string;
  readonly model: string;
  readonly purpose: Purpose;
  readonly messages: readonly SpokenMessage[];
}

/**
 * The end of an answer. `pieces` is how many `models/piece` the client has sent for it. `fault` is null if the answer
 * is whole; else `reason` is what the client knows of it.
 */
export interface CompleteResult {
  readonly pieces: number;
  readonly fault?: CompletionFault;
  readonly reason?: string;
}

/**
 * Why a client's model gave no whole answer. `no_permission`: the user has not allowed it. `blocked`: the model's
 * vendor takes no more requests for now, or none with this content. `not_found`: there is no such model any more.
 * `too_long`: the prompt is over the model's limit. `failed`: anything else.
 */
export type CompletionFault = "no_permission" | "blocked" | "not_found" | "too_long" | "failed";

/**
 * Replaces all of the session's own context settings: what `context` does not name is the workspace's again. The model
 * is changed by `session/append`.
 */
export interface ConfigureSessionParams {
  readonly sessionId: string;
  /** Fields of `ContextSettings` that differ from the workspace's; forks inherit them. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/**
 * The context settings in effect, the session's own and the workspace's together, and how full the context is by these
 * settings.
 */
export interface ConfigureSessionResult {
  readonly context: ContextSettings;
  readonly usage: UsageResult;
}

/** When the context is made smaller, and by how much. Shares are of usable (the window less the reserve). */
export interface ContextSettings {
  /** Warn and compact automatically. Off while a model's window is unknown. @default true */
  readonly enabled?: boolean;
  /** Share of the usable window at which you are warned, once. @default 0.8 */
  readonly warnAt?: number;
  /** Share of the usable window at which Ullage compacts by itself. @default 0.9 */
  readonly compactAt?: number;
  /** Share from which cheap edits run: repeated file reads, old thinking and tool results. @default 0.65 */
  readonly clearAt?: number;
  /** Share of the usable window a compaction leaves at most. @default 0.5 */
  readonly target?: number;
  /** Tokens kept free for the answer. Unset: min(max output, 20,000, window/4). */
  readonly reserve?: number | null;
  /** Tokens of recent turns kept verbatim. Unset: a quarter of usable, 2,000 to 20,000. */
  readonly keepTail?: number | null;
  /** Most recent tool results that clearing leaves alone. @default 3 */
  readonly keepToolUses?: number;
  /** Cheap edits run only if they save this many tokens, or reach the target. @default 20000 */
  readonly clearAtLeast?: number;
  /** Tools whose results are never cleared nor shortened. */
  readonly excludeTools?: readonly string[];
  /** Tool uses since the last clearing that clear old results, too, if that saves clearAtLeast. Unset: only clearAt. */
  readonly clearAtToolUses?: number | null;
  /** Clear long inputs of old tool uses, too, not only their results. @default false */
  readonly clearToolInputs?: boolean;
  /** Most recent turns whose thinking clearing leaves alone. Null: all of them. @default 1 */
  readonly keepThinkingTurns?: number | null;
  /** Tokens an older tool result keeps when room is needed. Unset: 5% of usable, 1,000 to 10,000. */
  readonly maxResultTokens?: number | null;
  /** The same per tool, by the tool's name. */
  readonly maxResultTokensByTool?: Readonly<Record<string, number>>;
  /** What a full context loses: old messages for a summary, or as this strategy says. @default "summarize" */
  readonly mode?: TruncationMode;
  /**
   * Strategies by which messages go, each until the target is met: in place of the mode's own, or, where it makes
   * summaries, when no summary could be made.
   */
  readonly strategies?: readonly StrategySettings[];
  /** Regular expressions; what they match is left out of every summary, as secrets are. */
  readonly privatePatterns?: readonly string[];
  /** What a compaction says of the project's instruction files: nothing, names, or contents. @default "references" */
  readonly bringBack?: "contents" | "off" | "references";
  /** Folders whose instruction files' contents a compaction may bring back. */
  readonly trustedFolders?: readonly string[];
}

/**
 * How a conversation can be continued: in which agents of this machine, its own first, and whether it can go back to
 * the context before its agent's own last compaction.
 */
export interface ContinuingChoicesResult {
  readonly agents: readonly AgentChoice[];
  readonly beforeCompaction: boolean;
}

/**
 * Previews a new session that the agent named `agent` in commands resumes; without it the conversation's own agent. Its
 * context is the conversation's as it was before the agent's own last compaction (`beforeCompaction`), as it was after
 * the message `messageId`, or the present one. `compacted` says whether Ullage compacts it; without it that is done for
 * the conversation's own agent, if neither of the first two is asked for. `budget` is the most tokens of a compacted
 * context, without what the agent adds, and `focus` says what its summary must keep.
 */
export interface ContinuingPreviewParams {
  readonly sessionId: string;
  readonly agent?: string;
  /** @default false */
  readonly beforeCompaction?: boolean;
  readonly messageId?: string;
  readonly compacted?: boolean;
  readonly budget?: number;
  readonly focus?: string;
}

/**
 * A new session of an agent. `written` is false for a preview, which `previewId` names until it is written or the
 * server ends. `agentSessionId` is the session's id in the agent, `path` its file. `command` are the words that resume
 * it in the folder `cwd`; `shell` is the same as a line for a shell, for any folder. `messages` are those of its
 * context, and `leftOut` those of the conversation that are not among them. `used` is the size of its context in
 * tokens, with the `hidden` ones that the agent adds to every request; `before` is the size before Ullage compacted it,
 * null if it did not. `size` is the window and `compactsAt` where the agent compacts by itself, null if unknown. `fits`
 * is false if the agent may compact the session before it asks the first prompt. `notes` are sentences for the user.
 */
export interface ContinuingResult {
  readonly written: boolean;
  readonly previewId: string;
  readonly agent: string;
  readonly agentSessionId: string;
  readonly path: string;
  readonly cwd: string;
  readonly command: readonly string[];
  readonly shell: string;
  readonly messages: number;
  readonly leftOut: number;
  readonly used: number;
  readonly hidden: number;
  readonly before: number | null;
  readonly size: number | null;
  readonly compactsAt: number | null;
  readonly fits: boolean;
  readonly notes: readonly string[];
}

/** The cost of the session's requests so far, by the providers' list prices. `currency` is an ISO 4217 code. */
export interface Cost {
  readonly amount: number;
  readonly currency: string;
}

/** Asks how many tokens a prompt is for one of the client's models. `model` is the `id` of an offered model. */
export interface CountParams {
  readonly model: string;
  readonly messages: readonly SpokenMessage[];
}

/** The tokens of a prompt by the model's own count, null if it can't count. */
export interface CountResult {
  readonly tokens: number | null;
}

/**
 * An edit as listed for users: its kind, time (Unix milliseconds), trigger, the tokens it saved, and whether it is
 * undone (`reverted`). `part_of` is the id of the edit together with which it is undone, None if it is undone by
 * itself.
 */
export interface EditInfo {
  readonly id: string;
  readonly kind: string;
  readonly timestamp: number;
  readonly trigger: EditTrigger;
  readonly tokensSaved: number;
  /** @default false */
  readonly reverted?: boolean;
  readonly partOf?: string;
}

/** Who started an edit: the user (`manual`) or automatic context management (`automatic`). */
export type EditTrigger = "manual" | "automatic";

/**
 * A message in a page. `index` is its index in the transcript, from 0, where a `system` of `session/new` is the first
 * message. `tokens` is its calibrated count in the context, 0 if it is archived. `inserted` is true for markers and
 * notices, which an edit put into the view; their `index` is that of the message after them. `by_agent` is true for a
 * message with the user's role that the agent's program wrote: a reminder, a command's output, a summary.
 */
export interface Entry {
  readonly message: Message;
  readonly index: number;
  readonly tokens: number;
  readonly archived: boolean;
  readonly pinned: boolean;
  readonly inserted: boolean;
  readonly byAgent: boolean;
}

/**
 * The `data` of an error object, as Ullage sends it. `kind` is the error's name, a word for programs that never
 * changes.
 */
export interface ErrorData {
  readonly kind: string;
}

/**
 * JSON-RPC's error object. `message` is one line for the user. `data` is left out if the request could not be read, and
 * for internal errors.
 */
export interface ErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: ErrorData;
}

/**
 * Exports a session. The format `ullage` is the whole log; with the others it is the context as a provider's request.
 */
export interface ExportParams {
  readonly sessionId: string;
  /** @default "ullage" */
  readonly format?: "anthropic" | "openai" | "openai-responses" | "ullage";
}

/** The exported session: JSONL for the format `ullage`, JSON for the others. */
export interface ExportResult {
  readonly text: string;
}

/**
 * What a conversation did to a file. The ledger keeps one action per file: its last change, but a file that was created
 * and then modified stays `created`, and a later `read` replaces no change.
 */
export type FileAction = "read" | "modified" | "created" | "deleted";

/**
 * A file that archived messages touched, or that the messages after them changed: its path, the action on it (see
 * `FileAction`), the number of actions in archived messages (`times`), and the index in the transcript of the last
 * message that touched it.
 */
export interface FileArtifact {
  readonly path: string;
  readonly action: FileAction;
  /** @default 1 */
  readonly times?: number;
  /** @default 0 */
  readonly last_index?: number;
}

/**
 * A change of a file. `before` and `after` are its texts, null where there is no file. `difference` has the changed
 * lines with two lines around them, as `diff -u` writes them, without the files' names.
 */
export interface FileDifference {
  readonly path: string;
  readonly before: string | null;
  readonly after: string | null;
  readonly difference: string;
}

/**
 * A conversation that an agent has and Ullage follows, and how full its context is. Sizes are tokens, times are Unix
 * milliseconds; a value that is not known is null, and a text that is not known is "". `sessionId` is its session,
 * which can be read as any other. `agentShort` is `agent` in a few characters, for a status bar. `agentSessionId` is
 * the agent's own id of the conversation, and `path` the agent's file. A sub-agent's conversation is only listed if the
 * one that started it is not known; `parent` is the agent's own id of that one, and "" for any other conversation.
 * `live` says whether the conversation continues, and `processId` which process has it open, if the agent says so.
 * `percent` is the used share of the window. `callsLeft` holds two numbers, the fewest and the most model calls until
 * `compactsAt` in four of five cases. `idle` is a compaction that the agent makes because the conversation idles; null
 * if it makes none. `cache` is the provider's cache of the last prompt, with what the next one costs; null if that is
 * not known. `moment` says that now is a good moment to go on in a new session; null if it is not. `rateLimits` is what
 * the agent said last of the limits of the user's subscription. `nearness` is how near `compactsAt` is, or the end of
 * the window if nothing compacts the context; it is null if the conversation is not live. `compactCommand` is what a
 * user types in the agent to compact the conversation, "" if it is not known; some agents take what the summary must
 * keep after it (`takesFocus`). `warnings` are sentences for the user. `forks` are the agent's own ids of conversations
 * with the same beginning that are not listed.
 */
export interface FollowedConversation {
  readonly sessionId: string;
  readonly agent: string;
  readonly agentShort: string;
  readonly agentSessionId: string;
  readonly title: string;
  readonly cwd: string;
  readonly path: string;
  readonly parent: string;
  readonly model: string;
  readonly live: boolean;
  readonly processId: number | null;
  readonly used: number | null;
  readonly usedSource: UsageSource | null;
  readonly percent: number | null;
  readonly window: number | null;
  readonly windowSource: WindowSource | null;
  readonly compactsAt: number | null;
  readonly compactsAtSource: ThresholdSource | null;
  readonly callsLeft: readonly number[] | null;
  readonly idle: IdleCompaction | null;
  readonly cache: PromptCache | null;
  readonly moment: GoodMoment | null;
  readonly rateLimits: readonly RateLimit[];
  readonly nearness: Nearness | null;
  readonly messages: number | null;
  readonly warnings: readonly string[];
  readonly forks: readonly string[];
  readonly updatedAt: number;
  readonly compactCommand: string;
  readonly takesFocus: boolean;
}

/**
 * Says that an agent keeps the session's conversation, whether it is followed now or was imported from the agent's own
 * file. `agent` is the agent's name and `path` that file; a text is "" if it is not known.
 */
export interface FollowedFrom {
  readonly agent: string;
  readonly path: string;
}

/**
 * The params of `following/changed`: the followed conversations that are new or have changed. `gone` are the sessions
 * of those that were deleted, or that another session has replaced, because their agent wrote the file again. `desktop`
 * is as in `FollowingResult`.
 */
export interface FollowingChange {
  readonly rows: readonly FollowedConversation[];
  readonly gone: readonly string[];
  readonly desktop: boolean;
}

/** Empty params, of methods that take none. */
export type FollowingParams = Readonly<Record<string, never>>;

/**
 * Whether the server follows, and the followed conversations, the last changed first. `keeping` is what the user is to
 * be asked, once: it is in the answer of `following/start` until `following/keep` has brought an answer. `desktop` says
 * that the server tells the user what is due by notifications of the operating system: an editor says only that a
 * compaction is near.
 */
export interface FollowingResult {
  readonly following: boolean;
  readonly rows: readonly FollowedConversation[];
  readonly keeping: KeepingQuestion | null;
  readonly desktop: boolean;
}

/** Forks a session after the message `messageId`, or at its end if that is left out. */
export interface ForkSessionParams {
  readonly sessionId: string;
  readonly messageId?: string;
  readonly title?: string;
}

/**
 * A conversation in an agent's own file. A text is "" if it is not known. `path` and `run` are those of
 * `session/import`; `run` is null if the file contains one conversation. `agent` is the product's name, `format` the
 * name of the file's format, and `originId` the agent's own id of the conversation. `here` says whether it began in
 * `cwd` or in a folder in it. `updatedAt` is Unix milliseconds, `bytes` the size of the file. `sessionId` is the id of
 * the stored session that was imported from it last, or null. `used` and `window` (tokens) and `percent` say how full
 * the context is, null as far as that is not known.
 */
export interface FoundTranscript {
  readonly path: string;
  readonly run: number | null;
  readonly agent: string;
  readonly format: string;
  readonly originId: string;
  readonly title: string;
  readonly cwd: string;
  readonly here: boolean;
  readonly model: string;
  readonly updatedAt: number;
  readonly bytes: number;
  readonly sessionId: string | null;
  readonly used: number | null;
  readonly window: number | null;
  readonly percent: number | null;
}

/** What hooks gave back to the agent, the oldest first. */
export interface GivenBackResult {
  readonly rows: readonly GivenBackRow[];
}

/**
 * A text that a hook gave the agent, `at` a time in Unix milliseconds. `why` is `compact` at the restart after a
 * compaction, `resume` when the session was resumed, `prompt` at the next prompt, and `fill` for a note of how full the
 * context is. `editId` is the compaction in force that it was given after; null if there is none, and for a note.
 * `counts` has how many of each kind are in the text, with the kinds of `context/lost`. `characters` are UTF-16 units,
 * `tokens` an estimate of what it costs.
 */
export interface GivenBackRow {
  readonly at: number;
  readonly why: string;
  readonly editId: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly characters: number;
  readonly tokens: number;
  readonly text: string;
}

/**
 * A piece of work has ended with the commit that has the subject `work`, and nothing is open: the next piece can begin
 * in a new session. That begins with at most `tokens` tokens, and its first prompt costs `cost` US dollars by list
 * prices, null if the model has none. `at` is the time of the last answer in Unix milliseconds, 0 if unknown: the same
 * time is the same moment.
 */
export interface GoodMoment {
  readonly at: number;
  readonly work: string;
  readonly tokens: number;
  readonly cost: number | null;
}

/**
 * The tokens of the context that the conversation does not contain: the system prompt and the tools of its agent or
 * client. `tokens` equals the breakdown's `overhead`. `name` is what users see this part called. `parts` name what is
 * known to be in it and sum to `tokens`; empty if nothing is.
 */
export interface Hidden {
  readonly tokens: number;
  readonly name: string;
  readonly parts: readonly HiddenPart[];
}

/**
 * What an agent adds to each request before the conversation. `memory` are files with instructions, such as
 * `CLAUDE.md`, `mcp` are the tools of one MCP server, `history` are earlier messages that the log lacks, whose size it
 * does not say, and `unknown` is what else the log does not contain.
 */
export type HiddenKind = "system_prompt" | "tools" | "mcp" | "memory" | "skills" | "history" | "unknown";

/**
 * Tokens that an agent adds to each request. `name` is the path of a file or the name of an MCP server; of what the log
 * does not contain, the names of the MCP servers in the agent's settings, whose tools are in it; empty for other kinds.
 * `estimated` is false if the agent itself says the number.
 */
export interface HiddenPart {
  readonly kind: HiddenKind;
  readonly tokens: number;
  readonly name?: string;
  /** @default true */
  readonly estimated?: boolean;
}

/**
 * An edit as the user sees it in a list. `words` say what the edit did, to how many `messages`. Sizes are tokens of the
 * whole context before and after the edit, 0 if unknown. `position` is the edit's place in the log. `revertedAt` is the
 * time of its undo in Unix milliseconds, null if it is in force. `files` are those whose repeated reads it replaced,
 * with the tokens that this saved.
 */
export interface HistoryEntry {
  readonly id: string;
  readonly kind: string;
  readonly timestamp: number;
  readonly trigger: EditTrigger;
  readonly tokensSaved: number;
  /** @default false */
  readonly reverted?: boolean;
  readonly partOf?: string;
  readonly position: number;
  readonly words: string;
  readonly messages: number;
  /** @default 0 */
  readonly contextSizeBefore?: number;
  /** @default 0 */
  readonly contextSizeAfter?: number;
  readonly revertedAt?: number;
  readonly files?: readonly RepeatedFile[];
}

/** Every edit ever made in the session, oldest first. */
export interface HistoryResult {
  readonly edits: readonly HistoryEntry[];
}

/**
 * Programs that run before and after a compaction. Each gets one JSON object on standard input and no API keys. If a
 * program fails or takes too long, a notice says so and the compaction continues.
 */
export interface HookSettings {
  /** Program and arguments, run before a compaction. It may stop it or add instructions. */
  readonly preCompact?: readonly string[];
  /** Program and arguments, run after a compaction with its summary and figures. */
  readonly postCompact?: readonly string[];
  /** Seconds after which a hook is stopped. @default 10.0 */
  readonly timeout?: number;
  /** Give the hook before a compaction the messages that are archived, not only their number. @default false */
  readonly shareContent?: boolean;
}

/**
 * A name that the agent wrote in archived messages (function, class, flag, hash, URL, but no path): text around its
 * last occurrence (`context`), how often it occurs (`times`), and the index in the transcript of the last message that
 * has it.
 */
export interface IdentifierArtifact {
  readonly name: string;
  readonly context?: string;
  /** @default 1 */
  readonly times?: number;
  /** @default 0 */
  readonly last_index?: number;
}

/**
 * A compaction that the agent makes by itself at the time `at` (Unix milliseconds), if it still runs and the user types
 * nothing until then. `setting` is the setting of the agent that stops it.
 */
export interface IdleCompaction {
  readonly at: number;
  readonly setting: string;
}

/**
 * A content block with a picture: base64 `data` or a `url`. `width` and `height` are pixels, None if the sender did not
 * give them.
 */
export interface ImageBlock {
  readonly type: "image";
  /** @default "image/png" */
  readonly media_type?: string;
  readonly data?: string;
  readonly url?: string;
  readonly width?: number;
  readonly height?: number;
  readonly provided?: Provided;
}

/**
 * What an import did. `new`: it made a session. `unchanged`: the session of an earlier import has all messages already.
 * `grown`: new messages were appended to the session of an earlier import. `diverged`: there is a session of an earlier
 * import, but the transcript's messages differ from that session's, so a new session was made.
 */
export type ImportOutcome = "new" | "unchanged" | "grown" | "diverged";

/**
 * Imports a transcript from the file `path` or from `text`. `format` is needed if it cannot be detected; the error for
 * the name `list` has the names of all. `run` chooses one conversation, counted from 1, if the file holds several.
 * `cwd` is the session's folder if the transcript names none.
 */
export interface ImportParams {
  readonly path?: string;
  readonly text?: string;
  readonly format?: string;
  readonly run?: number;
  readonly cwd?: string;
}

/**
 * The session of an import: a new one, or that of an earlier import of the same transcript (`outcome`). `messages`
 * counts all of its messages, `added` those that this import has appended. `divergedFrom` is the earlier import's
 * session if the outcome is `diverged`. `unread` lists the lines of the file that could not be read. `passedOver`
 * counts the lines of known kinds that hold no message.
 */
export interface ImportResult {
  readonly session: SessionResult;
  readonly format: string;
  readonly outcome: ImportOutcome;
  readonly messages: number;
  readonly added: number;
  readonly divergedFrom: string | null;
  readonly unread: readonly SkippedLine[];
  readonly passedOver: number;
}

/** The user's answer to whether agents' files are kept. It holds for all editors, and `ullage keep` changes it. */
export interface KeepParams {
  readonly keep: boolean;
}

/**
 * Who keeps the context within its window. `ullage`: Ullage does. `agent`: the agent that has the conversation does;
 * Ullage reads the conversation and compacts it only if the user asks. `nobody`: automatic management is off, or no
 * window is known.
 */
export type Keeper = "ullage" | "agent" | "nobody";

/**
 * What the user is asked once: whether agents' files are kept, which agents delete after a while. Now they would be
 * `conversations` files of `size` bytes, kept compressed in the archive at `path`, in at most `limit` bytes, null for
 * no limit.
 */
export interface KeepingQuestion {
  readonly conversations: number;
  readonly size: number;
  readonly path: string;
  readonly limit: number | null;
}

/** What an entry is, in the order in which pages show the kinds. */
export type Kind = "said" | "task" | "problem" | "check" | "commit" | "file" | "job" | "words" | "earlier";

/**
 * The number of tokens at which the context is compacted, and how that is known. `percent` is `tokens` as a percentage
 * of the window. `times` is the number of compactions that the threshold was learned from, 0 if it was not learned.
 * `basis` is the evidence, one line for the user.
 */
export interface KnownThreshold {
  readonly tokens: number;
  readonly percent: number;
  readonly source: ThresholdSource;
  readonly basis: string;
  readonly times: number;
}

/**
 * The window in tokens and how it is known. `basis` is the evidence, one line for the user. `contradiction` describes
 * evidence against this window, null if there is none.
 */
export interface KnownWindow {
  readonly size: number;
  readonly source: WindowSource;
  readonly basis: string;
  readonly contradiction: string | null;
}

/**
 * How full the context is: `warning` from the warning threshold, `critical` from the compaction threshold, `normal`
 * below both. `off` means that there is no budget, because management is off or no window is known.
 */
export type Level = "off" | "normal" | "warning" | "critical";

/**
 * The state of an entry. A message of the user is `open`, or `repeated` by the same words later. A task is `open`, `in
 * progress`, `done`, `dropped`, or `earlier`: of a list that the agent has left. A problem is `open` or `mended`. A
 * check `passed` or `failed`. A commit is the `last` one, an `earlier` one, or `elsewhere`: in another repository; it
 * is `open` if a branch has none of the conversation yet. A file was `read`, `created`, `changed` or `deleted`. A job
 * is `running` or `ended`. The agent's words and an earlier summary hold (`stands`).
 */
export type Life =
  | "open"
  | "repeated"
  | "in progress"
  | "done"
  | "dropped"
  | "mended"
  | "passed"
  | "failed"
  | "last"
  | "earlier"
  | "elsewhere"
  | "read"
  | "created"
  | "changed"
  | "deleted"
  | "running"
  | "ended"
  | "stands";

/** A limit of the user's own, whatever the window: once a conversation passes it, the user is warned. */
export interface Limit {
  /** Name of the agent that it is for. Unset: all. */
  readonly agent?: string;
  /** Folder that it is for, an absolute path. Unset: all. */
  readonly folder?: string;
  /** Tokens in the context. */
  readonly tokens?: number | null;
  /** US dollars that it has cost, by list prices. */
  readonly cost?: number | null;
}

/** Lists the sessions of one folder, or all if `cwd` is left out. `cursor` is the `nextCursor` of the previous page. */
export interface ListSessionsParams {
  readonly cwd?: string;
  readonly cursor?: string;
}

/** A page of sessions, last changed first. `nextCursor` is missing on the last page. */
export interface ListSessionsResult {
  readonly sessions: readonly ListedSession[];
  readonly nextCursor?: string;
}

/**
 * Lists the conversations that coding agents keep on this machine, the newest first. `cwd` is an absolute path: the
 * conversations of this folder and the folders in it are listed before the others. If `all` is false, the others are
 * left out. Without `cwd`, all are listed. `limit` is the largest number of conversations.
 */
export interface ListTranscriptsParams {
  readonly cwd?: string;
  /** @default true */
  readonly all?: boolean;
  /** @default 30 */
  readonly limit?: number;
}

/** The conversations, without those of sub-agents, and the files that could not be read. */
export interface ListTranscriptsResult {
  readonly transcripts: readonly FoundTranscript[];
  readonly unread: readonly UnreadFile[];
}

/** A listed session in ACP's shape. `updatedAt` is ISO 8601. */
export interface ListedSession {
  readonly sessionId: string;
  readonly cwd: string;
  readonly title: string;
  readonly updatedAt: string;
  readonly _meta: ListedSessionMetas;
}

/** Facts about a listed session for which ACP has no field. `createdAt` is Unix milliseconds. */
export interface ListedSessionMeta {
  readonly model: string;
  readonly messages: number;
  readonly createdAt: number;
  readonly parentId: string | null;
}

/** The `_meta` object of a listed session. */
export interface ListedSessionMetas {
  readonly ullage: ListedSessionMeta;
}

/**
 * Has a tool of `ullage mcp` (`search`, `open`, `context` or `lost`, also with `ullage_` before it) answer about a
 * session, with the arguments that it has there.
 */
export interface LookUpParams {
  readonly sessionId: string;
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/**
 * The tool's text: at most 4 KB, in which everything that was said is quoted. `isError` says that it says what was
 * wrong with the call.
 */
export interface LookUpResult {
  readonly text: string;
  readonly isError: boolean;
}

/**
 * One thing that was left out. `text` is as it was written, without secrets; it may have several lines. `state` is its
 * newest state, such as `open`, `failed` or `created`. `detail` is what is needed to understand it: the question that a
 * reply answers, how a check ended, the line of the summary that says otherwise; may be empty. `index` is the message
 * that it was in.
 */
export interface LostEntry {
  readonly kind: Kind;
  readonly state: Life;
  readonly text: string;
  readonly detail: string;
  readonly index: number;
}

/**
 * Lists what the compaction `editId` left out, or without it the last one in force. `limit` is the most entries of each
 * kind, `briefSize` the most UTF-16 units of the brief.
 */
export interface LostParams {
  readonly sessionId: string;
  readonly editId?: string;
  /** @default 100 */
  readonly limit?: number;
  /** @default 10000 */
  readonly briefSize?: number;
}

/**
 * What a compaction left out that its summary does not say: what the user said and decided, and what is open, failed or
 * done, but not every archived message. It comes by kind: of each first what the summary contradicts, then what is
 * open, then the rest, the newest first. `editId` is null, and the rest empty, if no compaction is in force.
 * `timestamp` is the compaction's time in Unix milliseconds, 0 if unknown. `messages` counts those before it, `kept`
 * those among them that the agent still has. `readable` is false if the summary is encrypted, so that what it leaves
 * out is not known. `counts` has how many were left out of each kind, whether listed or not, and `missing` how many of
 * these no hook has given back yet. `brief` quotes it as a page to be given back to the agent; empty if nothing was
 * left out or there is no room for a line.
 */
export interface LostResult {
  readonly editId: string | null;
  readonly timestamp: number;
  readonly messages: number;
  readonly kept: number;
  readonly readable: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly missing: Readonly<Record<string, number>>;
  readonly entries: readonly LostEntry[];
  readonly brief: string;
}

/**
 * One message of a transcript. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown.
 * `provided` is the message as a program gave it in a provider's format.
 */
export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly content: readonly Block[];
  /** @default 0 */
  readonly timestamp?: number;
  readonly provided?: Provided;
}

/**
 * Lists messages. `scope` `context` lists the messages that the model would be sent, `transcript` lists every message,
 * archived or not. `messageId` asks for that message alone, archived or not; scope, offset and limit are then ignored.
 * Without `limit`, all from `offset` on are listed. With `provider`, the result also has the context as a request of
 * that provider.
 */
export interface MessagesParams {
  readonly sessionId: string;
  readonly messageId?: string;
  /** @default "context" */
  readonly scope?: "context" | "transcript";
  /** @default 0 */
  readonly offset?: number;
  readonly limit?: number;
  readonly provider?: Provider;
}

/**
 * A page of messages. `total` counts all messages of the scope. `request` has the fields of a request of the provider
 * that the params named, null if they named none.
 */
export interface MessagesResult {
  readonly entries: readonly Entry[];
  readonly total: number;
  readonly request: Readonly<Record<string, unknown>> | null;
}

/** The next piece of an answer, in the order in which the model writes it. */
export interface ModelPiece {
  readonly requestId: string;
  readonly text: string;
}

/** Settings for one model, which override the catalog's facts about it. */
export interface ModelSettings {
  /** Input tokens the model accepts. */
  readonly window?: number | null;
  /** Most tokens of one answer. */
  readonly maxOutput?: number | null;
  /** How to count this model's tokens. */
  readonly encoding?: "approximate" | "cl100k_base" | "o200k_base" | null;
  /**
   * How the model calls tools: by its provider's own way, or in its text, as XML tags or between fences of three
   * carets. Unset: native, or xml where the provider has nativeTools false.
   */
  readonly toolSyntax?: "caret" | "native" | "xml" | null;
  /** Further instructions for summaries of this model's conversations. */
  readonly summaryPrompt?: string;
  /** Context settings of this model's conversations that differ, for example its strategies. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/**
 * How near the compaction of a context is, or the end of the window where nothing compacts it. `imminent`: so few calls
 * are left that a user who wants to act must act now; `near`: it is worth a look; `far`: neither; `compacting`: its
 * agent has said that it compacts it, and has written nothing since.
 */
export type Nearness = "far" | "near" | "imminent" | "compacting";

/**
 * Starts a session. All fields are optional. `system` is a text or content blocks, `tools` are those of the model's
 * API, both are kept as given.
 */
export interface NewSessionParams {
  readonly cwd?: string;
  readonly model?: string;
  readonly title?: string;
  /** A text, or content blocks as the model's API has them, for example with `cache_control`. */
  readonly system?: string | readonly Readonly<Record<string, unknown>>[];
  /** Tools as the model's API has them, hosted ones included. Every field is kept. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  /** Fields of `ContextSettings` that differ from the workspace's; forks inherit them. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** An empty result, of methods that return nothing. */
export type Nothing = Readonly<Record<string, never>>;

/**
 * A line of text for the user. It is sent once to the clients that are connected, and is not part of the transcript.
 */
export interface Notice {
  readonly sessionUpdate: "notice";
  readonly severity: Severity;
  readonly title: string;
  readonly description?: string;
  readonly _meta?: { readonly ullage: NoticeMeta };
}

/**
 * A notice's kind (a word that never changes, for programs) and the id of the edit that the notice is about, null if
 * there is none.
 */
export interface NoticeMeta {
  readonly kind: string;
  readonly editId: string | null;
}

/**
 * What the user is told by itself. `on`: a good moment to go on in a new session, where the figure is shown. `off`: not
 * that. `desktop`: that, and a notification of the operating system for each good moment, for a compaction because a
 * conversation idles, some minutes before it, and for a limit of the user's own.
 */
export type Notices = "on" | "off" | "desktop";

/**
 * A model that the client offers. `id` is the client's own name of it, without `editor/`, and `name` what users read.
 * `maxInputTokens` is the longest prompt that it takes.
 */
export interface OfferedModel {
  readonly id: string;
  readonly name: string;
  readonly maxInputTokens: number;
}

/** The models that the client offers from now on, all of them. `editor` is the client's name as its users know it. */
export interface OfferedModels {
  readonly editor: string;
  readonly models: readonly OfferedModel[];
}

/** The copy on this machine of a store in PostgreSQL, for times without its server. */
export interface OfflineSettings {
  /**
   * Keep a copy on this machine of what is used of a store in PostgreSQL, for times without its server. Read when the
   * server starts. @default true
   */
  readonly enabled?: boolean;
  /**
   * Gigabytes of that copy above which the conversations go that were not used for longest. Null: no limit. Read when
   * the server starts. @default 1.0
   */
  readonly limit?: number | null;
}

/** How a command ended, as far as its output shows; `unknown` if the output does not show it. */
export type Outcome = "passed" | "failed" | "unknown";

/** The kinds of options that Ullage offers when it asks for permission, a subset of ACP's. */
export type PermissionKind = "allow_once" | "allow_always" | "reject_once";

/** One option of a permission request; `name` is its label. */
export interface PermissionOption {
  readonly optionId: string;
  readonly name: string;
  readonly kind: PermissionKind;
}

/** The user's choice. `optionId` is present if an option was selected. */
export interface PermissionOutcome {
  readonly outcome: PermissionOutcomeKind;
  readonly optionId?: string;
}

/** Whether the user chose an option, or the prompt turn was cancelled before. */
export type PermissionOutcomeKind = "selected" | "cancelled";

/** The tool call for which permission is asked, with the fields of its `tool_call` update. */
export interface PermissionToolCall {
  readonly toolCallId: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly status: ToolStatus;
  readonly locations: readonly ToolLocation[];
  readonly rawInput?: Readonly<Record<string, unknown>>;
}

/** Pins a message of the context. `pinned` false unpins it. */
export interface PinParams {
  readonly sessionId: string;
  readonly messageId: string;
  /** @default true */
  readonly pinned?: boolean;
}

/** The ids of all pinned messages of the session. */
export interface PinResult {
  readonly pinned: readonly string[];
}

/**
 * The provider's cache of a conversation's last prompt. It is kept until the time `until` (Unix milliseconds), `keeps`
 * milliseconds after its last use; `source` says how that is known. `tokens` is what it holds of the context. The next
 * request costs `warm` US dollars until then and `cold` after it, both without its answer and by list prices; null if
 * the model has none. `miss` is the last request that found nothing, null if none did.
 */
export interface PromptCache {
  readonly until: number;
  readonly keeps: number;
  readonly source: CacheSource;
  readonly tokens: number;
  readonly warm: number | null;
  readonly cold: number | null;
  readonly miss: CacheMiss | null;
}

/** Prompts the model, or runs a slash command. `prompt` holds ACP content blocks. */
export interface PromptParams {
  readonly sessionId: string;
  /** ACP content blocks. */
  readonly prompt: readonly Readonly<Record<string, unknown>>[];
}

/** How the prompt turn ended, by ACP's stop reason. */
export interface PromptResult {
  readonly stopReason: TurnEnd;
}

/**
 * Whether the session's prompts would be answered. `provider` is the name of the provider that would answer, null if
 * there is none. `remedy` then says what the user can do, and `lacks_package` whether a Python package is all that is
 * missing.
 */
export interface Prompting {
  readonly provider: string | null;
  readonly remedy: string;
  readonly lacksPackage: boolean;
}

/**
 * What a provider's format says of a message, a content block or a tool. `format` is `anthropic`, `openai`, `openai-
 * responses`, or, for a message that an agent's program wrote with the user's role, `program`. If it is `whole`,
 * `fields` are the complete value as a program gave it, and a request in that format has this very value. In a message
 * that is no longer `whole`, edits have changed the content since. Other formats leave it out. A kind of block that
 * Ullage does not know is a text block of its JSON, to be counted and searched.
 */
export interface Provided {
  readonly format: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** @default false */
  readonly whole?: boolean;
}

/** A message format: Anthropic's Messages API, OpenAI's Chat Completions or OpenAI's Responses. */
export type Provider = "anthropic" | "openai" | "openai-responses";

/** How to reach one provider. Keys are never settings: they come from the environment or the system's keyring. */
export interface ProviderSettings {
  /** What it speaks: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, or a file. */
  readonly kind: "anthropic" | "openai" | "openai_chat" | "replay" | "scripted";
  /** The server's address. Unset: the provider's own. */
  readonly baseUrl?: string;
  /** Environment variable that holds the key. Unset: the provider's own. */
  readonly keyEnv?: string;
  /** The script or transcript that a scripted or replay provider plays. */
  readonly file?: string;
  /** Models it serves; names may end in `*`. */
  readonly models?: readonly string[];
  /** The server understands tool calls. @default true */
  readonly nativeTools?: boolean;
  /**
   * The server takes PDF documents in Chat Completions. Unset: OpenAI's own does, others do not. Anthropic Messages and
   * OpenAI Responses always do.
   */
  readonly documents?: boolean | null;
  /** Seconds without a word from the server after which it is given up. @default 120.0 */
  readonly timeout?: number;
  /**
   * Let the provider itself clear old tool results (Anthropic) and make compactions (Anthropic, OpenAI), for models
   * that can. @default false
   */
  readonly contextEditing?: boolean;
}

/** What an offered model is asked for: the next answer of a chat, or the summary of a compaction. */
export type Purpose = "answer" | "summary";

/**
 * How much of the messages after the first exchange a truncation keeps: nothing, the last two messages, the last half
 * or the last quarter of them. The choices are those of other coding agents.
 */
export type RangeKeep = "none" | "lastTwo" | "half" | "quarter";

/**
 * How much of a limit of the user's subscription is used, as an agent says it to its status line or in its log:
 * `percent` of what is allowed in a time called `name`, such as `5h` or `7d`. `until` is when that time ends, in Unix
 * milliseconds, null if unknown.
 */
export interface RateLimit {
  readonly name: string;
  readonly percent: number;
  readonly until: number | null;
}

/**
 * What the user should know about the threshold at which the agent compacts, about its absence, or about a limit.
 * `text` is one sentence.
 */
export interface Remark {
  readonly kind: RemarkKind;
  readonly text: string;
}

/**
 * What a remark on the threshold says. `no_threshold`: the agent does not compact this model's context by itself.
 * `changed`: the threshold differs from the one that earlier compactions show. `no_effect`: a setting of the agent asks
 * for another threshold, and the conversation shows that the agent does not follow it. `passed`: the conversation has
 * gone on beyond the threshold, so the real one is not known. `uncertain`: a setting of the agent is about compaction,
 * and its effect is not known. `limit`: the conversation has passed a limit of the user's own.
 */
export type RemarkKind = "no_threshold" | "changed" | "no_effect" | "passed" | "uncertain" | "limit";

/** Gives a session another title, in one line. */
export interface RenameSessionParams {
  readonly sessionId: string;
  readonly title: string;
}

/**
 * What repeated reads of one file cost. `occurrences` is the number of reads in which a notice replaced lines of the
 * file. `tokens_saved` is the file's share of the tokens that the edit saved, apportioned by characters.
 */
export interface RepeatedFile {
  readonly path: string;
  readonly occurrences: number;
  readonly tokens_saved: number;
}

/** Params of the request by which the server asks the client's user whether a tool call may be made. */
export interface RequestPermissionParams {
  readonly sessionId: string;
  readonly toolCall: PermissionToolCall;
  readonly options: readonly PermissionOption[];
}

/** The client's result of a permission request. */
export interface RequestPermissionResult {
  readonly outcome: PermissionOutcome;
}

/**
 * A file or other resource that was added to the conversation. `data` is the base64 of content that is not text, for
 * example of a PDF. Without `text` and `data` it is only a link.
 */
export interface ResourceBlock {
  readonly type: "resource";
  readonly uri: string;
  readonly text?: string;
  readonly mime_type?: string;
  readonly data?: string;
  readonly provided?: Provided;
}

/**
 * Goes back to a checkpoint: undoes the edits made after it, and redoes the edits undone after it. Exactly one field
 * names the checkpoint: the place after an edit (which stays in force) or after a message, a position in the log, or a
 * time in Unix milliseconds or ISO 8601. `dryRun` only says what would change.
 */
export interface RestoreParams {
  readonly sessionId: string;
  readonly editId?: string;
  readonly messageId?: string;
  readonly position?: number;
  readonly timestamp?: number | string;
  /** @default false */
  readonly dryRun?: boolean;
}

export type ResultPart = TextBlock | ImageBlock | ResourceBlock;

/**
 * The edits that were undone or redone, in their new state, the number of messages that came back into the context
 * (negative if redone edits removed more), and how full the context is. After a `dryRun`: what they would be.
 */
export interface RevertResult {
  readonly edits: readonly EditInfo[];
  readonly messagesBack: number;
  readonly usage: UsageResult;
}

/** Who a message is from. Tool results are the user's, as in Anthropic's API. */
export type Role = "system" | "user" | "assistant";

/**
 * A provider's own compaction of the archived messages, as encrypted `data` that only this provider can read.
 * `provider` is the provider's name in the settings; `tokens` is the size of `data` in a prompt.
 */
export interface SealedCompaction {
  readonly provider: string;
  readonly data: string;
  readonly tokens: number;
}

/**
 * A message that matches a search. A higher `score` is better. `snippet` marks the matches by `**`. `index` is the
 * message's index in the transcript, as in `Entry`, inherited messages included. `role` is `tool` for results of tools
 * and `agent` for what an agent's program wrote: models are sent both with the user's role. `fits` says whether the
 * message has most of the query's words near each other; one that does not is seldom what was searched for. A hit may
 * still be in the context: the `Entry` of its message says whether it is `archived`.
 */
export interface SearchHit {
  readonly sessionId: string;
  readonly messageId: string;
  readonly index: number;
  readonly role: string;
  readonly score: number;
  readonly snippet: string;
  readonly fits: boolean;
}

/**
 * Searches the messages of one session, or of all if `sessionId` is left out. `query` holds names, whole or in part, or
 * a question in plain words.
 */
export interface SearchParams {
  readonly query: string;
  readonly sessionId?: string;
  /** @default 10 */
  readonly limit?: number;
}

/**
 * The messages that match the query, best first. `context/messages` with a hit's `sessionId` and `messageId` gives the
 * whole message. `unread` is the number of stored records that are not indexed yet and so were not searched; `note` is
 * a sentence to show with the results, if it is not empty.
 */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
  readonly unread: number;
  readonly note: string;
}

/**
 * A server that makes embeddings of texts, by which a search orders what it has found by its words. Without one, words
 * alone decide and nothing leaves the machine. Its key comes from the environment or the system's keyring.
 * `team_archive` is what a search of the team reads, and nothing else does.
 */
export interface SearchSettings {
  /**
   * Server with OpenAI's /embeddings, such as http://127.0.0.1:11434/v1. Queries and the texts that they find are sent
   * to it, without secrets and private text.
   */
  readonly embeddingsUrl?: string;
  /** The server's model for embeddings. */
  readonly embeddingsModel?: string;
  /** Environment variable that holds the server's key. Unset: OPENAI_API_KEY, if there is one. */
  readonly embeddingsKeyEnv?: string;
  /**
   * A team's archive to search, as postgresql://HOST/DATABASE. Unset: that of ULLAGE_TEAM, else the one that `ullage
   * team share` was given.
   */
  readonly teamArchive?: string;
}

/**
 * Drops messages kind by kind in the given order, and of one kind the oldest first. Messages of a kind that is not
 * named are kept as long as that is possible.
 */
export interface Selective {
  readonly type: "selective";
  /** The kinds that are dropped, in this order. */
  readonly order?: readonly Speaker[];
}

/**
 * The session's title or the time of its last change (ISO 8601) changed. If no window is known, `_meta` has the figures
 * of the context, because no `UsageUpdate` is sent.
 */
export interface SessionInfoUpdate {
  readonly sessionUpdate: "session_info_update";
  readonly title?: string;
  readonly updatedAt?: string;
  readonly _meta?: { readonly ullage: UsageMeta };
}

/** The params of `session/update`, which is ACP's `SessionNotification`. */
export interface SessionNotification {
  readonly sessionId: string;
  readonly update: Update;
}

/** Names the session that the method is about. */
export interface SessionParams {
  readonly sessionId: string;
}

/** A session with its title and folder, how full its context is, and whether its prompts would be answered. */
export interface SessionResult {
  readonly sessionId: string;
  readonly title: string;
  readonly cwd: string;
  readonly usage: UsageResult;
  readonly prompting: Prompting;
}

/** All settings of Ullage. */
export interface Settings {
  /** Model assumed for conversations that do not name one. */
  readonly model?: string;
  /** Overrides per model name, for example its window. */
  readonly models?: Readonly<Record<string, ModelSettings>>;
  /** Provider to talk to: anthropic, openai, or a name under providers. Unset: by model and key. */
  readonly provider?: string;
  /** Providers by name. */
  readonly providers?: Readonly<Record<string, ProviderSettings>>;
  readonly context?: ContextSettings;
  readonly summary?: SummarySettings;
  readonly hooks?: HookSettings;
  readonly archive?: ArchiveSettings;
  readonly search?: SearchSettings;
  readonly offline?: OfflineSettings;
  /** Limits of your own for conversations. The innermost folder's counts, then the agent's. */
  readonly limits?: readonly Limit[];
  /**
   * Good moments to go on in a new session: on, off, or desktop, which also notifies you by the system of these, of
   * compactions of idle conversations and of your limits. @default "on"
   */
  readonly notices?: Notices;
  /**
   * Where conversations are kept: a file, or a PostgreSQL database as postgresql://HOST/DATABASE. Unset: a file of your
   * own. Read when the server starts.
   */
  readonly store?: string;
}

/** How important a notice is for the user. */
export type Severity = "info" | "warning" | "error";

/**
 * A part of a transcript file that was not turned into an event. `line` is its line number or the number of its
 * element, from 1. `reason` says why it was skipped. `expected` is true for parts that the format has in addition to
 * the conversation (progress lines, snapshots), and false for parts that could not be read. `run` is the number of a
 * sub-agent's conversation in the file.
 */
export interface SkippedLine {
  readonly line: number;
  readonly reason: string;
  readonly expected: boolean;
  readonly run: number | null;
}

/** Keeps the last `maxMessages` messages and drops the older ones, even if the context would fit without that. */
export interface SlidingWindow {
  readonly type: "sliding_window";
  /** Messages that stay. @default 20 */
  readonly maxMessages?: number;
}

/**
 * Keeps the first and the last messages. Drops the oldest of the messages between them until the context fits the
 * target.
 */
export interface Smart {
  readonly type: "smart";
  /** Messages that stay at the beginning. @default 2 */
  readonly keepFirst?: number;
  /** Messages that stay at the end. @default 10 */
  readonly keepLast?: number;
}

/**
 * The kind of a group of messages that are dropped together: a tool use with its results, a text of the assistant, or a
 * message of the user.
 */
export type Speaker = "tool" | "assistant" | "user";

/** A message of a request to an offered model. Calls of tools and their results are written as text. */
export interface SpokenMessage {
  readonly role: SpokenRole;
  readonly text: string;
}

/** Who said a message of a request to an offered model. */
export type SpokenRole = "user" | "assistant";

/**
 * Starts following the conversations of agents on this machine, to which the user has agreed. `folders` are absolute
 * paths: the newest conversation of each is listed, too, however old it is. If `all` is false, only conversations of
 * these folders and the folders in them are listed; without `folders` all are.
 */
export interface StartFollowingParams {
  readonly folders?: readonly string[];
  /** @default true */
  readonly all?: boolean;
}

export type StrategySettings = SlidingWindow | TokenBudget | Selective | Smart | TruncateRange;

/** Who writes the summary of a compaction, and how. */
export interface SummarySettings {
  /** auto: a model where one is configured, else offline. @default "auto" */
  readonly writer?: "auto" | "model" | "offline";
  /** Model that writes summaries. Unset: the conversation's own. */
  readonly model?: string;
  /**
   * File with your own instructions for summaries by a model. A project's own, in .ullage/summary.md, are given after
   * them.
   */
  readonly promptFile?: string;
  /** Share of the usable window from which a summary is prepared in the background. @default 0.75 */
  readonly prepareAt?: number;
  /** Ask instead of compacting by itself, as long as the context is not over its usable window. @default false */
  readonly confirm?: boolean;
}

/**
 * A message in the team's archive that matches. `owner` is the role of the database whose it is; `folder` and `title`
 * are those of its session. `index`, `role`, `score`, `snippet` and `fits` are as in `SearchHit`, `text` is the part of
 * the message that matches. `sessionId` names the copy, which `team/open` alone takes.
 */
export interface TeamHitRow {
  readonly owner: string;
  readonly folder: string;
  readonly title: string;
  readonly sessionId: string;
  readonly index: number;
  readonly role: string;
  readonly score: number;
  readonly snippet: string;
  readonly fits: boolean;
  readonly text: string;
}

/** Reads a whole message in the team's archive: one that `team/search` has found, or one before or after it. */
export interface TeamOpenParams {
  readonly sessionId: string;
  readonly index: number;
}

/**
 * A whole message in the team's archive, without what its owner keeps private. `owner`, `folder`, `title`, `sessionId`,
 * `index` and `role` are as in `TeamHitRow`; `messages` is the number of messages of the copy.
 */
export interface TeamOpenResult {
  readonly owner: string;
  readonly folder: string;
  readonly title: string;
  readonly sessionId: string;
  readonly index: number;
  readonly role: string;
  readonly text: string;
  readonly messages: number;
}

/**
 * Searches the team's archive: the redacted copies that its members share with the user, and the user's own. The query
 * is that of `context/search`.
 */
export interface TeamSearchParams {
  readonly query: string;
  /** @default 10 */
  readonly limit?: number;
}

/** The messages that match, best first. */
export interface TeamSearchResult {
  readonly hits: readonly TeamHitRow[];
}

/** A content block of plain text. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
  readonly provided?: Provided;
}

/** A text, in the shape of ACP's text content block. */
export interface TextContent {
  readonly type: "text";
  readonly text: string;
}

/**
 * A content block with a model's reasoning. `signature` must be sent back to the provider unchanged. `redacted` holds
 * encrypted reasoning that only the provider can read.
 */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly signature?: string;
  readonly redacted?: string;
  readonly provided?: Provided;
}

/**
 * How it is known at how many tokens the context is compacted. `ours`: Ullage compacts there. `settings`: the settings
 * of the agent or of the user say so. `learned`: the agent's own automatic compactions show it. `rule`: agents of this
 * kind and version do so.
 */
export type ThresholdSource = "ours" | "settings" | "learned" | "rule";

/** Drops the oldest messages until the context fits the target. */
export interface TokenBudget {
  readonly type: "token_budget";
}

/** The model calls a tool. `ToolCallUpdate` with the same `toolCallId` reports its progress. */
export interface ToolCall {
  readonly sessionUpdate: "tool_call";
  readonly toolCallId: string;
  readonly title: string;
  readonly kind: ToolKind;
  readonly status: ToolStatus;
  readonly locations: readonly ToolLocation[];
  readonly rawInput?: Readonly<Record<string, unknown>>;
}

/** A tool call's state or content changed. A field that is left out keeps its earlier value. */
export interface ToolCallUpdate {
  readonly sessionUpdate: "tool_call_update";
  readonly toolCallId: string;
  readonly status: ToolStatus;
  readonly title?: string;
  readonly content?: readonly ToolContent[];
  readonly rawInput?: Readonly<Record<string, unknown>>;
}

/** A tool's result as text, in the shape of ACP's tool call content. */
export interface ToolContent {
  readonly type: "content";
  readonly content: TextContent;
}

/** The kinds of the tools in Ullage's toolbox, a subset of ACP's kinds of tool calls. */
export type ToolKind = "read" | "search" | "edit" | "think" | "switch_mode" | "other";

/** A file that a tool call touches; `line` counts from 1. */
export interface ToolLocation {
  readonly path: string;
  readonly line?: number;
}

/** The result of the tool call with the id `tool_use_id`. `is_error` is set if the tool failed. */
export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content?: readonly ResultPart[];
  /** @default false */
  readonly is_error?: boolean;
  readonly provided?: Provided;
}

/** The states of a tool call, as in ACP. */
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

/** A model's call of the tool `name` with `input`. The block with the result has the same id in `tool_use_id`. */
export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly provided?: Provided;
}

/**
 * Drops a range of messages after the first exchange, and again a range of the remaining ones, until the context fits
 * the target.
 */
export interface TruncateRange {
  readonly type: "truncate_range";
  /** How much of those messages is kept. @default "half" */
  readonly keep?: RangeKeep;
}

/** What happens when the context is full: a strategy drops whole messages, or a compaction summarizes them. */
export type TruncationMode = "sliding_window" | "token_budget" | "smart" | "summarize";

/** Why a prompt turn ended: ACP's closed set of stop reasons. */
export type TurnEnd = "end_turn" | "max_tokens" | "max_turn_requests" | "refusal" | "cancelled";

/**
 * Undoes the last edit, or the edit `editId`, with all edits of the same action. `dryRun` only says what the undo would
 * bring back.
 */
export interface UndoParams {
  readonly sessionId: string;
  readonly editId?: string;
  /** @default false */
  readonly dryRun?: boolean;
}

/** A file that could not be read, and the reason in words. */
export interface UnreadFile {
  readonly path: string;
  readonly reason: string;
}

/**
 * Takes Ullage out of the agent `agent`, or without it out of all agents. `agent` is a name as in commands, such as
 * `claude-code`. `dryRun` previews the change. With `previewId`, the change of that preview is made to what the
 * settings say now, or nothing.
 */
export interface UnwireParams {
  readonly agent?: string;
  /** @default false */
  readonly dryRun?: boolean;
  readonly previewId?: string;
}

export type Update =
  | UsageUpdate
  | CompactionUpdate
  | CompactionSummaryChunk
  | Notice
  | SessionInfoUpdate
  | UserMessageChunk
  | AgentMessageChunk
  | AgentThoughtChunk
  | ToolCall
  | ToolCallUpdate;

/**
 * Tokens of one request as the provider reports them, in Anthropic's meaning: `input_tokens` excludes the tokens read
 * from or written to the cache. `reasoning_tokens` are part of `output_tokens`, and `cache_creation_1h_input_tokens`,
 * which stay in the cache for an hour and cost more, are part of `cache_creation_input_tokens`.
 * `ullage.formats.parsing` converts the other providers' shapes.
 */
export interface Usage {
  /** @default 0 */
  readonly input_tokens?: number;
  /** @default 0 */
  readonly output_tokens?: number;
  /** @default 0 */
  readonly cache_read_input_tokens?: number;
  /** @default 0 */
  readonly cache_creation_input_tokens?: number;
  /** @default 0 */
  readonly reasoning_tokens?: number;
  /** @default 0 */
  readonly cache_creation_1h_input_tokens?: number;
}

/**
 * All figures of a context beyond ACP's `used` and `size`, in tokens. Figures that need a window are null if none is
 * known. `as_of` is the time of the last message or report that the figure covers, and `reported_at` that of the last
 * report, in Unix milliseconds, null if there is none; `pending_messages` are those that no report covers.
 * `oldest_timestamp` is the time of the first message in the context, 0 if there is none, and `totals` is the sum of
 * all reports. Every `percent` is a percentage of the window. `usable`, `warn_at` and `compact_at` are tokens; the
 * latter two are null if nothing happens there. `left` is the number of tokens until `compact_at`, or until the end of
 * usable if nothing compacts the context. `calls_left` is null while too few calls are known. `remarks` say why no
 * threshold is known, or what speaks against it. `agent` is the name of the agent that has the conversation, empty if
 * Ullage's client has it. `followed` is null unless an agent on this machine keeps the conversation: then nothing can
 * be changed in it. `idle` is a compaction that the agent makes because the conversation idles, null if it makes none.
 * `cache` is the provider's cache of the last prompt, null if no report shows one or nothing of it is left. `moment`
 * says that now is a good moment to go on in a new session, null if it is not. `rate_limits` is what the agent said
 * last of the limits of the user's subscription.
 */
export interface UsageMeta {
  readonly source: UsageSource;
  readonly level: Level;
  readonly usable: number | null;
  readonly warnAt: number | null;
  readonly compactAt: number | null;
  readonly breakdown: Breakdown;
  readonly totals: Usage;
  readonly model: string;
  readonly messagesActive: number;
  readonly messagesArchived: number;
  readonly compactions: number;
  readonly oldestTimestamp: number;
  readonly reportedAt: number | null;
  readonly pendingMessages: number;
  readonly errorShare: number | null;
  readonly shares: BudgetShares | null;
  readonly asOf: number | null;
  readonly percent: number | null;
  readonly warnPercent: number | null;
  readonly window: KnownWindow | null;
  readonly threshold: KnownThreshold | null;
  readonly left: number | null;
  readonly callsLeft: CallsLeft | null;
  readonly remarks: readonly Remark[];
  readonly hidden: Hidden;
  readonly managedBy: Keeper;
  readonly agent: string;
  readonly followed: FollowedFrom | null;
  readonly idle: IdleCompaction | null;
  readonly cache: PromptCache | null;
  readonly moment: GoodMoment | null;
  readonly rateLimits: readonly RateLimit[];
}

/**
 * How full a context is. `used`: tokens in the context. `size`: the window in tokens, null while it is unknown. `cost`:
 * what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all other figures.
 */
export interface UsageResult {
  readonly used: number;
  readonly size: number | null;
  readonly cost?: Cost;
  readonly _meta: { readonly ullage: UsageMeta };
}

/**
 * How the figure `used` is known. `reported`: the provider's last report covers the whole context. `stale`: messages
 * were appended after that report, and Ullage counted them. `estimated`: Ullage counted the whole context, because
 * there is no report yet or an edit followed the last one.
 */
export type UsageSource = "reported" | "estimated" | "stale";

/**
 * The tokens in the context (`used`), the window (`size`), and the session's cost if the price of every request is
 * known. If no window is known, this update is not sent.
 */
export interface UsageUpdate {
  readonly sessionUpdate: "usage_update";
  readonly used: number;
  readonly size: number;
  readonly cost?: Cost;
  readonly _meta?: { readonly ullage: UsageMeta };
}

/** A user's prompt that was added to the transcript, sent so that every client of the session shows it. */
export interface UserMessageChunk {
  readonly sessionUpdate: "user_message_chunk";
  readonly content: TextContent;
  readonly messageId: string;
}

/**
 * How a window is known. `settings`: the user's settings name it. `agent`: the agent that has the conversation says so.
 * `log`: the conversation itself proves it, by its agent's compactions or by a reported prompt. `rule`: the agent gives
 * this window to its models unless its user chose another; this conversation does not say. `catalog`: the list of
 * models.
 */
export type WindowSource = "settings" | "agent" | "log" | "rule" | "catalog";

/**
 * Adds Ullage to the agent `agent`, or without it to all agents on this machine. `agent` is a name as in commands, such
 * as `claude-code`. With `statusLine` it also becomes the agent's status line, and with `fillNotes` the agent's model
 * gets notes of how full the context is. Without them both stay as they are; false takes them out. `dryRun` previews
 * the change. With `previewId`, exactly the change of that preview is made, or nothing.
 */
export interface WireParams {
  readonly agent?: string;
  /** @default false */
  readonly dryRun?: boolean;
  readonly previewId?: string;
  readonly statusLine?: boolean;
  readonly fillNotes?: boolean;
}

/**
 * An agent whose settings change. `word` is its name in commands and `path` the file with its settings. `wired` says
 * whether Ullage was added to it before this change. `files` are the changes; there are none if everything is as wanted
 * already. `notes` are sentences about what the user has to know or do. `failed` says that settings of this agent,
 * which was not named in the params, can't be changed; its note says why. `options` are what else the agent can get;
 * taking out has none.
 */
export interface WiredAgent {
  readonly agent: string;
  readonly word: string;
  readonly path: string;
  readonly wired: boolean;
  readonly files: readonly FileDifference[];
  readonly notes: readonly string[];
  readonly failed: boolean;
  readonly options: readonly WiringOption[];
}

/** A param of `agents/wire` that an agent knows, and whether the agent has it after the change (`on`). */
export interface WiringOption {
  readonly name: "fillNotes" | "statusLine";
  readonly on: boolean;
}

/**
 * A change of agents' settings. `done` is false for a preview, which has a `previewId`. Without an agent in the params,
 * `agents` is empty if none is on this machine.
 */
export interface WiringResult {
  readonly agents: readonly WiredAgent[];
  readonly done: boolean;
  readonly previewId: string | null;
}

/** Writes the new session of a preview. */
export interface WriteContinuingParams {
  readonly previewId: string;
}

/** Starts a session. */
export const SessionNew: Method<NewSessionParams, SessionResult> = { name: "ullage/session/new" };

/** Sets the session's own context settings. */
export const SessionConfigure: Method<ConfigureSessionParams, ConfigureSessionResult> = { name: "ullage/session/configure" };

/** Opens a stored session. */
export const SessionLoad: Method<SessionParams, SessionResult> = { name: "ullage/session/load" };

/** Lists stored sessions, last changed first. */
export const SessionList: Method<ListSessionsParams, ListSessionsResult> = { name: "ullage/session/list" };

/** Starts a session that shares another's past. */
export const SessionFork: Method<ForkSessionParams, SessionResult> = { name: "ullage/session/fork" };

/** Stops work on a session and frees its memory. */
export const SessionClose: Method<SessionParams, Nothing> = { name: "ullage/session/close" };

/** Gives a session another title. */
export const SessionRename: Method<RenameSessionParams, Nothing> = { name: "ullage/session/rename" };

/**
 * Deletes a session and those of its sub-agents, with all that is kept: words, archived files, rows. An agent's own
 * file stays, and is read again only if the agent continues it.
 */
export const SessionDelete: Method<SessionParams, Nothing> = { name: "ullage/session/delete" };

/** Asks the model, and answers when its turn is over. */
export const SessionPrompt: Method<PromptParams, PromptResult> = { name: "ullage/session/prompt" };

/** Appends messages and the provider's usage, for a client that runs its own model. */
export const SessionAppend: Method<AppendParams, AppendResult> = { name: "ullage/session/append" };

/** Reads another program's transcript into a new session. */
export const SessionImport: Method<ImportParams, ImportResult> = { name: "ullage/session/import" };

/** Returns a session as text. */
export const SessionExport: Method<ExportParams, ExportResult> = { name: "ullage/session/export" };

/** Cancels the work that runs in a session. */
export const SessionCancel: NotificationMethod<SessionParams> = { name: "ullage/session/cancel" };

/** Says which models the client can ask for the server. */
export const ModelsOffer: NotificationMethod<OfferedModels> = { name: "ullage/models/offer" };

/** Sends the next piece of an answer that the server asked for. */
export const ModelsPiece: NotificationMethod<ModelPiece> = { name: "ullage/models/piece" };

/** Lists the conversations that coding agents keep on this machine. */
export const TranscriptsList: Method<ListTranscriptsParams, ListTranscriptsResult> = { name: "ullage/transcripts/list" };

/** Starts following the conversations of agents on this machine. */
export const FollowingStart: Method<StartFollowingParams, FollowingResult> = { name: "ullage/following/start" };

/** Stops following. */
export const FollowingStop: Method<FollowingParams, FollowingResult> = { name: "ullage/following/stop" };

/** Lists the followed conversations, the last changed first. */
export const FollowingList: Method<FollowingParams, FollowingResult> = { name: "ullage/following/list" };

/** Notes whether the user wants agents' files kept. From a yes on they are, while the server follows. */
export const FollowingKeep: Method<KeepParams, FollowingResult> = { name: "ullage/following/keep" };

/** Adds Ullage's hooks and MCP server to agents' settings, or previews it. */
export const AgentsWire: Method<WireParams, WiringResult> = { name: "ullage/agents/wire" };

/** Takes Ullage's hooks and MCP server out of agents' settings, or previews it. */
export const AgentsUnwire: Method<UnwireParams, WiringResult> = { name: "ullage/agents/unwire" };

/** Returns how a conversation can be continued as a new session of an agent. */
export const ContinuingChoices: Method<SessionParams, ContinuingChoicesResult> = { name: "ullage/continuing/choices" };

/** Previews a new session that an agent resumes. */
export const ContinuingPreview: Method<ContinuingPreviewParams, ContinuingResult> = { name: "ullage/continuing/preview" };

/** Writes the new session of a preview. */
export const ContinuingWrite: Method<WriteContinuingParams, ContinuingResult> = { name: "ullage/continuing/write" };

/** Returns how full the context is. */
export const ContextGet: Method<SessionParams, UsageResult> = { name: "ullage/context/get" };

/** Lists the messages of the context, or of the whole transcript. */
export const ContextMessages: Method<MessagesParams, MessagesResult> = { name: "ullage/context/messages" };

/** Compacts the context now, or previews it. */
export const ContextCompact: Method<CompactParams, CompactResult> = { name: "ullage/context/compact" };

/** Applies a preview. */
export const ContextCommit: Method<CommitParams, CompactResult> = { name: "ullage/context/commit" };

/** Undoes an edit. */
export const ContextUndo: Method<UndoParams, RevertResult> = { name: "ullage/context/undo" };

/** Goes back to a checkpoint: makes the edits in force what they were there. */
export const ContextRestore: Method<RestoreParams, RevertResult> = { name: "ullage/context/restore" };

/** Keeps a message verbatim through every edit. */
export const ContextPin: Method<PinParams, PinResult> = { name: "ullage/context/pin" };

/** Searches every message, archived or not. */
export const ContextSearch: Method<SearchParams, SearchResult> = { name: "ullage/context/search" };

/** Lists every edit ever made. */
export const ContextHistory: Method<SessionParams, HistoryResult> = { name: "ullage/context/history" };

/** Has a tool search or read a conversation. */
export const ContextLookUp: Method<LookUpParams, LookUpResult> = { name: "ullage/context/lookUp" };

/** Lists what a compaction left out. */
export const ContextLost: Method<LostParams, LostResult> = { name: "ullage/context/lost" };

/** Lists what hooks gave back to the agent of a conversation. */
export const ContextGivenBack: Method<SessionParams, GivenBackResult> = { name: "ullage/context/givenBack" };

/** Searches what a team's members share with each other. */
export const TeamSearch: Method<TeamSearchParams, TeamSearchResult> = { name: "ullage/team/search" };

/** Reads a whole message of what a team's members share. */
export const TeamOpen: Method<TeamOpenParams, TeamOpenResult> = { name: "ullage/team/open" };

/** Asks the user whether a tool call may be made. Sent by the server. */
export const SessionRequestPermission: Method<RequestPermissionParams, RequestPermissionResult> = { name: "ullage/session/request_permission" };

/** Asks one of the models that the client offers. Sent by the server. */
export const ModelsComplete: Method<CompleteParams, CompleteResult> = { name: "ullage/models/complete" };

/** Asks for one of the offered models' own count of a prompt. Sent by the server. */
export const ModelsCount: Method<CountParams, CountResult> = { name: "ullage/models/count" };

/** Sent by the server. */
export const SessionUpdate: NotificationMethod<SessionNotification> = { name: "ullage/session/update" };

/** Sent by the server. */
export const FollowingChanged: NotificationMethod<FollowingChange> = { name: "ullage/following/changed" };

/** The names of all methods that the server serves. */
export const methodNames: readonly string[] = [
  SessionNew,
  SessionConfigure,
  SessionLoad,
  SessionList,
  SessionFork,
  SessionClose,
  SessionRename,
  SessionDelete,
  SessionPrompt,
  SessionAppend,
  SessionImport,
  SessionExport,
  SessionCancel,
  ModelsOffer,
  ModelsPiece,
  TranscriptsList,
  FollowingStart,
  FollowingStop,
  FollowingList,
  FollowingKeep,
  AgentsWire,
  AgentsUnwire,
  ContinuingChoices,
  ContinuingPreview,
  ContinuingWrite,
  ContextGet,
  ContextMessages,
  ContextCompact,
  ContextCommit,
  ContextUndo,
  ContextRestore,
  ContextPin,
  ContextSearch,
  ContextHistory,
  ContextLookUp,
  ContextLost,
  ContextGivenBack,
  TeamSearch,
  TeamOpen,
].map(({ name }) => name);

/** The names of all settings, with dots between the names of nested members. */
export const settingNames = [
  "model",
  "models",
  "provider",
  "providers",
  "context.enabled",
  "context.warnAt",
  "context.compactAt",
  "context.clearAt",
  "context.target",
  "context.reserve",
  "context.keepTail",
  "context.keepToolUses",
  "context.clearAtLeast",
  "context.excludeTools",
  "context.clearAtToolUses",
  "context.clearToolInputs",
  "context.keepThinkingTurns",
  "context.maxResultTokens",
  "context.maxResultTokensByTool",
  "context.mode",
  "context.strategies",
  "context.privatePatterns",
  "context.bringBack",
  "context.trustedFolders",
  "summary.writer",
  "summary.model",
  "summary.promptFile",
  "summary.prepareAt",
  "summary.confirm",
  "hooks.preCompact",
  "hooks.postCompact",
  "hooks.timeout",
  "hooks.shareContent",
  "archive.enabled",
  "archive.limit",
  "search.embeddingsUrl",
  "search.embeddingsModel",
  "search.embeddingsKeyEnv",
  "search.teamArchive",
  "offline.enabled",
  "offline.limit",
  "limits",
  "notices",
  "store",
] as const;

/** The folders in which agents keep conversations, by `process.platform`. */
export const agentFolders: Readonly<Record<string, readonly string[]>> = {
  linux: [
    "${AIDER_CHAT_HISTORY_FILE}",
    "${CLAUDE_CONFIG_DIR}/projects",
    "${CLINE_DATA_DIR}/tasks",
    "${CLINE_SESSION_DATA_DIR}",
    "${CODEX_HOME}/archived_sessions",
    "${CODEX_HOME}/sessions",
    "${COPILOT_HOME}/session-state",
    "${GEMINI_CLI_HOME}/.gemini/tmp",
    "${GROK_HOME}/sessions",
    "${HERMES_HOME}/profiles",
    "${HERMES_HOME}/state.db",
    "${KIMI_CODE_HOME}/sessions",
    "${PI_CODING_AGENT_DIR}/sessions",
    "${PI_CODING_AGENT_SESSION_DIR}",
    "${QWEN_HOME}/projects",
    "${XDG_CONFIG_HOME}/Claude/local-agent-mode-sessions",
    "${XDG_CONFIG_HOME}/Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${XDG_CONFIG_HOME}/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${XDG_CONFIG_HOME}/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${XDG_CONFIG_HOME}/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${XDG_CONFIG_HOME}/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${XDG_CONFIG_HOME}/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${XDG_CONFIG_HOME}/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${XDG_CONFIG_HOME}/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${XDG_CONFIG_HOME}/Windsurf/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${XDG_CONFIG_HOME}/Windsurf/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${XDG_CONFIG_HOME}/cursor/chats",
    "${XDG_DATA_HOME}/crush/projects.json",
    "${XDG_DATA_HOME}/goose/sessions",
    "${XDG_DATA_HOME}/goose/sessions/sessions.db",
    "${XDG_DATA_HOME}/kilo/kilo.db",
    "${XDG_DATA_HOME}/opencode/${OPENCODE_DB}",
    "${XDG_DATA_HOME}/opencode/storage/session",
    "~/.aider.chat.history.md",
    "~/.claude/projects",
    "~/.cline/data/sessions",
    "~/.cline/data/tasks",
    "~/.codex/archived_sessions",
    "~/.codex/sessions",
    "~/.config/Claude/local-agent-mode-sessions",
    "~/.config/Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.config/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.config/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.config/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.config/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.config/Windsurf/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.config/Windsurf/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.config/claude/projects",
    "~/.config/cursor/chats",
    "~/.copilot/session-state",
    "~/.cursor-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.cursor-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.cursor/chats",
    "~/.cursor/projects",
    "~/.factory/sessions",
    "~/.gemini/antigravity-cli/brain",
    "~/.gemini/antigravity-ide/brain",
    "~/.gemini/antigravity/brain",
    "~/.gemini/tmp",
    "~/.grok/sessions",
    "~/.hermes/profiles",
    "~/.hermes/state.db",
    "~/.kimi-code/sessions",
    "~/.local/share/code-server/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.local/share/code-server/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.local/share/crush/projects.json",
    "~/.local/share/goose/sessions",
    "~/.local/share/goose/sessions/sessions.db",
    "~/.local/share/kilo/kilo.db",
    "~/.local/share/opencode",
    "~/.local/share/opencode/opencode.db",
    "~/.local/share/opencode/storage/session",
    "~/.openhands/conversations",
    "~/.pi/agent/sessions",
    "~/.qwen/projects",
    "~/.vscode-server-insiders/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.vscode-server-insiders/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.vscodium-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.vscodium-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.windsurf-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.windsurf-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
  ],
  darwin: [
    "${AIDER_CHAT_HISTORY_FILE}",
    "${CLAUDE_CONFIG_DIR}/projects",
    "${CLINE_DATA_DIR}/tasks",
    "${CLINE_SESSION_DATA_DIR}",
    "${CODEX_HOME}/archived_sessions",
    "${CODEX_HOME}/sessions",
    "${COPILOT_HOME}/session-state",
    "${GEMINI_CLI_HOME}/.gemini/tmp",
    "${GROK_HOME}/sessions",
    "${HERMES_HOME}/profiles",
    "${HERMES_HOME}/state.db",
    "${KIMI_CODE_HOME}/sessions",
    "${PI_CODING_AGENT_DIR}/sessions",
    "${PI_CODING_AGENT_SESSION_DIR}",
    "${QWEN_HOME}/projects",
    "${XDG_DATA_HOME}/crush/projects.json",
    "${XDG_DATA_HOME}/goose/sessions",
    "${XDG_DATA_HOME}/goose/sessions/sessions.db",
    "${XDG_DATA_HOME}/kilo/kilo.db",
    "${XDG_DATA_HOME}/opencode/${OPENCODE_DB}",
    "${XDG_DATA_HOME}/opencode/storage/session",
    "~/.aider.chat.history.md",
    "~/.claude/projects",
    "~/.cline/data/sessions",
    "~/.cline/data/tasks",
    "~/.codex/archived_sessions",
    "~/.codex/sessions",
    "~/.config/claude/projects",
    "~/.copilot/session-state",
    "~/.cursor-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.cursor-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.cursor/chats",
    "~/.cursor/projects",
    "~/.factory/sessions",
    "~/.gemini/antigravity-cli/brain",
    "~/.gemini/antigravity-ide/brain",
    "~/.gemini/antigravity/brain",
    "~/.gemini/tmp",
    "~/.grok/sessions",
    "~/.hermes/profiles",
    "~/.hermes/state.db",
    "~/.kimi-code/sessions",
    "~/.local/share/code-server/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.local/share/code-server/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.local/share/crush/projects.json",
    "~/.local/share/goose/sessions",
    "~/.local/share/goose/sessions/sessions.db",
    "~/.local/share/kilo/kilo.db",
    "~/.local/share/opencode",
    "~/.local/share/opencode/opencode.db",
    "~/.local/share/opencode/storage/session",
    "~/.openhands/conversations",
    "~/.pi/agent/sessions",
    "~/.qwen/projects",
    "~/.vscode-server-insiders/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.vscode-server-insiders/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.vscode-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.vscodium-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.vscodium-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/.windsurf-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/.windsurf-server/data/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/Library/Application Support/Claude/local-agent-mode-sessions",
    "~/Library/Application Support/Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/Library/Application Support/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/Library/Application Support/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/Library/Application Support/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/Library/Application Support/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/Library/Application Support/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/Library/Application Support/Windsurf/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/Library/Application Support/Windsurf/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/Library/Application Support/cursor/chats",
  ],
  win32: [
    "${AIDER_CHAT_HISTORY_FILE}",
    "${APPDATA}/Block/goose/data/sessions",
    "${APPDATA}/Block/goose/data/sessions/sessions.db",
    "${APPDATA}/Claude/local-agent-mode-sessions",
    "${APPDATA}/Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${APPDATA}/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${APPDATA}/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${APPDATA}/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${APPDATA}/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${APPDATA}/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${APPDATA}/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${APPDATA}/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${APPDATA}/Windsurf/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "${APPDATA}/Windsurf/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "${APPDATA}/cursor/chats",
    "${CLAUDE_CONFIG_DIR}/projects",
    "${CLINE_DATA_DIR}/tasks",
    "${CLINE_SESSION_DATA_DIR}",
    "${CODEX_HOME}/archived_sessions",
    "${CODEX_HOME}/sessions",
    "${COPILOT_HOME}/session-state",
    "${GEMINI_CLI_HOME}/.gemini/tmp",
    "${GROK_HOME}/sessions",
    "${HERMES_HOME}/profiles",
    "${HERMES_HOME}/state.db",
    "${KIMI_CODE_HOME}/sessions",
    "${LOCALAPPDATA}/crush/projects.json",
    "${PI_CODING_AGENT_DIR}/sessions",
    "${PI_CODING_AGENT_SESSION_DIR}",
    "${QWEN_HOME}/projects",
    "${XDG_DATA_HOME}/kilo/kilo.db",
    "${XDG_DATA_HOME}/opencode/${OPENCODE_DB}",
    "${XDG_DATA_HOME}/opencode/storage/session",
    "~/.aider.chat.history.md",
    "~/.claude/projects",
    "~/.cline/data/sessions",
    "~/.cline/data/tasks",
    "~/.codex/archived_sessions",
    "~/.codex/sessions",
    "~/.config/claude/projects",
    "~/.copilot/session-state",
    "~/.cursor/chats",
    "~/.cursor/projects",
    "~/.factory/sessions",
    "~/.gemini/antigravity-cli/brain",
    "~/.gemini/antigravity-ide/brain",
    "~/.gemini/antigravity/brain",
    "~/.gemini/tmp",
    "~/.grok/sessions",
    "~/.kimi-code/sessions",
    "~/.local/share/kilo/kilo.db",
    "~/.local/share/opencode",
    "~/.local/share/opencode/opencode.db",
    "~/.local/share/opencode/storage/session",
    "~/.openhands/conversations",
    "~/.pi/agent/sessions",
    "~/.qwen/projects",
    "~/AppData/Local/crush/projects.json",
    "~/AppData/Local/hermes/profiles",
    "~/AppData/Local/hermes/state.db",
    "~/AppData/Roaming/Block/goose/data/sessions",
    "~/AppData/Roaming/Block/goose/data/sessions/sessions.db",
    "~/AppData/Roaming/Claude/local-agent-mode-sessions",
    "~/AppData/Roaming/Code - Insiders/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/AppData/Roaming/Code - Insiders/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/AppData/Roaming/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/AppData/Roaming/Code/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/AppData/Roaming/Cursor/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/AppData/Roaming/Cursor/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/AppData/Roaming/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/AppData/Roaming/VSCodium/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/AppData/Roaming/Windsurf/User/globalStorage/rooveterinaryinc.roo-cline/tasks",
    "~/AppData/Roaming/Windsurf/User/globalStorage/saoudrizwan.claude-dev/tasks",
    "~/AppData/Roaming/cursor/chats",
  ],
};

/**
 * The agents whose sessions can be written. `word` is the agent's name in commands. The first of `folders` whose
 * variables are set holds its settings.
 */
export const writableAgents: readonly { readonly word: string; readonly agent: string; readonly folders: readonly string[] }[] = [
  { word: "claude-code", agent: "Claude Code", folders: ["${CLAUDE_CONFIG_DIR}", "~/.claude"] },
  { word: "codex", agent: "Codex", folders: ["${CODEX_HOME}", "~/.codex"] },
];

/** The largest number that the server accepts, by the type of the params and the name of the member. */
export const maxima = {
  ListTranscriptsParams: { limit: 500 },
  LostParams: { limit: 1000, briefSize: 100000 },
  MessagesParams: { limit: 1000 },
  SearchParams: { limit: 100 },
  TeamSearchParams: { limit: 100 },
} as const;

/** The JSON-RPC code of every error by its `data.kind`. */
export const errorCodes = {
  UllageError: 1000,
  InputError: -32602,
  UnknownFormat: -32602,
  UnreadableTranscript: -32602,
  InvalidRequest: -32602,
  NotFound: 1500,
  SessionNotFound: 1501,
  MessageNotFound: 1502,
  EditNotFound: 1503,
  Conflict: 1100,
  ConcurrentAppend: 1101,
  SessionBusy: 1102,
  NothingToCompact: 1103,
  NothingToUndo: 1104,
  PreviewExpired: 1105,
  CompactionVetoed: 1106,
  SessionFollowed: 1107,
  StoreError: 1200,
  StoreTooNew: 1201,
  StoreUnavailable: 1202,
  ContextError: 1300,
  WindowUnknown: 1301,
  CannotFit: 1302,
  ProviderError: 1400,
  NoModelConfigured: 1401,
  ProviderUnavailable: 1402,
  RateLimited: 1403,
  AuthenticationFailed: 1404,
  ContextTooLong: 1405,
  RequestRefused: 1406,
  AnswerBroken: 1407,
  AgentError: 1408,
  SdkMissing: 1409,
  Cancelled: -32800,
} as const;

/** The `data.kind` of an error that this version of the protocol knows. */
export type ErrorKind = keyof typeof errorCodes;
