---@type ullage.Command
return {
  summary = 'Open the conversation with its figures',
  run = function()
    local following = require('ullage.following')
    if following.in_terminal() or #following.shown > 0 then
      require('ullage.following.opening').current()
    else
      require('ullage.context').open()
    end
  end,
}
