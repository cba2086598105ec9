-- A change that is shown before it happens, in a buffer of its own: `:w` makes it, `q` leaves everything as it is.
local notices = require('ullage.notices')
local windows = require('ullage.window')

local M = {}

---@class ullage.Proposal
---@field name string of the buffer, after `ullage://`
---@field keys string what `:w` does, for the window's bar
---@field lines string[]
---@field filetype string
---@field is_editable? boolean
---@field accept fun(close: fun(), lines: string[]) makes the change, and calls `close` once that has worked

---Shows a change. Another one of the same name is replaced.
---@param proposal ullage.Proposal
---@return integer buffer
function M.show(proposal)
  local buffer = windows.scratch('ullage://' .. proposal.name, proposal.lines, true)
  windows.show(buffer)
  local options = { buftype = 'acwrite', swapfile = false, modified = false }
  options.modifiable, options.filetype = proposal.is_editable or false, proposal.filetype
  for option, value in pairs(options) do
    vim.bo[buffer][option] = value
  end
  vim.wo.wrap, vim.wo.linebreak, vim.wo.breakindent, vim.wo.spell = true, true, true, false
  vim.wo.winbar = (' %%#UllageTitle#:w %s%%*  %%#UllageMuted#q discards%%*%%<'):format(proposal.keys)
  local function close()
    if vim.api.nvim_buf_is_valid(buffer) then vim.api.nvim_buf_delete(buffer, { force = true }) end
  end
  vim.api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function() proposal.accept(close, vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) end,
  })
  vim.keymap.set('n', 'q', function()
    close()
    notices.say('Nothing was changed.')
  end, { buffer = buffer, nowait = true, desc = 'Ullage: leave everything as it is' })
  return buffer
end

return M
