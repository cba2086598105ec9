---@type ullage.Command
return {
  summary = 'Continue the conversation in a new session of its agent, or of another one',
  run = function(focus)
    local entry = require('ullage.context').entry_under_cursor()
    require('ullage.continuing').offer(focus, entry and not entry.inserted and entry or nil)
  end,
}
