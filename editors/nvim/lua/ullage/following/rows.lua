-- The conversations that agents have on this machine, one row for each, and their figures in words. Pure except for the
-- clock.
local words = require('ullage.words')

local M = {}

-- Milliseconds before a compaction because a conversation idles in which it is announced: time enough to come back.
M.AHEAD = 600000

-- What is said of a figure that nobody keeps up to date.
M.UNFOLLOWED = 'not followed'

---A conversation that is followed. A field that is not known is nil.
---@class ullage.Followed
---@field session_id string
---@field agent string
---@field agent_short string the agent's name where there is little room
---@field agent_session_id? string
---@field title string
---@field cwd string
---@field path string
---@field live boolean
---@field unfollowed boolean nobody follows the conversation now: its figure is as old as its last change
---@field used? integer tokens
---@field used_source? string
---@field window? integer tokens
---@field window_source? string
---@field compacts_at? integer tokens
---@field compacts_at_source? string
---@field calls_left? integer[] the smallest and the largest number that is likely
---@field idle? { at: integer, setting: string } a compaction because the conversation idles: Unix milliseconds
---@field cache? { until: integer, source: string, tokens: integer, warm?: number, cold?: number } the last prompt's
---@field moment? { at: integer, work: string, tokens: integer, cost?: number } now is a good one for a new session
---@field rate_limits { name: string, percent: integer, until?: integer }[] of the user's subscription
---@field nearness 'far'|'near'|'imminent'|'compacting' how near the agent's compaction is; `far` if not known
---@field updated_at integer Unix milliseconds
---@field process_id? integer
---@field warnings string[] what the user should know, a sentence each
---@field compact_command string what the user types in the agent to compact the conversation; empty if not known
---@field takes_focus boolean whether words about what to keep may follow it

-- The types that fields must have, and those that are '' if they are not known.
local TYPES = {
  used = 'number',
  window = 'number',
  compacts_at = 'number',
  process_id = 'number',
  updated_at = 'number',
  live = 'boolean',
  takes_focus = 'boolean',
  used_source = 'string',
  window_source = 'string',
  compacts_at_source = 'string',
  agent_session_id = 'string',
}
local TEXTS = { 'agent', 'agent_short', 'title', 'cwd', 'path', 'compact_command' }

---Returns a table whose fields are numbers, or nil.
local function with_numbers(value, ...)
  local fits = type(value) == 'table'
    and vim.iter({ ... }):all(function(field) return type(value[field]) == 'number' end)
  return fits and value or nil
end

---Returns the elements of a list for which `fits` holds; none of what is no list.
local function only(list, fits) return vim.tbl_filter(fits, type(list) == 'table' and list or {}) end

---Returns a row without fields of a wrong type, or nil if it names no session.
---@param given any a row of the live file, or one of the wire with the same names
---@return ullage.Followed?
local function checked(given)
  if type(given) ~= 'table' or type(given.session_id) ~= 'string' then return nil end
  local row = { session_id = given.session_id, calls_left = with_numbers(given.calls_left, 1, 2) }
  for name, kind in pairs(TYPES) do
    row[name] = type(given[name]) == kind and given[name] or nil
  end
  for _, name in ipairs(TEXTS) do
    row[name] = type(given[name]) == 'string' and given[name] or ''
  end
  row.idle, row.cache = with_numbers(given.idle, 'at'), with_numbers(given.cache, 'until')
  row.moment = with_numbers(given.moment, 'at', 'tokens')
  row.rate_limits = only(given.rate_limits, function(limit) return with_numbers(limit, 'percent') ~= nil end)
  row.warnings = only(given.warnings, function(warning) return type(warning) == 'string' end)
  row.live, row.updated_at, row.takes_focus = row.live or false, row.updated_at or 0, row.takes_focus or false
  row.unfollowed = false
  row.nearness = vim.list_contains({ 'near', 'imminent', 'compacting' }, given.nearness) and given.nearness or 'far'
  -- A file that an older version writes has no short names.
  row.agent_short = row.agent_short ~= '' and row.agent_short or row.agent ~= '' and row.agent or '?'
  row.window = row.window ~= 0 and row.window or nil
  return row
end

---Returns the rows that can be read.
---@return ullage.Followed[]
function M.read(list)
  local rows = {}
  for _, given in ipairs(type(list) == 'table' and list or {}) do
    rows[#rows + 1] = checked(given)
  end
  return rows
end

---Returns rows of the wire, whose names are in camel case.
---@return ullage.Followed[]
function M.read_wire(list) return M.read(vim.tbl_map(words.in_snake_case, list)) end

---Marks a row of which nobody learns any more. What is left is its figure, as of its last change; what time or the next
---call of the model changes is unknown. Whether it is live, its process alone can say.
---@param row ullage.Followed
function M.unfollow(row)
  row.unfollowed, row.nearness, row.live = true, 'far', row.live and row.process_id ~= nil
  row.calls_left, row.idle, row.cache, row.moment = nil, nil, nil, nil
end

---Returns how full the window is, as a whole percentage, or nil if that is not known.
---@param row ullage.Followed
function M.percent(row) return row.used and row.window and words.percent(row.used, row.window) or nil end

---Returns `46 %`, `~46 %`, `58K` if the window is not known, or `?`.
---@param row ullage.Followed
function M.figure(row)
  if not row.used then return '?' end
  local about = row.used_source == 'reported' and '' or '~'
  local percent = M.percent(row)
  return about .. (percent and ('%d %%'):format(percent) or words.short(row.used))
end

---Returns `6+ calls left`, `compacting…`, or nil if that is not known.
---@param row ullage.Followed
function M.distance(row)
  if row.nearness == 'compacting' then return 'compacting…' end
  local range = row.calls_left
  return range and words.calls_left(range[1], range[2], row.compacts_at ~= nil) or nil
end

---Returns a row's part of a narrow statusline: `CC 46 %`.
---@param row ullage.Followed
function M.briefest(row) return ('%s %s'):format(row.agent_short, M.figure(row)) end

local function now() return os.time() * 1000 end

local function clock(at) return os.date('%H:%M', math.floor(at / 1000)) end

local function dollars(amount) return (amount >= 0.005 or amount == 0) and ('$%.2f'):format(amount) or 'under $0.01' end

---Returns how long the provider still keeps the last prompt, in the fewest words: `warm 23 min`, or `cold`; nil if nothing
---is known. A provider that promises nothing may keep it longer.
---@param row ullage.Followed
local function warm(row)
  local cache = row.live and row.cache
  local left = cache and cache['until'] - now()
  if left and left > 0 then return ('warm %d min'):format(math.max(1, math.floor(left / 60000))) end
  return cache and cache.source == 'promised' and 'cold' or nil
end

---Returns the same with what the next prompt costs once it is cold: `warm 23 min, then $1.90` or `cold: $1.90`.
---@param row ullage.Followed
local function warm_and_cost(row)
  local text = warm(row)
  local cold = text and row.cache.cold
  return cold and cold >= 0.005 and ('%s%s%s'):format(text, text == 'cold' and ': ' or ', then ', dollars(cold)) or text
end

-- US dollars that no user does anything about.
local LITTLE = 0.05

---Returns until when the last prompt is kept and what the next one costs.
local function next_prompt(cache)
  local is_warm, promised = now() < cache['until'], cache.source == 'promised'
  local kept = is_warm and ('warm %suntil %s'):format(promised and '' or 'at least ', clock(cache['until']))
    or promised and 'cold'
    or 'perhaps cold'
  if not (cache.warm and cache.cold) then return ('%s: %s tokens'):format(kept, words.short(cache.tokens or 0)) end
  if cache.cold < LITTLE then return kept end
  local first, second = dollars(is_warm and cache.warm or cache.cold), dollars(is_warm and cache.cold or cache.warm)
  local costs = is_warm and '%s until then, %s after it' or '%s (%s while it is warm)'
  return ('%s; the next prompt costs ' .. costs):format(kept, first, second)
end

---Returns what a new session costs beside this one, and which piece of work has ended.
---@param known ullage.Followed|ullage.Figures
local function good_moment(known)
  local moment, cache = known.moment, known.cache
  local text = ('a new session begins with %s in place of %s'):format(
    words.short(moment.tokens),
    words.short(known.used)
  )
  local left = cache and cache['until'] - now() or 0
  local here = cache and (left > 0 and cache.warm or left <= 0 and cache.cold) or nil
  if moment.cost and here then
    local costs = ('%s; the next prompt costs %s there, %s here'):format(text, dollars(moment.cost), dollars(here))
    local cold = left > 0 and cache.cold
    text = cold and ('%s, in %d min %s'):format(costs, math.max(1, math.floor(left / 60000)), dollars(cold)) or costs
  end
  return ('%s: “%s” is committed and nothing is open'):format(text, moment.work)
end

---Returns the words for a compaction that the agent makes because the conversation idles, where there is little room.
function M.idles(idle) return 'idle: compacts at ' .. clock(idle.at) end

---Returns the same for a good moment: `good moment: new session 14K, $0.05`.
function M.new_session(moment)
  local cost = moment.cost and ', ' .. dollars(moment.cost) or ''
  return ('good moment: new session %s%s'):format(words.short(moment.tokens), cost)
end

---Returns how much of the limits of the user's subscription is used, `5h 42%, 7d 80%`; empty if nothing is known of the
---present times.
---@param limits { name: string, percent: integer, until?: integer }[]
function M.limits(limits)
  local present = only(limits, function(limit) return not limit['until'] or now() < limit['until'] end)
  local texts = vim.tbl_map(function(limit) return ('%s %d%%'):format(limit.name, limit.percent) end, present)
  return table.concat(texts, ', ')
end

---Returns what each agent said last of its limits: `Claude Code 5h 42%, 7d 80%`.
---@param list ullage.Followed[]
function M.limits_of(list)
  local newest, parts = {}, {}
  for _, row in ipairs(list) do
    local known = newest[row.agent]
    if M.limits(row.rate_limits) ~= '' and (not known or known.updated_at < row.updated_at) then
      newest[row.agent] = row
    end
  end
  for agent, row in vim.spairs(newest) do
    parts[#parts + 1] = ('%s %s'):format(agent, M.limits(row.rate_limits))
  end
  return table.concat(parts, '; ')
end

---Returns what happens as time passes, a line each, in the words of `ullage context`.
---@param known ullage.Figures
function M.clock(known)
  local limits, lines = M.limits(known.rate_limits), {}
  if known.idle and known.idle.at > now() then
    local text = 'Idle: %s compacts by itself at %s because it idles (%s in its settings stops that)'
    lines[1] = text:format(known.agent or 'its agent', clock(known.idle.at), known.idle.setting)
  end
  lines[#lines + 1] = known.cache and 'Cache: ' .. next_prompt(known.cache)
  lines[#lines + 1] = limits ~= '' and ('Limits: %s of what your subscription allows'):format(limits) or nil
  lines[#lines + 1] = known.moment and 'Good moment: ' .. good_moment(known) or nil
  return lines
end

---Returns the parts of a row's text in the statusline, the most important first.
---@param row ullage.Followed
---@param is_short boolean
---@return string[]
---@return integer fewest how many of them are shown at least: a figure that is not of now is never without its age
local function brief_parts(row, is_short)
  local parts = { M.briefest(row) }
  if row.unfollowed or not row.live then
    local ago = is_short and words.ago_short or words.ago
    parts[#parts + 1] = row.updated_at > 0 and ago(row.updated_at) or nil
    parts[#parts + 1] = row.unfollowed and M.UNFOLLOWED or nil
    return parts, math.min(#parts, 2)
  end
  parts[#parts + 1] = row.nearness ~= 'far' and M.distance(row) or nil
  local idle = row.idle and row.idle.at - now() or 0
  parts[#parts + 1] = idle > 0 and idle <= M.AHEAD and M.idles(row.idle) or nil
  parts[#parts + 1] = warm(row)
  return parts, 1
end

---Returns a row's part of the statusline, as much of it as has room: `CC 46 %`, `CC 62 %, 2+ calls left`,
---`CC 46 %, 4 minutes ago, not followed`.
---@param row ullage.Followed
---@param cells? integer
function M.brief(row, cells)
  local function fits(text) return not cells or vim.fn.strdisplaywidth(text) <= cells end
  local text
  for _, is_short in ipairs({ false, true }) do
    local parts, fewest = brief_parts(row, is_short)
    for count = #parts, fewest, -1 do
      text = table.concat(parts, ', ', 1, count)
      if fits(text) then return text end
    end
  end
  return text
end

---Returns `46 % of 200K, compacts at 84 %, 20+ calls left`, with `?` for what is not known.
---@param row ullage.Followed
function M.figures(row)
  local percent = M.percent(row)
  local about = row.used_source == 'reported' and '' or '~'
  local parts = {
    percent and ('%s%d %% of %s'):format(about, percent, words.short(row.window))
      or row.used and ('%s%s of ?'):format(about, words.short(row.used))
      or '?',
  }
  if row.live and row.idle and row.idle.at > now() then parts[#parts + 1] = M.idles(row.idle) end
  if row.compacts_at then
    local at = row.window and ('%d %%'):format(words.percent(row.compacts_at, row.window))
      or words.short(row.compacts_at)
    parts[#parts + 1] = 'compacts at ' .. at
  end
  parts[#parts + 1] = row.live and M.distance(row) or nil
  parts[#parts + 1] = warm_and_cost(row)
  parts[#parts + 1] = row.live and row.moment and M.new_session(row.moment) or nil
  parts[#parts + 1] = row.unfollowed and M.UNFOLLOWED or nil
  return table.concat(parts, ', ')
end

---Returns what is near, without its figures: `compacts in 2+ calls`.
---@param row ullage.Followed
local function is_near(row)
  if not row.compacts_at then return 'has little room' end
  local range = row.calls_left
  if not range then return 'compacts soon' end
  return range[2] > 0 and 'compacts in ' .. words.calls(range[1], range[2]) or 'compacts with the next call'
end

---Returns the sentence that warns of an agent's compaction.
---@param row ullage.Followed
function M.warning(row)
  local figures
  if not row.compacts_at then
    local distance = M.distance(row)
    figures = ('%s full%s'):format(M.figure(row), distance and ', ' .. distance or '')
  elseif not row.window then
    figures = ('%s of %s'):format(M.figure(row), words.short(row.compacts_at))
  else
    figures = ('%s full, compacts at %d %%'):format(M.figure(row), words.percent(row.compacts_at, row.window))
  end
  return ('%s %s: %s.'):format(row.agent, is_near(row), figures)
end

---Returns the same where there is less and less room.
---@param row ullage.Followed
function M.short_warnings(row)
  return vim.tbl_map(function(name) return ('%s %s'):format(name, is_near(row)) end, { row.agent, row.agent_short })
end

---@param row ullage.Followed
function M.title(row)
  local title = words.plain(row.title)
  return title ~= '' and title or vim.fs.basename(row.path ~= '' and row.path or row.session_id)
end

---Orders rows by how full their contexts are, the fullest first and the unknown ones last. Changes the list.
---@param list ullage.Followed[]
---@return ullage.Followed[]
function M.by_fullness(list)
  table.sort(list, function(one, other)
    local first, second = M.percent(one) or -1, M.percent(other) or -1
    if first == second then return one.updated_at > other.updated_at end
    return first > second
  end)
  return list
end

local HOME = vim.uv.os_homedir()

---Whether a path is the folder, or in it. In the home folder and in the root everything would be.
function M.is_in(path, folder)
  if path == folder then return path ~= '' end
  local is_wide = folder == '' or folder == '/' or folder == HOME
  return not is_wide and vim.startswith(path, folder:gsub('/$', '') .. '/')
end

---@class ullage.Place what the current window shows
---@field folder string Neovim's current folder
---@field runs? fun(process_id: integer): boolean whether a process runs in the current buffer's terminal
---@field terminal_folder? string the folder of the current buffer's terminal

-- Milliseconds after which a conversation that has ended is history, and no longer news for a statusline.
local NEWS = 24 * 60 * 60 * 1000

---Whether something happened in a conversation within a day.
---@param updated_at integer Unix milliseconds
function M.is_news(updated_at) return now() - updated_at < NEWS end

---Returns the rows that are shown in this place: those of the current terminal, else the live ones of the folder, else
---the folder's newest if it is not older than a day.
---@param list ullage.Followed[]
---@param place ullage.Place
---@return ullage.Followed[] rows the fullest first
---@return 'terminal'|'folder'|'newest'|nil of what they are
---@return ullage.Followed? newest the folder's newest, however old
function M.choose(list, place)
  local live = only(list, function(row) return row.live end)
  local found = only(
    live,
    function(row) return place.runs ~= nil and row.process_id ~= nil and place.runs(row.process_id) end
  )
  if #found > 0 then return M.by_fullness(found), 'terminal' end
  for _, folder in ipairs({ place.terminal_folder or place.folder, place.folder }) do
    local here = only(live, function(row) return M.is_in(row.cwd, folder) end)
    if #here > 0 then return M.by_fullness(here), 'folder' end
  end
  local newest
  for _, row in ipairs(list) do
    if M.is_in(row.cwd, place.folder) and (not newest or row.updated_at > newest.updated_at) then newest = row end
  end
  local is_shown = newest ~= nil and M.is_news(newest.updated_at)
  return is_shown and { newest } or {}, is_shown and 'newest' or nil, newest
end

return M
