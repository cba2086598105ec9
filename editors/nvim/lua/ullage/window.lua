-- Opens the windows of the plugin's buffers.
local M = {}

local OPENERS = { vsplit = 'vsplit', split = 'botright split', tab = 'tab split', current = '' }

-- Cells. A conversation in a narrower window cannot be read well, so that it opens below instead.
local NARROWEST = 40

---Opens a window as the option `context.open` says, and shows the buffer in it.
---@param buffer integer
function M.show(buffer)
  local open = require('ullage.config').get().context.open
  if open == 'vsplit' and vim.api.nvim_win_get_width(0) < 2 * NARROWEST + 1 then
    open = 'split'
  end
  vim.cmd(OPENERS[open])
  vim.api.nvim_win_set_buf(0, buffer)
end

return M
