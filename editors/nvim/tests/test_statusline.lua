-- The figure in the statusline with the real server.
local editor = require('editor')
local eq, has = MiniTest.expect.equality, editor.has

local child
local T = editor.set()

T['without a session the statusline is empty and commands say how to begin'] = function()
  child = editor.start()
  child.lua("require('ullage').start()")
  editor.wait(child, "require('ullage.client').state == 'running'")
  eq(editor.status(child), '')
  child.cmd('Ullage compact')
  editor.wait_said(child, ':Ullage import')
end

T['an import shows its percentage, warns, and offers choices'] = function()
  child = editor.start()
  editor.import(child)
  editor.wait_said(child, 'Imported 203 messages')
  eq(editor.status(child), 'ctx ~61% 38K/63K')
  has('ctx ~61%% 38K/63K', child.lua_get('vim.api.nvim_eval_statusline(vim.o.statusline, {}).str'))
  editor.wait_said(child, 'Context 61% full')
  editor.wait_said(child, '(:Ullage compact)')
  eq(child.lua_get("require('ullage').usage().group"), 'UllageWarn')
end

T['the autocommand carries the figures'] = function()
  child = editor.start()
  child.lua([[
    vim.api.nvim_create_autocmd('User', { pattern = 'UllageUsage', callback = function(event) _G.event = event.data end })
  ]])
  editor.import(child)
  editor.wait(child, '_G.event ~= nil and _G.event.level == "warning"')
  eq(child.lua_get('_G.event.percent'), 61)
  eq(child.lua_get('_G.event.compact_at'), 42525)
end

T['lualine shows the figure in its colour'] = function()
  child = editor.start()
  child.lua("require('lualine').setup({ sections = { lualine_x = { 'ullage' } } })")
  editor.import(child)
  child.cmd('redrawstatus!')
  editor.wait(child, "vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find('ctx ~61% 38K/63K', 1, true) ~= nil")
end

T['a normal figure has the colours of its bar, and a warning those of its window'] = function()
  child = editor.start()
  child.o.laststatus = 2
  child.lua("require('ullage').new_session({ model = 'claude-sonnet-4-5' })")
  editor.wait(child, "require('ullage.session').figures ~= nil")
  eq(child.lua_get("require('ullage').statusline()"), 'ctx ~0%% 0/63K')
  editor.import(child)
  editor.wait(child, 'require("ullage").usage().group == "UllageWarn"')
  child.cmd('vsplit')
  local function groups(window)
    local drawn = child.api.nvim_eval_statusline(child.o.statusline, { winid = window, highlights = true })
    return vim.tbl_map(function(highlight) return highlight.group end, drawn.highlights)
  end
  local windows = child.api.nvim_list_wins()
  for _, window in ipairs(windows) do
    eq({ window, vim.tbl_contains(groups(window), 'UllageWarn') }, { window, true })
  end
end

---Waits until everything that is scheduled by now has run.
local function after_what_is_scheduled()
  child.lua('vim.schedule(function() _G.turned = true end)')
  editor.wait(child, '_G.turned')
end

T['a commit message starts no server, the next file does'] = function()
  child = editor.start({ bare = true })
  local folder = vim.fn.tempname() .. '/.git'
  vim.fn.mkdir(folder, 'p')
  child.cmd('edit ' .. folder .. '/COMMIT_EDITMSG')
  eq(editor.status(child), '')
  after_what_is_scheduled()
  eq(child.lua_get("require('ullage.client').state"), 'off')
  child.cmd('edit ' .. editor.ROOT .. '/README.md')
  editor.status(child)
  editor.wait(child, "require('ullage.client').state == 'running'")
end

T['the statusline starts no server if the option says so'] = function()
  child = editor.start({ bare = true })
  child.lua("require('ullage').setup({ statusline = { start = false } })")
  eq(editor.status(child), '')
  after_what_is_scheduled()
  eq(child.lua_get("require('ullage.client').state"), 'off')
end

return T
