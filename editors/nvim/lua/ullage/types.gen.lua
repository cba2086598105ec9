---@meta _
-- Generated from the server's structs by scripts/gen_protocol.py. Do not edit.

--- A piece of the model's answer. `message_id` is the id that the message will have in the transcript.
---@class (exact) ullage.AgentMessageChunk
---@field sessionUpdate "agent_message_chunk"
---@field content ullage.TextContent
---@field messageId string

--- A piece of the model's reasoning.
---@class (exact) ullage.AgentThoughtChunk
---@field sessionUpdate "agent_thought_chunk"
---@field content ullage.TextContent
---@field messageId string

--- Appends messages. `usage` is the provider's usage object, unchanged, with Anthropic's or OpenAI's field names. `model` and `tools` replace the session's.
---@class (exact) ullage.AppendParams
---@field sessionId string
---@field messages? ullage.MessageInput[]
---@field usage? table<string, any>
---@field model? string
---@field tools? ullage.ToolDefinition[]

--- The messages' ids, also those that the server made, and how full the context is now.
---@class (exact) ullage.AppendResult
---@field messageIds string[]
---@field usage ullage.UsageResult

--- All artifacts of a range of messages. Each list begins with the most important one.
---@class (exact) ullage.ArtifactLedger
---@field files? ullage.FileArtifact[]
---@field commands? ullage.CommandArtifact[]
---@field identifiers? ullage.IdentifierArtifact[]

---@alias ullage.Block ullage.TextBlock|ullage.ImageBlock|ullage.ThinkingBlock|ullage.ToolUseBlock|ullage.ToolResultBlock|ullage.ResourceBlock|ullage.CompactionBlock

--- Tokens of the context by kind. `overhead` is the part that a provider reported beyond what the session contains (a hidden system prompt and tools). The parts sum to `used`.
---@class (exact) ullage.Breakdown
---@field system_prompt? integer Default 0.
---@field tools? integer Default 0.
---@field memory? integer Default 0.
---@field messages? integer Default 0.
---@field tool_results? integer Default 0.
---@field summary? integer Default 0.
---@field overhead? integer Default 0.

--- A file of the project that a compaction names. `text` is its content at that time, if it was read.
---@class (exact) ullage.BroughtBack
---@field path string
---@field text? string

--- How a window is shared out, in tokens. `system_prompt` and `tools` are what they take (a provider's hidden prompt counts with the system prompt), `reserve` is kept for the answer, and `conversation` may take the rest. The four sum to the window, unless system prompt and tools exceed it; then `conversation` is 0. `available` is the part of the conversation's share that is free; `overflow` is the number of tokens by which the context exceeds usable.
---@class (exact) ullage.BudgetShares
---@field systemPrompt integer
---@field tools integer
---@field conversation integer
---@field reserve integer
---@field available integer
---@field overflow integer

--- A command or test run, its last outcome, and the most informative line of its output.
---@class (exact) ullage.CommandArtifact
---@field command string
---@field outcome ullage.Outcome
---@field is_test? boolean Default false.
---@field detail? string
---@field times? integer Default 1.
---@field last_index? integer Default 0.

--- Applies a preview. If `summary` is given, it replaces the preview's own.
---@class (exact) ullage.CommitParams
---@field sessionId string
---@field previewId string
---@field summary? string

--- Compacts now. `focus` says what the summary must keep. `from` and `upTo` are ids of messages in the context: if one or both are given, the messages between them, both included, are compacted and all others stay verbatim. `dryRun` previews the compaction.
---@class (exact) ullage.CompactParams
---@field sessionId string
---@field focus? string
---@field from? string
---@field upTo? string
---@field dryRun? boolean Default false.

--- What a compaction did. If `previewId` is set, what it would do. Sizes are tokens of the context. `note` says how the compacted range differs from the one in the request: it is moved so that a tool call and its result stay together.
---@class (exact) ullage.CompactResult
---@field summary string
---@field ledger ullage.ArtifactLedger
---@field messagesArchived integer
---@field contextSizeBefore integer
---@field contextSizeAfter integer
---@field usage ullage.UsageResult
---@field editId? string|vim.NIL
---@field previewId? string|vim.NIL
---@field archived ullage.Entry[]
---@field note string

--- The marker in the place of messages that were compacted. `timestamp` is Unix milliseconds; `context_size_before` and `context_size_after` are tokens of the whole context. `kept` names the messages of the archived range that stay verbatim. The model is sent `summary`, the rendered `ledger` and the project files in `brought_back`; users see all fields. If a provider made a compaction of its own (`sealed`), that provider is sent it instead.
---@class (exact) ullage.CompactionBlock
---@field type "context_compaction"
---@field compaction_number integer
---@field timestamp integer
---@field summary string
---@field messages_archived integer
---@field context_size_before integer
---@field context_size_after? integer Default 0.
---@field kept? string[]
---@field ledger? ullage.ArtifactLedger
---@field summarizer? string Default 'offline'.
---@field brought_back? ullage.BroughtBack[]
---@field sealed? ullage.SealedCompaction

--- Details of a compaction: the edit to undo it by, and its figures in tokens and messages.
---@class (exact) ullage.CompactionMeta
---@field trigger string
---@field compactionNumber integer
---@field editId? string|vim.NIL
---@field messageId? string|vim.NIL
---@field messagesArchived integer
---@field contextSizeBefore integer
---@field contextSizeAfter integer

--- The states of a compaction: in progress, then exactly one of the others.
---@alias ullage.CompactionStatus "in_progress"|"completed"|"failed"|"cancelled"

--- A piece of the summary while it is written, in order.
---@class (exact) ullage.CompactionSummaryChunk
---@field sessionUpdate "compaction_summary_chunk"
---@field compactionId string
---@field content ullage.TextContent

--- A compaction begins or ends. A field that is left out keeps its earlier value.
---@class (exact) ullage.CompactionUpdate
---@field sessionUpdate "compaction_update"
---@field compactionId string
---@field status ullage.CompactionStatus
---@field summary? ullage.TextContent[]
---@field error? string
---@field _meta? { ullage: ullage.CompactionMeta }

--- Replaces the session's own context settings. An empty `context` returns the session to the workspace's settings.
---@class (exact) ullage.ConfigureSessionParams
---@field sessionId string
---@field context? table<string, any> Fields of `ContextSettings` that differ from the workspace's; forks inherit them.

--- The context settings in effect, the session's own and the workspace's together, and how full the context is under them.
---@class (exact) ullage.ConfigureSessionResult
---@field context ullage.ContextSettings
---@field usage ullage.UsageResult

--- When and how far the context is shrunk. Shares are of the usable window (window minus reserve).
---@class (exact) ullage.ContextSettings
---@field enabled? boolean Warn and compact automatically. Off while a model's window is unknown. Default true.
---@field warnAt? number Share of the usable window at which you are warned, once. Default 0.8.
---@field compactAt? number Share of the usable window at which Ullage compacts by itself. Default 0.9.
---@field clearAt? number Share from which cheap edits run: repeated file reads, old thinking and tool results. Default 0.65.
---@field target? number Share of the usable window a compaction leaves at most. Default 0.5.
---@field reserve? integer|vim.NIL Tokens kept free for the answer. Unset: min(max output, 20,000, window/4).
---@field keepTail? integer|vim.NIL Tokens of recent turns kept verbatim. Unset: a quarter of usable, 2,000 to 20,000.
---@field keepToolUses? integer Most recent tool results that clearing leaves alone. Default 3.
---@field clearAtLeast? integer Cheap edits run only if they save this many tokens, or reach the target. Default 20000.
---@field excludeTools? string[] Tools whose results are never cleared nor shortened.
---@field clearAtToolUses? integer|vim.NIL Tool uses since the last clearing that clear old results, too, if that saves clearAtLeast. Unset: only clearAt.
---@field clearToolInputs? boolean Clear long inputs of old tool uses, too, not only their results. Default false.
---@field keepThinkingTurns? integer|vim.NIL Most recent turns whose thinking clearing leaves alone. Null: all of them. Default 1.
---@field maxResultTokens? integer|vim.NIL Tokens an older tool result keeps when room is needed. Unset: 5% of usable, 1,000 to 10,000.
---@field maxResultTokensByTool? table<string, integer> The same per tool, by the tool's name.
---@field mode? ullage.TruncationMode What a full context loses: old messages for a summary, or as this strategy says. Default 'summarize'.
---@field strategies? ullage.StrategySettings[] Strategies by which messages go, each until the target is met: in place of the mode's own, or, where it makes summaries, when no summary could be made.
---@field privatePatterns? string[] Regular expressions; what they match is left out of every summary, as secrets are.
---@field bringBack? "contents"|"off"|"references" What a compaction says of the project's instruction files: nothing, names, or contents. Default 'references'.
---@field trustedFolders? string[] Folders whose instruction files' contents a compaction may bring back.

--- The cost of the session's requests so far, by the providers' list prices. `currency` is an ISO 4217 code.
---@class (exact) ullage.Cost
---@field amount number
---@field currency string

--- An edit as listed: its kind, its time, the tokens it saved, and whether it is in force. `partOf` names the edit with which it is undone.
---@class (exact) ullage.EditInfo
---@field id string
---@field kind string
---@field timestamp integer
---@field trigger ullage.EditTrigger
---@field tokensSaved integer
---@field reverted? boolean Default false.
---@field partOf? string

--- What caused an edit: the user or automatic context management.
---@alias ullage.EditTrigger "manual"|"automatic"

--- A message in a page. `index` is its place in the transcript. `tokens` is its calibrated count in the context, 0 if it is archived. `inserted` is true for markers and notices, which an edit put into the view.
---@class (exact) ullage.Entry
---@field message ullage.Message
---@field index integer
---@field tokens integer
---@field archived boolean
---@field pinned boolean
---@field inserted boolean

--- Ullage's data of an error. `kind` is the error's name, a stable word for programs.
---@class (exact) ullage.ErrorData
---@field kind string

--- JSON-RPC's error object. `message` is one line for the user. `data` is left out if the request could not be read, and for internal errors.
---@class (exact) ullage.ErrorObject
---@field code integer
---@field message string
---@field data? ullage.ErrorData

--- Exports a session. The format `ullage` is the whole log, the others are the context as a provider's request.
---@class (exact) ullage.ExportParams
---@field sessionId string
---@field format? "anthropic"|"openai"|"openai-responses"|"ullage" Default 'ullage'.

--- The exported text.
---@class (exact) ullage.ExportResult
---@field text string

--- The strongest thing that happened to a file. Members are ordered from the weakest to the strongest.
---@alias ullage.FileAction "read"|"modified"|"created"|"deleted"

--- A file: the strongest action on it, the number of actions, and the index of the last message that touched it.
---@class (exact) ullage.FileArtifact
---@field path string
---@field action ullage.FileAction
---@field times? integer Default 1.
---@field last_index? integer Default 0.

--- Forks a session after the message `messageId`, or at its end.
---@class (exact) ullage.ForkSessionParams
---@field sessionId string
---@field messageId? string
---@field title? string

--- An edit as the user sees it in a list. `words` say what the edit did, to how many `messages`. Sizes are tokens of the whole context before and after the edit, 0 if unknown. `position` is the edit's place in the log. `revertedAt` is Unix milliseconds.
---@class (exact) ullage.HistoryEntry
---@field id string
---@field kind string
---@field timestamp integer
---@field trigger ullage.EditTrigger
---@field tokensSaved integer
---@field reverted? boolean Default false.
---@field partOf? string
---@field position integer
---@field words string
---@field messages integer
---@field contextSizeBefore? integer Default 0.
---@field contextSizeAfter? integer Default 0.
---@field revertedAt? integer

--- Every edit ever made, oldest first.
---@class (exact) ullage.HistoryResult
---@field edits ullage.HistoryEntry[]

--- Programs of your own around a compaction. They get JSON on standard input, and none of your keys.
---@class (exact) ullage.HookSettings
---@field preCompact? string[] Program and arguments, run before a compaction. It may stop it or add instructions.
---@field postCompact? string[] Program and arguments, run after a compaction with its summary and figures.
---@field timeout? number Seconds after which a hook is stopped. Default 10.0.
---@field shareContent? boolean Give the hook before a compaction the messages that go, too, not only their number. Default false.

--- A name that the conversation repeats (function, class, flag, hash, URL), and where it occurred.
---@class (exact) ullage.IdentifierArtifact
---@field name string
---@field context? string
---@field times? integer Default 1.
---@field last_index? integer Default 0.

--- A picture: base64 `data` or a `url`. `width` and `height` are in pixels, if the sender knows them.
---@class (exact) ullage.ImageBlock
---@field type "image"
---@field media_type? string Default 'image/png'.
---@field data? string
---@field url? string
---@field width? integer
---@field height? integer

--- Imports a transcript from the file `path` or from `text`. `format` is needed if the format cannot be detected. `run` chooses one, from 1, if the file holds several runs.
---@class (exact) ullage.ImportParams
---@field path? string
---@field text? string
---@field format? string
---@field run? integer
---@field cwd? string

--- The new session. `unread` lists the lines of the file that no reader understands. `passedOver` counts the lines of known kinds that hold no message.
---@class (exact) ullage.ImportResult
---@field session ullage.SessionResult
---@field format string
---@field messages integer
---@field unread ullage.SkippedLine[]
---@field passedOver integer

--- Which threshold `used` has reached.
---@alias ullage.Level "off"|"normal"|"warning"|"critical"

--- Lists the sessions of one folder, or all. `cursor` is the `nextCursor` of the previous page.
---@class (exact) ullage.ListSessionsParams
---@field cwd? string
---@field cursor? string

--- A page of sessions, last changed first. `nextCursor` is missing on the last page.
---@class (exact) ullage.ListSessionsResult
---@field sessions ullage.ListedSession[]
---@field nextCursor? string

--- A listed session in ACP's shape. `updatedAt` is ISO 8601.
---@class (exact) ullage.ListedSession
---@field sessionId string
---@field cwd string
---@field title string
---@field updatedAt string
---@field _meta ullage.ListedSessionMetas

--- Facts about a listed session for which ACP has no field. `createdAt` is Unix milliseconds.
---@class (exact) ullage.ListedSessionMeta
---@field model string
---@field messages integer
---@field createdAt integer
---@field parentId? string|vim.NIL

--- The `_meta` object of a listed session.
---@class (exact) ullage.ListedSessionMetas
---@field ullage ullage.ListedSessionMeta

--- One message. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown.
---@class (exact) ullage.Message
---@field id string
---@field role ullage.Role
---@field content ullage.Block[]
---@field timestamp? integer Default 0.

--- A message from a client. `content` may be plain text. If `id` or `timestamp` (Unix milliseconds) is left out, the server sets it.
---@class (exact) ullage.MessageInput
---@field role ullage.Role
---@field content string|ullage.Block[]
---@field id? string
---@field timestamp? integer

--- Lists messages. `scope` `context` lists what the model would be sent, `transcript` lists every message, archived or not. `messageId` asks for that message alone, archived or not; scope, offset and limit are then ignored. With `provider`, the result also has the context as a request of that provider.
---@class (exact) ullage.MessagesParams
---@field sessionId string
---@field messageId? string
---@field scope? "context"|"transcript" Default 'context'.
---@field offset? integer Default 0.
---@field limit? integer
---@field provider? ullage.Provider

--- A page of messages. `total` counts all messages of the scope. `request` has the fields of a request of the provider, if one was named.
---@class (exact) ullage.MessagesResult
---@field entries ullage.Entry[]
---@field total integer
---@field request? table<string, any>|vim.NIL

--- What you know better than the catalog about one model.
---@class (exact) ullage.ModelSettings
---@field window? integer|vim.NIL Input tokens the model accepts.
---@field maxOutput? integer|vim.NIL Most tokens of one answer.
---@field encoding? "approximate"|"cl100k_base"|"o200k_base"|vim.NIL How to count this model's tokens.
---@field summaryPrompt? string Further instructions for summaries of this model's sessions.

--- Starts a session. All fields are optional.
---@class (exact) ullage.NewSessionParams
---@field cwd? string
---@field model? string
---@field title? string
---@field system? string
---@field tools? ullage.ToolDefinition[]
---@field context? table<string, any> Fields of `ContextSettings` that differ from the workspace's; forks inherit them.

--- An empty result.
---@class (exact) ullage.Nothing

--- A line of text for the user. It is sent live only and is not part of the transcript.
---@class (exact) ullage.Notice
---@field sessionUpdate "notice"
---@field severity ullage.Severity
---@field title string
---@field description? string
---@field _meta? { ullage: ullage.NoticeMeta }

--- A notice's kind (a stable word for programs) and the edit that it is about.
---@class (exact) ullage.NoticeMeta
---@field kind string
---@field editId? string|vim.NIL

--- How a command ended, as far as its output shows.
---@alias ullage.Outcome "passed"|"failed"|"unknown"

--- The kinds of options that Ullage offers, a subset of ACP's.
---@alias ullage.PermissionKind "allow_once"|"allow_always"|"reject_once"

--- One option that the user may choose.
---@class (exact) ullage.PermissionOption
---@field optionId string
---@field name string
---@field kind ullage.PermissionKind

--- The user's choice. `optionId` is present if an option was selected.
---@class (exact) ullage.PermissionOutcome
---@field outcome ullage.PermissionOutcomeKind
---@field optionId? string

--- Whether the user chose an option, or the prompt turn was cancelled before.
---@alias ullage.PermissionOutcomeKind "selected"|"cancelled"

--- The tool call in question, as its `tool_call` update described it.
---@class (exact) ullage.PermissionToolCall
---@field toolCallId string
---@field title string
---@field kind ullage.ToolKind
---@field status ullage.ToolStatus
---@field locations ullage.ToolLocation[]
---@field rawInput? table<string, any>

--- Pins a message of the context. `pinned` false unpins it.
---@class (exact) ullage.PinParams
---@field sessionId string
---@field messageId string
---@field pinned? boolean Default true.

--- The ids of all pinned messages.
---@class (exact) ullage.PinResult
---@field pinned string[]

--- Prompts the model. `prompt` holds ACP content blocks.
---@class (exact) ullage.PromptParams
---@field sessionId string
---@field prompt table<string, any>[] ACP content blocks.

--- How the turn ended, by ACP's stop reason.
---@class (exact) ullage.PromptResult
---@field stopReason ullage.TurnEnd

--- Whether the session's prompts would be answered. `provider` is the name of the provider that would answer, null if there is none. `remedy` then says what the user can do.
---@class (exact) ullage.Prompting
---@field provider? string|vim.NIL
---@field remedy string

--- A message format: Anthropic's Messages API, OpenAI's Chat Completions or OpenAI's Responses.
---@alias ullage.Provider "anthropic"|"openai"|"openai-responses"

--- How to reach one provider. Keys are never settings: they come from the environment or the system's keyring.
---@class (exact) ullage.ProviderSettings
---@field kind "anthropic"|"openai"|"openai_chat"|"replay"|"scripted" What it speaks: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, or a file.
---@field baseUrl? string The server's address. Unset: the provider's own.
---@field keyEnv? string Environment variable that holds the key. Unset: the provider's own.
---@field file? string The script or transcript that a scripted or replay provider plays.
---@field models? string[] Models it serves; names may end in `*`.
---@field nativeTools? boolean The server understands tool calls. Default true.
---@field timeout? number Seconds without a word from the server after which it is given up. Default 120.0.
---@field contextEditing? boolean Let the provider itself clear old tool results (Anthropic) and make compactions (Anthropic, OpenAI), for models that can. Default false.

--- How much of the messages after the first exchange a truncated range leaves, in the terms that coding agents use.
---@alias ullage.RangeKeep "none"|"lastTwo"|"half"|"quarter"

--- The server asks the client whether a tool call may be made.
---@class (exact) ullage.RequestPermissionParams
---@field sessionId string
---@field toolCall ullage.PermissionToolCall
---@field options ullage.PermissionOption[]

--- The client's answer.
---@class (exact) ullage.RequestPermissionResult
---@field outcome ullage.PermissionOutcome

--- A file or other resource that was added to the conversation. Without `text` it is only a link.
---@class (exact) ullage.ResourceBlock
---@field type "resource"
---@field uri string
---@field text? string
---@field mime_type? string

--- Goes back to a checkpoint: undoes the edits made after it, and redoes the edits undone after it. The checkpoint is one of: an edit (which stays in force), a message, a position in the log, a time in Unix milliseconds or ISO 8601. `dryRun` only says what would change.
---@class (exact) ullage.RestoreParams
---@field sessionId string
---@field editId? string
---@field messageId? string
---@field position? integer
---@field timestamp? integer|string
---@field dryRun? boolean Default false.

---@alias ullage.ResultPart ullage.TextBlock|ullage.ImageBlock|ullage.ResourceBlock

--- The edits that were undone or redone, in their new state, how many more messages are in the context (negative if edits were redone), and how full it is. After a `dryRun`: what they would be.
---@class (exact) ullage.RevertResult
---@field edits ullage.EditInfo[]
---@field messagesBack integer
---@field usage ullage.UsageResult

--- Who a message is from. Tool results are the user's, as in Anthropic's API.
---@alias ullage.Role "system"|"user"|"assistant"

--- A provider's own compaction of the archived messages, as `data` that only this provider can read. `provider` is its name in the settings; `tokens` is its size in a prompt.
---@class (exact) ullage.SealedCompaction
---@field provider string
---@field data string
---@field tokens integer

--- A message that matches a query. A higher `score` is better. `snippet` marks the matches by `**`. `index` is the message's number among the appended messages of the session, from 0, inherited ones included.
---@class (exact) ullage.SearchHit
---@field sessionId string
---@field messageId string
---@field index integer
---@field role string
---@field score number
---@field snippet string

--- Searches one session, or all if `sessionId` is left out. `query` holds names, whole or in part, or a question in plain words.
---@class (exact) ullage.SearchParams
---@field query string
---@field sessionId? string
---@field limit? integer Default 10.

--- The messages that match, best first. `context/messages` with a hit's `sessionId` and `messageId` gives the whole message.
---@class (exact) ullage.SearchResult
---@field hits ullage.SearchHit[]

--- Messages go by who speaks, oldest first; those of a kind that is not named stay as long as that is possible.
---@class (exact) ullage.Selective
---@field type "selective"
---@field order? ullage.Speaker[] What goes first, what next.

--- The session's title or the time of its last change (ISO 8601). If no window is known, `_meta` has the figures (see `UsageUpdate`).
---@class (exact) ullage.SessionInfoUpdate
---@field sessionUpdate "session_info_update"
---@field title? string
---@field updatedAt? string
---@field _meta? { ullage: ullage.UsageMeta }

--- The params of `session/update`, which is ACP's `SessionNotification`.
---@class (exact) ullage.SessionNotification
---@field sessionId string
---@field update ullage.Update

--- Names a session.
---@class (exact) ullage.SessionParams
---@field sessionId string

--- A session, how full its context is, and whether it can be prompted.
---@class (exact) ullage.SessionResult
---@field sessionId string
---@field title string
---@field cwd string
---@field usage ullage.UsageResult
---@field prompting ullage.Prompting

--- All settings of Ullage.
---@class (exact) ullage.Settings
---@field model? string Model assumed for sessions that do not name one.
---@field models? table<string, ullage.ModelSettings> Overrides per model name, for example its window.
---@field provider? string Provider to talk to: anthropic, openai, or a name under providers. Unset: by model and key.
---@field providers? table<string, ullage.ProviderSettings> Providers by name.
---@field context? ullage.ContextSettings
---@field summary? ullage.SummarySettings
---@field hooks? ullage.HookSettings

--- How important a notice is.
---@alias ullage.Severity "info"|"warning"|"error"

--- A part of the file that became no event. `line` is its line number or the index of its element, counted from 1. `reason` says why it was skipped. `expected` is true for parts that the format has besides the conversation (progress lines, snapshots), and false for parts that could not be read.
---@class (exact) ullage.SkippedLine
---@field line integer
---@field reason string
---@field expected boolean

--- The last messages stay, by number, whatever they count.
---@class (exact) ullage.SlidingWindow
---@field type "sliding_window"
---@field maxMessages? integer Messages that stay. Default 20.

--- The first and the last messages stay; of those between them the oldest go until the rest fits.
---@class (exact) ullage.Smart
---@field type "smart"
---@field keepFirst? integer Messages that stay at the beginning. Default 2.
---@field keepLast? integer Messages that stay at the end. Default 10.

--- The kind of a group of messages: a tool use with its results, the assistant's text, or the user's.
---@alias ullage.Speaker "tool"|"assistant"|"user"

---@alias ullage.StrategySettings ullage.SlidingWindow|ullage.TokenBudget|ullage.Selective|ullage.Smart|ullage.TruncateRange

--- Who writes the summary of a compaction, and how.
---@class (exact) ullage.SummarySettings
---@field writer? "auto"|"model"|"offline" auto: a model where one is configured, else offline. Default 'auto'.
---@field model? string Model that writes summaries. Unset: the session's own.
---@field promptFile? string File with your own instructions for summaries by a model. A project's own, in .ullage/summary.md, are given after them.
---@field prepareAt? number Share of the usable window from which a summary is prepared in the background. Default 0.75.
---@field confirm? boolean Ask instead of compacting by itself, as long as the context is not over its usable window. Default false.

--- Plain text.
---@class (exact) ullage.TextBlock
---@field type "text"
---@field text string

--- ACP's text content block.
---@class (exact) ullage.TextContent
---@field type "text"
---@field text string

--- A model's reasoning. `signature` must go back to the provider unchanged. `redacted` holds encrypted reasoning without readable text.
---@class (exact) ullage.ThinkingBlock
---@field type "thinking"
---@field thinking string
---@field signature? string
---@field redacted? string

--- The oldest messages go until the rest fits.
---@class (exact) ullage.TokenBudget
---@field type "token_budget"

--- The model calls a tool.
---@class (exact) ullage.ToolCall
---@field sessionUpdate "tool_call"
---@field toolCallId string
---@field title string
---@field kind ullage.ToolKind
---@field status ullage.ToolStatus
---@field locations ullage.ToolLocation[]
---@field rawInput? table<string, any>

--- A tool call's state or content changed. A field that is left out keeps its earlier value.
---@class (exact) ullage.ToolCallUpdate
---@field sessionUpdate "tool_call_update"
---@field toolCallId string
---@field status ullage.ToolStatus
---@field title? string
---@field content? ullage.ToolContent[]
---@field rawInput? table<string, any>

--- ACP's tool call content: the tool's result, as text.
---@class (exact) ullage.ToolContent
---@field type "content"
---@field content ullage.TextContent

--- A tool offered to the model; `input_schema` is JSON Schema.
---@class (exact) ullage.ToolDefinition
---@field name string
---@field description? string
---@field input_schema? table<string, any>

--- The kinds of tool calls that Ullage's own tools have, a subset of ACP's.
---@alias ullage.ToolKind "read"|"search"|"edit"|"think"|"other"

--- A file that a tool call touches; `line` counts from 1.
---@class (exact) ullage.ToolLocation
---@field path string
---@field line? integer

--- The result of the tool call `tool_use_id`.
---@class (exact) ullage.ToolResultBlock
---@field type "tool_result"
---@field tool_use_id string
---@field content? ullage.ResultPart[]
---@field is_error? boolean Default false.

--- The states of a tool call.
---@alias ullage.ToolStatus "pending"|"in_progress"|"completed"|"failed"

--- A model's call of the tool `name`. The result carries the same `id`.
---@class (exact) ullage.ToolUseBlock
---@field type "tool_use"
---@field id string
---@field name string
---@field input table<string, any>

--- Drops a range after the first exchange at once, again and again until the rest fits.
---@class (exact) ullage.TruncateRange
---@field type "truncate_range"
---@field keep? ullage.RangeKeep How much of the rest stays. Default 'half'.

--- What happens when the context is full: whole messages go by one of the strategies, or a summary is made.
---@alias ullage.TruncationMode "sliding_window"|"token_budget"|"smart"|"summarize"

--- Why a prompt turn ended: ACP's closed set of stop reasons.
---@alias ullage.TurnEnd "end_turn"|"max_tokens"|"max_turn_requests"|"refusal"|"cancelled"

--- Undoes the last edit, or the edit `editId`, with all edits of the same action. `dryRun` only says what the undo would bring back.
---@class (exact) ullage.UndoParams
---@field sessionId string
---@field editId? string
---@field dryRun? boolean Default false.

---@alias ullage.Update ullage.UsageUpdate|ullage.CompactionUpdate|ullage.CompactionSummaryChunk|ullage.Notice|ullage.SessionInfoUpdate|ullage.UserMessageChunk|ullage.AgentMessageChunk|ullage.AgentThoughtChunk|ullage.ToolCall|ullage.ToolCallUpdate

--- Tokens of one request as the provider reports them, in Anthropic's meaning: `input_tokens` excludes tokens read from or written to the cache. `reasoning_tokens` are part of `output_tokens`. `ullage.formats.provider_usage` converts the other providers' shapes.
---@class (exact) ullage.Usage
---@field input_tokens? integer Default 0.
---@field output_tokens? integer Default 0.
---@field cache_read_input_tokens? integer Default 0.
---@field cache_creation_input_tokens? integer Default 0.
---@field reasoning_tokens? integer Default 0.

--- What Ullage knows beyond ACP's two numbers. Tokens; null where the window is unknown.
---@class (exact) ullage.UsageMeta
---@field source ullage.UsageSource
---@field level ullage.Level
---@field usable? integer|vim.NIL
---@field warnAt? integer|vim.NIL
---@field compactAt? integer|vim.NIL
---@field breakdown ullage.Breakdown
---@field totals ullage.Usage
---@field model string
---@field messagesActive integer
---@field messagesArchived integer
---@field compactions integer
---@field oldestTimestamp integer
---@field reportedAt? integer|vim.NIL
---@field pendingMessages integer
---@field errorShare? number|vim.NIL
---@field shares? ullage.BudgetShares|vim.NIL

--- How full a context is. `used`: tokens in the context. `size`: the model's window in tokens, null while unknown. `cost`: what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all other figures.
---@class (exact) ullage.UsageResult
---@field used integer
---@field size? integer|vim.NIL
---@field cost? ullage.Cost
---@field _meta { ullage: ullage.UsageMeta }

--- How the figure `used` is known. `reported`: the provider's last report covers the whole context. `stale`: messages were appended after that report and were counted here. `estimated`: no report covers this context, because there was none yet or because an edit followed it.
---@alias ullage.UsageSource "reported"|"estimated"|"stale"

--- Tokens in context, the window in effect, and the session's cost if every request's price is known. It is never sent with a guessed `size`.
---@class (exact) ullage.UsageUpdate
---@field sessionUpdate "usage_update"
---@field used integer
---@field size integer
---@field cost? ullage.Cost
---@field _meta? { ullage: ullage.UsageMeta }

--- The user's prompt as it enters the transcript, so that every client of the session shows it.
---@class (exact) ullage.UserMessageChunk
---@field sessionUpdate "user_message_chunk"
---@field content ullage.TextContent
---@field messageId string
