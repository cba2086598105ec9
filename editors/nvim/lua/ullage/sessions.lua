-- The stored sessions, for the commands that choose one.
local client = require('ullage.client')
local notices = require('ullage.notices')
local words = require('ullage.words')

local M = {}

---Converts ISO 8601 as the server writes it (UTC) to Unix milliseconds.
---@param iso string
---@return integer
function M.milliseconds(iso)
  local year, month, day, hour, minute, second = iso:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  local utc = os.time({ year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false })
  local offset = os.difftime(os.time(os.date('*t', utc)), os.time(os.date('!*t', utc)))
  return (utc + offset) * 1000
end

---@param entry ullage.ListedSession
---@return string
function M.title(entry)
  local title = words.plain(entry.title)
  return title ~= '' and title or 'Untitled'
end

-- Cells of a title in a list.
local TITLE = 60

---@param entry ullage.ListedSession
---@return string
function M.line(entry)
  local meta = entry._meta.ullage
  local active = require('ullage.session').active
  local parts = {
    (active and active.id == entry.sessionId and '● ' or '  ') .. words.fit(M.title(entry), TITLE),
    words.count(meta.messages, 'message'),
    words.ago(M.milliseconds(entry.updatedAt)),
  }
  if entry.cwd ~= vim.uv.cwd() and entry.cwd ~= '' then
    parts[#parts + 1] = vim.fn.fnamemodify(entry.cwd, ':~')
  end
  return table.concat(parts, ' · ')
end

---Puts the sessions of the current folder before the others. Both stay in their order, the last changed first.
---@param list ullage.ListedSession[]
---@return ullage.ListedSession[]
local function here_first(list)
  local here, others = {}, {}
  for _, entry in ipairs(list) do
    table.insert(entry.cwd == vim.uv.cwd() and here or others, entry)
  end
  return vim.list_extend(here, others)
end

---Requests the stored sessions, those of the current folder first.
---@param callback fun(error: ullage.Error?, list: ullage.ListedSession[])
local function list(callback)
  client.request('session/list', { cwd = vim.uv.cwd() }, function(error, here)
    if error then
      return callback(error, {})
    end
    client.request('session/list', {}, function(failure, all)
      local found, known = here.sessions, {}
      for _, entry in ipairs(found) do
        known[entry.sessionId] = true
      end
      for _, entry in ipairs(all and all.sessions or {}) do
        found[#found + 1] = not known[entry.sessionId] and entry or nil
      end
      callback(failure, here_first(found))
    end)
  end)
end

---Lets the user choose a session.
---@param prompt string
---@param use fun(entry: ullage.ListedSession)
function M.choose(prompt, use)
  list(function(error, found)
    if notices.failed(error) then
      return
    elseif #found == 0 then
      notices.failed(require('ullage.errors').no_session())
      return
    end
    require('ullage.commandline').select(found, { prompt = prompt, format_item = M.line }, function(entry)
      if entry then
        use(entry)
      end
    end)
  end)
end

---Calls `use` with a stored session's entry, or says that there is none.
---@param id string
---@param use fun(entry: ullage.ListedSession)
function M.find(id, use)
  list(function(error, found)
    if notices.failed(error) then
      return
    end
    for _, entry in ipairs(found) do
      if entry.sessionId == id then
        return use(entry)
      end
    end
    notices.error(('There is no session %s; :Ullage switch lists them.'):format(id))
  end)
end

---Returns the ids of all sessions, for completion.
---@return string[]
function M.ids()
  local result = client.ask('session/list', {}) or { sessions = {} }
  return vim.tbl_map(function(entry)
    return entry.sessionId
  end, result.sessions)
end

return M
