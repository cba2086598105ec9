-- The last of a new user's steps: a conversation is imported, and the statusline shows how full its context is.
-- ULLAGE_SAMPLE names the conversation. Prints the statusline. nvim --headless -S tests/newcomer.lua
local PATIENCE = 30000

local function shown() return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str end

-- A script that ends with an error leaves Neovim open.
local fine, met = pcall(function()
  vim.cmd('Ullage import ' .. vim.fn.fnameescape(vim.env.ULLAGE_SAMPLE))
  return vim.wait(PATIENCE, function() return shown():find('ctx %D*%d+%%') ~= nil end, 10)
end)
io.stdout:write((fine and shown() or tostring(met)) .. '\n')
vim.cmd(fine and met and 'qall!' or 'cquit')
