---@type ullage.Command
return {
  summary = 'Take the last edit back, or the one named',
  edits = true,
  run = function(words)
    require('ullage.undo').ask(words ~= '' and words or nil)
  end,
  complete = function()
    return require('ullage.undo').ids()
  end,
}
