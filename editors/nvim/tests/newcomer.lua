-- The last of a new user's steps: a conversation is imported, and the statusline shows how full its context is.
-- ULLAGE_SAMPLE names the conversation. Prints the statusline. nvim --headless -S tests/newcomer.lua
local PATIENCE = 30000

local function shown() return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str end

vim.cmd('Ullage import ' .. vim.fn.fnameescape(vim.env.ULLAGE_SAMPLE))
local met = vim.wait(PATIENCE, function() return shown():find('ctx %D*%d+%%') ~= nil end, 10)
io.stdout:write(shown() .. '\n')
vim.cmd(met and 'qall!' or 'cquit')
