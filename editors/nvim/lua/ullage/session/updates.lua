-- The updates that the server sends about a session: what each changes in the active one.
local events = require('ullage.events')
local figures = require('ullage.session.figures')

local M = {}

---@type table<string, fun(session: table, update: table)> by `sessionUpdate`; `session` is the module `ullage.session`
local TAKE = {}

function TAKE.usage_update(session, update)
  if update._meta then
    session.show(figures.read(update))
  end
end

function TAKE.session_info_update(session, update)
  if update.title then
    session.active.title = update.title
    events.emit('session', session.active)
  end
  if update._meta then
    session.show(figures.read(update))
  end
end

function TAKE.compaction_summary_chunk(session, update)
  local running = session.running
  if running and running.id == update.compactionId then
    running.text = running.text .. update.content.text
    events.emit('compaction', 'chunk', running, update.content.text)
  end
end

function TAKE.compaction_update(session, update)
  local meta = update._meta and update._meta.ullage or {}
  if update.status == 'in_progress' then
    session.running = {
      id = update.compactionId,
      number = meta.compactionNumber or 0,
      trigger = meta.trigger or 'manual',
      messages = meta.messagesArchived or 0,
      before = meta.contextSizeBefore or 0,
      text = '',
    }
    events.emit('compaction', 'in_progress', session.running)
    return
  end
  local running = session.running
  session.running = nil
  if update.status == 'completed' then
    session.done = { before = meta.contextSizeBefore or 0, after = meta.contextSizeAfter or 0, at = vim.uv.now() }
  end
  events.emit('compaction', update.status, running, update.error)
end

function TAKE.notice(_, update)
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
---@param session table the module `ullage.session`
---@param params { sessionId: string, update: table }
function M.take(session, params)
  local take = TAKE[params.update.sessionUpdate]
  if take and session.active and params.sessionId == session.active.id then
    take(session, params.update)
  elseif take then
    local kept = early[params.sessionId] or {}
    if #kept < EARLY then
      kept[#kept + 1] = params.update
    end
    early[params.sessionId] = kept
  end
end

---Handles what was kept for the session that has become the active one, and forgets the rest.
---@param session table the module `ullage.session`
---@return boolean in_doubt there were figures: they and the answer's can overtake each other, so neither are known to be
---the newer ones
function M.catch_up(session)
  local missed = early[session.active.id] or {}
  early = {}
  local in_doubt = #missed == EARLY
  for _, update in ipairs(missed) do
    in_doubt = in_doubt or update._meta and update._meta.ullage.breakdown ~= nil
    TAKE[update.sessionUpdate](session, update)
  end
  return in_doubt
end

return M
