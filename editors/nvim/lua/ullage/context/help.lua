-- The window that lists the keys of the context buffer.
local M = {}

-- Cells of a key. A description that takes two lines goes on under its beginning.
local KEY = 5

---@param keys { [1]: string, [2]: string, [3]: string }[]
---@return string[]
---@return integer cells
local function lines_of(keys)
  local lines, width = {}, 0
  for number, key in ipairs(keys) do
    lines[number] = (' %-' .. KEY .. 's %s'):format(key[1], key[3])
  end
  lines[#lines + 1] = ' za zR zM  archived messages: one stretch, all, none'
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line) + 1)
  end
  return lines, width
end

---Gives the window the height of its lines, in the middle of the screen.
---@param window integer
---@param width integer
local function centre(window, width)
  -- The border takes two cells each way.
  local room = math.max(1, vim.o.lines - 4)
  local height = math.min(vim.api.nvim_win_text_height(window, {}).all, room)
  vim.api.nvim_win_set_config(window, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    height = height,
  })
end

---@param keys { [1]: string, [2]: string, [3]: string }[] key, mapping, what it does
function M.show(keys)
  local lines, width = lines_of(keys)
  width = math.max(1, math.min(width, vim.o.columns - 2))
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, 'wipe'
  local look = { style = 'minimal', border = 'rounded', title = ' Ullage ' }
  local place = { relative = 'editor', row = 0, col = 0, width = width, height = 1 }
  local window = vim.api.nvim_open_win(buffer, true, vim.tbl_extend('error', look, place))
  local wrapping = { wrap = true, linebreak = true, breakindent = true, breakindentopt = 'shift:' .. KEY + 1 }
  for name, value in pairs(wrapping) do
    vim.api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
  centre(window, width)
  for _, key in ipairs({ 'q', 'g?', '<Esc>', '<CR>' }) do
    vim.keymap.set('n', key, function()
      vim.api.nvim_win_close(window, true)
    end, { buffer = buffer, nowait = true })
  end
end

return M
