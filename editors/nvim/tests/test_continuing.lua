-- `:Ullage continue`: the choice, the preview, and the command that resumes the new session. The server's answers are
-- the protocol's examples; the agent is a program of the test.
local continuing = require('ullage.continuing')
local editor = require('editor')
local given_back = require('ullage.given_back')
local eq, has = MiniTest.expect.equality, editor.has

local child
local T = editor.set()

local function labels(choices, entry)
  return vim.tbl_map(function(way) return way.label end, continuing.ways(choices, '', entry))
end

---Starts a child that has a conversation, and a server that answers with the examples. `command` resumes the session.
local function start(command)
  child = editor.start({ bare = true })
  child.lua(
    [[
    local command, folder = ...
    local function example(name)
      return vim.json.decode(table.concat(vim.fn.readfile(folder .. name), '\n'))
    end
    _G.requests = {}
    require('ullage').start = function() end
    local session = require('ullage.session')
    session.active = { id = 's_1', title = '' }
    session.request = function(method, params, callback)
      table.insert(_G.requests, { method, params })
      local result = example(method:gsub('/', '.') .. '.result.json')
      if result.command then
        result.command, result.cwd = command, vim.fn.getcwd()
      end
      callback(nil, result)
    end
  ]],
    { command, editor.ROOT .. '/protocol/examples/' }
  )
end

---Returns the params of the last request for a method, or nil.
local function asked(method)
  local found
  for _, request in ipairs(child.lua_get('_G.requests')) do
    found = request[1] == method and request[2] or found
  end
  return found
end

T['what is offered depends on the conversation and on the cursor'] = function()
  local own = { agent = 'Claude Code', word = 'claude-code', own = true }
  local entry = { index = 40, message = { id = 'm41' } }
  eq(labels({ agents = { own }, beforeCompaction = false }), {
    'Claude Code: compacted by Ullage',
    'Claude Code: as it was after a message…',
  })
  eq(labels({ agents = { own }, beforeCompaction = true }, entry), {
    'Claude Code: compacted by Ullage',
    'Claude Code: as it was before its compaction',
    'Claude Code: as it was after message #41',
    'Claude Code: as it was after a message…',
  })
  local other = { agent = 'Codex', word = 'codex', own = false }
  eq(
    labels({ agents = { other }, beforeCompaction = true }, entry),
    { 'Codex: the whole context', 'Codex: compacted by Ullage' }
  )
  local ways = continuing.ways({ agents = { own, other }, beforeCompaction = true }, 'the errors', entry)
  eq(ways[1].params, { agent = 'claude-code', focus = 'the errors' })
  eq(ways[3].params, { agent = 'claude-code', messageId = 'm41' })
  eq(ways[4].chooses, true)
  eq(ways[5].params, { agent = 'codex', compacted = false })
end

T['any message can be gone back to: page by page, or by its number or words'] = function()
  start({ 'true' })
  child.lua([[
    local session = require('ullage.session')
    local answer = session.request
    session.request = function(method, params, callback)
      table.insert(_G.requests, { method, params })
      if method == 'context/messages' then
        local entries = {}
        for index = params.offset or 0, (params.offset or 0) + params.limit - 1 do
          local content = { { type = 'text', text = 'Say ' .. index + 1 } }
          local message = { id = 'm_' .. index, role = 'user', content = content }
          entries[#entries + 1] = { message = message, index = index, tokens = 0, archived = true, pinned = false }
        end
        callback(nil, { entries = entries, total = 10000 })
      elseif method == 'context/search' then
        callback(nil, { hits = { { messageId = 'm_7', index = 7, role = 'user', snippet = 'the **port**' } }, unread = 0, note = '' })
      else
        answer(method, params, callback)
      end
    end
    _G.wanted = {}
    vim.ui.select = function(items, options, on_choice)
      local labels = vim.tbl_map(options.format_item or tostring, items)
      table.insert(_G.asked, { prompt = options.prompt, items = labels })
      local wanted = table.remove(_G.wanted, 1)
      for number, label in ipairs(labels) do
        if wanted and label:find(wanted, 1, true) then
          return on_choice(items[number], number)
        end
      end
    end
    vim.ui.input = function(_, on_confirm)
      on_confirm(table.remove(_G.wanted, 1))
    end
  ]])
  local function after(...)
    child.lua('_G.requests, _G.asked, _G.wanted = {}, {}, ...', { { 'after a message', ... } })
    child.cmd('Ullage continue')
    editor.wait(child, "vim.api.nvim_buf_get_name(0):find('ullage://continue', 1, true) ~= nil")
    local found = asked('continuing/preview').messageId
    child.cmd('bwipeout!')
    return found
  end
  eq(after('Older', '#9950 '), 'm_9949')
  eq(child.lua_get('#_G.asked[2].items'), 32)
  has('Older messages %(9,970 more%)', child.lua_get('_G.asked[2].items[32]'))
  eq(after('Find another', '#12', '#12 '), 'm_11')
  eq(after('Find another', 'port', 'the port'), 'm_7')
end

T['the preparing of a new session can be cancelled'] = function()
  start({ 'true' })
  editor.answer(child, 1)
  child.lua([[
    local session = require('ullage.session')
    local answer = session.request
    session.request = function(method, params, callback)
      if method ~= 'continuing/preview' then
        return answer(method, params, callback)
      end
      return function()
        callback({ kind = 'Cancelled', message = 'Cancelled.' })
      end
    end
  ]])
  child.cmd('Ullage continue')
  child.cmd('Ullage undo')
  editor.wait_said(child, 'Cancelled. No session was written.')
end

T['the figure is shown before anything is written, and q writes nothing'] = function()
  start({ 'true' })
  editor.answer(child, 2)
  child.cmd('Ullage continue')
  eq(child.lua_get('_G.asked[1].prompt'), 'Continue in a new session')
  eq(asked('continuing/preview'), { sessionId = 's_1', agent = 'claude-code', beforeCompaction = true })
  eq(vim.list_slice(editor.lines(child), 1, 4), {
    '# A new session of Claude Code',
    '',
    '31K of 200K (16 %), 92K before, compacts at 167K',
    '14 messages, 44 left out',
  })
  child.type_keys('q')
  editor.wait_said(child, 'Nothing was changed.')
  eq(asked('continuing/write'), nil)
end

T['accepted, it is written, and the command runs in a terminal in its folder'] = function()
  start({ 'sh', '-c', 'echo resumed in $(pwd -P); sleep 600' })
  editor.answer(child, 1)
  child.cmd('Ullage continue the errors')
  eq(asked('continuing/preview').focus, 'the errors')
  child.cmd('write')
  eq(asked('continuing/write'), { previewId = 'continued_1' })
  local shown = "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):find('resumed in ', 1, true) ~= nil"
  editor.wait(child, "vim.bo.buftype == 'terminal' and " .. shown)
  has(vim.pesc(vim.uv.fs_realpath(child.fn.getcwd())):sub(1, 40), table.concat(editor.lines(child)))
  eq(child.fn.bufnr('ullage://continue'), -1)
end

T['a command that is not on this machine is copied'] = function()
  start({ 'no-such-agent-here', '--resume' })
  editor.answer(child, 1)
  child.cmd('Ullage continue')
  child.cmd('write')
  editor.wait_said(child, 'Written. Claude Code cannot be run here; copied cd /home/ada/weather && claude --resume')
  has('^cd /home/ada/weather && claude %-%-resume', child.fn.getreg('"'))
end

T['a receipt says what was given back cost, and how often it was given'] = function()
  local row = { at = os.time() * 1000, counts = { file = 11, said = 3 }, tokens = 1204, editId = 'e1' }
  eq(given_back.line({ row }), 'Given back: 1,204 tokens, just now')
  has('^Given back %(2 times%): 1,204 tokens', given_back.line({ row, row }))
  local note = { at = 0, counts = {}, tokens = 12 }
  eq(given_back.by_edit({ rows = { note, row } }), { e1 = { row } })
end

---Returns the lines of an opened marker whose compaction's text was given back in part.
---@param columns integer
local function marker(columns)
  local items, rows, views =
    require('ullage.context.items'), require('ullage.context.rows'), require('ullage.context.view')
  local block = {
    type = 'context_compaction',
    compaction_number = 1,
    timestamp = os.time() * 1000,
    summary = 'Short.',
    messages_archived = 4,
    context_size_before = 9000,
  }
  local message = { id = 'm1', role = 'user', content = { block }, timestamp = 0 }
  local builder = items.builder()
  builder:add({ message = message, index = 4, tokens = 9, archived = false, pinned = false, inserted = true })
  local item = builder.items[1]
  item.edit_id, item.lost, item.trigger = 'e1', 'Left out: 1 file', 'automatic'
  item.given_back = { { at = os.time() * 1000, counts = { file = 1 }, tokens = 31, editId = 'e1' } }
  local view = views.new(vim.api.nvim_create_buf(false, true))
  view:replace(rows.build(builder.items, { [item.key] = true }, columns))
  return vim.api.nvim_buf_get_lines(view.buffer, 0, -1, false)
end

T['the receipt is in the row of the marker and in its first lines'] = function()
  eq(marker(100), {
    '◈ Compacted #1 · just now · at 9K · 4 messages · automatic · 31 tokens given back',
    '    Left out: 1 file',
    '    Given back: 31 tokens, just now',
    '    ',
    '    Short.',
  })
end

T['in a narrow window, a marker keeps what was given back, and its size as long as it has room'] = function()
  eq(marker(80)[1], '◈ Compacted #1 · just now · at 9K · 4 messages · 31 tokens given back')
  eq(marker(70)[1], '◈ Compacted #1 · just now · at 9K · 31 tokens given back')
  eq(marker(60)[1], '◈ Compacted #1 · at 9K · 31 tokens given back')
  eq(marker(50)[1], '◈ Compacted #1 · at 9K · 31 given back')
  eq(marker(40)[1], '◈ Compacted #1 · 31 given back')
  eq(marker(30)[1], '◈ Compacted #1 · 31 given back')
end

T['in a window of'] = MiniTest.new_set({ parametrize = { { 60 }, { 100 } } })

T['in a window of']['so many cells, each way to continue is whole, with its number'] = function(columns)
  start({ 'true' })
  child.o.columns = columns
  child.lua([[
    local session = require('ullage.session')
    session.request = function(_, _, callback)
      local own = { agent = 'An Agent of a Long Name', word = 'an-agent', own = true }
      local other = { agent = 'Another Agent of a Long Name', word = 'another', own = false }
      callback(nil, { agents = { own, other }, beforeCompaction = true })
    end
    vim.fn.inputlist = function(lines)
      _G.listed = lines
      return 0
    end
  ]])
  child.cmd('Ullage continue')
  editor.wait(child, '_G.listed ~= nil')
  eq(child.lua_get('_G.listed'), {
    'Continue in a new session',
    '1: An Agent of a Long Name: compacted by Ullage',
    '2: An Agent of a Long Name: as it was before its compaction',
    '3: An Agent of a Long Name: as it was after a message…',
    '4: Another Agent of a Long Name: the whole context',
    '5: Another Agent of a Long Name: compacted by Ullage',
  })
end

return T
