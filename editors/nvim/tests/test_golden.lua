-- Every example of the protocol is read by the code for its kind.
local editor = require('editor')
local eq = MiniTest.expect.equality

local FOLDER = editor.ROOT .. '/protocol/examples'

local function read(name)
  return vim.json.decode(table.concat(vim.fn.readfile(FOLDER .. '/' .. name), '\n'))
end

local function examples(pattern)
  local cases = {}
  for name in vim.fs.dir(FOLDER) do
    if name:find(pattern) then
      cases[#cases + 1] = { name }
    end
  end
  return cases
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
    eq({ name, known ~= nil or name == 'settings.json' }, { name, true })
  end
end

set('updates', '^update%.', function(name)
  local session, chat = require('ullage.session'), require('ullage.chat')
  chat.speeches, chat.calls = {}, {}
  local params = read(name)
  session.active, session.figures, session.done = { id = params.sessionId, title = '' }, nil, nil
  session.running =
    { id = params.update.compactionId, text = '', number = 1, messages = 1, before = 1, trigger = 'manual' }
  local noticed
  local off = require('ullage.events').on('notice', function(notice)
    noticed = notice
  end)
  session.take(params)
  off()
  local update = params.update
  if update.sessionUpdate == 'usage_update' then
    eq(session.figures.used, update.used)
    eq(session.figures.percent, math.floor(100 * update.used / update.size + 0.5))
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
  elseif update.toolCallId then
    eq(chat.calls[update.toolCallId].status, update.status)
  elseif update.messageId then
    local speech = chat.speeches[#chat.speeches]
    eq(speech.id, update.messageId)
    eq(update.sessionUpdate == 'agent_thought_chunk' and speech.thinking or speech.text, update.content.text)
    eq(speech.role, update.sessionUpdate == 'user_message_chunk' and 'user' or 'assistant')
  else
    eq(noticed.text, update.title)
    eq(noticed.kind, update._meta.ullage.kind)
  end
end)

set('errors', '^error%.', function(name)
  local error = require('ullage.errors').from_wire(read(name))
  eq(error.kind, name:match('^error%.(%w+)%.json$'))
  eq(error.code, require('ullage.generated').errors[error.kind])
  eq(tostring(error), error.message)
end)

set('params', '%.params%.', function(name)
  local method = 'ullage/' .. name:match('^(%w+%.[%w_]+)'):gsub('%.', '/')
  eq(vim.tbl_contains(vim.tbl_values(require('ullage.generated').methods), method), true)
  eq(type(read(name)), 'table')
end)

---The function that handles each method's result.
local RESULTS = {
  ['session.new'] = 'activate',
  ['session.load'] = 'activate',
  ['session.fork'] = 'activate',
  ['session.import'] = 'activate',
  ['session.append'] = 'usage',
  ['context.get'] = 'usage',
  ['context.compact'] = 'usage',
  ['context.commit'] = 'usage',
  ['context.undo'] = 'usage',
  ['context.restore'] = 'usage',
  ['context.messages'] = 'entries',
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
    eq(require('ullage.session').read_figures(wire).used, wire.used)
  end,
  entries = function(result)
    local builder = require('ullage.context.items').builder()
    for _, entry in ipairs(result.entries) do
      builder:add(entry)
    end
    eq(#require('ullage.context.rows').build(builder.items, {}) > 0, true)
  end,
}

set('results', '%.result%.', function(name)
  local result, check = read(name), CHECKS[RESULTS[name:match('^(%w+%.[%w_]+)')]]
  eq(type(result), 'table')
  if check then
    check(result)
  end
end)

T['settings pass the validation'] = function()
  eq(require('ullage.config.validation').faults({ settings = read('settings.json') }), {})
end

return T
