-- Breaks text to a window's width, and renders Markdown in it: headings, lists, code and the marks within a line. Pure.
--
-- Each line is read on its own, because an answer is shown while it is written. The only state that goes from one line to
-- the next is whether a block of code is open.
local marks = require('ullage.context.marks')

local M = {}

---@class ullage.Prose a line of the screen
---@field text string
---@field spans ullage.Span[] in bytes of the text

---@class ullage.Fence the state between two lines
---@field mark? string the characters that end the open block of code

-- Cells. Longer lines of prose are tiring to read.
local COLUMN = 88
-- Cells. A narrower window cuts lines rather than showing two or three letters in each.
local NARROWEST = 16

local function cells(text)
  return text:find('[\128-\255]') and vim.fn.strdisplaywidth(text) or #text
end

---Returns how many bytes of the text fit into the cells, at least one character.
local function fitting(text, width)
  if not text:find('[\128-\255]') then
    return math.min(#text, width)
  end
  local bytes, used = 0, 0
  for character in text:gmatch('[%z\1-\127\194-\244][\128-\191]*') do
    used = used + vim.fn.strdisplaywidth(character)
    if used > width and bytes > 0 then
      break
    end
    bytes = bytes + #character
  end
  return math.max(bytes, 1)
end

---@class ullage.Piece a part of a line: the bytes from `first` to `last`, after the indent
---@field first integer
---@field last integer
---@field indent string

---Cuts a line where the width ends, as a terminal does.
---@param line string
---@param width integer
---@return ullage.Piece[]
local function chop(line, width)
  local pieces, first = {}, 1
  while first <= #line do
    local last = first + fitting(line:sub(first), width) - 1
    pieces[#pieces + 1] = { first = first, last = last, indent = '' }
    first = last + 1
  end
  return #pieces > 0 and pieces or { { first = 1, last = 0, indent = '' } }
end

---Breaks a line at blanks. Further lines of a list's element begin under its text. A word that is wider than the line is
---cut.
---@param line string
---@param width integer
---@return ullage.Piece[]
local function wrap(line, width)
  if cells(line) <= width then
    return { { first = 1, last = #line, indent = '' } }
  end
  local lead = line:match('^%s*[-*+]%s+') or line:match('^%s*%d+[.)]%s+') or line:match('^%s*')
  local indent = #lead < width / 2 and (' '):rep(#lead) or ''
  local pieces, first, last = {}, 1, 0
  local function finish()
    pieces[#pieces + 1] = { first = first, last = last, indent = #pieces > 0 and indent or '' }
  end
  local function room()
    return width - (#pieces > 0 and #indent or 0)
  end
  for start, word, stop in line:gmatch('()%s*()%S+()') do
    if last > 0 and cells(line:sub(first, stop - 1)) > room() then
      finish()
      first = word
    end
    last = stop - 1
    while cells(line:sub(first, last)) > room() do
      local whole = last
      last = first + fitting(line:sub(first, last), room()) - 1
      -- The indent of a list stays with its first word.
      if last < start and #pieces == 0 then
        last = whole
        break
      end
      finish()
      first, last = last + 1, whole
    end
  end
  finish()
  return pieces
end

local CODE = 'UllageCode'

---Returns the spans of a rendered line, and its list's bullet as one more.
---@param text string
---@param spans ullage.Span[]
---@return ullage.Span[]
local function with_bullet(text, spans)
  local bullet, stop = text:match('^%s*()[-*+]()%s')
  if not bullet then
    bullet, stop = text:match('^%s*()%d+[.)]()%s')
  end
  if bullet then
    spans[#spans + 1] = { bullet - 1, stop - 1, 'UllageMarker' }
  end
  return spans
end

---Distributes a line's spans to its pieces.
---@param line string
---@param pieces ullage.Piece[]
---@param spans ullage.Span[]
---@return ullage.Prose[]
local function place(line, pieces, spans)
  local lines = {}
  for number, piece in ipairs(pieces) do
    local own, shift = {}, #piece.indent - (piece.first - 1)
    for _, span in ipairs(spans) do
      local first, last = math.max(span[1], piece.first - 1), math.min(span[2], piece.last)
      if first < last then
        own[#own + 1] = { first + shift, last + shift, span[3], url = span.url }
      end
    end
    lines[number] = { text = piece.indent .. line:sub(piece.first, piece.last), spans = own }
  end
  return lines
end

local function whole(line, group)
  return { { 0, #line, group } }
end

---Returns a line without characters that a buffer cannot show as they are.
---@param line string
---@return string
local function printable(line)
  return (line:gsub('\27%[[%d;?]*%a', ''):gsub('\t', '    '):gsub('%c', ' '))
end

---Returns the lines of a tool's output, which are cut like a terminal's.
---@param line string
---@param width integer cells
---@return ullage.Prose[]
function M.output(line, width)
  local text = printable(line)
  return place(text, chop(text, math.max(width, NARROWEST)), {})
end

---Returns the lines of a line of Markdown, and changes the state.
---@param line string
---@param width integer cells
---@param fence ullage.Fence
---@return ullage.Prose[]
function M.markdown(line, width, fence)
  local text = printable(line)
  width = math.max(width, NARROWEST)
  local mark = text:match('^%s*(```+)') or text:match('^%s*(~~~+)')
  if fence.mark then
    local closes = mark and mark:sub(1, #fence.mark) == fence.mark and text:match('^%s*[`~]+%s*$')
    fence.mark = not closes and fence.mark or nil
    return place(text, chop(text, width), whole(text, closes and 'UllageMuted' or CODE))
  elseif mark then
    fence.mark = mark
    return place(text, chop(text, width), whole(text, 'UllageMuted'))
  elseif text:find('^%s*|') then
    -- A table's columns are aligned with their marks.
    return place(text, chop(text, width), marks.spans(text))
  end
  local rendered, spans = marks.render(text)
  if text:find('^#+ ') then
    spans = whole(rendered, 'UllageTitle')
  elseif text:find('^%s*>') then
    spans = whole(rendered, 'UllageMuted')
  else
    spans = with_bullet(rendered, spans)
  end
  return place(rendered, wrap(rendered, math.min(width, COLUMN)), spans)
end

return M
