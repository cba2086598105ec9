-- The active conversation and what is known of it. All parts of the plugin show this one.
local client = require('ullage.client')
local events = require('ullage.events')
local words = require('ullage.words')

local M = {}

---@class ullage.Active
---@field id string
---@field title string

---@class ullage.Figures
---@field used integer
---@field size? integer nil while the model's window is unknown
---@field percent? integer
---@field source 'reported'|'estimated'|'stale'
---@field level 'off'|'normal'|'warning'|'critical'
---@field usable? integer
---@field warn_at? integer
---@field compact_at? integer
---@field breakdown table<string, integer>
---@field model string
---@field active integer
---@field archived integer
---@field compactions integer
---@field reported_at? integer
---@field pending integer
---@field error_share? number
---@field cost? ullage.Cost nil if a price is not known

---@class ullage.Running
---@field id string
---@field number integer
---@field trigger string
---@field messages integer
---@field before integer
---@field text string the summary so far

---@type ullage.Active?
M.active = nil
---@type ullage.Figures?
M.figures = nil
---@type ullage.Running?
M.running = nil
---@type { before: integer, after: integer, at: integer }? the compaction that has just ended
M.done = nil

---Converts figures of the wire: `used` and `size` next to `_meta.ullage`.
---@param wire table
---@return ullage.Figures
function M.read_figures(wire)
  local meta = wire._meta.ullage
  local breakdown = meta.breakdown
  local used = wire.used
  if not used then
    used = 0
    for _, tokens in pairs(breakdown) do
      used = used + tokens
    end
  end
  local size = words.value(wire.size)
  return {
    used = used,
    size = size,
    percent = size and words.percent(used, size),
    source = meta.source,
    level = meta.level,
    usable = words.value(meta.usable),
    warn_at = words.value(meta.warnAt),
    compact_at = words.value(meta.compactAt),
    breakdown = breakdown,
    model = meta.model,
    active = meta.messagesActive,
    archived = meta.messagesArchived,
    compactions = meta.compactions,
    reported_at = words.value(meta.reportedAt),
    pending = meta.pendingMessages,
    error_share = words.value(meta.errorShare),
    cost = words.value(wire.cost),
  }
end

local function show(figures)
  if M.figures and figures.compactions < M.figures.compactions then
    -- The compaction was undone.
    M.done = nil
  end
  M.figures = figures
  events.emit('usage', figures)
end

-- The most updates that are kept for sessions that are not active yet.
local EARLY = 100
---@type table<string, table[]>
local early = {}

local take = {}

---Makes a session the active one. `result` is a `SessionResult` of the wire.
---@param result table
function M.activate(result)
  M.active = { id = result.sessionId, title = result.title }
  M.running, M.done = nil, nil
  M.figures = M.read_figures(result.usage)
  events.emit('session', M.active)
  events.emit('usage', M.figures)
  local missed = early[M.active.id] or {}
  early = {}
  for _, update in ipairs(missed) do
    take[update.sessionUpdate](update)
  end
end

function take.usage_update(update)
  if update._meta then
    show(M.read_figures(update))
  end
end

function take.session_info_update(update)
  if update.title then
    M.active.title = update.title
    events.emit('session', M.active)
  end
  if update._meta then
    show(M.read_figures(update))
  end
end

function take.compaction_summary_chunk(update)
  if M.running and M.running.id == update.compactionId then
    M.running.text = M.running.text .. update.content.text
    events.emit('compaction', 'chunk', M.running, update.content.text)
  end
end

function take.compaction_update(update)
  local meta = update._meta and update._meta.ullage or {}
  if update.status == 'in_progress' then
    M.running = {
      id = update.compactionId,
      number = meta.compactionNumber or 0,
      trigger = meta.trigger or 'manual',
      messages = meta.messagesArchived or 0,
      before = meta.contextSizeBefore or 0,
      text = '',
    }
    events.emit('compaction', 'in_progress', M.running)
    return
  end
  local running = M.running
  M.running = nil
  if update.status == 'completed' then
    M.done = { before = meta.contextSizeBefore or 0, after = meta.contextSizeAfter or 0, at = vim.uv.now() }
  end
  events.emit('compaction', update.status, running, words.value(update.error))
end

function take.notice(update)
  local meta = update._meta and update._meta.ullage or {}
  events.emit('notice', {
    text = update.description and (update.title .. ' ' .. update.description) or update.title,
    severity = update.severity,
    kind = meta.kind,
    edit_id = words.value(meta.editId),
  })
end

for _, kind in ipairs({
  'user_message_chunk',
  'agent_message_chunk',
  'agent_thought_chunk',
  'tool_call',
  'tool_call_update',
}) do
  take[kind] = function(update)
    events.emit('answer', update)
  end
end

---Keeps a new session's updates that come before the answer that makes it the active one. Its figures come with the
---answer.
local function keep(params)
  local kept = early[params.sessionId] or {}
  if not params.update.sessionUpdate:find('^usage') and #kept < EARLY then
    kept[#kept + 1] = params.update
  end
  early[params.sessionId] = kept
end

---Handles one `ullage/session/update`.
---@param params { sessionId: string, update: table }
function M.take(params)
  local handle = take[params.update.sessionUpdate]
  if handle and M.active and params.sessionId == M.active.id then
    handle(params.update)
  elseif handle then
    keep(params)
  end
end

---Sends a request about the active session. Without one the callback gets an error that says how to begin.
---@param method string
---@param params table
---@param callback fun(error: ullage.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  if not M.active then
    callback(require('ullage.errors').no_session(), nil)
    return function() end
  end
  return client.request(method, vim.tbl_extend('keep', params, { sessionId = M.active.id }), callback)
end

---@param id string
---@param callback? fun(error: ullage.Error?)
function M.load(id, callback)
  client.request('session/load', { sessionId = id }, function(error, result)
    if not error then
      M.activate(result)
    end
    if callback then
      callback(error)
    end
  end)
end

---Opens the session to continue with: the same one after a crash, the folder's last one at a first start.
local function resume()
  if M.active then
    M.load(M.active.id)
  elseif require('ullage.config').get().resume then
    client.request('session/list', { cwd = vim.uv.cwd() }, function(error, result)
      local last = not error and not M.active and result.sessions[1]
      if last then
        M.load(last.sessionId)
      end
    end)
  end
end

events.on('ready', resume)
events.on('server', function(state)
  if state ~= 'running' then
    M.running = nil
  end
end)

return M
