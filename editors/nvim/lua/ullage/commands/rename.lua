local notices = require('ullage.notices')
local session = require('ullage.session')

local function rename(title)
  session.request('session/rename', { title = title }, function(error)
    if not notices.failed(error) then
      notices.say(('The session is called “%s”.'):format(title))
    end
  end)
end

---@type ullage.Command
return {
  summary = 'Give the session another title',
  run = function(words)
    if words ~= '' then
      rename(words)
      return
    end
    local default = session.active and session.active.title or ''
    vim.ui.input({ prompt = 'Title: ', default = default }, function(title)
      if title and vim.trim(title) ~= '' then
        rename(vim.trim(title))
      end
    end)
  end,
}
