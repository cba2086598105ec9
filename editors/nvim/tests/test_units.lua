-- Parts that need no server.
local eq = MiniTest.expect.equality
local words = require('ullage.words')
local items = require('ullage.context.items')
local rows = require('ullage.context.rows')
local views = require('ullage.context.view')

local T = MiniTest.new_set()

local function faults(options)
  return require('ullage.config.validation').faults(options)
end

T['figures'] = MiniTest.new_set({
  parametrize = {
    { 0, '0' },
    { 999, '999' },
    { 1000, '1K' },
    { 4210, '4.2K' },
    { 9949, '9.9K' },
    { 58432, '58K' },
    { 1230000, '1.2M' },
  },
})
T['figures']['are short'] = function(tokens, text)
  eq(words.short(tokens), text)
end

T['thousands are grouped'] = function()
  eq({ words.grouped(7), words.grouped(1234), words.grouped(1234567) }, { '7', '1,234', '1,234,567' })
end

T['a cost has its currency'] = function()
  eq(words.money({ amount = 0.0421, currency = 'USD' }), '$0.042')
  eq(words.money({ amount = 12.3, currency = 'USD' }), '$12.30')
  eq(words.money({ amount = 2, currency = 'EUR' }), '2.00 EUR')
end

T['the head shows the cost if it is known'] = function()
  local figures =
    { used = 9, breakdown = {}, model = '', active = 2, archived = 0, source = 'stale', pending = 1, level = 'off' }
  local function last()
    return require('ullage.context.head').rows({ id = 's', title = '' }, figures)[4].text
  end
  eq(last(), '2 active messages · 1 message since the last report · ? for help')
  figures.cost = { amount = 0.004, currency = 'USD' }
  eq(last(), '2 active messages · 1 message since the last report · $0.004 · ? for help')
end

T['times are relative'] = function()
  local now = 1000000
  local function ago(seconds)
    return words.ago((now - seconds) * 1000, now)
  end
  eq(
    { ago(0), ago(40), ago(60), ago(7200), ago(86400 * 3) },
    { 'just now', '40 s ago', '1 minute ago', '2 hours ago', '3 days ago' }
  )
end

T['a text too long for the command line is cut'] = function()
  eq(words.fit('a longer text', 8), 'a longe…')
  eq(words.fit('short', 8), 'short')
end

T['a notice offers'] = MiniTest.new_set({
  parametrize = {
    { 'compaction_due', { 'Compact now', 'Preview', 'Not now' } },
    { 'offline_summary_used', { 'Show', 'Undo' } },
    { 'compaction_complete', { 'Show', 'Undo' } },
  },
})
T['a notice offers']['what can be done'] = function(kind, labels)
  local notices, notify, ran = require('ullage.notices'), vim.notify, nil
  vim.notify = function() end
  notices.setup()
  notices.offer = nil
  require('ullage.events').emit('notice', { text = 'News.', severity = 'warning', kind = kind, edit_id = 'e_9' })
  vim.wait(1000, function()
    return notices.offer ~= nil
  end)
  local offered = vim.tbl_map(function(choice)
    return choice.label
  end, notices.offer.choices)
  eq(offered, labels)
  vim.api.nvim_create_user_command('Ullage', function(command)
    ran = command.args
  end, { nargs = '*', force = true })
  notices.offer.choices[#labels].run()
  eq(ran, labels[#labels] == 'Undo' and 'undo e_9' or nil)
  vim.notify = notify
end

T['prose is broken at blanks and keeps its indent'] = function()
  eq(words.wrap('- one two three', 9), { '- one two', '  three' })
  eq(words.wrap('', 9), { '' })
end

T['options in order have no faults'] = function()
  eq(faults({}), {})
  eq(
    faults({
      cmd = { 'ullage', 'lsp' },
      context = { open = 'tab' },
      notices = { level = 'off' },
      settings = { model = 'gpt-4o' },
    }),
    {}
  )
end

T['faults'] = MiniTest.new_set({
  parametrize = {
    { { colour = 1 }, 'colour is not an option; there are cmd, context,' },
    {
      { context = { open = 'float' } },
      "context.open must be one of 'vsplit', 'split', 'tab', 'current', not \"float\"",
    },
    { { cmd = 'ullage' }, 'cmd must be a list of texts' },
    { { cmd = {} }, 'cmd must be a list of texts' },
    { { context = 3 }, 'context must be a table, not 3' },
    { { recovery = { attempts = -1 } }, 'recovery.attempts must be a number of at least 0' },
    { { settings = { context = { warnAt = 2 } } }, 'settings.context.warnAt must be less than 1, not 2' },
    { { settings = { context = { warnAt = 'high' } } }, 'settings.context.warnAt must be of type number, not "high"' },
    { { settings = { context = { keepToolUses = 1.5 } } }, 'settings.context.keepToolUses must be of type integer' },
    { { settings = { contexts = {} } }, 'settings.contexts is not a setting; there are context, hooks, model,' },
    { { settings = { models = { m = { windows = 3 } } } }, 'settings.models["m"].windows is not a setting' },
    { { settings = { models = { m = { window = 0 } } } }, 'settings.models["m"].window must be more than 0' },
    { 'on', 'the options must be a table, not "on"' },
  },
})
T['faults']['begin with the path'] = function(options, fault)
  eq(faults(options)[1]:sub(1, #fault), fault)
end

T['setup raises a typed error that names every fault'] = function()
  local fine, raised = pcall(require('ullage').setup, { colour = 1, resume = 'no' })
  eq(fine, false)
  eq(raised.kind, 'InvalidOption')
  eq(tostring(raised):find('colour') ~= nil and tostring(raised):find('resume') ~= nil, true)
end

T['empty tables are not sent as lists'] = function()
  local wire = require('ullage.client').on_wire({ models = {}, context = { excludeTools = { 'a' }, keepToolUses = 2 } })
  eq(vim.json.decode(vim.json.encode(wire)), { context = { excludeTools = { 'a' }, keepToolUses = 2 } })
  eq(vim.json.encode(require('ullage.client').on_wire({})), '{}')
end

T['highlights'] =
  MiniTest.new_set({ hooks = {
    pre_case = function()
      require('ullage.highlights').setup()
    end,
  } })
T['highlights']['link to groups that exist and yield to the user'] = function()
  for group, target in pairs(require('ullage.highlights').LINKS) do
    eq(vim.api.nvim_get_hl(0, { name = group }).link, target)
    eq(vim.fn.hlexists(target), 1)
  end
  vim.api.nvim_set_hl(0, 'UllageWarn', { fg = '#ff0000' })
  require('ullage.highlights').setup()
  eq(vim.api.nvim_get_hl(0, { name = 'UllageWarn' }).link, nil)
end

local function entry(id, role, content, extra)
  local message = { id = id, role = role, content = content, timestamp = 0 }
  return vim.tbl_extend(
    'force',
    { message = message, index = 0, tokens = 5, archived = false, pinned = false, inserted = false },
    extra or {}
  )
end

local function text(id, role, words_, extra)
  return entry(id, role, { { type = 'text', text = words_ } }, extra)
end

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
  return vim.tbl_map(function(row)
    return row.text
  end, rows.build(build(entries).items, {}))
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

T['a wide or broken text stays one line'] = function()
  eq(
    lines({ text('1', 'user', '\n\n  日本語のとても長い文 \t and\r\nmore') }),
    { 'you        日本語のとても長い文   and' }
  )
end

local function view_of(entries)
  local view = views.new(vim.api.nvim_create_buf(false, true))
  view:replace(rows.build(build(entries).items, {}))
  return view
end

local function shown(view)
  return vim.api.nvim_buf_get_lines(view.buffer, 0, -1, false)
end

---Returns how many lines each change of the buffer touched.
local function watch(view)
  local touched = {}
  vim.api.nvim_buf_attach(view.buffer, false, {
    on_lines = function(_, _, _, first, last, new_last)
      touched[#touched + 1] = { last - first, new_last - first }
    end,
  })
  return touched
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
  view:replace(rows.build(build(entries).items, {}))
  eq(touched, { { 1, 0 }, { 1, 1 } })
  eq(#shown(view), 49)
  eq(shown(view)[20], 'you        another')
end

T['rows and lines stay in step through opening and closing'] = function()
  local view = view_of({ text('1', 'user', 'one\ntwo\nthree'), text('2', 'assistant', 'four') })
  view:toggle(1)
  eq(shown(view), { 'you        one', '    one', '    two', '    three', 'assistant  four' })
  eq(view:toggle(3), 1)
  eq(shown(view), { 'you        one', 'assistant  four' })
  eq(#view.rows, 2)
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

local function speech(id, role, words_)
  return { id = id, role = role, text = words_, thinking = '' }
end

T['an answer grows on its line, and opens below it when it outgrows that'] = function()
  local view = view_of({ text('1', 'user', 'task') })
  view:say(speech('a', 'assistant', 'One'), 'One')
  view:say(speech('a', 'assistant', 'One two'), ' two')
  eq(shown(view), { 'you        task', 'assistant  One two' })
  view:say(speech('a', 'assistant', 'One two\nthree'), '\nthree')
  local touched = watch(view)
  view:say(speech('a', 'assistant', 'One two\nthree four'), ' four')
  eq(touched, { { 1, 1 } })
  eq(shown(view), { 'you        task', 'assistant  One two', '    One two', '    three four' })
end

T['thinking is a line that counts words, until the answer begins'] = function()
  local view = view_of({ text('1', 'user', 'task') })
  view:say({ id = 'a', role = 'assistant', text = '', thinking = 'well then' }, '')
  eq(shown(view)[2], 'assistant  ✻ thinking… 2 words')
  view:say({ id = 'a', role = 'assistant', text = 'Yes', thinking = 'well then' }, 'Yes')
  eq(shown(view)[2], 'assistant  Yes')
end

T['a message that joins the transcript replaces its pieces, open as they were'] = function()
  local view = view_of({ text('1', 'user', 'task') })
  view:say(speech('a', 'assistant', 'One\ntwo'), 'One\ntwo')
  view:say(speech('b', 'user', 'next'), 'next')
  local builder = items.builder()
  local touched = builder:add(entry('a', 'assistant', {
    { type = 'thinking', thinking = 'Hm' },
    { type = 'text', text = 'One\ntwo' },
    { type = 'tool_use', id = 'c', name = 'run', input = { command = 'ls' } },
  }))
  vim.list_extend(touched, builder:add(text('b', 'user', 'next')))
  view:join('a')
  view:join('b')
  view:add(touched)
  eq(shown(view), {
    'you        task',
    '  ✻ Hm',
    'assistant  One',
    '    One',
    '    two',
    '  ⚒ run  ls',
    'you        next',
  })
  eq(builder.by_message.a.kind, 'message')
end

T['a call shows its state until its result is there'] = function()
  local builder = build({ call('c1', 'run', { command = 'ls' }) })
  builder.items[1].state = 'in_progress'
  eq(rows.of(builder.items[1]).text, '  ⚒ run  ls  runs…')
  builder:add(result('c1', 'a.py'))
  eq(rows.of(builder.items[1]).text, '  ⚒ run  ls')
end

return T
