-- The 'foldexpr' of the context buffer.
local M = {}

---@return string
function M.level()
  local view = require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()]
  local row = view and view.rows[vim.v.lnum]
  return row and row.fold or '0'
end

return M
