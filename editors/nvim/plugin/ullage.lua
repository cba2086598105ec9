-- No other file of the plugin is loaded before it is used.
if vim.g.loaded_ullage then return end
vim.g.loaded_ullage = 1

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('ullage needs Neovim 0.11 or newer', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Ullage', function(call) require('ullage.command').run(call) end, {
  bang = true,
  nargs = '*',
  desc = 'Conversations with models: see, compact, undo, continue',
  complete = function(...) return require('ullage.command').complete(...) end,
})

-- A mapping for each subcommand that is often used, for example `<Plug>(ullage-context)`.
for _, name in ipairs({ 'agents', 'compact', 'context', 'continue', 'import', 'lost', 'preview', 'search', 'undo' }) do
  vim.keymap.set('n', ('<Plug>(ullage-%s)'):format(name), ('<Cmd>Ullage %s<CR>'):format(name))
end
