-- Opens the windows of the plugin's buffers.
local M = {}

local OPENERS = { vsplit = 'vsplit', split = 'botright split', tab = 'tab split', current = '' }

---Opens a window as the option `context.open` says, and shows the buffer in it.
---@param buffer integer
function M.show(buffer)
  vim.cmd(OPENERS[require('ullage.config').get().context.open])
  vim.api.nvim_win_set_buf(0, buffer)
end

return M
