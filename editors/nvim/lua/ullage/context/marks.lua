-- Inline marks of Markdown in one line: code, links, strong text and emphasis. Pure.
--
-- The marks are left out rather than concealed: a search finds what is shown, and a line is as wide as it looks, so that the
-- end of a line can be reached without scrolling the window. `gy` copies a message with its marks.
--
-- The rules are CommonMark's, but stricter where program text would lose characters: `a*b*c`, `__init__` and `**/*.lua` are
-- left as they are.
local M = {}

---@class ullage.Span a part of a line, in bytes
---@field [1] integer first byte
---@field [2] integer end, exclusive
---@field [3] string highlight group
---@field url? string what the part links to

local CODE, LINK, STRONG, EMPHASIS = 'UllageCode', 'UllageLink', '@markup.strong', '@markup.italic'
-- Stands for bytes that no later rule may read. It is neither a blank nor a letter.
local TAKEN = '\1'

---@class ullage.Mark what a rule finds, as 1-based places in the line
---@field opening integer the first byte of the mark before the text
---@field first integer the first byte of the text
---@field last integer the last byte of the text
---@field closing integer the last byte of the mark after the text
---@field group? string
---@field url? string

---@alias ullage.FindMarks fun(line: string): fun(): ullage.Mark?

---Returns the marks that a pattern finds. The pattern captures four places: the beginnings of the mark, of the text, of the
---mark after it, and of what follows.
---@param pattern string
---@param fits? fun(text: string): boolean
---@return ullage.FindMarks
local function by(pattern, fits)
  return function(line)
    local marks = line:gmatch(pattern)
    return function()
      for opening, first, after, stop in marks do
        if not fits or fits(line:sub(first, after - 1)) then
          return { opening = opening, first = first, last = after - 1, closing = stop - 1 }
        end
      end
    end
  end
end

---Code ends with as many backticks as it begins with.
---@type ullage.FindMarks
local function code(line)
  local at = 1
  return function()
    while true do
      local opening, ticks, first = line:match('()(`+)()', at)
      if not opening then
        return nil
      end
      at = first
      local after, found, stop = line:match('()(`+)()', first)
      while after and #found ~= #ticks do
        after, found, stop = line:match('()(`+)()', stop)
      end
      if after then
        at = stop
        return { opening = opening, first = first, last = after - 1, closing = stop - 1 }
      end
    end
  end
end

---Whether an address is that of a page or a mailbox. Others could have the system run a file of a foreign folder.
---@param url string
local function is_harmless(url)
  return url:find('^https?://') ~= nil or url:find('^mailto:') ~= nil
end

---@type ullage.FindMarks
local function link(line)
  local marks = line:gmatch('()%[()[^%[%]]+()%]%(([^%s()]+)%)()')
  return function()
    local opening, first, after, url, stop
    repeat
      opening, first, after, url, stop = marks()
    until not opening or is_harmless(url)
    return opening and { opening = opening, first = first, last = after - 1, closing = stop - 1, url = url } or nil
  end
end

---Whether a text can stand between marks: it neither begins nor ends with a blank.
local function is_tight(text)
  return text:find('^%S') ~= nil and text:find('%S$') ~= nil
end

---Whether a text between underscores is prose: one word would be a name, `__init__`.
local function is_prose(text)
  return is_tight(text) and text:find('[^%w_]') ~= nil
end

---Whether a text between asterisks is prose and no path, `**/*.lua`.
local function is_no_path(text)
  return is_tight(text) and not text:find('^/') and not text:find('/$')
end

---@type { [1]: ullage.FindMarks, [2]: string }[] in the order in which they apply
local RULES = {
  { code, CODE },
  { link, LINK },
  { by('()%*%*%*()[^%s*][^*]*()%*%*%*()', is_no_path), STRONG },
  { by('()%*%*()[^%s*].-()%*%*()', is_no_path), STRONG },
  { by('%f[%w_]()__()[^%s_].-()__()%f[^%w_]', is_prose), STRONG },
  { by('%f[%w*]()%*()[^%s*][^*]*()%*()%f[^%w*]', is_no_path), EMPHASIS },
  { by('%f[%w_]()_()[^%s_][^_]*()_()%f[^%w_]', is_tight), EMPHASIS },
}

local function hide(text, first, last)
  return text:sub(1, first - 1) .. TAKEN:rep(last - first + 1) .. text:sub(last + 1)
end

---Returns the marks of a line.
---@param line string
---@return ullage.Mark[]
local function find(line)
  local found, rest = {}, line
  for _, rule in ipairs(line:find('[`*_%[]') and RULES or {}) do
    for mark in rule[1](rest) do
      mark.group = rule[2]
      found[#found + 1] = mark
      -- Marks inside code mean nothing. The text of other marks may have marks of its own.
      local kept = mark.group == CODE and mark.first or mark.last + 1
      rest = hide(hide(rest, mark.opening, mark.first - 1), kept, mark.closing)
    end
  end
  return found
end

---Returns the marked parts of a line that is shown with its marks.
---@param line string
---@return ullage.Span[]
function M.spans(line)
  return vim.tbl_map(function(mark)
    return { mark.opening - 1, mark.closing, mark.group, url = mark.url }
  end, find(line))
end

---Returns a line without its marks, and the parts that were marked.
---@param line string
---@return string
---@return ullage.Span[]
function M.render(line)
  local found = find(line)
  if #found == 0 then
    return line, {}
  end
  local gone = {}
  for _, mark in ipairs(found) do
    vim.list_extend(gone, { { mark.opening, mark.first - 1 }, { mark.last + 1, mark.closing } })
  end
  table.sort(gone, function(one, other)
    return one[1] < other[1]
  end)
  local kept, from = {}, 1
  for _, range in ipairs(gone) do
    kept[#kept + 1] = line:sub(from, range[1] - 1)
    from = range[2] + 1
  end
  kept[#kept + 1] = line:sub(from)
  ---Returns how many bytes are left out before a place.
  local function shift(place)
    local sum = 0
    for _, range in ipairs(gone) do
      if range[1] >= place then
        break
      end
      sum = sum + range[2] - range[1] + 1
    end
    return sum
  end
  local spans = vim.tbl_map(function(mark)
    return { mark.first - 1 - shift(mark.first), mark.last - shift(mark.last + 1), mark.group, url = mark.url }
  end, found)
  return table.concat(kept), spans
end

---Returns a span at another place of a longer line.
---@param span ullage.Span
---@param bytes integer by which it moves
---@return ullage.Span
function M.shifted(span, bytes)
  return { span[1] + bytes, span[2] + bytes, span[3], url = span.url }
end

return M
