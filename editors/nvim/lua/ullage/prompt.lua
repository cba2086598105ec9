-- `:Ullage ask` without words: a buffer to write a prompt of several lines in. `:w` or <C-s> sends it.
local chat = require('ullage.chat')
local notices = require('ullage.notices')

local M = {}

local NAME = 'ullage://ask'
-- Lines of its window, at least. A longer draft gets up to half of the screen.
local HEIGHT = 8

---Sends a prompt, and shows the conversation's end, where the answer is written.
---@param text string
function M.send(text)
  require('ullage.context').follow()
  chat.ask(text)
end

---Returns lines of a buffer as a block of code under their place, for a prompt.
---@param buffer integer
---@param first integer from 1
---@param last integer inclusive
---@return string
function M.quote(buffer, first, last)
  local lines = vim.api.nvim_buf_get_lines(buffer, first - 1, last, false)
  local longest = 2
  for _, line in ipairs(lines) do
    for run in line:gmatch('`+') do
      longest = math.max(longest, #run)
    end
  end
  local fence = ('`'):rep(longest + 1)
  local name, place = vim.api.nvim_buf_get_name(buffer), {}
  if vim.bo[buffer].buftype == '' and name ~= '' then
    local numbers = first == last and tostring(first) or ('%d-%d'):format(first, last)
    place = { ('%s:%s'):format(vim.fn.fnamemodify(name, ':.'), numbers), '' }
  end
  local block = vim.list_extend({ fence .. vim.bo[buffer].filetype }, lines)
  return table.concat(vim.list_extend(place, vim.list_extend(block, { fence })), '\n')
end

---@param buffer integer
local function lines_of(buffer)
  return vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
end

---@param buffer integer
local function close(buffer)
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    if #vim.api.nvim_list_wins() > 1 then
      vim.api.nvim_win_close(window, true)
    end
  end
end

---@param buffer integer
local function submit(buffer)
  local text = vim.trim(table.concat(lines_of(buffer), '\n'))
  if text == '' then
    notices.say('The prompt is empty.')
    return
  end
  vim.cmd.stopinsert()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {})
  vim.bo[buffer].modified = false
  close(buffer)
  M.send(text)
end

---@return integer buffer
local function make()
  local buffer = vim.api.nvim_create_buf(false, false)
  vim.api.nvim_buf_set_name(buffer, NAME)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].swapfile = 'acwrite', 'hide', false
  vim.bo[buffer].filetype = 'markdown'
  local function map(modes, key, what, run)
    vim.keymap.set(modes, key, function()
      run(buffer)
    end, { buffer = buffer, nowait = true, desc = 'Ullage: ' .. what })
  end
  map({ 'n', 'i' }, '<C-s>', 'send the prompt', submit)
  map('n', 'q', 'close; the draft stays', close)
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function()
      submit(buffer)
    end,
  })
  return buffer
end

---Opens the buffer. A draft that was not sent is still in it.
---@param text? string put under the draft
function M.open(text)
  local found = vim.fn.bufnr('^' .. NAME .. '$')
  local buffer = found ~= -1 and found or make()
  local window = vim.fn.win_findbuf(buffer)[1]
  if window then
    vim.api.nvim_set_current_win(window)
  else
    vim.cmd('botright split')
    vim.api.nvim_win_set_buf(0, buffer)
  end
  vim.wo.winbar = '%#UllageMuted# Ask: <C-s> or :w sends%<, q closes and keeps the draft%*'
  vim.wo.wrap, vim.wo.linebreak, vim.wo.breakindent = true, true, true
  vim.wo.number, vim.wo.relativenumber, vim.wo.signcolumn, vim.wo.winfixheight = false, false, 'no', true
  local draft = table.concat(lines_of(buffer), '\n')
  draft = draft ~= '' and draft or chat.unsent
  if text then
    draft = draft == '' and '\n\n' .. text or draft .. '\n\n' .. text
  end
  local lines = vim.split(draft, '\n', { plain = true })
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  -- One line more, for the bar.
  vim.api.nvim_win_set_height(0, math.max(HEIGHT, math.min(#lines + 1, math.floor(vim.o.lines / 2))))
  vim.bo[buffer].modified = false
  -- Above the quoted lines, where the question is written.
  vim.api.nvim_win_set_cursor(0, { text and 1 or vim.api.nvim_buf_line_count(buffer), 0 })
  vim.cmd('startinsert!')
end

return M
