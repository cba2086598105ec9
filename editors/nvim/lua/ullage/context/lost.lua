-- The window that lists what a compaction left out.
local lost = require('ullage.lost')
local rows = require('ullage.context.rows')
local words = require('ullage.words')

local M = {}

local namespace = vim.api.nvim_create_namespace('ullage.lost')
local NAME = 'ullage://lost'
-- Rows of the window at most, so that the conversation stays in sight.
local HEIGHT = 16
-- Cells of a message's number.
local NUMBER = 8

---@class ullage.LostLine
---@field text string
---@field spans ullage.Span[]
---@field index? integer the message that it comes from

---@param pieces ullage.LinePiece[]
---@param index? integer
---@return ullage.LostLine
local function line(pieces, index)
  local text, spans = rows.join(pieces)
  return { text = text, spans = spans, index = index }
end

---@param entry ullage.LostEntry
---@return ullage.LostLine
local function entry_line(entry)
  local detail = entry.detail ~= '' and '  ' .. entry.detail or ''
  return line({
    { ('  %-' .. NUMBER - 3 .. 's '):format(words.number(entry.index)), 'UllageTokens' },
    { entry.text },
    { detail, 'UllageMuted' },
  }, entry.index)
end

---Returns the lines of the list.
---@param result ullage.LostResult
---@return ullage.LostLine[]
function M.lines(result)
  local list = { line({ { lost.line(result), 'UllageTitle' } }) }
  if #result.entries == 0 then
    return list
  end
  list[2] = line({ { '<CR> shows the message, y copies, s sends to the agent’s terminal, q closes', 'UllageMuted' } })
  for _, kind in ipairs(lost.KINDS) do
    local listed = vim.tbl_filter(function(entry)
      return entry.kind == kind[1]
    end, result.entries)
    local count = result.counts[kind[1]] or #listed
    if count > 0 then
      list[#list + 1] = line({ { '' } })
      list[#list + 1] = line({ { kind[3], 'UllageTitle' }, { ' ' .. words.grouped(count), 'UllageMuted' } })
      vim.list_extend(list, vim.tbl_map(entry_line, listed))
    end
    if count > #listed then
      local rest = (' '):rep(NUMBER) .. words.grouped(count - #listed) .. ' more'
      list[#list + 1] = line({ { rest, 'UllageMuted' } })
    end
  end
  return list
end

---@param list ullage.LostLine[]
---@return integer buffer
local function filled(list)
  -- There is one list at a time.
  local old = vim.fn.bufnr('^' .. NAME .. '$')
  if old ~= -1 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, NAME)
  local texts = vim.tbl_map(function(each)
    return each.text
  end, list)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, texts)
  for number, each in ipairs(list) do
    for _, span in ipairs(each.spans) do
      vim.api.nvim_buf_set_extmark(buffer, namespace, number - 1, span[1], { end_col = span[2], hl_group = span[3] })
    end
  end
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, 'wipe'
  return buffer
end

local WINDOW = {
  wrap = true,
  linebreak = true,
  breakindent = true,
  breakindentopt = 'shift:' .. NUMBER,
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  cursorline = true,
  winfixheight = true,
}

---Opens the list of what a compaction left out, below.
---@param result ullage.LostResult
function M.show(result)
  local list = M.lines(result)
  local buffer = filled(list)
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buffer)
  for name, value in pairs(WINDOW) do
    vim.api.nvim_set_option_value(name, value, { win = 0, scope = 'local' })
  end
  -- A narrow window breaks the lines, so that they take more rows than there are lines.
  local height = vim.api.nvim_win_text_height(0, {}).all
  vim.api.nvim_win_set_height(0, math.min(HEIGHT, height, math.max(1, math.floor(vim.o.lines / 2))))
  local function map(key, what, run)
    vim.keymap.set('n', key, run, { buffer = buffer, nowait = true, desc = 'Ullage: ' .. what })
  end
  map('<CR>', 'go to the message', function()
    local here = list[vim.api.nvim_win_get_cursor(0)[1]]
    if here.index then
      require('ullage.context').go_to(here.index)
    end
  end)
  map('y', 'copy it, for the agent', function()
    lost.copy(result.brief)
  end)
  map('s', 'send it to the terminal of the agent', function()
    lost.send(result.brief)
  end)
  map('q', 'close', '<Cmd>close<CR>')
end

return M
