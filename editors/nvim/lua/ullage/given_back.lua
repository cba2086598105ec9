-- What hooks gave back to an agent after its compactions: the receipt in each marker.
local lost = require('ullage.lost')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

---Returns the receipt of a compaction: `Given back: 1,204 tokens, 2 hours ago`.
---@param rows ullage.GivenBackRow[] what was given back after it, the oldest first; at least one
---@return string
function M.line(rows)
  local last = rows[#rows]
  local times = #rows > 1 and (' (%d times)'):format(#rows) or ''
  return ('Given back%s: %s, %s'):format(times, words.count(last.tokens, 'token'), words.ago(last.at))
end

---Returns the rows of each compaction, by its edit.
---@param result ullage.GivenBackResult
---@return table<string, ullage.GivenBackRow[]>
function M.by_edit(result)
  local found = {}
  for _, row in ipairs(result.rows) do
    if row.editId then
      found[row.editId] = found[row.editId] or {}
      table.insert(found[row.editId], row)
    end
  end
  return found
end

---Finds what was given back to the agent of the active session, and shows it in the markers.
---@param view ullage.View
---@param builder ullage.Builder
---@param is_current fun(): boolean whether the view still shows these items
function M.find(view, builder, is_current)
  if not lost.is_asked_for() then
    return
  end
  session.request('context/givenBack', {}, function(error, result)
    -- The conversation is complete without receipts, so that a fault here is not the user's.
    if error or not is_current() then
      return
    end
    local by_edit = M.by_edit(result)
    for _, item in ipairs(builder.items) do
      local rows = item.kind == 'marker' and by_edit[item.edit_id]
      if rows and #rows ~= #(item.given_back or {}) then
        lost.forget(item.edit_id)
        item.given_back, item.lost = rows, nil
        view:renew(item)
        view:reopen(item)
      end
    end
    require('ullage.context.left_out').find(view, true)
  end)
end

return M
