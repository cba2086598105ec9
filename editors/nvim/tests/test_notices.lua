-- Notices fit on the command line, so that no prompt stops the user. Needs no server, except where it is killed.
local editor = require('editor')
local eq, has = MiniTest.expect.equality, editor.has

local child
local T = editor.set(function()
  child = editor.start({ bare = true, notify = false })
  child.o.columns = 60
  child.cmd('messages clear')
end)

local function messages() return vim.split(child.cmd_capture('messages'), '\n', { trimempty = true }) end

local LONG = "('a long notice\\nof several lines '):rep(20)"

T['a long notice is cut to one line, and its hint stays'] = function()
  child.lua(("require('ullage.notices').say(%s, 'warning', ' (:Ullage compact)')"):format(LONG))
  local shown = messages()
  eq(#shown, 1)
  eq(vim.fn.strdisplaywidth(shown[1]) <= child.v.echospace, true)
  eq(shown[1]:find('… %(:Ullage compact%)$') ~= nil, true)
end

T['a failure that is cut says where it can be read'] = function()
  child.lua(("require('ullage.notices').say(%s, 'error')"):format(LONG))
  has('… %(:Ullage log%)$', messages()[1])
  eq(vim.fn.strdisplaywidth(messages()[1]) <= child.v.echospace, true)
  child.cmd('Ullage log')
  has('of several lines a long notice', table.concat(editor.lines(child), ' '))
end

T['a warning loses its figures first, then what can be done, and says in how many calls'] = function()
  local warn =
    "require('ullage.notices').say(rows.warning(row), 'warning', ' (:Ullage agents)', rows.short_warnings(row))"
  for columns, text in pairs({
    [100] = 'Claude Code compacts in 0–3 calls: 46 % full, compacts at 55 %. (:Ullage agents)',
    [70] = 'Claude Code compacts in 0–3 calls (:Ullage agents)',
    [60] = 'CC compacts in 0–3 calls (:Ullage agents)',
    [50] = 'Claude Code compacts in 0–3 calls',
  }) do
    child.o.columns = columns
    child.cmd('messages clear')
    child.lua(
      "local row = ... local rows = require('ullage.following.rows') row = rows.read({ row })[1] " .. warn,
      { require('support.example_row')({ calls_left = { 0, 3 } }) }
    )
    eq({ columns, messages() }, { columns, { text } })
  end
end

T['a notification plugin gets the whole notice'] = function()
  child.lua('vim.notify = function(text) _G.told = text end')
  child.lua(("require('ullage.notices').say(%s)"):format(LONG))
  eq(child.lua_get('_G.told'), child.lua_get(LONG))
end

T['of an agent’s conversation the warning of its row is enough'] = function()
  child.lua([[
    vim.notify = function(text) table.insert(_G.said, text) end
    require('ullage').setup({})
    local session, events = require('ullage.session'), require('ullage.events')
    local warning = { text = 'Context 96% full.', severity = 'warning', kind = 'context_warning' }
    session.figures = { followed = { agent = 'Claude Code' } }
    events.emit('notice', warning)
    events.emit('notice', { text = 'Another notice.', severity = 'info', kind = 'other' })
    vim.schedule(function()
      session.figures = { followed = nil }
      events.emit('notice', warning)
    end)
  ]])
  editor.wait(child, '#_G.said == 2')
  eq(child.lua_get('_G.said'), { 'Another notice.', 'Context 96% full. (:Ullage compact)' })
end

T['a fault in the options is one line'] = function()
  child.lua("vim.g.ullage = { colour = 'red', shape = 'round', size = ('x'):rep(200) }")
  -- Neovim 0.10 raises the message instead of keeping it, when a script runs the command.
  local raised = child.lua("local fine, fault = pcall(vim.cmd, 'Ullage context') return tostring(fault)")
  local shown = (messages()[1] or raised):match('ullage: .*')
  has('colour is not an option', shown)
  eq({ #messages() <= 1, shown:find('\n') }, { true, nil })
  eq(vim.fn.strdisplaywidth(shown) <= child.v.echospace, true)
end

T['a killed server says nothing long'] = function()
  child.lua("require('ullage').start()")
  editor.wait(child, "require('ullage.client').state == 'running'")
  editor.kill_server(child)
  editor.wait(child, "require('ullage.client').state ~= 'running'")
  editor.wait(child, "require('ullage.client').state == 'running'")
  eq(messages(), {})
end

return T
