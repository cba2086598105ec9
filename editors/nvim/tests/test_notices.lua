-- Notices fit on the command line, so that no prompt stops the user. Needs no server, except where it is killed.
local editor = require('editor')
local eq, has = MiniTest.expect.equality, editor.has

local child
local T = editor.set(function()
  child = editor.start({ bare = true, notify = false })
  child.o.columns = 60
  child.cmd('messages clear')
end)

local function messages()
  return vim.split(child.cmd_capture('messages'), '\n', { trimempty = true })
end

local LONG = "('a long notice\\nof several lines '):rep(20)"

T['a long notice is cut to one line, and its hint stays'] = function()
  child.lua(("require('ullage.notices').say(%s, 'warning', ' (:Ullage choose)')"):format(LONG))
  local shown = messages()
  eq(#shown, 1)
  eq(vim.fn.strdisplaywidth(shown[1]) <= child.v.echospace, true)
  eq(shown[1]:find('… %(:Ullage choose%)$') ~= nil, true)
end

T['a failure that is cut says where it can be read'] = function()
  child.lua(("require('ullage.notices').say(%s, 'error')"):format(LONG))
  has('… %(:Ullage log%)$', messages()[1])
  eq(vim.fn.strdisplaywidth(messages()[1]) <= child.v.echospace, true)
  child.cmd('Ullage log')
  has('of several lines a long notice', table.concat(editor.lines(child), ' '))
end

---Chooses from a list in Neovim's own way. Returns the lists that were shown, and what was chosen.
---@param count integer
---@param answers integer[]
local function choose(count, answers)
  child.lua(
    [[
    local count, answers = ...
    _G.shown, _G.chosen = {}, nil
    vim.fn.inputlist = function(lines)
      table.insert(_G.shown, lines)
      return answers[#_G.shown]
    end
    local list = {}
    for number = 1, count do
      list[number] = { name = ('element %d of the list, with a long name '):format(number):rep(4), number = number }
    end
    require('ullage.commandline').select(list, {
      prompt = 'A list',
      format_item = function(item)
        return item.name
      end,
    }, function(item, number)
      _G.chosen = item and { item.number, number } or 'nothing'
    end)
  ]],
    { count, answers }
  )
  editor.wait(child, '_G.chosen ~= nil')
  return child.lua_get('_G.shown'), child.lua_get('_G.chosen')
end

T['a list fits on the screen, and its last element shows the rest'] = function()
  child.o.lines = 24
  local shown, chosen = choose(50, { 20, 20, 2 })
  eq({ #shown, chosen }, { 3, { 40, 40 } })
  for _, lines in ipairs(shown) do
    -- Neovim writes its question after the list.
    eq(#lines + 2 < child.o.lines, true)
    for _, line in ipairs(lines) do
      eq({ line, vim.fn.strdisplaywidth(line) < child.o.columns }, { line, true })
    end
  end
  has('^20: 31 more…$', shown[1][21])
  eq(select(2, choose(3, { 2 })), { 2, 2 })
  eq(select(2, choose(50, { 0 })), 'nothing')
end

T['a line break in a notice begins no command'] = function()
  child.lua([[
    local id = 'e1\nlua vim.g.ran = true'
    local notice = { kind = 'compaction_complete', severity = 'info', text = 'Compacted.', edit_id = id }
    require('ullage.notices').setup()
    require('ullage.events').emit('notice', notice)
    vim.wait(60000, function() return require('ullage.notices').offer ~= nil end)
    require('ullage.notices').offer.choices[2].run()
  ]])
  eq(child.lua_get('vim.g.ran'), vim.NIL)
end

T['a picker plugin gets the whole list'] = function()
  child.lua([[
    vim.ui.select = function(list, options)
      _G.picked = { #list, options.format_item(list[50]) }
    end
    local list = {}
    for number = 1, 50 do
      list[number] = ('element %d '):format(number):rep(20)
    end
    require('ullage.commandline').select(list, { prompt = 'A list', format_item = tostring }, function() end)
  ]])
  eq(child.lua_get('_G.picked'), { 50, ('element 50 '):rep(20) })
end

T['a notification plugin gets the whole notice'] = function()
  child.lua('vim.notify = function(text) _G.told = text end')
  child.lua(("require('ullage.notices').say(%s)"):format(LONG))
  eq(child.lua_get('_G.told'), child.lua_get(LONG))
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
