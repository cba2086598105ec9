-- A whole conversation with a model that plays a script: streaming, a tool, a compaction in the middle, a stop.
local editor = require('editor')
local eq = MiniTest.expect.equality

-- The choices of a permission question, in their order.
local ALWAYS, REJECT = 2, 3

local child
local T = editor.set(function()
  child = editor.start({ window = 5500, script = editor.CHAT .. '/story.script' })
  child.cmd('cd ' .. editor.CHAT)
  editor.answer(child, ALWAYS)
end)

local function text()
  return table.concat(editor.lines(child), '\n')
end

local function has(wanted)
  if not text():find(wanted, 1, true) then
    error(('no line has “%s”:\n%s'):format(wanted, text()), 2)
  end
end

---Returns how many lines contain `wanted`.
local function count(wanted)
  return #vim.tbl_filter(function(line)
    return line:find(wanted, 1, true) ~= nil
  end, editor.lines(child))
end

local function wait_line(wanted)
  editor.wait(
    child,
    ('table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n"):find(%q, 1, true) ~= nil'):format(wanted)
  )
end

---Waits until no prompt is running or waiting, and the messages are in the transcript.
local function settled()
  editor.wait(child, "#require('ullage.chat').prompts == 0")
  editor.wait(child, "next(require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()].said) == nil")
end

local function ask(words)
  child.cmd('Ullage ask ' .. words)
  child.cmd('only')
end

T['an answer streams into the conversation, and no message is shown twice'] = function()
  child.lua([[
    _G.states = {}
    require('ullage.events').on('said', function()
      vim.schedule(function()
        table.insert(_G.states, table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n'))
      end)
    end)
  ]])
  ask('How does the code decide that a token has expired?')
  wait_line('with a token that has just run out.')
  settled()
  eq(child.lua_get('#_G.states > 20'), true)
  eq(child.lua_get('table.concat(_G.states):find("✻ thinking… 4 words", 1, true) ~= nil'), true)
  has('you        How does the code decide that a token has expired?')
  has('  ✻ The decision must be where')
  has("assistant  I'll read the file that decides it.")
  has('  ⚒ read_file  expiry.py')
  eq(count("I'll read the file"), 1)
  eq(count('    - MARGIN is that half minute'), 1)
  eq(child.wo.winbar, '')
  eq(child.fn.line('.'), child.fn.line('$'))
end

T['the user is asked before a file is read, and only once if the answer is “always”'] = function()
  ask('How does the code decide that a token has expired?')
  wait_line('with a token that has just run out.')
  settled()
  ask('And what else keeps a token?')
  wait_line('keeps the token of each device')
  settled()
  eq(child.lua_get('_G.asked'), {
    { prompt = 'The model asks: Read expiry.py?', items = { 'Allow', 'Always allow in this session', 'Reject' } },
  })
end

T['a rejected file is not read'] = function()
  editor.answer(child, REJECT)
  ask('How does the code decide that a token has expired?')
  wait_line('did not permit')
  settled()
  eq(child.lua_get('#_G.asked'), 1)
  eq(count('MARGIN ='), 0)
end

T['a question that is closed without a choice permits nothing'] = function()
  child.lua('vim.ui.select = function(_, _, on_choice) on_choice(nil) end')
  ask('How does the code decide that a token has expired?')
  wait_line('did not permit')
  settled()
end

T['a user who is typing is not asked, and the typed text is no answer'] = function()
  child.cmd('enew')
  child.type_keys('i')
  child.lua("require('ullage.chat').ask('How does the code decide that a token has expired?')")
  editor.wait_said(child, 'The model waits for your permission: Read expiry.py. It is asked for in normal mode.')
  child.type_keys('2')
  eq(child.lua_get('#_G.asked'), 0)
  child.type_keys('<Esc>')
  editor.wait(child, '#_G.asked == 1')
  editor.wait(child, "#require('ullage.chat').prompts == 0")
end

T['a compaction in the middle of a turn has its marker before the answer'] = function()
  ask('How does the code decide that a token has expired?')
  wait_line('with a token that has just run out.')
  settled()
  ask('And what else keeps a token?')
  wait_line('keeps the token of each device')
  settled()
  wait_line('◈ Compacted #1')
  local marker, answer = editor.line_with(child, '◈ Compacted #1'), editor.line_with(child, 'keeps the token of each')
  eq(marker < answer, true)
  eq(count('keeps the token of each device'), 1)
  eq(count('  ⚒ read_file  sessions.py'), 1)
end

T['an answer is stopped, its text stays, and the waiting prompt is answered'] = function()
  ask('Now tell me everything.')
  wait_line('Two. Three.')
  child.cmd('Ullage ask And in one word?')
  eq(child.wo.winbar, '%#UllageBusy# answering… · waits: And in one word? · x stops')
  child.type_keys('x')
  editor.wait_said(child, 'Stopped. What was said is kept.')
  wait_line('assistant  Early.')
  settled()
  eq(count('very end'), 0)
  eq(count('assistant  One. Two.'), 1)
  eq(count('you        And in one word?'), 1)
  eq(child.wo.winbar, '')
end

T['a failure is shown as text'] = function()
  ask('And once more?')
  editor.wait_said(child, 'the key was refused; set another one')
end

T['a buffer that is opened in the middle of an answer shows it from its beginning'] = function()
  child.lua("require('ullage.chat').ask('Now tell me everything.')")
  editor.wait(child, "#require('ullage.chat').speeches == 2")
  editor.open_context(child)
  wait_line('assistant  One. Two. Three.')
  child.cmd('Ullage stop')
  settled()
  eq(count('assistant  One. Two.'), 1)
end

T['the part of an answer that was there stays when the server is killed'] = function()
  ask('Now tell me everything.')
  wait_line('Two. Three.')
  child.lua("_G.first = require('ullage.client').get().id")
  editor.kill_server(child)
  editor.wait_said(child, "Ullage's server ended before it answered.")
  editor.wait(child, "require('ullage.client').get() and require('ullage.client').get().id ~= _G.first")
  editor.wait(child, "require('ullage.client').state == 'running'")
  -- A request that is answered after everything that the start has asked for.
  child.lua("require('ullage').request('context/history', {}, function() _G.settled = true end)")
  editor.wait(child, '_G.settled')
  wait_line('assistant  One. Two. Three.')
  wait_line('(cut off: the server ended)')
  ask('And in one word?')
  wait_line('assistant  Early.')
  settled()
  child.type_keys('R')
  child.lua("_G.settled = nil; require('ullage').request('context/history', {}, function() _G.settled = true end)")
  editor.wait(child, '_G.settled')
  local prompt, part =
    editor.line_with(child, 'you        Now tell me everything.'), editor.line_with(child, 'One. Two. Three.')
  eq({ part, part < editor.line_with(child, 'And in one word?') }, { prompt + 1, true })
  eq(count('One. Two. Three.'), 1)
end

T['a prompt of several lines is written in a buffer and sent with :w'] = function()
  child.cmd('Ullage ask')
  eq(child.bo.filetype, 'markdown')
  child.type_keys('And in one word?', '<CR>', 'Please.', '<Esc>')
  child.cmd('write')
  child.cmd('only')
  wait_line('assistant  Early.')
  settled()
  local line = editor.line_with(child, 'you')
  eq(vim.list_slice(editor.lines(child), line, line + 2), { 'you', '    And in one word?', '    Please.' })
end

T['<C-s> sends a prompt, and an empty one is not sent'] = function()
  child.cmd('Ullage ask')
  child.type_keys('<C-s>')
  editor.wait_said(child, 'The prompt is empty.')
  child.type_keys('And in one word?', '<C-s>')
  child.cmd('only')
  wait_line('assistant  Early.')
  settled()
end

T['a draft stays when its window is closed'] = function()
  child.cmd('Ullage ask')
  child.type_keys('Half a thought', '<Esc>', 'q')
  eq(#child.api.nvim_list_wins(), 1)
  child.cmd('Ullage ask')
  eq(editor.lines(child), { 'Half a thought' })
end

T['a selection is sent with its file and lines'] = function()
  child.cmd('edit expiry.py')
  child.cmd('2,3Ullage ask And in one word?')
  child.cmd('only')
  wait_line('assistant  Early.')
  settled()
  local sent = child.lua([[
    local view = require('ullage.context.view').by_buffer[vim.api.nvim_get_current_buf()]
    for _, row in ipairs(view.rows) do
      if row.item and row.item.role == 'user' then
        return require('ullage.context.items').text_of(row.item.entry.message)
      end
    end
  ]])
  local lines = vim.list_slice(vim.fn.readfile(editor.CHAT .. '/expiry.py'), 2, 3)
  eq(sent, ('And in one word?\n\nexpiry.py:2-3\n\n```python\n%s\n```'):format(table.concat(lines, '\n')))
end

T['a selection without words waits in the prompt for its question'] = function()
  child.cmd('edit expiry.py')
  child.cmd('2Ullage ask')
  eq(vim.list_slice(editor.lines(child), 1, 3), { '', '', 'expiry.py:2' })
  eq(child.fn.line('.'), 1)
end

T['a command that is about the session takes no lines'] = function()
  child.cmd('edit expiry.py')
  child.cmd('2,3Ullage compact')
  editor.wait_said(child, ':Ullage compact takes no lines.')
end

T['without a running answer there is nothing to stop'] = function()
  child.cmd('Ullage stop')
  editor.wait_said(child, 'No answer is being written.')
end

T['without a model the remedy is shown, and the prompt is kept'] = function()
  child.lua("require('ullage').setup({ settings = { provider = 'nobody' } })")
  child.cmd('Ullage ask Hello?')
  editor.wait_said(child, "no provider is called 'nobody'")
  eq(child.lua_get("require('ullage.chat').unsent"), 'Hello?')
end

return T
