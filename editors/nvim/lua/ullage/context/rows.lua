-- Items as rows: the text of each line, its colours and its folds. Pure.
local items = require('ullage.context.items')
local words = require('ullage.words')

local M = {}

---@class ullage.Row
---@field text string
---@field kind 'head'|'blank'|'item'|'detail'
---@field item? ullage.Item
---@field spans ullage.Span[] colours, in bytes
---@field right? string the figure at the window's edge
---@field fold string of |fold-expr|
---@field pinned? boolean

---@class ullage.Span
---@field [1] integer first byte
---@field [2] integer end, exclusive
---@field [3] string highlight group

local ROLE_NAMES = { user = 'you', assistant = 'assistant', system = 'system' }
local ROLE_GROUPS = { user = 'UllageUser', assistant = 'UllageAssistant', system = 'UllageSystem' }
local ROLE_WIDTH = 11

---Joins pieces of `{text, group}` into a line with its spans.
---@param pieces { [1]: string, [2]: string? }[]
---@return string
---@return ullage.Span[]
function M.join(pieces)
  local text, spans, at = {}, {}, 0
  for _, piece in ipairs(pieces) do
    text[#text + 1] = piece[1]
    if piece[2] then
      spans[#spans + 1] = { at, at + #piece[1], piece[2] }
    end
    at = at + #piece[1]
  end
  return table.concat(text), spans
end

local PIECES = {}

function PIECES.message(item)
  local name = ROLE_NAMES[item.role] or item.role
  return { { name .. (' '):rep(ROLE_WIDTH - #name), ROLE_GROUPS[item.role] }, { item.text } }
end

function PIECES.thinking(item)
  return { { '  ✻ ', 'UllageMuted' }, { item.text, 'UllageMuted' } }
end

-- The states of a call without a result. A completed call gets its result in a moment.
local STATES = { pending = 'waits', in_progress = 'runs…', failed = '✗ failed' }

function PIECES.tool(item)
  local name = item.block and item.block.name or 'result'
  local pieces = { { '  ⚒ ', 'UllageTool' }, { name .. '  ', 'UllageTool' }, { item.text } }
  if item.error then
    pieces[#pieces + 1] = { '  ✗ ' .. item.error, 'UllageError' }
  end
  if STATES[item.state] and not item.result then
    pieces[#pieces + 1] = { '  ' .. STATES[item.state], 'UllageBusy' }
  end
  if item.cleared then
    pieces[#pieces + 1] = { '  (cleared, kept in the archive)', 'UllageMuted' }
  end
  return pieces
end

function PIECES.marker(item)
  local block = item.block
  local when, sizes = words.ago(block.timestamp), words.shrinking(block.context_size_before, block.context_size_after)
  local pieces = { { ('◈ Compacted #%d'):format(block.compaction_number), 'UllageMarker' } }
  local rest = { when, sizes, words.count(block.messages_archived, 'message') }
  rest[#rest + 1] = item.trigger
  pieces[2] = { ' · ' .. table.concat(rest, ' · '), 'UllageMuted' }
  return pieces
end

function PIECES.archived(item)
  return { { '▸ ' .. words.count(item.count, 'archived message'), 'UllageArchived' } }
end

function PIECES.live(item)
  local state = item.waiting and 'beginning…' or 'writing the summary…'
  return {
    { ('◈ Compacting #%d'):format(item.number), 'UllageMarker' },
    { (' · %s · x cancels'):format(state), 'UllageBusy' },
  }
end

---@param item ullage.Item
---@return ullage.Row
function M.of(item)
  local text, spans = M.join(PIECES[item.kind](item))
  if item.archived then
    spans = { { 0, #text, 'UllageArchived' } }
  end
  local fold = item.kind == 'archived' and '>1' or (item.archived and '1' or '0')
  local right = item.tokens > 0 and words.short(item.tokens) or nil
  return { text = text, kind = 'item', item = item, spans = spans, right = right, fold = fold, pinned = item.pinned }
end

local INDENT = '    '

---@param line string
---@param item ullage.Item
---@return ullage.Row
function M.detail(line, item)
  local text = INDENT .. line:gsub('%c', ' ')
  local group = item.archived and 'UllageArchived' or (line:find('^#+ ') and 'UllageTitle' or 'UllageSummary')
  return {
    text = text,
    kind = 'detail',
    item = item,
    spans = { { 0, #text, group } },
    fold = item.archived and '1' or '0',
  }
end

-- Lines of a result that are shown. Longer results are better read in an export.
local DETAILS = 1000
-- Bytes of a line of prose. A tool's output keeps its lines.
local COLUMN = 88

---Breaks a line of prose at the column.
---@param line string
---@param item ullage.Item
---@return ullage.Row[]
function M.prose(line, item)
  local rows = {}
  for number, part in ipairs(words.wrap(line, COLUMN)) do
    rows[number] = M.detail(part, item)
  end
  return rows
end

---@param item ullage.Item
---@return ullage.Row[]
function M.details(item)
  local rows = {}
  for _, line in ipairs(items.details(item)) do
    if #rows >= DETAILS then
      rows[#rows + 1] = M.detail('… the rest is in :Ullage export', item)
      break
    end
    vim.list_extend(rows, item.kind == 'tool' and { M.detail(line, item) } or M.prose(line, item))
  end
  return rows
end

---Returns for the first item of each archived stretch how many archived messages the stretch has.
---@param list ullage.Item[]
---@return table<integer, integer>
local function stretches(list)
  local counts, start, last = {}, nil, nil
  for position, item in ipairs(list) do
    if not item.archived then
      start, last = nil, nil
    else
      start = start or position
      -- A message's own line and its tool calls follow each other. A result is a message of its own.
      local fresh = item.entry.message.id ~= last and 1 or 0
      counts[start] = (counts[start] or 0) + fresh + (item.block and item.result and 1 or 0)
      last = item.entry.message.id
    end
  end
  return counts
end

---Returns the rows of a whole conversation. Each archived stretch gets a line of its own, under which it is folded.
---@param list ullage.Item[]
---@param is_open table<string, boolean> by item key
---@return ullage.Row[]
function M.build(list, is_open)
  local rows, counts = {}, stretches(list)
  for position, item in ipairs(list) do
    if counts[position] then
      rows[#rows + 1] =
        M.of({ kind = 'archived', key = 'a' .. item.key, text = '', tokens = 0, count = counts[position] })
    end
    rows[#rows + 1] = M.of(item)
    if is_open[item.key] then
      vim.list_extend(rows, M.details(item))
    end
  end
  return rows
end

return M
