---@type ullage.Command
return {
  summary = 'Choose what the last notice offered',
  run = function()
    require('ullage.notices').choose()
  end,
}
