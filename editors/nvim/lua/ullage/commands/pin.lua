local notices = require('ullage.notices')
local session = require('ullage.session')

local function toggle(entry)
  local params = { messageId = entry.message.id, pinned = not entry.pinned }
  session.request('context/pin', params, function(error)
    if not notices.failed(error) then
      notices.say(entry.pinned and 'Unpinned.' or 'Pinned: it stays word for word through every compaction.')
      require('ullage.context').reload()
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Pin or unpin the message under the cursor, or one that you choose',
  edits = true,
  run = function()
    require('ullage.context.pick').message('Pin or unpin a message', toggle)
  end,
}
