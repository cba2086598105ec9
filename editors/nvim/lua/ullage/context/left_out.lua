-- What a compaction left out, in a line at its opened marker.
local lost = require('ullage.lost')

local M = {}

---@type table<string, boolean> compactions that were asked about, by the edit's id
local asked = {}

---Finds the line for each opened marker that has none. `again` asks also where an answer is awaited or has failed.
---@param view ullage.View
---@param again? boolean
function M.find(view, again)
  if next(view.open) == nil or not lost.is_asked_for() then
    return
  end
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

return M
