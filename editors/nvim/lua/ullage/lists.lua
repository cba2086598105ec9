-- The lists from which a user chooses a conversation: agents', files that agents keep, and stored sessions.
local client = require('ullage.client')
local consent = require('ullage.following.consent')
local following = require('ullage.following')
local notices = require('ullage.notices')
local paths = require('ullage.paths')
local rows = require('ullage.following.rows')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

-- Cells of a title in a list, and of one after figures.
local TITLE, SHORT = 60, 40
-- Columns of a screen on which the figures leave room for the title.
local WIDE = 80

---Joins what a list shows of a conversation: its title, further facts, its age, and its folder if that is another one.
---@param updated_at integer Unix milliseconds
---@param cells? integer of the title
local function line(title, facts, updated_at, cwd, cells)
  local parts = vim.list_extend({ words.fit(title, cells or TITLE) }, facts)
  parts[#parts + 1] = words.ago(updated_at)
  parts[#parts + 1] = cwd ~= '' and cwd ~= vim.uv.cwd() and vim.fn.fnamemodify(cwd, ':~') or nil
  return table.concat(parts, ' · ')
end

---@param format_item fun(item: any): string
---@param use fun(item: any)
local function choose(list, prompt, format_item, use)
  vim.ui.select(list, { prompt = prompt, format_item = format_item }, function(item)
    if item then use(item) end
  end)
end

---Returns a followed conversation's line. The end may be cut on a narrow screen.
---@param row ullage.Followed
local function followed_line(row)
  local figures = vim.o.columns < WIDE and rows.briefest(row) or ('%s: %s'):format(row.agent_short, rows.figures(row))
  local text = ('%s %s · %s'):format(
    row.live and not row.unfollowed and '●' or '○',
    figures,
    line(rows.title(row), {}, row.updated_at, row.cwd, SHORT)
  )
  for _, warning in ipairs(row.warnings) do
    text = ('%s · note: %s'):format(text, words.first_line(warning))
  end
  return text
end

local function choose_followed()
  consent.ask_to_keep(function()
    local list = following.listed()
    if #list == 0 then
      return notices.say(
        'No agent has a conversation on this machine. It is listed here as soon as one writes to its files.'
      )
    end
    local limits = rows.limits_of(list)
    local prompt = 'Conversations of agents' .. (limits ~= '' and (' (limits: %s)'):format(limits) or '')
    choose(list, prompt, followed_line, require('ullage.following.opening').open)
  end)
end

-- Milliseconds. The first rows come within a second of the beginning, most of them at once.
local STEP, PATIENCE = 200, 3000

---Calls `work` once no more rows have come for a moment, after following has begun.
---@param waited integer milliseconds
---@param before? integer rows
local function once_found(work, waited, before)
  local count = #following.all()
  if count > 0 and count == before or waited >= PATIENCE then return work() end
  vim.defer_fn(function() once_found(work, waited + STEP, count) end, STEP)
end

---@param error ullage.Error?
---@param wires? boolean the agents are to run Ullage, too
local function answered(error, answer, wires)
  if notices.failed(error) then
    return
  elseif wires then
    require('ullage.wiring').propose('agents/wire', {}, 'runs Ullage already.')
  elseif answer then
    once_found(choose_followed, 0)
  else
    notices.say("This Neovim does not follow agents' conversations. :Ullage agents on changes that.")
  end
end

---`:Ullage agents`: asks once whether to follow, then lists the conversations of agents.
---@param word string `on`, `off` or empty
function M.agents(word)
  following.start()
  local is_followed = require('ullage.following.live_file').is_written()
  if word == 'on' or word == 'off' then
    consent.answer(word == 'on', function(error) answered(error, word == 'on') end)
  elseif word ~= '' then
    notices.error((':Ullage agents %s does not exist; there are on, off.'):format(word))
  elseif is_followed or consent.given() == false and #following.all() > 0 then
    choose_followed()
  elseif consent.given() then
    consent.begin(function(error) answered(error, true) end)
  else
    consent.ask(answered)
  end
end

---@param params table `ImportParams` of the protocol
local function import(params)
  session.import(params, function(error, result)
    if notices.failed(error) then return end
    local left_out = #result.unread > 0 and (', %s not readable'):format(words.count(#result.unread, 'line')) or ''
    notices.say(('Imported %s (%s%s).'):format(words.count(result.messages, 'message'), result.format, left_out))
  end)
end

---`:Ullage import`: imports a file, or one of those that agents keep on this machine.
function M.import(path)
  if path ~= '' then return import({ path = paths.full(path) }) end
  client.call('transcripts/list', { cwd = vim.uv.cwd() }, function(result)
    if #result.transcripts == 0 then
      return notices.say('No conversation of a coding agent was found. Name a file: :Ullage import {file}')
    end
    -- A conversation that is followed has one title and one age everywhere.
    local by_path = {}
    for _, row in ipairs(following.all()) do
      by_path[row.path] = row
    end
    choose(result.transcripts, 'Import a conversation', function(found)
      local row = by_path[found.path]
      local title = row and rows.title(row) or words.plain(found.title)
      title = title ~= '' and title or vim.fs.basename(found.path)
      return line(title, { found.agent }, row and row.updated_at or found.updatedAt, found.here and '' or found.cwd)
    end, function(found) import({ path = found.path, run = found.run }) end)
  end)
end

---Converts ISO 8601 as the server writes it (UTC) to Unix milliseconds.
function M.milliseconds(iso)
  local year, month, day, hour, minute, second = iso:match('^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  local utc = os.time({ year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false })
  local offset = os.difftime(os.time(os.date('*t', utc)), os.time(os.date('!*t', utc)))
  return (utc + offset) * 1000
end

---@param entry ullage.ListedSession
function M.session_line(entry)
  local title = words.plain(entry.title)
  local is_active = session.active and session.active.id == entry.sessionId
  local facts = { words.count(entry._meta.ullage.messages, 'message') }
  local text = line(title ~= '' and title or 'Untitled', facts, M.milliseconds(entry.updatedAt), entry.cwd)
  return (is_active and '● ' or '  ') .. text
end

local function load(id) session.load(id, notices.failed) end

---`:Ullage switch`: makes a stored session the active one. The list begins with those of the folder.
function M.switch(id)
  if id ~= '' then return load(id) end
  -- Each list has the sessions that were changed last.
  client.request('session/list', { cwd = vim.uv.cwd() }, function(_, here)
    client.call('session/list', {}, function(all)
      local list = here and here.sessions or {}
      for _, entry in ipairs(all.sessions) do
        list[#list + 1] = entry.cwd ~= vim.uv.cwd() and entry or nil
      end
      if #list == 0 then
        notices.failed(require('ullage.errors').no_session())
      else
        choose(list, 'Conversation', M.session_line, function(entry) load(entry.sessionId) end)
      end
    end)
  end)
end

---Returns the ids of all sessions, for completion.
function M.ids()
  local result = client.ask('session/list', {}) or { sessions = {} }
  return words.pluck(result.sessions, 'sessionId')
end

return M
