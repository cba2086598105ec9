-- Items as rows: the text of each line, its colours and its folds. Pure.
local items = require('ullage.context.items')
local marks = require('ullage.context.marks')
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
---@return string
---@return ullage.Span[]
function M.join(pieces)
  local text, spans, at = {}, {}, 0
  for _, piece in ipairs(pieces) do
    local part, marked = piece[1], {}
    if piece.marked then
      part, marked = marks.render(part)
    end
    text[#text + 1] = part
    if piece[2] then
      spans[#spans + 1] = { at, at + #part, piece[2] }
    end
    for _, span in ipairs(marked) do
      spans[#spans + 1] = marks.shifted(span, at)
    end
    at = at + #part
  end
  return table.concat(text), spans
end

local PIECES = {}

---The text of an open message stands below its row, and is not shown twice.
function PIECES.message(item, is_open)
  local name = ROLE_NAMES[item.role] or item.role
  if is_open then
    return { { name, ROLE_GROUPS[item.role] } }
  end
  return { { name .. (' '):rep(ROLE_WIDTH - #name), ROLE_GROUPS[item.role] }, { item.text, marked = true } }
end

function PIECES.thinking(item, is_open)
  return { { '  ✻ ', 'UllageMuted' }, { is_open and 'thinking' or item.text, 'UllageMuted', marked = true } }
end

-- Cells at the right of a row that its figure takes.
local FIGURE = 8

---Cuts the beginning of a path that is wider than the window.
local function fit_path(path, cells)
  local length = vim.fn.strchars(path)
  return length > cells and '…' .. vim.fn.strcharpart(path, length - cells + 1) or path
end

function PIECES.tool(item, _, width)
  local name = item.block and item.block.name or 'result'
  local text = item.text
  if item.is_path and width then
    text = fit_path(text, math.max(width - FIGURE - #name - 6, 12))
  end
  local pieces = { { '  ⚒ ', 'UllageTool' }, { name .. '  ', 'UllageTool' }, { text } }
  if item.error then
    pieces[#pieces + 1] = { '  ✗ ' .. item.error, 'UllageError' }
  end
  if item.cleared then
    pieces[#pieces + 1] = { '  (cleared, kept in the archive)', 'UllageMuted' }
  end
  return pieces
end

---Returns `150K → 28K`, or as much of it as is known. The marker of another program's compaction may lack both sizes.
local function sizes(block)
  local before, after = block.context_size_before or 0, block.context_size_after or 0
  if before > 0 and after > 0 then
    return words.shrinking(before, after)
  end
  return before > 0 and ('at ' .. words.short(before)) or nil
end

-- Facts of a marker that a narrow window has no room for, the first one first. The size, and what was given back, stay.
local DISPENSABLE = { 'trigger', 'messages', 'ago' }

---Returns the facts of a marker that fit into the window.
---@param item ullage.Item
---@param cells integer for all facts
---@return string
local function facts(item, cells)
  local block, given = item.block, item.given_back and item.given_back[#item.given_back]
  local archived = block.messages_archived or 0
  local known = {
    ago = (block.timestamp or 0) > 0 and words.ago(block.timestamp) or nil,
    sizes = sizes(block),
    messages = archived > 0 and words.count(archived, 'message') or nil,
    trigger = item.trigger,
    given = given and ('%s tokens given back'):format(words.short(given.tokens)) or nil,
  }
  local function joined()
    local line = ''
    for _, name in ipairs({ 'ago', 'sizes', 'messages', 'trigger', 'given' }) do
      line = line .. (known[name] and ' · ' .. known[name] or '')
    end
    return line
  end
  for _, name in ipairs(DISPENSABLE) do
    if vim.fn.strdisplaywidth(joined()) <= cells then
      break
    end
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
---@param is_open? boolean
---@param width? integer cells of the window
---@return ullage.Row
function M.of(item, is_open, width)
  local text, spans = M.join(PIECES[item.kind](item, is_open, width))
  if item.archived then
    spans = { { 0, #text, 'UllageArchived' } }
  end
  local fold = item.kind == 'archived' and '>1' or (item.folded and '1' or '0')
  local right = item.tokens > 0 and words.short(item.tokens) or nil
  return { text = text, kind = 'item', item = item, spans = spans, right = right, fold = fold, pinned = item.pinned }
end

local INDENT = '    '
-- Cells that stay free at the right of a text.
local MARGIN = 1

---@param line ullage.Prose
---@param item ullage.Item
---@return ullage.Row
local function detail(line, item)
  local text, spans = INDENT .. line.text, {}
  for number, span in ipairs(line.spans) do
    spans[number] = marks.shifted(span, #INDENT)
  end
  -- First, so that the spans in it are drawn over it.
  table.insert(spans, 1, { 0, #text, item.archived and 'UllageArchived' or 'UllageSummary' })
  return { text = text, kind = 'detail', item = item, spans = spans, fold = item.folded and '1' or '0' }
end

---Returns the rows of a line of Markdown.
---@param line string
---@param item ullage.Item
---@param width integer cells of the window
---@param fence ullage.Fence
---@return ullage.Row[]
function M.prose(line, item, width, fence)
  return vim.tbl_map(function(part)
    return detail(part, item)
  end, prose.markdown(line, width - #INDENT - MARGIN, fence))
end

---@param line string
---@param item ullage.Item
---@param width integer cells of the window
---@return ullage.Row[]
local function output(line, item, width)
  return vim.tbl_map(function(part)
    return detail(part, item)
  end, prose.output(line, width - #INDENT - MARGIN))
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

-- Rows of a result that are shown. Longer results are better read in an export.
local DETAILS = 1000

---@param item ullage.Item
---@param width integer cells of the window
---@return ullage.Row[]
function M.details(item, width)
  local rows, fence, headings = {}, {}, {}
  local shown = vim.fn.strdisplaywidth(M.of(item).text) <= width - FIGURE
  for _, line in ipairs(items.details(item, shown)) do
    if #rows >= DETAILS then
      rows[#rows + 1] = detail({ text = '… the rest is in :Ullage export', spans = {} }, item)
      break
    end
    if item.kind == 'marker' and not fence.mark and line:find('^##? ') then
      headings[#headings + 1] = #rows + 1
    end
    vim.list_extend(rows, item.kind == 'tool' and output(line, item, width) or M.prose(line, item, width, fence))
  end
  fold_sections(rows, headings)
  return rows
end

---@class ullage.Stretch archived items that follow each other, as positions in the list
---@field first integer
---@field last integer
---@field count integer archived messages
---@field kept integer messages in it that are not archived

---@param list ullage.Item[]
---@return ullage.Stretch[]
local function stretches(list)
  local found, current = {}, nil
  for position, item in ipairs(list) do
    if not item.archived then
      current = nil
    elseif current then
      current.last, current.count = position, current.count + (item.messages or 0)
    else
      current = { first = position, last = position, count = item.messages or 0, kept = 0 }
      found[#found + 1] = current
    end
  end
  return found
end

-- A stretch of so few messages is joined with its neighbour if so few items stand between them. Otherwise a compaction
-- that keeps the user's messages would fill screens with stretches of one message.
local SHORT, BETWEEN = 3, 2

---Returns the messages of the items between two stretches, or nil if the stretches are to stay apart.
local function between(list, first, last)
  local kept = 0
  for position = first, last do
    if last - first >= BETWEEN or list[position].kind == 'marker' then
      return nil
    end
    kept = kept + (list[position].messages or 0)
  end
  return kept
end

---@param list ullage.Item[]
---@return ullage.Stretch[]
local function joined(list)
  local groups, last = {}, 0
  for _, stretch in ipairs(stretches(list)) do
    local group = groups[#groups]
    local kept = group and math.min(last, stretch.count) <= SHORT and between(list, group.last + 1, stretch.first - 1)
    if kept then
      group.last, group.count, group.kept = stretch.last, group.count + stretch.count, group.kept + kept
    else
      groups[#groups + 1] = stretch
    end
    last = stretch.count
  end
  return groups
end

---Returns the rows of a whole conversation. Archived stretches get a line of their own, under which they are folded.
---@param list ullage.Item[]
---@param is_open table<string, boolean> by item key
---@param width integer cells of the window
---@return ullage.Row[]
function M.build(list, is_open, width)
  local rows, groups = {}, joined(list)
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
    if is_open[item.key] then
      vim.list_extend(rows, M.details(item, width))
    end
  end
  return rows
end

return M
