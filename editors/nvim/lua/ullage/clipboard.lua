-- Copies text to where the user can paste it from.
local M = {}

---Copies a text into the unnamed register and, if there is one, into the system's clipboard. Returns a remark for the
---user, empty if all is as expected.
---@param text string
---@return string
function M.copy(text)
  vim.fn.setreg('"', text)
  -- Without a provider for the system's clipboard, the unnamed register is all there is.
  if vim.fn.has('clipboard') == 0 then
    return ' into the unnamed register'
  end
  pcall(vim.fn.setreg, '+', text)
  return ''
end

return M
