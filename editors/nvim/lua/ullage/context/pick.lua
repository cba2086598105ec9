-- Picks a message of the context: the one under the cursor of the conversation, or elsewhere one that the user
-- chooses.
local notices = require('ullage.notices')
local session = require('ullage.session')

local M = {}

local function format_item(entry)
  return (entry.pinned and '● ' or '  ') .. require('ullage.context.items').line_of(entry.message)
end

---@param prompt string
---@param use fun(entry: ullage.Entry)
function M.message(prompt, use)
  local here = require('ullage.context').entry_under_cursor()
  if here then
    return use(here)
  end
  session.request('context/messages', {}, function(error, result)
    if notices.failed(error) then
      return
    end
    local entries = vim.tbl_filter(function(entry)
      return not entry.inserted
    end, result.entries)
    vim.ui.select(entries, { prompt = prompt, format_item = format_item }, function(entry)
      if entry then
        use(entry)
      end
    end)
  end)
end

return M
