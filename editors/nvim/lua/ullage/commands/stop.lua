---@type ullage.Command
return {
  summary = 'Stop the answer that is being written',
  run = function()
    require('ullage.chat').stop()
  end,
}
