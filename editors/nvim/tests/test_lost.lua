-- What a compaction left out: its words, and how it is given back to the agent. Needs no server.
local editor = require('editor')
local lost = require('ullage.lost')
local eq, has = MiniTest.expect.equality, editor.has

local T = editor.set()

local function result(fields)
  local usual = { readable = true, counts = {}, missing = fields.counts or {}, entries = {}, brief = '' }
  return vim.tbl_extend('force', usual, fields)
end

T['the kinds are counted in the order of the list'] = function()
  eq(
    lost.line(result({ counts = { words = 1200, file = 1, said = 3 } })),
    'Left out: 3 messages, 1 file, 1,200 agent texts'
  )
end

T['what hooks gave back is no longer missing'] = function()
  local counts = { file = 1, said = 3 }
  eq(lost.line(result({ counts = counts, missing = {} })), 'Left out: 3 messages, 1 file; all of it given back')
  has('1 file; still missing: 1 message$', lost.line(result({ counts = counts, missing = { said = 1 } })))
end

T['nothing left out, and a summary that cannot be read, are said in words'] = function()
  eq(lost.line(result({})), lost.NOTHING)
  has('^The summary is encrypted', lost.line(result({ readable = false })))
  eq(#require('ullage.lost').lines(result({ readable = false })), 1)
end

T['the number of a message stands apart from its text'] = function()
  local entries = { { kind = 'file', state = 'changed', text = 'src/a.py', detail = '', index = 3 } }
  entries[2] = vim.tbl_extend('force', entries[1], { index = 12344 })
  local lines = require('ullage.lost').lines(result({ counts = { file = 2 }, entries = entries }))
  eq(lines[5].text, '  #4    [changed] src/a.py')
  eq(lines[6].text, '  #12345 [changed] src/a.py')
end

---Returns the rows of the child's screen, without the blanks at their ends.
local function screen(child)
  local rows = {}
  for row = 1, child.o.lines do
    local cells = {}
    for column = 1, child.o.columns do
      cells[column] = child.fn.screenstring(row, column)
    end
    rows[row] = table.concat(cells):gsub('%s+$', '')
  end
  return rows
end

T['in a window of'] = MiniTest.new_set({ parametrize = { { 60 }, { 100 } } })

T['in a window of']['so many cells, each number, each key and the end of each line are on the screen'] = function(
  columns
)
  local child = editor.start({ bare = true })
  child.o.columns, child.o.lines = columns, 30
  local rule = 'src/shop/legacy.py is never changed without a migration that the other team has read and agreed to.'
  local entries = {
    { kind = 'said', state = 'open', text = rule, detail = '', index = 0 },
    {
      kind = 'problem',
      state = 'open',
      text = '`uv run pytest -q tests/shop/warehouse/parts/test_one.py --tb=short`',
      index = 12344,
    },
  }
  entries[2].detail = 'ended with 1, 14 times'
  child.lua("require('ullage.lost').show(...)", { result({ counts = { said = 1, problem = 1 }, entries = entries }) })
  child.cmd('redraw')
  local shown = table.concat(screen(child), '\n'):gsub('%s+', ' ')
  for _, part in ipairs({ 'Left out: 1 message, 1 problem', 's sends to the agent’s terminal, q closes' }) do
    has(vim.pesc(part), shown)
  end
  has('#1 src/shop/legacy.py is never .* and agreed to%. Problems 1', shown)
  has('#12345 %[open%] `uv run pytest .* ended with 1, 14 times', shown)
  -- The window is as high as its text.
  eq(child.api.nvim_win_get_height(0), child.api.nvim_win_text_height(0, {}).all)
end

T['a paste has no line feed and nothing that ends it early'] = function()
  eq(lost.as_paste('one\r\ntwo\nthree'), '\27[200~one\rtwo\rthree\27[201~')
  eq(lost.as_paste('a\27[201~\rb\194\155201~c\3 “é”'), '\27[200~a[201~b201~c “é”\27[201~')
end

T['the brief is put into the terminal of the agent, as a paste and without Enter'] = function()
  local child = editor.start({ bare = true })
  -- Writes what it gets so that it can be read, as soon as it gets it.
  child.cmd([[terminal stty raw -echo; echo 'it is' open; cat -v]])
  editor.wait(child, 'table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find("it is open") ~= nil')
  child.lua([[
    _G.terminal = vim.api.nvim_get_current_buf()
    local session = require('ullage.session')
    session.active = { id = 's1', title = '' }
    require('ullage.following').row = function(id)
      return id == 's1' and { agent = 'Claude Code', process_id = vim.b.terminal_job_pid } or nil
    end
    require('ullage.lost').send('one\ntwo')
  ]])
  editor.wait(
    child,
    [[table.concat(vim.api.nvim_buf_get_lines(_G.terminal, 0, -1, false)):find('^[[201~', 1, true) ~= nil]]
  )
  has('open%s+%^%[%[200~one%^Mtwo%^%[%[201~$', vim.trim(table.concat(child.api.nvim_buf_get_lines(0, 0, -1, false))))
  editor.wait_said(child, 'Nothing is sent before you press Enter there.')
end

T['a search that takes longer is announced, and the line goes when the answer comes'] = function()
  local child = editor.start({ bare = true })
  child.lua([[
    require('ullage.session').request = function(_, _, callback)
      _G.answer = callback
    end
    require('ullage.lost').find(nil, function() _G.found = true end)
  ]])
  local line =
    "vim.fn.join(vim.tbl_map(function(cell) return vim.fn.screenstring(vim.o.lines, cell) end, vim.fn.range(1, 40)), '')"
  editor.wait(child, line .. ":find('Looking for what was left out', 1, true) ~= nil")
  child.lua('_G.answer(nil, { readable = true, counts = {} })')
  editor.wait(child, '_G.found and not ' .. line .. ":find('Looking', 1, true)")
end

T['without a terminal nothing is sent, and the user is told'] = function()
  local child = editor.start({ bare = true })
  child.lua("require('ullage.lost').send('one')")
  editor.wait_said(child, 'The agent runs in no terminal of this Neovim')
end

return T
