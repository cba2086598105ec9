---@type ullage.Command
return {
  summary = 'Stop the server and start it again',
  run = function()
    require('ullage.client').restart()
  end,
}
