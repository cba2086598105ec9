-- Generated from the server's structs by scripts/gen_protocol.py. Do not edit.

local M = {}

--- Names of the methods.
M.methods = {
  SessionNew = 'ullage/session/new',
  SessionConfigure = 'ullage/session/configure',
  SessionLoad = 'ullage/session/load',
  SessionList = 'ullage/session/list',
  SessionFork = 'ullage/session/fork',
  SessionClose = 'ullage/session/close',
  SessionRename = 'ullage/session/rename',
  SessionDelete = 'ullage/session/delete',
  SessionPrompt = 'ullage/session/prompt',
  SessionAppend = 'ullage/session/append',
  SessionImport = 'ullage/session/import',
  SessionExport = 'ullage/session/export',
  SessionCancel = 'ullage/session/cancel',
  ModelsOffer = 'ullage/models/offer',
  ModelsPiece = 'ullage/models/piece',
  TranscriptsList = 'ullage/transcripts/list',
  FollowingStart = 'ullage/following/start',
  FollowingStop = 'ullage/following/stop',
  FollowingList = 'ullage/following/list',
  AgentsWire = 'ullage/agents/wire',
  AgentsUnwire = 'ullage/agents/unwire',
  ContinuingChoices = 'ullage/continuing/choices',
  ContinuingPreview = 'ullage/continuing/preview',
  ContinuingWrite = 'ullage/continuing/write',
  ContextGet = 'ullage/context/get',
  ContextMessages = 'ullage/context/messages',
  ContextCompact = 'ullage/context/compact',
  ContextCommit = 'ullage/context/commit',
  ContextUndo = 'ullage/context/undo',
  ContextRestore = 'ullage/context/restore',
  ContextPin = 'ullage/context/pin',
  ContextSearch = 'ullage/context/search',
  ContextHistory = 'ullage/context/history',
  ContextLookUp = 'ullage/context/lookUp',
  ContextLost = 'ullage/context/lost',
  ContextGivenBack = 'ullage/context/givenBack',
  TeamSearch = 'ullage/team/search',
  SessionRequestPermission = 'ullage/session/request_permission',
  ModelsComplete = 'ullage/models/complete',
  ModelsCount = 'ullage/models/count',
  SessionUpdate = 'ullage/session/update',
  FollowingChanged = 'ullage/following/changed',
}

--- The code of every error by its `data.kind`.
M.errors = {
  UllageError = 1000,
  InputError = -32602,
  UnknownFormat = -32602,
  UnreadableTranscript = -32602,
  InvalidRequest = -32602,
  NotFound = -32002,
  SessionNotFound = -32002,
  MessageNotFound = -32002,
  EditNotFound = -32002,
  Conflict = 1100,
  ConcurrentAppend = 1101,
  SessionBusy = 1102,
  NothingToCompact = 1103,
  NothingToUndo = 1104,
  PreviewExpired = 1105,
  CompactionVetoed = 1106,
  SessionFollowed = 1107,
  StoreError = 1200,
  StoreTooNew = 1201,
  StoreUnavailable = 1202,
  ContextError = 1300,
  WindowUnknown = 1301,
  CannotFit = 1302,
  ProviderError = 1400,
  NoModelConfigured = 1401,
  ProviderUnavailable = 1402,
  RateLimited = 1403,
  AuthenticationFailed = 1404,
  ContextTooLong = 1405,
  RequestRefused = 1406,
  AnswerBroken = 1407,
  AgentError = 1408,
  SdkMissing = 1409,
  Cancelled = -32800,
}

--- The settings' defaults. A setting that is not in the table is unset.
---@type ullage.Settings
M.defaults = {
  model = '',
  models = vim.empty_dict(),
  provider = '',
  providers = vim.empty_dict(),
  context = {
    enabled = true,
    warnAt = 0.8,
    compactAt = 0.9,
    clearAt = 0.65,
    target = 0.5,
    keepToolUses = 3,
    clearAtLeast = 20000,
    excludeTools = {},
    clearToolInputs = false,
    keepThinkingTurns = 1,
    maxResultTokensByTool = vim.empty_dict(),
    mode = 'summarize',
    strategies = {},
    privatePatterns = {},
    bringBack = 'references',
    trustedFolders = {},
  },
  summary = {
    writer = 'auto',
    model = '',
    promptFile = '',
    prepareAt = 0.75,
    confirm = false,
  },
  hooks = {
    preCompact = {},
    postCompact = {},
    timeout = 10.0,
    shareContent = false,
  },
  archive = {
    enabled = true,
    limit = 5.0,
  },
  search = {
    embeddingsUrl = '',
    embeddingsModel = '',
    embeddingsKeyEnv = '',
    teamArchive = '',
  },
  offline = {
    enabled = true,
    limit = 1.0,
  },
  store = '',
}

--- The JSON Schema of each setting.
---@type table<string, table>
M.settings = {
  model = {
    description = 'Model assumed for sessions that do not name one.',
    type = 'string',
    default = '',
  },
  models = {
    description = 'Overrides per model name, for example its window.',
    type = 'object',
    additionalProperties = {
      title = 'ModelSettings',
      description = "Settings for one model, which override the catalog's facts about it.",
      type = 'object',
      properties = {
        window = {
          type = { 'integer', 'null' },
          exclusiveMinimum = 0,
          description = 'Input tokens the model accepts.',
        },
        maxOutput = {
          type = { 'integer', 'null' },
          exclusiveMinimum = 0,
          description = 'Most tokens of one answer.',
        },
        encoding = {
          enum = { 'approximate', 'cl100k_base', 'o200k_base' },
          description = "How to count this model's tokens.",
        },
        toolSyntax = {
          enum = { 'caret', 'native', 'xml' },
          description = "How the model calls tools: by its provider's own way, or in its text, as XML tags or between fences of three carets. Unset: native, or xml where the provider has nativeTools false.",
        },
        summaryPrompt = {
          description = "Further instructions for summaries of this model's sessions.",
          type = 'string',
          default = '',
        },
        context = {
          description = "Context settings of this model's sessions that differ, for example its strategies.",
          type = 'object',
          default = vim.empty_dict(),
        },
      },
      required = {},
      additionalProperties = false,
    },
    default = vim.empty_dict(),
  },
  provider = {
    description = 'Provider to talk to: anthropic, openai, or a name under providers. Unset: by model and key.',
    restricted = true,
    type = 'string',
    default = '',
  },
  providers = {
    description = 'Providers by name.',
    restricted = true,
    type = 'object',
    additionalProperties = {
      title = 'ProviderSettings',
      description = "How to reach one provider. Keys are never settings: they come from the environment or the system's keyring.",
      type = 'object',
      properties = {
        kind = {
          description = 'What it speaks: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions, or a file.',
          enum = { 'anthropic', 'openai', 'openai_chat', 'replay', 'scripted' },
        },
        baseUrl = {
          description = "The server's address. Unset: the provider's own.",
          type = 'string',
          default = '',
        },
        keyEnv = {
          description = "Environment variable that holds the key. Unset: the provider's own.",
          type = 'string',
          default = '',
        },
        file = {
          description = 'The script or transcript that a scripted or replay provider plays.',
          type = 'string',
          default = '',
        },
        models = {
          description = 'Models it serves; names may end in `*`.',
          type = 'array',
          items = {
            type = 'string',
          },
          default = {},
        },
        nativeTools = {
          description = 'The server understands tool calls.',
          type = 'boolean',
          default = true,
        },
        documents = {
          type = { 'boolean', 'null' },
          description = "The server takes PDF documents in Chat Completions. Unset: OpenAI's own does, others do not. Anthropic Messages and OpenAI Responses always do.",
        },
        timeout = {
          description = 'Seconds without a word from the server after which it is given up.',
          type = 'number',
          exclusiveMinimum = 0,
          default = 120.0,
        },
        contextEditing = {
          description = 'Let the provider itself clear old tool results (Anthropic) and make compactions (Anthropic, OpenAI), for models that can.',
          type = 'boolean',
          default = false,
        },
      },
      required = { 'kind' },
      additionalProperties = false,
    },
    default = vim.empty_dict(),
  },
  ['context.enabled'] = {
    description = "Warn and compact automatically. Off while a model's window is unknown.",
    type = 'boolean',
    default = true,
  },
  ['context.warnAt'] = {
    description = 'Share of the usable window at which you are warned, once.',
    type = 'number',
    exclusiveMinimum = 0,
    exclusiveMaximum = 1,
    default = 0.8,
  },
  ['context.compactAt'] = {
    description = 'Share of the usable window at which Ullage compacts by itself.',
    type = 'number',
    exclusiveMinimum = 0,
    exclusiveMaximum = 1,
    default = 0.9,
  },
  ['context.clearAt'] = {
    description = 'Share from which cheap edits run: repeated file reads, old thinking and tool results.',
    type = 'number',
    exclusiveMinimum = 0,
    exclusiveMaximum = 1,
    default = 0.65,
  },
  ['context.target'] = {
    description = 'Share of the usable window a compaction leaves at most.',
    type = 'number',
    exclusiveMinimum = 0,
    exclusiveMaximum = 1,
    default = 0.5,
  },
  ['context.reserve'] = {
    type = { 'integer', 'null' },
    exclusiveMinimum = 0,
    description = 'Tokens kept free for the answer. Unset: min(max output, 20,000, window/4).',
  },
  ['context.keepTail'] = {
    type = { 'integer', 'null' },
    exclusiveMinimum = 0,
    description = 'Tokens of recent turns kept verbatim. Unset: a quarter of usable, 2,000 to 20,000.',
  },
  ['context.keepToolUses'] = {
    description = 'Most recent tool results that clearing leaves alone.',
    type = 'integer',
    minimum = 0,
    default = 3,
  },
  ['context.clearAtLeast'] = {
    description = 'Cheap edits run only if they save this many tokens, or reach the target.',
    type = 'integer',
    minimum = 0,
    default = 20000,
  },
  ['context.excludeTools'] = {
    description = 'Tools whose results are never cleared nor shortened.',
    type = 'array',
    items = {
      type = 'string',
    },
    default = {},
  },
  ['context.clearAtToolUses'] = {
    type = { 'integer', 'null' },
    exclusiveMinimum = 0,
    description = 'Tool uses since the last clearing that clear old results, too, if that saves clearAtLeast. Unset: only clearAt.',
  },
  ['context.clearToolInputs'] = {
    description = 'Clear long inputs of old tool uses, too, not only their results.',
    type = 'boolean',
    default = false,
  },
  ['context.keepThinkingTurns'] = {
    type = { 'integer', 'null' },
    exclusiveMinimum = 0,
    description = 'Most recent turns whose thinking clearing leaves alone. Null: all of them.',
    default = 1,
  },
  ['context.maxResultTokens'] = {
    type = { 'integer', 'null' },
    exclusiveMinimum = 0,
    description = 'Tokens an older tool result keeps when room is needed. Unset: 5% of usable, 1,000 to 10,000.',
  },
  ['context.maxResultTokensByTool'] = {
    description = "The same per tool, by the tool's name.",
    type = 'object',
    additionalProperties = {
      type = 'integer',
      exclusiveMinimum = 0,
    },
    default = vim.empty_dict(),
  },
  ['context.mode'] = {
    title = 'TruncationMode',
    description = 'What a full context loses: old messages for a summary, or as this strategy says.',
    enum = { 'sliding_window', 'smart', 'summarize', 'token_budget' },
    default = 'summarize',
  },
  ['context.strategies'] = {
    description = "Strategies by which messages go, each until the target is met: in place of the mode's own, or, where it makes summaries, when no summary could be made.",
    type = 'array',
    items = {
      anyOf = {
        {
          title = 'SlidingWindow',
          description = 'Keeps the last `maxMessages` messages and drops the older ones, even if the context would fit without that.',
          type = 'object',
          properties = {
            type = {
              enum = { 'sliding_window' },
            },
            maxMessages = {
              description = 'Messages that stay.',
              type = 'integer',
              minimum = 0,
              default = 20,
            },
          },
          required = { 'type' },
          additionalProperties = false,
        },
        {
          title = 'TokenBudget',
          description = 'Drops the oldest messages until the context fits the target.',
          type = 'object',
          properties = {
            type = {
              enum = { 'token_budget' },
            },
          },
          required = { 'type' },
          additionalProperties = false,
        },
        {
          title = 'Selective',
          description = 'Drops messages kind by kind in the given order, and of one kind the oldest first. Messages of a kind that is not named are kept as long as that is possible.',
          type = 'object',
          properties = {
            type = {
              enum = { 'selective' },
            },
            order = {
              description = 'The kinds that are dropped, in this order.',
              type = 'array',
              items = {
                title = 'Speaker',
                description = 'The kind of a group of messages that are dropped together: a tool use with its results, a text of the assistant, or a message of the user.',
                enum = { 'assistant', 'tool', 'user' },
              },
              default = { 'tool', 'assistant' },
            },
          },
          required = { 'type' },
          additionalProperties = false,
        },
        {
          title = 'Smart',
          description = 'Keeps the first and the last messages. Drops the oldest of the messages between them until the context fits the target.',
          type = 'object',
          properties = {
            type = {
              enum = { 'smart' },
            },
            keepFirst = {
              description = 'Messages that stay at the beginning.',
              type = 'integer',
              minimum = 0,
              default = 2,
            },
            keepLast = {
              description = 'Messages that stay at the end.',
              type = 'integer',
              minimum = 0,
              default = 10,
            },
          },
          required = { 'type' },
          additionalProperties = false,
        },
        {
          title = 'TruncateRange',
          description = 'Drops a range of messages after the first exchange, and again a range of the remaining ones, until the context fits the target.',
          type = 'object',
          properties = {
            type = {
              enum = { 'truncate_range' },
            },
            keep = {
              title = 'RangeKeep',
              description = 'How much of those messages is kept.',
              enum = { 'half', 'lastTwo', 'none', 'quarter' },
              default = 'half',
            },
          },
          required = { 'type' },
          additionalProperties = false,
        },
      },
    },
    default = {},
  },
  ['context.privatePatterns'] = {
    description = 'Regular expressions; what they match is left out of every summary, as secrets are.',
    restricted = true,
    type = 'array',
    items = {
      type = 'string',
    },
    default = {},
  },
  ['context.bringBack'] = {
    description = "What a compaction says of the project's instruction files: nothing, names, or contents.",
    enum = { 'contents', 'off', 'references' },
    default = 'references',
  },
  ['context.trustedFolders'] = {
    description = "Folders whose instruction files' contents a compaction may bring back.",
    restricted = true,
    type = 'array',
    items = {
      type = 'string',
    },
    default = {},
  },
  ['summary.writer'] = {
    description = 'auto: a model where one is configured, else offline.',
    enum = { 'auto', 'model', 'offline' },
    default = 'auto',
  },
  ['summary.model'] = {
    description = "Model that writes summaries. Unset: the session's own.",
    type = 'string',
    default = '',
  },
  ['summary.promptFile'] = {
    description = "File with your own instructions for summaries by a model. A project's own, in .ullage/summary.md, are given after them.",
    restricted = true,
    type = 'string',
    default = '',
  },
  ['summary.prepareAt'] = {
    description = 'Share of the usable window from which a summary is prepared in the background.',
    type = 'number',
    exclusiveMinimum = 0,
    exclusiveMaximum = 1,
    default = 0.75,
  },
  ['summary.confirm'] = {
    description = 'Ask instead of compacting by itself, as long as the context is not over its usable window.',
    type = 'boolean',
    default = false,
  },
  ['hooks.preCompact'] = {
    description = 'Program and arguments, run before a compaction. It may stop it or add instructions.',
    restricted = true,
    type = 'array',
    items = {
      type = 'string',
    },
    default = {},
  },
  ['hooks.postCompact'] = {
    description = 'Program and arguments, run after a compaction with its summary and figures.',
    restricted = true,
    type = 'array',
    items = {
      type = 'string',
    },
    default = {},
  },
  ['hooks.timeout'] = {
    description = 'Seconds after which a hook is stopped.',
    type = 'number',
    exclusiveMinimum = 0,
    maximum = 600,
    default = 10.0,
  },
  ['hooks.shareContent'] = {
    description = 'Give the hook before a compaction the messages that are archived, not only their number.',
    restricted = true,
    type = 'boolean',
    default = false,
  },
  ['archive.enabled'] = {
    description = 'Keep the files of agents on this machine, byte for byte, next to the session store.',
    restricted = true,
    type = 'boolean',
    default = true,
  },
  ['archive.limit'] = {
    type = { 'number', 'null' },
    exclusiveMinimum = 0,
    description = 'Gigabytes of the archive at which no more is kept. Nothing is removed by itself. Unset: no limit.',
    restricted = true,
    default = 5.0,
  },
  ['search.embeddingsUrl'] = {
    description = "Server with OpenAI's /embeddings, such as http://127.0.0.1:11434/v1. Queries and the texts that they find are sent to it, without secrets and private text.",
    restricted = true,
    type = 'string',
    default = '',
  },
  ['search.embeddingsModel'] = {
    description = "The server's model for embeddings.",
    restricted = true,
    type = 'string',
    default = '',
  },
  ['search.embeddingsKeyEnv'] = {
    description = "Environment variable that holds the server's key. Unset: OPENAI_API_KEY, if there is one.",
    restricted = true,
    type = 'string',
    default = '',
  },
  ['search.teamArchive'] = {
    description = "A team's archive to search, as postgresql://HOST/DATABASE. Unset: that of ULLAGE_TEAM, else the one that `ullage team share` was given.",
    restricted = true,
    type = 'string',
    default = '',
  },
  ['offline.enabled'] = {
    description = 'Keep a copy on this machine of what is used of a store in PostgreSQL, for times without its server. Read when the server starts.',
    restricted = true,
    type = 'boolean',
    default = true,
  },
  ['offline.limit'] = {
    type = { 'number', 'null' },
    exclusiveMinimum = 0,
    description = 'Gigabytes of that copy above which the sessions go that were not used for longest. Null: no limit. Read when the server starts.',
    restricted = true,
    default = 1.0,
  },
  store = {
    description = 'Where sessions are kept: a file, or a PostgreSQL database as postgresql://HOST/DATABASE. Unset: a file of your own. Read when the server starts.',
    restricted = true,
    type = 'string',
    default = '',
  },
}

return M
