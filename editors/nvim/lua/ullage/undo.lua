-- Undoes edits, and forgets conversations, after a question that says what comes back or goes.
local notices = require('ullage.notices')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

local KINDS = {
  compaction = 'compaction',
  clear_tool_uses = 'cleared tool results',
  clear_thinking = 'cleared thinking',
  duplicate_reads = 'repeated file reads',
  shorten = 'shortened parts',
  drop = 'dropped messages',
  rewind = 'going back',
}

---Returns `brings back 122K tokens; the context will be at 98 %`. The server has computed the figures.
---@param usage table a `UsageResult` of the wire
local function consequence(usage)
  local after, figures = require('ullage.session').read(usage), session.figures
  local difference = after.used - (figures and figures.used or 0)
  local text = ('%s %s tokens'):format(
    difference < 0 and 'takes away' or 'brings back',
    words.short(math.abs(difference))
  )
  return after.percent and ('%s; the context will be at %d %%'):format(text, after.percent) or text
end

---Sends the request that was confirmed, and shows the figures before and after it.
local function revert(method, params)
  local before = session.figures and session.figures.used
  session.call(method, params, function(result)
    session.edited(result.usage)
    notices.say(('Undone: %s.'):format(words.shrinking(before or result.usage.used, result.usage.used)))
  end)
end

---`:Ullage undo`: stops what runs, a compaction or the preparing of a new session; or else asks, then undoes an edit: the named one, or the last.
function M.ask(id)
  id = id ~= '' and id or nil
  if require('ullage.waiting').cancel() then
    return
  elseif session.running then
    return require('ullage.compacting').cancel()
  elseif require('ullage.following').refuse() then
    return
  end
  local params = id and { editId = id } or {}
  session.request('context/undo', vim.tbl_extend('error', params, { dryRun = true }), function(error, result)
    if error and error.kind == 'NothingToUndo' and not id then
      return notices.say('There is nothing to undo: no edit is in force.')
    elseif notices.failed(error) then
      return
    end
    local last = result.edits[#result.edits]
    local back = result.messagesBack > 0 and (words.count(result.messagesBack, 'message') .. ', ') or ''
    local kind = KINDS[last.kind] or last.kind
    local prompt = ('Undo %s (%s)? %s%s.'):format(kind, words.ago(last.timestamp), back, consequence(result.usage))
    notices.confirm(prompt, 'Undo', function()
      -- Named, because another edit may have been made while the question was open.
      revert('context/undo', { editId = last.id })
    end)
  end)
end

---Returns what stays of a conversation that is forgotten.
---@param meta table the `ullage` part of its figures
---@param row? ullage.Followed
local function stays(meta, row)
  local file = row and row.path or (meta.followed or {}).path
  if file and file ~= '' then
    local agent = row and row.agent or meta.agent
    return ('%s’s own file stays: %s'):format(agent ~= '' and agent or 'The agent', vim.fn.fnamemodify(file, ':~'))
  end
  return meta.managedBy == 'agent' and 'What its agent has of it stays.' or 'It is nowhere else.'
end

---`:Ullage forget`: removes a conversation from all that Ullage keeps, after a question that says what goes and what
---stays: the named session, or the current one.
function M.forget(id)
  local following = require('ullage.following')
  local current = following.current()
  local params = { sessionId = id ~= '' and id or current and current.session_id or nil }
  session.call('session/load', params, function(result)
    local row, meta = following.row(result.sessionId), result.usage._meta.ullage
    local title = row and require('ullage.following.rows').title(row) or words.plain(result.title)
    local messages = words.count(meta.messagesActive + meta.messagesArchived, 'message')
    local prompt = ('Forget “%s” for good, with all that Ullage keeps of it: %s, compactions, pins? %s'):format(
      title ~= '' and title or 'Untitled',
      messages,
      stays(meta, row)
    )
    notices.confirm(prompt, 'Forget', function()
      session.call('session/delete', { sessionId = result.sessionId }, function()
        require('ullage.following.consent').take({ rows = {}, gone = { result.sessionId } })
        session.leave(result.sessionId)
        notices.say('Forgotten.')
      end)
    end)
  end)
end

---Returns the ids of the edits in force, for completion.
function M.ids()
  local active = session.active
  local result = active and require('ullage.client').ask('context/history', { sessionId = active.id }) or { edits = {} }
  local in_force = vim.tbl_filter(function(edit) return not edit.reverted end, result.edits)
  return words.pluck(in_force, 'id')
end

return M
