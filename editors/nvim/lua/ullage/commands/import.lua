local notices = require('ullage.notices')
local words = require('ullage.words')

---Where agents keep conversations. Only names and times are read before the user chooses one.
local PLACES = {
  { 'Claude Code', '~/.claude/projects/*/*.jsonl' },
  { 'Codex', '~/.codex/sessions/**/rollout-*.jsonl' },
}
-- The most conversations in the list. Users do not read longer lists.
local SHOWN = 30

---@return { path: string, agent: string, time: integer }[]
local function conversations()
  local found = {}
  for _, place in ipairs(PLACES) do
    for _, path in ipairs(vim.fn.glob(place[2], true, true)) do
      found[#found + 1] = { path = path, agent = place[1], time = vim.fn.getftime(path) }
    end
  end
  table.sort(found, function(one, other)
    return one.time > other.time
  end)
  return vim.list_slice(found, 1, SHOWN)
end

local function imported(error, result)
  if notices.failed(error) then
    return
  end
  require('ullage.session').activate(result.session)
  local left_out = #result.unread > 0 and (', %s not readable'):format(words.count(#result.unread, 'line')) or ''
  notices.say(('Imported %s (%s%s).'):format(words.count(result.messages, 'message'), result.format, left_out))
end

local function import(path)
  local full = vim.fn.fnamemodify(vim.fn.expand(path), ':p')
  require('ullage.client').request('session/import', { path = full, cwd = vim.uv.cwd() }, imported)
end

local function choose()
  local found = conversations()
  if #found == 0 then
    notices.say('No conversation of Claude Code or Codex was found. Name a file: :Ullage import {file}')
    return
  end
  local options = {
    prompt = 'Import a conversation',
    format_item = function(item)
      local where = vim.fn.fnamemodify(item.path, ':h:t') .. '/' .. vim.fn.fnamemodify(item.path, ':t:r')
      return ('%s · %s · %s'):format(item.agent, words.ago(item.time * 1000), where)
    end,
  }
  vim.ui.select(found, options, function(item)
    if item then
      import(item.path)
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Bring in another program’s conversation',
  run = function(path)
    if path ~= '' then
      import(path)
    else
      choose()
    end
  end,
  complete = function(_, path)
    return vim.fn.getcompletion(path, 'file')
  end,
}
