-- Ullage for Neovim: shows how full a conversation's context is, and makes room in it when needed.
local M = {}

local started = false

---Connects the plugin's parts, once. This does not start the server.
local function join()
  if started then
    return
  end
  started = true
  require('ullage.highlights').setup()
  require('ullage.status').setup()
  require('ullage.progress').setup()
  require('ullage.notices').setup()
  require('ullage.chat')
  local group = vim.api.nvim_create_augroup('ullage', {})
  vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = require('ullage.highlights').setup })
end

---Changes options. Calling this is optional, and `vim.g.ullage` does the same. Raises an `ullage.Error` that names
---every fault by its path.
---@param options? ullage.Options
function M.setup(options)
  require('ullage.config').set(options)
  join()
  require('ullage.client').configure()
end

---Starts the server if it is not running. Functions that need the server call this themselves.
function M.start()
  join()
  require('ullage.client').start()
end

---Returns the text for a statusline: `ctx 45% 58K/128K`, or an empty string without a session. Only reads what is
---known. The first call starts the server in the background.
---@return string
function M.status()
  if not started then
    join()
    vim.schedule(M.start)
  end
  return require('ullage.status').text
end

---Returns the same text in its level's colour, for `%{%v:lua.require'ullage'.statusline()%}`.
---@return string
function M.statusline()
  M.status()
  return require('ullage.status').coloured()
end

---Returns what is known of the active session, the data of `User UllageUsage`.
---@return table
function M.usage()
  return require('ullage.status').data()
end

---Calls any method of the protocol, without the prefix `ullage/`, for plugins that run a model themselves. The
---default of `sessionId` in `params` is the active session.
---@param method string `session/append`, `context/messages`, …
---@param params? table
---@param callback? fun(error: ullage.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  join()
  local active = require('ullage.session').active
  local body = vim.tbl_extend('keep', params or {}, active and { sessionId = active.id } or {})
  return require('ullage.client').request(method, body, callback)
end

---Appends messages and the provider's usage to the active session, and starts a session first if there is none.
---@param messages table[] `{role, content}`
---@param usage? table the provider's object, unchanged
---@param callback? fun(error: ullage.Error?, result: any)
function M.append(messages, usage, callback)
  local function append()
    M.request('session/append', { messages = messages, usage = usage }, callback)
  end
  if require('ullage.session').active then
    append()
  else
    M.new_session({}, function(error)
      if error then
        return callback and callback(error)
      end
      append()
    end)
  end
end

---Starts a session and makes it the active one.
---@param params table `NewSessionParams` of the protocol
---@param callback? fun(error: ullage.Error?, result: any)
function M.new_session(params, callback)
  join()
  local body = vim.tbl_extend('keep', params, { cwd = vim.uv.cwd() })
  require('ullage.client').request('session/new', body, function(error, result)
    if not error then
      require('ullage.session').activate(result)
    end
    if callback then
      callback(error, result)
    end
  end)
end

return M
