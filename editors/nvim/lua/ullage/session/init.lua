-- The active conversation and what is known of it. All parts of the plugin show this one.
local choices = require('ullage.session.choices')
local client = require('ullage.client')
local errors = require('ullage.errors')
local events = require('ullage.events')
local figures = require('ullage.session.figures')
local updates = require('ullage.session.updates')

local M = {}

---@class ullage.Active
---@field id string
---@field title string

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

---@type boolean the active session was opened by itself, and nothing has happened in it for a day
M.idle = false
---@type string? the session that was opened by itself although it is old
local old_id

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
  M.show(figures.read(wire))
  events.emit('edited')
end

---Requests the figures of the active session and shows them.
function M.refresh()
  local id = M.active and M.active.id
  client.request('context/get', { sessionId = id }, function(error, result)
    if not error and M.active and M.active.id == id then
      M.show(figures.read(result))
    end
  end)
end

---Makes a session the active one. `result` is a `SessionResult` of the wire.
---@param result table
function M.activate(result)
  M.active = { id = result.sessionId, title = result.title }
  M.running, M.done = nil, nil
  M.figures, M.idle = figures.read(result.usage), result.sessionId == old_id
  events.emit('session', M.active)
  events.emit('usage', M.figures)
  if updates.catch_up(M) then
    M.refresh()
  end
end

---Has no active session any more, if it was this one: it is no longer there.
---@param id string
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
---@param work fun()
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

---Handles one `ullage/session/update`.
---@param params { sessionId: string, update: table }
function M.take(params)
  updates.take(M, params)
end

---Returns why there is no active session.
---@return ullage.Error
function M.lacking()
  return client.state == 'stopped' and errors.new('ServerStopped', client.reason) or errors.no_session()
end

---Sends a request about the conversation that `current` opens. Without one the callback gets an error that says how to
---begin.
---@param method string
---@param params table
---@param callback fun(error: ullage.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  if params.sessionId then
    return client.request(method, params, callback)
  end
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
    if cancel then
      cancel()
    end
  end
end

---Sends a request whose answer makes a session the active one.
---@param method string
---@param params table
---@param callback? fun(error: ullage.Error?, result: any)
---@param number? integer the choice's number
local function choose_by(method, params, callback, number)
  local chosen = choices.begin(M.activate, number)
  client.request(method, params, function(error, result)
    -- An import's answer has the session besides facts about the file.
    chosen(not error and (result.session or result) or nil, callback and function()
      callback(error, result)
    end)
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
---@param id string
---@param callback? fun(error: ullage.Error?, result: any)
function M.load(id, callback)
  choose_by('session/load', { sessionId = id }, callback)
end

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

---Returns the first session that no agent is known to have.
---@param list ullage.ListedSession[]
local function own(list)
  local following = require('ullage.following')
  require('ullage.following.live_file').look()
  for _, entry in ipairs(list) do
    if not following.row(entry.sessionId) then
      return entry
    end
  end
end

---Opens the session to continue with: the same one after a crash, the folder's last one of its own at a first start.
local function resume()
  if M.active then
    choose_by('session/load', { sessionId = M.active.id }, choices.resumed, choices.in_force())
  elseif not require('ullage.config').get().resume then
    choices.resumed()
  else
    client.request('session/list', { cwd = vim.uv.cwd() }, function(error, result)
      local last = not error and not M.active and own(result.sessions)
      if last then
        local is_news = require('ullage.following.rows').is_news(require('ullage.lists').milliseconds(last.updatedAt))
        old_id = not is_news and last.sessionId or nil
        choose_by('session/load', { sessionId = last.sessionId }, function()
          old_id = nil
          choices.resumed()
        end, 0)
      else
        choices.resumed()
      end
    end)
  end
end

events.on('ready', resume)
events.on('server', function(state)
  if state ~= 'running' then
    M.running = nil
  end
  if state == 'stopped' then
    -- Whatever waits gets the error that says why there is no server.
    choices.resumed()
  elseif state == 'starting' then
    choices.await_resume()
  end
end)

return M
