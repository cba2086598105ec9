-- The window that lists the keys of the context buffer.
local windows = require('ullage.window')

local M = {}

-- Cells of a key. A description that takes two lines goes on under its beginning.
local KEY = 5
local LOOK = { wrap = true, linebreak = true, breakindent = true, breakindentopt = 'shift:' .. KEY + 1 }

---Shows the keys in the middle of the screen.
---@param keys { [1]: string, [2]: string }[] key, what it does
function M.show(keys)
  local lines, width = {}, 0
  for number, key in ipairs(keys) do
    lines[number] = (' %-' .. KEY .. 's %s'):format(key[1], key[2])
  end
  lines[#lines + 1] = ' za zR zM  archived messages: one stretch, all, none'
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  width = math.max(1, math.min(width, vim.o.columns - 2))
  local buffer = windows.scratch(nil, lines)
  local place = { relative = 'editor', row = 0, col = math.max(0, math.floor((vim.o.columns - width) / 2)) }
  local look = { style = 'minimal', border = 'rounded', title = ' Ullage ', width = width, height = 1 }
  local window = vim.api.nvim_open_win(buffer, true, vim.tbl_extend('error', place, look))
  windows.dress(window, LOOK)
  -- The border takes two cells each way.
  local height = math.min(vim.api.nvim_win_text_height(window, {}).all, math.max(1, vim.o.lines - 4))
  place.row, place.height = math.max(0, math.floor((vim.o.lines - height) / 2) - 1), height
  vim.api.nvim_win_set_config(window, place)
  for _, key in ipairs({ 'g?', '<Esc>', '<CR>' }) do
    vim.keymap.set('n', key, '<Cmd>close<CR>', { buffer = buffer, nowait = true })
  end
end

return M
