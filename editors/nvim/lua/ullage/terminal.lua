-- Commands that run in a terminal of their own.
local M = {}

---Runs a command in a |terminal| and lets the user type there. It gets a tab page: agents need a wide screen.
---@param command string[]
---@param cwd string
function M.run(command, cwd)
  vim.cmd('tab split')
  vim.api.nvim_win_set_buf(0, vim.api.nvim_create_buf(true, false))
  vim.fn.jobstart(command, { term = true, cwd = cwd })
  vim.cmd.startinsert()
end

return M
