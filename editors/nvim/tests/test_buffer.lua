-- The conversation in its buffer with the real server.
local editor = require('editor')
local eq, has, session = MiniTest.expect.equality, editor.has, editor.session

local child
local T = editor.set()

---Appends a message of about so many tokens.
local function append(tokens)
  child.lua(([[
    _G.appended = nil
    require('ullage').append({ { role = 'user', content = ('word '):rep(%d) } }, nil, function(error, result)
      _G.appended = error or result
    end)
  ]]):format(tokens))
  editor.wait(child, '_G.appended ~= nil')
end

T['appended messages join the end, whatever is open before it'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  local count = #editor.lines(child)
  child.type_keys('G')
  append(10)
  editor.wait(child, ('vim.api.nvim_buf_line_count(0) == %d'):format(count + 1))
  has('^you        word word', editor.lines(child)[count + 1])
  eq(child.fn.line('.'), count + 1)
end

T['what is open stays open when the session gets a title or its server is started again'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  child.fn.cursor(editor.line_with(child, 'assistant  The plan:'), 1)
  child.type_keys('<CR>')
  local function open()
    return child.lua_get("vim.tbl_count(require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()].open)")
  end
  eq(open(), 1)
  child.lua("require('ullage').request('session/rename', { title = 'Another title' })")
  editor.wait(child, 'vim.fn.search("^Another title", "nw") > 0')
  eq(open(), 1)
  child.lua("_G.first = require('ullage.client').get().id")
  editor.kill_server(child)
  editor.wait(child, "require('ullage.client').get() and require('ullage.client').get().id ~= _G.first")
  editor.wait(child, "require('ullage.client').state == 'running'")
  child.type_keys('p')
  editor.wait_said(child, 'Pinned')
  eq(open(), 1)
  child.lua("require('ullage').new_session({ model = 'gpt-4o' })")
  editor.wait(child, 'vim.fn.search("^Untitled", "nw") > 0')
  eq(open(), 0)
end

T['a message is pinned and unpinned where the cursor is'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  child.fn.cursor(editor.line_with(child, 'assistant  The plan:'), 1)
  child.type_keys('p')
  editor.wait_said(child, 'Pinned')
  child.cmd('redraw')
  editor.wait(child, "require('ullage.context').entry_under_cursor().pinned")
  child.type_keys('p')
  editor.wait_said(child, 'Unpinned')
end

T['a search finds archived messages and goes to them'] = function()
  child = editor.start({ window = 32000 })
  editor.import(child)
  editor.wait_said(child, 'Compacted ')
  child.cmd('Ullage search nested transaction')
  editor.wait(child, '#vim.fn.getqflist() > 0')
  eq(child.fn.getqflist({ title = 1 }).title, 'Ullage search: nested transaction')
  has('^#%d+ .*transaction', child.lua_get('vim.fn.getqflist()[1].text'))
  eq(child.lua_get('vim.fn.getqflist()[1].text'):find('**', 1, true), nil)
  child.cmd('cfirst')
  eq(child.bo.filetype, 'ullage')
  local number = child.lua_get('tonumber(vim.fn.getqflist()[1].text:match("^#(%d+)"))')
  eq(child.lua_get("require('ullage.context').entry_under_cursor().index"), number - 1)
end

T['a search shows the conversation in no window without its options'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  child.cmd('Ullage search nested transaction')
  editor.wait(child, "vim.bo.filetype == 'qf'")
  has('^#%d+ .*transaction', editor.lines(child)[1])
  eq({ #child.api.nvim_list_wins(), child.wo.wrap }, { 2, false })
  child.cmd('wincmd p')
  local at = child.lua_get('vim.fn.getqflist()[1].lnum')
  eq({ child.bo.filetype, child.fn.line('.') }, { 'ullage', at })
  child.cmd('new')
  child.cmd('buffer ullage://context')
  eq({ child.wo.wrap, child.wo.foldmethod }, { true, 'expr' })
end

T['the keys are listed at any width, and no word is cut'] = MiniTest.new_set({ parametrize = { { 40 }, { 110 } } })
T['the keys are listed at any width, and no word is cut']['of columns'] = function(columns)
  child = editor.start({ bare = true })
  child.o.columns, child.o.lines = columns, 40
  child.cmd('Ullage context')
  child.type_keys('g?')
  local config = child.api.nvim_win_get_config(0)
  eq(config.height, child.api.nvim_win_text_height(0, {}).all)
  eq({ config.width < columns, config.row + config.height + 2 <= 40, child.wo.linebreak }, { true, true, true })
  child.type_keys('q')
  eq(child.bo.filetype, 'ullage')
end

T['a number of a message leads to the message'] = function()
  child = editor.start({ window = 32000 })
  editor.import(child)
  editor.wait_said(child, 'Compacted ')
  editor.open_context(child)
  editor.wait(child, "vim.fn.search('◈ Compacted #1', 'w') > 0")
  local marker = child.fn.line('.')
  child.type_keys('<CR>')
  editor.wait(child, "vim.fn.search('^    .*#[0-9]\\\\{2,}', 'W') > 0")
  child.fn.search('#[0-9]\\{2,}')
  local number = child.lua_get('tonumber(vim.api.nvim_get_current_line():sub(vim.fn.col(".")):match("^#(%d+)"))')
  child.type_keys('<C-]>')
  -- A tool's result is shown by the row of its call, the message before.
  local index = child.lua_get("require('ullage.context').entry_under_cursor().index")
  eq({ index, number - 1 - index <= 1 }, { index, true })
  eq(child.fn.foldclosed('.'), -1)
  child.fn.cursor(marker, 1)
  child.type_keys('<C-]>')
  editor.wait_said(child, 'Put the cursor on the number of a message')
end

T['keys that compact ask first, and motions are motions'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  editor.answer(child, 3)
  child.type_keys('cc')
  eq(child.lua_get('_G.asked[1].items'), { 'Compact', 'Preview', 'Leave it' })
  has('^Compact now%? The context is 61 %% full%.$', child.lua_get('_G.asked[1].prompt'))
  child.fn.cursor(editor.line_with(child, 'assistant  The plan:'), 1)
  child.type_keys('fp')
  eq(child.fn.col('.'), child.api.nvim_get_current_line():find('p', 2))
  editor.answer(child, 2)
  child.type_keys('ct')
  has('^Compact everything up to #%d+ “assistant: The plan', child.lua_get('_G.asked[2].prompt'))
  child.fn.cursor(1, 1)
  child.type_keys('cf')
  editor.wait_said(child, 'Put the cursor on a message.')
  child.type_keys('p')
  eq(child.lua_get('#_G.asked'), 2)
  eq(session('figures.compactions'), 0)
end

T['no key is mapped if the option says so, but the mappings exist'] = function()
  child = editor.start()
  child.lua("require('ullage').setup({ context = { keys = false } })")
  child.cmd('Ullage context')
  eq(child.fn.maparg('cc', 'n'), '')
  eq(child.fn.maparg('<Plug>(ullage-toggle)', 'n') ~= '', true)
end

T['Markdown is rendered, copied as it was written, and its links open'] = function()
  child = editor.start()
  local text = 'All **done**, see [the notes](https://example.org/notes) and `words.lua`.'
  child.lua("require('ullage').append({ { role = 'user', content = ... } })", { text })
  child.cmd('Ullage context')
  editor.wait(child, "vim.fn.search('^you        All ', 'w') > 0")
  child.type_keys('gy')
  eq(child.fn.getreg('"'), text .. '\n')
  child.type_keys('<CR>', 'j')
  eq(child.api.nvim_get_current_line(), '    ' .. text)
  child.cmd('only')
  child.cmd('redraw')
  -- On the screen the marks are hidden.
  local line = child.lua_get('vim.fn.screenpos(0, vim.fn.line("."), 1).row')
  local drawn =
    table.concat(vim.tbl_map(function(column) return child.fn.screenstring(line, column) end, vim.fn.range(1, 60)))
  has('^    All done, see the notes and words.lua%. *$', drawn)
  child.lua('vim.ui.open = function(path) _G.opened = path end')
  child.fn.search('notes')
  child.type_keys('gx')
  eq(child.lua_get('_G.opened'), 'https://example.org/notes')
  child.fn.search('words')
  child.type_keys('gx')
  eq(child.lua_get('_G.opened'), 'words.lua')
end

T['the text of a message is copied whole'] = function()
  child = editor.start()
  editor.import(child)
  editor.open_context(child)
  child.fn.cursor(editor.line_with(child, 'assistant  The plan:'), 1)
  child.type_keys('gy')
  has('^The plan: refresh tokens .+ First the table%.\n$', child.fn.getreg('"'))
end

return T
