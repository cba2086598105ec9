-- A conversation's messages as items of one line each. Pure: no editor state is read or changed.
--
-- A message has a line for its text and one for each tool call. A tool's result joins the line of its call.
local words = require('ullage.words')

local M = {}

---@class ullage.Item
---@field kind 'message'|'thinking'|'tool'|'marker'|'archived'|'live'
---@field key string stays the same when the conversation is loaded again
---@field entry? ullage.Entry the message it belongs to
---@field role? string the message's; `agent` if the agent's program wrote it as the user
---@field text string the text of its line
---@field tokens integer
---@field messages? integer the messages that begin with it, or whose results it shows
---@field is_path? boolean its text is a path, of which the end says most
---@field archived boolean
---@field folded? boolean it stands under the line of an archived stretch
---@field pinned boolean
---@field error? string the line that says why a tool call failed
---@field placed? boolean it has a line
---@field cleared? boolean the model is no longer sent the result
---@field trigger? string the trigger of a marker's compaction
---@field edit_id? string the edit of a marker's compaction
---@field lost? string what a marker's compaction left out, in a line
---@field given_back? ullage.GivenBackRow[] what the agent was given back after a marker's compaction
---@field block? table the tool call, or a marker's block
---@field result? table the tool's result

-- Characters: enough to recognise a message by its line.
local LINE = 240

---Returns the line for a text.
local function line(text)
  local first = words.plain(text)
  return #first > LINE and vim.fn.strcharpart(first, 0, LINE) .. '…' or first
end

M.line = line

---The text of each kind of block.
local READ = {
  text = function(block) return block.text end,
  thinking = function(block) return block.thinking ~= '' and block.thinking or '(hidden reasoning)' end,
  image = function(block) return block.url or ('(image, %s)'):format(block.media_type or 'image/png') end,
  resource = function(block) return block.text or block.uri end,
}

---Returns the text of a tool's result.
function M.result_text(block)
  local parts = {}
  for _, part in ipairs(block.content or {}) do
    local read = READ[part.type]
    parts[#parts + 1] = read and read(part) or nil
  end
  return table.concat(parts, '\n')
end

-- The fields that describe a tool's input best. The first that exists is used.
local TELLING = { 'path', 'file_path', 'command', 'cmd', 'pattern', 'query', 'url', 'description' }

---Returns a field of an input as text, or nil. A list of words is a command; of `bash -lc COMMAND` the last word is.
local function as_text(value)
  if type(value) == 'string' then
    return value
  elseif type(value) ~= 'table' or not vim.islist(value) or type(value[1]) ~= 'string' then
    return nil
  elseif #value == 3 and type(value[3]) == 'string' and type(value[2]) == 'string' and value[2]:find('^%-%l*c$') then
    return value[3]
  end
  return table.concat(vim.tbl_map(tostring, value), ' ')
end

---Returns the line that describes a tool's input best, and the key of its field.
---@return any key
local function telling(input)
  if type(input) ~= 'table' then return '', nil end
  for _, key in ipairs(TELLING) do
    local text = as_text(input[key])
    if text then return line(text), key end
  end
  local keys = vim.tbl_filter(function(key) return type(input[key]) == 'string' end, vim.tbl_keys(input))
  table.sort(keys, function(one, other) return tostring(one) < tostring(other) end)
  return keys[1] and line(input[keys[1]]) or '', keys[1]
end

---Returns the whole text of a message, without tool calls.
function M.text_of(message)
  local parts = {}
  for _, block in ipairs(message.content) do
    local read = READ[block.type]
    if read and block.type ~= 'thinking' then parts[#parts + 1] = read(block) end
  end
  return table.concat(parts, '\n')
end

---Returns the thinking of a message.
function M.thinking_of(message)
  local parts = {}
  for _, block in ipairs(message.content) do
    parts[#parts + 1] = block.type == 'thinking' and block.thinking ~= '' and block.thinking or nil
  end
  return table.concat(parts, '\n')
end

---Returns one line by which the user recognises the message.
function M.line_of(message)
  local text = M.text_of(message)
  if text ~= '' then return ('%s: %s'):format(message.role, line(text)) end
  for _, block in ipairs(message.content) do
    if block.type == 'tool_use' then
      return ('%s: ⚒ %s %s'):format(message.role, block.name, (telling(block.input)))
    elseif block.type == 'tool_result' then
      return ('result: %s'):format(line(M.result_text(block)))
    end
  end
  return message.role
end

---@param entry ullage.Entry
---@return ullage.Item
local function item(entry, kind, key)
  return {
    kind = kind,
    key = key,
    entry = entry,
    role = entry.byAgent and 'agent' or entry.message.role,
    text = '',
    tokens = 0,
    archived = entry.archived,
    pinned = entry.pinned,
  }
end

---Returns the most useful line of a failed result: a test run's count of failures, or else the last line.
local function failure(block)
  if not block.is_error then return nil end
  local text = M.result_text(block)
  local counted = text:match('%d+ failed[^\n,]*')
  local last = text:gsub('%s+$', ''):match('[^\n]*$')
  return line(counted or last or '')
end

---@class ullage.Builder
---@field items ullage.Item[]
---@field by_message table<string, ullage.Item> the first item of each message
---@field calls table<string, ullage.Item> tool calls by id, for results that come later
---@field shown? table<string, ullage.Entry> messages as the model is sent them, by id
local Builder = {}
Builder.__index = Builder

---@param shown? table<string, ullage.Entry>
---@return ullage.Builder
function M.builder(shown) return setmetatable({ items = {}, by_message = {}, calls = {}, shown = shown }, Builder) end

---@param new ullage.Item
function Builder:push(new)
  self.items[#self.items + 1] = new
  return new
end

---Whether the model is sent another result than the tool returned.
function Builder:is_cleared(entry, index, block)
  local seen = self.shown and self.shown[entry.message.id]
  local other = seen and seen.message.content[index]
  return other ~= nil and other.type == 'tool_result' and M.result_text(other) ~= M.result_text(block)
end

---@param entry ullage.Entry
---@return ullage.Item touched
function Builder:add_result(entry, index, block)
  local call = self.calls[block.tool_use_id]
  if not call then
    call = self:push(item(entry, 'tool', block.tool_use_id))
    call.text = line(M.result_text(block))
  end
  call.result = block
  call.error = failure(block)
  call.cleared = self:is_cleared(entry, index, block)
  call.pinned = call.pinned or entry.pinned
  return call
end

---@param entry ullage.Entry
function Builder:add_call(entry, block)
  local call = item(entry, 'tool', block.id)
  call.block = block
  local key
  call.text, key = telling(block.input)
  call.is_path = key == 'path' or key == 'file_path'
  self.calls[block.id] = call
  return self:push(call)
end

---Adds the thinking of a message as a folded item.
---@param entry ullage.Entry
---@return ullage.Item?
function Builder:add_thinking(entry)
  local text = M.thinking_of(entry.message)
  if text ~= '' then
    local thought = item(entry, 'thinking', entry.message.id .. ' thinking')
    thought.text = line(text)
    return self:push(thought)
  end
end

---@param entry ullage.Entry
function Builder:add_marker(entry, block)
  local marker = item(entry, 'marker', entry.message.id)
  marker.block = block
  marker.tokens = entry.tokens
  return self:push(marker)
end

---Adds a message and returns the items that are new or changed. The message's tokens count for the first item.
---@param entry ullage.Entry
---@return ullage.Item[]
function Builder:add(entry)
  local thought = self:add_thinking(entry)
  local touched = { thought }
  local text = M.text_of(entry.message)
  -- Blanks before a tool call say nothing.
  if text:find('%S') or (text ~= '' and #entry.message.content == 1) then
    local own = self:push(item(entry, 'message', entry.message.id))
    own.text = line(text)
    touched[#touched + 1] = own
  end
  for index, block in ipairs(entry.message.content) do
    if block.type == 'tool_use' then
      touched[#touched + 1] = self:add_call(entry, block)
    elseif block.type == 'tool_result' then
      touched[#touched + 1] = self:add_result(entry, index, block)
    elseif block.type == 'context_compaction' then
      return { self:add_marker(entry, block) }
    end
  end
  local first = thought and touched[2] or touched[1]
  if first then
    self.by_message[entry.message.id] = first
    first.tokens = first.tokens + entry.tokens
    first.messages = (first.messages or 0) + 1
  end
  return touched
end

---Returns the input and the result of a tool call. A field that its row shows whole is left out.
---@param of ullage.Item
---@param shown? boolean the row's text fits into the window
local function tool_parts(of, shown)
  local input = of.block and of.block.input
  local parts, text, key = {}, telling(input)
  for _, name in ipairs(type(input) == 'table' and vim.tbl_keys(input) or {}) do
    local value = as_text(input[name]) or vim.json.encode(input[name])
    if not (shown and name == key and value == text) then parts[#parts + 1] = ('%s: %s'):format(name, value) end
  end
  table.sort(parts)
  local result = of.result and M.result_text(of.result) or '(no result yet)'
  parts[#parts + 1] = #parts > 0 and '\n' .. result or result
  return parts
end

---Returns the whole content of an item as lines, to be read in place.
---@param of ullage.Item
---@param shown? boolean the row's text fits into the window
function M.details(of, shown)
  local parts
  if of.kind == 'marker' then
    parts = { of.lost }
    parts[#parts + 1] = of.given_back and require('ullage.given_back').line(of.given_back)
    parts[#parts + 1] = #parts > 0 and '' or nil
    vim.list_extend(parts, { of.block.summary, M.ledger(of.block.ledger or {}) })
  elseif of.kind == 'tool' then
    parts = tool_parts(of, shown)
  elseif of.kind == 'thinking' then
    parts = { M.thinking_of(of.entry.message) }
  else
    parts = { M.text_of(of.entry.message) }
  end
  return vim.split(table.concat(parts, '\n'), '\n', { plain = true, trimempty = true })
end

---Returns a marker's ledger: what happened to files, and how commands ended.
function M.ledger(ledger)
  local lines = {}
  for _, file in ipairs(ledger.files or {}) do
    lines[#lines + 1] = ('- %s %s'):format(file.action, file.path)
  end
  if #lines > 0 then table.insert(lines, 1, '\n## Files') end
  if #(ledger.commands or {}) > 0 then lines[#lines + 1] = '\n## Commands' end
  for _, run in ipairs(ledger.commands or {}) do
    local detail = run.detail and run.detail ~= '' and (' · ' .. run.detail) or ''
    lines[#lines + 1] = ('- %s `%s`%s'):format(run.outcome, words.first_line(run.command), detail)
  end
  return table.concat(lines, '\n')
end

return M
