local client = require('ullage.client')
local words = require('ullage.words')

---Converts ISO 8601 as the server writes it (UTC) to Unix milliseconds.
local function milliseconds(iso)
  local year, month, day, hour, minute, second = iso:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  local utc = os.time({ year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false })
  local offset = os.difftime(os.time(os.date('*t', utc)), os.time(os.date('!*t', utc)))
  return (utc + offset) * 1000
end

local function line(entry)
  local meta = entry._meta.ullage
  local title = entry.title ~= '' and entry.title or 'Untitled'
  return ('%s · %s · %s'):format(
    title,
    words.count(meta.messages, 'message'),
    words.ago(milliseconds(entry.updatedAt))
  )
end

local function go(id)
  require('ullage.session').load(id, function(error)
    require('ullage.notices').failed(error)
  end)
end

local function choose(error, result)
  if require('ullage.notices').failed(error) then
    return
  elseif #result.sessions == 0 then
    require('ullage.notices').failed(require('ullage.errors').no_session())
    return
  end
  vim.ui.select(result.sessions, { prompt = 'Session', format_item = line }, function(entry)
    if entry then
      go(entry.sessionId)
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Make another session the active one',
  run = function(id)
    if id ~= '' then
      go(id)
    else
      client.request('session/list', {}, choose)
    end
  end,
  complete = function()
    local result = client.ask('session/list', {}) or { sessions = {} }
    return vim.tbl_map(function(entry)
      return entry.sessionId
    end, result.sessions)
  end,
}
