-- The editor's one client: started when it is first needed, attached to no buffer, restarted after a crash.
local errors = require('ullage.errors')
local events = require('ullage.events')
local journal = require('ullage.journal')
local words = require('ullage.words')

local M = {}

local NAME = 'ullage'
-- Milliseconds. The first restart seems immediate; each further one waits twice as long.
local FIRST_WAIT = 200
-- A server that ends more often than so many times in so many milliseconds is not restarted for ever.
local CRASHES, SPAN = 4, 180000

---@alias ullage.ServerState 'off'|'starting'|'running'|'stopped'

---@type ullage.ServerState
M.state = 'off'
---@type string why the server is stopped
M.reason = ''

local client_id
local root = vim.uv.cwd()
local waiting, pending, crashes = {}, {}, {}

---@param state ullage.ServerState
local function become(state, reason)
  M.state, M.reason = state, reason or ''
  journal.write('server %s%s', state, reason and (': ' .. reason) or '')
  events.emit('server', state, M.reason)
end

---@return vim.lsp.Client?
function M.get() return client_id and vim.lsp.get_client_by_id(client_id) or nil end

---Sends the requests that wait for the server, or fails them.
---@param error? ullage.Error
local function flush(error)
  local queue = waiting
  waiting = {}
  for _, request in ipairs(queue) do
    if error then
      request.callback(error, nil)
    else
      M.request(request.method, request.params, request.callback)
    end
  end
end

local function on_init(client)
  client_id = client.id
  become('running')
  events.emit('ready')
  flush()
end

local function after_crash(how)
  local now = vim.uv.now()
  crashes = vim.tbl_filter(function(time) return now - time <= SPAN end, crashes)
  crashes[#crashes + 1] = now
  if #crashes > CRASHES then
    local text = 'it ended %d times (%s); see :Ullage log; any :Ullage command starts it again'
    become('stopped', text:format(#crashes, how))
    return flush(errors.new('ServerStopped', "Ullage's server does not stay up: " .. M.reason))
  end
  become('starting', ('it ended (%s), starting it again'):format(how))
  vim.defer_fn(M.start, FIRST_WAIT * 2 ^ (#crashes - 1))
end

local function on_exit(code, signal)
  client_id = nil
  local lost = pending
  pending = {}
  for _, callback in pairs(lost) do
    local text = "Ullage's server ended before it answered. Nothing that was said is lost."
    callback(errors.new('ServerStopped', text), nil)
  end
  if vim.v.exiting == vim.NIL then
    after_crash(signal ~= 0 and ('signal %d'):format(signal) or ('exit status %d'):format(code))
  end
end

---Returns the function that starts the server. Neovim's own client shows a long line when a server crashes, which stops
---the user with a prompt. It is told of a normal end; this plugin restarts the server and shows what went wrong.
local function starter(cmd)
  return function(dispatchers)
    local told = dispatchers.on_exit
    dispatchers.on_exit = function(code, signal)
      vim.schedule(function() on_exit(code, signal) end)
      return told(0, 0)
    end
    return vim.lsp.rpc.start(cmd, dispatchers)
  end
end

---Returns the configuration for Neovim's client, also for `vim.lsp.enable`.
---@return vim.lsp.ClientConfig
function M.config()
  local found = require('ullage.server').find()
  local settings = require('ullage.config').get().settings
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = { ullage = { permissions = false } }
  return {
    name = NAME,
    cmd = starter(found and found.cmd or { 'ullage', 'lsp' }),
    root_dir = root,
    capabilities = capabilities,
    init_options = vim.tbl_extend('force', vim.empty_dict(), { client = 'neovim', ullage = M.on_wire(settings) }),
    settings = { ullage = M.on_wire(settings) },
    handlers = {
      ['ullage/session/update'] = function(_, params) require('ullage.session').take(words.without_nil(params)) end,
      ['ullage/following/changed'] = function(_, params)
        require('ullage.following.consent').take(words.without_nil(params))
      end,
    },
    on_init = on_init,
    reuse_client = function(client) return client.name == NAME end,
  }
end

---Returns settings as they are sent. Empty tables are left out: they mean the default, and Lua cannot distinguish
---`{}` from `[]`.
function M.on_wire(settings)
  local out = vim.empty_dict()
  for key, value in pairs(settings) do
    if type(value) ~= 'table' or vim.islist(value) and #value > 0 then
      out[key] = value
    elseif next(value) then
      out[key] = M.on_wire(value)
    end
  end
  return out
end

---Earlier crashes no longer count: a user has started the server.
function M.forgive() crashes = {} end

---Starts the server unless it runs. Raises nothing: a failure is shown in the statusline and in one notification.
function M.start()
  if M.get() or M.state == 'running' then return end
  local found, missing = require('ullage.server').find()
  if missing then
    if M.state ~= 'stopped' then require('ullage.notices').failed(errors.new('ServerStopped', missing.message)) end
    become('stopped', missing.message)
    return flush(missing)
  end
  become('starting')
  journal.write('starting %s (from %s)', table.concat(found.cmd, ' '), found.from)
  local config = M.config()
  client_id = vim.lsp.start(config, { attach = false })
  if not client_id then
    become('stopped', 'it could not be started; see :Ullage log')
    flush(errors.new('ServerStopped', "Ullage's server could not be started; see :Ullage log."))
  end
end

---Sends a request, and starts the server first if needed. The callback is always called once, with an `ullage.Error`
---or a result.
---@param method string without the prefix: `context/get`
---@param callback? fun(error: ullage.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  callback = callback or function() end
  if M.state ~= 'running' then
    waiting[#waiting + 1] = { method = method, params = params, callback = callback }
    M.start()
    return function() end
  end
  local client, key = M.get(), {}
  pending[key] = callback
  local function answer(wire, result)
    if pending[key] then
      pending[key] = nil
      callback(wire and errors.from_wire(wire) or nil, words.without_nil(result))
    end
  end
  local body = next(params) and params or vim.empty_dict()
  local sent, id = client:request('ullage/' .. method, body, answer)
  if not sent then
    answer({ message = "Ullage's server is going away; try again.", data = { kind = 'ServerStopped' } })
  end
  return function()
    if pending[key] and id then client:cancel_request(id) end
  end
end

---Sends a request. `use` gets the result; a failure is shown.
---@param use fun(result: any)
---@return fun() cancel
function M.call(method, params, use) return M.request(method, params, require('ullage.notices').reporting(use)) end

---Sends a request and waits a moment for the result. Only for completion.
---@return any result nil if it did not come in time
function M.ask(method, params)
  -- Milliseconds. With a longer wait <Tab> would feel slow.
  local done, result = false, nil
  M.request(method, params, function(_, value)
    done, result = true, value
  end)
  vim.wait(300, function() return done end, 5)
  return result
end

---Sends new settings to the running server.
function M.configure()
  local client = M.get()
  if client then
    local settings = { ullage = M.on_wire(require('ullage.config').get().settings) }
    client.settings = settings
    client:notify('workspace/didChangeConfiguration', { settings = settings })
  end
end

return M
