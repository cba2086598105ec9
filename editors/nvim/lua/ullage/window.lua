-- The windows and buffers of the plugin.
local rows = require('ullage.context.rows')
local words = require('ullage.words')

local M = {}

local OPENERS = { vsplit = 'vsplit', split = 'botright split', tab = 'tab split', current = '' }

-- Cells. A conversation in a narrower window cannot be read well, so that it opens below instead.
local NARROWEST = 40

---Opens a window as the option `context.open` says, and shows the buffer in it.
function M.show(buffer)
  local open = require('ullage.config').get().context.open
  if open == 'vsplit' and vim.api.nvim_win_get_width(0) < 2 * NARROWEST + 1 then open = 'split' end
  vim.cmd(OPENERS[open])
  vim.api.nvim_win_set_buf(0, buffer)
end

---Sets options of a window for the buffer that it shows.
---@param window integer 0 for the current one
---@param options table<string, any>
function M.dress(window, options)
  for name, value in pairs(options) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

---Returns a buffer with lines that cannot be changed, and that is gone with its window. `q` closes that. A buffer of the
---same name is replaced.
---@param name string? `ullage://…`
---@return integer buffer
function M.scratch(name, lines, is_listed)
  local old = name and vim.fn.bufnr('^' .. name .. '$') or -1
  if old ~= -1 then vim.api.nvim_buf_delete(old, { force = true }) end
  local buffer = vim.api.nvim_create_buf(is_listed or false, true)
  if name then vim.api.nvim_buf_set_name(buffer, name) end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, 'wipe'
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, nowait = true, desc = 'Ullage: close' })
  return buffer
end

local namespace = vim.api.nvim_create_namespace('ullage.list')

---@class ullage.ListLine
---@field text string
---@field spans ullage.Span[]

---Returns a line of pieces.
---@param pieces ullage.LinePiece[]
---@return ullage.ListLine
function M.line(pieces)
  local text, spans = rows.join(pieces)
  return { text = text, spans = spans }
end

---Opens a window below with lines. `q` closes it; `keys` are further ones, with what they do and a function that gets
---the number of the line under the cursor. `options` are further options of the window.
---@param name string of the buffer, `ullage://…`
---@param list ullage.ListLine[]
---@param options table<string, any>
---@param keys table<string, { [1]: string, [2]: fun(number: integer) }>
function M.show_list(name, list, options, keys)
  local buffer = M.scratch(name, words.pluck(list, 'text'))
  for number, each in ipairs(list) do
    for _, span in ipairs(each.spans) do
      vim.api.nvim_buf_set_extmark(buffer, namespace, number - 1, span[1], { end_col = span[2], hl_group = span[3] })
    end
  end
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buffer)
  local look = { wrap = true, linebreak = true, breakindent = true, number = false, relativenumber = false }
  M.dress(0, vim.tbl_extend('force', look, options))
  for key, done in pairs(keys) do
    vim.keymap.set(
      'n',
      key,
      function() done[2](vim.api.nvim_win_get_cursor(0)[1]) end,
      { buffer = buffer, nowait = true, desc = 'Ullage: ' .. done[1] }
    )
  end
end

return M
