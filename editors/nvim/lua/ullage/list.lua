-- A window below with lines that are read and chosen from, not edited.
local rows = require('ullage.context.rows')

local M = {}

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

---@param name string
---@param list ullage.ListLine[]
---@return integer buffer
local function filled(name, list)
  -- There is one list of a name at a time.
  local old = vim.fn.bufnr('^' .. name .. '$')
  if old ~= -1 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, name)
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

---Opens a window below with lines. `q` closes it; `keys` are further ones, with what they do and a function that gets
---the number of the line under the cursor. `options` are further options of the window.
---@param name string of the buffer, `ullage://…`
---@param list ullage.ListLine[]
---@param options table<string, any>
---@param keys table<string, { [1]: string, [2]: fun(number: integer) }>
function M.show(name, list, options, keys)
  local buffer = filled(name, list)
  vim.cmd('botright split')
  vim.api.nvim_win_set_buf(0, buffer)
  local look = { wrap = true, linebreak = true, breakindent = true, number = false, relativenumber = false }
  for option, value in pairs(vim.tbl_extend('force', look, options)) do
    vim.api.nvim_set_option_value(option, value, { win = 0, scope = 'local' })
  end
  local function map(key, what, run)
    vim.keymap.set('n', key, run, { buffer = buffer, nowait = true, desc = 'Ullage: ' .. what })
  end
  for key, done in pairs(keys) do
    map(key, done[1], function()
      done[2](vim.api.nvim_win_get_cursor(0)[1])
    end)
  end
  map('q', 'close', '<Cmd>close<CR>')
end

return M
