-- The window that lists what a compaction left out.
local list = require('ullage.list')
local lost = require('ullage.lost')
local words = require('ullage.words')

local M = {}

local NAME = 'ullage://lost'
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
  local line = list.line({
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
  local lines = { list.line({ { lost.line(result), 'UllageTitle' } }) }
  if #result.entries == 0 then
    return lines
  end
  lines[2] =
    list.line({ { '<CR> shows the message, y copies, s sends to the agent’s terminal, q closes', 'UllageMuted' } })
  for _, kind in ipairs(lost.KINDS) do
    local listed = vim.tbl_filter(function(entry)
      return entry.kind == kind[1]
    end, result.entries)
    local count = result.counts[kind[1]] or #listed
    if count > 0 then
      lines[#lines + 1] = list.line({ { '' } })
      lines[#lines + 1] = list.line({ { kind[3], 'UllageTitle' }, { ' ' .. words.grouped(count), 'UllageMuted' } })
      vim.list_extend(lines, vim.tbl_map(entry_line, listed))
    end
    if count > #listed then
      local rest = (' '):rep(NUMBER) .. words.grouped(count - #listed) .. ' more'
      lines[#lines + 1] = list.line({ { rest, 'UllageMuted' } })
    end
  end
  return lines
end

---Opens the list of what a compaction left out, below.
---@param result ullage.LostResult
function M.show(result)
  local lines = M.lines(result)
  local look = { breakindentopt = 'shift:' .. NUMBER, signcolumn = 'no', cursorline = true, winfixheight = true }
  list.show(NAME, lines, look, {
    ['<CR>'] = {
      'go to the message',
      function(number)
        if lines[number].index then
          require('ullage.context').go_to(lines[number].index)
        end
      end,
    },
    y = {
      'copy it, for the agent',
      function()
        lost.copy(result.brief)
      end,
    },
    s = {
      'send it to the terminal of the agent',
      function()
        lost.send(result.brief)
      end,
    },
  })
  -- A narrow window breaks the lines, so that they take more rows than there are lines.
  local height = vim.api.nvim_win_text_height(0, {}).all
  vim.api.nvim_win_set_height(0, math.min(HEIGHT, height, math.max(1, math.floor(vim.o.lines / 2))))
end

return M
