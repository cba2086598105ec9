-- What a search of the team's archive finds. The real archive is searched in `tests/e2e`.
local editor = require('editor')
local eq, has = MiniTest.expect.equality, editor.has

local T = editor.set()

local function example(name)
  local path = ('%s/protocol/examples/%s.json'):format(editor.ROOT, name)
  return vim.json.decode(table.concat(vim.fn.readfile(path), '\n'))
end

local function found() return example('team.search.result') end

T['each hit says whose it is, and no word of others breaks the list'] = function()
  local result = found()
  result.hits[2].title = 'one\ntwo'
  local lines = vim.tbl_map(function(line) return line.text end, require('ullage.team').lines('the proxy', result))
  eq(lines[1], '2 found in the team’s archive: the proxy')
  eq(lines[4], 'boris  /home/boris/weather  Deploy of the proxy  #41 assistant')
  has('^  The proxy needs port 8443', lines[5])
  has('^  I added it', lines[6])
  eq(lines[8], 'carla  /srv/gateway  one two  #3 user')
end

T['the list is a window that q closes, and a second one replaces it'] = function()
  local child = editor.start({ bare = true })
  for _, query in ipairs({ 'proxy', 'the port' }) do
    child.lua("require('ullage.team').show(...)", { query, found() })
  end
  eq(#child.api.nvim_list_wins(), 2)
  has('archive: the port$', editor.lines(child)[1])
  eq({ child.bo.modifiable, child.bo.buftype }, { false, 'nofile' })
  child.type_keys('q')
  eq(#child.api.nvim_list_wins(), 1)
end

T['a hit is opened whole, and q goes back to the list'] = function()
  local child = editor.start({ bare = true })
  child.lua(
    [[
      local message = ...
      require('ullage.client').request = function(method, params, done)
        _G.opened = { method, params }
        done(nil, message)
      end
    ]],
    { example('team.open.result') }
  )
  child.lua("require('ullage.team').show(...)", { 'proxy', found() })
  -- Neither the title nor the line between two hits is one.
  for _, line in ipairs({ '1', '3' }) do
    child.type_keys(line .. 'G', '<CR>')
    eq(child.lua_get('_G.opened == nil'), true)
  end
  child.type_keys('6G', '<CR>')
  eq(child.lua_get('_G.opened'), { 'team/open', example('team.open.params') })
  local lines = editor.lines(child)
  eq(lines[1], 'boris  /home/boris/weather  Deploy of the proxy  #41 assistant')
  eq({ lines[2], lines[#lines - 1] }, { 'of 58 messages, q closes', '  ' })
  has('^  Before that, every other request', lines[#lines])
  child.type_keys('q')
  has('^2 found', editor.lines(child)[1])
end

return T
