-- Words, options, notices and colours. Needs no server.
local eq = MiniTest.expect.equality
local words = require('ullage.words')

local T = MiniTest.new_set()

local function faults(options) return require('ullage.config').faults(options) end

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
T['figures']['are short'] = function(tokens, text) eq(words.short(tokens), text) end

T['thousands are grouped'] = function()
  eq({ words.grouped(7), words.grouped(1234), words.grouped(1234567) }, { '7', '1,234', '1,234,567' })
end

T['a cost has its currency'] = function()
  eq(words.money({ amount = 0.0421, currency = 'USD' }), '$0.042')
  eq(words.money({ amount = 12.3, currency = 'USD' }), '$12.30')
  eq(words.money({ amount = 2, currency = 'EUR' }), '2.00 EUR')
end

T['times are relative'] = function()
  local now = 1000000
  local function ago(seconds) return words.ago((now - seconds) * 1000, now) end
  eq(
    { ago(0), ago(40), ago(60), ago(7200), ago(86400 * 3) },
    { 'just now', '40 s ago', '1 minute ago', '2 hours ago', '3 days ago' }
  )
end

T['calls of the model are in the words of the terminal'] = function()
  eq(
    { words.calls(1, 1), words.calls(6, 33), words.calls(0, 3), words.calls(0, 1), words.calls(1200, 3000) },
    { '1 call', '6+ calls', '0–3 calls', '0–1 call', '1,200+ calls' }
  )
end

T['where there is little room, times are short'] = function()
  local function ago(seconds) return words.ago_short((os.time() - seconds) * 1000) end
  eq({ ago(0), ago(30), ago(120), ago(7300), ago(86400 * 3) }, { 'just now', '30s ago', '2m ago', '2h ago', '3d ago' })
end

T['of an agent’s conversation no key is offered that would be refused'] = function()
  local keys, following = require('ullage.context.keys'), require('ullage.following')
  local owner, current = following.owner, following.current
  MiniTest.finally(function()
    following.owner, following.current = owner, current
  end)
  local function offered(row)
    following.owner, following.current = function() return row and row.agent end, function() return row end
    local texts = {}
    for _, key in ipairs(keys.offered()) do
      texts[key[1]] = key[2]
    end
    return vim.tbl_map(
      function(key) return texts[key] or '-' end,
      { 'x', 'cc', 'cw', 'ct', 'cf', 'cp', 'u', 'p', 'gl' }
    )
  end
  local lost = 'list what the compaction left out'
  eq(vim.tbl_contains(offered(nil), '-'), false)
  local row = { agent = 'Some Agent', compact_command = '/compact', takes_focus = true }
  eq(offered(row), {
    '-',
    'compact now, by /compact',
    'compact, with words about what to keep, by /compact',
    '-',
    '-',
    '-',
    '-',
    '-',
    lost,
  })
  eq(vim.list_slice(offered(vim.tbl_extend('force', row, { takes_focus = false })), 2, 3), {
    'compact now, by /compact',
    '-',
  })
  eq(vim.list_slice(offered(vim.tbl_extend('force', row, { compact_command = '' })), 2, 3), { '-', '-' })
end

T['a command that an agent keeps in tags is shown as it was typed'] = function()
  local command = '<command-message>review</command-message>\n<command-name>/review</command-name>'
  eq(words.plain(command .. '\n<command-args>the tests</command-args>'), '/review the tests')
  eq(words.plain('<command-message>workflows:review</…'), '/workflows:review')
  eq(words.plain('<local-command-stdout>Compacted (ctrl+o)</local-command-stdout>'), 'Compacted (ctrl+o)')
  eq(words.plain('<local-command-stdout></local-command-stdout>'), '')
  eq(words.plain('<task-notification>\nThe task has ended.\n</task-notification>'), 'The task has ended.')
  eq(words.plain('  a < b, and <div> stays\nmore'), 'a < b, and <div> stays')
end

T['a text too long for the command line is cut'] = function()
  eq(words.fit('a longer text', 8), 'a longe…')
  eq(words.fit('short', 8), 'short')
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
    { { statusline = { start = 1 } }, 'statusline.start must be a boolean, not 1' },
    { 'on', 'the options must be a table, not "on"' },
  },
})
T['faults']['begin with the path'] = function(options, fault) eq(faults(options)[1]:sub(1, #fault), fault) end

T['setup raises a typed error that names every fault'] = function()
  local fine, raised = pcall(require('ullage').setup, { colour = 1, resume = 'no' })
  eq(fine, false)
  eq(raised.kind, 'InvalidOption')
  eq(tostring(raised):find('colour') ~= nil and tostring(raised):find('resume') ~= nil, true)
end

T['null is nil at any depth, and lists keep their length'] = function()
  local without_nil = require('ullage.words').without_nil
  eq(without_nil(vim.NIL), nil)
  eq(without_nil('text'), 'text')
  eq(without_nil(nil), nil)
  local wire = vim.json.decode('{"a": null, "b": {"c": null, "d": [{"e": null, "f": 1}, null, 2]}, "g": false}')
  eq(without_nil(wire), { b = { d = { { f = 1 }, vim.NIL, 2 } }, g = false })
end

T['the answer to a plugin has no null'] = function()
  local client = require('ullage.client')
  local before = { get = client.get, state = client.state }
  MiniTest.finally(function()
    client.get, client.state = before.get, before.state
  end)
  client.state = 'running'
  client.get = function()
    local function request(...)
      select(select('#', ...), ...)(nil, { title = vim.NIL, edits = { { revertedAt = vim.NIL, id = 'e' } } })
      return true, 1
    end
    return { request = request }
  end
  local answer
  client.request('context/get', { sessionId = 's' }, function(_, result) answer = result end)
  eq(answer, { edits = { { id = 'e' } } })
end

T['whether conversations are kept is asked until it is answered, and closing the list is no answer'] = function()
  local client, consent = require('ullage.client'), require('ullage.following.consent')
  local request, select = client.request, vim.ui.select
  MiniTest.finally(function()
    client.request, vim.ui.select, consent.keeping = request, select, nil
  end)
  local sent, prompts, done = {}, {}, 0
  client.request = function(method, params, callback)
    table.insert(sent, { method, params.keep })
    callback(nil, { rows = {} })
  end
  local function ask(answer)
    vim.ui.select = function(items, options, on_choice)
      eq(vim.fn.strdisplaywidth(options.prompt) < 80, true)
      table.insert(prompts, items[1])
      on_choice(type(answer) == 'number' and items[answer] or answer)
    end
    consent.ask_to_keep(function() done = done + 1 end)
  end
  consent.keeping = { conversations = 117, size = 412e6, path = '/archive', limit = 5e9 }
  ask(nil)
  ask('Not now')
  eq({ #prompts, #sent }, { 2, 0 })
  eq(prompts[1], 'Keep 117 conversations, 412 MB now and at most 5 GB, in /archive')
  ask(1)
  ask(1)
  eq({ #prompts, sent, done }, { 3, { { 'following/keep', true } }, 4 })
  consent.keeping = { conversations = 0, size = 0, path = '/archive' }
  ask(1)
  eq({ #prompts, #sent, done }, { 3, 1, 5 })
  consent.keeping = { conversations = 1, size = 1, path = '/archive' }
  ask('Never')
  eq(sent[2], { 'following/keep', false })
end

T['empty tables are not sent as lists'] = function()
  local wire = require('ullage.client').on_wire({ models = {}, context = { excludeTools = { 'a' }, keepToolUses = 2 } })
  eq(vim.json.decode(vim.json.encode(wire)), { context = { excludeTools = { 'a' }, keepToolUses = 2 } })
  eq(vim.json.encode(require('ullage.client').on_wire({})), '{}')
end

T['highlight groups link to groups that exist and yield to the user'] = function()
  local highlights = require('ullage.highlights')
  highlights.setup()
  for group, target in pairs(highlights.LINKS) do
    eq(vim.api.nvim_get_hl(0, { name = group }).link, target)
    eq(vim.fn.hlexists(target), 1)
  end
  vim.api.nvim_set_hl(0, 'UllageWarn', { fg = '#ff0000' })
  highlights.setup()
  eq(vim.api.nvim_get_hl(0, { name = 'UllageWarn' }).link, nil)
end

T['a path that a user types'] = MiniTest.new_set()

---Returns the names in a folder of its own after `run`, with a file there that has a command in its name.
local function names_after(run)
  local folder, before = vim.fn.tempname(), vim.uv.cwd()
  vim.fn.mkdir(folder)
  vim.uv.chdir(folder)
  vim.fn.writefile({}, '`touch pwned`')
  local ok, fault = pcall(run)
  local names = vim.fn.readdir(folder)
  vim.uv.chdir(before)
  assert(ok, fault)
  return names
end

T['a path that a user types']['runs no command of a file’s name'] = function()
  local paths = require('ullage.paths')
  local names = names_after(function()
    eq(vim.fs.basename(paths.full('`touch pwned`')), '`touch pwned`')
    eq(paths.complete(''), { '`touch pwned`' })
    eq(paths.complete('`touch pwned`'), {})
  end)
  eq(names, { '`touch pwned`' })
end

T['a path that a user types']['has its home folder and its variables, and no patterns'] = function()
  local paths = require('ullage.paths')
  vim.env.ULLAGE_PLACE = '/tmp/place'
  eq(paths.full('$ULLAGE_PLACE/a[1].jsonl'), '/tmp/place/a[1].jsonl')
  eq(paths.full('~/a.jsonl'), vim.fs.normalize('~') .. '/a.jsonl')
  vim.api.nvim_buf_set_name(0, '/tmp/place/notes.md')
  eq({ paths.full('%'), paths.full('%:r') }, { '/tmp/place/notes.md', '/tmp/place/notes' })
  vim.env.ULLAGE_PLACE = nil
end

return T
