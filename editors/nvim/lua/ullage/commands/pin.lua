local notices = require('ullage.notices')
local session = require('ullage.session')

local function set(entry)
  local params = { messageId = entry.message.id, pinned = not entry.pinned }
  session.request('context/pin', params, function(error)
    if not notices.failed(error) then
      notices.say(entry.pinned and 'Unpinned.' or 'Pinned: it stays word for word through every compaction.')
      require('ullage.context').reload()
    end
  end)
end

local function choose(error, result)
  if notices.failed(error) then
    return
  end
  local entries = vim.tbl_filter(function(entry)
    return not entry.inserted
  end, result.entries)
  local options = {
    prompt = 'Pin or unpin a message',
    format_item = function(entry)
      return (entry.pinned and '● ' or '  ') .. require('ullage.context.items').line_of(entry.message)
    end,
  }
  vim.ui.select(entries, options, function(entry)
    if entry then
      set(entry)
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Pin or unpin the message under the cursor, or one that you choose',
  run = function()
    local here = require('ullage.context').entry_under_cursor()
    if here then
      set(here)
    else
      session.request('context/messages', {}, choose)
    end
  end,
}
