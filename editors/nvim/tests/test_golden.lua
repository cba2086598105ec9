-- Every example of the protocol is read by the code for its kind, also without the fields that may be left out.
local editor = require('editor')
local eq = MiniTest.expect.equality

local TYPES = require('support.schema').read(editor.ROOT)
local DOCUMENT = vim.json.decode(table.concat(vim.fn.readfile(editor.ROOT .. '/protocol/methods.json'), '\n'))
local FOLDER = editor.ROOT .. '/protocol/examples'

local function read(name)
  return require('ullage.words').without_nil(
    vim.json.decode(table.concat(vim.fn.readfile(FOLDER .. '/' .. name), '\n'))
  )
end

local function examples(pattern)
  local cases = {}
  for name in vim.fs.dir(FOLDER) do
    if name:find(pattern) then cases[#cases + 1] = { name } end
  end
  return cases
end

---Whether the protocol has a method, or a notification of the server.
local function is_known(name)
  return vim
    .iter({ DOCUMENT.methods, DOCUMENT.clientMethods, DOCUMENT.notifications })
    :flatten()
    :any(function(each) return each.name == name end)
end

local T = MiniTest.new_set()

local function set(name, pattern, test)
  T[name] = MiniTest.new_set({ parametrize = examples(pattern) })
  T[name]['reads'] = test
end

T['no example is skipped'] = function()
  for _, case in ipairs(examples('%.json$')) do
    local name = case[1]
    local known = name:find('^update%.') or name:find('^error%.') or name:find('%.params%.') or name:find('%.result%.')
    -- Neovim sends settings and what it can do itself.
    eq({ name, known ~= nil or name == 'settings.json' or name == 'client.json' }, { name, true })
  end
end

---Takes an update, and returns the notice in it, if there is one.
local function take(params)
  local session = require('ullage.session')
  session.active, session.figures, session.done = { id = params.sessionId, title = '' }, nil, nil
  session.running =
    { id = params.update.compactionId, text = '', number = 1, messages = 1, before = 1, trigger = 'manual' }
  local noticed
  local off = require('ullage.events').on('notice', function(notice) noticed = notice end)
  session.take(params)
  off()
  return noticed
end

set('updates', '^update%.', function(name)
  local session = require('ullage.session')
  local params = read(name)
  local noticed = take(params)
  local update = params.update
  if update.sessionUpdate == 'usage_update' then
    eq(session.figures.used, update.used)
    eq(session.figures.percent, math.floor(100 * update.used / update.size + 0.5))
    eq(session.figures.compact_percent, update._meta.ullage.threshold.percent)
  elseif update.sessionUpdate == 'session_info_update' and update.title then
    eq(session.active.title, update.title)
  elseif update.sessionUpdate == 'session_info_update' then
    eq(session.figures.size, nil)
    eq(session.figures.used, 7)
  elseif update.sessionUpdate == 'compaction_summary_chunk' then
    eq(session.running.text, update.content.text)
  elseif update.sessionUpdate == 'compaction_update' then
    eq(session.running ~= nil, update.status == 'in_progress')
    eq(session.done ~= nil, update.status == 'completed')
  elseif update.sessionUpdate:find('^tool_call') or update.sessionUpdate:find('_chunk$') then
    -- The parts of an answer, which a chat plugin shows.
    eq(noticed, nil)
  else
    eq(noticed.text, update.title)
    eq(noticed.kind, update._meta.ullage.kind)
  end
end)

set('errors', '^error%.', function(name)
  local error = require('ullage.errors').from_wire(read(name))
  eq(error.kind, name:match('^error%.(%w+)%.json$'))
  for _, each in ipairs(DOCUMENT.errors) do
    eq({ each.kind, each.kind == error.kind and error.code or each.code }, { each.kind, each.code })
  end
  eq(tostring(error), error.message)
end)

set('params', '%.params%.', function(name)
  local method = name:match('^(%w+%.[%w_]+)'):gsub('%.', '/')
  eq({ method, is_known(method) }, { method, true })
  eq(type(read(name)), 'table')
end)

---The function that handles each method's result.
local RESULTS = {
  ['session.new'] = 'activate',
  ['session.load'] = 'activate',
  ['session.import'] = 'activate',
  ['session.append'] = 'usage',
  ['context.get'] = 'usage',
  ['context.compact'] = 'usage',
  ['context.commit'] = 'usage',
  ['context.undo'] = 'usage',
  ['context.restore'] = 'usage',
  ['context.messages'] = 'entries',
  ['context.lost'] = 'lost',
  ['context.givenBack'] = 'given_back',
  ['agents.wire'] = 'wiring',
  ['agents.unwire'] = 'wiring',
  ['continuing.choices'] = 'ways',
  ['continuing.preview'] = 'continuing',
  ['continuing.write'] = 'continuing',
  ['session.list'] = 'sessions',
  ['team.search'] = 'team',
  ['team.open'] = 'team_message',
  ['following.start'] = 'followed',
  ['following.list'] = 'followed',
  ['following.stop'] = 'followed',
}

---The methods whose results are read in the tests with the real server, by the file of the tests.
local READ_ELSEWHERE = {
  ['context.history'] = 'edits',
  ['context.search'] = 'buffer',
  ['transcripts.list'] = 'session',
}

---The methods of which Neovim reads nothing but whether they have failed, that it does not call, or that it answers.
local UNREAD = {
  'context.lookUp',
  'context.pin',
  'following.keep',
  'models.complete',
  'models.count',
  'session.close',
  'session.configure',
  'session.delete',
  'session.export',
  'session.fork',
  'session.prompt',
  'session.rename',
  'session.request_permission',
}

local CHECKS = {
  activate = function(result)
    local answer = result.session or result
    require('ullage.session').activate(answer)
    eq(require('ullage.session').active.id, answer.sessionId)
    eq(require('ullage.session').figures.used, answer.usage.used)
  end,
  usage = function(result)
    local wire = result.usage or result
    eq(require('ullage.session').read(wire).used, wire.used)
  end,
  entries = function(result)
    local builder = require('ullage.context.items').builder()
    for _, entry in ipairs(result.entries) do
      builder:add(entry)
    end
    eq(#require('ullage.context.rows').build(builder.items, {}, 80) > 0, true)
  end,
  followed = function(result)
    local known = require('ullage.following.rows').read_wire(result.rows)
    eq(#known, #result.rows)
    for number, row in ipairs(known) do
      local wire = result.rows[number]
      eq({ row.session_id, row.agent_short, row.live }, { wire.sessionId, wire.agentShort, wire.live })
      eq({ row.used, row.compacts_at, row.updated_at }, { wire.used, wire.compactsAt, wire.updatedAt })
      eq({ row.calls_left, row.warnings }, { wire.callsLeft, wire.warnings })
      eq(require('ullage.following.rows').brief(row):find(wire.agentShort, 1, true), 1)
    end
  end,
  lost = function(result)
    local lines = vim.tbl_map(function(line) return line.text end, require('ullage.lost').lines(result))
    eq(lines[1], 'Left out: 1 problem, 1 agent text')
    for _, entry in ipairs(result.entries) do
      local shown = table.concat(lines, '\n'):find(entry.text, 1, true)
      eq({ entry.text, shown ~= nil }, { entry.text, true })
    end
  end,
  given_back = function(result)
    for edit_id, rows in pairs(require('ullage.given_back').by_edit(result)) do
      eq({ edit_id, #rows }, { 'e_27', 1 })
      eq(require('ullage.given_back').line(rows):match('^(.-), %d+ %l+ ago$'), 'Given back: 31 tokens')
    end
  end,
  wiring = function(result)
    local lines = require('ullage.wiring').lines(result)
    for _, file in ipairs(result.agents[1].files) do
      eq(lines[1], '--- ' .. (file.before and file.path or '/dev/null'))
      eq(lines[2], '+++ ' .. (file.after and file.path or '/dev/null'))
      eq(lines[3], vim.split(file.difference, '\n')[1])
      eq(require('ullage.wiring').done(result):find('Claude Code: changed ' .. file.path, 1, true), 1)
    end
  end,
  ways = function(result)
    local labels = vim.tbl_map(function(way) return way.label end, require('ullage.continuing').ways(result, '', nil))
    eq(labels, {
      'Claude Code: compacted by Ullage',
      'Claude Code: as it was before its compaction',
      'Claude Code: as it was after a message…',
      'Codex: the whole context',
      'Codex: compacted by Ullage',
    })
  end,
  continuing = function(result)
    local lines = require('ullage.continuing').lines(result)
    eq(lines[3], result.size and '31K of 200K (16 %), 92K before, compacts at 167K' or '31K')
    eq(lines[4], '14 messages, 44 left out')
    eq(vim.tbl_contains(lines, 'Command: ' .. table.concat(result.command, ' ')), true)
  end,
  team_message = function(result)
    local lines = require('ullage.team').message_lines(result)
    eq(#lines, 3 + select(2, result.text:gsub('\n', '')) + 1)
  end,
  team = function(result)
    local lines = require('ullage.team').lines('the proxy', result)
    eq(#lines >= 3 * #result.hits, true)
  end,
  sessions = function(result)
    for _, entry in ipairs(result.sessions) do
      local line = require('ullage.lists').session_line(entry)
      eq({ line, line:find(entry.title:sub(1, 30), 1, true) ~= nil }, { line, true })
    end
  end,
}

set('results', '%.result%.', function(name)
  local method = name:match('^(%w+%.[%w_]+)')
  local result, check = read(name), CHECKS[RESULTS[method]]
  local is_read = check ~= nil or READ_ELSEWHERE[method] ~= nil or vim.tbl_contains(UNREAD, method)
  eq({ method, is_read }, { method, true })
  if check then check(result) end
end)

T['a change of what is followed is taken'] = function()
  local served, params = require('ullage.following.consent'), read('following.changed.params.json')
  MiniTest.finally(served.forget)
  eq(#params.rows > 0, true)
  served.take(params)
  local ids = vim.tbl_map(function(row) return row.session_id end, served.with({}))
  for _, row in ipairs(params.rows) do
    eq(vim.tbl_contains(ids, row.sessionId), true)
  end
  served.take({ rows = {}, gone = ids })
  eq(served.with({}), {})
end

T['every list of untested results names tests and methods that exist'] = function()
  for method, file in pairs(READ_ELSEWHERE) do
    local path = editor.ROOT .. '/editors/nvim/tests/test_' .. file .. '.lua'
    eq({ method, vim.uv.fs_stat(path) ~= nil }, { method, true })
  end
  local called = vim.list_extend(vim.tbl_keys(READ_ELSEWHERE), vim.tbl_keys(RESULTS))
  for _, method in ipairs(vim.list_extend(called, UNREAD)) do
    eq({ method, is_known((method:gsub('%.', '/'))) }, { method, true })
  end
end

---Returns the type of a method's result by the name of its example.
local function result_type(name)
  local method = name:match('^(%w+%.[%w_]+)'):gsub('%.', '/')
  for _, each in vim.iter({ DOCUMENT.methods, DOCUMENT.clientMethods }):flatten():enumerate() do
    if each.name == method then return each.result end
  end
end

---Opens every row of the entries.
local function open_all(entries)
  local builder, open = require('ullage.context.items').builder(), {}
  for _, entry in ipairs(entries) do
    for _, item in ipairs(builder:add(entry)) do
      open[item.key] = true
    end
  end
  return require('ullage.context.rows').build(builder.items, open, 80)
end

set('bare updates', '^update%.', function(name) take(TYPES:bare_of(read(name), 'SessionNotification')) end)

set('bare results', '%.result%.', function(name)
  local bare = TYPES:bare_of(read(name), result_type(name))
  local check = CHECKS[RESULTS[name:match('^(%w+%.[%w_]+)')]]
  if check then check(bare) end
  local entries = vim.tbl_filter(function(entry) return entry.message ~= nil end, bare.entries or bare.archived or {})
  eq(#open_all(entries) >= #entries, true)
end)

T['bare blocks of every kind'] = function()
  local function entry(content)
    local message = { id = 'm', role = 'assistant', content = content }
    return { message = message, index = 0, tokens = 0, archived = false, pinned = false, inserted = false }
  end
  local marker =
    { type = 'context_compaction', compaction_number = 1, timestamp = 0, summary = '', messages_archived = 0 }
  marker.context_size_before = 0
  local rows = open_all({
    entry({ { type = 'image' } }),
    entry({ { type = 'resource', uri = 'file:///a' } }),
    entry({ { type = 'thinking', thinking = '' } }),
    entry({ { type = 'tool_use', id = 'c', name = 'run', input = {} } }),
    entry({ { type = 'tool_result', tool_use_id = 'c' } }),
    entry({ { type = 'tool_result', tool_use_id = 'lost' } }),
    entry({ marker }),
  })
  eq(rows[#rows].text, '◈ Compacted #1')
end

return T
