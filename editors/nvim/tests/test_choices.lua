-- Which session is the active one, whatever order the server's answers come in. Needs no server: the test answers.
local eq = MiniTest.expect.equality

---@class ullage.test.Asked a request that waits for the test's answer
---@field method string
---@field params table
---@field answer fun(result: any, error?: ullage.Error)

local session, client, api
---@type ullage.test.Asked[]
local asked

local T = MiniTest.new_set({
  hooks = {
    pre_case = function()
      for name in pairs(package.loaded) do
        if name:find('^ullage') then package.loaded[name] = nil end
      end
      asked = {}
      client = require('ullage.client')
      client.start = function() end
      client.request = function(method, params, callback)
        local request = { method = method, params = params }
        function request.answer(result, error) callback(error, result) end
        asked[#asked + 1] = request
        return function() end
      end
      session, api = require('ullage.session'), require('ullage')
    end,
  },
})

local function usage(used, size)
  local meta = { breakdown = {}, source = 'estimated', level = 'normal', model = 'm', messagesActive = 1 }
  meta.messagesArchived, meta.compactions, meta.pendingMessages = 0, 0, 0
  return { used = used, size = size or 1000, _meta = { ullage = meta } }
end

local function opened(id, used) return { sessionId = id, title = id, cwd = '/', usage = usage(used or 1) } end

---Returns the oldest request of the method that has no answer yet, and removes it.
local function take(method)
  for number, request in ipairs(asked) do
    if request.method == method then return table.remove(asked, number) end
  end
  error(('%s was not requested; there are %s'):format(method, vim.inspect(asked)), 2)
end

local function methods()
  return vim.tbl_map(function(request) return request.method end, asked)
end

---The server is up. The client publishes this before it sends what has waited.
local function ready()
  client.state = 'running'
  require('ullage.events').emit('ready')
end

local LISTED = { sessions = { { sessionId = 'old', updatedAt = '2026-01-02T03:04:05Z' } } }

---Answers that open the folder's last session and a new one, in every order in which a server can send them.
local ORDERS = {
  { 'session/list', 'session/load', 'session/new' },
  { 'session/list', 'session/new', 'session/load' },
  { 'session/new', 'session/list', 'session/load' },
}
local ANSWERS = { ['session/list'] = LISTED, ['session/load'] = opened('old'), ['session/new'] = opened('new') }

local function answer_in(order)
  for _, method in ipairs(order) do
    local there = vim.tbl_contains(methods(), method)
    -- Once the new session is active, the old one is not asked for.
    eq({ method, there or method == 'session/load' }, { method, true })
    if there then take(method).answer(ANSWERS[method]) end
  end
end

T['a new session stays the active one'] = MiniTest.new_set({ parametrize = { { 1 }, { 2 }, { 3 } } })
T['a new session stays the active one']['in every order of answers'] = function(number)
  api.new_session({})
  ready()
  answer_in(ORDERS[number])
  eq(session.active.id, 'new')
  api.append({ { role = 'user', content = 'first' } })
  eq(take('session/append').params.sessionId, 'new')
end

T['messages that follow a new session wait for it'] = MiniTest.new_set({ parametrize = { { 1 }, { 2 }, { 3 } } })
T['messages that follow a new session wait for it']['in every order of answers'] = function(number)
  api.new_session({})
  api.append({ { role = 'user', content = 'first' } })
  ready()
  answer_in(ORDERS[number])
  api.append({ { role = 'user', content = 'second' } })
  local first, second = take('session/append').params, take('session/append').params
  eq({ first.sessionId, first.messages[1].content }, { 'new', 'first' })
  eq({ second.sessionId, second.messages[1].content }, { 'new', 'second' })
end

T['first messages join the last session of the folder, all of them'] = function()
  api.append({ { role = 'user', content = 'first' } })
  ready()
  api.append({ { role = 'user', content = 'second' } })
  take('session/list').answer(LISTED)
  eq(methods(), { 'session/load' })
  take('session/load').answer(opened('old'))
  eq({ take('session/append').params.sessionId, take('session/append').params.sessionId }, { 'old', 'old' })
  eq(asked, {})
end

T['first messages without an earlier session start one, all of them the same'] = function()
  api.append({ { role = 'user', content = 'first' } })
  api.append({ { role = 'user', content = 'second' } })
  ready()
  take('session/list').answer({ sessions = {} })
  eq(methods(), { 'session/new' })
  take('session/new').answer(opened('new'))
  local first, second = take('session/append').params, take('session/append').params
  eq({ first.messages[1].content, second.messages[1].content }, { 'first', 'second' })
  eq({ first.sessionId, second.sessionId }, { 'new', 'new' })
end

T['a session that cannot be opened again is no reason to wait'] = function()
  api.append({ { role = 'user', content = 'first' } })
  ready()
  take('session/list').answer(LISTED)
  take('session/load').answer(nil, require('ullage.errors').new('SessionNotFound', 'gone'))
  take('session/new').answer(opened('new'))
  eq(take('session/append').params.sessionId, 'new')
end

T['an import that fails leaves the last session of the folder'] = function()
  session.import({ path = '/nowhere' }, function() end)
  ready()
  take('session/list').answer(LISTED)
  take('session/load').answer(opened('old'))
  take('session/import').answer(nil, require('ullage.errors').new('NotFound', 'no file'))
  eq(session.active.id, 'old')
end

T['of two choices the later one counts, whichever is answered first'] = function()
  ready()
  take('session/list').answer({ sessions = {} })
  session.load('one')
  session.load('two')
  local one, two = take('session/load'), take('session/load')
  two.answer(opened('two'))
  one.answer(opened('one'))
  eq(session.active.id, 'two')
end

T['a request that names its session does not wait'] = function()
  api.request('context/get', { sessionId = 'x' })
  eq(take('context/get').params, { sessionId = 'x' })
end

T['without a server whatever waits is told why'] = function()
  local told
  api.append({ { role = 'user', content = 'first' } }, nil, function(error) told = error end)
  client.state, client.reason = 'stopped', 'not found'
  require('ullage.events').emit('server', 'stopped', 'not found')
  eq({ told.kind, told.message }, { 'ServerStopped', 'not found' })
end

local function update(id, used)
  local wire = usage(used)
  wire.sessionUpdate = 'usage_update'
  session.take({ sessionId = id, update = wire })
end

T['figures that overtake the answer of an import are asked for again'] = function()
  ready()
  take('session/list').answer({ sessions = {} })
  session.import({ path = 'a.jsonl' }, function() end)
  update('new', 167)
  take('session/import').answer({ session = opened('new', 227), format = 'x', messages = 1, unread = {} })
  eq(session.figures.used, 167)
  take('context/get').answer(usage(166))
  eq(session.figures.used, 166)
end

T['figures of a session that is no longer active are not shown'] = function()
  ready()
  take('session/list').answer({ sessions = {} })
  session.import({ path = 'a.jsonl' }, function() end)
  update('one', 167)
  take('session/import').answer({ session = opened('one', 227), format = 'x', messages = 1, unread = {} })
  local late = take('context/get')
  session.load('two')
  take('session/load').answer(opened('two', 5))
  late.answer(usage(166))
  eq(session.figures.used, 5)
end

T['a conversation is forgotten after one question, which says what goes and that the agent’s own file stays'] = function()
  session.activate(opened('s1'))
  local prompts, said = {}, {}
  local choice
  vim.ui.select = function(_, options, use)
    prompts[#prompts + 1] = options.prompt
    use(choice)
  end
  require('ullage.notices').say = function(text) said[#said + 1] = text end
  require('ullage.following').row = function(id)
    return id == 's1' and { session_id = id, agent = 'Claude Code', title = 'fix-login', path = '/home/ada/x.jsonl' }
      or nil
  end
  local function forget(id)
    require('ullage.undo').forget(id)
    take('session/load').answer(opened(id ~= '' and id or 's1'))
  end
  forget('')
  eq(prompts[1]:find('Forget “fix-login” for good, with all that Ullage keeps of it: 1 message,', 1, true), 1)
  eq(prompts[1]:find('Claude Code’s own file stays: /home/ada/x.jsonl', 1, true) ~= nil, true)
  eq(methods(), {})
  choice = 'Forget'
  forget('s2')
  eq(prompts[2]:find('It is nowhere else.', 1, true) ~= nil, true)
  local other = take('session/delete')
  eq(other.params.sessionId, 's2')
  other.answer({})
  eq(session.active.id, 's1')
  forget('')
  take('session/delete').answer({})
  eq(session.active, nil)
  eq(said, { 'Forgotten.', 'Forgotten.' })
end

return T
