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

/** A piece of the model's answer. `message_id` is the id that the message will have in the transcript. */
export interface AgentMessageChunk {
  readonly sessionUpdate: "agent_message_chunk";
  readonly content: TextContent;
  readonly messageId: string;
}

/** A piece of the model's reasoning. */
export interface AgentThoughtChunk {
  readonly sessionUpdate: "agent_thought_chunk";
  readonly content: TextContent;
  readonly messageId: string;
}

/**
 * Appends messages. `usage` is the provider's usage object, unchanged, with Anthropic's or OpenAI's field names.
 * `model` and `tools` replace the session's.
 */
export interface AppendParams {
  readonly sessionId: string;
  readonly messages?: readonly MessageInput[];
  readonly usage?: Readonly<Record<string, unknown>>;
  readonly model?: string;
  readonly tools?: readonly ToolDefinition[];
}

/** The messages' ids, also those that the server made, and how full the context is now. */
export interface AppendResult {
  readonly messageIds: readonly string[];
  readonly usage: UsageResult;
}

/** All artifacts of a range of messages. Each list begins with the most important one. */
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
 * Tokens of the context by kind. `overhead` is the part that a provider reported beyond what the session contains (a
 * hidden system prompt and tools). The parts sum to `used`.
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

/** A file of the project that a compaction names. `text` is its content at that time, if it was read. */
export interface BroughtBack {
  readonly path: string;
  readonly text?: string;
}

/**
 * How a window is shared out, in tokens. `system_prompt` and `tools` are what they take (a provider's hidden prompt
 * counts with the system prompt), `reserve` is kept for the answer, and `conversation` may take the rest. The four sum
 * to the window, unless system prompt and tools exceed it; then `conversation` is 0. `available` is the part of the
 * conversation's share that is free; `overflow` is the number of tokens by which the context exceeds usable.
 */
export interface BudgetShares {
  readonly systemPrompt: number;
  readonly tools: number;
  readonly conversation: number;
  readonly reserve: number;
  readonly available: number;
  readonly overflow: number;
}

/** A command or test run, its last outcome, and the most informative line of its output. */
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

/** Applies a preview. If `summary` is given, it replaces the preview's own. */
export interface CommitParams {
  readonly sessionId: string;
  readonly previewId: string;
  readonly summary?: string;
}

/**
 * Compacts now. `focus` says what the summary must keep. `from` and `upTo` are ids of messages in the context: if one
 * or both are given, the messages between them, both included, are compacted and all others stay verbatim. `dryRun`
 * previews the compaction.
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
 * What a compaction did. If `previewId` is set, what it would do. Sizes are tokens of the context. `note` says how the
 * compacted range differs from the one in the request: it is moved so that a tool call and its result stay together.
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
 * The marker in the place of messages that were compacted. `timestamp` is Unix milliseconds; `context_size_before` and
 * `context_size_after` are tokens of the whole context. `kept` names the messages of the archived range that stay
 * verbatim. The model is sent `summary`, the rendered `ledger` and the project files in `brought_back`; users see all
 * fields. If a provider made a compaction of its own (`sealed`), that provider is sent it instead.
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

/** Details of a compaction: the edit to undo it by, and its figures in tokens and messages. */
export interface CompactionMeta {
  readonly trigger: string;
  readonly compactionNumber: number;
  readonly editId: string | null;
  readonly messageId: string | null;
  readonly messagesArchived: number;
  readonly contextSizeBefore: number;
  readonly contextSizeAfter: number;
}

/** The states of a compaction: in progress, then exactly one of the others. */
export type CompactionStatus = "in_progress" | "completed" | "failed" | "cancelled";

/** A piece of the summary while it is written, in order. */
export interface CompactionSummaryChunk {
  readonly sessionUpdate: "compaction_summary_chunk";
  readonly compactionId: string;
  readonly content: TextContent;
}

/** A compaction begins or ends. A field that is left out keeps its earlier value. */
export interface CompactionUpdate {
  readonly sessionUpdate: "compaction_update";
  readonly compactionId: string;
  readonly status: CompactionStatus;
  readonly summary?: readonly TextContent[];
  readonly error?: string;
  readonly _meta?: { readonly ullage: CompactionMeta };
}

/** Replaces the session's own context settings. An empty `context` returns the session to the workspace's settings. */
export interface ConfigureSessionParams {
  readonly sessionId: string;
  /** Fields of `ContextSettings` that differ from the workspace's; forks inherit them. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/**
 * The context settings in effect, the session's own and the workspace's together, and how full the context is under
 * them.
 */
export interface ConfigureSessionResult {
  readonly context: ContextSettings;
  readonly usage: UsageResult;
}

/** When and how far the context is shrunk. Shares are of the usable window (window minus reserve). */
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

/** The cost of the session's requests so far, by the providers' list prices. `currency` is an ISO 4217 code. */
export interface Cost {
  readonly amount: number;
  readonly currency: string;
}

/**
 * An edit as listed: its kind, its time, the tokens it saved, and whether it is in force. `partOf` names the edit with
 * which it is undone.
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

/** What caused an edit: the user or automatic context management. */
export type EditTrigger = "manual" | "automatic";

/**
 * A message in a page. `index` is its place in the transcript. `tokens` is its calibrated count in the context, 0 if it
 * is archived. `inserted` is true for markers and notices, which an edit put into the view.
 */
export interface Entry {
  readonly message: Message;
  readonly index: number;
  readonly tokens: number;
  readonly archived: boolean;
  readonly pinned: boolean;
  readonly inserted: boolean;
}

/** Ullage's data of an error. `kind` is the error's name, a stable word for programs. */
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

/** Exports a session. The format `ullage` is the whole log, the others are the context as a provider's request. */
export interface ExportParams {
  readonly sessionId: string;
  /** @default "ullage" */
  readonly format?: "anthropic" | "openai" | "openai-responses" | "ullage";
}

/** The exported text. */
export interface ExportResult {
  readonly text: string;
}

/** The strongest thing that happened to a file. Members are ordered from the weakest to the strongest. */
export type FileAction = "read" | "modified" | "created" | "deleted";

/** A file: the strongest action on it, the number of actions, and the index of the last message that touched it. */
export interface FileArtifact {
  readonly path: string;
  readonly action: FileAction;
  /** @default 1 */
  readonly times?: number;
  /** @default 0 */
  readonly last_index?: number;
}

/** Forks a session after the message `messageId`, or at its end. */
export interface ForkSessionParams {
  readonly sessionId: string;
  readonly messageId?: string;
  readonly title?: string;
}

/**
 * An edit as the user sees it in a list. `words` say what the edit did, to how many `messages`. Sizes are tokens of the
 * whole context before and after the edit, 0 if unknown. `position` is the edit's place in the log. `revertedAt` is
 * Unix milliseconds.
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
}

/** Every edit ever made, oldest first. */
export interface HistoryResult {
  readonly edits: readonly HistoryEntry[];
}

/** Programs of your own around a compaction. They get JSON on standard input, and none of your keys. */
export interface HookSettings {
  /** Program and arguments, run before a compaction. It may stop it or add instructions. */
  readonly preCompact?: readonly string[];
  /** Program and arguments, run after a compaction with its summary and figures. */
  readonly postCompact?: readonly string[];
  /** Seconds after which a hook is stopped. @default 10.0 */
  readonly timeout?: number;
  /** Give the hook before a compaction the messages that go, too, not only their number. @default false */
  readonly shareContent?: boolean;
}

/** A name that the conversation repeats (function, class, flag, hash, URL), and where it occurred. */
export interface IdentifierArtifact {
  readonly name: string;
  readonly context?: string;
  /** @default 1 */
  readonly times?: number;
  /** @default 0 */
  readonly last_index?: number;
}

/** A picture: base64 `data` or a `url`. `width` and `height` are in pixels, if the sender knows them. */
export interface ImageBlock {
  readonly type: "image";
  /** @default "image/png" */
  readonly media_type?: string;
  readonly data?: string;
  readonly url?: string;
  readonly width?: number;
  readonly height?: number;
}

/**
 * Imports a transcript from the file `path` or from `text`. `format` is needed if the format cannot be detected. `run`
 * chooses one, from 1, if the file holds several runs.
 */
export interface ImportParams {
  readonly path?: string;
  readonly text?: string;
  readonly format?: string;
  readonly run?: number;
  readonly cwd?: string;
}

/**
 * The new session. `unread` lists the lines of the file that no reader understands. `passedOver` counts the lines of
 * known kinds that hold no message.
 */
export interface ImportResult {
  readonly session: SessionResult;
  readonly format: string;
  readonly messages: number;
  readonly unread: readonly SkippedLine[];
  readonly passedOver: number;
}

/** Which threshold `used` has reached. */
export type Level = "off" | "normal" | "warning" | "critical";

/** Lists the sessions of one folder, or all. `cursor` is the `nextCursor` of the previous page. */
export interface ListSessionsParams {
  readonly cwd?: string;
  readonly cursor?: string;
}

/** A page of sessions, last changed first. `nextCursor` is missing on the last page. */
export interface ListSessionsResult {
  readonly sessions: readonly ListedSession[];
  readonly nextCursor?: string;
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

/** One message. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown. */
export interface Message {
  readonly id: string;
  readonly role: Role;
  readonly content: readonly Block[];
  /** @default 0 */
  readonly timestamp?: number;
}

/**
 * A message from a client. `content` may be plain text. If `id` or `timestamp` (Unix milliseconds) is left out, the
 * server sets it.
 */
export interface MessageInput {
  readonly role: Role;
  readonly content: string | readonly Block[];
  readonly id?: string;
  readonly timestamp?: number;
}

/**
 * Lists messages. `scope` `context` lists what the model would be sent, `transcript` lists every message, archived or
 * not. `messageId` asks for that message alone, archived or not; scope, offset and limit are then ignored. With
 * `provider`, the result also has the context as a request of that provider.
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
 * A page of messages. `total` counts all messages of the scope. `request` has the fields of a request of the provider,
 * if one was named.
 */
export interface MessagesResult {
  readonly entries: readonly Entry[];
  readonly total: number;
  readonly request: Readonly<Record<string, unknown>> | null;
}

/** What you know better than the catalog about one model. */
export interface ModelSettings {
  /** Input tokens the model accepts. */
  readonly window?: number | null;
  /** Most tokens of one answer. */
  readonly maxOutput?: number | null;
  /** How to count this model's tokens. */
  readonly encoding?: "approximate" | "cl100k_base" | "o200k_base" | null;
  /** Further instructions for summaries of this model's sessions. */
  readonly summaryPrompt?: string;
}

/** Starts a session. All fields are optional. */
export interface NewSessionParams {
  readonly cwd?: string;
  readonly model?: string;
  readonly title?: string;
  readonly system?: string;
  readonly tools?: readonly ToolDefinition[];
  /** Fields of `ContextSettings` that differ from the workspace's; forks inherit them. */
  readonly context?: Readonly<Record<string, unknown>>;
}

/** An empty result. */
export type Nothing = Readonly<Record<string, never>>;

/** A line of text for the user. It is sent live only and is not part of the transcript. */
export interface Notice {
  readonly sessionUpdate: "notice";
  readonly severity: Severity;
  readonly title: string;
  readonly description?: string;
  readonly _meta?: { readonly ullage: NoticeMeta };
}

/** A notice's kind (a stable word for programs) and the edit that it is about. */
export interface NoticeMeta {
  readonly kind: string;
  readonly editId: string | null;
}

/** How a command ended, as far as its output shows. */
export type Outcome = "passed" | "failed" | "unknown";

/** The kinds of options that Ullage offers, a subset of ACP's. */
export type PermissionKind = "allow_once" | "allow_always" | "reject_once";

/** One option that the user may choose. */
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

/** The tool call in question, as its `tool_call` update described it. */
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

/** The ids of all pinned messages. */
export interface PinResult {
  readonly pinned: readonly string[];
}

/** Prompts the model. `prompt` holds ACP content blocks. */
export interface PromptParams {
  readonly sessionId: string;
  /** ACP content blocks. */
  readonly prompt: readonly Readonly<Record<string, unknown>>[];
}

/** How the turn ended, by ACP's stop reason. */
export interface PromptResult {
  readonly stopReason: TurnEnd;
}

/**
 * Whether the session's prompts would be answered. `provider` is the name of the provider that would answer, null if
 * there is none. `remedy` then says what the user can do.
 */
export interface Prompting {
  readonly provider: string | null;
  readonly remedy: string;
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
  /** Seconds without a word from the server after which it is given up. @default 120.0 */
  readonly timeout?: number;
  /**
   * Let the provider itself clear old tool results (Anthropic) and make compactions (Anthropic, OpenAI), for models
   * that can. @default false
   */
  readonly contextEditing?: boolean;
}

/** How much of the messages after the first exchange a truncated range leaves, in the terms that coding agents use. */
export type RangeKeep = "none" | "lastTwo" | "half" | "quarter";

/** The server asks the client whether a tool call may be made. */
export interface RequestPermissionParams {
  readonly sessionId: string;
  readonly toolCall: PermissionToolCall;
  readonly options: readonly PermissionOption[];
}

/** The client's answer. */
export interface RequestPermissionResult {
  readonly outcome: PermissionOutcome;
}

/** A file or other resource that was added to the conversation. Without `text` it is only a link. */
export interface ResourceBlock {
  readonly type: "resource";
  readonly uri: string;
  readonly text?: string;
  readonly mime_type?: string;
}

/**
 * Goes back to a checkpoint: undoes the edits made after it, and redoes the edits undone after it. The checkpoint is
 * one of: an edit (which stays in force), a message, a position in the log, a time in Unix milliseconds or ISO 8601.
 * `dryRun` only says what would change.
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
 * The edits that were undone or redone, in their new state, how many more messages are in the context (negative if
 * edits were redone), and how full it is. After a `dryRun`: what they would be.
 */
export interface RevertResult {
  readonly edits: readonly EditInfo[];
  readonly messagesBack: number;
  readonly usage: UsageResult;
}

/** Who a message is from. Tool results are the user's, as in Anthropic's API. */
export type Role = "system" | "user" | "assistant";

/**
 * A provider's own compaction of the archived messages, as `data` that only this provider can read. `provider` is its
 * name in the settings; `tokens` is its size in a prompt.
 */
export interface SealedCompaction {
  readonly provider: string;
  readonly data: string;
  readonly tokens: number;
}

/**
 * A message that matches a query. A higher `score` is better. `snippet` marks the matches by `**`. `index` is the
 * message's number among the appended messages of the session, from 0, inherited ones included.
 */
export interface SearchHit {
  readonly sessionId: string;
  readonly messageId: string;
  readonly index: number;
  readonly role: string;
  readonly score: number;
  readonly snippet: string;
}

/**
 * Searches one session, or all if `sessionId` is left out. `query` holds names, whole or in part, or a question in
 * plain words.
 */
export interface SearchParams {
  readonly query: string;
  readonly sessionId?: string;
  /** @default 10 */
  readonly limit?: number;
}

/**
 * The messages that match, best first. `context/messages` with a hit's `sessionId` and `messageId` gives the whole
 * message.
 */
export interface SearchResult {
  readonly hits: readonly SearchHit[];
}

/** Messages go by who speaks, oldest first; those of a kind that is not named stay as long as that is possible. */
export interface Selective {
  readonly type: "selective";
  /** What goes first, what next. */
  readonly order?: readonly Speaker[];
}

/**
 * The session's title or the time of its last change (ISO 8601). If no window is known, `_meta` has the figures (see
 * `UsageUpdate`).
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

/** Names a session. */
export interface SessionParams {
  readonly sessionId: string;
}

/** A session, how full its context is, and whether it can be prompted. */
export interface SessionResult {
  readonly sessionId: string;
  readonly title: string;
  readonly cwd: string;
  readonly usage: UsageResult;
  readonly prompting: Prompting;
}

/** All settings of Ullage. */
export interface Settings {
  /** Model assumed for sessions that do not name one. */
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
}

/** How important a notice is. */
export type Severity = "info" | "warning" | "error";

/**
 * A part of the file that became no event. `line` is its line number or the index of its element, counted from 1.
 * `reason` says why it was skipped. `expected` is true for parts that the format has besides the conversation (progress
 * lines, snapshots), and false for parts that could not be read.
 */
export interface SkippedLine {
  readonly line: number;
  readonly reason: string;
  readonly expected: boolean;
}

/** The last messages stay, by number, whatever they count. */
export interface SlidingWindow {
  readonly type: "sliding_window";
  /** Messages that stay. @default 20 */
  readonly maxMessages?: number;
}

/** The first and the last messages stay; of those between them the oldest go until the rest fits. */
export interface Smart {
  readonly type: "smart";
  /** Messages that stay at the beginning. @default 2 */
  readonly keepFirst?: number;
  /** Messages that stay at the end. @default 10 */
  readonly keepLast?: number;
}

/** The kind of a group of messages: a tool use with its results, the assistant's text, or the user's. */
export type Speaker = "tool" | "assistant" | "user";

export type StrategySettings = SlidingWindow | TokenBudget | Selective | Smart | TruncateRange;

/** Who writes the summary of a compaction, and how. */
export interface SummarySettings {
  /** auto: a model where one is configured, else offline. @default "auto" */
  readonly writer?: "auto" | "model" | "offline";
  /** Model that writes summaries. Unset: the session's own. */
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

/** Plain text. */
export interface TextBlock {
  readonly type: "text";
  readonly text: string;
}

/** ACP's text content block. */
export interface TextContent {
  readonly type: "text";
  readonly text: string;
}

/**
 * A model's reasoning. `signature` must go back to the provider unchanged. `redacted` holds encrypted reasoning without
 * readable text.
 */
export interface ThinkingBlock {
  readonly type: "thinking";
  readonly thinking: string;
  readonly signature?: string;
  readonly redacted?: string;
}

/** The oldest messages go until the rest fits. */
export interface TokenBudget {
  readonly type: "token_budget";
}

/** The model calls a tool. */
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

/** ACP's tool call content: the tool's result, as text. */
export interface ToolContent {
  readonly type: "content";
  readonly content: TextContent;
}

/** A tool offered to the model; `input_schema` is JSON Schema. */
export interface ToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly input_schema?: Readonly<Record<string, unknown>>;
}

/** The kinds of tool calls that Ullage's own tools have, a subset of ACP's. */
export type ToolKind = "read" | "search" | "edit" | "think" | "other";

/** A file that a tool call touches; `line` counts from 1. */
export interface ToolLocation {
  readonly path: string;
  readonly line?: number;
}

/** The result of the tool call `tool_use_id`. */
export interface ToolResultBlock {
  readonly type: "tool_result";
  readonly tool_use_id: string;
  readonly content?: readonly ResultPart[];
  /** @default false */
  readonly is_error?: boolean;
}

/** The states of a tool call. */
export type ToolStatus = "pending" | "in_progress" | "completed" | "failed";

/** A model's call of the tool `name`. The result carries the same `id`. */
export interface ToolUseBlock {
  readonly type: "tool_use";
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Drops a range after the first exchange at once, again and again until the rest fits. */
export interface TruncateRange {
  readonly type: "truncate_range";
  /** How much of the rest stays. @default "half" */
  readonly keep?: RangeKeep;
}

/** What happens when the context is full: whole messages go by one of the strategies, or a summary is made. */
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
 * Tokens of one request as the provider reports them, in Anthropic's meaning: `input_tokens` excludes tokens read from
 * or written to the cache. `reasoning_tokens` are part of `output_tokens`. `ullage.formats.provider_usage` converts the
 * other providers' shapes.
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
}

/** What Ullage knows beyond ACP's two numbers. Tokens; null where the window is unknown. */
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
}

/**
 * How full a context is. `used`: tokens in the context. `size`: the model's window in tokens, null while unknown.
 * `cost`: what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all other figures.
 */
export interface UsageResult {
  readonly used: number;
  readonly size: number | null;
  readonly cost?: Cost;
  readonly _meta: { readonly ullage: UsageMeta };
}

/**
 * How the figure `used` is known. `reported`: the provider's last report covers the whole context. `stale`: messages
 * were appended after that report and were counted here. `estimated`: no report covers this context, because there was
 * none yet or because an edit followed it.
 */
export type UsageSource = "reported" | "estimated" | "stale";

/**
 * Tokens in context, the window in effect, and the session's cost if every request's price is known. It is never sent
 * with a guessed `size`.
 */
export interface UsageUpdate {
  readonly sessionUpdate: "usage_update";
  readonly used: number;
  readonly size: number;
  readonly cost?: Cost;
  readonly _meta?: { readonly ullage: UsageMeta };
}

/** The user's prompt as it enters the transcript, so that every client of the session shows it. */
export interface UserMessageChunk {
  readonly sessionUpdate: "user_message_chunk";
  readonly content: TextContent;
  readonly messageId: string;
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

/** Deletes a session: removes it from the list. */
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

/** Asks the user whether a tool call may be made. Sent by the server. */
export const SessionRequestPermission: Method<RequestPermissionParams, RequestPermissionResult> = { name: "ullage/session/request_permission" };

/** What happens in a session, sent by the server. */
export const SessionUpdate: NotificationMethod<SessionNotification> = { name: "ullage/session/update" };

/** The JSON-RPC code of every error by its `data.kind`. */
export const errorCodes = {
  UllageError: 1000,
  InputError: -32602,
  UnknownFormat: -32602,
  UnreadableTranscript: -32602,
  InvalidRequest: -32602,
  NotFound: -32002,
  SessionNotFound: -32002,
  MessageNotFound: -32002,
  EditNotFound: -32002,
  Conflict: 1100,
  ConcurrentAppend: 1101,
  SessionBusy: 1102,
  NothingToCompact: 1103,
  NothingToUndo: 1104,
  PreviewExpired: 1105,
  CompactionVetoed: 1106,
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
