---Returns the edit of the marker under the cursor of the conversation, or nil elsewhere.
---@return string?
local function edit_here()
  local item = require('ullage.context').item_under_cursor()
  return item and item.kind == 'marker' and item.edit_id or nil
end

---@type ullage.Command
return {
  summary = 'List what the compaction under the cursor, or the last one, left out',
  run = function()
    local notices = require('ullage.notices')
    require('ullage.lost').find(edit_here(), function(result)
      if not result.editId then
        notices.say('This conversation was not compacted.')
      else
        require('ullage.context.lost').show(result)
      end
    end)
  end,
}
