-- What a search of the team's archive finds. The real archive is searched in `tests/e2e`.
local editor = require('editor')
local eq, has = MiniTest.expect.equality, editor.has

local T = editor.set()

local function found()
  local path = editor.ROOT .. '/protocol/examples/team.search.result.json'
  return vim.json.decode(table.concat(vim.fn.readfile(path), '\n'))
end

T['each hit says whose it is, and no word of others breaks the list'] = function()
  local result = found()
  result.hits[2].title = 'one\ntwo'
  local lines = vim.tbl_map(function(line)
    return line.text
  end, require('ullage.team').lines('the proxy', result))
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

return T
