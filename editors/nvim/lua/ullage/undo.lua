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

local function action(edit)
  return edit.partOf or edit.id
end

---@param edits table[] the edits to undo
local function tokens(edits)
  local sum = 0
  for _, edit in ipairs(edits) do
    sum = sum + edit.tokensSaved
  end
  return sum
end

---Returns `122K tokens; the context will be at 98 %`.
local function consequence(edits)
  local back, figures = tokens(edits), session.figures
  local brings = ('brings back %s tokens'):format(words.short(back))
  if figures and figures.size then
    return ('%s; the context will be at %d %%'):format(brings, words.percent(figures.used + back, figures.size))
  end
  return brings
end

---@param prompt string
---@param yes string
---@param go fun()
local function confirm(prompt, yes, go)
  vim.ui.select({ yes, 'Leave it' }, { prompt = prompt }, function(choice)
    if choice == yes then
      go()
    end
  end)
end

local function reverted(error, result)
  if not notices.failed(error) then
    notices.say(('Undone: %s.'):format(words.shrinking(result.usage.used - tokens(result.edits), result.usage.used)))
  end
end

---Returns the edits that are undone together with an edit, or with the last one.
local function together(edits, id)
  local target = edits[#edits]
  for _, edit in ipairs(edits) do
    target = edit.id == id and edit or target
  end
  return vim.tbl_filter(function(edit)
    return action(edit) == action(target)
  end, edits)
end

---@param messages? integer how many messages a marker archived, if that is known
local function confirm_undo(edits, id, messages)
  local going = together(edits, id)
  local last = going[#going]
  local what = messages and (words.count(messages, 'message') .. ', ') or ''
  local prompt = ('Undo %s (%s)? %s%s.'):format(
    KINDS[last.kind] or last.kind,
    words.ago(last.timestamp),
    what,
    consequence(going)
  )
  confirm(prompt, 'Undo', function()
    session.request('context/undo', id and { editId = id } or {}, reverted)
  end)
end

---Asks, then undoes an edit: the named one, or the last.
---@param id? string
---@param messages? integer
function M.ask(id, messages)
  session.request('context/history', {}, function(error, result)
    if notices.failed(error) then
      return
    end
    local edits = in_force(result.edits)
    if #edits == 0 then
      notices.say('Nothing to undo: no edit is in force.')
    else
      confirm_undo(edits, id, messages)
    end
  end)
end

local function go_back(edits, number)
  local later = vim.list_slice(edits, number + 1)
  local params = number == 0 and { timestamp = 0 } or { editId = edits[number].id }
  if #later == 0 then
    notices.say('Nothing came after that checkpoint.')
    return
  end
  confirm(('Restore: %s.'):format(consequence(later)), 'Restore', function()
    session.request('context/restore', params, reverted)
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
  vim.ui.select(choices, options, function(number)
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
