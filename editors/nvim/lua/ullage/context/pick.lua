-- Picks a message of the context: the one under the cursor of the conversation, or elsewhere one that the user
-- chooses.
local notices = require('ullage.notices')
local session = require('ullage.session')

local M = {}

local function format_item(entry)
  local number = require('ullage.words').number(entry.index)
  return ('%s%s %s'):format(
    entry.pinned and '● ' or '  ',
    number,
    require('ullage.context.items').line_of(entry.message)
  )
end

-- The most messages in the list, the newest first. Older ones are found in the conversation.
local SHOWN = 30

---@param prompt string
---@param use fun(entry: ullage.Entry)
function M.message(prompt, use)
  local context = require('ullage.context')
  if context.is_current() then
    local here = context.entry_under_cursor()
    if here then
      use(here)
    else
      notices.say('Put the cursor on a message.')
    end
    return
  end
  session.request('context/messages', {}, function(error, result)
    if notices.failed(error) then
      return
    end
    local entries = vim.tbl_filter(function(entry)
      return not entry.inserted
    end, result.entries)
    local newest = {}
    for number = #entries, math.max(1, #entries - SHOWN + 1), -1 do
      newest[#newest + 1] = entries[number]
    end
    require('ullage.commandline').select(newest, { prompt = prompt, format_item = format_item }, function(entry)
      if entry then
        use(entry)
      end
    end)
  end)
end

return M
