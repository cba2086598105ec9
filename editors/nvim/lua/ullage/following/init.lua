-- What agents' conversations of this place the statusline shows: in which colours, and with which warnings. No server is
-- needed for it, as long as some process follows the conversations.
local events = require('ullage.events')
local live_file = require('ullage.following.live_file')
local rows = require('ullage.following.rows')
local consent = require('ullage.following.consent')
local terminals = require('ullage.following.terminals')

local M = {}

---@type ullage.Followed[] the rows that are shown, the fullest first
M.shown = {}
---@type 'terminal'|'folder'|'newest'|nil of what they are
M.of = nil
---@type ullage.Followed? the folder's newest conversation if no agent is live here, however old
M.newest = nil
---@type boolean agents have conversations here, and the user was never asked whether to follow them
M.is_open = false

---Returns all rows that are known.
---@return ullage.Followed[]
function M.all() return consent.with(live_file.rows) end

local GROUPS = { far = 'UllageNormal', near = 'UllageWarn', imminent = 'UllageCritical', compacting = 'UllageBusy' }
local RANKS = { far = 1, compacting = 2, near = 3, imminent = 4 }
-- Cells of a statusline for each agent in it, the most agents, and the cells that are left to what else is shown there.
local CELLS, MOST, OTHERS = 40, 3, 30

---@class ullage.StatusPart
---@field [1] string
---@field [2] string highlight group

---Whether a row is shown in quiet mode: only when two calls may be left.
local function is_loud(row) return row.nearness == 'imminent' end

---Returns the cells of the statusline that the user looks at.
local function width() return vim.o.laststatus == 3 and vim.o.columns or vim.api.nvim_win_get_width(0) end

---Returns the parts of the statusline that show the rows, and the group of the most urgent one.
---@param list ullage.Followed[]
---@return ullage.StatusPart[]
---@return string group
function M.parts(list)
  if require('ullage.config').get().statusline.quiet then list = vim.tbl_filter(is_loud, list) end
  local cells = width()
  local most = math.max(1, math.min(MOST, math.floor(cells / CELLS)))
  local urgent, fewest = 'far', {}
  for number, row in ipairs(list) do
    urgent = RANKS[row.nearness] > RANKS[urgent] and row.nearness or urgent
    fewest[number] = number <= most and vim.fn.strdisplaywidth(rows.brief(row, 0)) or nil
  end
  -- What the shortest texts leave free goes to the fullest conversations first.
  local room, parts = math.max(math.floor(cells / 2), cells - OTHERS), {}
  for _, least in ipairs(fewest) do
    room = room - least
  end
  for number, least in ipairs(fewest) do
    local text = rows.brief(list[number], least + math.max(0, room))
    room = room - (vim.fn.strdisplaywidth(text) - least)
    parts[number] = { text, GROUPS[list[number].nearness] }
  end
  if #list > most then parts[most + 1] = { ('+%d'):format(#list - most), 'UllageNormal' } end
  return parts, GROUPS[urgent]
end

---@type table<string, true> what was told
local told = {}

---Tells a text, unless it was told.
---@param shorter? string[] the text where there is less room, the longest first
local function once(key, text, severity, hint, shorter)
  if not told[key] then
    told[key] = true
    require('ullage.notices').say(text, severity, hint, shorter)
  end
end

-- Milliseconds of silence after an answer, before which a turn may still run, and those in which a good moment is news.
local SILENCE, NEWS = 15000, 600000

---Tells once what is worth a look while there is time for it: that an agent will compact soon or because its conversation
---idles, that now is a good moment for a new session, and what else its follower has to tell. A conversation that got room
---again is told of again.
---@param row ullage.Followed
local function tell(row)
  if row.unfollowed then return end
  local id, agent, now = row.session_id, row.agent, os.time() * 1000
  for _, warning in ipairs(row.warnings) do
    if not live_file.on_desktop then
      once(id .. warning, ('%s: %s'):format(agent, warning), 'warning', ' (:Ullage agents)')
    end
  end
  if row.nearness == 'imminent' and (live_file.on_desktop or #row.warnings == 0) then
    once(id, rows.warning(row), 'warning', ' (:Ullage agents)', rows.short_warnings(row))
  end
  told[id] = row.nearness == 'imminent' or told[id] and row.nearness ~= 'far' or nil
  local is_quiet = live_file.on_desktop or require('ullage.config').get().statusline.quiet
  if is_quiet or not row.live then return end
  local left = row.idle and row.idle.at - now or 0
  if left > 0 and left <= rows.AHEAD then
    local instead = row.compact_command ~= '' and ', ' .. row.compact_command or ''
    local text = ('%s: %s; before that: a prompt%s'):format(agent, rows.idles(row.idle), instead)
    local short =
      { ('%s: %s'):format(agent, rows.idles(row.idle)), ('%s: %s'):format(row.agent_short, rows.idles(row.idle)) }
    once(('%s idle %d'):format(id, row.idle.at), text, 'info', ' (:Ullage continue)', short)
  end
  local since = row.moment and row.used and now - (row.moment.at > 0 and row.moment.at or row.updated_at)
  if since and since >= SILENCE and since < SILENCE + NEWS then
    local moment = rows.new_session(row.moment)
    local short = { ('%s: %s'):format(row.agent_short, moment) }
    once(
      ('%s moment %d'):format(id, row.moment.at),
      ('%s: %s'):format(agent, moment),
      'info',
      ' (:Ullage continue)',
      short
    )
  end
end

---Finds the rows of this place again, and publishes `followed`.
local function refresh()
  M.shown, M.of, M.newest = rows.choose(M.all(), terminals.place())
  for _, row in ipairs(M.shown) do
    tell(row)
  end
  events.emit('followed')
end

---Looks whether the user was ever asked whether to follow, and shows the rows. An agent's first conversation may come while
---Neovim is open.
local function look()
  M.is_open = consent.is_open()
  refresh()
end

-- Several windows may be entered in one turn of the loop.
local refresh_soon = events.once_a_turn(function()
  if live_file.is_started() then refresh() end
end)

---Begins to show the conversations. Something that shows them calls this; the first call finds them at once.
function M.start()
  if not live_file.is_started() then
    live_file.start()
    look()
  end
end

---Returns the row of a session, if it is followed.
---@return ullage.Followed?
function M.row(session_id)
  return vim.iter(M.all()):find(function(row) return row.session_id == session_id end)
end

---Returns the conversation of the agent that runs in the current terminal, or nil if the current window shows none.
---@return ullage.Followed?
function M.in_terminal()
  local shown, of = rows.choose(M.all(), terminals.place())
  return of == 'terminal' and shown[1] or nil
end

---Returns the conversation that a command is about if no session is active: the one that the statusline shows first, or the
---folder's newest.
---@return ullage.Followed?
function M.default()
  live_file.look()
  local shown, _, newest = rows.choose(M.all(), terminals.place())
  return shown[1] or newest
end

---Returns all rows in the order of a list: those of the folder first, then the live ones, then the newest.
---@return ullage.Followed[]
function M.listed()
  local folder = terminals.place().folder
  local function rank(row) return (rows.is_in(row.cwd, folder) and 0 or 2) + (row.live and 0 or 1) end
  local list = M.all()
  table.sort(list, function(one, other)
    if rank(one) ~= rank(other) then return rank(one) < rank(other) end
    return one.updated_at > other.updated_at
  end)
  return list
end

---Returns the conversation that a command about the current one means, if an agent has it: that of the current terminal,
---or else the active session.
---@return ullage.Followed?
function M.current()
  local active = require('ullage.session').active
  return M.in_terminal() or active and M.row(active.id) or nil
end

---Returns the agent that has the active session's conversation, or nil if a change is made here and seen by the model.
function M.owner()
  local session = require('ullage.session')
  local followed = session.figures and session.figures.followed
  local row = not followed and live_file.is_written() and session.active and M.row(session.active.id)
  local agent = followed and followed.agent or row and row.agent
  return agent and (agent ~= '' and agent or 'An agent') or nil
end

---Says why the active session cannot be changed, if an agent has it.
---@return boolean refused
function M.refuse()
  local agent = M.owner()
  if agent then
    local text = ('%s has this conversation; it is only read here.'):format(agent)
    require('ullage.notices').say(text, 'info', ' (:Ullage continue)')
  end
  return agent ~= nil
end

function M.setup()
  events.on('following', look)
  local group = vim.api.nvim_create_augroup('ullage.following', {})
  local moves = { 'BufEnter', 'WinEnter', 'TermOpen', 'TermClose', 'DirChanged', 'VimResized', 'WinResized' }
  vim.api.nvim_create_autocmd(moves, { group = group, callback = refresh_soon })
  -- Nobody sees the statusline of a Neovim that is suspended.
  local was_started = false
  vim.api.nvim_create_autocmd({ 'VimSuspend', 'VimLeavePre' }, {
    group = group,
    callback = function()
      was_started = live_file.is_started()
      live_file.stop()
    end,
  })
  vim.api.nvim_create_autocmd('VimResume', {
    group = group,
    callback = function()
      if was_started then M.start() end
    end,
  })
end

return M
