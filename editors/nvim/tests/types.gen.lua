---@meta _
-- Generated from the server's structs by scripts/gen_protocol.py. Do not edit.

--- An agent in which a conversation can be continued. `word` is its name in commands. `own` says whether it is the conversation's own agent.
---@class (exact) ullage.AgentChoice
---@field agent string
---@field word string
---@field own boolean

--- A chunk of the model's answer. `message_id` is the id that the message will have in the transcript.
---@class (exact) ullage.AgentMessageChunk
---@field sessionUpdate "agent_message_chunk"
---@field content ullage.TextContent
---@field messageId string

--- A chunk of the model's reasoning. `message_id` is the id that the answer will have in the transcript.
---@class (exact) ullage.AgentThoughtChunk
---@field sessionUpdate "agent_thought_chunk"
---@field content ullage.TextContent
---@field messageId string

--- Appends messages to a session. `usage` is the provider's usage object, unchanged, with Anthropic's or OpenAI's field names; without it, that of a whole answer among `messages`. If `model` or `tools` are given, they replace the session's.
---@class (exact) ullage.AppendParams
---@field sessionId string
---@field messages? table<string, any>[] Messages, items or whole answers as the model's API has them (Anthropic's Messages, OpenAI's Chat Completions or Responses), or messages with Ullage's own blocks. Every field is kept. If `id` or `timestamp` (Unix milliseconds) of a message with a `role` is left out, the server sets it.
---@field usage? table<string, any>
---@field model? string
---@field tools? table<string, any>[] Tools as the model's API has them, hosted ones included. Every field is kept.

--- The ids of the appended messages, also those that the server made, and how full the context is now.
---@class (exact) ullage.AppendResult
---@field messageIds string[]
---@field usage ullage.UsageResult

--- The archive of agents' own files, from which a transcript that its agent has deleted is given back.
---@class (exact) ullage.ArchiveSettings
---@field enabled? boolean Keep the files of agents on this machine, byte for byte, next to the store. Default true.
---@field limit? number|vim.NIL Gigabytes of the archive at which no more is kept. Nothing is removed by itself. Unset: no limit. Default 5.0.

--- The files, commands and names of a range of messages, collected by code. Each list begins with the most important one.
---@class (exact) ullage.ArtifactLedger
---@field files? ullage.FileArtifact[]
---@field commands? ullage.CommandArtifact[]
---@field identifiers? ullage.IdentifierArtifact[]

---@alias ullage.Block ullage.TextBlock|ullage.ImageBlock|ullage.ThinkingBlock|ullage.ToolUseBlock|ullage.ToolResultBlock|ullage.ResourceBlock|ullage.CompactionBlock

--- Tokens of the context, or of one message, by kind. The parts of a context sum to `used`. `overhead` is the part that a provider reported beyond what the session contains, such as an agent's own system prompt and tools.
---@class (exact) ullage.Breakdown
---@field system_prompt? integer Default 0.
---@field tools? integer Default 0.
---@field memory? integer Default 0.
---@field messages? integer Default 0.
---@field tool_results? integer Default 0.
---@field summary? integer Default 0.
---@field overhead? integer Default 0.

--- A project's instruction file that a compaction puts into its marker. `text` is the file's content at that time; if it is empty, the model is asked to read the file at `path` again.
---@class (exact) ullage.BroughtBack
---@field path string
---@field text? string

--- How a window is shared out, in tokens. `system_prompt` and `tools` are the tokens that they take (an agent's hidden prompt counts with the system prompt), `reserve` is kept for the answer, and `conversation` may take the rest. The four sum to the window, unless system prompt and tools exceed it; then `conversation` is 0. `available` is the part of the conversation's share that is free; `overflow` is the number of tokens by which the context exceeds usable.
---@class (exact) ullage.BudgetShares
---@field systemPrompt integer
---@field tools integer
---@field conversation integer
---@field reserve integer
---@field available integer
---@field overflow integer

--- A request at the time `at` (Unix milliseconds) whose `tokens` had to be read anew, and why.
---@class (exact) ullage.CacheMiss
---@field at integer
---@field cause ullage.CacheMissCause
---@field tokens integer

--- Why a request found nothing in the cache of what the one before it had left. `idle`: the pause was too long. `compaction`: a summary replaced messages. `model`: another model answered. `messages`: earlier messages were changed or left out, and only what precedes them was still there. `prefix`: the system prompt, the tools or the settings changed, or the provider dropped the prompt early.
---@alias ullage.CacheMissCause "idle"|"compaction"|"model"|"messages"|"prefix"

--- How it is known how long a provider keeps a prompt in its cache. `promised`: by the kind of entry that the last report says it wrote. `seen`: the longest pause in this conversation after which the prompt was still there.
---@alias ullage.CacheSource "promised"|"seen"

--- An estimate of the number of model calls until the context is compacted, if it grows as it did recently. `mean` is the tokens left until then divided by the mean growth per call. In at least four of five cases the number is from `low` to `high`.
---@class (exact) ullage.CallsLeft
---@field low integer
---@field mean integer
---@field high integer

--- What a client can do, as it declares in `capabilities.experimental.ullage` or in `initializationOptions.client`. `permissions`: it asks the user before a tool is used. `models`: it can ask models for the server, and says in `models/offer` which. `folderTrusted` false: the user has not said that the open folder may decide anything, so a project's own instructions for summaries are not read.
---@class (exact) ullage.ClientAbilities
---@field permissions? boolean Default false.
---@field models? boolean Default false.
---@field folderTrusted? boolean Default true.

--- A command or test run in archived messages: its last outcome, the most informative line of its output (`detail`), how often it ran (`times`), and the index in the transcript of the last message that ran it.
---@class (exact) ullage.CommandArtifact
---@field command string
---@field outcome ullage.Outcome
---@field is_test? boolean Default false.
---@field detail? string
---@field times? integer Default 1.
---@field last_index? integer Default 0.

--- Applies the compaction of a preview. If `summary` is given, it replaces the preview's own.
---@class (exact) ullage.CommitParams
---@field sessionId string
---@field previewId string
---@field summary? string

--- Compacts the context now. `focus` says what the summary must keep. `from` and `upTo` are ids of messages in the context: if one or both are given, the messages between them, both included, are compacted and all others stay verbatim. `dryRun` previews the compaction.
---@class (exact) ullage.CompactParams
---@field sessionId string
---@field focus? string
---@field from? string
---@field upTo? string
---@field dryRun? boolean Default false.

--- What a compaction did, or would do. A compaction has an `editId`, a preview a `previewId` instead. `archived` holds the messages that it archives. Sizes are tokens of the context. `note` says how the compacted range differs from the one in the request: it is moved so that a tool call and its result stay together.
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

--- The content of a marker, the message that a compaction puts into the view in place of the archived messages. `timestamp` is Unix milliseconds; `context_size_before` and `context_size_after` are tokens of the whole context. `compaction_number` counts the session's compactions from 1. `kept` holds the ids of messages of the compacted range that stay verbatim. The model is sent `summary`, the rendered `ledger` and the project files in `brought_back`; users see all fields. If a provider made a compaction of its own (`sealed`), this provider is sent its `data` instead.
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

--- Details of a compaction. `edit_id` is the id by which the compaction can be undone, `message_id` that of its marker; both are null until the compaction is complete. `messages_archived` counts messages; the context sizes are tokens.
---@class (exact) ullage.CompactionMeta
---@field trigger string
---@field compactionNumber integer
---@field editId? string|vim.NIL
---@field messageId? string|vim.NIL
---@field messagesArchived integer
---@field contextSizeBefore integer
---@field contextSizeAfter integer

--- The states of a compaction: first `in_progress`, then exactly one of the others.
---@alias ullage.CompactionStatus "in_progress"|"completed"|"failed"|"cancelled"

--- A chunk of a compaction's summary while the summary is written. Chunks come in order.
---@class (exact) ullage.CompactionSummaryChunk
---@field sessionUpdate "compaction_summary_chunk"
---@field compactionId string
---@field content ullage.TextContent

--- A compaction begins or ends. A field that is left out keeps the value of the earlier update with this `compactionId`.
---@class (exact) ullage.CompactionUpdate
---@field sessionUpdate "compaction_update"
---@field compactionId string
---@field status ullage.CompactionStatus
---@field summary? ullage.TextContent[]
---@field error? string
---@field _meta? { ullage: ullage.CompactionMeta }

--- Asks one of the client's models. `model` is the `id` of an offered model. The client sends the answer while it is written, in `models/piece` with the same `requestId`, and then answers this request.
---@class (exact) ullage.CompleteParams
---@field requestId string
---@field model string
---@field purpose ullage.Purpose
---@field messages ullage.SpokenMessage[]

--- The end of an answer. `pieces` is how many `models/piece` the client has sent for it. `fault` is null if the answer is whole; else `reason` is what the client knows of it.
---@class (exact) ullage.CompleteResult
---@field pieces integer
---@field fault? ullage.CompletionFault
---@field reason? string

--- Why a client's model gave no whole answer. `no_permission`: the user has not allowed it. `blocked`: the model's vendor takes no more requests for now, or none with this content. `not_found`: there is no such model any more. `too_long`: the prompt is over the model's limit. `failed`: anything else.
---@alias ullage.CompletionFault "no_permission"|"blocked"|"not_found"|"too_long"|"failed"

--- Replaces all of the session's own context settings: what `context` does not name is the workspace's again. The model is changed by `session/append`.
---@class (exact) ullage.ConfigureSessionParams
---@field sessionId string
---@field context? table<string, any> Fields of `ContextSettings` that differ from the workspace's; forks inherit them.

--- The context settings in effect, the session's own and the workspace's together, and how full the context is by these settings.
---@class (exact) ullage.ConfigureSessionResult
---@field context ullage.ContextSettings
---@field usage ullage.UsageResult

--- When the context is made smaller, and by how much. Shares are of usable (the window less the reserve).
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

--- How a conversation can be continued: in which agents of this machine, its own first, and whether it can go back to the context before its agent's own last compaction.
---@class (exact) ullage.ContinuingChoicesResult
---@field agents ullage.AgentChoice[]
---@field beforeCompaction boolean

--- Previews a new session that the agent named `agent` in commands resumes; without it the conversation's own agent. Its context is the conversation's as it was before the agent's own last compaction (`beforeCompaction`), as it was after the message `messageId`, or the present one. `compacted` says whether Ullage compacts it; without it that is done for the conversation's own agent, if neither of the first two is asked for. `budget` is the most tokens of a compacted context, without what the agent adds, and `focus` says what its summary must keep.
---@class (exact) ullage.ContinuingPreviewParams
---@field sessionId string
---@field agent? string
---@field beforeCompaction? boolean Default false.
---@field messageId? string
---@field compacted? boolean
---@field budget? integer
---@field focus? string

--- A new session of an agent. `written` is false for a preview, which `previewId` names until it is written or the server ends. `agentSessionId` is the session's id in the agent, `path` its file. `command` are the words that resume it in the folder `cwd`; `shell` is the same as a line for a shell, for any folder. `messages` are those of its context, and `leftOut` those of the conversation that are not among them. `used` is the size of its context in tokens, with the `hidden` ones that the agent adds to every request; `before` is the size before Ullage compacted it, null if it did not. `size` is the window and `compactsAt` where the agent compacts by itself, null if unknown. `fits` is false if the agent may compact the session before it asks the first prompt. `notes` are sentences for the user.
---@class (exact) ullage.ContinuingResult
---@field written boolean
---@field previewId string
---@field agent string
---@field agentSessionId string
---@field path string
---@field cwd string
---@field command string[]
---@field shell string
---@field messages integer
---@field leftOut integer
---@field used integer
---@field hidden integer
---@field before? integer|vim.NIL
---@field size? integer|vim.NIL
---@field compactsAt? integer|vim.NIL
---@field fits boolean
---@field notes string[]

--- The cost of the session's requests so far, by the providers' list prices. `currency` is an ISO 4217 code.
---@class (exact) ullage.Cost
---@field amount number
---@field currency string

--- Asks how many tokens a prompt is for one of the client's models. `model` is the `id` of an offered model.
---@class (exact) ullage.CountParams
---@field model string
---@field messages ullage.SpokenMessage[]

--- The tokens of a prompt by the model's own count, null if it can't count.
---@class (exact) ullage.CountResult
---@field tokens? integer|vim.NIL

--- An edit as listed for users: its kind, time (Unix milliseconds), trigger, the tokens it saved, and whether it is undone (`reverted`). `part_of` is the id of the edit together with which it is undone, None if it is undone by itself.
---@class (exact) ullage.EditInfo
---@field id string
---@field kind string
---@field timestamp integer
---@field trigger ullage.EditTrigger
---@field tokensSaved integer
---@field reverted? boolean Default false.
---@field partOf? string

--- Who started an edit: the user (`manual`) or automatic context management (`automatic`).
---@alias ullage.EditTrigger "manual"|"automatic"

--- A message in a page. `index` is its index in the transcript, from 0, where a `system` of `session/new` is the first message. `tokens` is its calibrated count in the context, 0 if it is archived. `inserted` is true for markers and notices, which an edit put into the view; their `index` is that of the message after them. `by_agent` is true for a message with the user's role that the agent's program wrote: a reminder, a command's output, a summary.
---@class (exact) ullage.Entry
---@field message ullage.Message
---@field index integer
---@field tokens integer
---@field archived boolean
---@field pinned boolean
---@field inserted boolean
---@field byAgent boolean

--- The `data` of an error object, as Ullage sends it. `kind` is the error's name, a word for programs that never changes.
---@class (exact) ullage.ErrorData
---@field kind string

--- JSON-RPC's error object. `message` is one line for the user. `data` is left out if the request could not be read, and for internal errors.
---@class (exact) ullage.ErrorObject
---@field code integer
---@field message string
---@field data? ullage.ErrorData

--- Exports a session. The format `ullage` is the whole log; with the others it is the context as a provider's request.
---@class (exact) ullage.ExportParams
---@field sessionId string
---@field format? "anthropic"|"openai"|"openai-responses"|"ullage" Default 'ullage'.

--- The exported session: JSONL for the format `ullage`, JSON for the others.
---@class (exact) ullage.ExportResult
---@field text string

--- What a conversation did to a file. The ledger keeps one action per file: its last change, but a file that was created and then modified stays `created`, and a later `read` replaces no change.
---@alias ullage.FileAction "read"|"modified"|"created"|"deleted"

--- A file that archived messages touched, or that the messages after them changed: its path, the action on it (see `FileAction`), the number of actions in archived messages (`times`), and the index in the transcript of the last message that touched it.
---@class (exact) ullage.FileArtifact
---@field path string
---@field action ullage.FileAction
---@field times? integer Default 1.
---@field last_index? integer Default 0.

--- A change of a file. `before` and `after` are its texts, null where there is no file. `difference` has the changed lines with two lines around them, as `diff -u` writes them, without the files' names.
---@class (exact) ullage.FileDifference
---@field path string
---@field before? string|vim.NIL
---@field after? string|vim.NIL
---@field difference string

--- A conversation that an agent has and Ullage follows, and how full its context is. Sizes are tokens, times are Unix milliseconds; a value that is not known is null, and a text that is not known is "". `sessionId` is its session, which can be read as any other. `agentShort` is `agent` in a few characters, for a status bar. `agentSessionId` is the agent's own id of the conversation, and `path` the agent's file. A sub-agent's conversation is only listed if the one that started it is not known; `parent` is the agent's own id of that one, and "" for any other conversation. `live` says whether the conversation continues, and `processId` which process has it open, if the agent says so. `percent` is the used share of the window. `callsLeft` holds two numbers, the fewest and the most model calls until `compactsAt` in four of five cases. `idle` is a compaction that the agent makes because the conversation idles; null if it makes none. `cache` is the provider's cache of the last prompt, with what the next one costs; null if that is not known. `moment` says that now is a good moment to go on in a new session; null if it is not. `rateLimits` is what the agent said last of the limits of the user's subscription. `nearness` is how near `compactsAt` is, or the end of the window if nothing compacts the context; it is null if the conversation is not live. `compactCommand` is what a user types in the agent to compact the conversation, "" if it is not known; some agents take what the summary must keep after it (`takesFocus`). `warnings` are sentences for the user. `forks` are the agent's own ids of conversations with the same beginning that are not listed.
---@class (exact) ullage.FollowedConversation
---@field sessionId string
---@field agent string
---@field agentShort string
---@field agentSessionId string
---@field title string
---@field cwd string
---@field path string
---@field parent string
---@field model string
---@field live boolean
---@field processId? integer|vim.NIL
---@field used? integer|vim.NIL
---@field usedSource? ullage.UsageSource|vim.NIL
---@field percent? integer|vim.NIL
---@field window? integer|vim.NIL
---@field windowSource? ullage.WindowSource|vim.NIL
---@field compactsAt? integer|vim.NIL
---@field compactsAtSource? ullage.ThresholdSource|vim.NIL
---@field callsLeft? integer[]|vim.NIL
---@field idle? ullage.IdleCompaction|vim.NIL
---@field cache? ullage.PromptCache|vim.NIL
---@field moment? ullage.GoodMoment|vim.NIL
---@field rateLimits ullage.RateLimit[]
---@field nearness? ullage.Nearness|vim.NIL
---@field messages? integer|vim.NIL
---@field warnings string[]
---@field forks string[]
---@field updatedAt integer
---@field compactCommand string
---@field takesFocus boolean

--- Says that an agent keeps the session's conversation, whether it is followed now or was imported from the agent's own file. `agent` is the agent's name and `path` that file; a text is "" if it is not known.
---@class (exact) ullage.FollowedFrom
---@field agent string
---@field path string

--- The params of `following/changed`: the followed conversations that are new or have changed. `gone` are the sessions of those that were deleted, or that another session has replaced, because their agent wrote the file again. `desktop` is as in `FollowingResult`.
---@class (exact) ullage.FollowingChange
---@field rows ullage.FollowedConversation[]
---@field gone string[]
---@field desktop boolean

--- Empty params, of methods that take none.
---@class (exact) ullage.FollowingParams

--- Whether the server follows, and the followed conversations, the last changed first. `keeping` is what the user is to be asked, once: it is in the answer of `following/start` until `following/keep` has brought an answer. `desktop` says that the server tells the user what is due by notifications of the operating system: an editor says only that a compaction is near.
---@class (exact) ullage.FollowingResult
---@field following boolean
---@field rows ullage.FollowedConversation[]
---@field keeping? ullage.KeepingQuestion|vim.NIL
---@field desktop boolean

--- Forks a session after the message `messageId`, or at its end if that is left out.
---@class (exact) ullage.ForkSessionParams
---@field sessionId string
---@field messageId? string
---@field title? string

--- A conversation in an agent's own file. A text is "" if it is not known. `path` and `run` are those of `session/import`; `run` is null if the file contains one conversation. `agent` is the product's name, `format` the name of the file's format, and `originId` the agent's own id of the conversation. `here` says whether it began in `cwd` or in a folder in it. `updatedAt` is Unix milliseconds, `bytes` the size of the file. `sessionId` is the id of the stored session that was imported from it last, or null. `used` and `window` (tokens) and `percent` say how full the context is, null as far as that is not known.
---@class (exact) ullage.FoundTranscript
---@field path string
---@field run? integer|vim.NIL
---@field agent string
---@field format string
---@field originId string
---@field title string
---@field cwd string
---@field here boolean
---@field model string
---@field updatedAt integer
---@field bytes integer
---@field sessionId? string|vim.NIL
---@field used? integer|vim.NIL
---@field window? integer|vim.NIL
---@field percent? integer|vim.NIL

--- What hooks gave back to the agent, the oldest first.
---@class (exact) ullage.GivenBackResult
---@field rows ullage.GivenBackRow[]

--- A text that a hook gave the agent, `at` a time in Unix milliseconds. `why` is `compact` at the restart after a compaction, `resume` when the session was resumed, `prompt` at the next prompt, and `fill` for a note of how full the context is. `editId` is the compaction in force that it was given after; null if there is none, and for a note. `counts` has how many of each kind are in the text, with the kinds of `context/lost`. `characters` are UTF-16 units, `tokens` an estimate of what it costs.
---@class (exact) ullage.GivenBackRow
---@field at integer
---@field why string
---@field editId? string|vim.NIL
---@field counts table<string, integer>
---@field characters integer
---@field tokens integer
---@field text string

--- A piece of work has ended with the commit that has the subject `work`, and nothing is open: the next piece can begin in a new session. That begins with at most `tokens` tokens, and its first prompt costs `cost` US dollars by list prices, null if the model has none. `at` is the time of the last answer in Unix milliseconds, 0 if unknown: the same time is the same moment.
---@class (exact) ullage.GoodMoment
---@field at integer
---@field work string
---@field tokens integer
---@field cost? number|vim.NIL

--- The tokens of the context that the conversation does not contain: the system prompt and the tools of its agent or client. `tokens` equals the breakdown's `overhead`. `name` is what users see this part called. `parts` name what is known to be in it and sum to `tokens`; empty if nothing is.
---@class (exact) ullage.Hidden
---@field tokens integer
---@field name string
---@field parts ullage.HiddenPart[]

--- What an agent adds to each request before the conversation. `memory` are files with instructions, such as `CLAUDE.md`, `mcp` are the tools of one MCP server, `history` are earlier messages that the log lacks, whose size it does not say, and `unknown` is what else the log does not contain.
---@alias ullage.HiddenKind "system_prompt"|"tools"|"mcp"|"memory"|"skills"|"history"|"unknown"

--- Tokens that an agent adds to each request. `name` is the path of a file or the name of an MCP server; of what the log does not contain, the names of the MCP servers in the agent's settings, whose tools are in it; empty for other kinds. `estimated` is false if the agent itself says the number.
---@class (exact) ullage.HiddenPart
---@field kind ullage.HiddenKind
---@field tokens integer
---@field name? string
---@field estimated? boolean Default true.

--- An edit as the user sees it in a list. `words` say what the edit did, to how many `messages`. Sizes are tokens of the whole context before and after the edit, 0 if unknown. `position` is the edit's place in the log. `revertedAt` is the time of its undo in Unix milliseconds, null if it is in force. `files` are those whose repeated reads it replaced, with the tokens that this saved.
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
---@field files? ullage.RepeatedFile[]

--- Every edit ever made in the session, oldest first.
---@class (exact) ullage.HistoryResult
---@field edits ullage.HistoryEntry[]

--- Programs that run before and after a compaction. Each gets one JSON object on standard input and no API keys. If a program fails or takes too long, a notice says so and the compaction continues.
---@class (exact) ullage.HookSettings
---@field preCompact? string[] Program and arguments, run before a compaction. It may stop it or add instructions.
---@field postCompact? string[] Program and arguments, run after a compaction with its summary and figures.
---@field timeout? number Seconds after which a hook is stopped. Default 10.0.
---@field shareContent? boolean Give the hook before a compaction the messages that are archived, not only their number. Default false.

--- A name that the agent wrote in archived messages (function, class, flag, hash, URL, but no path): text around its last occurrence (`context`), how often it occurs (`times`), and the index in the transcript of the last message that has it.
---@class (exact) ullage.IdentifierArtifact
---@field name string
---@field context? string
---@field times? integer Default 1.
---@field last_index? integer Default 0.

--- A compaction that the agent makes by itself at the time `at` (Unix milliseconds), if it still runs and the user types nothing until then. `setting` is the setting of the agent that stops it.
---@class (exact) ullage.IdleCompaction
---@field at integer
---@field setting string

--- A content block with a picture: base64 `data` or a `url`. `width` and `height` are pixels, None if the sender did not give them.
---@class (exact) ullage.ImageBlock
---@field type "image"
---@field media_type? string Default 'image/png'.
---@field data? string
---@field url? string
---@field width? integer
---@field height? integer
---@field provided? ullage.Provided

--- What an import did. `new`: it made a session. `unchanged`: the session of an earlier import has all messages already. `grown`: new messages were appended to the session of an earlier import. `diverged`: there is a session of an earlier import, but the transcript's messages differ from that session's, so a new session was made.
---@alias ullage.ImportOutcome "new"|"unchanged"|"grown"|"diverged"

--- Imports a transcript from the file `path` or from `text`. `format` is needed if it cannot be detected; the error for the name `list` has the names of all. `run` chooses one conversation, counted from 1, if the file holds several. `cwd` is the session's folder if the transcript names none.
---@class (exact) ullage.ImportParams
---@field path? string
---@field text? string
---@field format? string
---@field run? integer
---@field cwd? string

--- The session of an import: a new one, or that of an earlier import of the same transcript (`outcome`). `messages` counts all of its messages, `added` those that this import has appended. `divergedFrom` is the earlier import's session if the outcome is `diverged`. `unread` lists the lines of the file that could not be read. `passedOver` counts the lines of known kinds that hold no message.
---@class (exact) ullage.ImportResult
---@field session ullage.SessionResult
---@field format string
---@field outcome ullage.ImportOutcome
---@field messages integer
---@field added integer
---@field divergedFrom? string|vim.NIL
---@field unread ullage.SkippedLine[]
---@field passedOver integer

--- The user's answer to whether agents' files are kept. It holds for all editors, and `ullage keep` changes it.
---@class (exact) ullage.KeepParams
---@field keep boolean

--- Who keeps the context within its window. `ullage`: Ullage does. `agent`: the agent that has the conversation does; Ullage reads the conversation and compacts it only if the user asks. `nobody`: automatic management is off, or no window is known.
---@alias ullage.Keeper "ullage"|"agent"|"nobody"

--- What the user is asked once: whether agents' files are kept, which agents delete after a while. Now they would be `conversations` files of `size` bytes, kept compressed in the archive at `path`, in at most `limit` bytes, null for no limit.
---@class (exact) ullage.KeepingQuestion
---@field conversations integer
---@field size integer
---@field path string
---@field limit? integer|vim.NIL

--- What an entry is, in the order in which pages show the kinds.
---@alias ullage.Kind "said"|"task"|"problem"|"check"|"commit"|"file"|"job"|"words"|"earlier"

--- The number of tokens at which the context is compacted, and how that is known. `percent` is `tokens` as a percentage of the window. `times` is the number of compactions that the threshold was learned from, 0 if it was not learned. `basis` is the evidence, one line for the user.
---@class (exact) ullage.KnownThreshold
---@field tokens integer
---@field percent integer
---@field source ullage.ThresholdSource
---@field basis string
---@field times integer

--- The window in tokens and how it is known. `basis` is the evidence, one line for the user. `contradiction` describes evidence against this window, null if there is none.
---@class (exact) ullage.KnownWindow
---@field size integer
---@field source ullage.WindowSource
---@field basis string
---@field contradiction? string|vim.NIL

--- How full the context is: `warning` from the warning threshold, `critical` from the compaction threshold, `normal` below both. `off` means that there is no budget, because management is off or no window is known.
---@alias ullage.Level "off"|"normal"|"warning"|"critical"

--- The state of an entry. A message of the user is `open`, or `repeated` by the same words later. A task is `open`, `in progress`, `done`, `dropped`, or `earlier`: of a list that the agent has left. A problem is `open` or `mended`. A check `passed` or `failed`. A commit is the `last` one, an `earlier` one, or `elsewhere`: in another repository; it is `open` if a branch has none of the conversation yet. A file was `read`, `created`, `changed` or `deleted`. A job is `running` or `ended`. The agent's words and an earlier summary hold (`stands`).
---@alias ullage.Life "open"|"repeated"|"in progress"|"done"|"dropped"|"mended"|"passed"|"failed"|"last"|"earlier"|"elsewhere"|"read"|"created"|"changed"|"deleted"|"running"|"ended"|"stands"

--- A limit of the user's own, whatever the window: once a conversation passes it, the user is warned.
---@class (exact) ullage.Limit
---@field agent? string Name of the agent that it is for. Unset: all.
---@field folder? string Folder that it is for, an absolute path. Unset: all.
---@field tokens? integer|vim.NIL Tokens in the context.
---@field cost? number|vim.NIL US dollars that it has cost, by list prices.

--- Lists the sessions of one folder, or all if `cwd` is left out. `cursor` is the `nextCursor` of the previous page.
---@class (exact) ullage.ListSessionsParams
---@field cwd? string
---@field cursor? string

--- A page of sessions, last changed first. `nextCursor` is missing on the last page.
---@class (exact) ullage.ListSessionsResult
---@field sessions ullage.ListedSession[]
---@field nextCursor? string

--- Lists the conversations that coding agents keep on this machine, the newest first. `cwd` is an absolute path: the conversations of this folder and the folders in it are listed before the others. If `all` is false, the others are left out. Without `cwd`, all are listed. `limit` is the largest number of conversations.
---@class (exact) ullage.ListTranscriptsParams
---@field cwd? string
---@field all? boolean Default true.
---@field limit? integer Default 30.

--- The conversations, without those of sub-agents, and the files that could not be read.
---@class (exact) ullage.ListTranscriptsResult
---@field transcripts ullage.FoundTranscript[]
---@field unread ullage.UnreadFile[]

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

--- Has a tool of `ullage mcp` (`search`, `open`, `context` or `lost`, also with `ullage_` before it) answer about a session, with the arguments that it has there.
---@class (exact) ullage.LookUpParams
---@field sessionId string
---@field tool string
---@field arguments? table<string, any>

--- The tool's text: at most 4 KB, in which everything that was said is quoted. `isError` says that it says what was wrong with the call.
---@class (exact) ullage.LookUpResult
---@field text string
---@field isError boolean

--- One thing that was left out. `text` is as it was written, without secrets; it may have several lines. `state` is its newest state, such as `open`, `failed` or `created`. `detail` is what is needed to understand it: the question that a reply answers, how a check ended, the line of the summary that says otherwise; may be empty. `index` is the message that it was in.
---@class (exact) ullage.LostEntry
---@field kind ullage.Kind
---@field state ullage.Life
---@field text string
---@field detail string
---@field index integer

--- Lists what the compaction `editId` left out, or without it the last one in force. `limit` is the most entries of each kind, `briefSize` the most UTF-16 units of the brief.
---@class (exact) ullage.LostParams
---@field sessionId string
---@field editId? string
---@field limit? integer Default 100.
---@field briefSize? integer Default 10000.

--- What a compaction left out that its summary does not say: what the user said and decided, and what is open, failed or done, but not every archived message. It comes by kind: of each first what the summary contradicts, then what is open, then the rest, the newest first. `editId` is null, and the rest empty, if no compaction is in force. `timestamp` is the compaction's time in Unix milliseconds, 0 if unknown. `messages` counts those before it, `kept` those among them that the agent still has. `readable` is false if the summary is encrypted, so that what it leaves out is not known. `counts` has how many were left out of each kind, whether listed or not, and `missing` how many of these no hook has given back yet. `brief` quotes it as a page to be given back to the agent; empty if nothing was left out or there is no room for a line.
---@class (exact) ullage.LostResult
---@field editId? string|vim.NIL
---@field timestamp integer
---@field messages integer
---@field kept integer
---@field readable boolean
---@field counts table<string, integer>
---@field missing table<string, integer>
---@field entries ullage.LostEntry[]
---@field brief string

--- One message of a transcript. `id` is unique in its session; `timestamp` is Unix milliseconds, 0 when unknown. `provided` is the message as a program gave it in a provider's format.
---@class (exact) ullage.Message
---@field id string
---@field role ullage.Role
---@field content ullage.Block[]
---@field timestamp? integer Default 0.
---@field provided? ullage.Provided

--- Lists messages. `scope` `context` lists the messages that the model would be sent, `transcript` lists every message, archived or not. `messageId` asks for that message alone, archived or not; scope, offset and limit are then ignored. Without `limit`, all from `offset` on are listed. With `provider`, the result also has the context as a request of that provider.
---@class (exact) ullage.MessagesParams
---@field sessionId string
---@field messageId? string
---@field scope? "context"|"transcript" Default 'context'.
---@field offset? integer Default 0.
---@field limit? integer
---@field provider? ullage.Provider

--- A page of messages. `total` counts all messages of the scope. `request` has the fields of a request of the provider that the params named, null if they named none.
---@class (exact) ullage.MessagesResult
---@field entries ullage.Entry[]
---@field total integer
---@field request? table<string, any>|vim.NIL

--- The next piece of an answer, in the order in which the model writes it.
---@class (exact) ullage.ModelPiece
---@field requestId string
---@field text string

--- Settings for one model, which override the catalog's facts about it.
---@class (exact) ullage.ModelSettings
---@field window? integer|vim.NIL Input tokens the model accepts.
---@field maxOutput? integer|vim.NIL Most tokens of one answer.
---@field encoding? "approximate"|"cl100k_base"|"o200k_base"|vim.NIL How to count this model's tokens.
---@field toolSyntax? "caret"|"native"|"xml"|vim.NIL How the model calls tools: by its provider's own way, or in its text, as XML tags or between fences of three carets. Unset: native, or xml where the provider has nativeTools false.
---@field summaryPrompt? string Further instructions for summaries of this model's conversations.
---@field context? table<string, any> Context settings of this model's conversations that differ, for example its strategies.

--- How near the compaction of a context is, or the end of the window where nothing compacts it. `imminent`: so few calls are left that a user who wants to act must act now; `near`: it is worth a look; `far`: neither; `compacting`: its agent has said that it compacts it, and has written nothing since.
---@alias ullage.Nearness "far"|"near"|"imminent"|"compacting"

--- Starts a session. All fields are optional. `system` is a text or content blocks, `tools` are those of the model's API, both are kept as given.
---@class (exact) ullage.NewSessionParams
---@field cwd? string
---@field model? string
---@field title? string
---@field system? string|table<string, any>[] A text, or content blocks as the model's API has them, for example with `cache_control`.
---@field tools? table<string, any>[] Tools as the model's API has them, hosted ones included. Every field is kept.
---@field context? table<string, any> Fields of `ContextSettings` that differ from the workspace's; forks inherit them.

--- An empty result, of methods that return nothing.
---@class (exact) ullage.Nothing

--- A line of text for the user. It is sent once to the clients that are connected, and is not part of the transcript.
---@class (exact) ullage.Notice
---@field sessionUpdate "notice"
---@field severity ullage.Severity
---@field title string
---@field description? string
---@field _meta? { ullage: ullage.NoticeMeta }

--- A notice's kind (a word that never changes, for programs) and the id of the edit that the notice is about, null if there is none.
---@class (exact) ullage.NoticeMeta
---@field kind string
---@field editId? string|vim.NIL

--- What the user is told by itself. `on`: a good moment to go on in a new session, where the figure is shown. `off`: not that. `desktop`: that, and a notification of the operating system for each good moment, for a compaction because a conversation idles, some minutes before it, and for a limit of the user's own.
---@alias ullage.Notices "on"|"off"|"desktop"

--- A model that the client offers. `id` is the client's own name of it, without `editor/`, and `name` what users read. `maxInputTokens` is the longest prompt that it takes.
---@class (exact) ullage.OfferedModel
---@field id string
---@field name string
---@field maxInputTokens integer

--- The models that the client offers from now on, all of them. `editor` is the client's name as its users know it.
---@class (exact) ullage.OfferedModels
---@field editor string
---@field models ullage.OfferedModel[]

--- The copy on this machine of a store in PostgreSQL, for times without its server.
---@class (exact) ullage.OfflineSettings
---@field enabled? boolean Keep a copy on this machine of what is used of a store in PostgreSQL, for times without its server. Read when the server starts. Default true.
---@field limit? number|vim.NIL Gigabytes of that copy above which the conversations go that were not used for longest. Null: no limit. Read when the server starts. Default 1.0.

--- How a command ended, as far as its output shows; `unknown` if the output does not show it.
---@alias ullage.Outcome "passed"|"failed"|"unknown"

--- The kinds of options that Ullage offers when it asks for permission, a subset of ACP's.
---@alias ullage.PermissionKind "allow_once"|"allow_always"|"reject_once"

--- One option of a permission request; `name` is its label.
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

--- The tool call for which permission is asked, with the fields of its `tool_call` update.
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

--- The ids of all pinned messages of the session.
---@class (exact) ullage.PinResult
---@field pinned string[]

--- The provider's cache of a conversation's last prompt. It is kept until the time `until` (Unix milliseconds), `keeps` milliseconds after its last use; `source` says how that is known. `tokens` is what it holds of the context. The next request costs `warm` US dollars until then and `cold` after it, both without its answer and by list prices; null if the model has none. `miss` is the last request that found nothing, null if none did.
---@class (exact) ullage.PromptCache
---@field until integer
---@field keeps integer
---@field source ullage.CacheSource
---@field tokens integer
---@field warm? number|vim.NIL
---@field cold? number|vim.NIL
---@field miss? ullage.CacheMiss|vim.NIL

--- Prompts the model, or runs a slash command. `prompt` holds ACP content blocks.
---@class (exact) ullage.PromptParams
---@field sessionId string
---@field prompt table<string, any>[] ACP content blocks.

--- How the prompt turn ended, by ACP's stop reason.
---@class (exact) ullage.PromptResult
---@field stopReason ullage.TurnEnd

--- Whether the session's prompts would be answered. `provider` is the name of the provider that would answer, null if there is none. `remedy` then says what the user can do, and `lacks_package` whether a Python package is all that is missing.
---@class (exact) ullage.Prompting
---@field provider? string|vim.NIL
---@field remedy string
---@field lacksPackage boolean

--- What a provider's format says of a message, a content block or a tool. `format` is `anthropic`, `openai`, `openai-responses`, or, for a message that an agent's program wrote with the user's role, `program`. If it is `whole`, `fields` are the complete value as a program gave it, and a request in that format has this very value. In a message that is no longer `whole`, edits have changed the content since. Other formats leave it out. A kind of block that Ullage does not know is a text block of its JSON, to be counted and searched.
---@class (exact) ullage.Provided
---@field format string
---@field fields table<string, any>
---@field whole? boolean Default false.

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
---@field documents? boolean|vim.NIL The server takes PDF documents in Chat Completions. Unset: OpenAI's own does, others do not. Anthropic Messages and OpenAI Responses always do.
---@field timeout? number Seconds without a word from the server after which it is given up. Default 120.0.
---@field contextEditing? boolean Let the provider itself clear old tool results (Anthropic) and make compactions (Anthropic, OpenAI), for models that can. Default false.

--- What an offered model is asked for: the next answer of a chat, or the summary of a compaction.
---@alias ullage.Purpose "answer"|"summary"

--- How much of the messages after the first exchange a truncation keeps: nothing, the last two messages, the last half or the last quarter of them. The choices are those of other coding agents.
---@alias ullage.RangeKeep "none"|"lastTwo"|"half"|"quarter"

--- How much of a limit of the user's subscription is used, as an agent says it to its status line or in its log: `percent` of what is allowed in a time called `name`, such as `5h` or `7d`. `until` is when that time ends, in Unix milliseconds, null if unknown.
---@class (exact) ullage.RateLimit
---@field name string
---@field percent integer
---@field until? integer|vim.NIL

--- What the user should know about the threshold at which the agent compacts, about its absence, or about a limit. `text` is one sentence.
---@class (exact) ullage.Remark
---@field kind ullage.RemarkKind
---@field text string

--- What a remark on the threshold says. `no_threshold`: the agent does not compact this model's context by itself. `changed`: the threshold differs from the one that earlier compactions show. `no_effect`: a setting of the agent asks for another threshold, and the conversation shows that the agent does not follow it. `passed`: the conversation has gone on beyond the threshold, so the real one is not known. `uncertain`: a setting of the agent is about compaction, and its effect is not known. `limit`: the conversation has passed a limit of the user's own.
---@alias ullage.RemarkKind "no_threshold"|"changed"|"no_effect"|"passed"|"uncertain"|"limit"

--- Gives a session another title, in one line.
---@class (exact) ullage.RenameSessionParams
---@field sessionId string
---@field title string

--- What repeated reads of one file cost. `occurrences` is the number of reads in which a notice replaced lines of the file. `tokens_saved` is the file's share of the tokens that the edit saved, apportioned by characters.
---@class (exact) ullage.RepeatedFile
---@field path string
---@field occurrences integer
---@field tokens_saved integer

--- Params of the request by which the server asks the client's user whether a tool call may be made.
---@class (exact) ullage.RequestPermissionParams
---@field sessionId string
---@field toolCall ullage.PermissionToolCall
---@field options ullage.PermissionOption[]

--- The client's result of a permission request.
---@class (exact) ullage.RequestPermissionResult
---@field outcome ullage.PermissionOutcome

--- A file or other resource that was added to the conversation. `data` is the base64 of content that is not text, for example of a PDF. Without `text` and `data` it is only a link.
---@class (exact) ullage.ResourceBlock
---@field type "resource"
---@field uri string
---@field text? string
---@field mime_type? string
---@field data? string
---@field provided? ullage.Provided

--- Goes back to a checkpoint: undoes the edits made after it, and redoes the edits undone after it. Exactly one field names the checkpoint: the place after an edit (which stays in force) or after a message, a position in the log, or a time in Unix milliseconds or ISO 8601. `dryRun` only says what would change.
---@class (exact) ullage.RestoreParams
---@field sessionId string
---@field editId? string
---@field messageId? string
---@field position? integer
---@field timestamp? integer|string
---@field dryRun? boolean Default false.

---@alias ullage.ResultPart ullage.TextBlock|ullage.ImageBlock|ullage.ResourceBlock

--- The edits that were undone or redone, in their new state, the number of messages that came back into the context (negative if redone edits removed more), and how full the context is. After a `dryRun`: what they would be.
---@class (exact) ullage.RevertResult
---@field edits ullage.EditInfo[]
---@field messagesBack integer
---@field usage ullage.UsageResult

--- Who a message is from. Tool results are the user's, as in Anthropic's API.
---@alias ullage.Role "system"|"user"|"assistant"

--- A provider's own compaction of the archived messages, as encrypted `data` that only this provider can read. `provider` is the provider's name in the settings; `tokens` is the size of `data` in a prompt.
---@class (exact) ullage.SealedCompaction
---@field provider string
---@field data string
---@field tokens integer

--- A message that matches a search. A higher `score` is better. `snippet` marks the matches by `**`. `index` is the message's index in the transcript, as in `Entry`, inherited messages included. `role` is `tool` for results of tools and `agent` for what an agent's program wrote: models are sent both with the user's role. `fits` says whether the message has most of the query's words near each other; one that does not is seldom what was searched for. A hit may still be in the context: the `Entry` of its message says whether it is `archived`.
---@class (exact) ullage.SearchHit
---@field sessionId string
---@field messageId string
---@field index integer
---@field role string
---@field score number
---@field snippet string
---@field fits boolean

--- Searches the messages of one session, or of all if `sessionId` is left out. `query` holds names, whole or in part, or a question in plain words.
---@class (exact) ullage.SearchParams
---@field query string
---@field sessionId? string
---@field limit? integer Default 10.

--- The messages that match the query, best first. `context/messages` with a hit's `sessionId` and `messageId` gives the whole message. `unread` is the number of stored records that are not indexed yet and so were not searched; `note` is a sentence to show with the results, if it is not empty.
---@class (exact) ullage.SearchResult
---@field hits ullage.SearchHit[]
---@field unread integer
---@field note string

--- A server that makes embeddings of texts, by which a search orders what it has found by its words. Without one, words alone decide and nothing leaves the machine. Its key comes from the environment or the system's keyring. `team_archive` is what a search of the team reads, and nothing else does.
---@class (exact) ullage.SearchSettings
---@field embeddingsUrl? string Server with OpenAI's /embeddings, such as http://127.0.0.1:11434/v1. Queries and the texts that they find are sent to it, without secrets and private text.
---@field embeddingsModel? string The server's model for embeddings.
---@field embeddingsKeyEnv? string Environment variable that holds the server's key. Unset: OPENAI_API_KEY, if there is one.
---@field teamArchive? string A team's archive to search, as postgresql://HOST/DATABASE. Unset: that of ULLAGE_TEAM, else the one that `ullage team share` was given.

--- Drops messages kind by kind in the given order, and of one kind the oldest first. Messages of a kind that is not named are kept as long as that is possible.
---@class (exact) ullage.Selective
---@field type "selective"
---@field order? ullage.Speaker[] The kinds that are dropped, in this order.

--- The session's title or the time of its last change (ISO 8601) changed. If no window is known, `_meta` has the figures of the context, because no `UsageUpdate` is sent.
---@class (exact) ullage.SessionInfoUpdate
---@field sessionUpdate "session_info_update"
---@field title? string
---@field updatedAt? string
---@field _meta? { ullage: ullage.UsageMeta }

--- The params of `session/update`, which is ACP's `SessionNotification`.
---@class (exact) ullage.SessionNotification
---@field sessionId string
---@field update ullage.Update

--- Names the session that the method is about.
---@class (exact) ullage.SessionParams
---@field sessionId string

--- A session with its title and folder, how full its context is, and whether its prompts would be answered.
---@class (exact) ullage.SessionResult
---@field sessionId string
---@field title string
---@field cwd string
---@field usage ullage.UsageResult
---@field prompting ullage.Prompting

--- All settings of Ullage.
---@class (exact) ullage.Settings
---@field model? string Model assumed for conversations that do not name one.
---@field models? table<string, ullage.ModelSettings> Overrides per model name, for example its window.
---@field provider? string Provider to talk to: anthropic, openai, or a name under providers. Unset: by model and key.
---@field providers? table<string, ullage.ProviderSettings> Providers by name.
---@field context? ullage.ContextSettings
---@field summary? ullage.SummarySettings
---@field hooks? ullage.HookSettings
---@field archive? ullage.ArchiveSettings
---@field search? ullage.SearchSettings
---@field offline? ullage.OfflineSettings
---@field limits? ullage.Limit[] Limits of your own for conversations. The innermost folder's counts, then the agent's.
---@field notices? ullage.Notices Good moments to go on in a new session: on, off, or desktop, which also notifies you by the system of these, of compactions of idle conversations and of your limits. Default 'on'.
---@field store? string Where conversations are kept: a file, or a PostgreSQL database as postgresql://HOST/DATABASE. Unset: a file of your own. Read when the server starts.

--- How important a notice is for the user.
---@alias ullage.Severity "info"|"warning"|"error"

--- A part of a transcript file that was not turned into an event. `line` is its line number or the number of its element, from 1. `reason` says why it was skipped. `expected` is true for parts that the format has in addition to the conversation (progress lines, snapshots), and false for parts that could not be read. `run` is the number of a sub-agent's conversation in the file.
---@class (exact) ullage.SkippedLine
---@field line integer
---@field reason string
---@field expected boolean
---@field run? integer|vim.NIL

--- Keeps the last `maxMessages` messages and drops the older ones, even if the context would fit without that.
---@class (exact) ullage.SlidingWindow
---@field type "sliding_window"
---@field maxMessages? integer Messages that stay. Default 20.

--- Keeps the first and the last messages. Drops the oldest of the messages between them until the context fits the target.
---@class (exact) ullage.Smart
---@field type "smart"
---@field keepFirst? integer Messages that stay at the beginning. Default 2.
---@field keepLast? integer Messages that stay at the end. Default 10.

--- The kind of a group of messages that are dropped together: a tool use with its results, a text of the assistant, or a message of the user.
---@alias ullage.Speaker "tool"|"assistant"|"user"

--- A message of a request to an offered model. Calls of tools and their results are written as text.
---@class (exact) ullage.SpokenMessage
---@field role ullage.SpokenRole
---@field text string

--- Who said a message of a request to an offered model.
---@alias ullage.SpokenRole "user"|"assistant"

--- Starts following the conversations of agents on this machine, to which the user has agreed. `folders` are absolute paths: the newest conversation of each is listed, too, however old it is. If `all` is false, only conversations of these folders and the folders in them are listed; without `folders` all are.
---@class (exact) ullage.StartFollowingParams
---@field folders? string[]
---@field all? boolean Default true.

---@alias ullage.StrategySettings ullage.SlidingWindow|ullage.TokenBudget|ullage.Selective|ullage.Smart|ullage.TruncateRange

--- Who writes the summary of a compaction, and how.
---@class (exact) ullage.SummarySettings
---@field writer? "auto"|"model"|"offline" auto: a model where one is configured, else offline. Default 'auto'.
---@field model? string Model that writes summaries. Unset: the conversation's own.
---@field promptFile? string File with your own instructions for summaries by a model. A project's own, in .ullage/summary.md, are given after them.
---@field prepareAt? number Share of the usable window from which a summary is prepared in the background. Default 0.75.
---@field confirm? boolean Ask instead of compacting by itself, as long as the context is not over its usable window. Default false.

--- A message in the team's archive that matches. `owner` is the role of the database whose it is; `folder` and `title` are those of its session. `index`, `role`, `score`, `snippet` and `fits` are as in `SearchHit`, `text` is the part of the message that matches. `sessionId` names the copy, which `team/open` alone takes.
---@class (exact) ullage.TeamHitRow
---@field owner string
---@field folder string
---@field title string
---@field sessionId string
---@field index integer
---@field role string
---@field score number
---@field snippet string
---@field fits boolean
---@field text string

--- Reads a whole message in the team's archive: one that `team/search` has found, or one before or after it.
---@class (exact) ullage.TeamOpenParams
---@field sessionId string
---@field index integer

--- A whole message in the team's archive, without what its owner keeps private. `owner`, `folder`, `title`, `sessionId`, `index` and `role` are as in `TeamHitRow`; `messages` is the number of messages of the copy.
---@class (exact) ullage.TeamOpenResult
---@field owner string
---@field folder string
---@field title string
---@field sessionId string
---@field index integer
---@field role string
---@field text string
---@field messages integer

--- Searches the team's archive: the redacted copies that its members share with the user, and the user's own. The query is that of `context/search`.
---@class (exact) ullage.TeamSearchParams
---@field query string
---@field limit? integer Default 10.

--- The messages that match, best first.
---@class (exact) ullage.TeamSearchResult
---@field hits ullage.TeamHitRow[]

--- A content block of plain text.
---@class (exact) ullage.TextBlock
---@field type "text"
---@field text string
---@field provided? ullage.Provided

--- A text, in the shape of ACP's text content block.
---@class (exact) ullage.TextContent
---@field type "text"
---@field text string

--- A content block with a model's reasoning. `signature` must be sent back to the provider unchanged. `redacted` holds encrypted reasoning that only the provider can read.
---@class (exact) ullage.ThinkingBlock
---@field type "thinking"
---@field thinking string
---@field signature? string
---@field redacted? string
---@field provided? ullage.Provided

--- How it is known at how many tokens the context is compacted. `ours`: Ullage compacts there. `settings`: the settings of the agent or of the user say so. `learned`: the agent's own automatic compactions show it. `rule`: agents of this kind and version do so.
---@alias ullage.ThresholdSource "ours"|"settings"|"learned"|"rule"

--- Drops the oldest messages until the context fits the target.
---@class (exact) ullage.TokenBudget
---@field type "token_budget"

--- The model calls a tool. `ToolCallUpdate` with the same `toolCallId` reports its progress.
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

--- A tool's result as text, in the shape of ACP's tool call content.
---@class (exact) ullage.ToolContent
---@field type "content"
---@field content ullage.TextContent

--- The kinds of the tools in Ullage's toolbox, a subset of ACP's kinds of tool calls.
---@alias ullage.ToolKind "read"|"search"|"edit"|"think"|"switch_mode"|"other"

--- A file that a tool call touches; `line` counts from 1.
---@class (exact) ullage.ToolLocation
---@field path string
---@field line? integer

--- The result of the tool call with the id `tool_use_id`. `is_error` is set if the tool failed.
---@class (exact) ullage.ToolResultBlock
---@field type "tool_result"
---@field tool_use_id string
---@field content? ullage.ResultPart[]
---@field is_error? boolean Default false.
---@field provided? ullage.Provided

--- The states of a tool call, as in ACP.
---@alias ullage.ToolStatus "pending"|"in_progress"|"completed"|"failed"

--- A model's call of the tool `name` with `input`. The block with the result has the same id in `tool_use_id`.
---@class (exact) ullage.ToolUseBlock
---@field type "tool_use"
---@field id string
---@field name string
---@field input table<string, any>
---@field provided? ullage.Provided

--- Drops a range of messages after the first exchange, and again a range of the remaining ones, until the context fits the target.
---@class (exact) ullage.TruncateRange
---@field type "truncate_range"
---@field keep? ullage.RangeKeep How much of those messages is kept. Default 'half'.

--- What happens when the context is full: a strategy drops whole messages, or a compaction summarizes them.
---@alias ullage.TruncationMode "sliding_window"|"token_budget"|"smart"|"summarize"

--- Why a prompt turn ended: ACP's closed set of stop reasons.
---@alias ullage.TurnEnd "end_turn"|"max_tokens"|"max_turn_requests"|"refusal"|"cancelled"

--- Undoes the last edit, or the edit `editId`, with all edits of the same action. `dryRun` only says what the undo would bring back.
---@class (exact) ullage.UndoParams
---@field sessionId string
---@field editId? string
---@field dryRun? boolean Default false.

--- A file that could not be read, and the reason in words.
---@class (exact) ullage.UnreadFile
---@field path string
---@field reason string

--- Takes Ullage out of the agent `agent`, or without it out of all agents. `agent` is a name as in commands, such as `claude-code`. `dryRun` previews the change. With `previewId`, the change of that preview is made to what the settings say now, or nothing.
---@class (exact) ullage.UnwireParams
---@field agent? string
---@field dryRun? boolean Default false.
---@field previewId? string

---@alias ullage.Update ullage.UsageUpdate|ullage.CompactionUpdate|ullage.CompactionSummaryChunk|ullage.Notice|ullage.SessionInfoUpdate|ullage.UserMessageChunk|ullage.AgentMessageChunk|ullage.AgentThoughtChunk|ullage.ToolCall|ullage.ToolCallUpdate

--- Tokens of one request as the provider reports them, in Anthropic's meaning: `input_tokens` excludes the tokens read from or written to the cache. `reasoning_tokens` are part of `output_tokens`, and `cache_creation_1h_input_tokens`, which stay in the cache for an hour and cost more, are part of `cache_creation_input_tokens`. `ullage.formats.parsing` converts the other providers' shapes.
---@class (exact) ullage.Usage
---@field input_tokens? integer Default 0.
---@field output_tokens? integer Default 0.
---@field cache_read_input_tokens? integer Default 0.
---@field cache_creation_input_tokens? integer Default 0.
---@field reasoning_tokens? integer Default 0.
---@field cache_creation_1h_input_tokens? integer Default 0.

--- All figures of a context beyond ACP's `used` and `size`, in tokens. Figures that need a window are null if none is known. `as_of` is the time of the last message or report that the figure covers, and `reported_at` that of the last report, in Unix milliseconds, null if there is none; `pending_messages` are those that no report covers. `oldest_timestamp` is the time of the first message in the context, 0 if there is none, and `totals` is the sum of all reports. Every `percent` is a percentage of the window. `usable`, `warn_at` and `compact_at` are tokens; the latter two are null if nothing happens there. `left` is the number of tokens until `compact_at`, or until the end of usable if nothing compacts the context. `calls_left` is null while too few calls are known. `remarks` say why no threshold is known, or what speaks against it. `agent` is the name of the agent that has the conversation, empty if Ullage's client has it. `followed` is null unless an agent on this machine keeps the conversation: then nothing can be changed in it. `idle` is a compaction that the agent makes because the conversation idles, null if it makes none. `cache` is the provider's cache of the last prompt, null if no report shows one or nothing of it is left. `moment` says that now is a good moment to go on in a new session, null if it is not. `rate_limits` is what the agent said last of the limits of the user's subscription.
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
---@field asOf? integer|vim.NIL
---@field percent? integer|vim.NIL
---@field warnPercent? integer|vim.NIL
---@field window? ullage.KnownWindow|vim.NIL
---@field threshold? ullage.KnownThreshold|vim.NIL
---@field left? integer|vim.NIL
---@field callsLeft? ullage.CallsLeft|vim.NIL
---@field remarks ullage.Remark[]
---@field hidden ullage.Hidden
---@field managedBy ullage.Keeper
---@field agent string
---@field followed? ullage.FollowedFrom|vim.NIL
---@field idle? ullage.IdleCompaction|vim.NIL
---@field cache? ullage.PromptCache|vim.NIL
---@field moment? ullage.GoodMoment|vim.NIL
---@field rateLimits ullage.RateLimit[]

--- How full a context is. `used`: tokens in the context. `size`: the window in tokens, null while it is unknown. `cost`: what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all other figures.
---@class (exact) ullage.UsageResult
---@field used integer
---@field size? integer|vim.NIL
---@field cost? ullage.Cost
---@field _meta { ullage: ullage.UsageMeta }

--- How the figure `used` is known. `reported`: the provider's last report covers the whole context. `stale`: messages were appended after that report, and Ullage counted them. `estimated`: Ullage counted the whole context, because there is no report yet or an edit followed the last one.
---@alias ullage.UsageSource "reported"|"estimated"|"stale"

--- The tokens in the context (`used`), the window (`size`), and the session's cost if the price of every request is known. If no window is known, this update is not sent.
---@class (exact) ullage.UsageUpdate
---@field sessionUpdate "usage_update"
---@field used integer
---@field size integer
---@field cost? ullage.Cost
---@field _meta? { ullage: ullage.UsageMeta }

--- A user's prompt that was added to the transcript, sent so that every client of the session shows it.
---@class (exact) ullage.UserMessageChunk
---@field sessionUpdate "user_message_chunk"
---@field content ullage.TextContent
---@field messageId string

--- How a window is known. `settings`: the user's settings name it. `agent`: the agent that has the conversation says so. `log`: the conversation itself proves it, by its agent's compactions or by a reported prompt. `rule`: the agent gives this window to its models unless its user chose another; this conversation does not say. `catalog`: the list of models.
---@alias ullage.WindowSource "settings"|"agent"|"log"|"rule"|"catalog"

--- Adds Ullage to the agent `agent`, or without it to all agents on this machine. `agent` is a name as in commands, such as `claude-code`. With `statusLine` it also becomes the agent's status line, and with `fillNotes` the agent's model gets notes of how full the context is. Without them both stay as they are; false takes them out. `dryRun` previews the change. With `previewId`, exactly the change of that preview is made, or nothing.
---@class (exact) ullage.WireParams
---@field agent? string
---@field dryRun? boolean Default false.
---@field previewId? string
---@field statusLine? boolean
---@field fillNotes? boolean

--- An agent whose settings change. `word` is its name in commands and `path` the file with its settings. `wired` says whether Ullage was added to it before this change. `files` are the changes; there are none if everything is as wanted already. `notes` are sentences about what the user has to know or do. `failed` says that settings of this agent, which was not named in the params, can't be changed; its note says why. `options` are what else the agent can get; taking out has none.
---@class (exact) ullage.WiredAgent
---@field agent string
---@field word string
---@field path string
---@field wired boolean
---@field files ullage.FileDifference[]
---@field notes string[]
---@field failed boolean
---@field options ullage.WiringOption[]

--- A param of `agents/wire` that an agent knows, and whether the agent has it after the change (`on`).
---@class (exact) ullage.WiringOption
---@field name "fillNotes"|"statusLine"
---@field on boolean

--- A change of agents' settings. `done` is false for a preview, which has a `previewId`. Without an agent in the params, `agents` is empty if none is on this machine.
---@class (exact) ullage.WiringResult
---@field agents ullage.WiredAgent[]
---@field done boolean
---@field previewId? string|vim.NIL

--- Writes the new session of a preview.
---@class (exact) ullage.WriteContinuingParams
---@field previewId string
