-- Following by this Neovim's own server: only with the user's consent, and only if no other process follows.
local client = require('ullage.client')
local events = require('ullage.events')
local live_file = require('ullage.following.live_file')
local rows = require('ullage.following.rows')
local words = require('ullage.words')

local M = {}

-- The rows that the server of this Neovim sends hold conversations that are too old for the live file, such as the newest of
-- a folder in which no agent has run for days.
---@type table<string, ullage.Followed> by session
local by_session = {}

---Takes the rows of an answer, or of `ullage/following/changed`.
---@param wire { rows: table[], gone?: string[] }
function M.take(wire)
  for _, session_id in ipairs(wire.gone or {}) do
    by_session[session_id] = nil
  end
  for _, row in ipairs(rows.read_wire(wire.rows)) do
    by_session[row.session_id] = row
  end
  events.emit('following')
end

---Returns the rows of the live file, and of the server's those that the file lacks, or has of a time that is over.
---@param list ullage.Followed[] the rows of the live file
---@return ullage.Followed[]
function M.with(list)
  local all, known = {}, {}
  for _, row in ipairs(list) do
    if not (row.unfollowed and by_session[row.session_id]) then
      all[#all + 1], known[row.session_id] = row, true
    end
  end
  for session_id, row in pairs(by_session) do
    all[#all + 1] = not known[session_id] and row or nil
  end
  return all
end

local function path() return vim.fn.stdpath('state') .. '/ullage/follow' end

---Returns what is kept of the user's answer: `yes`, `no`, `asked` without an answer, or nil if the user was never asked.
---@return string?
local function kept()
  local file = io.open(path(), 'r')
  local answer = file and file:read('*l')
  if file then file:close() end
  return answer
end

---@param answer 'yes'|'no'|'asked'
local function keep(answer)
  vim.fn.mkdir(vim.fs.dirname(path()), 'p')
  vim.fn.writefile({ answer }, path())
end

---Returns the user's consent: the option, or the answer that was given in an earlier Neovim; nil if there is neither.
function M.given()
  local option = require('ullage.config').get().follow
  if option ~= nil then return option end
  local answer = kept()
  return answer == 'yes' or (answer ~= 'no' and nil)
end

---Returns the agents' folder on this machine, or nil if an unset environment variable would name it.
---@param place string
local function located(place)
  for name in place:gmatch('%${([%w_]+)}') do
    if (vim.env[name] or '') == '' then return nil end
  end
  return vim.fs.normalize(place)
end

---Whether a folder has anything in it. A place may be a file: a database, or a log.
local function holds_any(folder)
  local status = vim.uv.fs_stat(folder)
  return status ~= nil and (status.type ~= 'directory' or vim.fs.dir(folder)() ~= nil)
end

---Whether agents have conversations on this machine. Only the names of folders are looked at.
local function has_agents()
  local system = vim.fn.has('win32') == 1 and 'win32' or vim.fn.has('mac') == 1 and 'darwin' or 'linux'
  return vim.iter(require('ullage.following.agent_folders')[system]):any(function(place)
    local folder = located(place)
    return folder ~= nil and holds_any(folder)
  end)
end

---Whether there is something to ask, and the user was never asked: agents have conversations on this machine, and nobody
---follows them. Then the statusline says how to be asked.
function M.is_open()
  local fine, given = pcall(M.given)
  return fine and given == nil and kept() == nil and not live_file.is_written() and has_agents()
end

---@type boolean whether the server of this Neovim was told to follow
local begun = false

---Lets this Neovim's server follow, unless it does. The answer has the rows that are known by then; more may come.
---@param callback fun(error: ullage.Error?)
function M.begin(callback)
  begun = true
  client.request('following/start', { folders = { vim.uv.cwd() } }, function(error, result)
    begun = error == nil
    if result then
      M.keeping = result.keeping
      M.take({ rows = result.rows })
    end
    callback(error)
  end)
end

---Lets this Neovim's server follow if the user has agreed and no process does.
function M.ensure()
  local fine, given = pcall(M.given)
  if not fine or not given or begun then return end
  -- Something shows the rows, which the user has asked for.
  live_file.start()
  if not live_file.is_written() then M.begin(require('ullage.notices').failed) end
end

---Ends following by this Neovim's server.
---@param callback fun(error: ullage.Error?)
local function finish(callback)
  local was_begun = begun
  begun, by_session = false, {}
  events.emit('following')
  if not was_begun then return callback() end
  client.request('following/stop', {}, callback)
end

---Takes the user's answer, for this Neovim and later ones, and begins or ends following.
---@param callback fun(error: ullage.Error?)
function M.answer(answer, callback)
  keep(answer and 'yes' or 'no')
  local change = answer and M.begin or finish
  change(callback)
end

local FOLLOW, NEVER = 'Follow them', 'Never'
local WIRE = 'Follow them, and give back what their compactions leave out'

---Asks whether to follow, and takes the answer. A list that is closed without a choice is no answer.
---@param callback fun(error: ullage.Error?, answer: boolean, wires: boolean) `wires`: the agents are to run Ullage, too
function M.ask(callback)
  local choices = { FOLLOW, WIRE, 'Not now', NEVER }
  local prompt = 'Follow agents’ conversations on this machine? Their files are only read.'
  if not kept() then keep('asked') end
  events.emit('following')
  vim.ui.select(choices, { prompt = prompt }, function(choice)
    if choice == FOLLOW or choice == WIRE or choice == NEVER then
      M.answer(choice ~= NEVER, function(error) callback(error, choice ~= NEVER, choice == WIRE) end)
    end
  end)
end

---@type ullage.KeepingQuestion? what the user has still to say of keeping; until there is a yes, nothing is kept
M.keeping = nil

---Asks whether conversations are kept, unless that was answered, then calls `done`. A list that is closed is no answer.
function M.ask_to_keep(done)
  local asked = M.keeping
  if not asked or asked.conversations == 0 then return done() end
  -- Each line has room on a screen of 80 columns, and says one thing.
  local yes = ('Keep %s, %d MB now%s, in %s'):format(
    words.count(asked.conversations, 'conversation'),
    math.ceil(asked.size / 1e6),
    asked.limit and (' and at most %g GB'):format(asked.limit / 1e9) or '',
    vim.fn.fnamemodify(asked.path, ':~')
  )
  local choices = { yes, 'Not now', 'Never' }
  local prompt = 'Agents delete old conversations. Keep them? `ullage keep off` ends that.'
  vim.ui.select(choices, { prompt = prompt }, function(choice)
    if choice ~= yes and choice ~= 'Never' then return done() end
    client.call('following/keep', { keep = choice == yes }, function()
      M.keeping = nil
      done()
    end)
  end)
end

function M.setup()
  -- A server that is started again has forgotten that it follows.
  events.on('server', function(state)
    if state ~= 'running' then
      begun = false
      by_session = {}
    end
  end)
  events.on('ready', M.ensure)
  -- The process that followed may have ended.
  events.on('following', M.ensure)
end

return M
