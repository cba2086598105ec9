-- The server that starts, stops, crashes and comes back, and `:checkhealth`.
local editor = require('editor')
local eq, has, session = MiniTest.expect.equality, editor.has, editor.session

local child
local T = editor.set()

T['the server says which setting it refuses, and keeps the others'] = function()
  child = editor.start()
  child.lua([[
    vim.lsp.handlers['window/showMessage'] = function(_, params) table.insert(_G.said, params.message) end
    require('ullage').setup({ store = vim.env.ULLAGE_STORE, settings = { context = { warnAt = 2 } } })
    require('ullage').start()
  ]])
  editor.wait_said(child, 'context.warnAt')
end

T['nothing is loaded before it is used'] = function()
  child = editor.start({ bare = true })
  eq(child.lua_get("vim.tbl_filter(function(name) return name:find('^ullage') end, vim.tbl_keys(package.loaded))"), {})
  eq(child.lua_get('#vim.lsp.get_clients()'), 0)
end

T['a killed server comes back with nothing lost'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('Ullage compact')
  editor.wait_said(child, 'Compacted ')
  local before = session('figures')
  child.lua("_G.first = require('ullage.client').get().id")
  editor.kill_server(child)
  editor.wait(
    child,
    "require('ullage.client').get() and require('ullage.client').get().id ~= _G.first and require('ullage.client').state == 'running'"
  )
  editor.wait(child, "require('ullage.session').figures.compactions == 1")
  eq(session('figures.used'), before.used)
  editor.answer(child, 2)
  child.cmd('Ullage undo')
  editor.wait(child, '#_G.asked == 1')
  eq(child.lua_get('_G.asked[1].items'), { 'Undo', 'Leave it' })
  eq(session('figures.used'), before.used)
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('Compacted #1', 'nw') > 0")
end

T['a server that keeps crashing is not restarted, and the reason is shown'] = function()
  child = editor.start({ bare = true })
  child.lua([[
    require('ullage').setup({ cmd = { 'false' } })
    require('ullage').start()
  ]])
  editor.wait(child, "require('ullage.client').state == 'stopped'")
  eq(editor.status(child), 'Ullage: stopped')
  has('exit status 1', child.lua_get("require('ullage.client').reason"))
end

T['a missing server is reported with the remedy'] = function()
  child = editor.start({ bare = true })
  child.lua([[require('ullage').setup({ cmd = { '/no/such/ullage' } })]])
  child.cmd('Ullage compact')
  editor.wait_said(child, '/no/such/ullage (option cmd) cannot be run. Install it with')
  eq(editor.status(child), 'Ullage: stopped')
end

T['a server that was stopped is started again, and keeps the session'] = function()
  child = editor.start()
  editor.import(child)
  child.lua("require('ullage.client').get():stop()")
  editor.wait(child, "require('ullage.client').state ~= 'running'")
  editor.wait(child, "require('ullage.client').state == 'running'")
  has('^ctx ~61%%', editor.status(child))
end

T["the folder's last session is opened again"] = function()
  child = editor.start()
  child.lua("require('ullage').append({ { role = 'user', content = 'Hello.' } })")
  editor.wait(child, "require('ullage.session').figures ~= nil")
  local last = session('active.id')
  child.stop()
  child = editor.start({ keep_store = true })
  child.lua("require('ullage').start()")
  editor.wait(child, "require('ullage.session').figures ~= nil")
  eq(session('active.id'), last)
end

T['an imported conversation belongs to its own folder'] = function()
  child = editor.start()
  editor.import(child)
  child.stop()
  child = editor.start({ keep_store = true })
  child.lua("require('ullage').start()")
  editor.wait(child, "require('ullage.client').state == 'running'")
  child.lua([[
    require('ullage.client').request('session/list', { cwd = vim.uv.cwd() }, function(_, result)
      _G.listed = #result.sessions
    end)
  ]])
  editor.wait(child, '_G.listed ~= nil')
  eq(child.lua_get('_G.listed'), 0)
  eq(session('active'), vim.NIL)
end

T['health lists the steps in the order of the first minutes'] = function()
  child = editor.start()
  editor.import(child)
  child.cmd('checkhealth ullage')
  for _, step in ipairs({
    '1. Server found',
    '2. See the statusline',
    "3. Follow agents' conversations",
    '4. Look at a conversation',
    '5. Compact it, undo it',
  }) do
    editor.line_with(child, step)
  end
  editor.line_with(child, 'running, version')
  editor.line_with(child, 'it shows: ctx ~61%')
  eq(vim.tbl_filter(function(line) return line:find('ERROR') end, editor.lines(child)), {})
end

T['health names a wrong option'] = function()
  child = editor.start()
  child.lua("vim.g.ullage = { colour = 'red' }")
  child.cmd('checkhealth ullage')
  editor.line_with(child, 'colour is not an option; there are')
end

T['vim.lsp.enable starts the same client'] = function()
  child = editor.start()
  if child.fn.has('nvim-0.11') == 0 then MiniTest.skip('vim.lsp.enable came with Neovim 0.11') end
  child.cmd('edit ' .. editor.ROOT .. '/README.md')
  child.lua("vim.lsp.enable('ullage')")
  editor.wait(child, "require('ullage.client').state == 'running'")
  editor.import(child)
  eq(child.lua_get('#vim.lsp.get_clients()'), 1)
end

return T
