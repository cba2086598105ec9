---@type ullage.Command
return {
  summary = 'Open the conversation with its figures',
  run = function()
    require('ullage.following.opening').current()
  end,
}
