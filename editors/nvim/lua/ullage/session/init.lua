-- The active conversation and what is known of it. All parts of the plugin show this one.
local choices = require('ullage.session.choices')
local client = require('ullage.client')
local errors = require('ullage.errors')
local events = require('ullage.events')
local words = require('ullage.words')

local M = {}

---@class ullage.Active
---@field id string
---@field title string

---@class ullage.Running
---@field id string
---@field number integer
---@field messages integer
---@field text string the summary so far

---@type ullage.Active?
M.active = nil
---@type ullage.Figures?
M.figures = nil
---@type ullage.Running?
M.running = nil
---@type { before: integer, after: integer, at: integer }? the compaction that has just ended
M.done = nil

---@type boolean the active session was opened by itself, and nothing has happened in it for a day
M.idle = false
---@type string? the session that was opened by itself although it is old
local old_id

---The figures of the wire in snake case, as `usage_update` describes them on the protocol's page, and these.
---@class ullage.Figures: table<string, any>
---@field used integer
---@field size? integer nil while the model's window is unknown
---@field percent? integer
---@field compact_at? integer
---@field compact_percent? integer of the window
---@field active integer messages in the context
---@field archived integer
---@field pending integer
---@field remarks ullage.Remark[] why no threshold is known, or what speaks against it
---@field agent? string the agent that has the conversation; nil if Ullage's client has it
---@field hidden? string what to call the part `overhead` of the breakdown
---@field cost? ullage.Cost nil if a price is not known

---Converts figures of the wire: `used` and `size` next to `_meta.ullage`.
---@return ullage.Figures
function M.read(wire)
  local meta = wire._meta.ullage
  local figures = words.in_snake_case(meta)
  figures.used, figures.size, figures.cost = wire.used, wire.size, wire.cost
  if not wire.used then
    figures.used = 0
    for _, tokens in pairs(meta.breakdown) do
      figures.used = figures.used + tokens
    end
  end
  figures.percent = wire.size and (meta.percent or words.percent(figures.used, wire.size)) or nil
  figures.compact_at = meta.threshold and meta.threshold.tokens or meta.compactAt
  figures.compact_percent = wire.size and figures.compact_at and words.percent(figures.compact_at, wire.size) or nil
  figures.active, figures.archived, figures.pending = meta.messagesActive, meta.messagesArchived, meta.pendingMessages
  figures.remarks = meta.remarks or {}
  figures.agent = meta.agent ~= '' and meta.agent or nil
  figures.hidden = meta.hidden and meta.hidden.name ~= '' and meta.hidden.name or nil
  return figures
end

---Makes figures those of the active session.
---@param new ullage.Figures
function M.show(new)
  if M.figures and new.compactions < M.figures.compactions then
    -- The compaction was undone.
    M.done = nil
  end
  M.figures, M.idle = new, false
  events.emit('usage', new)
end

---Shows what an edit's answer says. Updates may still be on their way, and say the same.
---@param wire table a `UsageResult` of the wire
function M.edited(wire)
  M.show(M.read(wire))
  events.emit('edited')
end

---Requests the figures of the active session and shows them.
function M.refresh()
  local id = M.active and M.active.id
  client.request('context/get', { sessionId = id }, function(error, result)
    if not error and M.active and M.active.id == id then M.show(M.read(result)) end
  end)
end

---@type table<string, fun(update: table)> what each update changes in the active session, by `sessionUpdate`
local TAKE = {}

function TAKE.usage_update(update)
  if update._meta then M.show(M.read(update)) end
end

function TAKE.session_info_update(update)
  if update.title then
    M.active.title = update.title
    events.emit('session', M.active)
  end
  if update._meta then M.show(M.read(update)) end
end

function TAKE.compaction_summary_chunk(update)
  local running = M.running
  if running and running.id == update.compactionId then
    running.text = running.text .. update.content.text
    events.emit('compaction', 'chunk', running, update.content.text)
  end
end

function TAKE.compaction_update(update)
  local meta = update._meta and update._meta.ullage or {}
  if update.status == 'in_progress' then
    M.running = {
      id = update.compactionId,
      number = meta.compactionNumber or 0,
      messages = meta.messagesArchived or 0,
      text = '',
    }
    return events.emit('compaction', 'in_progress', M.running)
  end
  local running = M.running
  M.running = nil
  if update.status == 'completed' then
    M.done = { before = meta.contextSizeBefore or 0, after = meta.contextSizeAfter or 0, at = vim.uv.now() }
  end
  events.emit('compaction', update.status, running, update.error)
end

function TAKE.notice(update)
  local meta = update._meta and update._meta.ullage or {}
  events.emit('notice', {
    text = update.description and (update.title .. ' ' .. update.description) or update.title,
    severity = update.severity,
    kind = meta.kind,
    edit_id = meta.editId,
  })
end

-- The most updates that are kept for a session that is not active yet.
local EARLY = 100
---@type table<string, table[]>
local early = {}

---Handles an `ullage/session/update`. Updates of a session that is not the active one are kept, because they may come
---before the answer that makes it the active one.
---@param params { sessionId: string, update: table }
function M.take(params)
  local take = TAKE[params.update.sessionUpdate]
  if take and M.active and params.sessionId == M.active.id then
    take(params.update)
  elseif take then
    local kept = early[params.sessionId] or {}
    if #kept < EARLY then kept[#kept + 1] = params.update end
    early[params.sessionId] = kept
  end
end

---Handles what was kept for the session that has become the active one, and forgets the rest. If there are figures in it, or
---more than was kept, they and the answer's can overtake each other, so that neither are known to be the newer ones.
local function catch_up()
  local missed = early[M.active.id] or {}
  early = {}
  local in_doubt = #missed == EARLY
  for _, update in ipairs(missed) do
    in_doubt = in_doubt or update._meta and update._meta.ullage.breakdown ~= nil
    TAKE[update.sessionUpdate](update)
  end
  if in_doubt then M.refresh() end
end

---Makes a session the active one. `result` is a `SessionResult` of the wire.
function M.activate(result)
  M.active = { id = result.sessionId, title = result.title }
  M.running, M.done = nil, nil
  M.figures, M.idle = M.read(result.usage), result.sessionId == old_id
  events.emit('session', M.active)
  events.emit('usage', M.figures)
  catch_up()
end

---Has no active session any more, if it was this one: it is no longer there.
function M.leave(id)
  if M.active and M.active.id == id then
    M.active, M.figures, M.running, M.done = nil, nil, nil, nil
    events.emit('session', nil)
  end
end

-- Calls its argument once it is known which session is the active one.
M.settled = choices.settled

---Calls `work` once the conversation is open that a command is about: the active session, or without one the conversation
---of an agent that the statusline shows, or the folder's newest.
function M.current(work)
  M.settled(function()
    local row = not M.active and require('ullage.following').default()
    if row then
      require('ullage.following.opening').load(row, work)
    else
      work()
    end
  end)
end

---Returns why there is no active session.
---@return ullage.Error
function M.lacking()
  return client.state == 'stopped' and errors.new('ServerStopped', client.reason) or errors.no_session()
end

---Sends a request about the conversation that `current` opens. Without one the callback gets an error that says how to
---begin.
---@param callback fun(error: ullage.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  if params.sessionId then return client.request(method, params, callback) end
  local cancel, cancelled = nil, false
  M.current(function()
    if cancelled then
      callback(errors.new('Cancelled', 'Cancelled before it was sent.'), nil)
    elseif M.active then
      cancel = client.request(method, vim.tbl_extend('error', params, { sessionId = M.active.id }), callback)
    else
      callback(M.lacking(), nil)
    end
  end)
  return function()
    cancelled = true
    if cancel then cancel() end
  end
end

---Sends a request like `request`. `use` gets the result; a failure is shown.
---@param use fun(result: any)
---@return fun() cancel
function M.call(method, params, use) return M.request(method, params, require('ullage.notices').reporting(use)) end

---Sends a request whose answer makes a session the active one.
---@param callback? fun(error: ullage.Error?, result: any)
---@param number? integer the choice's number
local function choose_by(method, params, callback, number)
  local chosen = choices.begin(M.activate, number)
  client.request(method, params, function(error, result)
    -- An import's answer has the session besides facts about the file.
    chosen(not error and (result.session or result) or nil, callback and function() callback(error, result) end)
  end)
end

---Starts a session and makes it the active one.
---@param params table `NewSessionParams` of the protocol
---@param callback? fun(error: ullage.Error?, result: any)
function M.new(params, callback)
  choose_by('session/new', vim.tbl_extend('keep', params, { cwd = vim.uv.cwd() }), callback)
end

---Imports a transcript and makes its session the active one.
---@param params table `ImportParams` of the protocol
---@param callback? fun(error: ullage.Error?, result: any)
function M.import(params, callback)
  choose_by('session/import', vim.tbl_extend('keep', params, { cwd = vim.uv.cwd() }), callback)
end

---Makes a stored session the active one.
---@param callback? fun(error: ullage.Error?, result: any)
function M.load(id, callback) choose_by('session/load', { sessionId = id }, callback) end

---Calls `work` once there is an active session that can be changed: the one that is known, or else a new one.
---@param work fun(error: ullage.Error?)
function M.ensure(work)
  M.settled(function()
    if M.active and not require('ullage.following').owner() then
      work()
    elseif client.state == 'stopped' then
      work(M.lacking())
    else
      M.new({}, work)
    end
  end)
end

---Opens the session to continue with: the same one after a crash, the folder's last one of its own at a first start.
local function resume()
  if M.active then
    return choose_by('session/load', { sessionId = M.active.id }, choices.resumed, choices.in_force())
  elseif not require('ullage.config').get().resume then
    return choices.resumed()
  end
  client.request('session/list', { cwd = vim.uv.cwd() }, function(error, result)
    local following = require('ullage.following')
    require('ullage.following.live_file').look()
    local last = vim
      .iter(error and {} or result.sessions)
      :find(function(entry) return not M.active and not following.row(entry.sessionId) end)
    if not last then return choices.resumed() end
    local is_news = require('ullage.following.rows').is_news(require('ullage.lists').milliseconds(last.updatedAt))
    old_id = not is_news and last.sessionId or nil
    choose_by('session/load', { sessionId = last.sessionId }, function()
      old_id = nil
      choices.resumed()
    end, 0)
  end)
end

events.on('ready', resume)
events.on('server', function(state)
  if state ~= 'running' then M.running = nil end
  if state == 'stopped' then
    -- Whatever waits gets the error that says why there is no server.
    choices.resumed()
  elseif state == 'starting' then
    choices.await_resume()
  end
end)

return M
