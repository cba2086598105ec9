-- No other file of the plugin is loaded before it is used.
if vim.g.loaded_ullage then
  return
end
vim.g.loaded_ullage = 1

if vim.fn.has('nvim-0.11') == 0 then
  vim.notify_once('ullage needs Neovim 0.11 or newer', vim.log.levels.ERROR)
  return
end

vim.api.nvim_create_user_command('Ullage', function(call)
  require('ullage.command').run(call)
end, {
  nargs = '*',
  range = true,
  desc = 'Context of the active conversation: see, compact, undo',
  complete = function(lead, line, position)
    return require('ullage.command').complete(lead, line, position)
  end,
})

-- A mapping for each subcommand, for example `<Plug>(ullage-context)`.
local NAMES = 'agents ask cancel choose compact context continue delete export fork from import log lost model new pin '
  .. 'preview rename restart restore search stop switch team undo unwire upto window wire'
for name in NAMES:gmatch('%S+') do
  vim.keymap.set('n', ('<Plug>(ullage-%s)'):format(name), ('<Cmd>Ullage %s<CR>'):format(name))
end
vim.keymap.set('x', '<Plug>(ullage-ask)', ':Ullage ask<CR>')
