-- Messages as items, rows and lines of the conversation's buffer. Needs no server.
local eq = MiniTest.expect.equality
local items = require('ullage.context.items')
local rows = require('ullage.context.rows')
local views = require('ullage.context.view')

local T = MiniTest.new_set()

local function entry(id, role, content, extra)
  local message = { id = id, role = role, content = content, timestamp = 0 }
  return vim.tbl_extend(
    'force',
    { message = message, index = 0, tokens = 5, archived = false, pinned = false, inserted = false },
    extra or {}
  )
end

local function text(id, role, words_, extra) return entry(id, role, { { type = 'text', text = words_ } }, extra) end

local function call(id, name, input)
  return entry('m' .. id, 'assistant', { { type = 'tool_use', id = id, name = name, input = input } })
end

local function result(id, output, is_error)
  local content =
    { { type = 'tool_result', tool_use_id = id, content = { { type = 'text', text = output } }, is_error = is_error } }
  return entry('r' .. id, 'user', content, { tokens = 7 })
end

local function build(entries, shown)
  local builder = items.builder(shown)
  for _, each in ipairs(entries) do
    builder:add(each)
  end
  return builder
end

local function lines(entries)
  return vim.tbl_map(function(row) return row.text end, rows.build(build(entries).items, {}, 80))
end

T["a tool's result joins the line of its call"] = function()
  local list = build({
    call('c1', 'run', { command = 'pytest -k refresh' }),
    result('c1', '1 failed, 3 passed in 2s', true),
  }).items
  eq(#list, 1)
  eq(list[1].tokens, 12)
  eq(rows.of(list[1]).text, '  ⚒ run  pytest -k refresh  ✗ 1 failed')
end

---Returns the steps of Lua for one more message in a view that shows so many.
local function steps_to_add(messages)
  local view = views.new(vim.api.nvim_create_buf(false, true))
  local builder = items.builder()
  for number = 1, messages do
    builder:add(text('m' .. number, 'user', 'message'))
  end
  view:replace(rows.build(builder.items, {}, 80))
  local steps = 0
  -- Compiled code calls no hook, and what was compiled before stays so until it is flushed.
  jit.off()
  jit.flush()
  debug.sethook(function() steps = steps + 1 end, '', 1)
  view:add(builder:add(text('new', 'user', 'message')))
  debug.sethook()
  jit.on()
  return steps
end

T['one more message takes no more steps in a long view'] = function()
  local short = steps_to_add(100)
  eq(short > 0, true)
  eq(steps_to_add(3000) < 2 * short, true)
end

T['blanks before a call have no line of their own'] = function()
  local spaced = call('c1', 'run', { command = 'ls' })
  table.insert(spaced.message.content, 1, { type = 'text', text = '\n\n' })
  eq(lines({ spaced }), { '  ⚒ run  ls' })
  eq(lines({ text('m1', 'user', ' ') }), { 'you        ' })
end

T['a result that the model is no longer sent is marked'] = function()
  local seen = result('c1', '[cleared]')
  local list = build({ call('c1', 'read', { path = 'a.py' }), result('c1', 'long text') }, { rc1 = seen }).items
  eq(rows.of(list[1]).text, '  ⚒ read  a.py  (cleared, kept in the archive)')
end

T['archived messages are folded under a line that counts them'] = function()
  local archived = { archived = true, tokens = 0 }
  eq(
    lines({
      text('1', 'system', 'Be careful.'),
      text('2', 'user', 'One\ntwo', archived),
      text('3', 'assistant', 'Yes', archived),
      text('4', 'user', 'Next'),
    }),
    {
      'system     Be careful.',
      '▸ 2 archived messages',
      'you        One',
      'assistant  Yes',
      'you        Next',
    }
  )
end

---Alternates messages that are archived with messages of the user that a compaction kept.
local function alternating(turns, archived)
  local entries = { text('task', 'user', 'Task') }
  for turn = 1, turns do
    for number = 1, archived do
      entries[#entries + 1] =
        text(('a%d.%d'):format(turn, number), 'assistant', 'Work', { archived = true, tokens = 0 })
    end
    entries[#entries + 1] = text('u' .. turn, 'user', 'Go on')
  end
  return entries
end

local function lines_of_stretches(entries)
  return vim.tbl_filter(function(line) return line:find('^▸') ~= nil end, lines(entries))
end

T['short archived stretches between kept messages are one'] = function()
  eq(lines_of_stretches(alternating(40, 1)), { '▸ 40 archived messages, 39 kept between them' })
  eq(lines_of_stretches(alternating(2, 9)), { '▸ 9 archived messages', '▸ 9 archived messages' })
  local folds = vim.tbl_map(function(row) return row.fold end, rows.build(build(alternating(3, 1)).items, {}, 80))
  eq(table.concat(folds, ' '), '0 >1 1 1 1 1 1 0')
end

---Returns the folds of an open marker's rows.
local function folds_of_summary(summary)
  local block = { type = 'context_compaction', compaction_number = 1, edit_id = 'e', summary = summary, ledger = {} }
  local list = build({ entry('marker', 'user', { block }) }).items
  return table.concat(vim.tbl_map(function(row) return row.fold end, rows.details(list[1], 80)), ' ')
end

T['a long section of a summary is folded under its heading'] = function()
  local long = ('- a finding\n'):rep(10)
  eq(
    folds_of_summary('## Task\nFix it.\n## Findings\n' .. long .. '## Next step\nRun it.'),
    '0 0 >1' .. (' 1'):rep(10) .. ' 0 0'
  )
  -- A comment in code is no heading.
  eq(folds_of_summary('## Next step\n```\n## a comment\n```'), '0 0 0 0')
end

T['an archived stretch counts messages, also those with several results'] = function()
  local archived = { archived = true, tokens = 0 }
  local both = entry('r', 'user', {
    { type = 'tool_result', tool_use_id = 'c1', content = {} },
    { type = 'tool_result', tool_use_id = 'c2', content = {} },
  }, archived)
  local calls = entry('m', 'assistant', {
    { type = 'tool_use', id = 'c1', name = 'run', input = {} },
    { type = 'tool_use', id = 'c2', name = 'run', input = {} },
  }, archived)
  eq(lines_of_stretches({ calls, both }), { '▸ 2 archived messages' })
end

T['the marker of another program shows what is known of it'] = function()
  local block = { type = 'context_compaction', compaction_number = 1, timestamp = 0, summary = 'So far.' }
  block.messages_archived, block.context_size_before = 7, 167094
  eq(lines({ entry('k', 'user', { block }) }), { '◈ Compacted #1 · at 167K · 7 messages' })
end

T['a path that is too long for the window loses its beginning'] = function()
  local entries = { call('c1', 'Read', { file_path = '/home/user/projects/service/lib/sessions.py' }) }
  eq(rows.build(build(entries).items, {}, 40)[1].text, '  ⚒ Read  …rvice/lib/sessions.py')
end

T['a command that is a list of words is shown as one'] = function()
  local function shown(command)
    return rows.build(build({ call('c', 'shell', { command = command }) }).items, {}, 80)[1].text
  end
  eq(shown({ 'bash', '-lc', 'ls -l' }), '  ⚒ shell  ls -l')
  eq(shown({ 'git', 'status' }), '  ⚒ shell  git status')
  eq(shown({}), '  ⚒ shell  ')
end

T['an open call does not repeat what its row shows'] = function()
  local entries = { call('c1', 'run', { command = 'ls', cwd = '/x' }), result('c1', 'a.py') }
  local list = build(entries).items
  local function details(width)
    return vim.tbl_map(function(row) return row.text end, rows.details(list[1], width))
  end
  eq(details(80), { '    cwd: /x', '    ', '    a.py' })
  eq(details(10)[1], '    command: ls')
end

T['a wide or broken text stays one line'] = function()
  eq(
    lines({ text('1', 'user', '\n\n  日本語のとても長い文 \t and\r\nmore') }),
    { 'you        日本語のとても長い文   and' }
  )
end

local function view_of(entries)
  local view = views.new(vim.api.nvim_create_buf(false, true))
  view:replace(rows.build(build(entries).items, {}, 80))
  return view
end

local function shown(view) return vim.api.nvim_buf_get_lines(view.buffer, 0, -1, false) end

---Returns how many lines each change of the buffer touched.
local function watch(view)
  local touched = {}
  vim.api.nvim_buf_attach(view.buffer, false, {
    on_lines = function(_, _, _, first, last, new_last) touched[#touched + 1] = { last - first, new_last - first } end,
  })
  return touched
end

T['a head that comes before the conversation leaves no line behind'] = function()
  local view = views.new(vim.api.nvim_create_buf(false, true))
  view:show_head()
  eq(#shown(view), #view.rows)
  view:add(build({ text('1', 'user', 'one') }).items)
  eq(shown(view)[#view.rows], 'you        one')
end

T['a change touches only its lines'] = function()
  local entries = {}
  for number = 1, 50 do
    entries[number] = text('m' .. number, 'user', 'line ' .. number)
  end
  local view = view_of(entries)
  local touched = watch(view)
  entries[20] = text('m20', 'user', 'another')
  table.remove(entries, 40)
  view:replace(rows.build(build(entries).items, {}, 80))
  eq(touched, { { 1, 0 }, { 1, 1 } })
  eq(#shown(view), 49)
  eq(shown(view)[20], 'you        another')
end

T['rows and lines stay in step through opening and closing'] = function()
  local view = view_of({ text('1', 'user', 'one\ntwo\nthree'), text('2', 'assistant', 'four') })
  view:toggle(1)
  eq(shown(view), { 'you', '    one', '    two', '    three', 'assistant  four' })
  eq(view:toggle(3), 1)
  eq(shown(view), { 'you        one', 'assistant  four' })
  eq(#view.rows, 2)
end

T["what the agent's program wrote as the user has the agent's name"] = function()
  local shown_lines = lines({
    text('1', 'user', 'Fix it.'),
    text('2', 'user', '<local-command-stdout>Compacted', { byAgent = true }),
  })
  eq(shown_lines, { 'you        Fix it.', 'agent      Compacted' })
end

T['a summary streams into its marker line by line'] = function()
  local view = view_of({
    text('1', 'user', 'task'),
    text('2', 'assistant', 'a'),
    text('3', 'user', 'b'),
    text('4', 'assistant', 'c'),
  })
  view:begin_live({ id = 'e', number = 1, messages = 2, text = '', before = 1, trigger = 'manual' })
  eq(shown(view)[4], '◈ Compacting #1 · beginning… · x cancels')
  view:write_live('## Ta')
  local touched = watch(view)
  view:write_live('sk\n- one')
  eq(touched, { { 1, 2 } })
  eq(
    vim.list_slice(shown(view), 4),
    { '◈ Compacting #1 · writing the summary… · x cancels', '    ## Task', '    - one', 'assistant  c' }
  )
end

return T
