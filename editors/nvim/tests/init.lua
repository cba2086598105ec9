-- The init file of the editor that the tests drive: this plugin, and what a user's own init would have. Environment:
-- ULLAGE_SERVER is the real server, ULLAGE_STORE the file in which it keeps sessions, ULLAGE_PLUGINS the folder of
-- mini.test and lualine.
local here = vim.fs.dirname(vim.fs.normalize(debug.getinfo(1, 'S').source:sub(2)))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.opt.runtimepath:append(vim.env.ULLAGE_PLUGINS .. '/neovim-mini.test')
vim.opt.runtimepath:append(vim.env.ULLAGE_PLUGINS .. '/nvim-lualine')
vim.o.laststatus = 3
if not vim.env.ULLAGE_BARE then vim.o.statusline = "%f%=%{%v:lua.require'ullage'.statusline()%} " end
vim.o.swapfile = false
local window = tonumber(vim.env.ULLAGE_WINDOW)
vim.g.ullage = {
  store = vim.env.ULLAGE_STORE,
  settings = {
    -- By default the sample is just over the warning threshold, and cheap edits would make room before a test reads
    -- it.
    context = window == nil and { clearAt = 0.9 } or nil,
    models = { ['claude-sonnet-4-5'] = { window = window or 63000 } },
  },
}
