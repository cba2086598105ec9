-- Undoes edits, after a question that says what comes back.
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

---@param edit table `EditInfo` of the protocol
local function line(edit)
  local kind = KINDS[edit.kind] or edit.kind
  return ('%s · %s · %s · saved %s'):format(
    kind,
    words.ago(edit.timestamp),
    edit.trigger,
    words.short(edit.tokensSaved)
  )
end

local function in_force(edits)
  return vim.tbl_filter(function(edit)
    return not edit.reverted
  end, edits)
end

---Returns `brings back 122K tokens; the context will be at 98 %`. The server has computed the figures.
---@param usage table a `UsageResult` of the wire
local function consequence(usage)
  local after, figures = require('ullage.session.figures').read(usage), session.figures
  local difference = after.used - (figures and figures.used or 0)
  local text = ('%s %s tokens'):format(
    difference < 0 and 'takes away' or 'brings back',
    words.short(math.abs(difference))
  )
  return after.percent and ('%s; the context will be at %d %%'):format(text, after.percent) or text
end

---@param prompt string
---@param yes string
---@param go fun()
local function confirm(prompt, yes, go)
  require('ullage.commandline').select({ yes, 'Leave it' }, { prompt = prompt }, function(choice)
    if choice == yes then
      go()
    end
  end)
end

---Sends the request that was confirmed, and shows the figures before and after it.
---@param method string
---@param params table
local function revert(method, params)
  local before = session.figures and session.figures.used
  session.request(method, params, function(error, result)
    if notices.failed(error) then
      return
    end
    session.edited(result.usage)
    notices.say(('Undone: %s.'):format(words.shrinking(before or result.usage.used, result.usage.used)))
  end)
end

---Asks, then undoes an edit: the named one, or the last.
---@param id? string
function M.ask(id)
  local params = id and { editId = id } or {}
  session.request('context/undo', vim.tbl_extend('error', params, { dryRun = true }), function(error, result)
    if error and error.kind == 'NothingToUndo' and not id then
      notices.say('There is nothing to undo: no edit is in force.')
      return
    elseif notices.failed(error) then
      return
    end
    local last = result.edits[#result.edits]
    local back = result.messagesBack > 0 and (words.count(result.messagesBack, 'message') .. ', ') or ''
    local kind = KINDS[last.kind] or last.kind
    local prompt = ('Undo %s (%s)? %s%s.'):format(kind, words.ago(last.timestamp), back, consequence(result.usage))
    confirm(prompt, 'Undo', function()
      -- Named, because another edit may have been made while the question was open.
      revert('context/undo', { editId = last.id })
    end)
  end)
end

local function go_back(edits, number)
  local params = number == 0 and { timestamp = 0 } or { editId = edits[number].id }
  if number == #edits then
    notices.say('Nothing came after that checkpoint.')
    return
  end
  session.request('context/restore', vim.tbl_extend('error', params, { dryRun = true }), function(error, result)
    if not notices.failed(error) then
      confirm(('Restore: %s.'):format(consequence(result.usage)), 'Restore', function()
        revert('context/restore', params)
      end)
    end
  end)
end

local function choose_checkpoint(edits)
  local choices = { 0 }
  for number = 1, #edits do
    choices[number + 1] = number
  end
  local options = {
    prompt = 'Restore the context as it was',
    format_item = function(number)
      return number == 0 and 'before every edit' or ('after ' .. line(edits[number]))
    end,
  }
  require('ullage.commandline').select(choices, options, function(number)
    if number then
      go_back(edits, number)
    end
  end)
end

---Asks for a checkpoint unless one is named, then restores it.
---@param id? string
function M.restore(id)
  session.request('context/history', {}, function(error, result)
    if notices.failed(error) then
      return
    end
    local edits = in_force(result.edits)
    for number, edit in ipairs(edits) do
      if edit.id == id then
        return go_back(edits, number)
      end
    end
    if id then
      notices.error(('No edit %s is in force; :Ullage restore lists them.'):format(id))
    elseif #edits == 0 then
      notices.say('There is no checkpoint: no edit is in force.')
    else
      choose_checkpoint(edits)
    end
  end)
end

---Returns the ids of the edits in force, for completion.
---@return string[]
function M.ids()
  local active = session.active
  local result = active and require('ullage.client').ask('context/history', { sessionId = active.id }) or { edits = {} }
  return vim.tbl_map(function(edit)
    return edit.id
  end, in_force(result.edits))
end

return M
