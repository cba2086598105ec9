-- Makes room: compacts the active session, or offers what can be done if an agent has it, which only the agent can compact.
local notices = require('ullage.notices')
local following = require('ullage.following')
local rows = require('ullage.following.rows')
local session = require('ullage.session')
local terminals = require('ullage.following.terminals')

local M = {}

-- Milliseconds between a text and its Enter key. Agents take what comes faster for a pasted text, of which Enter is a
-- part.
local PAUSE = 300

---Returns what the user types in the agent to compact a conversation, or nil if that is not known.
---@param row ullage.Followed
---@param focus string what the summary must keep
function M.command(row, focus)
  if row.compact_command == '' then return nil end
  return row.takes_focus and focus ~= '' and ('%s %s'):format(row.compact_command, focus) or row.compact_command
end

---Types a line into a terminal.
local function type_line(buffer, line)
  local channel = vim.bo[buffer].channel
  vim.api.nvim_chan_send(channel, line)
  vim.defer_fn(function()
    if vim.api.nvim_buf_is_valid(buffer) and vim.bo[buffer].channel == channel then
      pcall(vim.api.nvim_chan_send, channel, '\r')
    end
  end, PAUSE)
end

local function copy(line) notices.say(('Copied %s%s.'):format(line, notices.copy(line))) end

---Offers what can be done: to send the agent's command to the terminal in which it runs, or to copy it.
---@param row ullage.Followed
---@param focus string what the summary must keep
function M.offer(row, focus)
  local line = M.command(row, (focus:gsub('%s+', ' ')))
  local only = ('Only %s itself can compact this conversation (%s)'):format(row.agent, rows.figures(row))
  if not line then return notices.say(only .. '; the command for it is not known here.') end
  local buffer = row.process_id and terminals.of(row.process_id)
  local choices = { ('Copy %s'):format(line), 'Leave it' }
  if buffer then table.insert(choices, 1, ('Send %s to its terminal'):format(line)) end
  local dropped = focus ~= '' and not row.takes_focus and ', without words about what to keep' or ''
  vim.ui.select(choices, { prompt = only .. dropped .. '.' }, function(choice)
    if choice == 'Leave it' or not choice then
      return
    elseif not vim.startswith(choice, 'Send') then
      copy(line)
    elseif vim.api.nvim_buf_is_valid(buffer) and terminals.of(row.process_id) == buffer then
      type_line(buffer, line)
    else
      notices.error(('%s has ended; nothing was sent.'):format(row.agent))
    end
  end)
end

---Sends a compaction. Its own notice shows the result; what was done differently from what was asked is shown here.
---@param params table of `context/compact`
function M.request(params)
  require('ullage.context').watch()
  session.call('context/compact', params, function(result)
    if result.note ~= '' then notices.say(result.note) end
  end)
end

---`:Ullage compact`
---@param focus string what the summary must keep
function M.compact(focus)
  local followed = following.current()
  if followed then
    M.offer(followed, focus)
  elseif not following.refuse() then
    M.request({ focus = focus })
  end
end

---Stops the compaction that is running.
function M.cancel()
  if session.running then
    session.call('session/cancel', {}, function() notices.say('Cancelled. The context is as it was.') end)
  else
    notices.say('Nothing is running.')
  end
end

return M
