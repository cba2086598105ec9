-- The lines before the conversation: its title, how full the context is, and its parts. Pure except for the clock.
local rows = require('ullage.context.rows')
local words = require('ullage.words')

local M = {}

-- Lines of the head, including the blank line at its end. The conversation begins after them.
M.HEIGHT = 5
local CELLS = 24

local LEVEL_GROUPS =
  { normal = 'UllageGaugeFull', warning = 'UllageWarn', critical = 'UllageCritical', off = 'UllageMuted' }
local PARTS = {
  { 'messages', 'messages' },
  { 'tool_results', 'tool results' },
  { 'summary', 'summary' },
  { 'system_prompt', 'system' },
  { 'tools', 'tools' },
  { 'memory', 'memory' },
  { 'overhead', 'hidden by the provider' },
}

local function row(pieces)
  local text, spans = rows.join(pieces)
  return { text = text, kind = 'head', spans = spans, fold = '0' }
end

---@param figures ullage.Figures
local function gauge(figures)
  if not figures.size then
    return row({
      { words.grouped(figures.used) .. ' tokens', 'UllageTokens' },
      { (' · limit unknown: set settings.models["%s"].window'):format(figures.model), 'UllageMuted' },
    })
  end
  local full = math.min(CELLS, math.floor(CELLS * figures.used / figures.size + 0.5))
  local mark = figures.compact_at and math.floor(CELLS * figures.compact_at / figures.size + 0.5)
  local pieces = {}
  for cell = 1, CELLS do
    if cell == mark and cell > full then
      pieces[cell] = { '┊', 'UllageMarker' }
    else
      pieces[cell] = cell <= full and { '▓', LEVEL_GROUPS[figures.level] } or { '░', 'UllageGaugeEmpty' }
    end
  end
  local about = figures.source == 'reported' and '' or '~'
  pieces[#pieces + 1] = { ('  %s%d%%'):format(about, figures.percent), LEVEL_GROUPS[figures.level] }
  pieces[#pieces + 1] = { ('   %s of %s'):format(words.short(figures.used), words.short(figures.size)), 'UllageTokens' }
  if figures.compact_at then
    pieces[#pieces + 1] = { ', compacts at ' .. words.short(figures.compact_at), 'UllageMuted' }
  end
  return row(pieces)
end

---Returns the breakdown, largest part first.
---@param figures ullage.Figures
---@return { name: string, tokens: integer }[]
function M.parts(figures)
  local list = {}
  for _, part in ipairs(PARTS) do
    local tokens = figures.breakdown[part[1]]
    if tokens and tokens > 0 then
      list[#list + 1] = { name = part[2], tokens = tokens }
    end
  end
  table.sort(list, function(one, other)
    return one.tokens > other.tokens
  end)
  return list
end

---@param figures ullage.Figures
local function breakdown(figures)
  local pieces = {}
  for number, part in ipairs(M.parts(figures)) do
    pieces[#pieces + 1] = number > 1 and { ' · ', 'UllageMuted' } or nil
    pieces[#pieces + 1] = { part.name .. ' ' }
    pieces[#pieces + 1] = { words.short(part.tokens), 'UllageTokens' }
  end
  return row(#pieces > 0 and pieces or { { 'Nothing is in it yet.', 'UllageMuted' } })
end

---@param figures ullage.Figures
---@return string
function M.source(figures)
  if figures.source == 'reported' then
    return 'reported by the provider' .. (figures.reported_at and (' ' .. words.ago(figures.reported_at)) or '')
  elseif figures.source == 'stale' then
    return ('%s since the last report'):format(words.count(figures.pending, 'message'))
  end
  return 'estimated' .. (figures.error_share and (', ±%d %%'):format(words.percent(figures.error_share, 1)) or '')
end

---@param figures ullage.Figures
local function counts(figures)
  local parts = { words.count(figures.active, 'active message') }
  if figures.archived > 0 then
    parts[#parts + 1] = words.grouped(figures.archived) .. ' archived'
  end
  parts[#parts + 1] = M.source(figures)
  if figures.cost then
    parts[#parts + 1] = words.money(figures.cost)
  end
  parts[#parts + 1] = '? for help'
  return row({ { table.concat(parts, ' · '), 'UllageMuted' } })
end

---@param active ullage.Active?
---@param figures ullage.Figures?
---@return ullage.Row[]
function M.rows(active, figures)
  if not active or not figures then
    return {
      row({ { 'No conversation yet', 'UllageTitle' } }),
      row({ { ':Ullage import   bring in one of Claude Code, Codex or a file' } }),
      row({ { ':Ullage switch   open one from before' } }),
      row({ { ':Ullage new      start one' } }),
      row({ { '' } }),
    }
  end
  local title = active.title ~= '' and active.title or 'Untitled'
  return {
    row({ { title, 'UllageTitle' }, { figures.model ~= '' and (' · ' .. figures.model) or '', 'UllageMuted' } }),
    gauge(figures),
    breakdown(figures),
    counts(figures),
    row({ { '' } }),
  }
end

return M
