-- Items as rows: the text of each line, its colours and its folds. Pure.
local items = require('ullage.context.items')
local prose = require('ullage.context.prose')
local words = require('ullage.words')

local M = {}

---@class ullage.Row
---@field text string
---@field kind 'head'|'blank'|'item'|'detail'
---@field item? ullage.Item
---@field spans ullage.Span[] colours, in bytes
---@field right? string the figure at the window's edge
---@field fold string of |fold-expr|
---@field section? boolean the heading of a summary's section, which folds
---@field pinned? boolean
---@field marked? integer the byte after which its text is Markdown, whose colours are found when it is drawn

local ROLE_NAMES = { user = 'you', assistant = 'assistant', system = 'system', agent = 'agent' }
local ROLE_GROUPS =
  { user = 'UllageUser', assistant = 'UllageAssistant', system = 'UllageSystem', agent = 'UllageSystem' }
local ROLE_WIDTH = 11

---@class ullage.LinePiece
---@field [1] string
---@field [2] string? highlight group
---@field marked? true the text is Markdown

---Joins pieces into a line with its spans.
---@param pieces ullage.LinePiece[]
---@return ullage.Span[]
---@return integer? marked the byte after which the text is Markdown
function M.join(pieces)
  local text, spans, at, marked = {}, {}, 0, nil
  for _, piece in ipairs(pieces) do
    text[#text + 1] = piece[1]
    if piece[2] then spans[#spans + 1] = { at, at + #piece[1], piece[2] } end
    marked = marked or piece.marked and at or nil
    at = at + #piece[1]
  end
  return table.concat(text), spans, marked
end

local PIECES = {}

---The text of an open message stands below its row, and is not shown twice.
function PIECES.message(item, is_open)
  local name = ROLE_NAMES[item.role] or item.role
  if is_open then return { { name, ROLE_GROUPS[item.role] } } end
  return { { name .. (' '):rep(ROLE_WIDTH - #name), ROLE_GROUPS[item.role] }, { item.text, marked = true } }
end

function PIECES.thinking(item, is_open)
  return { { '  ✻ ', 'UllageMuted' }, { is_open and 'thinking' or item.text, 'UllageMuted', marked = true } }
end

-- Cells at the right of a row that its figure and the sign of a pin take.
local FIGURE, PIN = 8, 10

---Cuts the beginning of a path that is wider than the window.
local function fit_path(path, cells)
  local length = vim.fn.strchars(path)
  return length > cells and '…' .. vim.fn.strcharpart(path, length - cells + 1) or path
end

function PIECES.tool(item, _, width)
  local name = item.block and item.block.name or 'result'
  local text = item.text
  if item.is_path and width then text = fit_path(text, math.max(width - FIGURE - #name - 6, 12)) end
  local pieces = { { '  ⚒ ', 'UllageTool' }, { name .. '  ', 'UllageTool' }, { text } }
  if item.error then pieces[#pieces + 1] = { '  ✗ ' .. item.error, 'UllageError' } end
  if item.cleared then pieces[#pieces + 1] = { '  (cleared, kept in the archive)', 'UllageMuted' } end
  return pieces
end

---Returns `150K → 28K`, or as much of it as is known. The marker of another program's compaction may lack both sizes.
local function sizes(block)
  local before, after = block.context_size_before or 0, block.context_size_after or 0
  if before > 0 and after > 0 then return words.shrinking(before, after) end
  return before > 0 and ('at ' .. words.short(before)) or nil
end

-- Facts of a marker that a narrow window has no room for, the first one first. What was given back stays.
local DISPENSABLE = { 'trigger', 'messages', 'ago', 'unit', 'sizes' }

---Returns the facts of a marker that fit into the window.
---@param item ullage.Item
---@param cells integer for all facts
local function facts(item, cells)
  local block, given = item.block, item.given_back and item.given_back[#item.given_back]
  local archived = block.messages_archived or 0
  local known = {
    ago = (block.timestamp or 0) > 0 and words.ago(block.timestamp) or nil,
    sizes = sizes(block),
    messages = archived > 0 and words.count(archived, 'message') or nil,
    trigger = item.trigger,
    unit = given and ' tokens' or nil,
  }
  local function joined()
    local line = ''
    known.given = given and ('%s%s given back'):format(words.short(given.tokens), known.unit or '') or nil
    for _, name in ipairs({ 'ago', 'sizes', 'messages', 'trigger', 'given' }) do
      line = line .. (known[name] and ' · ' .. known[name] or '')
    end
    return line
  end
  for _, name in ipairs(DISPENSABLE) do
    if vim.fn.strdisplaywidth(joined()) <= cells then break end
    known[name] = nil
  end
  return joined()
end

function PIECES.marker(item, _, width)
  local title = ('◈ Compacted #%d'):format(item.block.compaction_number)
  local cells = width and width - FIGURE - vim.fn.strdisplaywidth(title) or math.huge
  return { { title, 'UllageMarker' }, { facts(item, cells), 'UllageMuted' } }
end

function PIECES.archived(item)
  local kept = item.kept > 0 and (', %s kept between them'):format(words.grouped(item.kept)) or ''
  return { { '▸ ' .. words.count(item.count, 'archived message') .. kept, 'UllageArchived' } }
end

function PIECES.live(item)
  local state = item.waiting and 'beginning…' or 'writing the summary…'
  return {
    { ('◈ Compacting #%d'):format(item.number), 'UllageMarker' },
    { (' · %s · x cancels'):format(state), 'UllageBusy' },
  }
end

---@param item ullage.Item
---@param width? integer cells of the window
---@return ullage.Row
function M.of(item, is_open, width)
  local text, spans, marked = M.join(PIECES[item.kind](item, is_open, width))
  -- A row is one line of the screen, except a marker, whose facts fit already or are worth a second line.
  text = width and item.kind ~= 'marker' and words.fit(text, math.max(1, width - FIGURE - (item.pinned and PIN or 0)))
    or text
  if item.archived then spans = { { 0, #text, 'UllageArchived' } } end
  for _, span in ipairs(spans) do
    span[2] = math.min(span[2], #text)
    span[1] = math.min(span[1], span[2])
  end
  local fold = item.kind == 'archived' and '>1' or (item.folded and '1' or '0')
  local right = item.tokens > 0 and words.short(item.tokens) or nil
  local row = { text = text, kind = 'item', item = item, spans = spans, right = right, fold = fold }
  row.pinned, row.marked = item.pinned, marked
  return row
end

local INDENT = '    '

---Returns a row of an opened text.
---@param item ullage.Item
---@param spans? ullage.Span[]
---@return ullage.Row
function M.detail(line, item, spans)
  local text = INDENT .. prose.printable(line)
  local own = vim.tbl_map(function(span) return prose.shifted(span, #INDENT) end, spans or {})
  -- First, so that the spans in it are drawn over it.
  table.insert(own, 1, { 0, #text, item.archived and 'UllageArchived' or 'UllageSummary' })
  return { text = text, kind = 'detail', item = item, spans = own, fold = item.folded and '1' or '0' }
end

---@param spans ullage.Span[]
local function is_heading(spans)
  return vim.iter(spans):any(function(span) return span[3] ~= nil and span[3]:find('^@markup%.heading') ~= nil end)
end

-- Rows of a summary's section that need no fold.
local SHORT_SECTION = 8

---Folds the long sections of a summary under their headings.
---@param rows ullage.Row[] of one summary
---@param headings integer[] the places of its headings, in order
local function fold_sections(rows, headings)
  for at, heading in ipairs(headings) do
    local last = (headings[at + 1] or #rows + 1) - 1
    if last - heading > SHORT_SECTION then
      local level = tonumber(rows[heading].fold) + 1
      rows[heading].fold, rows[heading].section = '>' .. level, true
      for number = heading + 1, last do
        rows[number].fold = tostring(level)
      end
    end
  end
end

-- Lines of a text that are shown. A longer one is better read where `gy` copies it to.
local DETAILS = 1000

---@param item ullage.Item
---@param width integer cells of the window
---@return ullage.Row[]
function M.details(item, width)
  local whole = items.details(item, vim.fn.strdisplaywidth(M.of(item).text) <= width - FIGURE)
  local lines = vim.tbl_map(prose.printable, vim.list_slice(whole, 1, DETAILS))
  local spans = item.kind == 'tool' and {} or prose.markdown(lines)
  local rows, headings = {}, {}
  for number, line in ipairs(lines) do
    rows[number] = M.detail(line, item, spans[number])
    if item.kind == 'marker' and line:find('^##? ') and is_heading(spans[number]) then
      headings[#headings + 1] = number
    end
  end
  if #whole > DETAILS then rows[#rows + 1] = M.detail('… gy copies the whole', item) end
  fold_sections(rows, headings)
  return rows
end

-- A stretch of archived messages joins the one before it if one of them has so few messages, and so few items stand
-- between them. Otherwise a compaction that keeps the user's messages would fill screens with stretches of one message.
local SHORT, BETWEEN = 3, 2

---@class ullage.Stretch archived items that follow each other, as positions in the list
---@field first integer
---@field last integer
---@field count integer archived messages
---@field kept integer messages in it that are not archived

---@param list ullage.Item[]
---@return ullage.Stretch[]
local function stretches(list)
  local found, gap = {}, nil
  -- A stretch is added at its end, because its length decides whether it joins the one before it.
  local function add(stretch)
    local before = found[#found]
    local is_near = before and not gap.marker and stretch.first - before.last - 1 <= BETWEEN
    if is_near and math.min(before.latest, stretch.count) <= SHORT then
      before.last, before.count, before.kept = stretch.last, before.count + stretch.count, before.kept + gap.kept
      before.latest = stretch.count
    else
      stretch.latest = stretch.count
      found[#found + 1] = stretch
    end
    gap = { kept = 0 }
  end
  local current
  for position, item in ipairs(list) do
    local messages = item.messages or 0
    if item.archived then
      current = current or { first = position, count = 0, kept = 0 }
      current.last, current.count = position, current.count + messages
    else
      if current then
        add(current)
        current = nil
      end
      gap = gap or { kept = 0 }
      gap.kept, gap.marker = gap.kept + messages, gap.marker or item.kind == 'marker'
    end
  end
  if current then add(current) end
  return found
end

---Returns the rows of a whole conversation. Archived stretches get a line of their own, under which they are folded.
---@param list ullage.Item[]
---@param is_open table<string, boolean> by item key
---@param width integer cells of the window
---@return ullage.Row[]
function M.build(list, is_open, width)
  local rows, groups = {}, stretches(list)
  local next_group = 1
  for position, item in ipairs(list) do
    local group = groups[next_group]
    item.folded = group ~= nil and position >= group.first
    if group and position == group.first then
      local key = 'a' .. item.key
      rows[#rows + 1] =
        M.of({ kind = 'archived', key = key, text = '', tokens = 0, count = group.count, kept = group.kept })
    end
    next_group = group and position == group.last and next_group + 1 or next_group
    rows[#rows + 1] = M.of(item, is_open[item.key], width)
    if is_open[item.key] then vim.list_extend(rows, M.details(item, width)) end
  end
  return rows
end

return M
