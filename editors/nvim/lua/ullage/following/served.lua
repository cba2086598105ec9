-- The rows that the server of this Neovim sends while it follows. They hold conversations that are too old for the live
-- file, such as the newest of a folder in which no agent has run for days.
local events = require('ullage.events')
local rows = require('ullage.following.rows')

local M = {}

---@type table<string, ullage.Followed> by session
local by_session = {}

---Takes the rows of an answer, or of `ullage/following/changed`.
---@param wire { rows: table[], gone?: string[] }
function M.take(wire)
  for _, session_id in ipairs(wire.gone or {}) do
    by_session[session_id] = nil
  end
  for _, row in ipairs(rows.read_wire(wire.rows)) do
    by_session[row.session_id] = row
  end
  events.emit('following')
end

---Forgets the rows: the server follows no more.
function M.forget()
  by_session = {}
end

---Returns the rows of the live file, and of the server's those that the file lacks.
---@param list ullage.Followed[] the rows of the live file
---@return ullage.Followed[]
function M.with(list)
  local all, known = vim.list_extend({}, list), {}
  for _, row in ipairs(list) do
    known[row.session_id] = true
  end
  for session_id, row in pairs(by_session) do
    all[#all + 1] = not known[session_id] and row or nil
  end
  return all
end

return M
