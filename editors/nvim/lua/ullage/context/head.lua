-- The lines before the conversation: its title, how full the context is, and its parts. Pure except for the clock.
local prose = require('ullage.context.prose')
local rows = require('ullage.context.rows')
local words = require('ullage.words')

local M = {}

-- Lines of the head without remarks, including the blank line at its end. The conversation begins after them.
M.HEIGHT = 5
-- Cells of the bar. A bar of fewer than the second number says nothing.
local CELLS, FEWEST = 24, 8
-- Cells of a title by which it is recognised.
local TITLE = 20

local LEVEL_GROUPS =
  { normal = 'UllageGaugeFull', warning = 'UllageWarn', critical = 'UllageCritical', off = 'UllageMuted' }
local PARTS = {
  { 'messages', 'messages' },
  { 'tool_results', 'tool results' },
  { 'summary', 'summary' },
  { 'system_prompt', 'system' },
  { 'tools', 'tools' },
  { 'memory', 'memory' },
  { 'overhead', 'agent’s own prompt and tools' },
}

local function row(pieces)
  local text, spans = rows.join(pieces)
  return { text = text, kind = 'head', spans = spans, fold = '0' }
end

---@class ullage.Part a part of a line of the head
---@field [1] string
---@field [2] string? highlight group
---@field dotted? boolean a dot stands between it and the part before it
---@field rank integer parts with the highest rank are left out first when the window is narrow

local function with_dots(parts)
  local pieces = {}
  for number, part in ipairs(parts) do
    pieces[#pieces + 1] = part.dotted and number > 1 and { ' · ', 'UllageMuted' } or nil
    pieces[#pieces + 1] = part
  end
  return row(pieces)
end

---Joins the parts that fit into the window.
---@param parts ullage.Part[]
---@param width integer cells
local function fitted(parts, width)
  local kept = vim.list_extend({}, parts)
  while #kept > 1 and vim.fn.strdisplaywidth(with_dots(kept).text) > width do
    local highest = 0
    for _, part in ipairs(kept) do
      highest = math.max(highest, part.rank)
    end
    local rest = vim.tbl_filter(function(part) return part.rank < highest end, kept)
    kept = #rest > 0 and rest or { kept[1] }
  end
  if #kept == 1 then kept = { { words.fit(kept[1][1], width), kept[1][2] } } end
  return with_dots(kept)
end

---@param figures ullage.Figures
---@return ullage.Part[]
local function bar(figures, cells)
  local full = math.min(cells, math.floor(cells * figures.used / figures.size + 0.5))
  local mark = figures.compact_at and math.floor(cells * figures.compact_at / figures.size + 0.5)
  local list = {}
  for cell = 1, cells do
    if cell == mark and cell > full then
      list[cell] = { '┊', 'UllageMarker', rank = 0 }
    else
      local filled = { '▓', LEVEL_GROUPS[figures.level], rank = 0 }
      list[cell] = cell <= full and filled or { '░', 'UllageGaugeEmpty', rank = 0 }
    end
  end
  list[cells + 1] = { '  ', rank = 0 }
  return list
end

local THRESHOLD_SOURCES = { settings = 'as set' }

---Returns `, compacts at 67%`, and how that is known.
---@param figures ullage.Figures
---@return ullage.Part[]
local function compaction(figures)
  if not figures.compact_percent then
    for _, remark in ipairs(figures.remarks or {}) do
      if remark.kind == 'no_threshold' then return { { ', not compacted by itself', 'UllageMuted', rank = 2 } } end
    end
    return {}
  end
  local threshold = figures.threshold
  local known = threshold and THRESHOLD_SOURCES[threshold.source]
  if threshold and threshold.source == 'learned' then known = 'seen ' .. words.count(threshold.times, 'time') end
  local who = figures.managed_by == 'agent' and figures.agent
  return {
    { ', ', 'UllageMuted', rank = 2 },
    { who and who .. ' ' or '', 'UllageMuted', rank = 6 },
    { ('compacts at %d%%'):format(figures.compact_percent), 'UllageMuted', rank = 2 },
    { known and (' (%s)'):format(known) or '', 'UllageMuted', rank = 5 },
  }
end

local WINDOW_SOURCES = {
  agent = 'as its agent says',
  log = 'seen in its log',
  settings = 'as set',
  rule = 'usual for its agent',
  catalog = 'assumed',
}

---Returns how the window is known. A remark says what contradicts it.
---@param figures ullage.Figures
local function window_source(figures)
  local window = figures.window
  local known = window and WINDOW_SOURCES[window.source]
  return known and (' (%s%s)'):format(known, window.contradiction and ', in doubt' or '') or ''
end

---Returns the gauge: how full the context is, when it is compacted, and its window.
---@param figures ullage.Figures
local function gauge(figures, width)
  if not figures.size then
    return fitted({
      { words.grouped(figures.used) .. ' tokens', 'UllageTokens', rank = 0 },
      { 'limit unknown', 'UllageMuted', dotted = true, rank = 1 },
      { ': :checkhealth ullage says how to set it', 'UllageMuted', rank = 2 },
    }, width)
  end
  local about = figures.source == 'reported' and '' or '~'
  local parts = { { ('%s%d%% full'):format(about, figures.percent), LEVEL_GROUPS[figures.level], rank = 0 } }
  vim.list_extend(parts, compaction(figures))
  local tokens = ('%s of %s'):format(words.short(figures.used), words.short(figures.size))
  vim.list_extend(parts, {
    { tokens, 'UllageTokens', dotted = true, rank = 3 },
    { window_source(figures), 'UllageMuted', rank = 4 },
  })
  -- A bar takes at most half of the window, so that the figures beside it stay readable.
  local cells = math.min(CELLS, math.floor(width / 2) - 12)
  if cells < FEWEST then return fitted(parts, width) end
  local text = fitted(parts, width - cells - 2)
  local drawn = row(bar(figures, cells))
  for _, span in ipairs(text.spans) do
    drawn.spans[#drawn.spans + 1] = prose.shifted(span, #drawn.text)
  end
  drawn.text = drawn.text .. text.text
  return drawn
end

---Returns the breakdown, largest part first.
---@param figures ullage.Figures
---@return { name: string, tokens: integer }[]
function M.parts(figures)
  local list = {}
  for _, part in ipairs(PARTS) do
    local tokens = figures.breakdown[part[1]]
    if tokens and tokens > 0 then
      local name = part[1] == 'overhead' and figures.hidden or part[2]
      list[#list + 1] = { name = name, tokens = tokens }
    end
  end
  table.sort(list, function(one, other) return one.tokens > other.tokens end)
  return list
end

---@param figures ullage.Figures
local function breakdown(figures, width)
  local parts = {}
  for number, part in ipairs(M.parts(figures)) do
    parts[#parts + 1] = { part.name .. ' ', dotted = true, rank = number }
    -- Both pieces of a part are left out together.
    parts[#parts + 1] = { words.short(part.tokens), 'UllageTokens', rank = number }
  end
  return fitted(#parts > 0 and parts or { { 'Nothing is in it yet.', 'UllageMuted', rank = 0 } }, width)
end

---Returns how the figures are known, and as of when. The time is the transcript's own.
---@param figures ullage.Figures
function M.source(figures)
  local time = figures.as_of or figures.reported_at
  if figures.source == 'reported' then
    return 'reported' .. (time and (' ' .. words.ago(time)) or '')
  elseif figures.source == 'stale' then
    return ('%s since the last report'):format(words.count(figures.pending, 'message'))
  end
  local share = figures.error_share and (', ±%d %%'):format(words.percent(figures.error_share, 1)) or ''
  return 'estimated' .. share .. (figures.as_of and (', as of ' .. words.ago(figures.as_of)) or '')
end

---Returns the model calls that are left until the compaction, for example `9 to 14 calls left`, or nil if that is not
---known.
local function distance(figures)
  local left = figures.calls_left
  return left and words.calls_left(left.low, left.high, figures.compact_at ~= nil) or nil
end

---@param figures ullage.Figures
local function counts(figures, width)
  local listed = {
    { words.count(figures.active, 'active message'), 3 },
    { figures.archived > 0 and words.grouped(figures.archived) .. ' archived' or nil, 5 },
    { distance(figures), 2 },
    { figures.followed and 'only read' or nil, 3 },
    { M.source(figures), 4 },
    { figures.cost and words.money(figures.cost) or nil, 6 },
    { 'g? for help', 1 },
  }
  local parts = {}
  for number = 1, 7 do
    local text, rank = listed[number][1], listed[number][2]
    if text then parts[#parts + 1] = { text, 'UllageMuted', dotted = true, rank = rank } end
  end
  return fitted(parts, width)
end

---@param active ullage.Active
---@param figures ullage.Figures
local function title(active, figures, width)
  local model = figures.model ~= '' and ' · ' .. figures.model or ''
  local room = width - vim.fn.strdisplaywidth(model)
  -- A title of which hardly anything would be left is worth more than the model's name.
  local name = words.plain(active.title)
  name = name ~= '' and name or 'Untitled'
  local has_room = room >= math.min(vim.fn.strdisplaywidth(name), TITLE)
  local fit = words.fit(name, has_room and room or width)
  return row({ { fit, 'UllageTitle' }, { has_room and model or '', 'UllageMuted' } })
end

---Breaks a text at blanks into lines of a width. A word that is longer has a line of its own.
---@param width integer cells
local function wrapped(text, width)
  local lines = {}
  for word in text:gmatch('%S+') do
    local longer = lines[1] and lines[#lines] .. ' ' .. word
    if longer and vim.fn.strdisplaywidth(longer) <= width then
      lines[#lines] = longer
    else
      lines[#lines + 1] = words.fit(word, width)
    end
  end
  return lines
end

---Returns the lines that say what speaks against the place of the compaction, or why none is known, and what happens as time
---passes.
---@param figures ullage.Figures
---@return ullage.Row[]
local function remarks(figures, width)
  local list = {}
  local function add(text, group)
    for _, line in ipairs(wrapped(words.first_line(text), width)) do
      list[#list + 1] = row({ { line, group } })
    end
  end
  local doubt = figures.window and figures.window.contradiction
  for _, remark in ipairs(vim.list_extend(doubt and { { text = doubt } } or {}, figures.remarks or {})) do
    -- That an agent has no place of compaction is no reason to worry.
    add('Note: ' .. remark.text, remark.kind == 'no_threshold' and 'UllageMuted' or 'UllageWarn')
  end
  for _, line in ipairs(require('ullage.following.rows').clock(figures)) do
    add(line, 'UllageMuted')
  end
  return list
end

---@param active ullage.Active?
---@param figures ullage.Figures?
---@param width integer cells of the window
---@return ullage.Row[]
function M.rows(active, figures, width)
  if not active or not figures then
    return {
      row({ { 'No conversation yet', 'UllageTitle' } }),
      row({ { words.fit(':Ullage import   bring in a conversation', width) } }),
      row({ { words.fit(':Ullage agents   open one of an agent', width) } }),
      row({ { words.fit(':Ullage switch   open an earlier one', width) } }),
      row({ { '' } }),
    }
  end
  -- A cell stays free at the right.
  width = width - 1
  local list = {
    title(active, figures, width),
    gauge(figures, width),
    breakdown(figures, width),
    counts(figures, width),
  }
  vim.list_extend(list, remarks(figures, width))
  list[#list + 1] = row({ { '' } })
  return list
end

return M
