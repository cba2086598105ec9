-- What a compaction left out: its words, and how it is found, copied and given back to the agent. What was found is kept,
-- because finding it takes a moment.
local notices = require('ullage.notices')
local session = require('ullage.session')
local windows = require('ullage.window')
local words = require('ullage.words')

local M = {}

---Returns a text as a terminal hands over what is pasted: between two marks, so that the agent takes a line break for a
---part of the text and not for Enter. Control characters are left out: one could end the paste early.
function M.as_paste(text)
  -- Those of two bytes (U+0080 to U+009F) as well: a terminal may take U+009B for the beginning of a mark.
  local plain = text:gsub('\r\n', '\n'):gsub('[%z\1-\8\11-\31\127]', ''):gsub('\194[\128-\159]', '')
  return ('\27[200~%s\27[201~'):format((plain:gsub('\n', '\r')))
end

---The kinds in the order of the list, each with its noun and its heading.
M.KINDS = {
  { 'said', 'message', 'What you said' },
  { 'task', 'open task', 'Tasks that are not done' },
  { 'problem', 'problem', 'Problems' },
  { 'check', 'check', 'Checks' },
  { 'commit', 'commit', 'Commits' },
  { 'file', 'file', 'Files' },
  { 'job', 'job', 'Sub-agents and background commands' },
  { 'words', 'agent text', 'What the agent told you' },
  { 'earlier', 'earlier line', 'An earlier summary' },
}

M.NOTHING = 'Everything that you typed is in the summary, and so are the open tasks and problems, the changed files and '
  .. 'the last commit.'

---@type table<string, ullage.LostResult> by session and edit
local known = {}

local function key_of(edit_id) return ('%s %s'):format(session.active and session.active.id, edit_id) end

---@param counts table<string, integer> how many of each kind
local function counted(counts)
  local parts = {}
  for _, kind in ipairs(M.KINDS) do
    local count = counts[kind[1]]
    parts[#parts + 1] = count and words.count(count, kind[2]) or nil
  end
  return table.concat(parts, ', ')
end

---Returns `Left out: 3 messages, 1 file; still missing: 1 file`, or why there is no list.
---@param result ullage.LostResult
function M.line(result)
  if not result.readable then
    return 'The summary is encrypted, so nobody but its provider knows what it leaves out.'
  end
  local left, missing = counted(result.counts), counted(result.missing)
  if left == '' then return M.NOTHING end
  local still = missing == '' and '; all of it given back' or '; still missing: ' .. missing
  return 'Left out: ' .. left .. (missing == left and '' or still)
end

---Whether the active session is an agent's conversation, or was taken over from one. What Ullage itself archives is not
---lost.
function M.is_asked_for()
  local figures = session.figures
  return figures ~= nil and (figures.followed ~= nil or (figures.agent or '') ~= '')
end

---Returns the line of a compaction, or nil until it was found.
function M.known_line(edit_id)
  local result = edit_id and known[key_of(edit_id)]
  return result and M.line(result)
end

---Has it found again: a hook has given something back since.
function M.forget(edit_id) known[key_of(edit_id)] = nil end

---Finds what a compaction left out. `edit_id` is nil for the last one in force.
---@param use fun(result: ullage.LostResult)
function M.find(edit_id, use)
  local kept = edit_id and known[key_of(edit_id)]
  if kept then return use(kept) end
  local ends = require('ullage.waiting').begin('Looking for what was left out…')
  session.request('context/lost', { editId = edit_id }, function(error, result)
    ends()
    if notices.failed(error) then return end
    if result.editId then known[key_of(result.editId)] = result end
    use(result)
  end)
end

function M.copy(brief)
  if brief == '' then return notices.say('Nothing was left out that could be copied.') end
  local count = words.count(select(2, brief:gsub('\n', '\n')) + 1, 'line')
  notices.say(('Copied %s%s.'):format(count, notices.copy(brief)))
end

---Puts the brief into the terminal in which the active session's agent runs. The user reads it, and presses Enter.
function M.send(brief)
  local row = session.active and require('ullage.following').row(session.active.id)
  local buffer = row and row.process_id and require('ullage.following.terminals').of(row.process_id)
  if brief == '' then
    notices.say('Nothing was left out that could be sent.')
  elseif not buffer then
    notices.say('The agent runs in no terminal of this Neovim. y copies it.')
  else
    vim.api.nvim_chan_send(vim.bo[buffer].channel, M.as_paste(brief))
    notices.say(('Put into the terminal of %s. Nothing is sent before you press Enter there.'):format(row.agent))
  end
end

-- Rows of the window at most, so that the conversation stays in sight.
local HEIGHT = 16
-- Cells of a message's number.
local NUMBER = 8

-- The kinds whose headings do not say the state of their things.
local STATED = { task = true, problem = true, file = true }

---@class ullage.LostLine: ullage.ListLine
---@field index? integer the message that it comes from

---@param entry ullage.LostEntry
---@return ullage.LostLine
local function entry_line(entry)
  local detail = entry.detail ~= '' and '  ' .. entry.detail:gsub('%s*\n%s*', ' ') or ''
  local line = windows.line({
    { ('  %-' .. NUMBER - 3 .. 's '):format(words.number(entry.index)), 'UllageTokens' },
    { STATED[entry.kind] and ('[%s] '):format(entry.state) or '', 'UllageMuted' },
    -- A line of the list is one line of the window.
    { (entry.text:gsub('%s*\n%s*', ' ')) },
    { detail, 'UllageMuted' },
  })
  return vim.tbl_extend('error', line, { index = entry.index })
end

---Returns the lines of the list.
---@param result ullage.LostResult
---@return ullage.LostLine[]
function M.lines(result)
  local lines = { windows.line({ { M.line(result), 'UllageTitle' } }) }
  if #result.entries == 0 then return lines end
  lines[2] =
    windows.line({ { '<CR> shows the message, y copies, s sends to the agent’s terminal, q closes', 'UllageMuted' } })
  for _, kind in ipairs(M.KINDS) do
    local listed = vim.tbl_filter(function(entry) return entry.kind == kind[1] end, result.entries)
    local count = result.counts[kind[1]] or #listed
    if count > 0 then
      lines[#lines + 1] = windows.line({ { '' } })
      lines[#lines + 1] = windows.line({ { kind[3], 'UllageTitle' }, { ' ' .. words.grouped(count), 'UllageMuted' } })
      vim.list_extend(lines, vim.tbl_map(entry_line, listed))
    end
    if count > #listed then
      local rest = (' '):rep(NUMBER) .. words.grouped(count - #listed) .. ' more'
      lines[#lines + 1] = windows.line({ { rest, 'UllageMuted' } })
    end
  end
  return lines
end

---Opens the list of what a compaction left out, below.
---@param result ullage.LostResult
function M.show(result)
  local lines = M.lines(result)
  local look = { breakindentopt = 'shift:' .. NUMBER, signcolumn = 'no', cursorline = true, winfixheight = true }
  windows.show_list('ullage://lost', lines, look, {
    ['<CR>'] = {
      'go to the message',
      function(number)
        if lines[number].index then require('ullage.context').go_to(lines[number].index) end
      end,
    },
    y = {
      'copy it, for the agent',
      function() M.copy(result.brief) end,
    },
    s = {
      'send it to the terminal of the agent',
      function() M.send(result.brief) end,
    },
  })
  -- A narrow window breaks the lines, so that they take more rows than there are lines.
  local height = vim.api.nvim_win_text_height(0, {}).all
  vim.api.nvim_win_set_height(0, math.min(HEIGHT, height, math.max(1, math.floor(vim.o.lines / 2))))
end

---`:Ullage lost`: lists what the compaction of the marker under the cursor left out, elsewhere the last one.
function M.list()
  local item = require('ullage.context').item_under_cursor()
  M.find(item and item.kind == 'marker' and item.edit_id or nil, function(result)
    if result.editId then
      M.show(result)
    else
      notices.say('This conversation was not compacted.')
    end
  end)
end

return M
