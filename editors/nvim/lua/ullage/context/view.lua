-- The buffer's rows and its lines, always equal. A change touches only the lines that it affects.
local head = require('ullage.context.head')
local rows = require('ullage.context.rows')
local words = require('ullage.words')

local M = {}

-- Cells of a buffer that no window shows.
local WIDTH = 80

---@class ullage.Growing text that is being written after a row
---@field row integer
---@field count integer rows after it
---@field item ullage.Item
---@field tail string the last line so far

---@class ullage.View
---@field buffer integer
---@field rows ullage.Row[]
---@field width integer cells of the narrowest window that shows it
---@field open table<string, boolean> items that are opened in place, by key
---@field live? ullage.Growing the summary that is being written
local View = {}
View.__index = View

---@type table<integer, ullage.View>
M.by_buffer = {}

---@return ullage.View
function M.new(buffer)
  local view = setmetatable({ buffer = buffer, rows = {}, open = {}, width = WIDTH }, View)
  M.by_buffer[buffer] = view
  return view
end

---Takes the width of the windows that show the buffer.
---@return boolean changed
function View:measure()
  local width
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    local cells = vim.api.nvim_win_get_width(window) - vim.fn.getwininfo(window)[1].textoff
    width = math.min(width or cells, cells)
  end
  local changed = width ~= nil and width ~= self.width
  self.width = width or self.width
  return changed
end

local function texts(list) return words.pluck(list, 'text') end

---@param first integer 0-based
---@param last integer exclusive
function View:write(first, last, lines)
  vim.bo[self.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(self.buffer, first, last, false, lines)
  vim.bo[self.buffer].modifiable = false
  vim.bo[self.buffer].modified = false
end

---Records which items have a line, so that new ones are not searched for.
local function place(list)
  for _, row in ipairs(list) do
    if row.item then row.item.placed = true end
  end
end

---Replaces `count` rows from `at` (1-based) on by `new`.
---@param new ullage.Row[]
function View:splice(at, count, new)
  local total, shift = #self.rows, #new - count
  place(new)
  table.move(self.rows, at + count, total, at + #new)
  for number = total + shift + 1, total do
    self.rows[number] = nil
  end
  for number, row in ipairs(new) do
    self.rows[at + number - 1] = row
  end
  if self.live and self.live.row > at then self.live.row = self.live.row + shift end
  -- A buffer without rows still has one empty line.
  self:write(at - 1, total == 0 and -1 or at - 1 + count, texts(new))
end

---Draws again the lines whose colours or figures changed while their text did not.
function View:redraw() vim.api.nvim__redraw({ buf = self.buffer, valid = false }) end

-- Neovim 0.12 renamed this.
local diff = vim.text.diff or vim.diff

---Makes the buffer show `new`. Unchanged lines are not touched, so cursors, marks and views keep their places.
---@param new ullage.Row[]
function View:replace(new)
  local before, after = texts(self.rows), texts(new)
  self.rows, self.live = new, nil
  place(new)
  local hunks = diff(table.concat(before, '\n') .. '\n', table.concat(after, '\n') .. '\n', { result_type = 'indices' })
  for number = #hunks, 1, -1 do
    local start, count, new_start, new_count = unpack(hunks[number])
    -- The position of a pure insertion is the line before it.
    local first = count == 0 and start or start - 1
    self:write(first, first + count, vim.list_slice(after, new_start, new_start + new_count - 1))
  end
  self:redraw()
  self:refold()
end

---Updates folds also for rows whose text did not change.
function View:refold()
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    vim.api.nvim_win_call(window, function() vim.cmd('silent! normal! zx') end)
  end
end

---@param active ullage.Active?
---@param figures ullage.Figures?
function View:show_head(active, figures)
  local new, count = head.rows(active, figures, self.width), 0
  while self.rows[count + 1] and self.rows[count + 1].kind == 'head' do
    count = count + 1
  end
  if count ~= #new then
    -- A remark has come or gone.
    return self:splice(1, count, new)
  end
  for number, row in ipairs(new) do
    if self.rows[number].text ~= row.text then self:splice(number, 1, { row }) end
    self.rows[number] = row
  end
end

---Runs `change`. Windows with the cursor on the last line stay on the last line.
function View:following(change)
  local last, followers = vim.api.nvim_buf_line_count(self.buffer), {}
  for _, window in ipairs(vim.fn.win_findbuf(self.buffer)) do
    if vim.api.nvim_win_get_cursor(window)[1] == last and last >= head.HEIGHT then
      followers[#followers + 1] = window
    end
  end
  change()
  for _, window in ipairs(followers) do
    vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(self.buffer), 0 })
  end
end

---@param item ullage.Item
---@return integer? row
function View:row_of(item)
  -- From the end, because the item is nearly always a recent one.
  for number = #self.rows, 1, -1 do
    local row = self.rows[number]
    if row.kind == 'item' and (row.item == item or row.item.key == item.key) then return number end
  end
end

---Adds items at the end, and draws again the items that a result has joined.
---@param touched ullage.Item[]
function View:add(touched)
  self:following(function()
    for _, item in ipairs(touched) do
      local at = item.placed and self:row_of(item)
      local new = { rows.of(item, self.open[item.key], self.width) }
      if not at and self.open[item.key] then vim.list_extend(new, rows.details(item, self.width)) end
      self:splice(at or #self.rows + 1, at and 1 or 0, new)
    end
  end)
end

---Opens or closes the content of a row. Returns the number of the item's row.
function View:toggle(at)
  local row = self.rows[at]
  local item = row and row.item
  if not item or item.kind == 'archived' or item.kind == 'live' then return end
  while self.rows[at].kind == 'detail' do
    at = at - 1
  end
  local count = 1
  while self.rows[at + count] and self.rows[at + count].kind == 'detail' do
    count = count + 1
  end
  self.open[item.key] = not self.open[item.key] or nil
  local new = { rows.of(item, self.open[item.key], self.width) }
  vim.list_extend(new, self.open[item.key] and rows.details(item, self.width) or {})
  self:splice(at, count, new)
  return at
end

---Draws an opened item and its content again, after its content has changed.
---@param item ullage.Item
function View:reopen(item)
  local at = self.open[item.key] and self:row_of(item)
  if at then
    self:toggle(at)
    self:toggle(at)
  end
end

---Returns the row where a compaction that archives so many messages will put its marker: after them. The first message
---stays, and does not count.
function View:cut(messages)
  local seen = 0
  for number, row in ipairs(self.rows) do
    local item = row.kind == 'item' and row.item
    if item and not item.archived and item.kind ~= 'marker' and item.role ~= 'system' then
      if seen > messages then return number end
      seen = seen + (item.messages or 0)
    end
  end
  return #self.rows + 1
end

---@param running ullage.Running
---@return integer row
function View:begin_live(running)
  local at = self:cut(running.messages)
  local item = { kind = 'live', key = 'live', text = '', tokens = 0, number = running.number, waiting = true }
  self:splice(at, 0, { rows.of(item, false, self.width) })
  self.live = { row = at, count = 0, item = item, tail = '' }
  if running.text ~= '' then self:write_live(running.text) end
  return at
end

---Adds a piece of the summary: extends the last line, and adds new ones.
function View:write_live(text)
  local live = self.live
  if not live then
    return
  elseif live.item.waiting then
    live.item.waiting = false
    self:splice(live.row, 1, { rows.of(live.item, false, self.width) })
  end
  local pieces, redone = vim.split(live.tail .. text, '\n', { plain = true }), math.min(live.count, 1)
  local new = vim.tbl_map(function(piece) return rows.detail(piece, live.item) end, pieces)
  self:splice(live.row + 1 + live.count - redone, redone, new)
  live.count, live.tail = live.count - redone + #new, pieces[#pieces]
end

---Returns the windows whose cursor is on the summary that is being written.
function View:live_readers()
  local live = self.live
  return vim.tbl_filter(function(window)
    local line = vim.api.nvim_win_get_cursor(window)[1]
    return live ~= nil and line >= live.row and line <= live.row + live.count
  end, vim.fn.win_findbuf(self.buffer))
end

---Draws an item's line again.
---@param item ullage.Item
function View:renew(item)
  local at = self:row_of(item)
  if at then self:splice(at, 1, { rows.of(item, self.open[item.key], self.width) }) end
end

---The 'foldexpr' of the context buffer.
function M.fold_level()
  local view = M.by_buffer[vim.api.nvim_get_current_buf()]
  local row = view and view.rows[vim.v.lnum]
  return row and row.fold or '0'
end

return M
