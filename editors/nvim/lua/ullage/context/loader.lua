-- Loads the conversation into a view: the whole at first and after an edit, otherwise only what is new.
local items = require('ullage.context.items')
local head = require('ullage.context.head')
local rows = require('ullage.context.rows')
local session = require('ullage.session')

local M = {}

---@class ullage.Loader
---@field view ullage.View
---@field builder? ullage.Builder nil until the conversation is loaded
---@field known integer[] messages in the context, archived ones, compactions, and tokens
---@field context_total? integer length of the model's context when it was last requested
---@field ended? { number: integer, readers: integer[] } the compaction that has just ended, and the windows that show it
---@field round integer answers of an earlier round are dropped
---@field asked table<string, 'sent'|'again'> requests that are under way
local Loader = {}
Loader.__index = Loader

---@param view ullage.View
---@return ullage.Loader
function M.new(view) return setmetatable({ view = view, round = 0, known = { 0 }, asked = {} }, Loader) end

---@param loaded { transcript?: table, shown?: table, edits?: table[] }
function Loader:build(loaded)
  local shown, by_time = loaded.shown and {}, {}
  for _, entry in ipairs(loaded.shown and loaded.shown.entries or {}) do
    shown[entry.message.id] = entry
  end
  for _, edit in ipairs(loaded.edits or {}) do
    if edit.kind == 'compaction' then by_time[edit.timestamp] = edit end
  end
  local builder = items.builder(shown)
  self.builder, self.next_index = builder, 0
  for _, entry in ipairs(loaded.transcript.entries) do
    self.next_index = entry.inserted and self.next_index or math.max(self.next_index, entry.index + 1)
    for _, item in ipairs(builder:add(entry)) do
      local edit = item.kind == 'marker' and by_time[item.block.timestamp]
      item.trigger = edit and edit.trigger
      item.edit_id = edit and edit.id
      item.lost = require('ullage.lost').known_line(item.edit_id)
      -- The transcript does not count a marker's tokens, but the context does.
      local seen = edit and shown and shown[entry.message.id]
      item.tokens = seen and seen.tokens or item.tokens
    end
  end
end

---Opens the marker of the compaction that has just ended, whose summary was read while it was written.
---@return ullage.Item?
function Loader:open_marker()
  for _, item in ipairs(self.ended and self.builder and self.builder.items or {}) do
    if item.kind == 'marker' and item.block.compaction_number == self.ended.number then
      self.view.open[item.key] = true
      return item
    end
  end
end

---Moves the windows that showed the summary while it was written to its marker. The marker can be elsewhere: before a
---compaction it is not known which messages it will keep.
---@param marker ullage.Item
function Loader:bring_readers(marker)
  local at = self.view:row_of(marker)
  local last = at + #rows.details(marker, self.view.width)
  for _, window in ipairs(self.ended.readers) do
    local is_there = vim.api.nvim_win_is_valid(window) and vim.api.nvim_win_get_buf(window) == self.view.buffer
    local line = is_there and vim.api.nvim_win_get_cursor(window)[1] or at
    if line < at or line > last then
      vim.api.nvim_win_set_cursor(window, { at, 0 })
      vim.api.nvim_win_call(window, function() vim.cmd('normal! zz') end)
    end
  end
  self.ended = nil
end

---Makes the buffer show what is loaded.
function Loader:show()
  local marker = self:open_marker()
  self.view:measure()
  local all = head.rows(session.active, session.figures, self.view.width)
  vim.list_extend(all, rows.build(self.builder and self.builder.items or {}, self.view.open, self.view.width))
  self.view:replace(all)
  if marker then self:bring_readers(marker) end
  require('ullage.given_back').find_left_out(self.view)
  if session.running then self.view:begin_live(session.running) end
end

---@param figures ullage.Figures
local function facts(figures) return figures and { figures.active, figures.archived, figures.compactions, figures.used } end

---Returns a text that changes with every edit that is made, undone or redone.
local function signature(edits)
  local parts = vim.tbl_map(function(edit) return edit.id .. (edit.reverted and '-' or '+') end, edits)
  return table.concat(parts, ' ')
end

---Finds what the agent was given back after its compactions, and shows it.
function Loader:find_given_back()
  local builder = self.builder
  if builder then
    require('ullage.given_back').find_given_back(self.view, builder, function() return builder == self.builder end)
  end
end

---Loads the whole conversation. `done` is called once it is shown.
function Loader:reload(done)
  self.round = self.round + 1
  local round, loaded = self.round, {}
  if not session.active then
    self.builder = nil
    return self:show()
  end
  self.known = facts(session.figures)
  local function request(method, params, keep)
    session.request(method, params, function(error, result)
      if round ~= self.round or require('ullage.notices').failed(error) then return end
      keep(result)
      if loaded.transcript and loaded.edits then
        self:build(loaded)
        self:show()
        self:find_given_back()
        if done then
          done()
          done = nil
        end
      end
    end)
  end
  request('context/history', {}, function(result)
    loaded.edits, self.edits = result.edits, signature(result.edits)
  end)
  request('context/messages', { scope = 'transcript' }, function(result) loaded.transcript = result end)
  -- Requested last, because the answer waits for a running compaction.
  request('context/messages', {}, function(result)
    loaded.shown, self.context_total = result, result.total
  end)
end

---Sends a request of which one at a time is under way, and once more after its answer if it was asked for meanwhile.
---@param params fun(): table
---@param take fun(result: table)
function Loader:ask(method, params, take)
  if self.asked[method] then
    self.asked[method] = 'again'
    return
  end
  self.asked[method] = 'sent'
  local round = self.round
  session.request(method, params(), function(error, result)
    local again = self.asked[method] == 'again'
    self.asked[method] = nil
    if not error and round == self.round then take(result) end
    if again then self:ask(method, params, take) end
  end)
end

---Loads only the new messages.
function Loader:append()
  self:ask(
    'context/messages',
    function() return { offset = self.context_total } end,
    function(result) self:take_new(result) end
  )
end

function Loader:take_new(result)
  self.context_total = result.total
  local touched = {}
  for _, entry in ipairs(result.entries) do
    if not entry.inserted and entry.index >= self.next_index then
      self.next_index = entry.index + 1
      vim.list_extend(touched, self.builder:add(entry))
    end
  end
  self.view:add(touched)
end

---Loads the whole conversation again if an edit was made or undone that the figures alone do not show: for example one
---that clears results, which changes no count of messages.
function Loader:check()
  self:ask('context/history', vim.empty_dict, function(result)
    if self.edits and signature(result.edits) ~= self.edits then self:reload() end
  end)
end

---Decides from new figures whether messages were appended or an edit was made.
---@param figures ullage.Figures
function Loader:follow(figures)
  local before, now = self.known, facts(figures)
  if not self.builder or not figures or vim.deep_equal(before, now) then return end
  local has_same_past = now[2] == before[2] and now[3] == before[3]
  self.known = now
  if has_same_past and now[1] > before[1] and self.context_total then
    self:append()
    -- An agent is given something back just before it goes on.
    self:find_given_back()
  elseif not has_same_past or now[1] ~= before[1] then
    return self:reload()
  end
  self:check()
end

return M
