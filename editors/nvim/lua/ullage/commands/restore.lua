---@type ullage.Command
return {
  summary = 'Take back every edit after a checkpoint',
  edits = true,
  run = function(words)
    require('ullage.undo').restore(words ~= '' and words or nil)
  end,
  complete = function()
    return require('ullage.undo').ids()
  end,
}
