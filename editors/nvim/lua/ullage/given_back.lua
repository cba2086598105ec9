-- What is found for markers after they are shown: what a compaction left out, and what hooks gave back to the agent.
local lost = require('ullage.lost')
local session = require('ullage.session')
local words = require('ullage.words')

local M = {}

---@type table<string, boolean> compactions of which it was asked what they left out, by the edit's id
local asked = {}

---Finds the line about what was left out for each opened marker that has none. `again` asks also where an answer is awaited
---or has failed.
---@param view ullage.View
function M.find_left_out(view, again)
  if next(view.open) == nil or not lost.is_asked_for() then return end
  for _, row in ipairs(view.rows) do
    local item = row.kind == 'item' and row.item
    local lacks_it = item and item.kind == 'marker' and item.edit_id and not item.lost and view.open[item.key]
    if lacks_it and (again or not asked[item.edit_id]) then
      asked[item.edit_id] = true
      lost.find(item.edit_id, function(result)
        -- The conversation may have been loaded again meanwhile.
        local at = view:row_of(item)
        local shown = at and view.rows[at].item
        if shown then
          shown.lost = lost.line(result)
          view:reopen(shown)
        end
      end)
    end
  end
end

---Returns the receipt of a compaction: `Given back: 1,204 tokens, 2 hours ago`.
---@param rows ullage.GivenBackRow[] what was given back after it, the oldest first; at least one
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
function M.find_given_back(view, builder, is_current)
  if not lost.is_asked_for() then return end
  session.request('context/givenBack', {}, function(error, result)
    -- The conversation is complete without receipts, so that a fault here is not the user's.
    if error or not is_current() then return end
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
    M.find_left_out(view, true)
  end)
end

return M
