---@type ullage.Command
return {
  summary = 'See what a compaction would do, edit its summary, accept or discard',
  edits = true,
  run = function(words)
    require('ullage.preview').open(words)
  end,
}
