-- Ullage for Neovim: shows how full a conversation's context is, and makes room in it when needed.
local M = {}

local started = false

---Connects the plugin's parts, once. This does not start the server.
local function join()
  if started then return end
  started = true
  require('ullage.highlights').setup()
  require('ullage.status').setup()
  require('ullage.following').setup()
  require('ullage.following.consent').setup()
  require('ullage.progress').setup()
  require('ullage.notices').setup()
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

-- Buffers in which a user writes something down for another program, and leaves.
local PASSING_TYPES = { 'gitcommit', 'gitrebase', 'gitsendemail', 'hgcommit', 'svn', 'jj', 'jjdescription', 'crontab' }
vim.list_extend(PASSING_TYPES, { 'man', 'mail' })
local PASSING_NAMES = { '/%.git/', '/crontab%.', '^/tmp/bash%-fc', '^/var/tmp/', '/svn%-commit' }

---Whether Neovim seems to be open for one short text, so that a server would be started in vain.
local function is_passing()
  if vim.wo.diff or vim.tbl_contains(PASSING_TYPES, vim.bo.filetype) then return true end
  local name = vim.api.nvim_buf_get_name(0)
  for _, pattern in ipairs(PASSING_NAMES) do
    if name:find(pattern) then return true end
  end
  return false
end

local begun = false

---Begins to show agents' conversations, and starts the server once, unless the option says otherwise or another process
---follows them already.
local function begin()
  -- Wrong options are shown by commands and |:checkhealth|, not at every draw of the statusline.
  local fine, options = pcall(require('ullage.config').get)
  if not fine or is_passing() or vim.fn.has('nvim-0.11') == 0 then return end
  begun = true
  require('ullage.following').start()
  local is_followed = require('ullage.following.live_file').is_written()
  -- A server that was started by a command, or that crashed too often, is left as it is.
  if options.statusline.start and not is_followed and require('ullage.client').state == 'off' then
    vim.schedule(M.start)
  end
end

---Returns the text for a statusline: `CC 46 % · Codex 12 %` for agents' conversations, `ctx 45% 58K/128K` for a session of
---this Neovim, or an empty string. Only reads what is known. The first call starts the server in the background, but not
---while a commit message is written, and not if another process follows the agents' conversations.
---@return string
function M.status()
  join()
  if not begun then begin() end
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
function M.usage() return require('ullage.status').data() end

-- Methods that are about no session.
local WITHOUT_SESSION = {
  ['session/new'] = true,
  ['session/list'] = true,
  ['session/import'] = true,
  ['transcripts/list'] = true,
}

---Calls any method of the protocol, without the prefix `ullage/`, for plugins that run a model themselves. The
---default of `sessionId` in `params` is the active session. A field that the server sends as null is nil.
---@param method string `session/append`, `context/messages`, …
---@param params? table
---@param callback? fun(error: ullage.Error?, result: any)
---@return fun() cancel
function M.request(method, params, callback)
  join()
  local owner = WITHOUT_SESSION[method] and 'ullage.client' or 'ullage.session'
  return require(owner).request(method, params or {}, callback or function() end)
end

---Appends messages and the provider's usage to the active session, and starts a session first if there is none. If the
---folder's last session is being opened, the messages wait for it.
---@param messages table[] `{role, content}`
---@param usage? table the provider's object, unchanged
---@param callback? fun(error: ullage.Error?, result: any)
function M.append(messages, usage, callback)
  join()
  require('ullage.session').ensure(function(error)
    if not error then
      M.request('session/append', { messages = messages, usage = usage }, callback)
    elseif callback then
      callback(error)
    end
  end)
end

---Starts a session and makes it the active one.
---@param params table `NewSessionParams` of the protocol
---@param callback? fun(error: ullage.Error?, result: any)
function M.new_session(params, callback)
  join()
  require('ullage.session').new(params, callback)
end

return M
